# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: the release of switches, their power supplies, fans and temperatures."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...readings.rows import Peers, Rows
from ...text.ranges import ranges
from .. import CannotTell, Finding, NotApplicable, check
from ..place import Place

GOOD = {"ok", "good", "normal"}
# From so many switches on, if they are also half of those with a supply of that name, a shared feed is likelier than so many broken supplies.
MANY_SUPPLIES = 3
SAME_FEED = (
    "Power supply {name} of {many} of {all} switches is not ok ({switches}): they share a power feed (a PDU, a breaker, a circuit of the room), "
    "which is likelier than so many broken supplies. Each of them has lost its redundancy."
)
SAME_FEED_FIX = "Look at the PDU and breaker of the feed that these supplies share, before any supply is replaced; without the other feed all of them stop."
HOT = "The switch is hot: a failed fan, blocked airflow, modules of the wrong airflow direction, or a room that is too warm."
HOT_FIX = "Look at fans, filters and the air in front of the switch; above its critical limit the switch shuts down by itself."


@check(
    cause="The switch was left out of an update, or updated before the others: defects and defaults (buffers, hashing, FEC) differ between releases.",
    fix="Bring the switch to the release of the others, or waive the finding for the time of a planned update.",
    fabric="roce",
    kind="switch",
    severity="warn",
)
def nos_uniform(nos_version: Rows, nos_version_of_peers: Peers, pod_node: str, pod_same_role: list[str], pod_role: str) -> t.Iterator[Finding]:
    """The switch runs the release of the other switches of its role and platform."""
    versions = {node: _version(nos_version_of_peers[node]) for node in pod_same_role if nos_version_of_peers.get(node)}
    if not versions:
        raise NotApplicable(f"no other {pod_role} of this platform reports its release")
    if not nos_version:
        raise CannotTell("the release of this switch: not reported")
    versions[pod_node] = _version(nos_version)
    usual, count = Counter(versions.values()).most_common(1)[0]
    if 2 * count <= len(versions):
        others = ", ".join(f"{version} ({node})" for node, version in sorted(versions.items()) if version != versions[pod_node])
        yield Finding(Place("release"), f"one release on all {len(versions)} {pod_role} switches", f"{versions[pod_node]}, beside {others}")
    elif versions[pod_node] != usual:
        yield Finding(Place("release"), f"{usual}, as {count} of {len(versions)} {pod_role} switches", versions[pod_node])


def _version(rows: Rows) -> str:
    return " ".join(row["version"] for row in rows)


@check(
    cause="A power supply or fan has failed, has no power, or is not fully inserted: the switch has lost its redundancy.",
    fix="Look at its light and its power cord, reseat it, then replace it.",
    fabric="roce",
    kind="switch",
    unparsed="warn",
)
def switch_environment(
    power_supplies: Rows | None = None, fans: Rows | None = None, temperatures: Rows | None = None, power_supplies_of_peers: Peers | None = None
) -> t.Iterator[Finding]:  # fmt: skip
    """Power supplies and fans of the switch work, and no temperature reaches its sensor's limit."""
    if not (power_supplies or fans or temperatures):
        raise NotApplicable("this switch does not report power supplies, fans or temperatures")
    for kind, rows in (("power supply", power_supplies), ("fan", fans)):
        for row in rows or ():
            if _broken(row):
                cause, fix = _same_feed(row["name"], power_supplies_of_peers or {}) if kind == "power supply" else (None, None)
                yield Finding(Place(f"{kind} {row['name']}"), "ok", row["state"], "warn", cause=cause, fix=fix)
    measured = [row for row in temperatures or () if row["celsius"] is not None]
    if temperatures and not measured:
        yield Finding(Place("temperatures"), "of every sensor", "not reported by any", "unknown")
    for row in measured:
        severity, limit = (None, row["critical_c"]) if _reaches(row, "critical_c") else ("warn", row["warning_c"]) if _reaches(row, "warning_c") else ("", 0.0)
        if severity != "":
            yield Finding(Place(f"temperature {row['name']}"), f"below {limit:g} degrees C", f"{row['celsius']:g}", severity, cause=HOT, fix=HOT_FIX)


def _broken(row: dict[str, t.Any]) -> bool:
    return bool(row["present"]) and row["state"].strip().lower() not in GOOD


def _same_feed(name: str, of_peers: t.Mapping[str, Rows]) -> tuple[str | None, str | None]:
    """Cause and fix of a power supply that is not ok on many switches alike, each of which has another one that is."""
    having = {node: rows for node, rows in of_peers.items() if any(row["name"] == name and row["present"] for row in rows)}
    lost = [node for node, rows in having.items() if {row["name"] for row in rows if _broken(row)} == {name} and len(rows) > 1]
    if len(lost) < MANY_SUPPLIES or 2 * len(lost) < len(having):
        return None, None
    return SAME_FEED.format(name=name, many=len(lost), all=len(having), switches=ranges(lost)), SAME_FEED_FIX


def _reaches(row: dict[str, t.Any], limit: str) -> bool:
    """Whether a temperature is at a limit; sensors without one may say 0."""
    return bool(row[limit]) and row["celsius"] >= row[limit]
