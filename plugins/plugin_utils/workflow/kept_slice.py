# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One slice of a pod, as its run directory keeps it: whether what it says agrees, and what its own verdicts and evidence come to.

The plan, the state, the verdicts and the report of a run each say part of the same. They are read as any text from outside: every
field has a type, the report must be what the other three come to, each gate that is open must be so by its verdicts, and each
verdict must be as bad as its findings. What one of them says alone proves nothing.
"""

from __future__ import annotations

import datetime
import json
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..checks import LAYERS
from ..evaluate.gates import CLOSED, NOT_REACHED, OPEN, PASSABLE, Gate, decide_gates
from ..evaluate.layer_input import ANSWERED, Layer
from ..evaluate.shared_nodes import by_group
from ..evaluate.verdicts import ORDER, EvaluatedLayer, Verdict, VerdictRecord, from_record, worst
from ..pod.plan import Plan
from ..reports.document import SCHEMA, build_report
from ..run.documents import Report
from ..run.errors import RunError
from ..run.file_schemas import JUDGED, REPORT
from ..run.planned_pod import NAME
from ..run.reader import RunReader
from ..run.resume_changes import changes_since
from ..run.state import State, gate_state
from ..run.store import RunStore, plan_digest
from ..text.shortened import shortened
from .evaluate_layer import verdicts_of_layer

Key = tuple[str, str | None, str | None]


@dataclass
class Slice:
    """A run: what it keeps, the gates that its verdicts come to (by layer and group), and why it cannot be relied upon.

    earlier: the runs beside it whose gates it was resumed on, by their id; part: the planned slice or seam that it is, since runs that were opened
    in one second by several controllers have one id.
    """

    run: Path
    report: Report
    plan: Plan
    state: State
    judged: dict[str, EvaluatedLayer]
    gates: dict[str, dict[str, str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    earlier: dict[str, Slice] = field(default_factory=dict)
    part: str = ""

    @property
    def name(self) -> str:
        """What a reader knows the run by."""
        return f"{self.part}/{self.state.run_id}" if self.part else self.state.run_id

    @property
    def hosts(self) -> int:
        """How many hosts its gate groups have."""
        return sum(len(self.plan.groups[group]) for group, scope in self.state.scope.items() if scope != "out" and group in self.plan.groups)

    def gate(self, layer: str, group: str) -> str:
        """A gate as the report and the verdicts behind it agree on it; what stands on an earlier run is as that run's verdicts come to."""
        stored = gate_state(self.state, layer, group)
        if stored != OPEN:
            return stored
        by = self.state.gates[layer][group]["run"]
        judge = self if by == self.state.run_id else self.earlier.get(by)
        return judge.gates.get(layer, {}).get(group, NOT_REACHED) if judge else NOT_REACHED


def read_slice(run: Path, recheck: bool = False, reported: bool = True) -> Slice:
    """A slice, and whether it agrees with itself.

    recheck: whether its verdicts are evaluated again from its evidence; reported: whether its report must say the same, which that of a
    run that was killed may not.
    Raises RunError where a file is missing or malformed; its text names file and field.
    """
    one = _read(run.resolve(), recheck, reported)
    for by in dict.fromkeys(gate["run"] for gates in one.state.gates.values() for gate in gates.values() if gate["run"] != one.state.run_id):
        place = one.run.parent / by
        if not NAME.fullmatch(by) or not RunReader(place).has("report.json"):
            one.wrong.append(f"it was resumed on gates of run {by[:60]}, which is not beside it in {one.run.parent}")
            continue
        one.earlier[by] = before = _read(place, recheck, reported)
        one.wrong += [f"run {by}, on whose gates it was resumed: {words}" for words in (*before.wrong, *_of_another_pod(before, one, reported))]
    return one


def _of_another_pod(before: Slice, one: Slice, same: bool) -> Iterator[str]:
    """Why a run cannot prove gates of another; same: whether all expectations must be the same, or only what layers below the other use."""
    changed = before.state.digest != one.state.digest if same else _changed(before, one)
    if changed or before.state.pod != one.state.pod:
        yield "it is of another pod, wiring or expectations"
    if before.state.only or before.state.replay:
        yield f"it evaluated {'only ' + before.state.only if before.state.only else 'kept evidence'}"


def _changed(before: Slice, one: Slice) -> bool:
    return bool(changes_since(one.plan, before.plan, (before.state.version, one.state.version), one.state.layers[0]))


def _read(run: Path, recheck: bool, reported: bool) -> Slice:
    kept = RunReader(run)
    report = t.cast("Report", kept.document("report.json", {"schema": int, **REPORT}) if reported else {})
    if report and report["schema"] != SCHEMA:
        raise RunError(f"{run / 'report.json'}: field schema must be {SCHEMA}, not {report['schema']}")
    text = kept.text_of("plan.json")
    one = Slice(run, report, kept.checked_plan(), kept.checked_state(), {})
    for layer in one.state.layers:
        if kept.has(f"verdicts/{layer}.json"):
            one.judged[layer] = t.cast("EvaluatedLayer", kept.document(f"verdicts/{layer}.json", JUDGED))
    if plan_digest(text) != one.state.plan_digest:
        one.wrong.append("plan.json is not the plan that the run was opened with (its digest in state.json is another)")
        return one
    _recompute(one)
    if recheck and not one.wrong:
        one.wrong += _rechecked(one)
    return one


