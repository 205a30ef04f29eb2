# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the jobs of an incast come to say on a simulated host, as perftest prints it."""

from __future__ import annotations

import typing as t

from ...plugins.plugin_utils.collect.types import ReadingResult
from ...plugins.plugin_utils.loads.planners import PLANNERS
from ...plugins.plugin_utils.loads.results import job_results
from ...plugins.plugin_utils.loads.schedule import JOBS_READING, Job, StepInput
from ...plugins.plugin_utils.pod.plan import Plan
from . import answers, congested
from .model import Host, Pod
from .render import perftest


def incasts(pod: Pod, plan: Plan, members: t.Iterable[str]) -> dict[str, dict[str, ReadingResult]]:
    """The readings of layer 3's loads by host of some members, as the collection's own schedule asks for them and its own parser reads them."""
    hosts, result = loadable(pod, members)
    schedule = PLANNERS["congestion"](StepInput(plan, hosts, 0, {}, {}))
    rates = answers.moved(pod, plan).rates
    jobs = schedule.jobs if schedule is not None else {}
    for host, its in jobs.items():
        output = {job.id: _output(pod, pod.hosts[host], job, rates) for job in its}
        result[host] = job_results(its, {"answers": output, "ended": "all"})
    return result


def loadable(pod: Pod, members: t.Iterable[str]) -> tuple[list[str], dict[str, dict[str, ReadingResult]]]:
    """The hosts of some members that are loaded, and what is kept of those that are at work."""
    mine = [name for name in members if name in pod.hosts and not pod.hosts[name].unreachable]
    hosts = [name for name in mine if not congested.busy(pod.hosts[name])]
    return hosts, {name: {JOBS_READING: ReadingResult("unknown", f"it was not loaded: {_work(pod.hosts[name])}")} for name in mine if name not in hosts}


def _work(host: Host) -> str:
    working = [f"GPU{gpu.index}" for gpu in host.gpus if gpu.working]
    return f"{', '.join(working)} run{'s' if len(working) == 1 else ''} processes"


def missing_tool(host: Host, name: str) -> bool:
    """Whether a host has no such tool."""
    return any(tool.name == name and tool.how == "missing" for tool in host.tools)


def no_server(argv: t.Sequence[str]) -> str:
    """What a client says that finds no server."""
    words = " Unable to open file descriptor for socket connection Unable to init the socket connection"
    return f"Couldn't connect to {argv[-1]}:{argv[argv.index('-p') + 1]}\n{words}\n"


def _output(pod: Pod, host: Host, job: Job, rates: t.Mapping[tuple[int, str, str], float]) -> dict[str, t.Any]:
    result = {"status": "ran", "argv": job.argv, "rc": 0, "stdout": "", "stderr": "", "seconds": job.until - job.at, "cut": False}
    if missing_tool(host, job.argv[0]):
        return result | {"status": "missing", "rc": None, "stderr": f"{job.argv[0]}: not found on PATH"}
    if missing_tool(pod.hosts[job.columns["peer"]], job.argv[0]):
        if job.columns["role"] == "server":
            return result | {"status": "timeout", "rc": None}
        return result | {"rc": 1, "stderr": no_server(job.argv)}
    if job.columns["role"] == "client":
        rate = rates.get((job.columns["round"], host.name, job.columns["device"]), 0.0)
        link_layer = next(rail.link_layer for rail in host.rails if rail.device == job.columns["device"])
        test = {name: job.columns[name] for name in ("device", "qps", "mtu")}
        result["stdout"] = perftest.text(**test, link_layer=link_layer, gid=job.columns["gid_index"], size=job.columns["bytes"], gbit_s=rate)
    return result
