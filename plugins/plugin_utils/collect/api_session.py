# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A switch that is asked over its API: the first command of each reading in one request, what that did not settle one by one."""

from __future__ import annotations

import re
import typing as t

from .http_requests import post_json
from .limits import MOST_BYTES, TooLong
from .switch_apis import Answer, Api, Form, NotAnApi

# The end of a command that asks the command line for a document; an API is told so beside the command.
FOR_JSON = re.compile(r"\s*\|\s*json\s*$")
# A document in JSON has its line ends and quotes escaped, and its own frame.
MOST_OF_A_RESPONSE = 2 * MOST_BYTES
# So long may one request with many commands take at most; each of them has its own limit where it is asked alone.
TOGETHER_SECONDS = 90


class ApiSession:
    """Sends commands to one switch, as an exec channel would; several that are known beforehand travel together.

    enable: the password of the privileged mode, empty where it has none; None where the login's own mode is enough.
    together: commands and the seconds that each may take; tell: shows a verbose line.
    """

    def __init__(self, connection: t.Any, api: Api, enable: str | None, together: t.Mapping[str, int], tell: t.Callable[[str], None]) -> None:
        self.connection, self.api, self.enable, self.together, self.tell = connection, api, enable, dict(together), tell
        self.answers: dict[str, Answer] = {}

    def send(self, command: str, seconds: int) -> tuple[int, str, str]:
        """Status, output and error of a command.

        Raises TimeoutError, TooLong and AnsibleConnectionFailure.
        """
        if command in self.together:
            self._ask_together()
        if command not in self.answers:
            try:
                self.answers[command] = self._ask([command], seconds)[0]
            except (NotAnApi, ValueError, KeyError, TypeError) as error:
                self.answers[command] = Answer(1, "", f"{self.api.path} gave no response of the API: {error}")
        answer = self.answers[command]
        return answer.rc, answer.stdout, answer.stderr

    def _ask_together(self) -> None:
        """Ask what is known beforehand; where it takes too long, prints too much or is not understood, each command is asked alone later."""
        commands, self.together = self.together, {}
        for form in ("text", "json"):
            left = [command for command in commands if _form(command) == form]
            while left:
                part = left[: self.api.most]
                try:
                    answers = self._ask(part, min(TOGETHER_SECONDS, sum(commands[command] for command in part)))
                except (TimeoutError, TooLong, NotAnApi, ValueError, KeyError, TypeError):
                    break
                self.answers |= dict(zip(part, answers))
                left = left[len(answers) :]

    def _ask(self, commands: list[str], seconds: float) -> list[Answer]:
        form, plain = _form(commands[0]), [FOR_JSON.sub("", command) for command in commands]
        self.tell(f"POST {self.api.path} {form}: {'; '.join(plain)}")
        document = self.api.request(plain, form, self.enable)
        response = post_json(self.connection, self.api.path, self.api.content_type, document, seconds, MOST_OF_A_RESPONSE)
        return self.api.answers(response, plain, form, self.enable)


def _form(command: str) -> Form:
    return "json" if FOR_JSON.search(command) else "text"
