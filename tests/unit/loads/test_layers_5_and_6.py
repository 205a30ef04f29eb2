# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers 5 and 6 over 32 hosts of 8 GPUs: planned, run on simulated GPUs, read and judged as a run does it, with a fault for every check."""

from __future__ import annotations

import datetime
import json
import re
import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.training import steps
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.layer import verdicts_of_checks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.layer_input import ANSWERED, Envelope, Layer
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads import scaling_ladder
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.collective_runs import LADDER, LAUNCHER, PROBE, RAIL, TABLE
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.launchers import STARTED_FROM_ONE_HOST
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.planners import PLANNERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.results import job_results
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import Job, Rows, StepInput, load_schedule
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import typed
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Node, Plan
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import stack

HOSTS = 32
# The checks of nccl-tests, which a pod has where it says where the programs are.
BY_TESTS = ("nccl_tests_bandwidth", "measures_agree")
# The checks of a site's own training, by its log.
BY_LOG = ("own_training_ends", "own_steps_steady", "own_loss_falls", "own_step_time_expected")
# One that judges a report that not every training prints.
BY_REPORT = ("own_ranks_keep_up",)
DATASET: dict[str, t.Any] = {"pod_dataset_path": "/data/tokens", "pod_dataset_read_gbyte_s": 4, "pod_dataset_gbyte": 20000}
OWN: dict[str, t.Any] = {"pod_training_command": ["/opt/train/run.sh", "--steps", "40"]}
TESTS: dict[str, t.Any] = {"pod_nccl_tests_dir": "/opt/nccl-tests/build"}
Checks = dict[str, str]


def plan_of(hosts: int, **expectations: t.Any) -> Plan:
    """A pod of hosts with eight rails each, in racks of eight."""
    nodes, groups = {}, {}
    for number in range(hosts):
        name, rack = f"gpu{number + 1:02}", f"rack_{number // 8 + 1:02}"
        rails = [
            {"device": f"mlx5_{rail}", "netdev": f"eth{rail}", "gpu": rail, "leaf": f"leaf{rail}", "address": f"10.0.{rail}.{number + 1}/24"}
            for rail in range(8)
        ]
        values, wrong = typed({"pod_rails": rails, **expectations})
        assert not wrong
        nodes[name] = Node(name, "host", "linux", rack, values)
        groups.setdefault(rack, []).append(name)
    return Plan(nodes, groups, [])


class Fleet:
    """Simulated hosts that run a layer's loads, step by step."""

    def __init__(self, plan: Plan, ills: dict[str, dict[str, t.Any]], named: bool = True) -> None:
        """named: whether the jobs have the names that their planner gave them, and not numbers."""
        self.plan, self.words, self.steps, self.named = plan, [], [], named
        self.lost: dict[tuple[str, str], str] = {}
        common = {"rails": 8, "link_gbit_s": 400, "devices": [f"mlx5_{rail}" for rail in range(8)]}
        self.hosts = {name: {**stack.HEALTHY, **common, "name": name, **ills.get(name, ills.get("*", {}))} for name in plan.nodes}

    def climb(self, layer: str, idle: dict[str, t.Any] | None = None) -> dict[str, dict[str, Envelope]]:
        """Every step of a layer's loads; what each host told, as envelopes."""
        done: dict[str, dict[str, Rows]] = {}
        hosts = list(self.plan.nodes)
        for step in range(30):
            table = PLANNERS[layer](StepInput(self.plan, hosts, step, idle or {}, done))
            if table is None:
                break
            assert load_schedule(json.loads(json.dumps(table.dump()))) == table
            self.words += table.words
            self.steps.append(table)
            for host, planned in table.jobs.items():
                jobs = planned if self.named else [replace(job, id=f"step {step} job {number}") for number, job in enumerate(planned)]
                answers = {job.id: self.answer(host, job) for job in jobs}
                for name, result in job_results(jobs, {"answers": answers, "ended": "done"}).items():
                    if result.status != "ok":
                        self.lost[host, name] = result.words
                    done.setdefault(name, {}).setdefault(host, []).extend(result.rows)
        names = {reading for readings in done.values() for reading in readings}
        assert names <= set(hosts)
        return {"now": {host: self.envelope(host, done) for host in hosts}}

    def answer(self, host: str, job: Job) -> dict[str, t.Any]:
        """What one job prints."""
        result = {"status": "ran", "argv": job.argv, "rc": 0, "stderr": "", "stdout": "", "seconds": 20.0, "cut": False}
        if job.columns["role"] == LAUNCHER:
            return result
        if job.columns["role"] == TABLE:
            return result | self.table(host, job)
        program = next(word.strip("{}") for word in job.argv if word.startswith("{"))
        if program == "dataset_read":
            told_of = stack.dataset(job.argv[job.argv.index("--path") + 1], self.hosts[host])
            return {**result, "stdout": json.dumps(told_of), "rc": 1 if told_of["error"] else 0}
        text, rc = stack.printed(program, stack.options(job.argv[4:]), [self.hosts[name] for name in job.columns["hosts"]])
        return {**result, "stdout": text, "rc": rc}

    def table(self, host: str, job: Job) -> dict[str, t.Any]:
        """What one run of nccl-tests prints."""
        run = [self.hosts[name] for name in job.columns["hosts"]]
        if not self.hosts[host]["tests"]:
            return {"status": "missing", "rc": None, "stderr": f"{job.argv[0]}: not found on PATH"}
        if "tests_print" in self.hosts[host]:
            return {"rc": 1, "stderr": self.hosts[host]["tests_print"]}
        return {"stdout": stack.table(job.argv, run, 8, "NCCL_P2P_DISABLE" in job.environment)}

    def envelope(self, host: str, done: dict[str, dict[str, Rows]]) -> Envelope:
        """As a run keeps it."""
        readings = {
            name: {
                "status": "unknown" if (host, name) in self.lost else "ok",
                "words": self.lost.get((host, name), ""),
                "rows": rows.get(host, []),
                "evidence": None,
            }
            for name, rows in done.items()
        }
        return {"answered": True, "words": "", "boot_id": "1", "uptime_seconds": 1.0, "readings": readings}


