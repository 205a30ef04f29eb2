# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers 4 to 6 by minimal rows: what an expected rate is of, what a group reaches, and what no rank told."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, Finding, NotProved
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks._not_measured import NO_RESULT
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives import bandwidth
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives._nccl_transport import cause_of_rate, restored
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.bandwidth import node_all_reduce, node_nics_all_reduce
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.correctness import (
    COLLECTIVES,
    collectives_correct,
    no_wrong_values,
    peer_to_peer,
    ranks_as_asked,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.ended_ranks import RunEnds
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.slow_hosts import slow_node
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.transport import (
    all_rails_used,
    gpudirect_used,
    nccl_runtime,
    no_nccl_warnings,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.rdma.bandwidth import slow_rail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.training.results import ranks_agree
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.training.steps import slow_rank, step_outliers, step_time_stable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.collective_runs import LADDER, NODE, PROBE, SEARCH, CollectiveRun
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.launcher_errors import explained as explained_refusal
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.probes import changed_by
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.rank_errors import NEVER_ARRIVED, explained
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import typed
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.parsing import parse

BY_GPU = typed({})[0]["pod_node_busbw_by_gpu"]
Rows = list[dict[str, t.Any]]


@pytest.mark.parametrize(
    ("device", "rate"),
    [
        ("NVIDIA H100 80GB HBM3", 366),
        ("NVIDIA A100-SXM4-80GB", 228),
        ("NVIDIA B200", 682),
        ("AMD Instinct MI300X OAM", 310),
        ("NVIDIA GB200", 673),
        ("AMD Instinct MI350X", 350),
        *((name, None) for name in ("NVIDIA B300", "NVIDIA GB300", "NVIDIA H800", "AMD Instinct MI325X", "AMD Instinct MI355X OAM")),
        *((name, None) for name in ("NVIDIA GH200 480GB", "NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA A100-PCIE-40GB", "NVIDIA H20")),
    ],
)
def test_a_rate_is_of_the_gpu_that_it_names(device: str, rate: float | None) -> None:
    if rate is None:
        with pytest.raises(NotProved, match=f"no rate is known for {device}: set pod_node_busbw_gbyte_s"):
            bandwidth.expected(device, None, BY_GPU)
    else:
        assert bandwidth.expected(device, None, BY_GPU) == rate
    assert bandwidth.expected(device, 100.0, BY_GPU) == 100.0


def test_a_card_in_a_slot_has_the_rate_that_the_pod_gives_it() -> None:
    assert bandwidth.expected("NVIDIA H100 PCIe", None, {**BY_GPU, "H100 PCIe": 40}) == 40


def job(kind: str, item: str | None = None) -> dict[str, t.Any]:
    """A host's part of a run of it alone."""
    result = {"kind": kind, "item": item or kind, "role": "rank", "status": "ok", "words": None, "error": None, "hosts": ["a"], "round": 1, "step": 0}
    return {**result, "device": None, "probe": None}


def ran(kind: str, busbw: float, ranks: int = 8) -> tuple[Rows, Rows, Rows]:
    """The rows of a host that ran alone."""
    jobs = [job(kind)]
    size = {"collective": "all_reduce", "size_bytes": 1 << 30, "wrong": 0, "item": kind, "busbw_gbyte_s": busbw}
    each = [{"item": kind, "rank": rank, "outcome": "done", "signal": None, "last": None, "error": None, "device": "NVIDIA H100"} for rank in range(ranks)]
    return jobs, [size], each


def test_a_rail_whose_run_hung_names_who_never_came() -> None:
    """Ranks that waited are no reason of their own."""
    of_rail = {**job("rail"), "hosts": ["a", "b"], "device": "mlx5_0"}
    end = {"item": "rail", "rank": 0, "signal": None, "last": "all_reduce of 0 float32", "error": None, "device": None}
    ranks = {"a": [{**end, "outcome": "hung"}], "b": [{**end, "rank": 1, "outcome": "ended", "last": None}]}
    (found,) = bandwidth.rail_all_reduce({"a": [of_rail], "b": [of_rail]}, {}, ranks, 90.0)
    assert found.actual.startswith("b: a rank never arrived") and "a:" not in found.actual and found.cause == NEVER_ARRIVED[0]


def test_one_gpu_has_nobody_to_reduce_with() -> None:
    def found(gpus: int) -> list[t.Any]:
        return list(node_all_reduce(*ran("node", 0.0, gpus), "a", gpus, None, BY_GPU, 15.0, {}))

    assert found(1) == [] and len(found(8)) == 1


def channels(name: str) -> Rows:
    return [{"item": "node_nics", "event": "channel", "name": name}]


def over_nics(log: t.Any, *rates: float) -> list[tuple[str, str | None, str]]:
    of_host = {f"gpu{number}": tuple([{**row, "hosts": [f"gpu{number}"]} if "hosts" in row else row for row in rows] for rows in ran("node_nics", rate))
               for number, rate in enumerate(rates)}  # fmt: skip
    jobs, result, ranks = ({host: rows[which] for host, rows in of_host.items()} for which in range(3))
    return [(str(one.host), one.severity, one.actual) for one in node_nics_all_reduce(jobs, result, ranks, 90.0, dict.fromkeys(jobs, log))]


def test_of_two_hosts_the_quicker_one_is_the_measure() -> None:
    assert over_nics(channels("NET/IB/0"), 320.0, 272.0) == [("gpu1", None, "272 GB/s")] and over_nics(channels("NET/IB/0"), 320.0, 290.0) == []
    client = {"kind": "write_bw", "role": "client", "memory": "host", "status": "ok", "device": "mlx5_0", "peer_device": "mlx5_0", "words": None, "error": None}
    jobs = {one: [{**client, "item": one, "peer": other}] for one, other in (("a", "b"), ("b", "a"))}
    rates = {"a": [{"item": "a", "gbit_s": 390.0}], "b": [{"item": "b", "gbit_s": 345.0}]}
    assert [one.host for one in slow_rail(jobs, rates, 90.0, {})] == ["b"]


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


def test_sockets_are_no_slow_nic() -> None:
    """A run that found no RDMA device says nothing of the NICs, of their PCIe links or of GPUDirect."""
    jobs, rates, ranks = ({"a": rows, "b": rows} for rows in ran("node_nics", 20.0))
    causes = {one.cause for one in node_nics_all_reduce(jobs, rates, ranks, 90.0, {"a": channels("NET/Socket/0")}) if one.actual == "TCP sockets"}
    assert [str(cause)[:41] for cause in causes] == ["NCCL found no RDMA device that it may use"]
    (between,) = no_nccl_warnings([{**channels("NET/Socket/0")[0], "text": None}], [{**job("node_nics"), "hosts": ["a", "b"]}], [], "nccl", False, "a")
    assert between.cause in causes and between.fix


def test_a_variable_of_the_runs_over_nics_is_nobodys_in_another_run() -> None:
    log = [{"event": "version", "item": "node", "name": None, "value": "2.28.9"}]
    log += [{"event": "variable", "item": item, "name": "NCCL_P2P_DISABLE", "value": "1"} for item in ("second", "first")]
    jobs = [job("node", "first"), job("node_nics", "second")]
    assert [str(one.where) for one in nccl_runtime(log[:2], jobs, {}, {})] == []
    assert [str(one.where) for one in nccl_runtime(log, jobs, {}, {})] == ["NCCL_P2P_DISABLE"]


def test_a_rank_that_verified_nothing_is_not_covered_by_the_others() -> None:
    ranks = ran("node", 300.0, 2)[2]
    results = [{"item": "node", "rank": rank, "collective": name, "wrong": 0, "count": 3, "dtype": "float32", "unsupported": None}
               for rank in (0, 1) for name in COLLECTIVES]  # fmt: skip
    quick = [{**row, "item": "rung of 2"} for row in ranks]
    assert list(collectives_correct(results, [*ranks, *quick], [], "nccl", "gpu01")) == []
    lacking = [row for row in results if (row["rank"], row["collective"]) != (1, "broadcast")]
    assert [(str(one.where), one.severity) for one in collectives_correct(lacking, ranks, [], "nccl", "gpu01")] == [("node: rank 1 broadcast", "unknown")]


def test_a_collective_that_no_run_gave_a_result_of_is_distinguished_from_one_that_was_not_verified() -> None:
    ranks = ran("node", 300.0, 2)[2]
    results = [{"item": "node", "rank": rank, "collective": name, "wrong": 0, "count": 3, "dtype": "float32", "unsupported": None}
               for rank in (0, 1) for name in COLLECTIVES]  # fmt: skip
    absent = collectives_correct([row for row in results if row["collective"] != "broadcast"], ranks, [], "nccl", "gpu01")
    assert [(str(one.where), one.cause) for one in absent] == [("broadcast", NO_RESULT[0])]
    refused = [{**row, "wrong": None, "unsupported": "not supported"} if row["collective"] == "broadcast" else row for row in results]
    found = list(collectives_correct(refused, ranks, [], "nccl", "gpu01"))
    assert {str(one.where): one.cause for one in found}["broadcast"] is None and [one.actual for one in found[:2]] == ["not supported"] * 2


def test_a_rank_that_reported_no_step_and_no_end_is_not_covered_by_the_others() -> None:
    step = {"steps": 20, "step_ms": 600.0, "deviation_ms": 1.0, "longest_ms": 602.0, "shortest_ms": 599.0, "step": 10}
    ranks = [{"rank": rank, "outcome": "done"} for rank in (0, 1)]
    agreed = [{"rank": rank, "what": what, "finite": True, "checksum": "a", "difference": None} for rank in (0, 1) for what in ("parameters", "gradients")]
    assert list(step_time_stable([{**step, "rank": rank} for rank in (0, 1)], {}, ranks, 5, 500)) == [] == list(ranks_agree({"a": agreed}, ranks, "a"))
    assert [str(one.where) for one in step_time_stable([{**step, "rank": 0}], {}, ranks, 5, 500)] == ["rank 1"]
    assert [(str(one.where), one.severity) for one in ranks_agree({"a": agreed[:2]}, ranks, "a")] == [("rank 1", "unknown")]


@pytest.mark.parametrize(
    ("version", "modules", "peers", "old"),
    [
        ("2.21.5+cuda12.4", ["nvidia_peermem"], [], True),
        ("2.23.4+cuda12.6", ["nvidia_peermem"], [], False),
        ("2.21.5+cuda12.4", ["nvidia_peermem"], ["nv_mem"], False),
        ("2.21.5+cuda12.4", [], [], False),
    ],
)
def test_a_library_that_cannot_find_the_module_is_no_fault_of_the_host(version: str, modules: list[str], peers: list[str], old: bool) -> None:
    log = [
        {"item": "run", "event": "version", "value": version},
        {"item": "run", "event": "channel", "name": "NET/IB/0", "gdr": False, "gpu": 0},
    ]
    jobs = [{"item": "run", "hosts": ["gpu01", "gpu02"]}]
    (found,) = gpudirect_used(log, jobs, "either", [{"module": one} for one in modules], [{"peer": one} for one in peers])
    assert ("too old" in (found.cause or "")) == old and ("2.23" in (found.fix or "")) == old


def test_a_library_that_does_not_take_dma_buf_is_told_from_a_missing_module() -> None:
    log = [
        {"item": "run", "event": "version", "value": "2.27.3+cuda12.9"},
        {"item": "run", "event": "channel", "name": "NET/IB/0", "gdr": False, "gpu": 0},
    ]
    for module, only in (("nvidia_uvm", True), ("nvidia_peermem", False), ("nv_peer_mem", False)):
        (found,) = gpudirect_used(log, [{"item": "run", "hosts": ["gpu01", "gpu02"]}], "either", [{"module": module}], [])
        assert ("DMA-BUF is the only way" in (found.cause or "") and "NCCL 2.27.3" in (found.cause or "")) == only


def trained(rank: int, part: str | None = None, slow: tuple[int, ...] = (10, 20, 30), late: float = 1400.0) -> Rows:
    """Forty steps of a rank, some of them longer by a part of its own, or (None) by waiting for another."""
    rows = []
    for step in range(40):
        more = late if step in slow else 0.0
        times = {"data_ms": 1.0, "compute_ms": 500.0, "other_ms": 100.0}
        times[part or "other_ms"] += more
        total = sum(times.values())
        rows.append({"rank": rank, "step": step, "steps": 1, "step_ms": total, "longest_ms": total, "shortest_ms": total, "deviation_ms": 0.0, **times})
    return rows


RANKS = {"gpu01": [{"rank": rank, "local_rank": rank, "outcome": "done"} for rank in (0, 1)], "gpu02": [{"rank": 2, "local_rank": 0, "outcome": "done"}]}


def slow_steps(*parts: str | None) -> dict[str, list[t.Any]]:
    """What both checks find on each host, of ranks 0 and 1 on gpu01 and 2 on gpu02."""
    rows = [trained(rank, part) for rank, part in enumerate(parts)]
    result = {"gpu01": [*rows[0], *rows[1]], "gpu02": rows[2]}
    return {
        host: [*step_time_stable(result[host], result, RANKS[host], 5, 500), *step_outliers(result[host], result, 2, RANKS[host])] for host in result
    }  # fmt: skip


@pytest.mark.parametrize(
    ("part", "words", "cause"), [("data_ms", "the wait for its data", "data loader"), ("compute_ms", "its own computation", "GPU was slowed")]
)
def test_slow_steps_are_of_the_rank_whose_part_grew(part: str, words: str, cause: str) -> None:
    found = slow_steps(None, part, None)
    assert found["gpu02"] == [], "it waited"
    assert [str(one.where) for one in found["gpu01"]] == ["rank 1 (GPU 1)", "rank 1 (GPU 1), step 10"]
    assert all(words in one.actual and "1400 ms more" in one.actual and cause in one.cause for one in found["gpu01"])


@pytest.mark.parametrize(("part", "cause"), [("data_ms", "the storage, its network"), ("compute_ms", "the program's garbage collection")])
def test_steps_in_which_most_ranks_of_several_hosts_are_late_are_of_no_single_host(part: str, cause: str) -> None:
    found = slow_steps(part, part, part)
    assert {host: [str(one.where) for one in some] for host, some in found.items()} == {
        "gpu01": ["rank 0", "rank 1", "rank 0, step 10", "rank 1, step 10"], "gpu02": ["rank 2", "rank 2, step 10"],
    }  # fmt: skip
    assert all("as of most ranks of several hosts" in one.actual and cause in one.cause for some in found.values() for one in some)


def test_ranks_of_one_host_that_are_late_together_are_both_named() -> None:
    found = slow_steps("data_ms", "data_ms", None)
    assert found["gpu02"] == [] and all("its storage was late" in one.cause for one in found["gpu01"])
    assert [str(one.where) for one in found["gpu01"]] == ["rank 0 (GPU 0)", "rank 1 (GPU 1)", "rank 0 (GPU 0), step 10", "rank 1 (GPU 1), step 10"]


def test_steps_for_which_all_wait_are_of_the_communication() -> None:
    found = slow_steps(None, None, None)
    assert [len(some) for some in found.values()] == [4, 2]
    assert all("all waited in communication" in (one.cause or "") for one in found["gpu01"] if "step" in str(one.where))


def test_each_of_two_late_ranks_is_named() -> None:
    first, second = trained(0, "data_ms", (10,)), trained(1, "compute_ms", (20,))
    for row in (first[20], second[10]):
        row.update(step_ms=2001.0, longest_ms=2001.0, other_ms=1500.0)
    result = {"gpu01": first, "gpu02": second}
    named = {host: [str(one.where) for one in step_outliers(rows, result, 2)] for host, rows in result.items()}
    assert named == {"gpu01": ["rank 0, step 10"], "gpu02": ["rank 1, step 20"]}


def test_a_hang_is_of_the_host_and_gpu_of_the_missing_rank_and_names_its_run() -> None:
    waits = {"rank": 0, "place": "all_reduce", "number": 3, "waited_seconds": 60.0, "silent": None, "words": None, "ras": None}
    ranks = [{"rank": 0, "ranks": 16, "outcome": "hung", "signal": None, "error": None}]
    for item, hosts, absent, where in (
        ("rung of 2, group 1", ["gpu01", "gpu02"], 11, ("gpu02", "rank 11 (GPU 3) of rung of 2, group 1")),
        ("rung of 2, group 2", ["gpu03", "gpu04"], 3, ("gpu03", "rank 3 (GPU 3) of rung of 2, group 2")),
        ("one", [], 11, (None, "rank 11 of one")),
    ):
        (found,) = RunEnds(item, hosts, ranks, [{**waits, "absent": [absent]}]).hung({0}, True, never)
        assert (found.host, str(found.where)) == where
    (of_rail,) = RunEnds("rail mlx5_4", ["a", "b"], [{**ranks[0], "ranks": 2}], [{**waits, "absent": [1]}], "mlx5_4").hung({0}, True, never)
    assert (of_rail.host, str(of_rail.where), of_rail.where.device, of_rail.where.gpu) == ("b", "rank 1 of rail mlx5_4", "mlx5_4", None)


def test_a_hang_has_what_ras_reports() -> None:
    waits = {"rank": 0, "item": "one", "place": "all_reduce", "number": 3, "waited_seconds": 60.0, "silent": None, "words": None, "absent": None}
    hangs = [{**waits, "ras": None}, {**waits, "rank": 1, "ras": "rank 3 on 192.0.2.2 GPU 3: 5 of 6 collectives"}]
    (found,) = RunEnds("", [], [], hangs).hung({0}, True, never)
    assert str(found.where) == "all ranks" and found.actual.endswith("; NCCL's RAS reports rank 3 on 192.0.2.2 GPU 3: 5 of 6 collectives")
    (found,) = RunEnds("", [], [], [{**row, "absent": [3]} for row in hangs]).hung({0}, True, never)
    assert found.actual == "it never arrived; NCCL's RAS reports rank 3 on 192.0.2.2 GPU 3: 5 of 6 collectives"


def never(row: t.Any, host: str) -> Finding:
    raise AssertionError((row, host))


VALUES = bandwidth.ladder_values([{"device": f"mlx5_{number}"} for number in range(8)], 400.0, {2: 330.0}, 90.0, 15.0)


def over(kind: str, hosts: str, busbw: float) -> CollectiveRun:
    return CollectiveRun(kind, tuple(hosts), {1 << 30: busbw})


def slow_once(*probes: CollectiveRun, search: float = 350.0, trouble: str | None = None) -> list[str] | None:
    """The hosts of the run that was slow once, of a and b; search: what each of them reaches with others."""
    slow = over(LADDER, "ab", 150.0)
    slow.trouble += [trouble] if trouble else []
    pairs = [over(SEARCH, pair, search if "a" in pair else 350.0) for pair in ("ac", "ad", "bc", "bd")]
    found = [*(over(NODE, host, 360.0) for host in "abcd"), slow, over(LADDER, "cd", 350.0), *pairs]
    again = bandwidth.passed_again(found, dict(zip("1234", probes, strict=False)), VALUES)
    return None if again is None else sorted(again)


def test_a_run_was_slow_once_where_every_repetition_passed() -> None:
    well, slow = over(PROBE, "ab", 350.0), over(PROBE, "ab", 150.0)
    assert slow_once(well, well, well, well) == ["a", "b"]
    # One or two changes that restore the rate are a setting; a host that is slow with others too is the cause; an error is no rate.
    assert slow_once() is None
    assert slow_once(well, well) is None
    assert slow_once(well, well, slow, well) is None
    assert slow_once(well, well, well, well, search=150.0) is None
    assert slow_once(well, well, well, well, trouble="rank 0 of a: hung") is None
    assert slow_once(well, well, well, over(PROBE, "cd", 350.0)) is None


@pytest.mark.parametrize(
    ("words", "of_memory"),
    [
        ("ncclSystemError: Call to ibv_reg_mr failed with error Cannot allocate memory", True),
        ("Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", True),
        ("Call to ibv_reg_mr failed with error Bad address", False),
        ("CUDA error: out of memory", False),
        ("Call to ibv_create_qp failed with error Cannot allocate memory", False),
        ("Call to ibv_create_qp failed", False),
    ],
)
def test_a_registration_is_refused_by_the_host_itself(words: str, of_memory: bool) -> None:
    assert ("refuses to register memory" in explained(words)[0]) == of_memory


@pytest.mark.parametrize(
    ("part", "words", "cause", "fix"),
    [("data_ms", "the wait for its data", "storage was late", "dataset_feeds"), ("compute_ms", "its own computation", "GPU was slowed down", "clocks")],
)
def test_a_rank_that_is_always_behind_comes_with_its_gpu_and_the_part_that_is_late(part: str, words: str, cause: str, fix: str) -> None:
    steps = {"gpu01": [*trained(0), *trained(1, part, slow=tuple(range(40)), late=200.0)], "gpu02": trained(2)}
    assert list(slow_rank(steps, "gpu02", 5, RANKS["gpu02"])) == []
    (found,) = slow_rank(steps, "gpu01", 5, RANKS["gpu01"])
    assert str(found.where) == "rank 1 (GPU 1)" and found.actual.endswith(f"behind in 40 of 40 steps; {words} takes 200 ms more")
    assert cause in (found.cause or "") and fix in (found.fix or "")
    (bare,) = slow_rank(steps, "gpu01", 5)
    assert str(bare.where) == "rank 1"


def test_runs_that_nvlink_carries_between_hosts_prove_no_rail() -> None:
    jobs = [{**job("ladder", "ladder"), "hosts": ["a", "b"]}]
    log = [{"item": "ladder", "event": "channel", "name": "P2P/MNNVL", "nic": None, "device": None, "gdr": None, "gpu": 0}]
    rails = [{"device": "mlx5_0", "gpu": 0}]
    (found,) = all_rails_used(log, jobs, rails)
    assert found.severity == "unknown" and "NVLink over several hosts" in found.actual and "pod_nvlink_domain" in (found.fix or "")


@pytest.mark.parametrize(
    ("words", "own", "cause"),
    [
        ("Error while creating shared memory segment /dev/shm/nccl-3Xa9Wq (size 9637888), error: No space left on device (28)", True, "shared memory"),
        ("ncclSystemError: Call to socket failed: Too many open files", True, "open files"),
        ("CUDA driver version is insufficient for CUDA runtime version", True, "driver is too old"),
        ("CUDA error: system not yet initialized", True, "fabric manager"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", True, "free memory"),
        ("CUDA error: uncorrectable ECC error encountered", True, "GPU or its NVLink failed"),
        ("CUDA error: invalid device ordinal", True, "do not see"),
        ("Bootstrap : no socket interface found", True, "NCCL_SOCKET_IFNAME"),
        ("Call to ibv_modify_qp failed with 110 Connection timed out, local GID index 1, local GID fe80::1, remote GID fe80::2", True, "link-local"),
        ("Call to ibv_modify_qp failed with 110 Connection timed out, local GID ::ffff:10.0.0.1, remote GID ::ffff:10.0.1.1", False, "no route"),
        ("NET/IB: Got completion from peer 10.0.0.2<1> with status=12 opcode=129", False, "retries"),
        ("socketStartConnect: Connect to 172.17.0.1<43210> failed : Connection refused", False, "NCCL_SOCKET_IFNAME"),
        ("Mismatched NCCL version detected : rank 0 version 22809 rank 16 version 21803", False, "different versions of NCCL"),
        ("Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 401", True, "NVLS"),
        ("The client socket has timed out while trying to connect to (192.0.2.1, 29400). TCPStore", False, "first host"),
        ("ImportError: libnccl.so.2: cannot open shared object file", True, "lacks a library"),
        ("ncclInternalError: internal check failed", False, "NCCL refused what it found"),
    ],
)
def test_an_error_of_a_rank_has_its_own_cause_and_shows_whose_it_is(words: str, own: bool, cause: str) -> None:
    (found, *_results) = collectives_correct([], [{"item": "1", "rank": 3, "outcome": "error", "signal": None, "error": words}], [], "nccl", "gpu01")
    assert found.severity == ("fail" if own else "unknown") and cause in (found.cause or "") and found.fix


def test_a_pair_without_copies_reports_why_and_not_each_pair() -> None:
    with pytest.raises(CannotTell, match="no copy was measured: CUDA error"):
        list(peer_to_peer([], 8, "nccl", None, 90.0, [{"error": "CUDA error: system not yet initialized"}]))


@pytest.mark.parametrize(
    ("outcomes", "errors", "own"),
    [
        ({"done": {"a": None}, "killed": {"b": 9}}, {}, {"b": "a rank was ended by signal 9"}),
        # Others report a lost connection when one is killed.
        ({"error": {"a": None}, "killed": {"b": 9}}, {"a": "ncclRemoteError: remote process exited"}, {"b": "a rank was ended by signal 9"}),
        # A signal that comes from outside is no fault of the host.
        ({"done": {"a": None}, "killed": {"b": 15}}, {}, {}),
        # A launcher that ends all of them proves nothing of one.
        ({"killed": {"a": 15, "b": 15}}, {}, {}),
        ({"hung": {"a": None}, "ended": {"b": None}}, {}, {"b": "a rank never arrived where those of the other hosts waited for it"}),
        ({"hung": {"a": None, "b": None}}, {}, {}),
        ({"error": {"a": None}, "ended": {"b": None}}, {"a": "Too many open files"}, {"a": "Too many open files"}),
        ({"error": {"a": None}, "ended": {"b": None}}, {"a": "Call to ibv_modify_qp failed with 110 Connection timed out"}, {}),
    ],
)
def test_a_run_shows_which_of_its_hosts_ended_it(outcomes: dict[str, dict[str, int | None]], errors: dict[str, str], own: dict[str, str]) -> None:
    ends = CollectiveRun(LADDER, ("a", "b"), errors=errors, outcomes=outcomes).own_end
    assert {host: end.words for host, end in ends.items()} == own and all(end.cause and end.fix for end in ends.values())


def test_a_host_whose_runs_end_with_an_error_is_not_slow() -> None:
    jobs, rates, ranks = {}, {}, {}
    wrong = "Call to ibv_modify_qp failed with 110 Connection timed out, local GID ::ffff:10.0.0.1, remote GID ::ffff:10.0.1.1"
    runs = {"rung of a and b": ("rung", "ab"), "rung of c and d": ("rung", "cd"), "search a c": ("search", "ac"), "search a d": ("search", "ad")}
    runs |= {"search b c": ("search", "bc"), **{f"node {host}": ("node", host) for host in "abcd"}}
    for host in "abcd":
        mine = {item: kind for item, (kind, hosts) in runs.items() if host in hosts}
        jobs[host] = [{**job(kind, item), "hosts": list(runs[item][1]), "device": None, "probe": None} for item, kind in mine.items()]
        ended = {item for item in mine if "a" in runs[item][1] and item != "node a"}
        rates[host] = [row for item in mine if item not in ended for row in ran(item, 350.0)[1]]
        ranks[host] = [row for item in mine for row in ran(item, 350.0)[2]]
        for row in ranks[host]:
            if row["item"] in ended:
                row |= {"outcome": "error", "error": wrong} if host == "a" else {"outcome": "ended"}
    given = (VALUES["pod_rails"], 400.0, {2: 330.0}, 90.0, 15.0, {})
    (found,) = slow_node(jobs, rates, ranks, "a", *given)
    assert str(found.where) == "the host" and wrong in found.actual and "slow" not in found.actual and "no route" in (found.cause or "")
    assert [str(one.where) for host in "bcd" for one in slow_node(jobs, rates, ranks, host, *given)] == []


def test_the_pairs_of_a_gpu_with_narrow_links_have_a_cause_of_their_own() -> None:
    copies = [
        {"gpu": one, "peer": two, "access": True, "wrong": 0, "latency_us": 3.0, "gbyte_s": 190.0 if one == 0 else 380.0}
        for one in range(4) for two in range(4) if one != two
    ]  # fmt: skip
    found = list(peer_to_peer(copies, 4, "nccl", None, 90.0))
    assert len(found) == 3 and all("fewer lanes" in (one.cause or "") for one in found)
    # What others run on a GPU takes a part of its links, and says nothing of any of them.
    at_work = [{"gpu": 0, "processes": 2, "process_names": ["/usr/bin/python3 train.py", "dcgmi"]}, {"gpu": 1, "processes": 0, "process_names": []}]
    shared = list(peer_to_peer(copies, 4, "nccl", None, 90.0, None, at_work, ["dcgm*"]))
    assert [one.severity for one in shared] == ["unknown"] * 3 and shared[0].actual == "190 GB/s, while GPU0 runs processes (python3)"
    assert all("Processes of others" in (one.cause or "") for one in shared)
    idle = [{"gpu": 0, "processes": 1, "process_names": ["dcgmi"]}]
    assert [one.severity for one in peer_to_peer(copies, 4, "nccl", None, 90.0, None, idle, ["dcgm*"])] == [None] * 3


@pytest.mark.parametrize(
    ("ranks", "algbw", "busbw", "named", "found"),
    [
        # As nccl-tests prints it, with two digits: of 512 ranks these two alone would say 503.
        (512, 173.38, 346.07, 512, []),
        (128, 180.12, 357.42, 128, []),
        (512, 173.38, 346.07, 504, ["512 by its bandwidths, 504 by its list"]),
        # JSON names the first rank alone, and has more digits.
        (512, 173.375912, 346.074574, 1, []),
        (512, 173.375912, 346.073600, 1, ["511 by its bandwidths, 1 by its list"]),
        # Every process by itself, one host of two, and no rate.
        (16, 240.12, 0.0, 1, ["1 by its bandwidths, 1 by its list"]),
        (16, 200.0, 350.0, 8, ["8 by its bandwidths, 8 by its list"]),
        (16, 240.12, 0.0, 0, ["1 by its bandwidths"]),
        # What no number of ranks gives is not a number of ranks; a list of too few ranks is one.
        (16, 0.0, 0.0, 16, ["busbw 0 and algbw 0 GB/s, which no number of ranks gives, 16 by its list"]),
        (16, 200.0, 400.0, 1, ["busbw 400 and algbw 200 GB/s, which no number of ranks gives, 1 by its list"]),
        (16, 200.0, 2000.0, 0, ["busbw 2000 and algbw 200 GB/s, which no number of ranks gives"]),
        (16, 200.0, 2000.0, 8, ["8 by its list"]),
    ],
)
def test_ranks_by_the_rates_that_nccl_tests_prints(ranks: int, algbw: float, busbw: float, named: int, found: list[str]) -> None:
    of_hosts = {**job("ladder", "all"), "role": "table", "hosts": [f"gpu{number}" for number in range(ranks // 8)]}
    row = {"item": "all", "collective": "all_reduce", "algbw_gbyte_s": algbw, "busbw_gbyte_s": busbw, "ranks": list(range(named))}
    judged = list(ranks_as_asked([of_hosts], [], 8, [row]))
    assert [one.actual for one in judged] == found
    assert [one.severity for one in judged] == ["unknown" if "which no number" in actual else None for actual in found]


def test_a_launcher_that_refuses_has_its_own_cause() -> None:
    refused = {**job("rung", "rung, srun"), "role": "launcher", "status": "unknown", "words": "a node is drained", "device": None, "probe": None}
    own = {**job("rung"), "device": None, "probe": None}
    found = list(ranks_as_asked([own, refused], [], 8, [], {"a": [own, refused]}))
    assert found and all("a node that was asked for is down, drained or reserved" not in (one.cause or "") for one in found)
    assert all("reports why it started no ranks" in (one.cause or "") for one in found)


@pytest.mark.parametrize(
    ("words", "cause", "fix"),
    [
        ("srun: error: Application launch failed: Job credential expired", "clock of a host", "chronyc"),
        ("Munge decode failed: Rewound credential", "clock of a host", "chronyc"),
        ("Unable to allocate resources: Invalid authentication credential", "munge", "munge.key"),
        ("pyxis: failed to import docker image: write /run/enroot/.squashfs: No space left on device", "no space left", "df -h"),
        ("pyxis: failed to import docker image", "image", "enroot import"),
        ("There are not enough slots available in the system to satisfy the 16", "fewer slots", "slots=8"),
        ("srun: Required node not available (down, drained or reserved)", "down, drained or reserved", "sinfo -R"),
        ("ssh: Could not resolve hostname gpu05: Temporary failure in name resolution", "does not resolve", "DNS"),
        ("Host key verification failed.", "cannot log in", "known_hosts"),
        ("srun: error: Invalid account or account/partition combination specified", "not allowed", "sacctmgr"),
        ("slurmstepd: error: execve(): python3: No such file or directory", "did not find the program", "same image"),
        ("slurmstepd: error: mpi/pmix_v4: PMIx library not found", "does not find libpmix", "--mpi=list"),
    ],
)
def test_what_a_launcher_refuses_for_is_told_with_its_fix(words: str, cause: str, fix: str) -> None:
    found = explained_refusal(words)
    assert cause in found[0] and "launcher" in found[0] and fix in found[1] and "says nothing about the network" in found[1]


@pytest.mark.parametrize(
    ("way", "gdr", "cause"),
    [("NET/Socket/0", None, "went over TCP"), ("NET/IB/0", None, "through the host's memory"), ("NET/IB/0", True, "leaves rails out")],
)
def test_the_way_that_data_went_is_the_cause_of_its_rate(way: str, gdr: bool | None, cause: str) -> None:
    log = [
        {"item": "ladder", "event": "channel", "name": way, "nic": 0, "gdr": gdr},
        {"item": "ladder", "event": "device", "name": None, "device": "mlx5_0", "nic": 0},
    ]
    found = cause_of_rate(log, ["mlx5_0", "mlx5_1"])
    assert found is not None and cause in found[0]


@pytest.mark.parametrize(
    "lines",
    [
        # NCCL 2.24 and later make a virtual device of the two; 2.22 and 2.23 list them in one.
        "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [2]mlx5_2:1/RoCE;\n{0}NET/IB : Made virtual device [3] name=mlx5_0+mlx5_1 speed=400 ndevs=2\n"
        "{0}Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/3/GDRDMA\n{0}Channel 01/0 : 1[1] -> 9[1] [send] via NET/IB/2/GDRDMA",
        "NET/IB : Using [0]={{[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE}} [1]mlx5_2:1/RoCE; OOB eth0\n"
        "{0}Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n{0}Channel 01/0 : 1[1] -> 9[1] [send] via NET/IB/1/GDRDMA",
    ],
)
def test_two_ports_that_nccl_merges_into_one_nic_are_both_used(lines: str) -> None:
    start = "gpu-a01:410:433 [0] NCCL INFO "
    log = parse("nccl_log", "linux", (start + lines).format(start) + "\n")
    rails: t.Any = [{"device": f"mlx5_{number}", "gpu": number} for number in range(3)]
    jobs = [{**job("ladder", "ladder"), "hosts": ["a", "b"]}]
    assert list(all_rails_used([{**row, "item": "ladder"} for row in log], jobs, rails)) == []


def test_a_nic_that_is_no_rail_is_named_with_the_prefix_that_chose_it() -> None:
    jobs = [{**job("ladder", "ladder"), "hosts": ["a", "b"]}]
    blank = {"item": "ladder", "name": None, "nic": None, "device": None, "gdr": None, "gpu": 0}
    log = [{**blank, "event": "device", "device": name} for name in ("mlx5_0", "mlx5_1")]
    log += [{**blank, "event": "channel", "name": "NET/IB/1", "nic": 1}]
    rails: t.Any = [{"device": "mlx5_0", "gpu": 0}, {"device": "mlx5_10", "gpu": 1}]
    found = list(all_rails_used(log, jobs, rails))
    assert [str(one.where) for one in found] == ["mlx5_0", "mlx5_10"] and "mlx5_1, no rail" in found[0].actual
    assert all("prefix" in (one.cause or "") and "=" in (one.fix or "") for one in found)


@pytest.mark.parametrize(
    ("text", "hosts", "cause"),
    [
        ("Cuda failure 'invalid argument'", "a", "a alone of 3 hosts warns of this"),
        ("Cuda failure 'invalid argument'", "ab", "2 of 3 hosts warn of this and the others do not"),
        ("socketFinalizeAccept: wrong type 4 != 3", "abc", "All 3 hosts alike warn of this"),
        ("socketFinalizeAccept: wrong type 4 != 3", "abc", "did not connect to each other over TCP"),
        ("qux: frobnication refused", "abc", "NCCL warned with the line that is printed"),
        ("bind failed: Bad address", "a", "(EFAULT)"),
        ("NET/IB : something new", "a", "RDMA library"),
    ],
)
def test_a_warning_that_no_table_knows_has_the_hosts_that_have_it_as_its_cause(text: str, hosts: str, cause: str) -> None:
    blank = {"item": "node", "event": "version", "text": None, "name": None}
    logs = {host: [blank, *([{**blank, "event": "warning", "text": text}] if host in hosts else [])] for host in "abc"}
    (found,) = no_nccl_warnings(logs["a"], [job("node")], [], "nccl", False, "a", logs)
    assert cause in str(found.cause) and found.severity is None
    assert list(no_nccl_warnings(logs["c"], [job("node")], [], "nccl", False, "c", logs)) == [] or "c" in hosts


def test_what_layer_0_judges_is_no_warning_of_nccl() -> None:
    def warned(text: str) -> int:
        log = [{"item": "node", "event": "warning", "name": None, "text": text, "device": None, "nic": None}]
        return len(list(no_nccl_warnings(log, [job("node")], [], "nccl", False, "a")))

    assert warned('NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!') == 0
    assert warned("NCCL WARN NUMA auto balancing enabled which can lead to variability") == 0
    assert warned('NCCL WARN Missing "HSA_FORCE_FINE_GRAIN_PCIE=1" from environment') == 1


def test_an_error_that_names_only_its_kind_has_the_warning_of_its_own_rank_as_its_reason() -> None:
    error = "RuntimeError: NCCL error in: /pytorch/c10d/ProcessGroupNCCL.cpp:784, unhandled system error, NCCL version 2.7.8"
    rank = {"item": "1", "rank": 3, "local_rank": 3, "outcome": "error", "signal": None, "error": error}
    warning = {"item": "1", "event": "warning", "gpu": 3, "text": "Could not find real path of /sys/class/pci_bus/0000:0d"}
    other = {**warning, "gpu": 1, "text": "Failed to malloc 64 bytes"}

    def found(error: str, *log: dict[str, t.Any]) -> tuple[str, str | None]:
        (first, *_results) = collectives_correct([], [{**rank, "error": error}], [], "nccl", "gpu01", nccl_log=list(log))
        return first.actual, first.cause

    assert "Could not find real path" in found(error, other, warning)[0] and "topology" in (found(error, other, warning)[1] or "")
    assert "Failed to malloc" in found(error, other)[0]
    # What another rank's end brought about, what is of another run, and what is no warning is no reason of it.
    for log in ({**warning, "text": "Connection closed by remote peer"}, {**warning, "item": "2"}, {**warning, "event": "version"}):
        assert found(error, log)[0] == error
    # An error that says more than its kind has its reason.
    assert found("RuntimeError: qux of 7", warning)[0] == "RuntimeError: qux of 7"


def test_values_that_are_wrong_by_nccl_tests_alone_and_on_all_hosts_accuse_none() -> None:
    good = {"item": "node", "size_bytes": 8, "wrong": 0, "in_place_wrong": 0, "out_of_bounds": 0, "max_error": None}
    bad, right = {**good, "wrong": 2}, {"item": "node", "rank": 0, "collective": "all_reduce", "size_bytes": 8, "wrong": 0}

    def fix(of_others: Rows, by_torch: int = 0) -> str | None:
        rates = {"a": [right], "b": [{**right, "wrong": by_torch}]}
        (found,) = no_wrong_values([right], [bad], rates, {"a": [bad], "b": of_others})
        return found.fix

    assert "Take no host out" in (fix([bad]) or "") and fix([good]) is None is fix([bad], by_torch=1)
    # Of one host alone that ran them nothing shows that others would count the same.
    assert fix([]) is None


def test_of_several_variables_the_one_whose_probe_restores_the_rate_is_the_cause() -> None:
    variables = ["NCCL_NVLS_ENABLE=0", "NCCL_P2P_DISABLE=1"]
    assert restored(variables, changed_by(["NCCL_P2P_DISABLE=0"])) == ["NCCL_P2P_DISABLE=1"]
    assert restored(variables, changed_by([])) == restored(variables, changed_by(["no topology file"])) == variables
