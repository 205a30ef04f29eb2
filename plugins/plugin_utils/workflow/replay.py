# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Responses read again from the evidence of an earlier run or from text captured by hand."""

from __future__ import annotations

import typing as t

from ..checks.needed_readings import needed_readings
from ..collect.queries import queries_for
from ..collect.responses import from_evidence, kept_failures
from ..collect.types import Envelope, KeptCommand, KeptReading, Query
from ..pod.plan import Node, Plan
from ..run.reader import RunReader


def replayed_responses(kept: RunReader, plan: Plan, layer: str, members: t.Sequence[str], partners: t.Sequence[str], phase: str) -> dict[str, Envelope]:
    """What nodes reported as a kept run's evidence, or text captured by hand, has it: ``evidence/<layer>/<node>/<reading>.txt``."""
    meshes = plan.meshes(partners, members)
    found: dict[str, Envelope] = {}
    for name in members:
        node = plan.nodes[name]
        items = {**plan.items(name, members), **meshes.get(name, {})}
        wants, apart = queries_for(needed_readings(layer, node.kind, node.values, phase), {"platform": node.platform, "values": node.values, "items": items})
        if wants and not kept.has_evidence(layer, name):
            continue
        commands = kept.commands_in(layer, name, phase)
        readings = {one: _reading(reply.status, reply.words) for one, reply in apart.items()}
        for ask in wants:
            own = [one for one in commands if one["reading"] == ask.reading.name]
            readings[ask.reading.name] = _replayed(kept, ask, plan.nodes[name], layer, phase, own)
        # Captured by hand, there are texts and nothing else.
        status = kept.envelope(layer, phase, name)
        boot_id, uptime, asked_at = (status["boot_id"], status["uptime_seconds"], status.get("asked_at")) if status else (None, None, None)
        contacted = status["contacted"] if status and "contacted" in status else boot_id is not None or uptime is not None
        found[name] = {
            "answered": True, "words": "", "boot_id": boot_id, "uptime_seconds": uptime, "asked_at": asked_at, "contacted": contacted, "readings": readings,
        }  # fmt: skip
    return found


def _replayed(kept: RunReader, ask: Query, node: Node, layer: str, phase: str, commands: t.Sequence[KeptCommand]) -> KeptReading:
    """One reading of one node from its kept text."""
    path, text = kept.evidence(layer, node.name, ask.reading.name, phase)
    if text is not None:
        reply = from_evidence(ask, node.platform, text, *kept_failures(ask, commands))
        return {
            "status": reply.status, "words": reply.words, "rows": reply.rows, "lost": {}, "evidence": str(path), "unparsed": reply.unparsed,
            "error": reply.error,
        }  # fmt: skip
    if ask.reading.where_installed and commands and all(one["status"] == "missing" for one in commands):
        return _reading("not_applicable", commands[0]["stderr"])
    return _reading("unknown", f"{path} does not exist")


def _reading(status: str, words: str) -> KeptReading:
    return {"status": status, "words": words, "rows": [], "lost": {}, "evidence": None, "unparsed": False}
