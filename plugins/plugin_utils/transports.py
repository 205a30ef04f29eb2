# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transports: how all commands of a layer reach one node.

``shell``: one program piped to the node's Python (hosts, SONiC, Cumulus, FRR), one round trip.
``exec``: one command after the other over ssh's exec channel, one connection (EOS, NX-OS).
``network_cli``: one command after the other in a terminal session, where the inventory connects so.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import json
import os
import signal
import threading
import typing as t
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.text.converters import to_text
from ansible.module_utils.connection import Connection, ConnectionError

from .collecting import Answer, Ask, commands
from .readings import ParseError
from .readings.parsing import parse_source

UTILS = Path(__file__).resolve().parents[1] / "module_utils"
FUTURE = "from __future__ import annotations\n"
Values = dict[str, t.Any]


@dataclass
class Told:
    """What a node answered: ``answers`` by reading, in the order of its items; ``commands`` as they are kept with the evidence."""

    answered: bool
    words: str = ""
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    boot_id: str | None = None
    uptime_seconds: float | None = None
    commands: list[Values] = field(default_factory=list)


def ask(action: t.Any, node: Values, asks: list[Ask], task_vars: Values) -> Told:
    """Put all questions to the node of an action.

    action: the action plugin, for its connection; an unreachable node raises Ansible's own AnsibleConnectionFailure.
    """
    if not asks:
        return Told(True)
    by = node["values"]["pod_switch_transport"] if node["kind"] == "switch" else "shell"
    if by == "auto":
        by = "network_cli" if action._connection.transport.endswith("network_cli") else "exec" if node["platform"] in ("eos", "nxos") else "shell"
    return {"shell": _shell, "exec": _exec, "network_cli": _network_cli}[by](action, node, asks, task_vars)


@functools.cache
def program(name: str) -> str:
    """The source text of a program that goes to nodes."""
    return (UTILS / f"{name}.py").read_text(encoding="utf-8")


def asked(name: str, request: Values) -> bytes:
    """A program as one text: its request is set right behind the line that Python wants first."""
    return program(name).replace(FUTURE, f"{FUTURE}REQUEST = {json.dumps(request, ensure_ascii=True)!r}\n", 1).encode()


def _python(action: t.Any, task_vars: Values) -> str:
    """The node's Python as the inventory names it, which may be by a template."""
    python = str(action._templar.template(task_vars.get("ansible_python_interpreter")) or "python3")
    return "python3" if python.startswith("auto") else python


def piped(action: t.Any, name: str, request: Values, task_vars: Values) -> Values:
    """What a program that is piped to the node's Python answers under its own name's key.

    Raises AnsibleActionFail with the reason why it gave no answer.
    """
    python = _python(action, task_vars)
    if not action._connection.has_pipelining:
        result = action._execute_module(module_name=f"gpufabric.pyramid.{name}", module_args={"request": request}, task_vars=task_vars)
        if "answer" not in result:
            raise AnsibleActionFail(str(result.get("msg", "no output")))
        return t.cast(Values, result["answer"])
    said = action._low_level_execute_command(f"{python} -SE -", in_data=asked(name, request))
    start = said["stdout"].find(f'{{"{name}":')
    try:
        return t.cast(Values, json.loads(said["stdout"][start:])[name])
    except ValueError:
        raise AnsibleActionFail(_no_answer(python, said["rc"], said["stdout"], said["stderr"])) from None


def _no_answer(python: str, rc: int, stdout: str, stderr: str) -> str:
    last = (stderr.strip() or stdout.strip()).splitlines()[-1:] or ["no output"]
    return f"{python} on the node ended with status {rc}: {last[0][:200]}"


def _shell(action: t.Any, node: Values, asks: list[Ask], task_vars: Values) -> Told:
    request: Values = {
        "commands": commands(asks),
        "programs": {"path_probe": program("path_probe")},
        "devices": [rail["device"] for rail in node["items"]["rail"]],
    }
    if not any("{path_probe}" in word for command in request["commands"] for one in command["alternatives"] for word in one["argv"]):
        request["programs"] = {}
    python = _python(action, task_vars)
    if not action._connection.has_pipelining:
        return _by_module(action, asks, request, task_vars)
    said = action._low_level_execute_command(f"{python} -SE -", in_data=asked("side_by_side", request))
    return _told(asks, said["stdout"], said["stderr"], said["rc"], python)


def _by_module(action: t.Any, asks: list[Ask], request: Values, task_vars: Values) -> Told:
    """Where a connection cannot pipe, the same program goes as an ordinary module."""
    result = action._execute_module(module_name="gpufabric.pyramid.side_by_side", module_args={"request": request}, task_vars=task_vars)
    return _told(asks, json.dumps(result.get("answer", "")), str(result.get("msg", "")), int(bool(result.get("failed"))), "python3")


