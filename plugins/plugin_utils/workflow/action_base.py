# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What actions share: those that run once for the whole play, and those that work in a run."""

from __future__ import annotations

import gc
import os
import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase

from ..collect.end_clients import end_clients_on_exit
from ..pod.expectations import Bounds, wrong_number
from ..run.errors import RunError
from ..run.lock import require_lock
from ..text.control_characters import visible

Values = dict[str, t.Any]


class PyramidAction(ActionBase):
    """Checks its arguments, acts, and changes nothing; ``act`` is what a subclass does.

    ARGUMENTS: as an argument specification; RULES: as ``validate_argument_spec`` takes them besides; BOUNDS: by argument, those of
    a number that people give.
    """

    TRANSFERS_FILES = False
    _supports_check_mode = True
    ARGUMENTS: t.ClassVar[Values] = {}
    RULES: t.ClassVar[Values] = {}
    BOUNDS: t.ClassVar[dict[str, Bounds]] = {}

    def run(self, tmp: str | None = None, task_vars: Values | None = None) -> Values:
        """The result of ``act``, with what Ansible adds."""
        result = super().run(tmp, task_vars)
        given = self.arguments()
        wrong = [wrong_number(f"argument {name!r}", given[name], bounds) for name, bounds in self.BOUNDS.items() if given[name] is not None]
        if any(wrong):
            raise AnsibleActionFail("; ".join(words for words in wrong if words))
        with end_clients_on_exit():
            return {**result, "changed": False, **self._clean(given, task_vars or {})}

    def arguments(self) -> Values:
        """The task's arguments, typed."""
        _validation, given = self.validate_argument_spec(self.ARGUMENTS, **self.RULES)
        return t.cast(Values, given)

    def _clean(self, given: Values, task_vars: Values) -> Values:
        """The result of ``act``, or its failure, without what a terminal would act on: both quote devices and files."""
        try:
            return t.cast(Values, visible(self.act(given, task_vars)))
        except AnsibleError as error:
            error.message = visible(error._original_message)
            raise

    def act(self, given: Values, task_vars: Values) -> Values:
        """What the task does; given: its typed arguments."""
        raise NotImplementedError


class OnController:
    """On the controller; no node is contacted."""

    _requires_connection = False


class RunOnce(OnController):
    """Once for the whole play, on the controller."""

    BYPASS_HOST_LOOP = True


class RunAction(PyramidAction):
    """Works in the run directory that is its argument ``run_dir``; ``act_in`` is what a subclass does."""

    def run(self, tmp: str | None = None, task_vars: Values | None = None) -> Values:
        """As any action's, with ``run_dir`` among its arguments."""
        self.ARGUMENTS = {"run_dir": {"type": "path", "required": True}, **type(self).ARGUMENTS}  # type: ignore[misc]
        return super().run(tmp, task_vars)

    def act(self, given: Values, task_vars: Values) -> Values:
        """Make sure that the pod's lock is still this run's, then act in it.

        Raises AnsibleActionFail where it is not any more.
        """
        run = Path(given["run_dir"])
        try:
            require_lock(run, os.getppid())
        except RunError as error:
            raise AnsibleActionFail(str(error)) from None
        return self.act_in(run, given, task_vars)

    def act_in(self, run: Path, given: Values, task_vars: Values) -> Values:
        """What the task does in a run."""
        raise NotImplementedError


class WholeRunAction(RunOnce, RunAction):
    """Reads all that a run has kept, once for the whole play."""

    def act(self, given: Values, task_vars: Values) -> Values:
        """As any action's in a run; the process ends with its task, and what it reads is in use until then: a search for garbage takes a fifth of the time."""
        gc.disable()
        return super().act(given, task_vars)
