# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One verdict of a pod that several controllers validated in slices of gate groups.

It fails closed: a gate group that no slice evaluated, a slice that does not agree with itself (``kept_slice.py``), has not ended, is too old or is
of another pod, wiring, version or layers is a no-go. Slices never test the paths between them, so what they prove together of routing
and above is at best that no fault was seen, but where they were planned (``sliced.py``): then seams test these paths, and collectives and training
are run over all hosts at once.
"""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from xml.etree import ElementTree as ET

from ..checks import LAYERS
from ..evaluate.gates import CLOSED, OPEN, OUT_OF_SCOPE, PASSABLE
from ..reports.conditions import VERDICT_WORDS, conditions_in_words, conditions_of
from ..reports.junit import clean, text_of, verdict_suite
from ..reports.markdown import escaped
from ..text.counting import counted
from ..text.folded_reasons import fold_reasons
from .kept_slice import Slice
from .lean_slices import same_plan
from .over_slices import found_over_slices
from .sliced import Coverage, SlicedRuns, coverage_of, stopped_reasons, whole_reasons

Document = dict[str, t.Any]
SAME = ("schema", "pod", "digest", "version", "depth", "mode")
SCHEMA = 1
NOT_RECHECKED = "evidence not rechecked"
MOST = 12


@dataclass
class Merged:
    """The pod's verdict, why it is not go, and by group the runs that judged it with the worst of their gates by layer.

    up_to_layer: the highest layer that every gate group has proved with all below it; stands_on: what the verdict stands on besides;
    rechecked: whether the verdicts were evaluated again from the evidence; owners: of planned slices, the run that answers for each switch;
    coverage: of planned slices, what was tested of the paths between them.
    """

    verdict: str
    reasons: list[str]
    runs: dict[str, list[str]] = field(default_factory=dict)
    gates: dict[str, dict[str, str]] = field(default_factory=dict)
    up_to_layer: str | None = None
    stands_on: list[str] = field(default_factory=list)
    rechecked: bool = False
    owners: dict[str, str] = field(default_factory=dict)
    coverage: Coverage | None = None

    def closed(self) -> dict[str, list[str]]:
        """The gate groups with a closed gate, by layer."""
        layers = next(iter(self.gates.values()), {})
        found = {layer: [group for group, gates in self.gates.items() if gates[layer] == CLOSED] for layer in layers}
        return {layer: groups for layer, groups in found.items() if groups}

    @property
    def conditions(self) -> list[str]:
        """What the verdict stands on, and that the evidence was not evaluated again where it was not."""
        return [*self.stands_on, *([] if self.rechecked else [NOT_RECHECKED])]

    def record(self, pod: str, time: str, version: str, slices: t.Sequence[Slice]) -> Document:
        """As ``merge.json`` has it; time: when it was merged; version: of the collection that did."""
        found = [
            {"run": str(one.run), "run_id": one.name, "verdict": one.report["verdict"], "hosts": one.hosts, "wrong": one.wrong} for one in slices
        ]  # fmt: skip
        own = {name: getattr(self, name) for name in ("verdict", "reasons", "up_to_layer", "stands_on", "rechecked", "runs", "gates", "owners")}
        own["coverage"] = asdict(self.coverage) if self.coverage else None
        return {"schema": SCHEMA, "pod": pod, "time": time, "version": version, **own, "slices": found}


def merge_sliced(runs: SlicedRuns, now: datetime, max_age_minutes: float, version: str, rechecked: bool) -> Merged:
    """The verdict over planned slices, their seams and the layers that were run over all hosts at once."""
    slices = list(runs.slices.values())
    merged = merge_slices(slices, now, max_age_minutes, version, rechecked)
    if not slices:
        return replace(merged, reasons=[*runs.wrong, *merged.reasons])
    needed = _needed(slices)
    reasons = [*runs.wrong, *(merged.reasons if merged.verdict == "no_go" else [])]
    for one in runs.seams.values():
        reasons += _unfit(one, slices[0], now, max_age_minutes, version)
    for one in runs.whole.values():
        reasons += _unfit(one, slices[0], now, max_age_minutes, version, whole=True)
    reasons += [*whole_reasons(runs), *stopped_reasons(runs, needed)]
    reasons += [f"{host} is quarantined" for one in (*runs.seams.values(), *runs.whole.values()) for host in one.report["quarantined"]]
    merged.owners = {switch: runs.slices[owner].name for switch, owner in runs.plan.owners.items() if owner in runs.slices}
    merged.stands_on = conditions_of([one.report for one in runs.runs().values()])
    merged.reasons, merged.verdict = list(dict.fromkeys(reasons)), "no_go"
    # Of a run that stopped nothing is said about what it covers.
    if not merged.reasons:
        merged.coverage = coverage_of(runs, needed)
        merged.reasons = [*_not_proved(merged), *merged.coverage.missing, *_depth_limits([*runs.runs().values()])]
        merged.verdict = "no_fault_seen" if merged.reasons else "go"
    return merged


def merge_slices(slices: t.Sequence[Slice], now: datetime, max_age_minutes: float, version: str, rechecked: bool) -> Merged:
    """The verdict over all slices of a pod; version: of the collection that merges, whose checks the gates are recomputed by."""
    if not slices:
        return Merged("no_go", ["no slice was given"])
    first = slices[0]
    merged = Merged("no_go", [reason for one in slices for reason in _unfit(one, first, now, max_age_minutes, version)], rechecked=rechecked)
    needed = _needed(slices)
    for group in dict.fromkeys(group for one in slices for group in one.plan.groups):
        judges = [one for one in slices if one.state.scope.get(group) not in (None, "out")]
        merged.runs[group] = [one.name for one in judges]
        merged.gates[group] = {layer: _worst(one.gate(layer, group) for one in judges) for layer in needed}
        stopped = [layer for layer in needed if merged.gates[group][layer] not in PASSABLE]
        if not judges:
            merged.reasons.append(f"no slice evaluated {group}")
        elif stopped:
            merged.reasons.append(_gate_in_words(merged, group, stopped[0]))
    merged.reasons += [f"{host} is quarantined" for one in slices for host in one.report["quarantined"]]
    merged.reasons = list(dict.fromkeys(merged.reasons))
    merged.up_to_layer = _up_to(merged, needed)
    merged.stands_on = conditions_of([one.report for one in slices])
    merged.reasons = merged.reasons or found_over_slices(slices)
    if not merged.reasons:
        merged.reasons = [*_not_proved(merged), *_limits(slices, needed)]
        merged.verdict = "no_fault_seen" if merged.reasons else "go"
    return merged


def _unfit(one: Slice, first: Slice, now: datetime, max_age_minutes: float, version: str, whole: bool = False) -> t.Iterator[str]:
    """Why a run does not belong to the first one, or proves nothing; whole: a run of one layer over all hosts, which pod_only names."""
    report, run = one.report, f"run {one.name}"
    for key in SAME:
        if report.get(key) != first.report.get(key):
            yield f"{run} has another {key} than run {first.name}: {report.get(key)!r}, not {first.report.get(key)!r}"
    if one.state.layers != first.state.layers and not whole:
        yield f"{run} was run with other layers than run {first.name}"
    if not same_plan(one.plan, first.plan):
        yield f"{run} has another plan.json than run {first.name}"
    if report["version"] != version:
        yield f"{run} was evaluated by version {report['version']} of the collection, and this is {version}; merge with the version that evaluated them"
    if not report["complete"]:
        yield f"{run} has not ended"
    if report["verdict"] == "not_judged":
        yield f"{run} was in check mode, which evaluates nothing"
    if (report["only"] and not whole) or report["replayed_from"]:
        yield f"{run} evaluated {'only ' + report['only'] if report['only'] else 'kept evidence'}"
    for words in one.wrong:
        yield f"{run} does not agree with itself: {words}"
    for used in (one, *one.earlier.values()):
        yield from _age(used, now, max_age_minutes)


def _age(one: Slice, now: datetime, max_age_minutes: float) -> t.Iterator[str]:
    run = f"run {one.name}"
    try:
        age = (now - datetime.fromisoformat(one.report["opened"])).total_seconds() / 60
    except (ValueError, TypeError):
        yield f"{run}: {one.run / 'report.json'}: field opened must be a time with its offset, not {one.report['opened'][:60]!r}"
        return
    if age < 0:
        yield f"{run} was opened {-60 * age:.0f} s after the time of this merge: the clocks of the controllers disagree"
    elif age > max_age_minutes:
        yield f"{run} was opened {age:.0f} minutes ago, and {max_age_minutes:g} are allowed"


def _needed(slices: t.Sequence[Slice]) -> list[str]:
    """Every layer up to the highest that was asked for: what is below a layer is needed of it, whoever proved it."""
    asked = [LAYERS.index(layer) for one in slices for layer in one.state.layers]
    return list(LAYERS[: max(asked) + 1]) if asked else list(LAYERS)


def _gate_in_words(merged: Merged, group: str, layer: str) -> str:
    return f"{group} is {merged.gates[group][layer].replace('_', ' ')} at {layer}"


def _not_proved(merged: Merged) -> list[str]:
    """The gates that let a run pass without being open, such as those of a layer whose loads were left out: no fault, and no proof."""
    weak = ((group, next((layer for layer, state in gates.items() if state != OPEN), None)) for group, gates in merged.gates.items())
    return [_gate_in_words(merged, group, layer) for group, layer in weak if layer is not None]


def _worst(states: t.Iterable[str]) -> str:
    """The gate over several judges: open only where every one of them left it open, and passable only where no one stopped at it."""
    in_order = list(states)
    stopped = [CLOSED] if CLOSED in in_order else [state for state in in_order if state not in PASSABLE]
    return next(iter([*stopped, *(state for state in in_order if state != OPEN)]), OPEN if in_order else OUT_OF_SCOPE)


def _up_to(merged: Merged, needed: t.Sequence[str]) -> str | None:
    highest = None
    for layer in needed:
        if not merged.gates or any(gates[layer] != OPEN for gates in merged.gates.values()):
            break
        highest = layer
    return highest


def _limits(slices: t.Sequence[Slice], needed: t.Sequence[str]) -> list[str]:
    untested = ["paths between hosts of different slices were not tested"] if len(slices) > 1 and "routing" in needed else []
    return untested + _depth_limits(slices)


def _depth_limits(slices: t.Sequence[Slice]) -> list[str]:
    limits, report = [], slices[0].report
    if report["depth"] == "quick" or report["mode"] == "passive" or any(record["left_out"] for one in slices for record in one.report["verdicts"]):
        limits.append(f"depth {report['depth']} and mode {report['mode']} prove less than a complete run")
    return limits


def headline(pod: str, merged: Merged) -> str:
    """The verdict and how far it goes, in one sentence."""
    proved = f"up to layer {merged.up_to_layer}" if merged.up_to_layer else "no layer is proved for every group"
    judged = len({run for runs in merged.runs.values() for run in runs})
    covered = f", {merged.coverage.words()}" if merged.coverage else ""
    return f"{VERDICT_WORDS[merged.verdict]}: pod {pod}, {proved}, {judged} slices, {len(merged.gates)} gate groups{covered}"


def _folded_reasons(merged: Merged) -> list[str]:
    """The reasons, folded, and how many more merge.json has."""
    reasons = fold_reasons(merged.reasons, merged.gates)
    return [*reasons[:MOST], *([f"{counted(len(reasons) - MOST, 'more reason')} in merge.json"] if len(reasons) > MOST else [])]


def render_merged(pod: str, merged: Merged) -> str:
    """The merged verdict for a terminal."""
    because = (f"  because {reason}" for reason in _folded_reasons(merged))
    return "\n".join([headline(pod, merged), *because, *(f"  {line}" for line in conditions_in_words(merged.conditions))]) + "\n"


def merged_summary(pod: str, merged: Merged, link: str) -> str:
    """Verdict and reasons as Markdown for an artifact; link: where the whole report is."""
    lines = [f"# {escaped(headline(pod, merged))}", *_markdown_of_reasons(merged)]
    return "\n".join([*lines, *(["", f"Report: <{link}>"] if link else [])]) + "\n"


def _markdown_of_reasons(merged: Merged) -> list[str]:
    """Reasons and conditions, each after an empty line."""
    reasons = [f"- {escaped(reason)}" for reason in _folded_reasons(merged)]
    return [*([""] * bool(reasons)), *reasons, *(piece for line in conditions_in_words(merged.conditions) for piece in ("", f"{escaped(line)}."))]


def merged_junit(pod: str, merged: Merged) -> str:
    """``merge.xml``: the merged verdict as JUnit, a case for the verdict and one for each gate."""
    suites = ET.Element("testsuites", name=clean(pod))
    suite = verdict_suite(suites, headline(pod, merged), merged.verdict, merged.reasons, merged.conditions)
    for group, gates in merged.gates.items():
        for layer, state in gates.items():
            case = ET.SubElement(suite, "testcase", classname=layer, name=clean(f"gate of {group}"))
            if state != OPEN:
                ET.SubElement(case, "error", message=state)
    return text_of(suites)


def merged_markdown(record: Document, merged: Merged) -> str:
    """``merge.md``: the merged verdict as a ticket wants it."""
    needed = list(next(iter(merged.gates.values()), {}))
    lines = [f"# {escaped(headline(record['pod'], merged))}", *_markdown_of_reasons(merged)]
    lines += ["", f"Merged {record['time']} by collection {escaped(record['version'])}.", ""]
    lines += ["| gate group | runs | " + " | ".join(needed) + " |", "| --- | --- |" + " --- |" * len(needed)]
    for group, gates in merged.gates.items():
        cells = [group, ", ".join(merged.runs[group]) or "none", *(gates[layer].replace("_", " ") for layer in needed)]
        lines.append("| " + " | ".join(map(escaped, cells)) + " |")
    lines += ["", "| run | verdict of the run | directory |", "| --- | --- | --- |"]
    lines += ["| " + " | ".join(escaped(one[key]) for key in ("run_id", "verdict", "run")) + " |" for one in record["slices"]]
    if merged.owners:
        lines += ["", "| switch | run that answers for it |", "| --- | --- |"]
        lines += [f"| {escaped(switch)} | {escaped(owner)} |" for switch, owner in merged.owners.items()]
    return "\n".join(lines) + "\n"