# What is read around the loads is judged in tests/integration/test_watched_loads.py: here only the loads respond.
AROUND = (".checks.watched.", ".checks._under_load")
WATCHED = {name for layer in ("collectives", "training") for name, check in REGISTRY[layer].items() if any(one in check.judge.__module__ for one in AROUND)}


def judged(layer: str, plan: Plan, fleet: Fleet) -> list[t.Any]:
    """Every verdict of the layer by what its loads printed."""
    result = fleet.climb(layer)
    members = list(plan.nodes)
    verdicts = verdicts_of_checks(Layer(layer, plan, members, members, result["now"], {}, {}, (), datetime.date(2026, 6, 15)))
    return [one for one in verdicts if one.check not in WATCHED]


def not_well(verdicts: list[t.Any]) -> dict[str, Checks]:
    """Checks that are neither pass nor skip, with the worst verdict of each host."""
    found: dict[str, Checks] = {}
    for one in verdicts:
        if one.verdict not in ("pass", "skip"):
            for host in {finding.host or one.host for finding in one.findings} or {one.host}:
                found.setdefault(one.check, {})[host or "group"] = one.verdict
    return found


def words_of(verdicts: list[t.Any], check: str) -> str:
    """What a check found, in words."""
    return "; ".join(str(finding) for one in verdicts if one.check == check for finding in one.findings)


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Two racks, where a fault is looked for."""
    return plan_of(16)


def test_a_healthy_pod_passes_layer_5() -> None:
    plan = plan_of(HOSTS)
    fleet = Fleet(plan, {})
    verdicts = judged("collectives", plan, fleet)
    assert not_well(verdicts) == {} == fleet.lost
    passed = {one.check for one in verdicts if one.verdict == "pass"}
    assert passed == set(REGISTRY["collectives"]) - {"sharp_used", "clique_all_reduce", *BY_TESTS, *WATCHED} | {ANSWERED}
    # Alone, then 2, 4, 8, 16 and 32 hosts, then each rail by itself: every host in each.
    assert [len(table.jobs) for table in fleet.steps] == [HOSTS] * 7
    assert any("7 launches" in words for words in fleet.words)
    rails = fleet.steps[-1].jobs["gpu01"]
    assert [job.columns["kind"] for job in rails] == [RAIL] * 8 and len({job.argv[job.argv.index("--master") + 1] for job in rails}) == 8
    assert [word for word in rails[3].argv if word.startswith("CUDA_")] == ["CUDA_VISIBLE_DEVICES=3"] and {len(job.columns["hosts"]) for job in rails} == {8}


@pytest.mark.exhaustive
def test_a_slow_host_of_32_is_named_in_few_launches() -> None:
    plan = plan_of(HOSTS)
    fleet = Fleet(plan, {"gpu21": {"limit_gbyte_s": 180.0}})
    found = not_well(judged("collectives", plan, fleet))
    assert found["slow_node"] == found["all_reduce_bandwidth"] == {"gpu21": "fail"}
    # Alone, the first rung, and the search that its failure starts; then each rail by itself.
    assert len(fleet.steps) - 1 <= 2 + 7


def together(fleet: Fleet) -> set[str]:
    """The hosts of the last rung that was climbed."""
    climbed = [job.columns for step in fleet.steps for jobs in step.jobs.values() for job in jobs if job.columns["kind"] == LADDER]
    return set(climbed[-1]["hosts"])


def test_the_others_climb_on_without_whom_a_rung_is_blamed_on() -> None:
    plan = plan_of(16)
    fleet = Fleet(plan, {"gpu05": {"limit_gbyte_s": 180.0}, "gpu13": {"limit_gbyte_s": 180.0}})
    found = not_well(judged("collectives", plan, fleet))
    assert found["slow_node"] == found["all_reduce_bandwidth"] == {"gpu05": "fail", "gpu13": "fail"}
    assert together(fleet) == set(plan.nodes) - {"gpu05", "gpu13"}
    names = [(host, job.id) for step in fleet.steps for host, jobs in step.jobs.items() for job in jobs]
    assert len(names) == len(set(names)), "two runs of a host have one name"


def test_a_ladder_by_nccl_tests_that_ends_early_is_no_pass_for_those_below_it() -> None:
    plan = plan_of(8, pod_launcher="mpirun", **TESTS)
    verdicts = judged("collectives", plan, Fleet(plan, {"gpu03": {"tests_percent": 40.0}}))
    assert not_well(verdicts)["nccl_tests_bandwidth"] == {**dict.fromkeys(plan.nodes, "unknown"), "gpu03": "fail", "gpu04": "fail"}
    assert "all-reduce over 8 hosts, as by torch, got not run beyond 2 hosts" in words_of(verdicts, "nccl_tests_bandwidth")


def test_who_is_slow_is_reported_beside_a_host_that_never_came_so_far() -> None:
    plan = plan_of(16)
    found = not_well(judged("collectives", plan, Fleet(plan, {"gpu02": {"wrong": 3}, "gpu13": {"limit_gbyte_s": 180.0}})))
    assert found["slow_node"] == {"gpu13": "fail"}
    assert found["all_reduce_bandwidth"] == {"gpu02": "unknown", "gpu13": "fail"}


def test_a_ladder_that_ended_early_is_no_pass_for_those_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling_ladder, "MAX_SEARCHES", 0)
    plan = plan_of(16)
    verdicts = judged("collectives", plan, Fleet(plan, {"gpu13": {"limit_gbyte_s": 180.0}}))
    found = not_well(verdicts)["all_reduce_bandwidth"]
    assert found == {**dict.fromkeys(plan.nodes, "unknown"), "gpu13": "fail", "gpu14": "fail"}
    assert "expected all-reduce over all 16 hosts, got not run beyond 2 hosts" in words_of(verdicts, "all_reduce_bandwidth")


def test_a_healthy_pod_passes_layer_6() -> None:
    plan = plan_of(HOSTS)
    verdicts = judged("training", plan, Fleet(plan, {}))
    assert not_well(verdicts) == {}
    passed = {one.check for one in verdicts if one.verdict == "pass"}
    assert passed == set(REGISTRY["training"]) - {"step_time_expected", "mfu", "dataset_feeds", *BY_LOG, *BY_REPORT, *WATCHED} | {ANSWERED}


ILL: dict[str, tuple[dict[str, t.Any], Checks, str, str]] = {
    "gpu_braked": (
        {"collective_clocks": {"0": 990}, "collective_reasons": {"0": 136}},
        {"gpu_clocks_in_collectives": "fail"},
        "gpu_clocks_in_collectives",
        "got 990 MHz",
    ),
    # name: the ill host's state; checks that find it there; the check whose words are looked at; the words
    "gpudirect_off": (
        {"gdr": False},
        {"all_reduce_bandwidth": "fail", "slow_node": "fail", "gpudirect_used": "fail", "node_nics_all_reduce": "fail"},
        "all_reduce_bandwidth",
        "GPUDirect is off on 8 of 8 channels",
    ),
    "one_nic_of_eight": (
        {"rails_used": 1},
        {"all_reduce_bandwidth": "fail", "slow_node": "fail", "all_rails_used": "fail", "node_nics_all_reduce": "fail"},
        "all_reduce_bandwidth",
        "1 of 8 rails carry it",
    ),
    "seven_nics_of_eight": (
        {"rails_used": 7},
        {"all_rails_used": "fail", "node_nics_all_reduce": "fail", "efficiency": "warn"},
        "all_rails_used",
        "mlx5_7",
    ),
    "nics_by_nvlink": ({"over_nvlink": True}, {"node_nics_all_reduce": "unknown"}, "node_nics_all_reduce", "no channel over a NIC"),
    "socket_fallback": (
        {"socket": True},
        {"all_reduce_bandwidth": "fail", "slow_node": "fail", "no_nccl_warnings": "fail", "node_nics_all_reduce": "fail"},
        "no_nccl_warnings",
        "expected RDMA, got TCP sockets",
    ),
    "slow_host_180_of_380": (
        {"limit_gbyte_s": 180.0},
        {"all_reduce_bandwidth": "fail", "slow_node": "fail", "node_nics_all_reduce": "fail"},
        "slow_node",
        "fast without it",
    ),
    "nvls_lost": (
        {"nvls": False, "node_gbyte_s": 320.0},
        {"nvls_available": "fail", "node_all_reduce_alike": "warn"},
        "nvls_available",
        "not available on 8 of its GPUs",
    ),
    "slow_gpus": ({"node_gbyte_s": 200.0}, {"node_all_reduce": "fail"}, "node_all_reduce", "got 19"),
    "no_peer_access": ({"access": False}, {"peer_to_peer": "fail"}, "peer_to_peer", "GPU 0 to GPU 1: expected peer access"),
    "slow_copy": ({"copy_gbyte_s": 90.0}, {"peer_to_peer": "fail"}, "peer_to_peer", "90 GB/s"),
    # A host that computes wrongly by itself is no partner of others.
    "wrong_values": ({"wrong": 3}, {"no_wrong_values": "fail", "all_reduce_bandwidth": "unknown"}, "no_wrong_values", "3 wrong"),
    "wrong_value_of_a_small_call": ({"wrong_small": 1}, {"collectives_correct": "fail"}, "collectives_correct", "1 wrong"),
    "another_variable": ({"variable": "NCCL_ALGO"}, {"nccl_runtime": "unknown"}, "nccl_runtime", "NCCL_ALGO: expected not set, got 1"),
    "nccl_warns": (
        {"warning": "NET/IB: Got completion from peer 10.0.0.2<1> with status=12 opcode=1"},
        {"no_nccl_warnings": "fail"},
        "no_nccl_warnings",
        "NET/IB: Got completion from peer 10.0.0.2<1> with status=12 opcode=1",
    ),
    "late": ({"late_ms": 120.0}, {"arrivals_even": "warn"}, "arrivals_even", "120 ms"),
}


@pytest.mark.parametrize("name", ILL)
def test_an_ill_host_of_layer_5_is_found_and_named(plan: Plan, name: str) -> None:
    state, checks, check, words = ILL[name]
    verdicts = judged("collectives", plan, Fleet(plan, {"gpu13": state}))
    found = not_well(verdicts)
    at_13 = {one: hosts.get("gpu13") for one, hosts in found.items() if "gpu13" in hosts}
    assert at_13 == checks
    # Whoever shares a run with it is told of nothing.
    assert {one for one, hosts in found.items() if set(hosts) - {"gpu13"}} == set()
    assert words in words_of(verdicts, check)


def test_a_slow_rail_is_named_in_its_gate_group(plan: Plan) -> None:
    verdicts = judged("collectives", plan, Fleet(plan, {"gpu13": {"slow_rail": 3}}))
    assert not_well(verdicts) == {"rail_all_reduce": {"group": "fail"}}
    assert {one.group: one.verdict for one in verdicts if one.check == "rail_all_reduce"} == {"rack_01": "pass", "rack_02": "fail"}
    assert re.fullmatch(
        r"rail mlx5_3: expected 39\.\d+ GB/s or more, the median of the group's rails is 4[34]\.\d+, got 2[12]\.\d+ GB/s", words_of(verdicts, "rail_all_reduce")
    )


def test_every_check_of_layer_5_has_a_fault_here() -> None:
    found = {check for _state, checks, _check, _words in ILL.values() for check in checks}
    others = {"curve_rises", "ranks_as_asked", "sharp_used", "clique_all_reduce", "rail_all_reduce", *BY_TESTS}
    assert found | others == set(REGISTRY["collectives"]) - WATCHED


@pytest.mark.parametrize("launcher", STARTED_FROM_ONE_HOST)
def test_a_healthy_pod_passes_by_nccl_tests_too(launcher: str) -> None:
    pod = plan_of(16, pod_launcher=launcher, **TESTS)
    fleet = Fleet(pod, {})
    verdicts = judged("collectives", pod, fleet)
    assert not_well(verdicts) == {}
    assert {one.check for one in verdicts if one.verdict == "pass"} >= set(BY_TESTS)
    tables = [[job.argv for jobs in step.jobs.values() for job in jobs if job.columns["role"] == TABLE] for step in fleet.steps]
    # Every host alone and over its NICs, then 2, 4, 8 and 16, each started once; before it the same by torch.
    assert [len(one) for one in tables] == [0, 0, 0, 0, 0, 0, 32, 8, 4, 2, 1]
    assert {argv[0] for argv in tables[6]} == {"/opt/nccl-tests/build/all_reduce_perf"} and {argv[0] for argv in tables[10]} == {launcher}
    assert any("5 launches of nccl-tests" in words for words in fleet.words)


def test_without_a_launcher_nccl_tests_measures_hosts_alone_and_the_plan_says_so() -> None:
    pod = plan_of(4, **TESTS)
    fleet = Fleet(pod, {})
    verdicts = judged("collectives", pod, fleet)
    assert not_well(verdicts) == {} and {one.check for one in verdicts if one.verdict == "pass"} >= set(BY_TESTS)
    assert any("needs pod_launcher srun or mpirun" in words for words in fleet.words)


TABLED: dict[str, tuple[dict[str, t.Any], Checks, str, str]] = {
    "missing": ({"tests": False}, {"nccl_tests_bandwidth": "unknown", "measures_agree": "unknown"}, "nccl_tests_bandwidth", "not found"),
    "slower_than_torch": ({"tests_percent": 40.0}, {"nccl_tests_bandwidth": "fail", "measures_agree": "warn"}, "measures_agree", "by nccl-tests"),
    "a_little_slower": ({"tests_percent": 88.0}, {"measures_agree": "warn"}, "measures_agree", "within 10 %"),
    # Who computes wrongly by itself is no partner of others.
    "wrong": ({"tests_wrong": 2}, {"no_wrong_values": "fail", "nccl_tests_bandwidth": "unknown"}, "no_wrong_values", "nccl-tests at"),
    "without_mpi": (
        {"tests_lone": True},
        {"ranks_as_asked": "fail", "nccl_tests_bandwidth": "fail", "measures_agree": "warn"},
        "ranks_as_asked",
        "one group of",
    ),
}


@pytest.mark.parametrize("name", TABLED)
def test_what_ails_nccl_tests_is_found(name: str) -> None:
    state, checks, check, words = TABLED[name]
    pod = plan_of(2, pod_launcher="mpirun", **TESTS)
    verdicts = judged("collectives", pod, Fleet(pod, {"gpu01": state}))
    found = not_well(verdicts)
    assert {one: hosts["gpu01"] for one, hosts in found.items() if "gpu01" in hosts} == checks
    assert words in words_of(verdicts, check)


def test_programs_that_may_be_missing_are_skipped_where_they_are() -> None:
    pod = plan_of(2, pod_launcher="mpirun", pod_nccl_tests_optional=True, **TESTS)
    verdicts = judged("collectives", pod, Fleet(pod, {"*": {"tests": False}}))
    assert not_well(verdicts) == {}
    assert {one.verdict for one in verdicts if one.check in BY_TESTS} == {"skip"}


def test_a_launcher_that_starts_nothing_is_reported_by_the_host_that_ran_it() -> None:
    pod = plan_of(2, pod_launcher="srun")
    fleet = Fleet(pod, {})
    healthy = fleet.answer

    def refused(host: str, job: Job) -> dict[str, t.Any]:
        if len(job.columns["hosts"]) == 1:
            return healthy(host, job)
        words = "srun: error: Unable to allocate resources: Requested nodes are busy" if job.columns["role"] == LAUNCHER else "nothing was started"
        return {**healthy(host, job), "stdout": "", "stderr": words, "rc": 1}

    fleet.answer = refused  # type: ignore[method-assign]
    verdicts = judged("collectives", pod, fleet)
    found = not_well(verdicts)
    assert found["all_reduce_bandwidth"] == {"gpu01": "unknown", "gpu02": "unknown"}
    assert "Slurm did not give the nodes in time" in words_of(verdicts, "all_reduce_bandwidth")


def test_a_dip_in_the_curve(plan: Plan) -> None:
    dip = {"gpu13": {"dip_at": 268435456}}
    verdicts = judged("collectives", plan, Fleet(plan, dip))
    assert not_well(verdicts)["curve_rises"]["gpu13"] == "warn"
    assert "256 MiB" in words_of(verdicts, "curve_rises")


def test_lone_ranks_are_no_group(plan: Plan) -> None:
    verdicts = judged("collectives", plan, Fleet(plan, {"gpu13": {"lone": True}}))
    assert not_well(verdicts)["ranks_as_asked"] == {"gpu13": "fail"}


def test_sharp_that_is_wanted_and_not_there() -> None:
    pod = plan_of(4, pod_sharp=True, pod_fabric="infiniband")
    found = not_well(judged("collectives", pod, Fleet(pod, {})))
    assert set(found["sharp_used"]) == set(pod.nodes)


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("NCCL_ALGO=Ring", "NCCL_ALGO=Ring restores it: "),
        ("NCCL_IB_QPS_PER_CONNECTION=4", "4 queue pairs a connection restores it: "),
        ("", "none of NCCL_ALGO=Ring, NCCL_NVLS_ENABLE=0, no topology file, 4 queue pairs a connection restores it"),
    ],
)
def test_what_restores_the_rate_of_a_rung_is_named(variable: str, words: str) -> None:
    pod = plan_of(4)
    fleet = Fleet(pod, {"gpu03": {"limit_gbyte_s": 180.0, "restored_by": variable}})
    verdicts = judged("collectives", pod, fleet)
    assert words in words_of(verdicts, "all_reduce_bandwidth")
    found = not_well(verdicts)
    assert found["all_reduce_bandwidth"] == found["slow_node"] == {"gpu03": "fail"} and "nccl_runtime" not in found
    rounds = [step for step in fleet.steps if any(job.columns["kind"] == PROBE for jobs in step.jobs.values() for job in jobs)]
    assert len(rounds) == 1 and {len(jobs) for jobs in rounds[0].jobs.values()} == {4} and len(rounds[0].jobs) == 2


ILLS: dict[str, dict[str, dict[str, t.Any]]] = {
    "slow_host": {"gpu03": {"limit_gbyte_s": 180.0, "restored_by": "NCCL_ALGO=Ring"}},
    "no_programs": {"*": {"tests": False}},
    "healthy": {},
}


@pytest.mark.parametrize("name", ILLS)
def test_no_verdict_depends_on_the_names_of_jobs(name: str) -> None:
    """The rows of one run, what a probe tried and whose rail a run was are columns; a job's name only joins its rows."""
    pod = plan_of(4, pod_launcher="mpirun", pod_nccl_tests_optional=True, **TESTS)
    by_name, by_number = (judged("collectives", pod, Fleet(pod, ILLS[name], named)) for named in (True, False))
    result = [[(one.check, one.host, one.group, one.verdict, one.words, one.findings) for one in verdicts] for verdicts in (by_name, by_number)]
    assert result[0] == result[1]


