# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each fault is found in its layer, by its checks, in its groups, and nothing climbs past it.

Each alone in process, and all of them together in a few real climbs, which must say word for word what the process said.
"""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import grouping
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import answers, changes, inprocess, layout

from .conftest import RACKS, Climb, Pod, not_well

# Those of an InfiniBand pod are in test_simulated_infiniband.py, of NVL72 racks in test_simulated_nvl72.py, those that need loads in test_under_load.py.
FAULTS = {name: fault for name, fault in changes.known().items() if "expect" in fault and not name.startswith(("ib_", "nvl_")) and not fault.get("loads")}
LAYERS = inprocess.LAYERS
TOP = layout.BELOW_LOADS
# What only a pod of another kind has; test_bonds.py, test_evpn_pod.py, test_port_channels.py, test_ospf_pod.py and test_rails_in_vrf.py have their faults.
OF_OTHER_PODS = {"bond_members", "channel_members", "evpn_established", "ospf_full", "rails_in_vrf", "vni_up", "vteps_reached", "vxlan_mtu"}
# What a fault may need that is not judged in process: commands that wait for each other.
REAL_ONLY = [name for name, fault in FAULTS.items() if fault.get("processes")]
Report = dict[str, t.Any]
PodsOf = t.Callable[..., inprocess.Pods]


def climbs() -> list[list[str]]:
    """Faults of one layer together, as ``changes.apply`` takes them: each on a node where they do not undo each other, in as few climbs as that takes."""
    planned = []
    for layer in LAYERS:
        left = [name for name, fault in FAULTS.items() if fault["expect"]["layer"] == layer and not {"processes", "expectations"} & set(fault)]
        while left:
            together = placed(left)
            planned.append(list(together.values()))
            left = [name for name in left if name not in together]
    return planned


def placed(names: list[str]) -> dict[str, str]:
    """Where each fault goes, for those that have a node left; those of several nodes choose first, those of a whole node last."""
    taken: set[tuple[object, ...]] = set()
    chosen = {}
    of_nodes = {name: {one[0] for one in touched(FAULTS[name]["changes"])} for name in names}
    for name in sorted(names, key=lambda one: (-len(of_nodes[one]), (min(of_nodes[one]),) in touched(FAULTS[one]["changes"]))):
        own = FAULTS[name]["changes"]
        for place in [changes.node_of(own[0]), *(f"gpu{number:02}" if "host" in own[0] else f"leaf{number:02}" for number in range(1, 9))]:
            here = touched(changes.moved(own, place))
            if not any(clash(one, other) for one in here for other in taken):
                taken |= here
                chosen[name] = f"{name}@{place}"
                break
    return chosen


def touched(own: list[dict[str, t.Any]]) -> set[tuple[object, ...]]:
    """What of the pod some changes set, as node, part and attribute; the whole node or part where its answers or its rows go."""
    found: set[tuple[object, ...]] = set()
    for change in own:
        node = changes.node_of(change)
        part = tuple((key, str(change[key])) for key in changes.PARTS if key in change)
        if "tool" in change or {"unreachable", "hypervisor"} & set(change["set"]):
            found.add((node,))
        elif {"present", "listed", "configured"} & set(change["set"]):
            found.add((node, part))
        else:
            found |= {(node, part, attribute) for attribute in change["set"]}
    return found


def clash(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether one of two things is the other, or a part of it."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def layer_of(names: list[str]) -> str:
    """The layer of the faults of one climb."""
    return FAULTS[names[0].partition("@")[0]]["expect"]["layer"]


def as_cases(planned: list[list[str]]) -> t.Iterator[t.Any]:
    """The climbs as cases of a test: the first one of layer 0, of the most faults, stands for the others, since each fault was found in process."""
    shown = False
    for names in planned:
        stands = layer_of(names) == LAYERS[0] and not shown
        shown = shown or stands
        yield pytest.param(names, id=f"{layer_of(names)}-{len(names)}", marks=[] if stands else [pytest.mark.long])


CLIMBS = climbs()


@pytest.fixture(scope="module")
def pods_of(tmp_path_factory: pytest.TempPathFactory) -> PodsOf:
    """The small pod with some expectations."""
    made: dict[str, inprocess.Pods] = {}

    def get(**expectations: t.Any) -> inprocess.Pods:
        key = json.dumps(expectations)
        if key not in made:
            made[key] = inprocess.Pods(Pod(tmp_path_factory.mktemp("pod"), **expectations).inventory)
        return made[key]

    return get


def must_find(report: Report, name: str) -> None:
    """The report says what the fault's file expects, and nothing else."""
    expected = FAULTS[name]["expect"]
    assert not_well(report) == expected["checks"]
    assert {one["layer"] for one in report["verdicts"] if one["verdict"] in ("warn", "unknown", "fail")} == {expected["layer"]}
    assert expected["words"] in response(report) and expected["cause"] in causes(report)
    gates = {layer["layer"]: {rack: group["gate"] for rack, group in layer["groups"].items()} for layer in report["layers"]}
    closed = {rack for rack in RACKS if gates[expected["layer"]][rack] == "closed"}
    assert closed == set(expected["groups"])
    assert report["complete"] and report["verdict"] == ("no_go" if closed else "go")
    top = FAULTS[name].get("expectations", {}).get("pod_to_layer", TOP)
    climbed = LAYERS[: LAYERS.index(top) + 1] if top in LAYERS else LAYERS
    for layer in climbed[climbed.index(expected["layer"]) + 1 :]:
        for rack in RACKS:
            assert gates[layer][rack] == ("not_reached" if rack in closed else "open")
            assert rack not in closed or not [one for one in report["verdicts"] if one["layer"] == layer and one["group"] == rack]


