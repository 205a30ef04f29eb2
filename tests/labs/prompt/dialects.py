# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How EOS and NX-OS behave at their prompt: what they print of themselves, around the answers of commands."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Terminal:
    """What a session has set: lines of a page (0 is no paging) and columns, and whether it is privileged."""

    lines: int = 24
    columns: int = 80
    privileged: bool = False


@dataclass(frozen=True)
class Dialect:
    """One operating system's manners.

    motd: printed at login; more: the pager's words; refusal: of a command that it does not know, at the prompt;
    refusal_by_exec: the same where the command came by ssh's exec channel, with its exit status.
    """

    name: str
    motd: str
    more: str
    refusal: str
    refusal_by_exec: tuple[str, int]
    widths: range
    says_what_is_set: bool = False
    needs_enable: bool = False
    prompt_space: str = ""
    unprivileged: str = ""
    own_commands: frozenset[str] = field(default_factory=frozenset)

    def prompt(self, host: str, terminal: Terminal) -> str:
        """``leaf01#``, or ``leaf01>`` where the session is not privileged."""
        return f"{host}{'#' if terminal.privileged else '>'}{self.prompt_space}"

    def set_terminal(self, terminal: Terminal, words: list[str]) -> str | None:
        """Do ``terminal length N`` and ``terminal width N``; the words it prints, or None where it is another command."""
        if len(words) != 3 or words[0] != "terminal" or words[1] not in ("length", "width") or not words[2].isdigit():
            return None
        number = int(words[2])
        if words[1] == "width" and number not in self.widths:
            return f"% Invalid number, range is ({self.widths.start}:{self.widths.stop - 1})"
        if words[1] == "length":
            terminal.lines = number
            output = f"Pagination set to {number} lines." if number else "Pagination disabled."
        else:
            terminal.columns = number
            output = f"Width set to {number} columns."
        return output if self.says_what_is_set else ""


EOS = Dialect(
    name="eos",
    motd="Last login: Thu Nov 20 09:41:17 2025 from 192.0.2.9\n",
    more=" --More-- ",
    refusal="% Invalid input",
    refusal_by_exec=("% Invalid input\n", 1),
    widths=range(10, 32768),
    says_what_is_set=True,
    needs_enable=True,
    unprivileged="% Invalid input (privileged mode required)",
)
NXOS = Dialect(
    name="nxos",
    motd="\nCisco Nexus Operating System (NX-OS) Software\nTAC support: http://www.cisco.com/tac\n\n",
    more="--More--",
    refusal="{pointer}^\n% Invalid command at '^' marker.",
    refusal_by_exec=("Syntax error while parsing '{command}'\n\n\nCmd exec error.\n", 16),
    widths=range(24, 512),
    prompt_space=" ",
)
DIALECTS = {dialect.name: dialect for dialect in (EOS, NXOS)}
