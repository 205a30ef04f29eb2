# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of a log with the words of an error that are of none, and lines of errors that look like them."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.deciding_lines import deciding_line
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.host_names import HostNames
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.launcher_errors import known_line
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.rank_errors import known_error
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.remarks import is_of_a_command
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.site_log import said_lines
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.yaml_text import from_yaml

# What a training prints in which nothing fails.
HEALTHY = Path(__file__).parents[2] / "incidents/settings_in_the_log_of_a_healthy_training.yml"
LINES: list[str] = from_yaml(HEALTHY.read_text(encoding="utf-8"))["changes"][0]["set"]["stack"]["own_log"]
LAST = "[rank19]: frobnicator.NotFrobnicated: qux"


@pytest.mark.parametrize("line", LINES)
def test_no_line_of_a_healthy_training_says_why_one_ended(line: str) -> None:
    assert deciding_line(*said_lines([f"{line}\n{LAST}\n", f"[rank3]: {line}\n"], HostNames([]))).line == LAST
    assert deciding_line(*said_lines([f"{line}\n"], HostNames([]))).line == "" or is_of_a_command(line)


@pytest.mark.parametrize(
    "line",
    [
        "foo: error: bar_baz=qux was refused",
        '{"level": "error", "message": "the frobnicator failed"}',
        "  error: command '/usr/bin/gcc' failed with exit code 1",
        "rsync error: some files could not be transferred (code 23) at main.c(1338) [sender=3.2.7]",
        "RuntimeError: frobnication refused, 0 of 8 done",
        "2024-06-01 12:00:00,123 - ERROR - the frobnicator failed",
        "[2024-06-01 12:00:00,123] [ERROR] [launch.py:321:sigkill_handler] ['python'] exits with return code = -9",
        "E0601 12:00:00.123456 139 frob.cc:897] frobnication failed",
        "INFORMATION SYSTEM failed",
        "/opt/run.sh: line 40: 12345 Killed                  python train.py",
        "mkdir: cannot create directory '/ckpt': Permission denied",
    ],
)
def test_what_says_an_error_is_none_of_them(line: str) -> None:
    assert deciding_line(*said_lines([f"step 1\n{line}\n"], HostNames([]))).line == " ".join(line.split())


def test_what_a_command_of_a_script_prints_comes_after_what_the_training_prints() -> None:
    log = "mkdir: cannot create directory '/ckpt': Permission denied\n"
    assert deciding_line(*said_lines([f"{log}{LAST}\n"], HostNames([]))).line == LAST
    assert deciding_line(*said_lines([f"{log}RuntimeError: Broken pipe\n"], HostNames([]))).line == log.strip()


@pytest.mark.parametrize(
    "line", ["max locked memory       (kbytes, -l) unlimited", "time limit: 02:00:00", "OMPI_MCA_btl_tcp_if_include=eth0", "pyxis: imported docker image: x"]
)
def test_of_the_log_of_a_site_only_errors_are_a_launchers(line: str) -> None:
    refused = "srun: error: Unable to create step for job 7: Invalid partition name specified"
    assert known_line(f"{line}\n", worded=True) is None
    assert known_line(f"{line}\n{refused}\n", worded=True) == refused


def test_a_remark_is_no_launchers_reason() -> None:
    assert known_line("[1718.12] [gpu01:411  :0]          parser.c:2036 UCX  WARN  unused environment variable: UCX_HOME\n") is None


@pytest.mark.parametrize(
    "line",
    [
        "gpu01:411:500 [0] NCCL INFO NCCL_TOPO_FILE set by environment to /opt/topo.xml",
        "gpu01:411:500 [0] NCCL INFO CollNet enabled with 4 nodes",
        "gpu01:411:500 [0] NCCL INFO Plugin Path : /opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so",
        "gpu01:411:500 [0] NCCL INFO Created multicast object for NVLS",
        "opened /dev/kfd with 8 agents",
        "using /dev/shm for the cache of the dataset",
        "TCPStore listening on 10.0.0.1:29500",
        "[rank0] 64/64 workers joined",
        "NVSHMEM transport IBGDA initialized with mlx5dv_devx_create_qp",
        "getaddrinfo gpu01 -> 10.0.0.1",
        "libaio io_setup 1024",
        "local=127.0.0.1 remote=10.0.0.2",
        "volatile uncorrectable ECC errors: 0",
        "ibv_open_device mlx5_0",
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
    ],
)
def test_a_name_in_a_healthy_line_is_no_error_that_is_known(line: str) -> None:
    # Of a training that does not end the last line is explained where it is known.
    assert known_error(line) is None


def test_what_pytorch_adds_to_every_error_of_cuda_is_not_what_failed() -> None:
    added = "CUDA kernel errors might be reported later\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    known = known_error(f"CUDA error: an illegal memory access was encountered\n{added}")
    assert known is not None and "Xid 31" in known.fix + known.cause and known_error(f"CUDA error: frobnication\n{added}") is None
    assert known_error("CUDA error: device-side assert triggered") is not None and known_error("7/64 workers joined") is not None
