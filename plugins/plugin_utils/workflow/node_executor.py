# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs an action for another node than the task's own, as Ansible itself runs it: all that is taken from ansible-core's internals is here.

A task of its own is made for each node in the place of the task that runs, with that node's variables: connection, become, passwords, jump hosts and
interpreters are what a task of that node would have.
"""

from __future__ import annotations

import multiprocessing
import os
import typing as t

from ansible import context
from ansible.config.manager import ensure_type
from ansible.constants import config
from ansible.executor import task_executor
from ansible.executor.task_executor import TaskExecutor
from ansible.playbook.task import Task

from ..collect.turns import outside_turn, wait_outside_turn

Values = dict[str, t.Any]


class NodeExecutor(TaskExecutor):  # type: ignore[misc]
    """Ansible's executor of one task; other threads work while its connection waits."""

    def _get_connection(self, *given: t.Any, **named: t.Any) -> t.Any:
        connection = super()._get_connection(*given, **named)
        wait_outside_turn(connection)
        if str(connection.transport).endswith("httpapi"):
            # A process of its own, which would keep a session, costs a second, and each request logs in anyway.
            connection.force_persistence = False
        return connection


class TaskOfNodes:
    """An action with its arguments, to be run for nodes of the play of the task that runs.

    The process must be a worker of Ansible: what it was started with is Ansible's, and not what the task's own node made of it.
    """

    def __init__(self, own: Task, action: str, arguments: Values) -> None:
        self.worker: t.Any = multiprocessing.current_process()
        self.own = own
        # No time limit of Ansible's: it is an alarm of the process.
        self.document = {"name": own.name, action: arguments, "timeout": 0}
        self.play = own.play
        # A session of network_cli takes a second to open. The process that this changes is a worker, and ends with its task.
        task_executor.start_connection = outside_turn(task_executor.start_connection)
        self.nodes = [host.name for host in self._inventory().get_hosts(self.play.hosts)]

    def run(self, node: str) -> Values:
        """The result of the action for a node, as Ansible registers it; what Ansible refuses is a result that failed."""
        manager, loader, shared = self.worker._variable_manager, self.worker._loader, self.worker._shared_loader_obj
        task = Task.load(self.document, block=self.own._parent, role=self.own._role, variable_manager=manager, loader=loader)
        host = self._inventory().get_host(node)
        values = manager.get_vars(play=self.play, host=host, task=task, _hosts=self.nodes, _hosts_all=self.nodes)
        executor = NodeExecutor(host, task, values, self.worker._play_context, loader, shared, self.worker._final_q, manager)
        return t.cast(Values, executor.run())

    def _inventory(self) -> t.Any:
        return self.worker._variable_manager._inventory


def controller() -> int:
    """The process id of ansible-playbook, in each of its descendants."""
    parent = multiprocessing.parent_process()
    return os.getppid() if parent is None or parent.pid is None else parent.pid


def forks() -> tuple[int, bool]:
    """How many processes Ansible may start beside each other, and whether that was given on the command line."""
    given = int(context.CLIARGS.get("forks") or 1)
    return given, given != ensure_type(config.get_config_value("DEFAULT_FORKS"), "int")
