# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readings as tasks of their own: the actions of the modules ibstat, lsmod, mlxconfig and switch_show."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from . import collecting, transports
from .expectations import DEFAULTS
from .readings import catalogue
from .readings.parsing import preload

preload()


class ReadingAction(ActionBase):
    """Asks one node for readings and returns their typed rows; what cannot be read fails the task with its words."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {}

    def readings(self, given: dict[str, t.Any]) -> list[str]:
        """The readings that the arguments ask for."""
        raise NotImplementedError

    def rails(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> list[dict[str, t.Any]]:
        """What commands of rails are repeated for."""
        return []

    def platform(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> str:
        """The node's platform."""
        return "linux"

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Ask, parse, return."""
        result = super().run(tmp, task_vars)
        _validation, given = self.validate_argument_spec(self.ARGUMENTS)
        task_vars = task_vars or {}
        platform = self.platform(given, task_vars)
        items = {"rail": self.rails(given, task_vars)}
        node = {"platform": platform, "kind": "host" if platform == "linux" else "switch", "values": dict(DEFAULTS), "items": items}
        names = self.readings(given)
        lacking = [name for name in names if platform not in catalogue()[name].platforms]
        if lacking:
            raise AnsibleActionFail(f"platform {platform!r} has no reading {', '.join(lacking)}")
        asks, _apart = collecting.asks(names, node)
        told = transports.ask(self, node, asks, task_vars)
        if not told.answered:
            raise AnsibleActionFail(told.words)
        replies = {ask.reading.name: collecting.reply(ask, platform, told.answers[ask.reading.name]) for ask in asks}
        unread = {name: reply.words for name, reply in replies.items() if reply.status != "ok"}
        if unread:
            return {**result, "changed": False, "failed": True, "msg": "; ".join(unread.values()), "commands": told.commands}
        return {**result, "changed": False, **self.returned({name: reply.rows for name, reply in replies.items()})}

    def returned(self, rows: dict[str, list[dict[str, t.Any]]]) -> dict[str, t.Any]:
        """The task's result; one reading's rows are ``rows``."""
        return {"rows": next(iter(rows.values()))}
