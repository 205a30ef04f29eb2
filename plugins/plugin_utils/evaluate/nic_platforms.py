# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the driver of a host's NICs cannot report, so that a check that needs it is skipped before its readings are looked at."""

from __future__ import annotations

import typing as t
from collections import Counter

from ..collect.types import Envelope, reading_of
from ..pod.plan import Plan
from ..readings.nic_drivers import Form, form_of

WORDS = "not available on this platform: "


def not_available(plan: Plan, now: t.Mapping[str, Envelope], node: str, meanings: t.Iterable[str]) -> str:
    """Why the rails of a host cannot report one of some meanings, or nothing.

    Only a driver that most rails of the gate group have excuses anything, and only a host all of whose rails have it: another one
    may be the fault (nic_driver_uniform), and what is not reported of a host excuses nothing.
    """
    place = plan.nodes[node]
    if place.group is None:
        return ""
    own = _forms(plan, now, node)
    forms = {one.name: one for one in own}
    if not own or len(forms) > 1 or len(own) < len(place.values.get("pod_rails") or ()):
        return ""
    lacking = [own[0].cannot_report[one] for one in meanings if one in own[0].cannot_report]
    if not lacking:
        return ""
    of_group = Counter(one.name for host in plan.groups[place.group] for one in _forms(plan, now, host))
    return WORDS + lacking[0] if of_group[own[0].name] * 2 > sum(of_group.values()) else ""


def _forms(plan: Plan, now: t.Mapping[str, Envelope], host: str) -> list[Form]:
    """The form of the driver of each rail of a host, as far as it is reported."""
    reading = reading_of(now, host, "nic_driver")
    if reading is None or reading["status"] != "ok":
        return []
    netdevs = {rail["netdev"] for rail in plan.nodes[host].values.get("pod_rails") or ()}
    return [form_of(row["driver"], row["version"]) for row in reading["rows"] if row["netdev"] in netdevs]
