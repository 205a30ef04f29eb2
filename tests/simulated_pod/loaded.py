# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the jobs of an incast come to say on a simulated host, as perftest prints it."""

from __future__ import annotations

import typing as t

from ...plugins.plugin_utils import loads
from ...plugins.plugin_utils.collecting import Reply
from ...plugins.plugin_utils.plan import Plan
from ...plugins.plugin_utils.timetables import PLANNERS
from . import answers
from .model import Host, Pod
from .render import perftest


def incasts(pod: Pod, plan: Plan) -> dict[str, dict[str, Reply]]:
    """The readings of layer 3's loads by host, as the collection's own timetable asks for them and its own parser reads them."""
    hosts = [name for name, host in pod.hosts.items() if not host.unreachable]
    timetable = PLANNERS["congestion"](loads.Situation(plan, hosts, 0, {}, {}))
    rates = answers.moved(pod, plan).rates
    jobs = timetable.jobs if timetable is not None else {}
    return {host: loads.replies(its, {"answers": {job.id: _said(pod.hosts[host], job, rates) for job in its}, "ended": "all"}) for host, its in jobs.items()}


def _said(host: Host, job: loads.Job, rates: t.Mapping[tuple[int, str, str], float]) -> dict[str, t.Any]:
    told = {"status": "ran", "argv": job.argv, "rc": 0, "stdout": "", "stderr": "", "seconds": job.until - job.at, "cut": False}
    for tool in host.tools:
        if tool.name in ("*", job.argv[0]) and tool.arguments in " ".join(job.argv):
            return told | {"rc": tool.rc, "stdout": tool.stdout, "stderr": tool.stderr}
    if job.told["role"] == "client":
        rate = rates[job.told["round"], host.name, job.told["device"]]
        told["stdout"] = perftest.text(job.told["device"], job.told["qps"], job.told["mtu"], job.told["gid_index"] or 0, job.told["bytes"], rate)
    return told