def _told(asks: list[Ask], stdout: str, stderr: str, rc: int, python: str) -> Told:
    start = stdout.find('{"boot_id"')
    try:
        said = json.loads(stdout[start:])
    except ValueError:
        return Told(False, _no_answer(python, rc, stdout, stderr))
    told = Told(True, boot_id=said["boot_id"], uptime_seconds=said["uptime_seconds"])
    for one in asks:
        told.answers[one.reading.name] = []
        for number in range(len(one.items)):
            raw = said["answers"][f"{one.reading.name} {number}"]
            source = one.sources[raw.pop("chosen")]
            told.answers[one.reading.name].append(Answer(source=source, **raw))
            kept = {key: value for key, value in raw.items() if key != "stdout"}
            told.commands.append({"reading": one.reading.name, **kept})
    return told


def _exec(action: t.Any, node: Values, asks: list[Ask], _task_vars: Values) -> Told:
    def say(command: str, seconds: int) -> tuple[int, str, str]:
        said: list[t.Any] = []

        def run() -> None:
            try:
                said.append(action._connection.exec_command(command, in_data=None, sudoable=False))
            except Exception as error:
                # It belongs to whoever waits for the answer, and is raised there.
                said.append(error)

        lane = threading.Thread(target=run, daemon=True)
        lane.start()
        lane.join(seconds)
        if not said:
            _end_children()
            raise TimeoutError(command)
        if isinstance(said[0], Exception):
            raise said[0]
        rc, stdout, stderr = said[0]
        return rc, to_text(stdout, errors="surrogate_or_replace"), to_text(stderr, errors="surrogate_or_replace")

    return _one_by_one(node, asks, say)


@contextlib.contextmanager
def giving_up() -> t.Iterator[None]:
    """End the clients of a task that its timeout, or an interrupt, ends: a node that hangs would keep each of them for good."""
    try:
        yield
    except Exception:
        raise
    except BaseException:
        _end_children()
        raise


def _end_children() -> None:
    """End the client that still waits for a switch, with all that it started: they are this worker's only descendants."""
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                waiting += [int(child) for child in path.read_text(encoding="ascii").split()]
        if pid != os.getpid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _network_cli(action: t.Any, node: Values, asks: list[Ask], _task_vars: Values) -> Told:
    connection = Connection(action._connection.socket_path)
    try:
        # The session opens with its first use; a refused login is one silent node, and is not tried again for each command.
        connection.get_prompt()
    except ConnectionError as error:
        return Told(False, str(error))

    def say(command: str, seconds: int) -> tuple[int, str, str]:
        try:
            connection.set_option("persistent_command_timeout", seconds)
            return 0, to_text(connection.get(command=command)), ""
        except ConnectionError as error:
            if "timeout" in str(error):
                raise TimeoutError(command) from error
            return 1, "", _own_words(str(error))

    return _one_by_one(node, asks, say)


def _own_words(said: str) -> str:
    """network_cli tells a refusal as the repr of all bytes, echo and prompt included; the switch's own line starts with ``%``."""
    with contextlib.suppress(ValueError, SyntaxError, AttributeError):
        lines = ast.literal_eval(said).decode("utf-8", "replace").splitlines()
        return next((line.strip() for line in lines if line.startswith("%")), said)
    return said


def _one_by_one(node: Values, asks: list[Ask], say: t.Callable[[str, int], t.Any]) -> Told:
    """Ask a switch each command once; an alternative is asked where the one before it gave no rows."""
    told = Told(True)
    texts: dict[str, Answer] = {}
    hanging: str | None = None
    for one in asks:
        said: list[Answer] = []
        for source in one.sources:
            if source.command not in texts and hanging is None:
                texts[source.command] = _one(say, source)
                hanging = source.command if texts[source.command].status == "timeout" else None
            answer = texts.get(source.command) or Answer("missing", source, [source.command], stderr=f"not asked, because {hanging!r} did not end")
            said.append(replace(answer, source=source))
            kept = {key: value for key, value in asdict(answer).items() if key not in ("stdout", "source")}
            told.commands.append({"reading": one.reading.name, **kept})
            if answer.status in ("timeout", "missing") or _parses(one, node["platform"], said[-1]):
                break
        # Where no alternative gives rows, the first one's words are the platform's own.
        told.answers[one.reading.name] = [said[-1] if _parses(one, node["platform"], said[-1]) else said[0]]
    return told


def _one(say: t.Callable[[str, int], t.Any], source: t.Any) -> Answer:
    try:
        rc, stdout, stderr = say(source.command, source.timeout_seconds)
    except TimeoutError:
        return Answer("timeout", source, [source.command], None)
    return Answer("ran", source, [source.command], rc, stdout, stderr)


def _parses(one: Ask, platform: str, answer: Answer) -> bool:
    if answer.status != "ran" or answer.rc not in answer.source.rc:
        return False
    try:
        parse_source(one.reading, platform, answer.source, answer.stdout)
    except ParseError:
        return False
    return True
