# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An uplink that the operator of the simulated pod shuts while probes cross it, as ``Pod.failover`` says."""

from __future__ import annotations

import copy
import json
import typing as t

from ...plugins.plugin_utils.collect.types import ReadingResult
from ...plugins.plugin_utils.loads.planners import PLANNERS
from ...plugins.plugin_utils.loads.results import job_results
from ...plugins.plugin_utils.loads.schedule import Job, StepInput
from ...plugins.plugin_utils.pod.plan import Plan
from .model import Pod

# How long before and after a change the switches are read.
BESIDE_SECONDS = 5.0
# A restored link is noticed at once; what its return costs begins then.
LOST_FLOWS = 3


def results(pod: Pod, plan: Plan, hosts: t.Sequence[str]) -> dict[str, dict[str, ReadingResult]]:
    """The readings of the probes by host, as the collection's own parser reads them."""
    schedule = PLANNERS["routing"](StepInput(plan, list(hosts), 0, {}, {}))
    jobs = schedule.jobs if schedule is not None else {}
    return {host: job_results(its, {"answers": {job.id: _answer(pod, job) for job in its}, "ended": "all"}) for host, its in jobs.items()}


def samples(pod: Pod, plan: Plan) -> list[tuple[float, Pod]]:
    """When switches are read while probes run, and the pod as it is then."""
    shut, back, link = pod.failover["shut"], pod.failover["back"], plan.failover_link()
    if shut is None or not link:
        return [(0.0, pod), (100.0, pod)]
    down = copy.deepcopy(pod)
    next(port for port in down.switches[link["leaf"]].ports if port.name == link["port"]).state = "disabled"
    return [(shut - BESIDE_SECONDS, pod), (shut + BESIDE_SECONDS, down), (back - BESIDE_SECONDS, down), (back + BESIDE_SECONDS, pod)]


def _answer(pod: Pod, job: Job) -> dict[str, t.Any]:
    result = {"status": "ran", "argv": job.argv, "rc": 0, "stdout": "", "stderr": "", "seconds": job.until - job.at, "cut": False}
    if "{path_watch}" not in job.argv:
        return result
    given = {word[2:]: job.argv[number + 1] for number, word in enumerate(job.argv[:-1]) if word.startswith("--")}
    sent = int(float(given["seconds"]) * 1000 / float(given["interval"])) * int(given["flows"])
    output = {"program": "path_watch", "source": given["source"], "target": given["target"], "flows": int(given["flows"]), "sent": sent, "answered": sent}
    return result | {"stdout": json.dumps({**output, "interval_ms": float(given["interval"]), "outages": _outages(pod.failover)})}


def _outages(failover: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    if failover["shut"] is None:
        return []
    until = failover["back"] if failover["waits"] else None
    lost = [(failover["shut"], until, failover["longest_ms"]), (failover["back"], None, failover["again_ms"])]
    return [
        {
            "from_s": at,
            "until_s": at + longest / 1000 if end is None else end,
            "longest_ms": longest if end is None else (end - at) * 1000,
            "flows_lost": LOST_FLOWS,
            "flows_not_back": 0,
        }
        for at, end, longest in lost
        if longest
    ]