def _recompute(one: Slice) -> None:
    """The gates of each layer by its verdicts, and every reason why what is stored is not so."""
    one.wrong += _unlike(one) if one.report else ()
    if one.state.only and not _of_whole_layer(one):
        return
    for layer in one.state.layers:
        records = one.judged[layer]["verdicts"] if layer in one.judged else []
        one.wrong += [f"{layer}: {words}" for record in records for words in _foreign(one, layer, record)]
        if not one.wrong:
            one.wrong += [f"{layer}: {words}" for record in records for words in _weaker(one, record)]
            one.gates[layer] = _decided(one, layer, records)
            one.wrong += list(_closed_by_verdicts(one, layer))


def _of_whole_layer(one: Slice) -> bool:
    """Whether ``pod_only`` named a layer, which is then judged as in any run."""
    focus = one.state.focus
    return focus is not None and focus.layers == one.state.layers and not (focus.nodes or focus.check or focus.places)


def _unlike(one: Slice) -> Iterator[str]:
    """Where the report is not what plan, state and verdicts come to."""
    try:
        built = json.loads(json.dumps(build_report(one.plan, one.state, one.judged)))
    except (KeyError, TypeError, ValueError) as error:
        yield f"its state and verdicts name what plan.json does not have: {error}"
        return
    stored = t.cast("t.Mapping[str, object]", one.report)
    for name, value in built.items():
        was = stored.get(name)
        if was == value:
            continue
        if isinstance(was, list):
            yield f"report.json: field {name} is not what state.json and verdicts/ come to{_first_unlike(was, value)}"
        else:
            yield f"report.json: field {name} is {str(was)[:60]!r}, and state.json and verdicts/ come to {str(value)[:60]!r}"


def _first_unlike(stored: list[t.Any], built: list[t.Any]) -> str:
    if len(stored) != len(built):
        return f" ({len(stored)} entries, not {len(built)})"
    number = next(number for number, (a, b) in enumerate(zip(stored, built)) if a != b)
    return f" (entry {number})"


def _name(record: VerdictRecord) -> str:
    return f"the verdict of {record['check']} on {record['host'] or record['group']}"


def _foreign(one: Slice, layer: str, record: VerdictRecord) -> Iterator[str]:
    """Where a verdict is of nothing that the plan has."""
    groups = {record["group"], *record["affects"], *record["by_group"]} - {None}
    known = (record["host"] is None or record["host"] in one.plan.nodes) and groups <= set(one.plan.groups)
    if record["layer"] != layer or not known or not (record["host"] or record["group"]):
        yield f"{_name(record)} is of another layer, or of a node or gate group that plan.json does not have"


def _weaker(one: Slice, record: VerdictRecord) -> Iterator[str]:
    """Where a verdict is better than its findings, or touches fewer groups than its node."""
    name, verdict = _name(record), from_record(record)
    if one.state.scope.get(record["group"] or "") == "out":
        yield f"{name} is kept, and {record['group']} is out of scope by state.json"
    if _rank(verdict.verdict) < _rank(worst(finding.severity or "fail" for finding in verdict.findings)):
        yield f"{name} is {verdict.verdict}, and its findings come to {worst(finding.severity or 'fail' for finding in verdict.findings)}"
    touched = one.plan.affects(record["host"]) if record["host"] else frozenset({record["group"] or ""})
    if missing := sorted(touched - set(verdict.affects)):
        yield f"{name} is not about {', '.join(missing)}, and its node serves that gate group"
    if (host := record["host"]) and verdict.by_group:
        really = by_group(one.plan, host, verdict)
        if better := [group for group in sorted(touched) if _rank(verdict.on(group)) < _rank(really.get(group, "pass"))]:
            yield f"{name} is {verdict.on(better[0])} for {better[0]}, and its findings come to {really[better[0]]}"
    given = {(waiver.get("check"), waiver.get("host")) for node in one.plan.nodes.values() for waiver in node.values["pod_waivers"]}
    if any((record["check"], waived["host"]) not in given for waived in record["waived"]):
        yield f"{name} has a waived finding, and pod_waivers has no waiver for it"


def _rank(verdict: str) -> int:
    return ORDER.index(verdict)


def _layer(one: Slice, layer: str, members: t.Sequence[str]) -> Layer:
    """A layer of the run, for what it owes; nothing is evaluated by it."""
    return Layer(layer, one.plan, members, members, {}, {}, {}, (), datetime.datetime.now(datetime.UTC).date())


