# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""eAPI of EOS and NX-API of NX-OS: many commands in one request.

What a request says and what a response means; how both travel is ``http_requests.py``.
Sources: Arista's eAPI command-api guide (JSON-RPC ``runCmds``), Cisco's NX-API CLI guide (``ins_api``).
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

Values = dict[str, t.Any]
# What a request is answered in: the text that the command line prints, or the document that it prints for ``| json``.
Form = t.Literal["text", "json"]


class NotAnApi(Exception):
    """A response that is none of this API, with the reason."""


@dataclass(frozen=True)
class Answer:
    """What came of one command, as an exec channel would return it."""

    rc: int
    stdout: str = ""
    stderr: str = ""


class Api(t.Protocol):
    """A vendor's API.

    most: how many commands a request may have.
    """

    path: str
    content_type: str
    most: int

    def request(self, commands: t.Sequence[str], form: Form, enable: str | None) -> Values:
        """The document that asks for some commands; enable: the password of the privileged mode where that is wanted."""

    def answers(self, document: t.Any, commands: t.Sequence[str], form: Form, enable: str | None) -> list[Answer]:
        """What came of the first of these commands, at least of one; those behind one that failed may not have been run.

        Raises NotAnApi.
        """


class Eapi:
    """EOS: ends at the first command that fails, and returns what came of those before it."""

    path, content_type, most = "/command-api", "application/json-rpc", 64

    def request(self, commands: t.Sequence[str], form: Form, enable: str | None) -> Values:
        """``latest`` is the revision that the command line prints."""
        first: list[t.Any] = [] if enable is None else [{"cmd": "enable", "input": enable}]
        return {"jsonrpc": "2.0", "id": "1", "method": "runCmds", "params": {"version": "latest", "format": form, "cmds": [*first, *commands]}}

    def answers(self, document: t.Any, commands: t.Sequence[str], form: Form, enable: str | None) -> list[Answer]:
        """Results of the commands in their order; an error has those before it, and its own as the last."""
        before = 0 if enable is None else 1
        if "result" in document:
            results = document["result"][before:]
            if len(results) != len(commands):
                raise NotAnApi(f"{len(results)} results of {len(commands)} commands")
            return [_printed(one, form) for one in results]
        error = document["error"]
        results = error.get("data") or []
        if len(results) > before:
            return [*(_printed(one, form) for one in results[before:-1]), _refused(results[-1], error)]
        if len(commands) == 1 or results:
            # It concerns the only command, or the privileged mode, without which none is run.
            return [_refused(results[-1] if results else {}, error)] * len(commands)
        raise NotAnApi(f"error {error['code']}: {error['message']}")


def _printed(result: Values, form: Form) -> Answer:
    return Answer(0, result["output"] if form == "text" else json.dumps(result, indent=1))


def _refused(result: Values, error: Values) -> Answer:
    return Answer(1, "", "\n".join(map(str, result.get("errors", []))) or str(error["message"]))


class Nxapi:
    """NX-OS: each command has a result of its own, refused or not."""

    path, content_type, most = "/ins", "application/json", 10

    def request(self, commands: t.Sequence[str], form: Form, enable: str | None) -> Values:
        """It has no privileged mode."""
        kind = "cli_show_ascii" if form == "text" else "cli_show"
        asked = {"version": "1.0", "type": kind, "chunk": "0", "sid": "1", "input": " ;".join(commands), "output_format": "json"}
        return {"ins_api": asked}

    def answers(self, document: t.Any, commands: t.Sequence[str], form: Form, enable: str | None) -> list[Answer]:
        """The only result is no list; each says which command it is of."""
        found = document["ins_api"]["outputs"]["output"]
        outputs: list[Values] = found if isinstance(found, list) else [found]
        if not outputs or any(one.get("input", "").strip() != command for one, command in zip(outputs, commands)):
            raise NotAnApi("its results are not of the commands that were asked")
        return [self._answer(one) for one in outputs[: len(commands)]]

    def _answer(self, output: Values) -> Answer:
        if str(output["code"]) != "200":
            return Answer(1, "", " ".join(str(output[key]).strip() for key in ("msg", "clierror") if output.get(key)))
        body = output["body"]
        return Answer(0, body if isinstance(body, str) else json.dumps(body, indent=1))


APIS: dict[str, Api] = {"eos": Eapi(), "nxos": Nxapi()}
