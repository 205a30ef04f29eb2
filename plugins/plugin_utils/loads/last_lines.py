# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a program that did not end had logged last, when, and how often it had logged the like."""

from __future__ import annotations

import itertools
import re
import statistics
import typing as t

from .unknown_errors import alike, cut

CLOCK = re.compile(r"(?<![\d:.])(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d):(?P<second>[0-5]\d)(?:[.,](?P<part>\d{1,9}))?(?![\d:])")
# What launchers print when they are ended, and what follows: of torchrun, srun, slurmstepd and mpirun.
LAUNCHER_ENDED = re.compile(
    r"\bReceived \S+(?: \d+)? death signal|\bsrun: (?:Job step aborted|forcing job termination|interrupt)|"
    r"\*\*\* (?:STEP|JOB) \S+ .*CANCELLED|\bmpirun: (?:killing job|abort)"
)
DAY_SECONDS = 86400.0
# Of a log only so many lines at its end say at what pace it was written.
LINES = 2000
# So many forms of lines before the last one say where a log stopped that another one went past, each by its beginning.
FORMS, FORM_LENGTH = 20, 120
# From so many lines of one form on a program is taken to log it again and again.
LEAST_LINES = 3


class LastLine(t.NamedTuple):
    """The last line of a log; clock: its time of day in seconds, by the clock of its host; period: the median of the seconds between lines like it.

    Each is None where the log does not tell it.
    """

    line: str
    clock: float | None
    period: float | None


def last_line(*texts: str) -> LastLine | None:
    """The last line of what a program printed, of several streams that of the latest time; None of nothing."""
    found = [one for text in texts if (one := _last_of(text)) is not None]
    return max(found, key=lambda one: -1.0 if one.clock is None else one.clock, default=None)


def forms_before(*texts: str) -> list[str]:
    """The forms of the lines that a program had printed before its last one, the latest first, each once: without numbers, and without that of the last."""
    last = last_line(*texts)
    lines = [line for text in texts for line in _of_the_program(text)[-LINES:]]
    forms = dict.fromkeys(form(line) for line in reversed(lines))
    return [one for one in forms if last is not None and one != form(last.line)][:FORMS]


def form(line: str) -> str:
    """What a line has in common with those of other hosts and steps: its text without numbers and addresses, cut."""
    return alike(line)[:FORM_LENGTH]


def seconds_apart(later: float, earlier: float) -> float:
    """From one time of day to another one, by the shorter way around the clock; negative where it is earlier."""
    return (later - earlier + DAY_SECONDS / 2) % DAY_SECONDS - DAY_SECONDS / 2


def _last_of(text: str) -> LastLine | None:
    lines = _of_the_program(text)[-LINES:]
    timed = [(clock, line) for line in lines if (clock := _clock(line)) is not None]
    if not timed:
        return LastLine(cut(lines[-1]), None, None) if lines else None
    clock, line = timed[-1]
    same = [at for at, other in timed if alike(other) == alike(line)]
    gaps = [seconds_apart(same[number], same[number - 1]) for number in range(1, len(same))]
    return LastLine(cut(line), clock, statistics.median(gaps) if len(same) >= LEAST_LINES else None)


def _of_the_program(text: str) -> list[str]:
    """The lines that were printed before the launcher was ended."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return list(itertools.takewhile(lambda line: not LAUNCHER_ENDED.search(line), lines))


def _clock(line: str) -> float | None:
    found = CLOCK.search(line)
    if found is None:
        return None
    return int(found["hour"]) * 3600 + int(found["minute"]) * 60 + int(found["second"]) + float(f"0.{found['part'] or 0}")
