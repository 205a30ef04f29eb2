# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host's own checks leave to the history: the lines of its journal, which are text from outside."""

from __future__ import annotations

import json
import typing as t

from ..checks import LAYERS
from ..evaluate.series import all_series
from ..text.control_characters import visible
from ..text.schema import Cells, Each, Maybe, OneOf, shape_error
from .entries import NODE_CHECK, Entry, FindingRow, Number, Outcome

VERDICT = OneOf(("warn", "unknown", "fail"))
FINDING = {"where": str, "expected": str, "actual": str}
# What a line of the journal holds; ``node_check/journal.py`` writes it.
LINE = {
    **dict.fromkeys(("pod", "node", "plan_digest", "version", "status"), str),
    "time": int,
    "layers": Each(OneOf(("pass", "warn", "unknown", "fail")), dict, "|".join(LAYERS)),
    "found": Each({"layer": OneOf(tuple(LAYERS)), "check": str, "verdict": VERDICT, "words": str, "findings": Each(FINDING)}),
    "numbers": Each(Cells((str, str, Maybe(int), float, str, Maybe(float), Maybe(float)))),
}
# A journal has no more lines than this in its two files.
MOST_LINES = 20_000


class Refused(Exception):
    """A line that is not of a journal of this pod and node; its text is the whole message."""


def entries_of_journal(pod: str, node: str, text: str, now: float) -> t.Iterator[Entry]:
    """The checks that a host's journal tells.

    Raises Refused at the first line that is malformed, another node's, or from the future: what was told before it is kept.
    """
    for number, line in enumerate(text.splitlines()[:MOST_LINES], 1):
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            raise Refused(f"line {number} is no JSON") from None
        if (words := shape_error(document, LINE)) is not None:
            raise Refused(f"line {number}: {words}")
        if (document["pod"], document["node"]) != (pod, node):
            raise Refused(f"line {number} is of {document['node']} of pod {document['pod']}")
        if document["time"] > now + 3600:
            raise Refused(f"line {number} is from the future: the clock of the host is wrong")
        yield _entry(visible(document))


def _entry(line: dict[str, t.Any]) -> Entry:
    node = line["node"]
    findings = [row for one in line["found"] for row in _findings(node, one)]
    numbers = [_number(node, *cells) for cells in line["numbers"]]
    outcomes = [Outcome(layer, node, verdict) for layer, verdict in line["layers"].items()]
    return Entry(
        line["pod"], NODE_CHECK, str(line["time"]), node, line["time"], line["version"], line["status"], line["plan_digest"], outcomes, findings, numbers
    )


def _number(node: str, metric: str, where: str, lane: int | None, value: float, unit: str, low: float | None, high: float | None) -> Number:
    """A number of the node, or of its port, NIC or GPU; light is a port's, and so are most series."""
    known = all_series().get(metric)
    port = where if known is None or known.of_ports else ""
    return Number(metric, node, port, " ".join(str(word) for word in (node, where, lane) if word not in ("", None)), float(value), unit, low, high)


def _findings(node: str, one: dict[str, t.Any]) -> t.Iterator[FindingRow]:
    for finding in one["findings"]:
        severity = finding.get("severity") if finding.get("severity") in VERDICT.words else one["verdict"]
        yield FindingRow(one["layer"], one["check"], node, finding["where"], str(severity), finding["expected"], finding["actual"])
    if not one["findings"]:
        yield FindingRow(one["layer"], one["check"], node, "", one["verdict"], "", one["words"])
