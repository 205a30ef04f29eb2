# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check finds."""

from __future__ import annotations

from dataclasses import dataclass

from .place import Place


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it must be.

    where: its place, of which a switch's port decides which gate groups it affects; expected, actual: what must be and what is, as text for an operator.
    severity: ``fail``, ``warn`` or ``unknown`` where it is not that of the check.
    host: the host a group check's finding is of.
    value: the number to set, where that is the fix; waiver_expired: a waiver covered it, and is out of date.
    cause, fix: of this finding, where its evidence says more than the check's own.
    judged: of an unknown, that it follows from what was read, so that cause and fix apply; otherwise something was not reported.
    later: another one of its check came first by time, so that it is named behind that one.
    began_at: node and port at which this began, so that the finding there, if there is one, explains it; no port: any finding of the check on that node.
    unread: of an unknown, that a reading of this rail is missing, where those of others are there: it follows from the rail that is not there.
    """

    where: Place
    expected: str
    actual: str
    severity: str | None = None
    host: str | None = None
    value: int | None = None
    waiver_expired: bool = False
    cause: str | None = None
    fix: str | None = None
    judged: bool = False
    later: bool = False
    began_at: tuple[str, str] | None = None
    unread: bool = False

    def __post_init__(self) -> None:
        # A row's cell is of any type, which no type checker sees; here it is the check that broke, and not the evaluation.
        if not isinstance(self.where, Place):
            raise TypeError(f"the place of a finding must be a Place, not {self.where!r}")

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, got {self.actual}"
