# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Baselines: what a pod measured when it was good, in one file that people read and compare, and what has become worse since.

A number stands with what it depends on: the software of the node that reported it, and the columns that its metric names. Where these
differ it is not compared, and that is stated: another version is another number.
"""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass
from pathlib import Path

import yaml

from ..checks import Finding
from ..checks.place import Place
from ..pod.plan import Plan
from .metrics import MetricValue, RowsByNode, metrics
from .verdicts import Verdict

SCHEMA = 1
BASELINE_CHECK = "baseline_held"
HEAD = """\
# What this pod measured when it was good. Written by a run with pod_baseline=capture; compare it as any text, and commit it.
"""


class BaselineMetric(t.TypedDict):
    """The numbers of one metric in a baseline: by place, each with its ``value`` and what it depends on (columns of the metric, software)."""

    unit: str
    numbers: dict[str, dict[str, t.Any]]


class Baseline(t.TypedDict):
    """The document of a baseline; measures: its metrics by name, the key of its file."""

    schema: int
    pod: str
    run: str
    captured: str
    measures: dict[str, BaselineMetric]


class BaselineError(Exception):
    """A baseline that cannot be used; its text is the whole message."""


@dataclass(frozen=True)
class Compared:
    """A node's numbers against the baseline's: findings, and how many were within and how many have no reference."""

    findings: tuple[Finding, ...]
    within: int
    new: int


def baseline_text(pod: str, run_id: str, time: str, numbers: t.Iterable[MetricValue], software: t.Mapping[str, t.Mapping[str, str]]) -> str:
    """The baseline's text.

    software: versions by node and item.
    """
    kept: dict[str, BaselineMetric] = {}
    for number in sorted(numbers, key=lambda one: (one.metric, one.place)):
        metric = metrics()[number.metric]
        own = kept.setdefault(number.metric, {"unit": metric.unit, "numbers": {}})
        own["numbers"][number.place] = {"value": number.value, **_beside(number, software)}
    document: Baseline = {"schema": SCHEMA, "pod": pod, "run": run_id, "captured": time, "measures": kept}
    # Leaves in one line each: a line of a diff is a number.
    return HEAD + yaml.safe_dump(document, default_flow_style=None, sort_keys=False, width=1000, allow_unicode=False)


def baseline_to_compare(values: t.Mapping[str, t.Any], path: Path) -> str | None:
    """The text of the baseline that a run is to be compared with; None where it is compared with none.

    Raises BaselineError where there is no such baseline, or where a run that judges a part of the pod is to become one.
    """
    if values["pod_baseline"] == "capture" and (values["pod_only"] or values["pod_replay_from"]):
        raise BaselineError("argument 'pod_baseline': capture needs a complete run, not pod_only or pod_replay_from")
    if values["pod_baseline"] != "compare":
        return None
    try:
        text = path.read_text(encoding="utf-8")
        load_baseline(text, values["pod_name"])
    except (OSError, UnicodeDecodeError) as error:
        raise BaselineError(f"argument 'pod_baseline': compare needs {path}, and it cannot be read: {error}; capture one first") from None
    except BaselineError as error:
        raise BaselineError(f"argument 'pod_baseline': {path} {error}") from None
    return text


def load_baseline(text: str, pod: str) -> Baseline:
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
    for name, metric in document["measures"].items():
        numbers = metric.get("numbers") if isinstance(metric, dict) else None
        if not isinstance(numbers, dict) or not all(isinstance(one, dict) and _is_number(one.get("value")) for one in numbers.values()):
            raise BaselineError(f"has no numbers of {name!r}")
        if name in metrics() and metric.get("unit") != metrics()[name].unit:
            raise BaselineError(f"has {name!r} in {metric.get('unit')!r}, not in {metrics()[name].unit!r}")
    return t.cast("Baseline", document)


def _is_number(value: t.Any) -> bool:
    """Whether a value can be compared: nothing is worse than nan."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def judge_against_baseline(
    baseline: Baseline, plan: Plan, layer: str, numbers: t.Iterable[MetricValue], software: t.Mapping[str, t.Mapping[str, str]]
) -> list[Verdict]:
    """A verdict for each node that reported a number of the layer: warned of what is worse, unknown where the numbers cannot be compared."""
    of_node: dict[str, list[MetricValue]] = {}
    for number in numbers:
        of_node.setdefault(number.node, []).append(number)
    return [_verdict(plan, layer, node, compare_with_baseline(baseline, own, software)) for node, own in of_node.items()]


def compare_with_baseline(baseline: Baseline, numbers: t.Iterable[MetricValue], software: t.Mapping[str, t.Mapping[str, str]]) -> Compared:
    """Some numbers against the baseline's."""
    findings: list[Finding] = []
    within = new = 0
    for number in numbers:
        known = baseline["measures"].get(number.metric)
        reference = known["numbers"].get(number.place) if known else None
        metric = metrics()[number.metric]
        if reference is None:
            new += 1
            continue
        beside = _beside(number, software)
        keys = [key for key in dict.fromkeys([*reference, *beside]) if key != "value" and reference.get(key) != beside.get(key)]
        differing = [f"{key} {reference.get(key)} then and {beside.get(key)} now" for key in keys]
        where = Place(f"{number.metric} of {number.place}")
        if differing:
            findings.append(Finding(where, "a number that compares with the baseline's", "; ".join(differing), "unknown", host=number.node))
        elif metric.worse(number.value, reference["value"]):
            expected = f"about {reference['value']} {metric.unit}, as in run {baseline.get('run')}"
            findings.append(Finding(where, expected, f"{number.value} {metric.unit}", "warn", host=number.node))
        else:
            within += 1
    return Compared(tuple(findings), within, new)


def _beside(number: MetricValue, software: t.Mapping[str, t.Mapping[str, str]]) -> dict[str, t.Any]:
    return {**number.beside, **software.get(number.node, {})}


def software_versions(rows_of: RowsByNode) -> dict[str, dict[str, str]]:
    """The versions of every node that reported them, by item; several of one item are one text."""
    found: dict[str, dict[str, str]] = {}
    for node, readings in rows_of.items():
        for row in readings.get("software", ()):
            own = found.setdefault(node, {})
            versions = {*own.get(row["item"], "").split(", "), str(row["version"])} - {""}
            own[row["item"]] = ", ".join(sorted(versions))
    return found


def _verdict(plan: Plan, layer: str, node: str, compared: Compared) -> Verdict:
    words = f"{compared.within} numbers are within their tolerance, {compared.new} have no reference"
    worst = "unknown" if any(one.severity == "unknown" for one in compared.findings) else "warn" if compared.findings else "pass"
    return Verdict(
        layer, BASELINE_CHECK, plan.nodes[node].group, node, worst if compared.within or compared.findings else "skip", tuple(sorted(plan.affects(node))),
        "Every measured number is within its tolerance of the baseline.", words, compared.findings,
        cause="Something has worn or changed since the baseline: an optic, a cable, a path, a clock, a version.",
        fix="Compare both runs (playbooks/compare.yml); where the change is meant, capture the baseline again with -e pod_baseline=capture.",
    )  # fmt: skip
