# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the driver of a host's NICs cannot report, so that a check that needs it is skipped before its readings are looked at."""

from __future__ import annotations

import typing as t
from collections import Counter

from ..collect.types import Envelope, reading_of
from ..pod.plan import Plan
from ..pod.rail_ports import rail_ports
from ..readings.nic_drivers import Form, forms_of
from .guests import is_guest

WORDS = "not available on this platform: "


class NicPlatforms:
    """What the drivers of a layer's hosts cannot report; the drivers of a gate group are counted once."""

    def __init__(self, plan: Plan, now: t.Mapping[str, Envelope], usual: t.Mapping[str, str] | None = None) -> None:
        """usual: the form of driver of most rails by gate group, where it is known from elsewhere and not counted here."""
        self._plan, self._now = plan, now
        self._usual = dict(usual or {})

    def not_available(self, node: str, meanings: t.Iterable[str]) -> str:
        """Why the rails of a host cannot report one of some meanings, or nothing.

        Only a driver that most rails of the gate group have excuses anything, and only a host all of whose rails have it: another one
        may be the fault (nic_driver_uniform), and what is not reported of a host excuses nothing. Virtual functions of a guest are what their ids say, whatever
        the group has.
        """
        place = self._plan.nodes[node]
        own = self._forms(node) if place.group is not None else []
        # Rails that are not there have no driver: they are findings of their own, and the others are judged by theirs.
        unknown = len(rail_ports(place.values.get("pod_rails") or ())) - len(own)
        if not own or len({one.name for one in own}) > 1 or (unknown > 0 and unknown > len(self._lost(node))):
            return ""
        lacking = [own[0].cannot_report[one] for one in meanings if one in own[0].cannot_report]
        excused = lacking and (self.usual_of(str(place.group)) == own[0].name or (own[0].virtual and is_guest(self._now, node)))
        return WORDS + lacking[0] if excused else ""

    def usual_of(self, group: str) -> str:
        """The form of driver that more than half of a group's rails have, or nothing."""
        if group not in self._usual:
            of_group = Counter(one.name for host in self._plan.groups[group] for one in self._forms(host))
            name, count = next(iter(of_group.most_common(1)), ("", 0))
            self._usual[group] = name if count * 2 > sum(of_group.values()) else ""
        return self._usual[group]

    def _lost(self, host: str) -> t.Mapping[str, str]:
        """The rails of a host whose driver could not be read."""
        reading = reading_of(self._now, host, "nic_driver")
        return reading.get("lost", {}) if reading is not None else {}

    def _forms(self, host: str) -> list[Form]:
        """The form of the driver of each rail of a host, as far as it is reported."""
        reading, functions = reading_of(self._now, host, "nic_driver"), reading_of(self._now, host, "nic_functions")
        if reading is None or reading["status"] != "ok":
            return []
        netdevs = {rail["netdev"] for rail in rail_ports(self._plan.nodes[host].values.get("pod_rails") or ())}
        forms = forms_of(reading["rows"], functions["rows"] if functions and functions["status"] == "ok" else None)
        return [form for netdev, form in forms.items() if netdev in netdevs]
