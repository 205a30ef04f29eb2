# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts' logs stopped first in a training that did not end, where that is clear."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...loads.last_lines import form, seconds_apart
from ...readings.rows import Row

# Logs that end within so many seconds of each other end together.
TOGETHER_SECONDS = 10.0
# A log has stopped where it lacks more than so many of the lines that it wrote at a regular pace.
PERIODS = 3.0
# Clocks of hosts in other time zones differ by multiples of this.
ZONE_SECONDS = 900.0


def stopped_first(jobs: t.Mapping[str, Row]) -> dict[str, float]:
    """The hosts whose log stopped while those of most others went on, with how many seconds before these; none where that is not clear.

    jobs: the row of load_jobs of the training by host. A host that had not logged at a regular pace may have had nothing to log, unless its last line is one
    that the others went past, and one that is late by a multiple of a quarter of an hour may have its clock in another zone.
    """
    clocks = {host: row["last_clock"] for host, row in jobs.items() if row.get("last_clock") is not None}
    if not clocks:
        return {}
    some = next(iter(clocks.values()))
    latest = max(clocks.values(), key=lambda clock: seconds_apart(clock, some))
    behind = {host: seconds_apart(latest, clock) for host, clock in clocks.items()}
    going_on = [host for host, seconds in behind.items() if seconds <= TOGETHER_SECONDS]
    passed = _passed_by([jobs[host] for host in going_on])
    stopped = {host: seconds for host, seconds in behind.items() if _has_stopped(seconds, jobs[host].get("last_period"), jobs[host], passed)}
    return stopped if len(going_on) >= 2 and 2 * len(going_on) > len(jobs) else {}


def _passed_by(going_on: t.Sequence[Row]) -> set[str]:
    """The forms of lines that most of the hosts which went on had logged before their last one: they went past it, whatever the pace of their logs."""
    counted = Counter(one for row in going_on for one in row.get("before_last") or ())
    return {one for one, number in counted.items() if 2 * number > len(going_on)}


def _has_stopped(behind: float, period: float | None, job: Row, passed: t.Container[str]) -> bool:
    of_zone = behind > ZONE_SECONDS / 2 and abs(behind - round(behind / ZONE_SECONDS) * ZONE_SECONDS) <= TOGETHER_SECONDS
    if behind <= TOGETHER_SECONDS or of_zone:
        return False
    return form(str(job["last_line"])) in passed or (period is not None and behind > PERIODS * period)
