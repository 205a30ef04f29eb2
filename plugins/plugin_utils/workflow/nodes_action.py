# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the actions share that run another action for many nodes: ``read_nodes`` and ``load_nodes``."""

from __future__ import annotations

import gc
import os
import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail

from ..text.folded_reasons import fold_reasons
from ..text.ranges import ranges
from .action_base import RunAction, RunOnce, Values
from .console import show
from .node_executor import TaskOfNodes, forks
from .node_workers import Width, results_of_nodes
from .silent_nodes import words_of

# The results of some nodes, as they come.
Work = t.Callable[[t.Sequence[str]], t.Iterator[tuple[str, Values]]]
# Progress is printed when so many parts of the nodes are done.
PARTS = 4


class NodesAction(RunOnce, RunAction):
    """Runs ``EACH`` with the task's arguments for each node, all from one task; ``OWN`` are the arguments that are this action's alone."""

    EACH = ""
    OWN: t.ClassVar[Values] = {
        "nodes": {"type": "list", "elements": "str"},
        "seconds": {"type": "int", "required": True},
        "connections": {"type": "int", "required": True},
    }

    def act_in(self, run: Path, given: Values, task_vars: Values) -> Values:
        """Work for the nodes that are left in the play, and name those of which nothing came."""
        if self._task.delegate_to:
            raise AnsibleActionFail("delegate_to: each node is reached over its own connection; name another one in the inventory")
        meant = set(task_vars["ansible_play_batch"] if given["nodes"] is None else given["nodes"])
        nodes = [str(node) for node in task_vars["ansible_play_batch"] if node in meant]
        arguments = {key: value for key, value in given.items() if key not in self.OWN and value is not None}
        task = TaskOfNodes(self._task, self.EACH, {**arguments, "run_dir": str(run)})
        # What is there already is not copied by the collector of a process that works.
        gc.freeze()
        silent: dict[str, str] = {}
        for done, (node, result) in enumerate(self.results(run, given, nodes, lambda some: results_of_nodes(some, task.run, self._width(given))), 1):
            if (words := words_of(result)) is not None:
                silent[node] = words
            if self.progress(given) and (done % max(1, len(nodes) // PARTS) == 0 or done == len(nodes)):
                show(f"  {done} of {len(nodes)} nodes done")
        reasons = [f"{ranges([node for node in silent if silent[node] == words])}: {words}" for words in dict.fromkeys(silent.values())]
        for reason in fold_reasons(reasons, nodes):
            show(f"  {reason}")
        return {"nodes": len(nodes), "silent": silent}

    def results(self, run: Path, given: Values, nodes: t.Sequence[str], work: Work) -> t.Iterator[tuple[str, Values]]:
        """Each node with its result; work: gives those of some nodes."""
        return work(nodes)

    def progress(self, given: Values) -> bool:
        """Whether it prints how many nodes are done."""
        return False

    def _width(self, given: Values) -> Width:
        """As many processes as there are cores; forks that are given by hand, and throttle, bound the connections too."""
        most, by_hand = forks()
        bounds = [given["connections"], *([most] if by_hand else []), *([int(self._task.throttle)] if self._task.throttle else [])]
        return Width(min(most, len(os.sched_getaffinity(0))), min(bounds), given["seconds"])
