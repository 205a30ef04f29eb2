# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transports: how all commands of a layer reach one node.

``shell``: one program piped to the node's Python (hosts, SONiC, Cumulus, FRR), one round trip.
``exec``: one command after the other over ssh's exec channel, one connection (EOS, NX-OS).
``network_cli``: one command after the other in a terminal session, where the inventory connects so.
``httpapi``: many commands in one request to the switch's API (EOS, NX-OS), where the inventory connects so.
What a task's timeout leaves running, such as an ssh client, is ended by ``end_clients.end_clients_on_exit``.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import signal
import socket
import struct
import time
import typing as t
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from ansible.module_utils.common.text.converters import to_text
from ansible.module_utils.connection import Connection, ConnectionError

from ..pod.rail_ports import named_devices
from ..readings import ParseError
from ..readings.parsing import parse_source
from .api_session import ApiSession
from .end_clients import end_clients
from .host_commands import command_results, host_request
from .limits import MOST_BYTES, SESSION_GRACE_SECONDS, TooLong, clients_write_too_much, grows_too_much, within_limits
from .programs import _no_answer, _python, program_with_request
from .queries import queries_for, typed_command
from .responses import reading_result
from .switch_apis import APIS
from .turns import waiting
from .types import CommandResult, Query

# The reading by which a switch without Python reports its last boot; it is asked first.
UPTIME = "uptime"
Values = dict[str, t.Any]


@dataclass
class NodeResponse:
    """What a node answered: ``answers`` by reading, in the order of its items; ``commands`` as they are kept with the evidence.

    contacted: False where there was nothing to ask the node; boot_id, uptime_seconds: what identifies its last boot; asked_at: when it responded
    that, in seconds since the epoch.
    """

    answered: bool
    words: str = ""
    answers: dict[str, list[CommandResult]] = field(default_factory=dict)
    boot_id: str | None = None
    uptime_seconds: float | None = None
    asked_at: float | None = None
    contacted: bool = True
    commands: list[Values] = field(default_factory=list)


def query_node(action: t.Any, node: Values, asks: list[Query], task_vars: Values, boot: bool = False) -> NodeResponse:
    """Put all questions to the node of an action.

    action: the action plugin, for its connection; boot: whether the node must also report its last boot, which costs a switch without
    Python a command more; an unreachable node raises Ansible's own AnsibleConnectionFailure.
    """
    if not (asks or boot):
        return NodeResponse(True, contacted=False)
    by = node["values"]["pod_switch_transport"] if node["kind"] == "switch" else "shell"
    if by == "auto":
        own = str(action._connection.transport).rpartition(".")[2]
        by = own if own in ("network_cli", "httpapi") else "exec" if node["platform"] in ("eos", "nxos") else "shell"
    if by != "shell" and boot:
        asks = [*queries_for([UPTIME], node)[0], *asks]
    return {"shell": _shell, "exec": _exec, "network_cli": read_by_session, "httpapi": _by_api}[by](action, node, asks, task_vars)


def _shell(action: t.Any, node: Values, asks: list[Query], task_vars: Values) -> NodeResponse:
    request = host_request(asks, named_devices(node["items"]["rail"]))
    python = _python(action, task_vars)
    if not action._connection.has_pipelining:
        return _by_module(action, asks, request, task_vars)
    completed = action._low_level_execute_command(f"{python} -SE -", in_data=program_with_request("side_by_side", request))
    return _node_response(asks, completed["stdout"], completed["stderr"], completed["rc"], python)


def _by_module(action: t.Any, asks: list[Query], request: Values, task_vars: Values) -> NodeResponse:
    """Where a connection cannot pipe, the same program goes as an ordinary module."""
    result = action._execute_module(module_name="gpufabric.pyramid.side_by_side", module_args={"request": request}, task_vars=task_vars)
    return _node_response(asks, json.dumps(result.get("answer", "")), str(result.get("msg", "")), int(bool(result.get("failed"))), "python3")


def _node_response(asks: list[Query], stdout: str, stderr: str, rc: int, python: str) -> NodeResponse:
    start = stdout.find('{"boot_id"')
    try:
        document = json.loads(stdout[start:])
    except ValueError:
        return NodeResponse(False, _no_answer(python, rc, stdout, stderr))
    response = NodeResponse(True, boot_id=document["boot_id"], uptime_seconds=document["uptime_seconds"], asked_at=time.time())
    response.answers = command_results(asks, document)
    for name, results in response.answers.items():
        response.commands += [{"reading": name, **{key: value for key, value in vars(one).items() if key not in ("stdout", "source")}} for one in results]
    return response


def _exec(action: t.Any, node: Values, asks: list[Query], _task_vars: Values) -> NodeResponse:
    # A login has a time limit of its own; it is not the first command that is slow.
    if not action._connection.connected:
        action._connection._connect()

    def send(command: str, seconds: int) -> tuple[int, str, str]:
        def read() -> tuple[int, bytes, bytes]:
            rc, stdout, stderr = action._connection.exec_command(command, in_data=None, sudoable=False)
            # One byte more says that it was more.
            return rc, stdout[: MOST_BYTES + 1], stderr[:MOST_BYTES]

        rc, stdout, stderr = within_limits(read, seconds, clients_write_too_much, end_clients)
        return rc, to_text(stdout, errors="surrogate_or_replace"), to_text(stderr, errors="surrogate_or_replace")

    return _run_in_order(node, asks, send)


