# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 4 over hosts whose rates are known: planned, measured and evaluated step by step, and who is named for what."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, Finding, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.rdma import bandwidth, latency
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.planners import PLANNERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import Job, Rows, Schedule, StepInput
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import plan_of


@dataclass(frozen=True)
class Running:
    """One test as it runs: its ends, memory and kind, the slot's number from the start of the load, and how many tests its two hosts take part in."""

    sender: str
    device: str
    receiver: str
    peer_device: str
    memory: str
    kind: str
    name: str
    beside: int


Rate = t.Callable[[Running], float]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> t.Any:
    place = tmp_path_factory.mktemp("pod")
    layout.write(place, racks=2, hosts_per_rack=4, spines=4, expectations={"pod_name": "small", "pod_idle_seconds": 1})
    return plan_of(place)


class Pod:
    """The hosts of a plan after all steps of the load, at rates that a function gives."""

    def __init__(self, plan: t.Any, rate: Rate, lost: t.Callable[[str, int], bool] = lambda _host, _step: False) -> None:
        self.plan, self.steps, self.lost = plan, [], lost
        self.hosts = [name for name, node in plan.nodes.items() if node.role == "host"]
        self.done: dict[str, dict[str, Rows]] = {"load_jobs": {}, "write_bw": {}, "write_lat": {}}
        while (table := PLANNERS["rdma"](StepInput(plan, self.hosts, len(self.steps), {}, self.done))) is not None:
            assert len(self.steps) < 5
            self.steps.append(table)
            self.measure(table, rate)

    def measure(self, table: Schedule, rate: Rate) -> None:
        """What one step gives."""
        busy: dict[tuple[float, str], int] = {}
        for host, jobs in table.jobs.items():
            for job in jobs:
                busy[job.until, host] = busy.get((job.until, host), 0) + 1
        for host, jobs in table.jobs.items():
            for job in jobs:
                row = {**job.columns, "item": job.id, "status": "ok", "words": None, "error": None, "hosts": None}
                if job.columns["kind"] == "write_lat" and job.columns["role"] == "client" and self.lost(host, len(self.steps)):
                    row.update(status="unknown", words="it was not reached", error="partner")
                elif job.reading == "write_lat":
                    self.done["write_lat"].setdefault(host, []).append({"item": job.id, "typical_us": 2.0, "average_us": 2.0})
                self.done["load_jobs"].setdefault(host, []).append(row)
                if job.reading == "write_bw":
                    beside = max(busy[job.until, host], busy[job.until, job.columns["peer"]])
                    self.done["write_bw"].setdefault(host, []).append({"item": job.id, "gbit_s": rate(self.running(host, job, beside))})

    def running(self, host: str, job: Job, beside: int) -> Running:
        result = job.columns
        return Running(host, result["device"], result["peer"], result["peer_device"], result["memory"], result["kind"], job.id.partition(":")[0], beside)

    def bandwidth(self, **counters: Rows) -> dict[str, list[Finding]]:
        """What write_bw_per_rail finds on each host."""
        counted = {f"nic_counters{when}": [] for when in ("_idle", "")} | counters
        return self.each(lambda host: bandwidth.write_bw_per_rail(**self.asked("write_bw_per_rail", host), **counted))

    def gpu_memory(self) -> dict[str, list[Finding]]:
        """What gpu_write_bw finds on each host."""
        return self.each(lambda host: bandwidth.gpu_write_bw(**self.asked("gpu_write_bw", host)))

    def latency(self) -> dict[str, list[str]]:
        """What write_latency finds on each host, or why it found nothing."""
        return self.each(self.latency_of)

    def latency_of(self, host: str) -> list[str]:
        given = {"load_jobs": self.done["load_jobs"][host], "load_jobs_of_peers": self.done["load_jobs"], **self.expected("write_latency", host)}
        try:
            return list(map(str, latency.write_latency(**given, write_lat=self.done["write_lat"].get(host))))
        except CannotTell as unknown:
            return [str(unknown)]
        except NotApplicable:
            return []

    def slow_rails(self) -> list[str]:
        """The hosts that slow_rail names, gate group by gate group."""
        found = []
        for hosts in self.plan.groups.values():
            rows = ({host: self.done[reading].get(host, []) for host in hosts} for reading in ("load_jobs", "write_bw"))
            found += [str(one.host) for one in bandwidth.slow_rail(*rows, **self.expected("slow_rail", hosts[0]))]
        return found

    def asked(self, check: str, host: str) -> dict[str, t.Any]:
        """What a check of a host is given."""
        peers = {"load_jobs_of_peers": self.done["load_jobs"], "write_bw_of_peers": self.done["write_bw"]}
        return {"load_jobs": self.done["load_jobs"][host], **peers, **self.expected(check, host)}

    def expected(self, check: str, host: str) -> dict[str, t.Any]:
        """The expectations of a check, of one host."""
        values = {**self.plan.nodes[host].values, **self.plan.planned(host)}
        return {name: values[name] for name in REGISTRY["rdma"][check].expectations}

    def each(self, judge: t.Callable[[str], t.Iterable[Finding]]) -> dict[str, list[Finding]]:
        found = {host: list(judge(host)) for host in self.hosts}
        return {host: findings for host, findings in found.items() if findings}


