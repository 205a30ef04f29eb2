# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver that most rails of a host's gate group have, by what some hosts report of theirs."""

from __future__ import annotations

import typing as t

from ..collect.types import Envelope
from ..evaluate.nic_platforms import NicPlatforms
from ..pod.plan import Plan
from ..readings.nic_drivers import form_of
from ..run.errors import Refused


class UsualDrivers:
    """The form of driver by gate group; rows: of the reading ``nic_driver``, by host."""

    def __init__(self, plan: Plan, rows: t.Mapping[str, t.Sequence[dict[str, t.Any]]]) -> None:
        self._plan, self._rows = plan, rows
        self._platforms = NicPlatforms(plan, {host: _envelope(list(found)) for host, found in rows.items()})

    def of(self, host: str) -> str:
        """The form of driver of most rails of a host's gate group.

        Raises Refused where that driver excuses what it cannot report, and so few hosts of the group were read that it may not be the usual one.
        """
        group = str(self._plan.nodes[host].group)
        usual, members = self._platforms.usual_of(group), self._plan.groups[group]
        read = [one for one in members if one in self._rows]
        forms = [form_of(row["driver"], row["version"]) for one in read for row in self._rows[one]]
        if len(read) * 2 <= len(members) and any(form.name == usual and form.cannot_report for form in forms):
            raise Refused(
                [f"the driver of most rails of {group} is not known: {len(read)} of its {len(members)} hosts were read; name all of the group with --limit"]
            )
        return usual


def _envelope(rows: list[dict[str, t.Any]]) -> Envelope:
    reading = {"status": "ok", "words": "", "rows": rows, "lost": [], "evidence": None, "unparsed": []}
    return t.cast("Envelope", {"answered": True, "words": "", "contacted": True, "readings": {"nic_driver": reading}})
