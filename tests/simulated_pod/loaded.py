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
from . import answers, congested
from .model import Host, Pod
from .render import perftest


def incasts(pod: Pod, plan: Plan, members: t.Iterable[str]) -> dict[str, dict[str, Reply]]:
    """The readings of layer 3's loads by host of some members, as the collection's own timetable asks for them and its own parser reads them."""
    mine = [name for name in members if name in pod.hosts and not pod.hosts[name].unreachable]
    hosts = [name for name in mine if not congested.busy(pod.hosts[name])]
    timetable = PLANNERS["congestion"](loads.Situation(plan, hosts, 0, {}, {}))
    rates = answers.moved(pod, plan).rates
    jobs = timetable.jobs if timetable is not None else {}
    told = {name: {loads.JOBS: Reply("unknown", f"it was not loaded: {_work(pod.hosts[name])}")} for name in mine if name not in hosts}
    for host, its in jobs.items():
        said = {job.id: _said(pod, pod.hosts[host], job, rates) for job in its}
        told[host] = loads.replies(its, {"answers": said, "ended": "all"})
    return told


def _work(host: Host) -> str:
    working = [f"GPU{gpu.index}" for gpu in host.gpus if gpu.working]
    return f"{', '.join(working)} run{'s' if len(working) == 1 else ''} processes"


def _lacks(host: Host, name: str) -> bool:
    return any(tool.name == name and tool.how == "missing" for tool in host.tools)


def _said(pod: Pod, host: Host, job: loads.Job, rates: t.Mapping[tuple[int, str, str], float]) -> dict[str, t.Any]:
    told = {"status": "ran", "argv": job.argv, "rc": 0, "stdout": "", "stderr": "", "seconds": job.until - job.at, "cut": False}
    if _lacks(host, job.argv[0]):
        return told | {"status": "missing", "rc": None, "stderr": f"{job.argv[0]}: not found on PATH"}
    if _lacks(pod.hosts[job.told["peer"]], job.argv[0]):
        if job.told["role"] == "server":
            return told | {"status": "timeout", "rc": None}
        words = " Unable to open file descriptor for socket connection Unable to init the socket connection"
        return told | {"rc": 1, "stderr": f"Couldn't connect to {job.argv[-1]}:{job.argv[job.argv.index('-p') + 1]}\n{words}\n"}
    if job.told["role"] == "client":
        rate = rates.get((job.told["round"], host.name, job.told["device"]), 0.0)
        link_layer = next(rail.link_layer for rail in host.rails if rail.device == job.told["device"])
        test = {name: job.told[name] for name in ("device", "qps", "mtu")}
        told["stdout"] = perftest.text(**test, link_layer=link_layer, gid=job.told["gid_index"], size=job.told["bytes"], gbit_s=rate)
    return told
