# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holding a gate: judge a layer from the run directory, decide, record."""

from __future__ import annotations

import datetime
import typing as t
from dataclasses import replace
from pathlib import Path

from . import baselines, climb, runs
from .checks import Finding
from .collecting import asks, from_evidence, kept_troubles
from .fabric import spread
from .gates import counts, decide
from .judging import ANSWERED, Envelope, Layer, judge, wanted
from .ledger import Ledger
from .measures import numbers
from .places import Places
from .plan import Plan
from .reports.kept import Kept
from .roots import explained, shared_leaf
from .verdicts import Verdict, waivers, worst


def hold(run: Path, layer: str, silent_words: t.Callable[[str], str | None]) -> tuple[dict[str, t.Any], dict[str, str]]:
    """Judge a layer and hold its gates.

    silent_words: why a node left no answer, or None.
    Returns what the plays need to know (as ``Ledger.standing``), and each group's gate.
    """
    book = Ledger(run)
    plan, state = book.plan(), book.state()
    judged, verdicts = judge_layer(book, plan, state, layer, silent_words)
    groups = climb.climbing(plan, state, layer)
    narrow = state.focus is not None and (state.focus.nodes or state.focus.check)
    out: dict[str, int] = {}
    for left in state.quarantined.values():
        out[left["group"]] = out.get(left["group"], 0) + 1
    gates = decide(plan, verdicts, groups, None if narrow else judged.checks(), out)
    climb.hold(plan, state, layer, gates, runs.now())
    above = state.layers[state.layers.index(layer) + 1 :]
    if above:
        book.keep_items(plan, state, above[0])
    in_scope = {node.name for node in plan.nodes.values() if node.group is None or state.scope[node.group] != "out"}
    records = [one.record() for one in verdicts]
    shared_leaf(plan, records)
    book.keep_verdicts(layer, records, counts(plan, verdicts, in_scope), explained(plan, verdicts))
    book.keep_state(state)
    book.report(plan, state)
    return book.standing(plan, state), {group: gate.state for group, gate in gates.items()}


def judge_layer(book: Ledger, plan: Plan, state: climb.State, layer: str, silent_words: t.Callable[[str], str | None]) -> tuple[Layer, list[Verdict]]:
    """The layer as it was judged, and its verdicts within what ``pod_only`` names."""
    members = state.members[layer]
    partners, asked = climb.partners(plan, state, members), climb.taking_part(plan, state, layer)
    if state.replay:
        said = {phase: replayed(Path(state.replay), plan, layer, asked, partners, phase) for phase in ("before", "idle", "now")}
        kept = Ledger(Path(state.replay))
    else:
        said, kept = {phase: book.answers(layer, phase) for phase in ("before", "idle", "now")}, book
    said = {phase: spread(plan, envelopes, asked) for phase, envelopes in said.items()}
    for node, loaded in kept.loaded(layer).items():
        if node in said["now"]:
            said["now"][node]["readings"] |= loaded
    silent = dict(state.silent)
    for node in members:
        # A node that answered before the soak and not after it has not answered.
        words = silent_words(node) if not state.replay else None
        if node not in silent and (node not in said["now"] or words):
            silent[node] = words or "never read"
    values = next(iter(plan.nodes.values())).values
    given, _wrong = waivers(values["pod_waivers"], _Anything())
    only = state.focus.check if state.focus else None
    judged = Layer(
        layer, plan, members, partners, said["now"], said["before"], silent, given, datetime.datetime.now(datetime.UTC).date(), only,
        idle=said["idle"], during=kept.during(layer), unloaded=climb.unloaded(values, state.check_mode), helpers=climb.loaders(plan, state, layer),
    )  # fmt: skip
    verdicts = [*judge(judged), *_against_baseline(book, judged, state)]
    return judged, within(verdicts, set(state.focus.places)) if state.focus and state.focus.places else verdicts