def words(found: dict[str, list[Finding]], host: str) -> str:
    return "\n".join(map(str, found[host]))


def quiet(plan: t.Any, value: int = 0) -> Rows:
    """An error counter of every NIC of one host."""
    names = {rail["netdev"] for node in plan.nodes.values() if node.role == "host" for rail in node.values["pod_rails"]}
    return [{"netdev": name, "name": "rx_crc_errors_phy", "value": value} for name in sorted(names)]


def test_a_healthy_pod_is_measured_once_and_has_no_finding(plan) -> None:
    pod = Pod(plan, lambda _test: 380.0)
    assert pod.bandwidth() == pod.gpu_memory() == {} and len(pod.steps) == 1


def test_a_latency_test_that_gave_no_number_once_is_made_again(plan) -> None:
    first = Pod(plan, lambda _test: 380.0)
    late = {row["peer"] for host in ("gpu02",) for row in first.done["load_jobs"][host] if row["kind"] == "write_lat"} | {"gpu02"}
    pod = Pod(plan, lambda _test: 380.0, lost=lambda host, step: host in late and step == 1)
    assert len(pod.steps) == 2 and {host for host, jobs in pod.steps[1].jobs.items() if jobs} == late
    assert {job.columns["kind"] for jobs in pod.steps[1].jobs.values() for job in jobs} == {"write_lat"}
    assert pod.latency() == pod.bandwidth() == {}


def test_a_latency_test_that_gives_no_number_twice_is_unknown_at_its_host(plan) -> None:
    pod = Pod(plan, lambda _test: 380.0, lost=lambda host, _step: host == "gpu01")
    assert len(pod.steps) == 2 and pod.latency() == {"gpu01": ["no latency test of this host gave a number"]}


def test_every_rail_sends_from_gpu_memory_and_receives_into_it(plan) -> None:
    pod = Pod(plan, lambda _test: 380.0)
    for role in ("client", "server"):
        seen = {(host, row["device"]) for host, rows in pod.done["load_jobs"].items() for row in rows if row["memory"] == "cuda" and row["role"] == role}
        assert seen == {(host, rail["device"]) for host in pod.hosts for rail in plan.nodes[host].values["pod_rails"]}


@pytest.mark.parametrize("bad", ["gpu02", "gpu05", "gpu08"])
@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_a_host_whose_gpu_memory_is_slow_one_way_is_named_alone(plan, bad: str, end: str) -> None:
    pod = Pod(plan, lambda one: 220.0 if one.memory == "cuda" and getattr(one, end) == bad else 380.0)
    found = pod.gpu_memory()
    assert set(found) == {bad} and len(found[bad]) == 8 and pod.bandwidth() == {}
    assert "mlx5_0, cuda memory: expected 90 % of the 380 Gb/s from host memory, got 220 Gb/s with gpu" in words(found, bad)


def test_the_fix_of_a_check_names_checks_that_exist() -> None:
    known = {name for layer in REGISTRY.values() for name in layer}
    named = REGISTRY["rdma"]["gpu_write_bw"].fix
    assert {"acs_as_expected", "iommu_as_expected", "nic_gpu_affinity"} <= known and "nic_gpu_affinity" in named


@pytest.mark.parametrize("bad", [["gpu03"], ["gpu02", "gpu07"]])
def test_a_host_that_is_slow_on_all_rails_is_named_and_no_partner_of_it(plan, bad: list[str]) -> None:
    pod = Pod(plan, lambda one: 180.0 if {one.sender, one.receiver} & set(bad) else 380.0)
    found = pod.bandwidth()
    assert set(found) == set(bad) and all(len(findings) == 8 for findings in found.values())
    retests = [job for job in pod.steps[1].jobs[bad[0]] if job.columns["kind"] == "retest"]
    assert {job.columns["peer"] for job in retests}.isdisjoint(bad), "each end is tested with a partner that passed"
    assert len({(job.columns["device"], job.columns["role"]) for job in retests}) == len(retests) == 16