def _by_api(action: t.Any, node: Values, asks: list[Query], _task_vars: Values) -> NodeResponse:
    api = APIS.get(node["platform"])
    if api is None:
        return NodeResponse(False, f"a switch of platform {node['platform']} has no API that is read; its connection must be ssh")
    privileged = getattr(action._connection, "become", None)
    enable = None if privileged is None else str(privileged.get_option("become_pass") or "")
    # The boot is asked for alone: its time is when the switch responded.
    first = {ask.sources[0].command: ask.sources[0].timeout_seconds for ask in asks if ask.reading.name != UPTIME}

    def tell(words: str) -> None:
        action._display.vvv(words, host=str(action._connection.get_option("host")))

    return _run_in_order(node, asks, ApiSession(action._connection, api, enable, first, tell).send)


def read_by_session(action: t.Any, node: Values, asks: list[Query], _task_vars: Values) -> NodeResponse:
    """Put all questions to a node in its terminal session; a command that does not end, in time or in memory, ends the session's process."""
    connection = Connection(action._connection.socket_path)
    try:
        # The session opens with its first use; a refused login is one silent node, and is not tried again for each command.
        with waiting():
            connection.get_prompt()
    except ConnectionError as error:
        return NodeResponse(False, str(error))

    reader = session_process(action._connection.socket_path)

    def end() -> None:
        """End the process that reads for this node alone, and let the next task open a new session."""
        # Of a process that this one cannot see, the kernel reports 0, which would be this one's own group.
        if reader > 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(reader, signal.SIGKILL)
        Path(action._connection.socket_path).unlink(missing_ok=True)

    def send(command: str, seconds: int) -> tuple[int, str, str]:
        try:
            with waiting():
                connection.set_option("persistent_command_timeout", seconds)
            limit = seconds + SESSION_GRACE_SECONDS
            return 0, to_text(within_limits(lambda: connection.get(command=command), limit, grows_too_much(reader), lambda _thread: end())), ""
        except ConnectionError as error:
            if "timeout" in str(error):
                # Its session would go on with the rest of this response.
                end()
                raise TimeoutError(command) from error
            return 1, "", _switch_error(str(error))

    return _run_in_order(node, asks, send, session=True)


def session_process(path: str) -> int:
    """The process that listens at a socket of this machine."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(path)
        pid, _uid, _gid = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return int(pid)


def _switch_error(text: str) -> str:
    """network_cli reports a refusal as the repr of all bytes, echo and prompt included; the switch's own line starts with ``%``."""
    with contextlib.suppress(ValueError, SyntaxError, AttributeError):
        lines = ast.literal_eval(text).decode("utf-8", "replace").splitlines()
        return next((line.strip() for line in lines if line.startswith("%")), text)
    return text


def _run_in_order(node: Values, asks: list[Query], send: t.Callable[[str, int], t.Any], session: bool = False) -> NodeResponse:
    """Ask a switch each command once; an alternative is asked where the one before it gave no rows.

    session: all commands go to one session, which ends with a response that is too long.
    """
    response = NodeResponse(True)
    texts: dict[str, CommandResult] = {}
    hanging: str | None = None
    for one in asks:
        results: list[CommandResult] = []
        for source in one.sources:
            command = typed_command(source, one)
            if command not in texts and hanging is None:
                texts[command] = _run_command(send, source, command)
                ended = session and texts[command].rc is None
                hanging = command if texts[command].status == "timeout" or ended else None
            answer = texts.get(command) or CommandResult("missing", source, [command], stderr=f"not asked, because {hanging!r} did not end")
            results.append(replace(answer, source=source))
            kept = {key: value for key, value in asdict(answer).items() if key not in ("stdout", "source")}
            response.commands.append({"reading": one.reading.name, **kept})
            if answer.status in ("timeout", "missing") or _parses(one, node["platform"], results[-1]):
                break
        # Where no alternative gives rows, the first one's words are the platform's own.
        response.answers[one.reading.name] = [results[-1] if _parses(one, node["platform"], results[-1]) else results[0]]
        if one.reading.name == UPTIME:
            response.uptime_seconds, response.asked_at = _uptime_seconds(one, node["platform"], response.answers.pop(UPTIME)), time.time()
    return response


def _uptime_seconds(one: Query, platform: str, answers: list[CommandResult]) -> float | None:
    """How long a switch has been up, in seconds; None where it does not report."""
    parsed = reading_result(one, platform, answers)
    if parsed.status != "ok" or len(parsed.rows) != 1:
        return None
    row = parsed.rows[0]
    return float((((row["weeks"] * 7 + row["days"]) * 24 + row["hours"]) * 60 + row["minutes"]) * 60 + row["seconds"])


def _run_command(send: t.Callable[[str, int], t.Any], source: t.Any, command: str) -> CommandResult:
    try:
        rc, stdout, stderr = send(command, source.timeout_seconds)
    except TimeoutError:
        return CommandResult("timeout", source, [command], None)
    except TooLong:
        return CommandResult("ran", source, [command], None, cut=True)
    return CommandResult("ran", source, [command], rc, stdout[:MOST_BYTES], stderr, cut=len(stdout) > MOST_BYTES)


def _parses(one: Query, platform: str, answer: CommandResult) -> bool:
    if answer.status != "ran" or answer.cut or answer.rc not in answer.source.rc:
        return False
    try:
        parse_source(one.reading, platform, answer.source, answer.stdout)
    except ParseError:
        return False
    return True
