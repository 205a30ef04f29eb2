# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The argument lists of launchers."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.launchers import (
    Launch,
    agent_argv,
    agent_argv_by_launcher,
    agent_argv_on_host,
    launcher_argv,
    nccl_tests_argv,
)

TWO = Launch(("gpu-a01", "gpu-a02"), 8, {"NCCL_IB_HCA": "mlx5_0,mlx5_3", "NCCL_DEBUG": "INFO"})


def test_each_host_is_reported_its_place_and_where_all_meet() -> None:
    argv = agent_argv("torch_collectives", "/opt/py/bin/python3", TWO, 1, "192.0.2.1", 29400, {"sizes": "1024,2048", "copies": True, "counts": None})
    assert argv[:4] == ["/opt/py/bin/python3", "-W", "ignore", "{torch_collectives}"]
    assert argv[4:12] == ["--host-index", "1", "--hosts", "2", "--ranks-per-host", "8", "--master", "192.0.2.1:29400"]
    assert argv[12:15] == ["--sizes", "1024,2048", "--copies"]
    assert argv[15:] == ["--variable", "NCCL_IB_HCA=mlx5_0,mlx5_3", "--variable", "NCCL_DEBUG=INFO"]


def test_srun_keeps_values_with_commas_whole_and_lets_nothing_else_in() -> None:
    argv = launcher_argv("srun", ["all_reduce_perf"], TWO)
    assert argv[:4] == ["srun", "--nodes=2", "--ntasks=16", "--ntasks-per-node=8"]
    assert "--export=PATH,LD_LIBRARY_PATH,HOME" in argv
    assert argv[-4:] == ["env", "NCCL_IB_HCA=mlx5_0,mlx5_3", "NCCL_DEBUG=INFO", "all_reduce_perf"]


def test_mpirun_places_the_ranks_of_each_host_on_it() -> None:
    argv = launcher_argv("mpirun", ["all_reduce_perf"], TWO, one_a_host=True)
    assert argv[:7] == ["mpirun", "--host", "gpu-a01:1,gpu-a02:1", "-np", "2", "--map-by", "ppr:1:node"]
    assert [argv[at + 1] for at, word in enumerate(argv) if word == "-x"] == ["PATH", "LD_LIBRARY_PATH", "NCCL_IB_HCA=mlx5_0,mlx5_3", "NCCL_DEBUG=INFO"]
    assert argv[-1] == "all_reduce_perf"


def test_a_launcher_starts_an_agent_a_host_on_whole_nodes_with_all_of_their_cores() -> None:
    options = {"sizes": "1024"}
    argv = agent_argv_by_launcher("srun", "torch_collectives", "python3", TWO, "192.0.2.1:29400", "{place}/rung.json", options)
    assert argv[:4] == ["srun", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1"]
    assert {"--exclusive", "--mem=0", "--cpu-bind=none", "--mpi=none", "--immediate=10", "GPUFABRIC_PYRAMID_LOAD={place}"} <= set(argv)
    assert "--host-index" not in argv and argv[argv.index("--document") + 1] == "{place}/rung.json"
    assert [argv[at + 1] for at, word in enumerate(argv) if word == "--variable"] == ["NCCL_IB_HCA=mlx5_0,mlx5_3", "NCCL_DEBUG=INFO"]
    argv = agent_argv_by_launcher("mpirun", "torch_collectives", "python3", TWO, "192.0.2.1:29400", "{place}/rung.json", options)
    assert argv[argv.index("--bind-to") + 1] == "none" and argv[argv.index("-np") + 1] == "2"
    waiting = agent_argv_on_host("torch_collectives", "python3", TWO, 1, "192.0.2.1", 29400, "{place}/rung.json", options)
    assert waiting[waiting.index("--role") + 1] == "host" and waiting[waiting.index("--host-index") + 1] == "1"


def test_ssh_starts_no_ranks_of_others() -> None:
    with pytest.raises(ValueError, match="'torchrun_ssh'"):
        launcher_argv("torchrun_ssh", ["all_reduce_perf"], TWO)


def test_nccl_tests_validate() -> None:
    argv = nccl_tests_argv("/opt/nccl-tests/build/", "all_to_all", 1 << 20, 1 << 32, 4, 8, 20)
    assert argv[0] == "/opt/nccl-tests/build/alltoall_perf"
    assert argv[argv.index("-c") + 1] == "1"
