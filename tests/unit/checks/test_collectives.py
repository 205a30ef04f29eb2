# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers 4 to 6 by minimal rows: what an expected rate is of, what a group reaches, and what no rank told."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives import bandwidth
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.bandwidth import node_all_reduce, node_nics_all_reduce
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.correctness import COLLECTIVES, collectives_correct
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.transport import nccl_runtime
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.rdma import slow_rail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.training.steps import ranks_agree, step_time_stable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.expectations import typed

BY_GPU = typed({})[0]["pod_node_busbw_by_gpu"]
Rows = list[dict[str, t.Any]]


@pytest.mark.parametrize(
    ("device", "rate"),
    [
        ("NVIDIA H100 80GB HBM3", 366),
        ("NVIDIA A100-SXM4-80GB", 228),
        ("NVIDIA B200", 682),
        ("AMD Instinct MI300X OAM", 310),
        *((name, None) for name in ("NVIDIA GH200 480GB", "NVIDIA GB200", "NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA A100-PCIE-40GB", "NVIDIA H20")),
    ],
)
def test_a_rate_is_of_the_gpu_that_it_names(device: str, rate: float | None) -> None:
    if rate is None:
        with pytest.raises(CannotTell, match=f"no rate is known for {device}: set pod_node_busbw_gbyte_s"):
            bandwidth.expected(device, None, BY_GPU)
    else:
        assert bandwidth.expected(device, None, BY_GPU) == rate
    assert bandwidth.expected(device, 100.0, BY_GPU) == 100.0


def test_a_card_in_a_slot_has_the_rate_that_the_pod_gives_it() -> None:
    assert bandwidth.expected("NVIDIA H100 PCIe", None, {**BY_GPU, "H100 PCIe": 40}) == 40


def ran(kind: str, busbw: float, ranks: int = 8) -> tuple[Rows, Rows, Rows]:
    """The rows of a host that ran alone."""
    jobs = [{"kind": kind, "item": kind, "role": "rank", "status": "ok", "words": None, "hosts": ["a"], "round": 1, "step": 0}]
    size = {"collective": "all_reduce", "size_bytes": 1 << 30, "wrong": 0, "item": kind, "busbw_gbyte_s": busbw}
    each = [{"item": kind, "rank": rank, "outcome": "done", "signal": None, "last": None, "error": None, "device": "NVIDIA H100"} for rank in range(ranks)]
    return jobs, [size], each


def test_one_gpu_has_nobody_to_reduce_with() -> None:
    def found(gpus: int) -> list[t.Any]:
        return list(node_all_reduce(*ran("node", 0.0, gpus), "a", gpus, None, BY_GPU, 15.0))

    assert found(1) == [] and len(found(8)) == 1


def channels(name: str) -> Rows:
    return [{"item": "node_nics", "event": "channel", "name": name}]


def over_nics(log: t.Any, *rates: float) -> list[tuple[str, str | None, str]]:
    of_host = {f"gpu{number}": tuple([{**row, "hosts": [f"gpu{number}"]} if "hosts" in row else row for row in rows] for rows in ran("node_nics", rate))
               for number, rate in enumerate(rates)}  # fmt: skip
    jobs, told, ranks = ({host: rows[which] for host, rows in of_host.items()} for which in range(3))
    return [(str(one.host), one.severity, one.actual) for one in node_nics_all_reduce(jobs, told, ranks, 90.0, dict.fromkeys(jobs, log))]


def test_of_two_hosts_the_quicker_one_is_the_measure() -> None:
    assert over_nics(channels("NET/IB/0"), 320.0, 272.0) == [("gpu1", None, "272 GB/s")] and over_nics(channels("NET/IB/0"), 320.0, 290.0) == []
    client = {"kind": "write_bw", "role": "client", "memory": "host", "status": "ok", "device": "mlx5_0", "peer_device": "mlx5_0", "words": None}
    jobs = {one: [{**client, "item": one, "peer": other}] for one, other in (("a", "b"), ("b", "a"))}
    rates = {"a": [{"item": "a", "gbit_s": 390.0}], "b": [{"item": "b", "gbit_s": 345.0}]}
    assert [one.host for one in slow_rail(jobs, rates, 90.0)] == ["b"]


@pytest.mark.parametrize(
    ("log", "severity", "words"),
    [
        (channels("P2P/CUMEM"), "unknown", "NCCL's log has no channel over a NIC"),
        ([], "unknown", "NCCL's log has no channel over a NIC"),
        (None, "unknown", "NCCL's log has no channel over a NIC"),
        ([*channels("NET/IB/0"), *channels("P2P/CUMEM")], "unknown", "1 channels via P2P/CUMEM"),
        (channels("NET/Socket/0"), None, "TCP sockets"),
    ],
)
def test_a_run_over_the_nics_is_one_by_its_channels(log: t.Any, severity: str | None, words: str) -> None:
    assert over_nics(log, 320.0, 320.0) == [("gpu0", severity, words), ("gpu1", severity, words)]


def test_a_variable_of_the_runs_over_nics_is_nobodys_in_another_run() -> None:
    log = [{"event": "version", "item": "node", "name": None, "value": "2.28.9"}]
    log += [{"event": "variable", "item": item, "name": "NCCL_P2P_DISABLE", "value": "1"} for item in ("node_nics", "node")]
    assert [one.where for one in nccl_runtime(log[:2], {}, {})] == [] and [one.where for one in nccl_runtime(log, {}, {})] == ["NCCL_P2P_DISABLE"]


def test_a_rank_that_verified_nothing_is_not_covered_by_the_others() -> None:
    ranks = ran("node", 300.0, 2)[2]
    results = [{"item": "node", "rank": rank, "collective": name, "wrong": 0, "count": 3, "dtype": "float32", "unsupported": None}
               for rank in (0, 1) for name in COLLECTIVES]  # fmt: skip
    quick = [{**row, "item": "rung of 2"} for row in ranks]
    assert list(collectives_correct(results, [*ranks, *quick], [], "nccl")) == []
    lacking = [row for row in results if (row["rank"], row["collective"]) != (1, "broadcast")]
    assert [(one.where, one.severity) for one in collectives_correct(lacking, ranks, [], "nccl")] == [("node: rank 1 broadcast", "unknown")]


def test_a_rank_that_told_no_step_and_no_end_is_not_covered_by_the_others() -> None:
    step = {"steps": 20, "step_ms": 600.0, "deviation_ms": 1.0, "longest_ms": 602.0, "shortest_ms": 599.0, "step": 10}
    ranks = [{"rank": rank, "outcome": "done"} for rank in (0, 1)]
    agreed = [{"rank": rank, "what": what, "finite": True, "checksum": "a", "difference": None} for rank in (0, 1) for what in ("parameters", "gradients")]
    assert list(step_time_stable([{**step, "rank": rank} for rank in (0, 1)], ranks, 5, 500)) == [] == list(ranks_agree({"a": agreed}, ranks, "a"))
    assert [one.where for one in step_time_stable([{**step, "rank": 0}], ranks, 5, 500)] == ["rank 1"]
    assert [(one.where, one.severity) for one in ranks_agree({"a": agreed[:2]}, ranks, "a")] == [("rank 1", "unknown")]