def test_a_program_is_missing_by_the_status_of_its_job_and_not_by_what_it_prints() -> None:
    pod = plan_of(2, pod_launcher="mpirun", pod_nccl_tests_optional=True, **TESTS)
    verdicts = judged("collectives", pod, Fleet(pod, {"*": {"tests_print": "libnccl.so: not found on PATH"}}))
    assert not_well(verdicts)["nccl_tests_bandwidth"] == dict.fromkeys(pod.nodes, "unknown")


@pytest.mark.parametrize("ill", [{"node_gbyte_s": 120.0, "node_restored_by": "NCCL_P2P_DISABLE=0"}, {"limit_gbyte_s": 180.0}])
def test_a_rate_with_a_variable_that_the_pod_does_not_list_is_unknown_and_the_variable_is_named(ill: dict[str, t.Any]) -> None:
    pod = plan_of(4)
    fleet = Fleet(pod, {"gpu03": {"variable": "NCCL_P2P_DISABLE", **ill}})
    verdicts = judged("collectives", pod, fleet)
    low = [one for one in verdicts if one.check in ("node_all_reduce", "all_reduce_bandwidth", "slow_node") and one.verdict not in ("pass", "skip")]
    assert low and {(one.host, one.verdict) for one in low} == {("gpu03", "unknown")}
    for finding in (finding for one in low for finding in one.findings):
        assert finding.actual.startswith("NCCL_P2P_DISABLE=1 is set: ") and str(finding.cause).startswith("NCCL_P2P_DISABLE=1 is set on the host")
    assert not_well(verdicts)["nccl_runtime"] == {"gpu03": "unknown"}


