# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What actions share: those that run once for the whole play, and those that work in the run that holds the pod."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from . import runs
from .transports import giving_up

Values = dict[str, t.Any]


class Action(ActionBase):
    """Checks its arguments, acts, and changes nothing; ``act`` is what a subclass does.

    ARGUMENTS: as an argument specification; RULES: as ``validate_argument_spec`` takes them besides.
    """

    TRANSFERS_FILES = False
    _supports_check_mode = True
    ARGUMENTS: t.ClassVar[Values] = {}
    RULES: t.ClassVar[Values] = {}

    def run(self, tmp: str | None = None, task_vars: Values | None = None) -> Values:
        """The result of ``act``, with what Ansible adds."""
        result = super().run(tmp, task_vars)
        _validation, given = self.validate_argument_spec(self.ARGUMENTS, **self.RULES)
        with giving_up():
            return {**result, "changed": False, **self.act(given, task_vars or {})}

    def act(self, given: Values, task_vars: Values) -> Values:
        """What the task does; given: its typed arguments."""
        raise NotImplementedError


class Controller:
    """On the controller; no node is contacted."""

    _requires_connection = False


class Once(Controller):
    """Once for the whole play, on the controller."""

    BYPASS_HOST_LOOP = True


class RunAction(Action):
    """Works in the run directory that is its argument ``run_dir``; ``act_in`` is what a subclass does."""

    def run(self, tmp: str | None = None, task_vars: Values | None = None) -> Values:
        """As any action's, with ``run_dir`` among its arguments."""
        self.ARGUMENTS = {"run_dir": {"type": "path", "required": True}, **type(self).ARGUMENTS}  # type: ignore[misc]
        return super().run(tmp, task_vars)

    def act(self, given: Values, task_vars: Values) -> Values:
        """Make sure that the run still holds its pod, then act in it.

        Raises AnsibleActionFail where another run, or another process, holds the pod.
        """
        run = Path(given["run_dir"])
        try:
            runs.held(run, os.getppid())
        except runs.RunError as error:
            raise AnsibleActionFail(str(error)) from None
        return self.act_in(run, given, task_vars)

    def act_in(self, run: Path, given: Values, task_vars: Values) -> Values:
        """What the task does in a run."""
        raise NotImplementedError
