# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a line of an error names of a host."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.call_errors import CALL_ERRORS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.error_classes import specific_class
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.launcher_errors import explained, host_of, known_line
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.named_parts import named_parts
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.perftest_errors import explained as explained_test
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.rank_errors import crashed
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.unknown_errors import system_error

HANDLE = (
    "[gpu02:19381:0] ib_device.c:1163 UCX  ERROR   ibv_create_ah(dlid=49152 dgid=::ffff:172.16.0.2) for UD mlx5 connect on mlx5_1 failed: Connection timed out"
)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (HANDLE, "It names the call ibv_create_ah, the NIC mlx5_1 and the address 172.16.0.2. "),
        ("Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "It names the call ibv_reg_mr_iova2. "),
        ("Got completion from peer 10.1.32.3<42519> with status=12 (Recv) hca mlx5_3", "It names the NIC mlx5_3 and the address 10.1.32.3<42519>. "),
        ("NCCL_TOPO_FILE set to /etc/topo.xml could not be opened", "It names the setting NCCL_TOPO_FILE and the file /etc/topo.xml. "),
        ("out of memory on cuda:3, device 0000:0d:00.0", "It names GPU 3 and the PCI address 0000:0d:00.0. "),
        # Kinds of results and files of the source are no names of what failed.
        ("ncclInternalError: Internal check failed in /opt/pytorch/csrc/NCCLUtils.cpp:94 with cudaErrorUnknown", ""),
        ("qux of 7", ""),
    ],
)
def test_a_line_names_the_call_the_device_the_peer_and_the_setting(line: str, words: str) -> None:
    assert named_parts(line) == words


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("Couldn't allocate MR with error=93", "Protocol not supported. "),
        ("frob failed (errno: 110)", "Connection timed out. "),
        ("Event: QUX; error: -113.", "No route to host. "),
        ("dial tcp 192.0.2.13:10250: connection refused", "The host does not reach"),
    ],
)
def test_an_error_of_the_system_by_its_number_or_in_small_letters(line: str, text: str) -> None:
    found = system_error(line)
    assert found is not None and found.cause.startswith(text)


def test_results_of_other_libraries_are_no_errors_of_the_system() -> None:
    for line in ("hipIpcGetMemHandle failed : invalid argument", "CUDA error: operation not permitted", "with status=12 opcode=0", "exit code: 110"):
        assert system_error(line) is None
    assert explained_test("qux: Couldn't allocate MR with error=93", of_gpus=True)[0].startswith("Protocol not supported. ")  # type: ignore[index]


def test_a_launcher_names_who_speaks_and_the_call_that_failed() -> None:
    hosts = ["gpu01", "gpu02", "gpu03"]
    assert host_of(HANDLE, hosts) == "gpu02" and host_of("[gpu02][[22157,1],4][btl_tcp_endpoint.c:626:qux]", hosts) is None
    assert host_of('mpirun: [proxy:0:1@gpu03] HYDU_sock_connect (x.c:1): unable to connect from "gpu03" to "gpu01"', hosts) == "gpu03"
    cause, fix = explained(HANDLE)
    assert cause.startswith("It names the call ibv_create_ah") and "ip neigh" in fix and "UCX_NET_DEVICES" not in fix
    assert "between two processes" in explained("UCC  ERROR ipc-cache: failed to open ipc mem handle. addr:0x7f65a8000000 len:16777216 err:201")[0]
    assert "kubelet" in explained("Error from server: error dialing backend: dial tcp 192.0.2.13:10250: i/o timeout")[0]


def test_a_line_of_ucx_says_more_than_that_a_process_ended() -> None:
    line = "[gpu03:19546:0:19546] ib_mlx5_log.c:139  Transport retry count exceeded on mlx5_4:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)"
    assert known_line(f"{line}\nPrimary job  terminated normally, but 1 process returned\n") == line
    assert host_of(line, ["gpu01", "gpu03"]) == "gpu03"
    cause, fix = explained(line)
    assert cause.startswith("It names the NIC mlx5_4:1. Packets of a queue pair") and "layer 4" in fix


def test_a_rank_that_aborted_had_printed_why() -> None:
    line = "Callback: Queue 0x7f78 aborting with error : HSA_STATUS_ERROR_EXCEPTION: code: 0x1016"
    end = crashed({"outcome": "killed", "signal": 6, "text": f"step 7\n{line}\n", "error": None})
    assert end.words == line and "signal 6" in end.cause and "amdgpu" in end.fix
    # What only says that it ended is no reason.
    assert (
        crashed({"outcome": "killed", "signal": 11, "text": "*** Process received signal ***\nSegmentation fault (core dumped)\n", "error": None}).words == ""
    )


@pytest.mark.parametrize("one", CALL_ERRORS, ids=lambda one: one.name)
def test_each_call_says_what_to_do(one: object) -> None:
    assert one.cause.endswith(".") and len(one.fix) > 60 and specific_class("qux") is None  # type: ignore[attr-defined]