def test_what_restores_the_rate_of_a_host_alone_is_named() -> None:
    pod = plan_of(4)
    fleet = Fleet(pod, {"gpu03": {"node_gbyte_s": 120.0, "node_restored_by": "NCCL_P2P_DISABLE=0"}})
    output = words_of(judged("collectives", pod, fleet), "node_all_reduce")
    assert "NCCL_P2P_DISABLE=0 restores it: 36" in output and "GB/s alone" in output
    probes = [job for step in fleet.steps for jobs in step.jobs.values() for job in jobs if job.columns["kind"] == PROBE]
    assert len(probes) == 3 and {tuple(job.columns["hosts"]) for job in probes} == {("gpu03",)}


@pytest.mark.parametrize("how", ["absent", "dead"])
def test_a_rank_that_does_not_come_is_named(how: str) -> None:
    pod = plan_of(8)
    verdicts = judged("collectives", pod, Fleet(pod, {"gpu03": {how: True}}))
    assert "rank 7 (GPU 7) of rung of 2, group 2: expected to arrive at all_reduce of 0 float32" in words_of(verdicts, "collectives_correct")
    found = not_well(verdicts)
    assert found["slow_node"] == {"gpu03": "fail"}
    assert set(found["all_reduce_bandwidth"]) == {"gpu03"}


