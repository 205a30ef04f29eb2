# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A faulty pod of which a column is not reported: what a check found must not become a pass."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, Check, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue
from ansible_collections.gpufabric.pyramid.tests.cases import check_each
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import changes, inprocess, layout

pytestmark = pytest.mark.exhaustive

Row = dict[str, t.Any]
# A node's rows, or the rows of each node.
Rows = list[Row] | dict[str, list[Row]]
# Faults that need loads, or commands that wait for each other, are not evaluated in process.
FAULTS = {name: fault for name, fault in changes.known().items() if "expect" in fault and not fault.get("loads") and not fault.get("processes")}
FABRICS = ("roce", "infiniband", "nvl72")
# By how the name of a fault begins, the pod that it is of; the others are of the RoCE pod.
OF_POD = {"ib_": "infiniband", "nvl_": "nvl72"}
TRAYS = changes.known()["gb200_trays"]["expectations"]
# So many rows of a reading lose a value one by one, those that a healthy pod does not report before others.
EACH = 2
# Columns that the collection fills in itself, from what it asked for, besides the columns of the items of a reading.
FILLED: dict[tuple[str, str], str] = {
    **{
        ("load_jobs", column): "the planner of the load writes it of every pair test; None in rows of collectives, which no pair check uses"
        for column in ("round", "hosts", "device", "peer", "peer_device", "path", "memory", "mtu", "gid_index", "qps", "bytes", "bidirectional")
    },
    ("write_bw", "item"): "the collection writes which test of load_jobs a result is of",
}
# (check, reading, column) that no row of a node reports, in no phase, and what the check then comes to, with the reason.
NOWHERE: dict[tuple[str, str, str], tuple[str, str]] = {
    **{
        ("errors_clean", "interface_errors", column): ("pass", "the platform has no such counter; the others are judged, the CRC errors by crc_clean")
        for column in ("fcs_errors", "runts", "giants", "rx_errors", "tx_errors")
    },
    ("hosts_keep_links", "kernel_log", "time"): ("skip", "a log without times does not say what came together; link_flaps judges each host"),
    ("bit_error_rate", "fec_counters", "rate_column"): ("pass", "a rate shows that the release has them"),
    ("switch_drops", "ecn_counters", "wred_dropped_packets"): ("pass", "the platform counts no drops by WRED; all drops of the queue are judged"),
    ("switch_marks", "ecn_counters", "marked_packets"): ("skip", "the platform counts no marks; ecn_marks_under_load judges what the receivers count"),
    ("spine_marks", "ecn_counters", "marked_packets"): ("skip", "the platform counts no marks; pauses_stay_local judges what a spine that does not mark sends"),
    ("bgp_settled", "bgp_summary", "up_seconds"): ("skip", "the switch does not report the age of a session; the other end of it does"),
    ("class_settings_alike", "ecn_settings", "min_bytes"): ("pass", "no switch of that platform reports the threshold; what they report is compared"),
    ("host_vlans_alike", "interface_status", "vlan"): ("skip", "a switch that does not report the VLANs of its ports; a port beside others is unknown"),
    ("switch_link_flaps", "link_changes", "changes"): ("skip", "a kernel or release that does not count them"),
    ("optic_health", "transceivers", "temperature_c"): ("pass", "no module of the node has a sensor; the light is judged"),
    ("optic_health", "transceivers", "tx_power_dbm"): ("pass", "modules without a sensor of what they send; what the peer receives is judged"),
    ("laser_bias", "transceivers", "tx_bias_ma"): ("skip", "no module of the node reports the current of its lasers; the light is judged"),
    **{
        (check, "ip_link", "mac"): ("skip", "no host reports the MAC addresses of its NICs, which identities_unique says")
        for check in ("neighbor_entries", "switch_neighbor_entries")
    },
    ("ib_bit_error_rate", "link_bit_errors", "pre_fec_ber"): ("skip", "ibdiagnet has none of this switch; a port beside others is unknown"),
    ("ib_module_temperature", "module_temperatures", "temperature_c"): ("skip", "no module of the switch has a sensor; one beside others is unknown"),
    ("adaptive_routing_on", "adaptive_routing", "enabled"): ("skip", "no switch can route adaptively; where it is planned that is unknown"),
    ("other_classes_kept", "queue_drops", "queue"): ("skip", "the switch does not count drops by class; switch_drops evaluates all of them"),
    ("software_uniform", "ibstat", "firmware"): ("pass", "a driver without firmware, as Soft-RoCE, reports none on any host; software_pinned asks for it"),
    ("software_uniform", "gpus", "runtime"): ("pass", "a driver that reports no runtime on any host; software_pinned asks for it"),
    ("gpu_whole", "gpus", "mig_mode"): ("skip", "GPUs that cannot be split have no such mode; a GPU beside others that report it is unknown"),
    ("imex_ready", "imex_domain", "version"): ("pass", "older releases report none; daemons of other versions are not CONNECTED"),
    ("fabric_health", "gpus", "fabric_route_unhealthy"): ("pass", "older drivers do not report the line; the summary and the others are judged"),
    ("fabric_health", "gpus", "fabric_health"): ("skip", "older drivers and boards report no health; fabric_state judges the state"),
}
# (check, reading, column) of which any row may lack it, with the reason.
ANYWHERE: dict[tuple[str, str, str], str] = {
    ("adaptive_routing_on", "adaptive_routing", "enabled"): "a switch without a row cannot do it; where it is planned that is unknown",
    ("hosts_keep_links", "kernel_log", "time"): ("skip", "a log without times does not say what came together; link_flaps judges each host"),
    ("bit_error_rate", "fec_counters", "rate_column"): "a rate shows that the release has them",
    ("cable_reach", "transceivers", "length_m"): "few modules report a length; that of the plan is judged, and neither of them is unknown",
}


