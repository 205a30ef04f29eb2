# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a verdict stands on besides the checks: waivers, gates of earlier runs, readings of other slices, hosts left out, expectations that are not defaults."""

from __future__ import annotations

import json
import typing as t
from datetime import datetime

from ..checks import LAYERS
from ..evaluate.gates import DECIDED, OPEN
from ..evaluate.verdicts import VerdictRecord
from ..pod.expectations import DEFAULTS, DESCRIPTION
from ..pod.plan import Plan
from ..run.documents import ChangedExpectation, Conditions, Report, Resumed, SharedReadings, UnusedWaiver
from ..run.state import State
from ..text.counting import counted
from ..text.ranges import ranges
from ..text.shortened import shortened
from ..text.sorting import natural_key

# How many changed expectations a sentence names; report.json has all.
MOST = 3
LONGEST = 80
UNITS = {
    "_seconds": "s", "_minutes": "min", "_percent": "%", "_gbit_s": "Gb/s", "_gbyte_s": "GB/s", "_gbyte": "GB", "_ms": "ms", "_us": "us", "_dbm": "dBm",
    "_db": "dB", "_m": "m", "_bytes": "B",
}  # fmt: skip


# A verdict as people read it.
VERDICT_WORDS = {"go": "GO", "no_go": "NO-GO", "no_fault_seen": "NO FAULT SEEN", "not_judged": "NOT JUDGED"}


def conditions_in_words(stands_on: t.Sequence[str]) -> list[str]:
    """What a verdict stands on, as the line that follows it and its reasons; no line where it stands on nothing else."""
    return [f"Conditions: {'; '.join(stands_on)}"] if stands_on else []


def proved_in_words(report: Report) -> str:
    """How far the gate groups have come: the layer that every one has proved with all below it, and which groups have proved more."""
    decided = [layer for layer in report["layers"] if layer["asked"] or any(gate["gate"] in DECIDED for gate in layer["groups"].values())]
    names = [layer["layer"] for layer in decided]
    common = report["up_to_layer"]
    least = names.index(common) + 1 if common in names else 0
    further: dict[int, list[str]] = {}
    for group in report["layers"][0]["groups"]:
        proved = next((number for number, layer in enumerate(decided) if layer["groups"][group]["gate"] != OPEN), len(decided))
        if proved > least:
            further.setdefault(proved, []).append(group)
    if not further or report["verdict"] == "not_judged":
        return f"up to layer {common}" if common else "no layer is proved for every group"
    words = [f"{ranges(groups)} up to {names[count - 1]}" for count, groups in sorted(further.items())]
    return "; ".join([f"every group is proved up to {common}" if common else "no layer is proved for every group", *words])


def conditions_of(reports: t.Sequence[Conditions]) -> list[str]:
    """What the verdict over some reports of one pod stands on, each in a few words."""
    waived = {(record["check"], one["host"], one.get("where"), one["until"]) for report in reports for record in report["verdicts"] for one in record["waived"]}
    words = []
    if waived:
        until = min(until for *_which, until in waived)
        words.append(f"1 waiver until {until}" if len(waived) == 1 else f"{len(waived)} waivers, the first until {until}")
    lacking: dict[str, dict[str, None]] = {}
    for record in (record for report in reports for record in report["verdicts"] if record.get("unavailable") and record["required"]):
        lacking.setdefault(record["check"], {})[str(record["host"] or record["group"])] = None
    words += [f"{check} not available on the platform of {counted(len(places), 'host')}" for check, places in lacking.items()]
    words += list(dict.fromkeys(_resumed(one) for report in reports for one in report.get("resumed", ())))
    read: dict[str, list[SharedReadings]] = {}
    for one in (one for report in reports for one in report.get("shared_readings", ())):
        read.setdefault(one["slice"], []).append(one)
    words += [_shared(part, some) for part, some in read.items()]
    left = list(dict.fromkeys(host for report in reports for host in report["quarantined"]))
    words += [f"{counted(len(left), 'host')} left out by quarantine ({ranges(left)})"] if left else []
    changed: dict[str, ChangedExpectation] = {name: one for report in reports for name, one in report.get("changed_expectations", {}).items()}
    changes = [_changed(name, one) for name, one in changed.items() if name not in DESCRIPTION and one["default"] is not None]
    words += changes[:MOST]
    words += [f"{counted(len(changes) - MOST, 'more value')} instead of the defaults"] if len(changes) > MOST else []
    return words


