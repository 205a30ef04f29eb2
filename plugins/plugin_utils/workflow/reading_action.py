# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readings as tasks of their own: the actions of the modules reading, ibstat, lsmod, mlxconfig and switch_show."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail

from ..collect.queries import queries_for
from ..collect.responses import reading_result
from ..collect.transports import query_node
from ..pod.expectations import DEFAULTS
from ..readings import catalogue
from ..readings.parsing import preload
from .action_base import PyramidAction

preload()


class ReadingAction(PyramidAction):
    """Asks one node for readings and returns their typed rows; what cannot be read fails the task with its words."""

    def readings(self, given: dict[str, t.Any]) -> list[str]:
        """The readings that the arguments ask for."""
        raise NotImplementedError

    def rails(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> list[dict[str, t.Any]]:
        """What commands of rails are repeated for."""
        return []

    def platform(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> str:
        """The node's platform."""
        return "linux"

    def values(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """The node's expectations, by which a reading's command is chosen."""
        return dict(DEFAULTS)

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Ask, parse, return."""
        platform = self.platform(given, task_vars)
        items = {"rail": self.rails(given, task_vars)}
        node = {"platform": platform, "kind": "host" if platform == "linux" else "switch", "values": self.values(task_vars), "items": items}
        names = self.readings(given)
        lacking = [name for name in names if platform not in catalogue()[name].platforms]
        if lacking:
            raise AnsibleActionFail(f"platform {platform!r} has no reading {', '.join(lacking)}")
        asks, apart = queries_for(names, node)
        wrong = [result.words for result in apart.values()]
        wrong += [
            f"{ask.reading.name} is repeated for each {str(ask.sources[0].foreach).removesuffix('_port')}, and the task names none"
            for ask in asks
            if not ask.items
        ]
        if wrong:
            raise AnsibleActionFail("; ".join(wrong))
        response = query_node(self, node, asks, task_vars)
        if not response.answered:
            raise AnsibleActionFail(response.words)
        replies = {ask.reading.name: reading_result(ask, platform, response.answers[ask.reading.name]) for ask in asks}
        unread = {name: reply.words for name, reply in replies.items() if reply.status != "ok"}
        if unread:
            return {"failed": True, "msg": "; ".join(unread.values()), "commands": response.commands}
        return self.returned({name: reply.rows for name, reply in replies.items()})

    def returned(self, rows: dict[str, list[dict[str, t.Any]]]) -> dict[str, t.Any]:
        """The task's result; one reading's rows are ``rows``."""
        return {"rows": next(iter(rows.values()))}
