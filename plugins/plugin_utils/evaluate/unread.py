# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readings that are missing: cause and fix where more is known than that they are, and those that no one understands."""

from __future__ import annotations

import typing as t

from ..checks import Check, Finding, NotMeasured
from ..checks.place import Place
from ..collect.tool_errors import known_tool_error
from ..collect.types import Envelope, KeptReading, reading_of
from ..loads.schedule import JOBS_READING
from ..loads.unknown_errors import OF_COMMANDS, alike, explain_unknown, extent_of
from ..pod.plan import Plan
from ..pod.rail_ports import rail_ports
from ..readings import catalogue


class _Asked(t.NamedTuple):
    """The nodes of one platform that were asked for a reading, whether any of them answered, and those that have an error, by what it has in common."""

    nodes: list[str]
    answered: bool
    having: dict[str, set[str]]


class ToolErrors:
    """Whose an error of a tool is; who has it is gathered once for each reading, platform and phase, and not for each node that has it."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        # The envelopes are kept with what was gathered of them, so that their id stays theirs.
        self._gathered: dict[tuple[int, str, str], tuple[t.Mapping[str, Envelope], _Asked]] = {}

    def marks_of(self, envelopes: t.Mapping[str, Envelope], node: str, name: str, words: str) -> dict[str, t.Any]:
        """What a verdict without a reading says besides its words: cause and fix of its tool's message, or those of a load without a result.

        envelopes: the responses of all nodes in the same phase, which show whose a message is that no table knows.
        """
        if known := known_tool_error(words):
            return {"cause": known.cause, "fix": known.fix, "judged": True}
        if catalogue()[name].load:
            return dict(NotMeasured.MARKS)
        reading = reading_of(envelopes, node, name)
        if not (error := reading.get("error", "") if reading is not None else ""):
            return {}
        asked = self._asked(envelopes, self._plan.nodes[node].platform, name)
        extent = extent_of(node, asked.having.get(alike(error), set()), asked.nodes, asked.answered, OF_COMMANDS)
        cause, fix = explain_unknown(error, extent.words, of_ranks=False)
        return {"cause": cause, "fix": fix, "judged": True}

    def _asked(self, envelopes: t.Mapping[str, Envelope], platform: str, name: str) -> _Asked:
        key = (id(envelopes), platform, name)
        if key not in self._gathered:
            self._gathered[key] = (envelopes, self._gather(envelopes, platform, name))
        return self._gathered[key][1]

    def _gather(self, envelopes: t.Mapping[str, Envelope], platform: str, name: str) -> _Asked:
        beside = {node: reading_of(envelopes, node, name) for node in envelopes if self._plan.nodes[node].platform == platform}
        read = {node: reading for node, reading in beside.items() if reading is not None and reading["status"] != "not_applicable"}
        having: dict[str, set[str]] = {}
        for node, reading in read.items():
            if reading["status"] == "unknown":
                having.setdefault(alike(reading.get("error", "")), set()).add(node)
        return _Asked(list(read), any(reading["status"] == "ok" for reading in read.values()), having)


def lost_of_rails(plan: Plan, node: str, reading: KeptReading | None, marks: t.Mapping[str, t.Any]) -> list[Finding]:
    """A finding for each rail of a host of which a reading is missing, where nothing else is and other rails have theirs; nothing where it is more than that.

    marks: what such a verdict says besides its words.
    """
    ports = rail_ports(plan.nodes[node].values.get("pod_rails") or ())
    # A rail of InfiniBand has no netdev.
    places = {port["device"]: Place(port["device"], device=port["device"]) for port in ports if port.get("device")}
    places |= {port["netdev"]: Place(port["netdev"], port=port["netdev"]) for port in ports if port.get("netdev")}
    lost = reading.get("lost", {}) if reading is not None else {}
    if not lost or len(lost) >= len(ports) or not lost.keys() <= places.keys():
        return []
    return [Finding(places[name], "a reading to judge by", words, "unknown", unread=True, **marks) for name, words in lost.items()]


def unparsed_readings(in_phase: t.Callable[[str], t.Mapping[str, Envelope]], check: Check, node: str) -> list[Finding]:
    """What a node answered for optional readings and no one understands: not a reading that it lacks, so the check cannot pass without it.

    in_phase: the responses of all nodes in a phase of the layer.
    """
    found: dict[str, str] = {}
    for phase, name, parameter in check.asked:
        reading = reading_of(in_phase(phase), node, name)
        if parameter in check.optional and reading is not None and reading["status"] == "unknown" and reading.get("unparsed"):
            found[name] = reading["words"]
    host = node if check.scope == "group" else None
    return [Finding(Place(name), "a response of a known form", words, check.unparsed, host=host) for name, words in found.items()]


def never_read(envelopes: t.Mapping[str, Envelope], node: str, name: str) -> str:
    """Why a reading is not there: of a load that the node had no part in, what is kept in place of its jobs says it."""
    jobs = reading_of(envelopes, node, JOBS_READING) if catalogue()[name].load else None
    return jobs["words"] if jobs is not None and jobs["status"] == "unknown" else f"{name} was never read"