def response(report: Report) -> str:
    """Every finding's sentence, and the words of what was not told."""
    sentences = [f"{one['where']}: expected {one['expected']}, got {one['actual']}" for verdict in report["verdicts"] for one in verdict["findings"]]
    return "\n".join([*sentences, *(verdict["words"] for verdict in report["verdicts"])])


def causes(report: Report) -> str:
    """The causes as a person reads them, of folded findings."""
    return "\n".join(entry.cause for entry in grouping.entries(report, ("fail", "unknown", "warn")))


def must_be_in_force(pods: inprocess.Pods, name: str) -> inprocess.Pod:
    """The nodes that say something else than in the healthy pod are those that the fault's changes name; returns the pod with the fault."""
    healthy, faulty = pods.healthy, pods.pod([name])
    differ = {node for node in pods.plan.nodes if healthy.nodes[node] != faulty.nodes[node] and tells(pods, healthy, node) != tells(pods, faulty, node)}
    named = {changes.node_of(change) for change in FAULTS[name]["changes"]}
    if faulty.failover != healthy.failover:
        # What the operator does is of no node.
        assert (named, differ) == ({""}, set()), "the fault is not there alone"
    else:
        assert named - {"*"} <= differ if "*" in named else named == differ, "the fault is not in force, or not there alone"
    return faulty


def tells(pods: inprocess.Pods, pod: inprocess.Pod, node: str) -> list[object]:
    """All that a node says, and whether it says it."""
    missing = [tool.name for tool in pod.nodes[node].tools if tool.how == "missing"]
    scripts = answers.scripts(pod.hosts[node]) if node in pod.hosts else {}
    return [pod.nodes[node].unreachable, pod.nodes[node].boots_after, missing, answers.of_node(pod, pods.plan, node), scripts]


def test_every_check_has_a_fault() -> None:
    of_trays = [fault for name, fault in changes.known().items() if name.startswith("nvl_") and not fault.get("loads") and fault["expect"]["layer"] in LAYERS]
    tripped = {check for fault in (*FAULTS.values(), *of_trays) for check in fault["expect"]["checks"]}
    declared = {name for layer in LAYERS for name, check in REGISTRY[layer].items() if check.fabric != "infiniband"} | {"answered", "same_boot"}
    # What is watched in every load is the same check in each of these layers.
    of_loads = {check for fault in changes.known().values() if fault.get("loads") for check in fault["expect"]["checks"]}
    assert declared == tripped | OF_OTHER_PODS | (declared & of_loads)


def test_an_uplink_that_is_shut_in_a_healthy_pod_is_no_finding(pods_of: PodsOf, tmp_path) -> None:
    pods = pods_of(pod_failover=True)
    report = pods.climb(pods.pod(), tmp_path)
    assert report["verdict"] == "go" and not_well(report) == {}
    passed = {(one["check"], one["host"]) for one in report["verdicts"] if one["verdict"] == "pass"}
    assert {("reconvergence_time", "leaf01"), ("restored_after_failure", "leaf01")} <= passed


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in REAL_ONLY])
def test_a_fault_is_found_where_it_is(name: str, pods_of: PodsOf, tmp_path) -> None:
    pods = pods_of(**FAULTS[name].get("expectations", {}))
    must_find(pods.climb(must_be_in_force(pods, name), tmp_path), name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", REAL_ONLY)
@pytest.mark.long
def test_a_fault_of_processes_is_found_where_it_is(name: str, tmp_path) -> None:
    pod = Pod(tmp_path, **FAULTS[name].get("expectations", {}))
    must_be_in_force(inprocess.Pods(pod.inventory), name)
    climb = pod.climb("-e", f"simulated_faults={name}")
    must_find(reported(climb), name)
    assert climb.rc == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("names", as_cases(CLIMBS))
def test_a_real_climb_says_what_was_judged_in_process(names: list[str], tmp_path) -> None:
    pod = Pod(tmp_path)
    pods = inprocess.Pods(pod.inventory)
    expected = pods.climb(pods.pod(names), tmp_path / "in_process")

    climb = pod.climb("-e", f"simulated_faults={','.join(names)}")

    assert climb.rc == 2, climb.output
    assert without_times(reported(climb)) == without_times(expected)
    assert {check for name in names for check in FAULTS[name.partition("@")[0]]["expect"]["checks"]} == set(not_well(expected))


def reported(climb: Climb) -> Report:
    """The report of a real climb."""
    assert climb.report is not None, climb.output
    return climb.report


def without_times(report: Report) -> Report:
    """A report without what is another in every run, without who started it where, and without the numbers that only a stored run's report has."""
    layers = [{**layer, "groups": {name: {**group, "time": None} for name, group in layer["groups"].items()}} for layer in report["layers"]]
    apart = ("run_id", "opened", "ended", "started_by", "controller", "versions", "changed_expectations", "stands_on", "measured")
    # As a report is written: places are tuples in a process.
    return t.cast("Report", json.loads(json.dumps({**report, "layers": layers, **dict.fromkeys(apart)})))