def resumed_from(state: State) -> list[Resumed]:
    """The gates of earlier runs that a run stands on: the run, its layers, and how old the oldest was at the run's end, in minutes."""
    found: dict[str, Resumed] = {}
    end = datetime.fromisoformat(state.ended or state.opened) if state.gates else None
    for layer in (layer for layer in LAYERS if layer in state.gates and layer not in state.layers):
        for gate in state.gates[layer].values():
            one = found.setdefault(gate.get("run", "unknown"), {"run": gate.get("run", "unknown"), "layers": [], "minutes": 0})
            one["layers"] += [layer] if layer not in one["layers"] else []
            age = (end - datetime.fromisoformat(gate["time"])).total_seconds() / 60 if end else 0
            one["minutes"] = max(one["minutes"], round(age))
    return list(found.values())


def _resumed(one: Resumed) -> str:
    layers = " and ".join([", ".join(one["layers"][:-1]), one["layers"][-1]] if len(one["layers"]) > 1 else one["layers"])
    return f"{layers} from run {one['run']}, {one['minutes']} min old"


def shared_readings(state: State) -> list[SharedReadings]:
    """What other slices read for a run: of each of them how many switches, and how old the oldest of it was, in seconds."""
    found: dict[str, SharedReadings] = {}
    for source in state.shared.values():
        one = found.setdefault(source["slice"], {"slice": source["slice"], "run": source["run"], "switches": 0, "age_seconds": 0.0})
        one["switches"] += 1
        one["age_seconds"] = max(one["age_seconds"], source["age_seconds"])
    return [found[part] for part in sorted(found, key=natural_key)]


def _shared(part: str, some: t.Sequence[SharedReadings]) -> str:
    """In words; of several runs the most switches."""
    return f"{counted(max(one['switches'] for one in some), 'switch')} read by {part}, up to {max(one['age_seconds'] for one in some):.0f} s before"


def changed_expectations(plan: Plan) -> dict[str, ChangedExpectation]:
    """The expectations that are not the defaults of the collection: the default, the first value, and on how many nodes it or another one is."""
    found: dict[str, ChangedExpectation] = {}
    for node in plan.nodes.values():
        for name, default in DEFAULTS.items():
            if name in node.values and node.values[name] != default:
                one = found.setdefault(name, {"default": default, "value": node.values[name], "nodes": 0})
                one["nodes"] += 1
    return found


def _changed(name: str, one: ChangedExpectation) -> str:
    unit = next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "")
    ending = next((ending for ending in UNITS if name.endswith(ending)), "")
    words = name.removeprefix("pod_").removesuffix(ending).replace("_", " ")
    number = isinstance(one["value"], (int, float)) and not isinstance(one["value"], bool)
    value = f"{one['value']:g}" if number else str(one["value"]).lower() if isinstance(one["value"], bool) else shortened(str(one["value"]), 40)
    default = f"{one['default']:g}" if number and isinstance(one["default"], (int, float)) else shortened(str(one["default"]), 40)
    return f"{words} {value}{' ' + unit if unit else ''} instead of {default}"


def change_in_words(name: str, one: ChangedExpectation) -> str:
    """A changed expectation as a report lists it."""
    value, default = (json.dumps(text, sort_keys=True, default=str) for text in (one["value"], one["default"]))
    return f"{name}: {shortened(value, LONGEST)} instead of {shortened(default, LONGEST)}, on {counted(one['nodes'], 'node')}"


def unused_in_words(one: UnusedWaiver) -> str:
    """A waiver that no finding needs, in words."""
    return f"waiver for {one['check']} on {one['host']}, {one['where']} (until {one['until']}) is unused: there is no such finding; remove it"


def unused_waivers(plan: Plan, records: t.Sequence[VerdictRecord]) -> list[UnusedWaiver]:
    """The waivers of findings that were looked for and are not there: their check has a verdict about their host."""
    judged = {(record["check"], host) for record in records for host in ([record["host"]] if record["host"] else plan.groups.get(record["group"] or "", ()))}
    used = {(record["check"], one["host"], one.get("where")) for record in records for one in record["waived"]}
    expired = {(record["check"], finding["host"], finding["where"]) for record in records for finding in record["findings"]}
    given = next(iter(plan.nodes.values())).values["pod_waivers"]
    return [
        {"check": str(one["check"]), "host": str(one["host"]), "where": str(one["where"]), "until": str(one["until"])}
        for one in given
        if (one["check"], one["host"]) in judged and (one["check"], one["host"], str(one["where"])) not in used | expired
    ]
