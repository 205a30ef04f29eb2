# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One terminal session: echo, prompt, pager, refusals; and a command that never comes back."""

from __future__ import annotations

import threading
import typing as t

from .dialects import Dialect, Terminal

if t.TYPE_CHECKING:
    from .server import Switch

SHOWN_UNPRIVILEGED = ("show version", "show clock", "enable", "exit", "terminal")


class Closed(Exception):
    """The client is gone, or has said exit."""


class Session:
    """A shell on a channel."""

    def __init__(self, switch: Switch, channel: t.Any, over: threading.Event) -> None:
        self.switch, self.channel, self.over = switch, channel, over
        self.dialect: Dialect = switch.dialect
        self.terminal = Terminal(privileged=not self.dialect.needs_enable or switch.privileged)

    def run(self) -> None:
        """Until the client leaves."""
        try:
            self.say(self.dialect.motd)
            while True:
                self.say(self.dialect.prompt(self.switch.host, self.terminal))
                self.answer(" ".join(self.line().split()))
        except (Closed, OSError, EOFError):
            # The client left, in its own way.
            pass

    def say(self, text: str) -> None:
        """Print, with a terminal's line ends."""
        self.send(text.replace("\n", "\r\n").encode())

    def send(self, data: bytes) -> None:
        """Print as it is; a client that takes nothing for long is gone."""
        self.channel.settimeout(30)
        self.channel.sendall(data)

    def key(self) -> str:
        """One key of the client."""
        self.channel.settimeout(0.2)
        while not self.over.is_set():
            try:
                data = self.channel.recv(1)
            except TimeoutError:
                continue
            if not data or data == b"\x04":
                raise Closed
            return data.decode("latin-1")
        raise Closed

    def line(self, echo: bool = True) -> str:
        """One line of the client, echoed as it is typed; what is longer than the terminal is wide wraps."""
        typed = ""
        column = len(self.dialect.prompt(self.switch.host, self.terminal))
        while (key := self.key()) not in "\r\n":
            typed += key
            column += 1
            if echo:
                self.say(key)
                if column % self.terminal.columns == 0:
                    self.send(b" \r")
        self.say("\n")
        return typed

    def answer(self, command: str) -> None:
        """Do one command."""
        if not command:
            return
        self.switch.asked.append(command)
        if command in self.switch.drops:
            self.send(self.switch.answers.get(command, "")[:200].encode())
            raise Closed
        if command in self.switch.hangs:
            self.say(self.switch.answers.get(command, "")[:200])
            self.over.wait()
            raise Closed
        while command in self.switch.endless:
            self.say(self.switch.answers[command])
        output = self._output(command)
        self.page(output if output.endswith("\n") or not output else output + "\n")

    def _output(self, command: str) -> str:
        words = command.split()
        if command in ("exit", "logout", "quit"):
            raise Closed
        if not self.terminal.privileged and not command.startswith(SHOWN_UNPRIVILEGED):
            return self.dialect.unprivileged
        own = self.dialect.set_terminal(self.terminal, words)
        if own is not None:
            return own
        if command == "enable" and self.dialect.needs_enable:
            return self._enable()
        if command == "show privilege":
            return f"Current privilege level is {15 if self.terminal.privileged else 1}"
        if command in self.switch.answers:
            return self.switch.answers[command]
        return self.dialect.refusal.format(pointer=" " * (len(self.dialect.prompt(self.switch.host, self.terminal)) + len(words[0])))

    def _enable(self) -> str:
        if self.switch.enable_password is not None:
            self.say("Password: ")
            if self.line(echo=False) != self.switch.enable_password:
                return "% Bad secret"
        self.terminal.privileged = True
        return ""

    def page(self, text: str) -> None:
        """Print an answer; a page at a time where the session has not turned that off."""
        lines = text.split("\n")[:-1]
        room = self.terminal.lines - 1 if self.terminal.lines else len(lines)
        while lines:
            shown, lines = lines[:room], lines[room:]
            self.say("".join(line + "\n" for line in shown))
            if lines:
                self.say(self.dialect.more)
                key = self.key()
                # The pager wipes its own words, and goes on by a page or by a line.
                self.send(b"\r" + b" " * len(self.dialect.more) + b"\r")
                if key in "qQ\x03":
                    return
                room = 1 if key in "\r\n" else self.terminal.lines - 1