def test_a_pod_that_is_slow_throughout_is_found_by_the_floor(plan: Plan) -> None:
    verdicts = judged("collectives", plan, Fleet(plan, {"*": {"nics_percent": 50.0}}))
    assert set(not_well(verdicts)["all_reduce_bandwidth"]) == set(plan.nodes)
    (output,) = {str(finding) for one in verdicts if one.check == "slow_node" for finding in one.findings}
    assert "no pair of these 16 hosts passed: they are alike" in output and "none of NCCL_ALGO=Ring" in output
    causes = {finding.cause for one in verdicts if one.check == "slow_node" for finding in one.findings}
    assert all(cause is not None and "common to all of them" in cause for cause in causes)


def test_what_restores_the_rate_of_a_pod_that_is_slow_throughout_is_named_by_all_hosts() -> None:
    pod = plan_of(4)
    verdicts = judged("collectives", pod, Fleet(pod, {"*": {"limit_gbyte_s": 180.0, "restored_by": "NCCL_ALGO=Ring"}}))
    assert "NCCL_ALGO=Ring restores it" in words_of(verdicts, "slow_node")


SICK: dict[str, tuple[dict[str, t.Any], Checks, str, str]] = {
    "outlier": ({"outlier_times": 6.0}, {"step_outliers": "fail", "step_time_stable": "fail"}, "step_outliers", "step 60"),
    "slow_rank": ({"behind_ms": 80.0}, {"slow_rank": "fail"}, "slow_rank", "behind in 100 of 100 steps"),
    "slow_gpu": ({"gemm_tflops": 500.0}, {"mfu_cause": "warn"}, "mfu_cause", "computation"),
    "slow_data": ({"data_ms": 300.0, "step_ms": 400.0}, {"mfu_cause": "warn", "slow_rank": "fail"}, "mfu_cause", "waiting for data"),
    "tensor_cores_idle": ({"tensor_percent": 3}, {"tensor_core_active": "fail"}, "tensor_core_active", "got 3 % at a utilisation of 100 %"),
    "drift": ({"drift": True}, {"ranks_agree": "fail"}, "ranks_agree", "expected the parameters of the other ranks"),
    "nan": ({"nan": True}, {"loss_falls": "fail"}, "loss_falls", "a loss that is a number"),
    "rising_loss": ({"rises": True}, {"loss_falls": "fail"}, "loss_falls", "a loss that falls"),
    "hang": ({"absent": True}, {"no_nccl_timeouts": "fail"}, "no_nccl_timeouts", "it never arrived"),
}


