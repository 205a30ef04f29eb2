# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Load a host: the documentation is in plugins/modules/load.py."""

from __future__ import annotations

import os
import time
import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.host_commands import program_source
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.programs import run_program
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.containers import files_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.planners import PLANNERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.results import job_results
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import JOBS_READING, load_schedule
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.parsing import preload
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.lock import lock_holder, lock_owner
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import RunAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.countdown import Countdown

preload()
COLLECT_SECONDS = 15
# How long one look at most waits on the host for the end of the load.
LOOK_SECONDS = 10
# How much later than planned the next look may come before no further job starts.
SLACK_SECONDS, SLACK_SECONDS_A_HOST = 5.0, 0.15


class ActionModule(RunAction):
    """Starts, watches and collects a host's part of a planned load."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "layer": {"type": "str", "choices": list(PLANNERS)},
        "step": {"type": "int", "default": 0},
        "state": {"type": "str", "required": True, "choices": ["reserved", "started", "watched", "collected", "released"]},
        "due": {"type": "float"},
    }
    RULES: t.ClassVar[dict[str, t.Any]] = {"required_if": [("state", state, ("layer",)) for state in ("reserved", "started", "watched", "collected")]}

    def act_in(self, run: Path, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Do one thing with the host's part; in check mode nothing."""
        if self._task.check_mode:
            return {"skipped": True, "msg": "check mode loads nothing"}
        self.vars, self.name = task_vars, str(task_vars["inventory_hostname"])
        self.store, self.layer, self.step, self.due, self.controller = RunStore(run), given["layer"], given["step"], given["due"], os.getppid()
        self.owner, self.run_id = lock_owner(run), run.name
        if given["state"] == "released":
            return self.send(do="release", load="", reservation=self.reservation(0))
        self.document = self.store.schedule(self.layer, self.step)
        self.kept = {"reservation": self.reservation(self.document["reserved_seconds"])}
        response: dict[str, t.Any] = getattr(self, given["state"])(run)
        return response

    def reservation(self, seconds: float) -> dict[str, t.Any]:
        """What the host is reserved as, from now on for so many seconds."""
        return {"owner": self.owner, "who": lock_holder(self.store.run), "run_id": self.run_id, "seconds": seconds}

    def fresh(self, seconds: float) -> float:
        """How long jobs may start after a look where the next one is planned in so many seconds.

        One look may be missed, as on a controller that is busy for some seconds; a controller that is late is late again.
        """
        late = 0.0 if self.due is None else max(0.0, time.time() - self.due)
        return seconds + self.document["tick"] + self.document["sampling"] + SLACK_SECONDS + SLACK_SECONDS_A_HOST * len(self.document["jobs"]) + 2 * late

    def reserved(self, _run: Path) -> dict[str, t.Any]:
        """Reserve the host for this run; all hosts are asked before one of them is loaded."""
        refused = self.send(do="reserve", **self.kept)["refused"]
        self.store.keep_reservation(self.layer, self.name, refused)
        return {"failed": True, "msg": refused} if refused else {}

    def started(self, run: Path) -> dict[str, t.Any]:
        """Start the host's schedule; it begins when the others' do."""
        schedule = load_schedule(self.document)
        reply = self.send(
            do="start",
            owner=self.owner,
            run_id=run.name,
            start_in=(start_in := self.document["begins"] - time.time()),
            lease=self.document["lease"],
            fresh=self.fresh(max(0.0, start_in) + self.document["tick"]),
            **self.kept,
            jobs=[job.asked() for job in schedule.jobs[self.name]],
            programs={name: program_source(name) for name in schedule.programs},
            files=files_of(schedule.jobs[self.name]),
        )
        if reply.get("refused"):
            return {"failed": True, "msg": reply["refused"]}
        return {"ended_leftovers": reply["ended_leftovers"], "msg": "; ".join(f"ended what was left of {one}" for one in reply["ended_leftovers"])}

    def watched(self, _run: Path) -> dict[str, t.Any]:
        """Look at it, which keeps it alive."""
        return self.send(do="watch", fresh=self.fresh(self.document["tick"]), **self.kept)

    def collected(self, _run: Path) -> dict[str, t.Any]:
        """Wait for its end, and keep what it printed; the first host says how long that may still take."""
        countdown = Countdown(f"{self.layer}: under load") if self.name == next(iter(self.document["jobs"])) else None
        while (left := self.document["ends"] - time.time()) > 0:
            if countdown:
                countdown.update(left)
            wait = min(left, LOOK_SECONDS, self.document["tick"])
            if self.send(do="watch", wait=wait, fresh=self.fresh(wait), **self.kept)["ended"] is not None:
                break
            if os.getppid() != self.controller:
                self.send(do="end")
                return {"failed": True, "msg": "the run was killed, and its load has been ended"}
        if countdown:
            countdown.end()
        reply = self.send(do="collect", wait=COLLECT_SECONDS, **self.kept)
        schedule = load_schedule(self.document)
        jobs = schedule.jobs[self.name]
        replies = job_results(jobs, reply, schedule.addresses)
        response = {
            "answered": True,
            "words": "",
            "boot_id": reply["boot_id"],
            "uptime_seconds": reply["uptime_seconds"],
            "asked_at": time.time(),
            "contacted": True,
        }
        named = {job.id: {"reading": job.reading or JOBS_READING, "also": [*job.also, JOBS_READING]} for job in jobs}
        answers = reply["answers"].items()
        commands = [{**{key: value for key, value in one.items() if key != "stdout"}, **named.get(job, {"reading": JOBS_READING})} for job, one in answers]
        self.store.keep_answers(self.layer, self.name, f"load-{self.step}", replies, response, commands)
        return {
            "ended": reply["ended"],
            "jobs": reply["jobs"],
            "done": reply["done"],
            "failed_jobs": sum(row["status"] != "ok" for row in replies[JOBS_READING].rows),
        }

    def send(self, **request: t.Any) -> dict[str, t.Any]:
        """What the program on the host answers."""
        return run_program(self, "detached", request if "load" in request else {"load": self.document["load"], **request}, self.vars)
