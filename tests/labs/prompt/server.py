# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small SSH server that behaves as a switch's prompt: EOS or NX-OS. See README.md."""

from __future__ import annotations

import contextlib
import hmac
import socket
import threading
import typing as t

import paramiko

from .dialects import DIALECTS
from .session import Session


class Switch:
    """A switch at its prompt, on a port of the loopback for as long as the context lasts.

    answers: what each command prints; any other command is refused in the dialect's words.
    refuses: no login is accepted; privileged: the login is at ``#`` already (EOS); enable_password: what ``enable`` asks for.
    hangs: commands that print a little and never come back; drops: commands in the midst of which the connection closes;
    endless: commands that print their answer over and over.
    asked: every command that came, in their order. logins: how many were tried.
    """

    def __init__(self, dialect: str, answers: t.Mapping[str, str], host: str = "leaf01") -> None:
        self.dialect, self.answers, self.host = DIALECTS[dialect], answers, host
        self.user, self.password = "admin", "correct horse"
        self.refuses, self.privileged = False, True
        self.enable_password: str | None = None
        self.hangs: set[str] = set()
        self.drops: set[str] = set()
        self.endless: set[str] = set()
        self.asked: list[str] = []
        self.logins = 0
        self.key = paramiko.RSAKey.generate(2048)
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    def __enter__(self) -> Switch:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.2)
        self._start(self._listen)
        return self

    def __exit__(self, *_error: t.Any) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def _start(self, target: t.Callable[..., None], *arguments: t.Any) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _listen(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(TimeoutError):
                client, _address = self._listener.accept()
                self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        transport = paramiko.Transport(client)
        transport.add_server_key(self.key)
        try:
            transport.start_server(server=_Login(self))
            while transport.is_active() and not self._over.is_set():
                channel = transport.accept(0.2)
                if channel is not None:
                    self._start(self._talk, channel)
        except (paramiko.SSHException, EOFError, OSError):
            # The client left during the handshake: that is its right.
            pass
        finally:
            transport.close()

    def _talk(self, channel: paramiko.Channel) -> None:
        wanted = getattr(channel, "wanted", None)
        while wanted is None and not channel.closed and not self._over.is_set():
            self._over.wait(0.01)
            wanted = getattr(channel, "wanted", None)
        if wanted == "":
            Session(self, channel, self._over).run()
        elif wanted is not None:
            self._exec(channel, " ".join(wanted.split()))
        with contextlib.suppress(OSError, EOFError):
            channel.close()

    def _exec(self, channel: paramiko.Channel, command: str) -> None:
        """One command by ssh's exec channel: no prompt, no pager, and an exit status."""
        self.asked.append(command)
        with contextlib.suppress(OSError, EOFError):
            if command in self.hangs:
                self._over.wait()
            elif command in self.endless:
                while not self._over.is_set():
                    channel.sendall(self.answers[command].encode())
            elif command in self.answers:
                channel.sendall(self.answers[command].encode())
                channel.send_exit_status(0)
            else:
                words, status = self.dialect.refusal_by_exec
                channel.sendall(words.format(command=command).encode())
                channel.send_exit_status(status)


class _Login(paramiko.ServerInterface):
    """Who may log in, and what a channel is for."""

    def __init__(self, switch: Switch) -> None:
        self.switch = switch

    def get_allowed_auths(self, username: str) -> str:
        return "password"

    def check_auth_password(self, username: str, password: str) -> int:
        self.switch.logins += 1
        given, known = f"{username}:{password}", f"{self.switch.user}:{self.switch.password}"
        welcome = not self.switch.refuses and hmac.compare_digest(given.encode(), known.encode())
        return paramiko.AUTH_SUCCESSFUL if welcome else paramiko.AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.OPEN_SUCCEEDED if kind == "session" else paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_pty_request(self, channel: paramiko.Channel, *_terminal: t.Any) -> bool:
        return True

    def check_channel_shell_request(self, channel: paramiko.Channel) -> bool:
        channel.wanted = ""  # type: ignore[attr-defined]
        return True

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        channel.wanted = command.decode()  # type: ignore[attr-defined]
        return True
