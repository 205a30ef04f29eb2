# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a wait still takes: in a terminal one line that is written over, elsewhere a few whole lines."""

from __future__ import annotations

import os
import sys

from ansible import constants as C
from ansible.utils.display import Display

from .console import show

# Callbacks that print lines for a person; what others print to stdout is read by a program, also where it is a terminal.
FOR_PEOPLE = ("default", "ansible.builtin.default", "gpufabric.pyramid.terminal")
PARTS, LEAST_SECONDS = 4, 30.0
ERASE = "\r\x1b[K"


def _in_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb" and C.DEFAULT_STDOUT_CALLBACK in FOR_PEOPLE


# Ansible imports an action before it forks the worker that runs it, and a worker has no terminal: it is looked at here once.
IN_TERMINAL = _in_terminal()


class Countdown:
    """One wait.

    doing: what goes on meanwhile; quiet: whether nothing is printed where there is no terminal.
    """

    def __init__(self, doing: str, quiet: bool = False, in_terminal: bool | None = None) -> None:
        self.doing, self.quiet = doing, quiet
        self.in_terminal = IN_TERMINAL if in_terminal is None else in_terminal
        self.next: float | None = None
        self.step = 0.0

    def update(self, left: float) -> None:
        """Say that so many seconds are left; without a terminal at the beginning and at each quarter, 30 s apart or more."""
        words = f"{self.doing}, {left:.0f} s left"
        if self.in_terminal:
            Display().display(f"{ERASE}{words}", screen_only=True, newline=False)
            return
        if self.next is None:
            self.next, self.step = left, max(left / PARTS, LEAST_SECONDS)
        if left <= self.next and not self.quiet:
            show(words)
        while self.next >= left:
            self.next -= self.step

    def end(self) -> None:
        """Give the line to whatever is printed next."""
        if self.in_terminal:
            Display().display(ERASE, screen_only=True, newline=False)