@pytest.mark.parametrize("name", SICK)
def test_an_ill_host_of_layer_6_is_found_and_named(plan: Plan, name: str) -> None:
    state, checks, check, words = SICK[name]
    verdicts = judged("training", plan, Fleet(plan, {"gpu13": state}))
    found = not_well(verdicts)
    assert {one: found.get(one, {}).get("gpu13") for one in checks} == checks
    assert words in words_of(verdicts, check)


def test_a_launcher_that_was_refused_says_why_there_is_no_training() -> None:
    refused = {"role": LAUNCHER, "status": "unknown", "words": "Slurm refuses the job"}
    found = [(str(one.where), one.actual, one.severity) for one in steps.no_nccl_timeouts([refused], [], [], "gpu01", 8)]
    assert found == [("the launcher", "Slurm refuses the job", "unknown"), ("ranks", "0", "unknown")]
    with pytest.raises(CannotTell, match="no rank was started"):
        list(steps.no_nccl_timeouts([], [], [], "gpu01", 8))


def test_ranks_that_were_ended_beside_one_that_failed_are_no_findings_of_their_own() -> None:
    ended = {"rank": 0, "outcome": "ended", "error": None, "signal": None}
    failed = {"rank": 1, "outcome": "error", "error": "2 ranks were requested and 1 GPUs were found", "signal": None}
    output = [(str(one.where), one.actual, one.severity) for one in steps.no_nccl_timeouts([], [ended, failed], [], "gpu01", 2)]
    assert output == [("rank 1", "2 ranks were requested and 1 GPUs were found", "unknown")]
    assert [(str(one.where), one.severity) for one in steps.no_nccl_timeouts([], [ended, {**ended, "rank": 1}], [], "gpu01", 2)] == [
        ("rank 0", None),
        ("rank 1", None),
    ]