@dataclass(frozen=True)
class Call:
    """A check that found something in a pod with a fault, and what it was given; healthy: the same call in the healthy pod, where there is one."""

    fault: str
    check: Check
    given: dict[str, t.Any]
    healthy: dict[str, t.Any]

    def reading(self, parameter: str) -> str | None:
        """The reading of a parameter, or None for an expectation."""
        own = {name: reading for _phase, reading, name in self.check.asked}
        peers = {parameter: name for _phase, name, parameter in self.check.of_peers}
        return {**own, **peers}.get(parameter)


@dataclass(frozen=True)
class Case:
    """A call with a column that is not reported; lost: in which rows, in words; nowhere: no row of the reading reports it."""

    call: Call
    reading: str
    column: str
    lost: str
    given: dict[str, t.Any]
    nowhere: bool

    def __str__(self) -> str:
        return f"{self.call.fault}: {self.call.check.id} without {self.reading}.{self.column} of {self.lost}"

    @property
    def key(self) -> tuple[str, str, str]:
        return self.call.check.id, self.reading, self.column


def outcome(check: Check, given: dict[str, t.Any]) -> str:
    """What an evaluation of a check comes to, as ``verdicts_of_checks`` takes it, with a word of its own for a check that breaks."""
    try:
        return "finding" if list(check.judge(**given)) else "pass"
    except NotApplicable:
        return "skip"
    except CannotTell:
        return "unknown"
    except Exception as broken:
        return f"broken: {type(broken).__name__}: {broken}"


def calls(plan: t.Any, pod: t.Any, layer: str, patch: pytest.MonkeyPatch) -> list[tuple[Check, dict[str, t.Any]]]:
    """Every evaluation of a check in a layer, in the order of the layer."""
    seen: list[tuple[Check, dict[str, t.Any]]] = []

    def recording(check: Check) -> Check:
        def judge(**given: t.Any) -> t.Any:
            seen.append((check, given))
            return check.judge(**given)

        return replace(check, judge=judge)

    with patch.context() as context:
        context.setitem(REGISTRY, layer, {name: recording(check) for name, check in REGISTRY[layer].items()})
        inprocess.judge(plan, pod, layer)
    return seen


def of_each_check(names: t.Iterable[str]) -> list[str]:
    """Those of some faults, in their order, that trip a check which none before them trips."""
    tripped: set[str] = set()
    firsts = []
    for name in names:
        checks = set(FAULTS[name]["expect"]["checks"])
        firsts += [name] if checks - tripped else []
        tripped |= checks
    return firsts


def found(directory: Path, fabric: str, names: t.Iterable[str], patch: pytest.MonkeyPatch) -> Iterator[Call]:
    """Every evaluation that finds something, for some faults of a fabric, in the layers where each of them is expected."""
    settings: dict[str, t.Any] = {
        "pod_name": "small",
        **({"pod_fabric_reader": ["gpu01", "gpu05"]} if fabric == "infiniband" else TRAYS if fabric == "nvl72" else {}),
    }
    made: dict[str, inprocess.Pods] = {}
    healthy: dict[tuple[str, str], list[tuple[Check, dict[str, t.Any]]]] = {}
    for name in names:
        fault = FAULTS[name]
        expectations = {**settings, **fault.get("expectations", {})}
        key = repr(expectations)
        if key not in made:
            (directory / str(len(made))).mkdir()
            made[key] = inprocess.Pods(
                layout.write(directory / str(len(made)), 2, 4, spines=4, expectations=expectations, fabric=fabric.replace("nvl72", "roce"))
            )
        pods = made[key]
        for layer in dict.fromkeys((fault["expect"]["layer"], *fault["expect"].get("judged", {}))):
            if (key, layer) not in healthy:
                healthy[key, layer] = calls(pods.plan, pods.pod(), layer, patch)
            normal = healthy[key, layer]
            own = calls(pods.plan, pods.pod([name]), layer, patch)
            aligned = len(normal) == len(own) and all(one[0].id == other[0].id for one, other in zip(normal, own))
            for number, (check, given) in enumerate(own):
                if outcome(check, given) not in ("pass", "skip"):
                    yield Call(name, check, given, normal[number][1] if aligned else {})