def test_a_nic_far_below_its_rate_without_an_error_is_to_be_reset(plan) -> None:
    pod = Pod(plan, lambda one: 60.0 if (one.sender, one.device) == ("gpu03", "mlx5_0") else 380.0)
    ((one,),) = pod.bandwidth(nic_counters_idle=quiet(plan), nic_counters=quiet(plan)).values()
    assert "bad state" in str(one.cause) and "mlxfwreset" in str(one.fix)
    ((one,),) = pod.bandwidth(nic_counters_idle=quiet(plan), nic_counters=quiet(plan, 7)).values()
    assert one.cause is None and one.fix is None


def test_a_test_that_was_slow_once_is_a_warning_with_all_values(plan) -> None:
    pod = Pod(plan, lambda one: 30.0 if one.name == "round 1" and (one.sender, one.device) == ("gpu01", "mlx5_0") and one.kind == "write_bw" else 380.0)
    found = pod.bandwidth(nic_counters_idle=quiet(plan), nic_counters=quiet(plan))
    assert [(one.severity, str(one.where)) for findings in found.values() for one in findings] == [("warn", "mlx5_0")] * 2
    assert "30 Gb/s once with" in words(found, "gpu01") and "then 380 Gb/s, 380 Gb/s when the same round was repeated under the same load" in words(
        found, "gpu01"
    )
    assert "no error counter grew" in words(found, "gpu01")
    grown = pod.bandwidth(nic_counters_idle=quiet(plan), nic_counters=quiet(plan, 7))
    assert {one.severity for one in grown["gpu01"]} == {"fail"} and "rx_crc_errors_phy +7" in words(grown, "gpu01")
    assert {one.severity for one in pod.bandwidth()["gpu01"]} == {"unknown"}


def test_a_host_that_is_slow_beside_its_other_rails_only_is_reported_as_so(plan) -> None:
    pod = Pod(plan, lambda one: 250.0 if "gpu04" in (one.sender, one.receiver) and one.beside > 1 else 380.0)
    found = pod.bandwidth()
    assert len(pod.steps) == 2, "each of its rails failed with several hosts and passed alone: there is no pair to test"
    assert set(found) == {"gpu04"} and "the host, only under concurrent load, for 380 Gb/s when tested alone" in words(found, "gpu04")
    assert {one.severity for one in found["gpu04"]} == {None} and "not beside others" in str(found["gpu04"][0].cause)
    slow = list(bandwidth.slow_rail(pod.done["load_jobs"], pod.done["write_bw"], **pod.expected("slow_rail", "gpu04")))
    assert {one.host for one in slow} == {"gpu04"} and {one.cause for one in slow} == {found["gpu04"][0].cause}
    assert all(one.actual == "250 Gb/s at best beside the host's other rails, 380 when tested alone" for one in slow)


def test_a_path_that_is_slow_under_concurrent_load_only_is_reported_as_so(plan) -> None:
    first = Pod(plan, lambda _test: 380.0).done["load_jobs"]["gpu01"]
    pair = next((row["peer"], row["peer_device"]) for row in first if (row["kind"], row["role"], row["device"]) == ("write_bw", "client", "mlx5_0"))
    pod = Pod(plan, lambda one: 150.0 if one.beside > 1 and (one.sender, one.device, one.receiver, one.peer_device) == ("gpu01", "mlx5_0", *pair) else 380.0)
    found = pod.bandwidth()
    assert set(found) == {"gpu01", pair[0]} and "150 Gb/s: the path, only under concurrent load, for" in words(found, "gpu01")
    assert {one.severity for findings in found.values() for one in findings} == {None}


def test_each_end_uses_the_gid_index_and_the_gpu_memory_of_its_own_host(plan: t.Any) -> None:
    other = next(name for name, node in plan.nodes.items() if node.role == "host")
    node = plan.nodes[other]
    changed = replace(plan, nodes={**plan.nodes, other: replace(node, values={**node.values, "pod_gid_index": 5, "pod_gpudirect": "dmabuf"})})
    hosts = [name for name, node in changed.nodes.items() if node.role == "host"]
    planned = PLANNERS["rdma"](StepInput(changed, hosts, 0, {}, {}))
    assert planned is not None
    seen = {
        (host == other, job.argv[job.argv.index("-x") + 1], job.columns["gid_index"], "--use_cuda_dmabuf" in job.argv)
        for host, jobs in planned.jobs.items()
        for job in jobs
        if job.columns["memory"] == "cuda"
    }
    assert seen == {(True, "5", 5, True), (False, "3", 3, False)}
