# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Load a host: the documentation is in plugins/modules/load.py."""

from __future__ import annotations

import socket
import time
import typing as t
from pathlib import Path

from ansible.utils.display import Display
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import ledger, loads, transports
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.acting import RunAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.parsing import preload
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.timetables import PLANNERS

preload()
COLLECT_SECONDS = 15
# How long one look waits on the host for the end of the load.
LOOK_SECONDS = 20


class ActionModule(RunAction):
    """Starts, watches and collects a host's part of a planned load."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "layer": {"type": "str", "required": True, "choices": list(PLANNERS)},
        "step": {"type": "int", "required": True},
        "state": {"type": "str", "required": True, "choices": ["started", "watched", "collected"]},
    }

    def act_in(self, run: Path, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Do one thing with the host's part; in check mode nothing."""
        if self._task.check_mode:
            return {"skipped": True, "msg": "check mode loads nothing"}
        self.vars, self.name = task_vars, str(task_vars["inventory_hostname"])
        self.book, self.layer, self.step = ledger.Ledger(run), given["layer"], given["step"]
        self.document = self.book.timetable(self.layer, self.step)
        told: dict[str, t.Any] = getattr(self, given["state"])(run)
        return told

    def started(self, run: Path) -> dict[str, t.Any]:
        """Start the host's timetable; it begins when the others' do."""
        timetable = loads.load(self.document)
        said = self.say(
            do="start",
            owner=f"{socket.gethostname()}:{run.parent}",
            run_id=run.name,
            start_in=self.document["begins"] - time.time(),
            lease=self.document["lease"],
            jobs=[job.asked() for job in timetable.jobs[self.name]],
            programs={name: transports.program(name) for name in timetable.programs},
        )
        if said.get("refused"):
            return {"failed": True, "msg": said["refused"]}
        return {"ended_leftovers": said["ended_leftovers"], "msg": "; ".join(f"ended what was left of {one}" for one in said["ended_leftovers"])}

    def watched(self, _run: Path) -> dict[str, t.Any]:
        """Look at it, which keeps it alive."""
        return self.say(do="watch")

    def collected(self, _run: Path) -> dict[str, t.Any]:
        """Wait for its end, and keep what it printed; the first host says how long that may still take."""
        while (left := self.document["ends"] - time.time()) > 0:
            if self.name == next(iter(self.document["jobs"])):
                Display().display(f"{self.layer}: under load, at most {left:.0f} s left")
            if self.say(do="watch", wait=min(left, LOOK_SECONDS))["ended"] is not None:
                break
        said = self.say(do="collect", wait=COLLECT_SECONDS)
        jobs = loads.load(self.document).jobs[self.name]
        replies = loads.replies(jobs, said)
        told = {"answered": True, "words": "", "boot_id": None, "uptime_seconds": None}
        named = {job.id: {"reading": job.reading or loads.JOBS, "also": [*job.also, loads.JOBS]} for job in jobs}
        answers = said["answers"].items()
        commands = [{**{key: value for key, value in one.items() if key != "stdout"}, **named.get(job, {"reading": loads.JOBS})} for job, one in answers]
        self.book.keep_answers(self.layer, self.name, f"load-{self.step}", replies, told, commands)
        return {
            "ended": said["ended"],
            "jobs": said["jobs"],
            "done": said["done"],
            "failed_jobs": sum(row["status"] != "ok" for row in replies[loads.JOBS].rows),
        }

    def say(self, **request: t.Any) -> dict[str, t.Any]:
        """What the program on the host answers."""
        return transports.piped(self, "detached", {"load": self.document["load"], **request}, self.vars)
