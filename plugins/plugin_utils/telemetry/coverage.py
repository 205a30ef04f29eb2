# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Telemetry: whether the signals by which a pod in use is watched are there, complete and fresh, and whether someone plots them.

Which metric carries a signal depends on the site's exporters: pod_telemetry_signals names it, and a signal without a metric is unknown.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ..pod.plan import Plan
from ..text.shortened import shortened

# What must be watched, on whom, and how many series each of them has by the plan.
SIGNALS = {
    "pfc_pauses_of_hosts": ("host", "rails"),
    "ecn_marks_of_hosts": ("host", "rails"),
    "nic_errors": ("host", "rails"),
    "pfc_pauses_of_switches": ("switch", "cables"),
    "ecn_marks_of_switches": ("switch", "cables"),
    "uplink_bytes": ("leaf", "uplinks"),
    "all_reduce_time": ("workload", "one"),
}
METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
VARIABLE = re.compile(r"\$\{(\w+)(?::\w+)?\}|\$(\w+)")
WORKLOAD = "the workload"


@dataclass(frozen=True)
class Watched:
    """One signal of one node: pass, fail or unknown, what was expected and what was got."""

    signal: str
    node: str
    verdict: str
    expected: str
    actual: str


@dataclass(frozen=True)
class Series:
    """What Prometheus has of a metric for one value of its label: how many series, and the age in seconds of the oldest."""

    count: int
    age: float


def signal_errors(signals: t.Mapping[str, t.Any]) -> list[str]:
    """A message for everything in ``pod_telemetry_signals`` that is no signal, metric or label: they become part of a query."""
    found = []
    for name, configured in signals.items():
        if name not in SIGNALS:
            found.append(f"argument 'pod_telemetry_signals': {name!r} is no signal; known are {', '.join(SIGNALS)}")
        elif not isinstance(configured, dict) or set(configured) - {"metric", "label"}:
            found.append(f"argument 'pod_telemetry_signals': {name} must have metric and label, not {configured!r}")
        elif (configured.get("metric") and not METRIC.fullmatch(str(configured["metric"]))) or (
            configured.get("label") and not LABEL.fullmatch(str(configured["label"]))
        ):
            found.append(f"argument 'pod_telemetry_signals': {name} must have the name of a metric and of a label, not {configured!r}")
    return found


def queries(metric: str, label: str) -> tuple[str, str]:
    """How many series each value of a label has, and when its oldest was scraped."""
    by = f" by ({label})" if label else ""
    return f"count{by} ({metric})", f"min{by} (timestamp({metric}))"


def series(counted: t.Mapping[str, t.Any], stamped: t.Mapping[str, t.Any], label: str) -> dict[str, Series]:
    """Prometheus' answers to both queries, by the host that the label names.

    Raises ValueError where an answer is not that of an instant query.
    """
    times = {_name(metric, label): (now, float(value)) for metric, (now, value) in _vector(stamped)}
    found = {}
    for metric, (_now, value) in _vector(counted):
        now, scraped = times.get(_name(metric, label), (0.0, 0.0))
        found[_name(metric, label)] = Series(int(float(value)), float(now) - scraped if now else float("inf"))
    return found


def _vector(answer: t.Mapping[str, t.Any]) -> t.Iterator[tuple[dict[str, str], tuple[float, str]]]:
    if answer.get("status") != "success" or answer.get("data", {}).get("resultType") != "vector":
        raise ValueError(f"Prometheus answered {shortened(str(answer.get('error') or answer), 200)}")
    for one in answer["data"]["result"]:
        yield one["metric"], (float(one["value"][0]), one["value"][1])


def _name(metric: t.Mapping[str, str], label: str) -> str:
    """A host by its label: without a port and a domain, since exporters differ in both."""
    return metric.get(label, "").partition(":")[0].partition(".")[0] if label else ""


def judge_signal(plan: Plan, signal: str, configured: t.Mapping[str, t.Any], found: t.Mapping[str, Series] | None, fresh_seconds: float) -> list[Watched]:
    """A verdict for every node that the signal must be watched on; found is None where no metric is named."""
    who, each = SIGNALS[signal]
    nodes = [WORKLOAD] if who == "workload" else [node.name for node in plan.nodes.values() if who in (node.kind, node.role)]
    expected = f"{configured.get('metric') or 'a metric'} younger than {fresh_seconds:g} s"
    if found is None:
        return [Watched(signal, node, "unknown", expected, "pod_telemetry_signals names no metric") for node in nodes]
    result = []
    for node in nodes:
        wanted = _wanted(plan, node, each)
        own = found.get("" if node == WORKLOAD else node.partition(".")[0])
        actual = "no series" if own is None else f"{own.count} series, the oldest {own.age:.0f} s old"
        good = own is not None and own.count >= wanted and own.age <= fresh_seconds
        result.append(Watched(signal, node, "pass" if good else "fail", f"{expected}, {wanted} series", actual))
    return result


def _wanted(plan: Plan, node: str, each: str) -> int:
    if each == "rails":
        return len(plan.nodes[node].values["pod_rails"])
    if each == "cables":
        return len(plan.at[node])
    return int(plan.planned(node)["pod_uplinks"]) if each == "uplinks" else 1


def expressions(dashboard: t.Mapping[str, t.Any]) -> list[str]:
    """Every query of a dashboard's panels, of rows and of nested panels too, with the present values of its text variables."""
    variables = {str(one.get("name")): str((one.get("current") or {}).get("value")) for one in dashboard.get("templating", {}).get("list", ())}
    return [VARIABLE.sub(lambda found: variables.get(found[1] or found[2], found[0]), expression) for expression in _queries(dashboard)]


def _queries(panels: t.Mapping[str, t.Any]) -> t.Iterator[str]:
    for panel in panels.get("panels", ()):
        yield from _queries(panel)
        yield from (target["expr"] for target in panel.get("targets", ()) if isinstance(target.get("expr"), str))


def plotted(signals: t.Mapping[str, t.Mapping[str, t.Any]], queried: t.Iterable[str]) -> list[Watched]:
    """Whether some dashboard queries each signal's metric."""
    words = {word for expression in queried for word in re.findall(r"[a-zA-Z_:][a-zA-Z0-9_:]*", expression)}
    result = []
    for name in SIGNALS:
        metric = signals.get(name, {}).get("metric")
        verdict = "unknown" if not metric else "pass" if metric in words else "fail"
        actual = {"unknown": "pod_telemetry_signals names no metric", "pass": "a panel that queries it", "fail": "no panel queries it"}[verdict]
        result.append(Watched(name, "dashboards", verdict, f"a panel of {metric or 'a metric'}", actual))
    return result