def _against_baseline(book: Ledger, layer: Layer, state: climb.State) -> list[Verdict]:
    """What has become worse than the baseline that the run was opened with; nothing where it was opened with none."""
    baseline = book.baseline()
    if baseline is None or layer.only not in (None, baselines.CHECK):
        return []
    told = {
        node: {name: said["rows"] for name, said in envelope["readings"].items() if said["status"] == "ok"}
        for node, envelope in layer.now.items()
        if node in layer.members and node not in layer.silent
    }
    software = baselines.software(Kept(book.source(state.replay), layer.plan).told({"software"}).get("preflight", {}))
    return baselines.judge(baseline, layer.plan, layer.name, numbers(Places(layer.plan), layer.name, told), software)


class _Anything(list[str]):
    """Waivers were checked when the run was opened."""

    def __contains__(self, _check: object) -> bool:
        return True


def within(verdicts: list[Verdict], places: set[str]) -> list[Verdict]:
    """Verdicts with the findings of some places (``node:port``, or ``node`` for all of it) only; what could not be told of a node stays."""
    kept = []
    for one in verdicts:
        findings = tuple(f for f in one.findings if one.check == ANSWERED or _names(f.host or one.host, f) & places)
        if findings == one.findings:
            kept.append(one)
        else:
            severity = worst(f.severity or "fail" for f in findings) if findings else "pass"
            kept.append(replace(one, findings=findings, verdict=severity, by_group=dict.fromkeys(one.affects, severity)))
    return kept


def _names(node: str | None, finding: Finding) -> set[str]:
    """What a place may call where a finding is."""
    return {f"{node}", f"{node}:{finding.port}", f"{node}:{finding.where}"}


def replayed(directory: Path, plan: Plan, layer: str, members: t.Sequence[str], partners: t.Sequence[str], phase: str) -> dict[str, Envelope]:
    """What nodes said as a kept run's evidence, or text captured by hand, says it: ``evidence/<layer>/<node>/<reading>.txt``."""
    meshes = plan.meshes(partners, members)
    found: dict[str, Envelope] = {}
    ending = ".txt" if phase == "now" else f".{phase}.txt"
    for name in members:
        node = plan.nodes[name]
        place = directory / "evidence" / layer / name
        items = {**plan.items(name, members), **meshes.get(name, {})}
        wants, apart = asks(wanted(layer, node.kind, node.values["pod_fabric"], phase), {"platform": node.platform, "values": node.values, "items": items})
        if wants and not place.is_dir():
            continue
        commands = _kept(place / f"commands{ending.removesuffix('.txt')}.json") or []
        readings: dict[str, t.Any] = {one: {"status": reply.status, "words": reply.words, "rows": [], "evidence": None} for one, reply in apart.items()}
        for ask in wants:
            path = place / f"{ask.reading.name}{ending}"
            said = [one for one in commands if one["reading"] == ask.reading.name]
            if path.is_file():
                reply = from_evidence(ask, node.platform, path.read_text(encoding="utf-8", errors="replace"), kept_troubles(ask, said))
                readings[ask.reading.name] = {"status": reply.status, "words": reply.words, "rows": reply.rows, "evidence": str(path)}
            elif ask.reading.where_installed and said and all(one["status"] == "missing" for one in said):
                readings[ask.reading.name] = {"status": "not_applicable", "words": said[0]["stderr"], "rows": [], "evidence": None}
            else:
                readings[ask.reading.name] = {"status": "unknown", "words": f"{path} does not exist", "rows": [], "evidence": None}
        # Captured by hand, there are texts and nothing else.
        kept = _kept(directory / "readings" / layer / phase / f"{name}.json") or {}
        found[name] = {"answered": True, "words": "", **{key: kept.get(key) for key in ("boot_id", "uptime_seconds")}, "readings": readings}
    return found


def _kept(path: Path) -> t.Any:
    """A document of a kept run; None where it has none."""
    return runs.read_json(path) if path.is_file() else None
