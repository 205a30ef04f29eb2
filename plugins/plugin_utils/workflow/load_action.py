# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads that one task starts by hand: the actions of the modules ib_write_bw and nccl_tests."""

from __future__ import annotations

import socket
import typing as t

from ansible.errors import AnsibleActionFail

from ..collect.programs import run_program
from ..loads.results import job_results
from ..loads.schedule import JOBS_READING, Job
from ..readings.parsing import preload
from .action_base import PyramidAction

preload()
COLLECT_SECONDS = 10
Values = dict[str, t.Any]


class LoadAction(PyramidAction):
    """Starts jobs on a host, detached from the connection, and collects what they printed; they end themselves at their deadline."""

    def start(self, name: str, jobs: t.Sequence[Job]) -> None:
        """Start them under a name.

        Raises AnsibleActionFail where the host refuses.
        """
        reply = self.send(
            do="start", load=name, owner=f"{socket.gethostname()}:{name.partition('-')[0]}", run_id="by hand", beside=True, start_in=0.0, lease=None,
            jobs=[job.asked() for job in jobs],
        )  # fmt: skip
        if reply["refused"]:
            raise AnsibleActionFail(reply["refused"])

    def collected(self, name: str, wait: int = 0) -> Values:
        """What was started under a name, ended; wait: for its own end, in seconds."""
        return self.send(do="collect", load=name, wait=wait + COLLECT_SECONDS if wait else 0)

    def measured(self, name: str, jobs: t.Sequence[Job], reading: str, wait: int) -> Values:
        """The rows of those that measured, and every job with its end; a task in which one gave none has failed."""
        replies = job_results(jobs, self.collected(name, wait))
        ends = replies[JOBS_READING].rows
        lost = [f"{row['item']}: {row['words']}" for row in ends if row["status"] != "ok"]
        return {"rows": replies[reading].rows, "tests": ends, "failed": bool(lost), "msg": "; ".join(lost)}

    def send(self, **request: t.Any) -> Values:
        """What the program on the host answers."""
        return run_program(self, "detached", request, self.vars)

    def run(self, tmp: str | None = None, task_vars: Values | None = None) -> Values:
        """As any action's."""
        self.vars = task_vars or {}
        return super().run(tmp, task_vars)
