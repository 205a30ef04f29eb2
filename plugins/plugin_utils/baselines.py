# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Baselines: what a pod measured when it was good, in one file that people read and compare, and what has become worse since.

A number stands with what it depends on: the software of the node that told it, and the columns that its measure names. Where these
differ it is not compared, and that is said: another version is another number.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from pathlib import Path

import yaml

from .checks import Finding
from .measures import Number, Told, measures
from .plan import Plan
from .verdicts import Verdict

SCHEMA = 1
CHECK = "baseline_held"
HEAD = """\
# What this pod measured when it was good. Written by a run with pod_baseline=capture; compare it as any text, and commit it.
"""
Document = dict[str, t.Any]


class BaselineError(Exception):
    """A baseline that cannot be used; its text is the whole message."""


@dataclass(frozen=True)
class Compared:
    """A node's numbers against the baseline's: findings, and how many were within and how many have no reference."""

    findings: tuple[Finding, ...]
    within: int
    new: int


def capture(pod: str, run_id: str, time: str, numbers: t.Iterable[Number], software: t.Mapping[str, t.Mapping[str, str]]) -> str:
    """The baseline's text.

    software: versions by node and item.
    """
    kept: dict[str, Document] = {}
    for number in sorted(numbers, key=lambda one: (one.measure, one.place)):
        measure = measures()[number.measure]
        own = kept.setdefault(number.measure, {"unit": measure.unit, "numbers": {}})
        own["numbers"][number.place] = {"value": number.value, **_beside(number, software)}
    document = {"schema": SCHEMA, "pod": pod, "run": run_id, "captured": time, "measures": kept}
    # Leaves in one line each: a line of a diff is a number.
    return HEAD + yaml.safe_dump(document, default_flow_style=None, sort_keys=False, width=1000, allow_unicode=False)


def reference(values: t.Mapping[str, t.Any], path: Path) -> str | None:
    """The text of the baseline that a run is to be held against; None where it is held against none.

    Raises BaselineError where there is no such baseline, or where a run that judges a part of the pod is to become one.
    """
    if values["pod_baseline"] == "capture" and (values["pod_only"] or values["pod_replay_from"]):
        raise BaselineError("argument 'pod_baseline': capture needs a whole climb, not pod_only or pod_replay_from")
    if values["pod_baseline"] != "compare":
        return None
    try:
        text = path.read_text(encoding="utf-8")
        load(text, values["pod_name"])
    except (OSError, UnicodeDecodeError) as error:
        raise BaselineError(f"argument 'pod_baseline': compare needs {path}, and it cannot be read: {error}; capture one first") from None
    except BaselineError as error:
        raise BaselineError(f"argument 'pod_baseline': {path} {error}") from None
    return text


def load(text: str, pod: str) -> Document:
    """A baseline from its text.

    Raises BaselineError where it is none, or another pod's.
    """
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BaselineError(f"is no YAML: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA or not isinstance(document.get("measures"), dict):
        raise BaselineError(f"is no baseline of schema {SCHEMA}")
    if document.get("pod") != pod:
        raise BaselineError(f"is of the pod {document.get('pod')!r}, not of {pod!r}")
    for name, measure in document["measures"].items():
        numbers = measure.get("numbers") if isinstance(measure, dict) else None
        if not isinstance(numbers, dict) or not all(isinstance(one, dict) and isinstance(one.get("value"), (int, float)) for one in numbers.values()):
            raise BaselineError(f"has no numbers of {name!r}")
        if name in measures() and measure.get("unit") != measures()[name].unit:
            raise BaselineError(f"has {name!r} in {measure.get('unit')!r}, not in {measures()[name].unit!r}")
    return document


def judge(baseline: Document, plan: Plan, layer: str, numbers: t.Iterable[Number], software: t.Mapping[str, t.Mapping[str, str]]) -> list[Verdict]:
    """A verdict for each node that told a number of the layer: warned of what is worse, unknown where the numbers cannot be compared."""
    of_node: dict[str, list[Number]] = {}
    for number in numbers:
        of_node.setdefault(number.node, []).append(number)
    return [_verdict(plan, layer, node, compare(baseline, own, software)) for node, own in of_node.items()]


def compare(baseline: Document, numbers: t.Iterable[Number], software: t.Mapping[str, t.Mapping[str, str]]) -> Compared:
    """Some numbers against the baseline's."""
    findings: list[Finding] = []
    within = new = 0
    for number in numbers:
        reference = baseline["measures"].get(number.measure, {}).get("numbers", {}).get(number.place)
        measure = measures()[number.measure]
        if reference is None:
            new += 1
            continue
        beside = _beside(number, software)
        keys = [key for key in dict.fromkeys([*reference, *beside]) if key != "value" and reference.get(key) != beside.get(key)]
        differing = [f"{key} {reference.get(key)} then and {beside.get(key)} now" for key in keys]
        where = f"{number.measure} of {number.place}"
        if differing:
            findings.append(Finding(where, "a number that compares with the baseline's", "; ".join(differing), "unknown", host=number.node))
        elif measure.worse(number.value, reference["value"]):
            expected = f"about {reference['value']} {measure.unit}, as in run {baseline.get('run')}"
            findings.append(Finding(where, expected, f"{number.value} {measure.unit}", "warn", host=number.node))
        else:
            within += 1
    return Compared(tuple(findings), within, new)


def _beside(number: Number, software: t.Mapping[str, t.Mapping[str, str]]) -> dict[str, t.Any]:
    return {**number.beside, **software.get(number.node, {})}


def software(told: Told) -> dict[str, dict[str, str]]:
    """The versions of every node that told them, by item; several of one item are one text."""
    found: dict[str, dict[str, str]] = {}
    for node, readings in told.items():
        for row in readings.get("software", ()):
            own = found.setdefault(node, {})
            said = {*own.get(row["item"], "").split(", "), str(row["version"])} - {""}
            own[row["item"]] = ", ".join(sorted(said))
    return found


def _verdict(plan: Plan, layer: str, node: str, told: Compared) -> Verdict:
    words = f"{told.within} numbers are within their tolerance, {told.new} have no reference"
    worst = "unknown" if any(one.severity == "unknown" for one in told.findings) else "warn" if told.findings else "pass"
    return Verdict(
        layer, CHECK, plan.nodes[node].group, node, worst if told.within or told.findings else "skip", tuple(sorted(plan.affects(node))),
        "What the pod measured when it was good still holds.", words, told.findings,
        cause="Something has worn or changed since the baseline: an optic, a cable, a path, a clock, a version.",
        fix="Compare both runs (playbooks/compare.yml); where the change is meant, capture the baseline again with -e pod_baseline=capture.",
    )  # fmt: skip
