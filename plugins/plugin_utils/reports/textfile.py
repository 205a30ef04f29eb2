# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``report.prom``: the report for Prometheus, in the text format that node_exporter's textfile collector reads.

A state is a series a word, 1 for the one that is and 0 for the others, so that an alert is on a series that is always there.
"""

from __future__ import annotations

import typing as t
from datetime import datetime

from ..evaluate.gates import COUNTED, STATES
from ..evaluate.verdicts import ORDER
from ..run.documents import Report
from ..text.control_characters import visible

Labels = dict[str, str]
Sample = tuple[Labels, float]
VERDICTS = ("go", "no_fault_seen", "no_go")


def render_textfile(report: Report) -> str:
    """Every metric with its help and type."""
    pod = {"pod": report["pod"]}
    opened = datetime.fromisoformat(report["opened"]).timestamp()
    return "".join(
        (
            metric_text("verdict", "The verdict of the latest run.", _states(pod, "verdict", report["verdict"], VERDICTS)),
            metric_text("complete", "Whether the latest run came to its end; 0 while it is under way, and where it was cut off.", [(pod, report["complete"])]),
            metric_text("opened_timestamp_seconds", "When the latest run was opened.", [(pod, opened)]),
            metric_text("info", "The latest run.", [({**pod, **{key: str(report[key]) for key in ("run_id", "depth", "mode", "version")}}, 1)]),
            metric_text("gate", "The gate of each layer and gate group.", _gates(report, pod)),
            metric_text("nodes", "Nodes by their worst verdict.", _nodes(report, pod)),
            metric_text("verdicts", "Verdicts of each check.", _verdicts(report, pod)),
        )
    )


def _states(labels: Labels, name: str, state: str, words: t.Iterable[str]) -> list[Sample]:
    return [({**labels, name: word}, word == state) for word in words]


def _gates(report: Report, pod: Labels) -> t.Iterator[Sample]:
    for layer in report["layers"]:
        for group, gate in layer["groups"].items() if layer["asked"] else ():
            yield from _states({**pod, "layer": layer["layer"], "group": group}, "state", gate["gate"], STATES)


def _nodes(report: Report, pod: Labels) -> t.Iterator[Sample]:
    for layer in report["layers"]:
        counts = {group: gate["counts"] for group, gate in layer["groups"].items()} | {"shared": layer["shared"]["counts"]}
        for group, own in counts.items() if layer["asked"] else ():
            for word in COUNTED:
                yield {**pod, "layer": layer["layer"], "group": group, "verdict": word}, own.get(word, 0)


def _verdicts(report: Report, pod: Labels) -> t.Iterator[Sample]:
    counted: dict[tuple[str, str], dict[str, int]] = {}
    for record in report["verdicts"]:
        own = counted.setdefault((record["layer"], record["check"]), dict.fromkeys(ORDER, 0))
        own[record["verdict"]] += 1
    for (layer, check), own in counted.items():
        for word, number in own.items():
            yield {**pod, "layer": layer, "check": check, "verdict": word}, number


def metric_text(name: str, words: str, samples: t.Iterable[Sample]) -> str:
    """One metric with its help and type; its name follows ``gpufabric_pyramid_``."""
    full = f"gpufabric_pyramid_{name}"
    lines = [f"{full}{{{_labels(labels)}}} {float(value):.17g}" for labels, value in samples]
    return "\n".join([f"# HELP {full} {words}", f"# TYPE {full} gauge", *lines]) + "\n"


def _labels(labels: Labels) -> str:
    return ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())


def _escaped(text: str) -> str:
    return str(visible(text)).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
