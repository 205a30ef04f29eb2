# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waivers: findings that the site accepts until a date. Read, refused, and whether one is over; ``verdicts.settle`` applies them."""

from __future__ import annotations

import datetime
import typing as t
from dataclasses import dataclass

WAIVER_KEYS = ("check", "host", "where", "reason", "until")
LONGEST_WAIVER = datetime.timedelta(days=366)


@dataclass(frozen=True)
class Waiver:
    """One finding that the site accepts until a date, that day included."""

    check: str
    host: str
    where: str
    reason: str
    until: datetime.date

    def has_expired(self, today: datetime.date) -> bool:
        """Whether its last day is over: the finding fails then, whatever its severity is."""
        return self.until < today

    def covers(self, check: str, host: str | None, where: str) -> bool:
        """Whether it is for this finding."""
        return (self.check, self.host, self.where) == (check, host, where)


def waivers(raw: t.Iterable[dict[str, t.Any]]) -> list[Waiver]:
    """The typed waivers of a run; those that are wrong were refused when it was opened."""
    given = [{key: str(one[key]) for key in WAIVER_KEYS} for one in raw]
    return [Waiver(one["check"], one["host"], one["where"], one["reason"], datetime.date.fromisoformat(one["until"])) for one in given]


def wrong_waivers(raw: t.Iterable[dict[str, t.Any]], checks: t.Container[str], nodes: t.Container[str], today: datetime.date) -> list[str]:
    """One message for each waiver that is wrong; checks, nodes: those that exist."""
    result = []
    for number, one in enumerate(raw, 1):
        words = _wrong_waiver(one, checks, nodes, today)
        result += [f"argument 'pod_waivers': waiver {number} {words}"] if words else []
    return result


def _wrong_waiver(one: dict[str, t.Any], checks: t.Container[str], nodes: t.Container[str], today: datetime.date) -> str | None:
    lacking = [key for key in WAIVER_KEYS if not str(one.get(key) or "").strip()]
    if lacking:
        return f"lacks {', '.join(lacking)}; a waiver is for one finding, by a reason, until a date"
    if unknown := [key for key in one if key not in WAIVER_KEYS]:
        return f"has the unknown key {', '.join(unknown)}; a waiver has {', '.join(WAIVER_KEYS)}"
    if one["check"] not in checks:
        return f"is for the check {one['check']!r}, which does not exist"
    if one["host"] not in nodes:
        return f"is for the node {one['host']!r}, which is not in the inventory"
    try:
        until = datetime.date.fromisoformat(str(one["until"]))
    except ValueError:
        return f"has until {str(one['until'])!r}, which must be a date (YYYY-MM-DD)"
    if until > today + LONGEST_WAIVER:
        return f"is until {until}, more than a year from {today}; give a date within a year, and renew it then"
    return None
