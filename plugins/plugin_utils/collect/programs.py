# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of this collection that run on a node's Python, sent over the connection."""

from __future__ import annotations

import json
import typing as t

from ansible.errors import AnsibleActionFail

from ..text.shortened import shortened
from .host_commands import program_source

Values = dict[str, t.Any]
FUTURE = "from __future__ import annotations\n"


def program_with_request(name: str, request: Values) -> bytes:
    """A program as one text: its request is set right behind the line that Python wants first."""
    return program_source(name).replace(FUTURE, f"{FUTURE}REQUEST = {json.dumps(request, ensure_ascii=True)!r}\n", 1).encode()


def _python(action: t.Any, task_vars: Values) -> str:
    """The node's Python as the inventory names it, which may be by a template."""
    python = str(action._templar.template(task_vars.get("ansible_python_interpreter")) or "python3")
    return "python3" if python.startswith("auto") else python


def run_program(action: t.Any, name: str, request: Values, task_vars: Values) -> Values:
    """What a program that is piped to the node's Python answers under its own name's key.

    Raises AnsibleActionFail with the reason why it gave no answer.
    """
    python = _python(action, task_vars)
    if not action._connection.has_pipelining:
        result = action._execute_module(module_name=f"gpufabric.pyramid.{name}", module_args={"request": request}, task_vars=task_vars)
        if "answer" not in result:
            raise AnsibleActionFail(str(result.get("msg", "no output")))
        return t.cast(Values, result["answer"])
    completed = action._low_level_execute_command(f"{python} -SE -", in_data=program_with_request(name, request))
    start = completed["stdout"].find(f'{{"{name}":')
    try:
        return t.cast(Values, json.loads(completed["stdout"][start:])[name])
    except ValueError:
        raise AnsibleActionFail(_no_answer(python, completed["rc"], completed["stdout"], completed["stderr"])) from None


def _no_answer(python: str, rc: int, stdout: str, stderr: str) -> str:
    last = (stderr.strip() or stdout.strip()).splitlines()[-1:] or ["no output"]
    return f"{python} on the node ended with status {rc}: {shortened(last[0], 200)}"
