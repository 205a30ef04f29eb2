# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What comes of a seed, and the counts of many."""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass, field

# A verdict that lets a job start; a pod that is too small, or slices, prove at best that no fault was seen.
GREEN = ("go", "no_fault_seen")


@dataclass
class Outcome:
    """What came of a seed.

    drawn: the kinds of trouble that it has; met: those that came into force; verdicts: of each run of it, or ``refused``;
    wrong: what must not be so, in words.
    """

    words: str
    drawn: list[str]
    met: list[str] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def judge(self, verdict: str, *, allowed: bool, expected: bool, what: str = "") -> None:
        """Note a run's verdict; allowed: whether it may be green; expected: whether it must be a go."""
        self.verdicts.append(verdict)
        if verdict in GREEN and not allowed:
            self.wrong.append(f"FALSE GO: {what} is {verdict}")
        if verdict != "go" and expected:
            self.wrong.append(f"FALSE NO-GO: {what} is {verdict}, and nothing was done to it")


def table(outcomes: t.Sequence[Outcome]) -> list[str]:
    """A line for each kind of trouble: seeds that drew it, those in which it came into force, and the verdicts of their last runs."""
    lines = [f"{'kind':<28}{'seeds':>7}{'in force':>10}{'go':>6}{'no_fault_seen':>15}{'no_go':>7}{'refused':>9}{'bad':>5}"]
    for kind in sorted({kind for one in outcomes for kind in one.drawn}):
        own = [one for one in outcomes if kind in one.drawn]
        last = Counter(one.verdicts[-1] for one in own if one.verdicts)
        met = sum(kind in one.met for one in own)
        counts = f"{len(own):>7}{met:>10}{last['go']:>6}{last['no_fault_seen']:>15}{last['no_go']:>7}{last['refused']:>9}"
        lines.append(f"{kind:<28}{counts}{sum(bool(one.wrong) for one in own):>5}")
    return lines