def test_jitter_of_all_steps() -> None:
    pod = plan_of(2)
    found = not_well(judged("training", pod, Fleet(pod, {"gpu01": {"jitter_percent": 12.0}})))
    assert set(found["step_time_stable"]) == set(pod.nodes)


def test_short_steps_prove_that_they_are_steady_and_not_that_the_pod_is_not() -> None:
    pod = plan_of(2)
    assert "step_time_stable" not in not_well(judged("training", pod, Fleet(pod, {"*": {"step_ms": 40.0, "jitter_percent": 0.4}})))
    verdicts = judged("training", pod, Fleet(pod, {"*": {"step_ms": 40.0, "jitter_percent": 12.0}}))
    assert not_well(verdicts)["step_time_stable"] == dict.fromkeys(pod.nodes, "unknown")
    assert "expected steps of 500 ms or more" in words_of(verdicts, "step_time_stable")


def test_numbers_that_the_site_asks_for() -> None:
    pod = plan_of(2, pod_step_seconds=0.5, pod_mfu_min_percent=55)
    found = not_well(judged("training", pod, Fleet(pod, {})))
    assert {one: set(hosts.values()) for one, hosts in found.items()} == {"step_time_expected": {"fail"}, "mfu": {"warn"}}


class OwnTraining(Fleet):
    """Hosts that run a site's own training, whose last one prints the steps as Megatron-LM does."""

    step_ms: t.Callable[[int], float] = staticmethod(lambda step: 2400.0 + step % 3)
    loss: t.Callable[[int], str] = staticmethod(lambda step: f"{10 / (1 + step):.6E}")
    printed: t.ClassVar[dict[str, str]] = {}
    rc = 0

    def answer(self, host: str, job: Job) -> dict[str, t.Any]:
        """What its command prints."""
        if job.id == "dataset":
            return super().answer(host, job)
        text = f"setting random seeds to 1234 ...\n{self.printed.get(host, '')}"
        for step in range(1, 41) if host == list(self.plan.nodes)[-1] else ():
            text += f" iteration {step:8}/      40 | consumed samples: {step * 256:12} | elapsed time per iteration (ms): {self.step_ms(step):.1f} | "
            text += f"learning rate: 1.200E-07 | global batch size:   256 | lm loss: {self.loss(step)} | loss scale: 1.0 | grad norm: 14.218 | "
            text += "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        assert job.argv == OWN["pod_training_command"]
        return {"status": "ran", "argv": job.argv, "rc": self.rc, "stderr": "", "stdout": text, "seconds": 20.0, "cut": False}


def test_a_sites_own_training_is_judged_by_its_log() -> None:
    pod = plan_of(2, pod_step_seconds=2.4, **OWN)
    verdicts = judged("training", pod, OwnTraining(pod, {}))
    assert not_well(verdicts) == {}
    assert {one.check for one in verdicts if one.verdict == "pass"} == {*BY_LOG, ANSWERED}
    assert {one.host for one in verdicts if one.check == "own_steps_steady" and one.verdict == "pass"} == set(pod.nodes)


REPORT = "  Rank=3 Node=gpu01 Score=0.61\nSTRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: [3]\n"
WATCHDOG = "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600029 milliseconds\n"


