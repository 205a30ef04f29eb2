# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run found on a host: what a remedy heals, what is left, and whether the host is proved."""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass, field

from ..evaluate.verdicts import VerdictRecord, place_of
from ..pod.names import port_name
from ..run.documents import Report

# What is repaired; an unknown is not known to be broken, so nothing is repaired on its word.
REPAIRED = ("fail", "warn")
CLOSING = ("fail", "unknown")


@dataclass
class HostFindings:
    """What a run found on one host.

    proved: it was judged in every layer of the run, every gate above it is open, and nothing failed or was unknown.
    remedies: what its findings name; healable: those findings as sentences; left: its findings that no remedy heals.
    """

    proved: bool
    remedies: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    healable: list[str] = field(default_factory=list)

    def dump(self) -> dict[str, t.Any]:
        """As plain values."""
        return asdict(self)


def host_findings(report: Report, host: str, group: str, far: t.Collection[tuple[str, str]] = ()) -> HostFindings:
    """What a run found on a host of a gate group; far: the switch ports at the other ends of its cables."""
    far = {(node, port_name(port)) for node, port in far}
    own = [(one, _findings(one, host, far)) for one in report["verdicts"]]
    own = [(one, findings) for one, findings in own if one["host"] == host or findings or _of_all(one, group) or _not_judged(one, far)]
    remedies: dict[str, None] = {}
    left, healable = [], []
    for verdict, findings in own:
        if verdict["remedy"] and verdict["verdict"] in REPAIRED:
            remedies[verdict["remedy"]] = None
            healable += findings or [verdict["check"]]
        elif verdict["verdict"] in CLOSING:
            left += findings or [f"{verdict['check']}: {verdict['words']}"]
        elif verdict["required"] and verdict["verdict"] == "skip" and not (verdict["left_out"] or verdict["waived"] or verdict.get("unavailable")):
            left.append(f"{verdict['check']}: required, and skipped: {verdict['words']}")
    asked = [layer for layer in report["layers"] if layer["asked"]]
    judged = {verdict["layer"] for verdict, _words in own if verdict["host"] == host and verdict["verdict"] in ("pass", "warn")}
    unjudged = [layer["layer"] for layer in asked if layer["layer"] not in judged]
    closed = [layer["layer"] for layer in asked if layer["groups"][group]["gate"] != "open"]
    if not left and not remedies:
        left += [f"{layer}: not evaluated" for layer in unjudged] or [f"{layer}: the gate is not open" for layer in closed]
    return HostFindings(bool(asked) and not (left or remedies or unjudged or closed), list(remedies), left, healable)


def remediable_hosts(report: Report) -> list[str]:
    """The hosts of which a finding names a remedy."""
    return sorted({one["host"] for one in report["verdicts"] if one["host"] and one["remedy"] and one["verdict"] in REPAIRED})


def _of_all(verdict: VerdictRecord, group: str) -> bool:
    """Whether a verdict of a whole gate group names no one: then it is everybody's."""
    return verdict["host"] is None and verdict["group"] == group and not verdict["findings"]


def _not_judged(verdict: VerdictRecord, far: t.Collection[tuple[str, str]]) -> bool:
    """Whether a switch at a host's far end did not report something, of whatever port."""
    return verdict["verdict"] == "unknown" and not verdict["findings"] and verdict["host"] in {node for node, _port in far}


def _findings(verdict: VerdictRecord, host: str, far: t.Collection[tuple[str, str]]) -> list[str]:
    """A verdict's findings of one host and of the far ends of its cables, as a person says them."""
    switches = {node for node, _port in far}
    mine = [
        one for one in verdict["findings"]
        if one["host"] == host or (one["host"] in switches and (place_of(one).whole or (one["host"], port_name(place_of(one).port or "")) in far))
    ]  # fmt: skip
    return [
        f"{verdict['check']}: {'' if one['host'] == host else str(one['host']) + ' '}{one['where']}: expected {one['expected']}, got {one['actual']}"
        for one in mine
        if one["severity"] in CLOSING
    ]
