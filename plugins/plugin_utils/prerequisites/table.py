# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The prerequisites of a pod as text: on how many nodes each layer can be judged, then what is missing, where and for which checks."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ..checks import LAYERS
from ..text.counting import counted
from ..text.ranges import ranges

MOST_CHECKS, MOST_NAMES = 4, 4


class NodeAnswer(t.TypedDict):
    """What a node answered.

    kind: ``host``, ``switch``, or ``not_read`` of a switch of which no command is asked; silent: why it did not answer, else empty;
    lacks: those of ``Lack.dump``.
    """

    kind: str
    silent: str
    lacks: list[dict[str, t.Any]]


def render_prerequisites(answers: Mapping[str, NodeAnswer]) -> str:
    """At most 100 columns but for names; layers first, then each lack once with all its nodes."""
    lines = ["layer          hosts ready      switches ready"]
    for number, layer in enumerate(LAYERS):
        cells = [_ready(answers, layer, kind) for kind in ("host", "switch")]
        lines.append(f"{number} {layer:<12} {cells[0]:<16} {cells[1]}".rstrip())
    silent: dict[str, list[str]] = {}
    for node, answer in answers.items():
        if answer["silent"]:
            silent.setdefault(answer["silent"], []).append(node)
    for words, nodes in silent.items():
        lines += ["", f"no answer of {ranges(nodes)}", f"  {words}"]
    for (why, those), missing in _by_reason(answers).items():
        kinds = {answers[node]["kind"] for node in those}
        names = ", ".join(missing[:MOST_NAMES]) + (f" and {len(missing) - MOST_NAMES} more" if len(missing) > MOST_NAMES else "")
        lines += ["", f"not answered by {ranges(those)}: {names}" if kinds == {"switch"} else f"missing on {ranges(those)}: {names}", f"  {why}"]
        lines += _needed_by([lack for lack in answers[those[0]]["lacks"] if lack["what"] in missing])
    return "\n".join(lines)


def is_ready(answer: NodeAnswer, layer: str) -> bool:
    """Whether no required check of a layer lacks anything on a node."""
    return answer["kind"] != "not_read" and not answer["silent"] and not any(layer in lack["required"] for lack in answer["lacks"])


def _ready(answers: Mapping[str, NodeAnswer], layer: str, kind: str) -> str:
    of_kind = [answer for answer in answers.values() if answer["kind"] == kind]
    return f"{sum(is_ready(answer, layer) for answer in of_kind)} of {len(of_kind)}" if of_kind else ""


def _by_reason(answers: Mapping[str, NodeAnswer]) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """What is missing, by the reason and its nodes; what a required check needs comes first, then what most nodes lack."""
    nodes_of: dict[tuple[str, str, str], list[str]] = {}
    required = set()
    for node, answer in answers.items():
        for lack in answer["lacks"]:
            key = (lack["what"], lack["why"], str((lack["required"], lack["other"])))
            nodes_of.setdefault(key, []).append(node)
            required |= {lack["what"]} if lack["required"] else set()
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (what, why, _checks), nodes in sorted(nodes_of.items(), key=lambda one: (one[0][0] not in required, -len(one[1]), one[0])):
        found.setdefault((why, tuple(nodes)), []).append(what)
    return found


def _needed_by(lacks: Sequence[Mapping[str, t.Any]]) -> list[str]:
    lines = []
    for key, words in (("required", "gates stay closed"), ("other", "not judged")):
        for layer in LAYERS:
            checks = list(dict.fromkeys(check for lack in lacks for check in lack[key].get(layer, ())))
            if checks:
                more = f" and {counted(len(checks) - MOST_CHECKS, 'other check')}" if len(checks) > MOST_CHECKS else ""
                lines.append(f"  {layer}, {words}: {', '.join(checks[:MOST_CHECKS])}{more}")
    return lines