def cases(call: Call) -> Iterator[Case]:
    """A call without each column that may be None: in all rows, in those of one parameter, in those of one node, in one row."""
    of_reading: dict[str, list[str]] = {}
    for parameter, value in call.given.items():
        if (reading := call.reading(parameter)) is not None and value is not None:
            of_reading.setdefault(reading, []).append(parameter)
    for reading, parameters in of_reading.items():
        for column in may_be_none(reading):

            def lose(lost: str, rows: dict[str, Rows], nowhere: bool = False, reading: str = reading, column: str = column) -> Case:
                return Case(call, reading, column, lost, {**call.given, **rows}, nowhere)

            yield lose("all rows", {one: without(call.given[one], column) for one in parameters}, nowhere=True)
            for parameter in parameters:
                given = call.given[parameter]
                if len(parameters) > 1:
                    # The rows of peers are of other nodes: where only they have the column, this node, or this gate group, reports it nowhere.
                    nowhere = [one for one in parameters if not one.endswith("_of_peers")] == [parameter]
                    yield lose(f"all rows of {parameter}", {parameter: without(given, column)}, nowhere=nowhere)
                normal = call.healthy.get(parameter)
                for node in (one for one in given if normal is None or given[one] != normal.get(one)) if isinstance(given, dict) else ():
                    yield lose(f"{parameter} of {node}", {parameter: {**given, node: without(given[node], column)}})
                if isinstance(given, list):
                    for number in first_ones(given, normal, column):
                        yield lose(f"{parameter}: {given[number]}", {parameter: [*given[:number], {**given[number], column: None}, *given[number + 1 :]]})


def may_be_none(reading: str) -> list[str]:
    """The columns that a tool may leave out; not those that tell which item was asked for, which the collection fills in."""
    sources = [source for of_platform in catalogue()[reading].platforms.values() for source in of_platform]
    items = {name for source in sources for name in (source.item or "").split(">")} if all(source.item for source in sources) else set()
    return [one.name for one in catalogue()[reading].columns if one.optional and one.name not in items and (reading, one.name) not in FILLED]


def without(rows: Rows | None, column: str) -> t.Any:
    """Rows in which a column is not reported; of a node that lacks the reading there are none."""
    if rows is None:
        return None
    return {node: without(one, column) for node, one in rows.items()} if isinstance(rows, dict) else [{**row, column: None} for row in rows]


def first_ones(rows: list[Row], healthy: t.Any, column: str) -> list[int]:
    """The rows that lose the column one by one: those that differ from a healthy pod's, or the first ones where it is not known."""
    normal = healthy if isinstance(healthy, list) else []
    return [number for number, row in enumerate(rows) if row[column] is not None and row not in normal][:EACH]


def must_not_pass(case: Case) -> None:
    """The finding is still one, or its check says why it cannot decide."""
    came_to = outcome(case.call.check, case.given)
    allowed = {"finding", "unknown", *(NOWHERE.get(case.key, ())[:1] if case.nowhere else ()), *(["pass"] if case.key in ANYWHERE else ())}
    assert came_to in allowed, f"came to {came_to}"


def faults_of(fabric: str) -> list[str]:
    return [name for name in FAULTS if fabric == next((kind for start, kind in OF_POD.items() if name.startswith(start)), "roce")]


@pytest.mark.parametrize("fabric", FABRICS)
def test_a_column_that_is_not_reported_does_not_turn_a_finding_into_a_pass(fabric: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a fault of each check."""
    names = of_each_check(faults_of(fabric))
    check_each((case for call in found(tmp_path, fabric, names, monkeypatch) for case in cases(call)), must_not_pass)


@pytest.mark.long
@pytest.mark.parametrize("fabric", FABRICS)
def test_nor_does_it_with_any_other_fault(fabric: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = faults_of(fabric)
    names = sorted({*every} - {*of_each_check(every)})
    check_each((case for call in found(tmp_path, fabric, names, monkeypatch) for case in cases(call)), must_not_pass)