@pytest.mark.parametrize(
    ("ill", "check", "words"),
    [
        ({"step_ms": lambda step: 2400.0 if step % 2 else 3000.0}, "own_steps_steady", "a variation of at most 5 %"),
        ({"step_ms": lambda step: 2400.0 + 60 * step}, "own_steps_steady", "steps take longer and longer, from"),
        (
            {"printed": {"gpu02": REPORT}},
            "own_ranks_keep_up",
            "rank 3 (GPU 3): expected to keep up with the others, got slower than the other ranks, score 0.61 of 1",
        ),
        ({"step_ms": lambda step: 24000.0 if step == 30 else 2400.0}, "own_steps_steady", "step 30"),
        ({"loss": lambda step: "nan" if step == 30 else f"{10 / (1 + step):.6E}"}, "own_loss_falls", "step 30: expected a loss that is a number"),
        ({"loss": lambda step: f"{step:.6E}"}, "own_loss_falls", "a loss that falls"),
        ({"step_ms": lambda _step: 3000.0}, "own_step_time_expected", "3000 ms"),
        ({"rc": 1}, "own_training_ends", "exited with status 1"),
        ({"printed": {"gpu01": WATCHDOG}, "rc": 1}, "own_training_ends", "rank 3: expected no hung collective"),
    ],
)
def test_what_ails_a_sites_own_training_is_found(ill: dict[str, t.Any], check: str, words: str) -> None:
    pod = plan_of(2, pod_step_seconds=2.4, **OWN)
    fleet = OwnTraining(pod, {})
    for name, value in ill.items():
        setattr(fleet, name, value)
    verdicts = judged("training", pod, fleet)
    output = words_of(verdicts, check) + "".join(one.words for one in verdicts if one.check == check)
    assert check in not_well(verdicts) and words in output


def test_a_log_without_enough_steps_proves_nothing() -> None:
    pod = plan_of(2, pod_training_warmup_steps=35, **OWN)
    found = not_well(judged("training", pod, OwnTraining(pod, {})))
    assert found == {check: dict.fromkeys(pod.nodes, "unknown") for check in ("own_steps_steady", "own_loss_falls")}


def test_a_dataset_is_read_before_the_training_by_all_hosts() -> None:
    pod = plan_of(4, **DATASET)
    fleet = Fleet(pod, {})
    verdicts = judged("training", pod, fleet)
    assert not_well(verdicts) == {} and {one.host for one in verdicts if one.check == "dataset_feeds" and one.verdict == "pass"} == set(pod.nodes)
    reading, training = fleet.steps[0].jobs["gpu03"]
    assert reading.argv[1:] == ["-SE", "{dataset_read}", "--path", "/data/tokens", "--seconds", "10"] and "dataset_read" in fleet.steps[0].programs
    assert training.at == reading.until and training.turn is not None, "it begins early where the reading has ended"


@pytest.mark.parametrize(
    ("ill", "verdict", "words"),
    [
        ({"reads_gbyte_s": 1.5}, "fail", "expected 4 GB/s or more, got 1.5 GB/s by direct reads"),
        ({"free_gbyte": 900.0}, "fail", "expected room for 20000 GB, got 900 GB are free"),
        ({"reads_nothing": "[Errno 2] No such file or directory"}, "unknown", "No such file or directory"),
        ({"reads_by": "the page cache"}, "unknown", "8 GB/s through the host's page cache, not from the storage"),
    ],
)
def test_a_storage_that_does_not_feed_is_found(ill: dict[str, t.Any], verdict: str, words: str) -> None:
    pod = plan_of(4, **DATASET)
    verdicts = judged("training", pod, Fleet(pod, {"gpu02": ill}))
    assert not_well(verdicts) == {"dataset_feeds": {"gpu02": verdict}} and words in words_of(verdicts, "dataset_feeds")


def test_a_sites_own_training_waits_for_the_dataset_too() -> None:
    pod = plan_of(2, **OWN, **DATASET)
    fleet = OwnTraining(pod, {})
    verdicts = judged("training", pod, fleet)
    assert not_well(verdicts) == {} and {one.check for one in verdicts if one.verdict == "pass"} >= {"dataset_feeds", "own_training_ends"}
    assert [job.id for job in fleet.steps[0].jobs["gpu01"]] == ["dataset", "training"]


@pytest.mark.parametrize("layer", ["collectives", "training"])
def test_a_host_that_ran_nothing_is_never_a_pass(layer: str) -> None:
    pod = plan_of(2)
    empty = {
        "answered": True,
        "words": "",
        "boot_id": "1",
        "uptime_seconds": 1.0,
        "readings": {"load_jobs": {"status": "ok", "words": "", "rows": [], "evidence": None}},
    }
    verdicts = verdicts_of_checks(Layer(layer, pod, list(pod.nodes), list(pod.nodes), dict.fromkeys(pod.nodes, empty), {}, {}, (), datetime.date(2026, 6, 15)))
    required = {name for name, one in REGISTRY[layer].items() if one.required}
    assert required and not {one.check for one in verdicts if one.verdict == "pass"} & required
    own = {one.check: one for one in verdicts if one.check in ("collectives_correct", "training_ends")}
    assert all(not one.words or one.words.startswith("collective") or (one.judged and "did not start" in one.cause) for one in own.values())