def _decided(one: Slice, layer: str, records: t.Sequence[VerdictRecord]) -> dict[str, str]:
    """The gates of a layer by its verdicts; closed also where a verdict is missing that the layer owes."""
    verdicts = [from_record(record) for record in records]
    groups = [group for group in one.state.gates.get(layer, {}) if one.state.scope.get(group) != "out" and group in one.plan.groups]
    below = [name for name in LAYERS if LAYERS.index(name) < LAYERS.index(layer)]
    left = {host: out for host, out in one.state.quarantined.items() if out["layer"] in below and host in one.plan.nodes}
    out = {group: sum(stored_verdict["group"] == group for stored_verdict in left.values()) for group in groups}
    members = [host for group in groups for host in one.plan.groups[group] if host not in left]
    members += [node.name for node in one.plan.nodes.values() if node.group is None and one.plan.affects(node.name) & set(groups)]
    asked = _layer(one, layer, members)
    gates = decide_gates(one.plan, verdicts, groups, asked.checks(), out)
    return {group: _state(one, layer, group, gates[group], _missing(one, asked, verdicts, group)) for group in groups}


def _owed(layer: Layer, speaking: t.Sequence[str]) -> set[tuple[str, str | None, str | None]]:
    """What ``verdicts_of_checks`` gives a verdict of, as check, host and gate group (host or group is None); speaking: the members that answered."""
    found: set[tuple[str, str | None, str | None]] = {(ANSWERED, node, layer.plan.nodes[node].group) for node in layer.members}
    groups = {layer.plan.nodes[node].group for node in speaking} - {None}
    for check in layer.checks():
        if check.scope == "node":
            found |= {(check.id, node, layer.plan.nodes[node].group) for node in speaking if layer.plan.nodes[node].kind in check.kinds}
        else:
            found |= {(check.id, None, group) for group in groups}
    return found


def _missing(one: Slice, asked: Layer, verdicts: t.Sequence[Verdict], group: str) -> list[Key]:
    """The verdicts that a layer owes a gate group and has not."""
    speaking = [
        stored_verdict.host
        for stored_verdict in verdicts
        if stored_verdict.check == ANSWERED and stored_verdict.verdict == "pass" and stored_verdict.host in asked.members
    ]
    there = {(verdict.check, verdict.host, verdict.group) for verdict in verdicts}
    lacking = _owed(asked, [host for host in speaking if host is not None]) - there
    return [key for key in lacking if key[2] == group or (key[1] is not None and key[2] is None and group in one.plan.affects(key[1]))]


def _state(one: Slice, layer: str, group: str, gate: Gate, missing: t.Sequence[Key]) -> str:
    if missing:
        check, host, _group = min(missing, key=str)
        one.wrong.append(f"{layer}: {len(missing)} verdicts that {group} needs are missing, such as that of {check} on {host or group}")
        return CLOSED
    below = LAYERS[: LAYERS.index(layer)]
    if any(gate_state(one.state, under, group) not in PASSABLE for under in below if under in one.state.layers or under in one.state.gates):
        one.wrong.append(f"{layer}: {group} was evaluated above a gate that is not open")
        return CLOSED
    return gate.state


def _closed_by_verdicts(one: Slice, layer: str) -> Iterator[str]:
    """Gates that are stored as better than the verdicts come to."""
    for group, state in one.gates[layer].items():
        stored = gate_state(one.state, layer, group)
        if stored != state and stored != CLOSED:
            yield f"{layer}: the gate of {group} is {stored.replace('_', ' ')} in state.json, and its verdicts come to {state.replace('_', ' ')}"


def _rechecked(one: Slice) -> list[str]:
    """Where the verdicts are not what the kept evidence comes to today."""
    if one.state.replay:
        return []
    found: list[str] = []
    state = replace(one.state, replay=str(one.run))
    for layer in one.state.layers:
        if layer not in one.judged:
            continue
        try:
            _asked, verdicts = verdicts_of_layer(RunStore(one.run), one.plan, state, layer, lambda _node: None)
        except (RunError, OSError, KeyError, TypeError, ValueError) as error:
            found.append(f"{layer}: its evidence cannot be evaluated: {type(error).__name__}: {error}")
            continue
        now = {_key(verdict): verdict for verdict in verdicts}
        stored = {_key(verdict): verdict for verdict in map(from_record, one.judged[layer]["verdicts"])}
        for key in {**now, **stored}:
            stored_verdict, come = stored.get(key), now.get(key)
            if stored_verdict is None or come is None or (stored_verdict.verdict, stored_verdict.by_group) != (come.verdict, come.by_group):
                words = shortened(come.words or "; ".join(map(str, come.findings)), 160) if come else ""
                found.append(
                    f"{layer}: {key[0]} on {key[1] or key[2]} is {stored_verdict.verdict if stored_verdict else 'not evaluated'}, and its evidence comes to "
                    f"{come.verdict if come else 'no verdict'}{f' ({words})' if words else ''}"
                )
    return found


def _key(verdict: Verdict) -> Key:
    return verdict.check, verdict.host, verdict.group
