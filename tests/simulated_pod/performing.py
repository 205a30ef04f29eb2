# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the jobs of layers 4 to 6 print on simulated hosts, without processes: as the shell text of perftest and the program of ranks do."""

from __future__ import annotations

import json
import re
import typing as t

from ...plugins.plugin_utils.collect.types import ReadingResult
from ...plugins.plugin_utils.loads.collective_runs import LAUNCHER, TABLE
from ...plugins.plugin_utils.loads.results import job_results
from ...plugins.plugin_utils.loads.schedule import Job, Schedule
from . import stack
from .loaded import missing_tool, no_server
from .model import Host, Pod, Rail, Tool
from .render import perftest

Answer = dict[str, t.Any]
Tested = set[tuple[str, str]]
NOTHING_STARTED = "the launcher started nothing on this host within 60 s\n"


def results(pod: Pod, schedule: Schedule, tested: Tested) -> dict[str, dict[str, ReadingResult]]:
    """The readings of one step by host, as the collection's own parser reads them.

    tested: the rails (host and device) that have sent in an earlier step; those of this one are added.
    """
    performed = _Step(pod, schedule, tested)
    return {
        host: job_results(jobs, {"answers": {job.id: performed.answer(host, job) for job in jobs}, "ended": "all"}, schedule.addresses)
        for host, jobs in schedule.jobs.items()
    }


def port(job: Job) -> int:
    """The port of one end of a test."""
    return int(job.argv[job.argv.index("-p") + 1])


class _Step:
    """One step of a load: what each of its jobs prints."""

    def __init__(self, pod: Pod, schedule: Schedule, tested: Tested) -> None:
        self.pod, self.schedule, self.tested = pod, schedule, tested

    def answer(self, host: str, job: Job) -> Answer:
        """What one job prints, and how it ends."""
        result = {"status": "ran", "argv": job.argv, "rc": 0, "stdout": "", "stderr": "", "seconds": job.until - job.at, "cut": False}
        if job.argv[0].startswith("ib_"):
            return result | self._perftest(self.pod.hosts[host], job)
        return result | self._ranks(self.pod.hosts[host], job)

    def _perftest(self, host: Host, job: Job) -> Answer:
        tool, peer = job.argv[0], self.pod.hosts[job.columns["peer"]]
        if missing_tool(host, tool):
            return {"status": "missing", "rc": None, "stderr": f"{tool}: not found on PATH"}
        rail = next(one for one in host.rails if one.device == job.columns["device"])
        if bent := self._bent(host, job):
            return {"stdout": bent.stdout, "stderr": bent.stderr, "rc": bent.rc}
        if rail.state != "Active":
            return {"rc": 1, "stderr": " Port number 1 state is Down\n Couldn't set the link layer\n"}
        if job.columns["memory"] != "host" and not host.perftest_gpu:
            return {"rc": 1, "stdout": " Unsupported memory type\n", "stderr": " Parser function exited with Error\n"}
        if missing_tool(peer, tool):
            return {"status": "timeout", "rc": None} if job.columns["role"] == "server" else {"rc": 1, "stderr": no_server(job.argv)}
        if job.columns["role"] == "server":
            return {"rc": 1, "stderr": f"Couldn't listen to port {port(job)}\n"} if port(job) in host.taken_ports else {}
        if any(((bent := self._bent(peer, server)) and bent.rc) or port(server) in peer.taken_ports for server in self._servers(host, job)):
            return {"rc": 1, "stderr": no_server(job.argv)}
        far = next(one for one in peer.rails if one.device == job.columns["peer_device"])
        return {"stdout": self._table(host, rail, far, job)}

    def _bent(self, host: Host, job: Job) -> Tool | None:
        """What the host's program of a job says instead of what it should."""
        mine = (one for one in host.tools if one.name == job.argv[0] and one.how == "says" and one.arguments in " ".join(job.argv))
        return next(mine, None)

    def _instead(self, host: Host, job: Job) -> Answer | None:
        """What a tool of the host does that starts ranks, instead of starting them."""
        bent = next((one for one in host.tools if one.name == job.argv[0] and one.arguments in " ".join(job.argv)), None)
        if bent is not None and bent.how == "missing":
            return {"status": "missing", "rc": None, "stderr": f"{job.argv[0]}: not found on PATH"}
        return {"stdout": bent.stdout, "stderr": bent.stderr, "rc": bent.rc} if bent is not None else None

    def _launchers(self, first: Host, job: Job) -> list[Job]:
        """What starts the ranks of a job's run on its first host."""
        return [one for one in self.schedule.jobs.get(first.name, ()) if (one.columns["role"], one.columns["hosts"]) == (LAUNCHER, job.columns["hosts"])]

    def _servers(self, host: Host, client: Job) -> list[Job]:
        """The other side of a client's test."""
        ends = {**client.columns, "role": "server", "peer": host.name, "device": client.columns["peer_device"], "peer_device": client.columns["device"]}
        same = ("role", "peer", "device", "peer_device", "kind", "round", "memory")
        jobs = self.schedule.jobs.get(client.columns["peer"], ())
        return [one for one in jobs if all(one.columns.get(name) == ends.get(name) for name in same)]

    def _table(self, host: Host, rail: Rail, far: Rail, job: Job) -> str:
        test = {"device": rail.device, "qps": job.columns["qps"], "mtu": rail.measures_mtu or job.columns["mtu"], "gid": job.columns["gid_index"]}
        if job.argv[0] == "ib_write_lat":
            return perftest.latency_text(**test, link_layer=rail.link_layer, latency_us=rail.latency_us)
        rate = self._gbit_s(host, rail, far, job)
        return perftest.text(**test, link_layer=rail.link_layer, size=job.columns["bytes"], gbit_s=rate)

    def _gbit_s(self, host: Host, rail: Rail, far: Rail, job: Job) -> float:
        """As ``perftest.script`` works it out."""
        limits = [rail.sends_gbit_s if job.columns["memory"] == "host" else rail.from_gpu_gbit_s, far.receives_gbit_s]
        limits.append(rail.sends_to.get(f"{job.columns['peer']}.{far.device}", 0.0))
        beside = [one for one in self.schedule.jobs[host.name] if (one.columns["role"], one.turn, one.at) == ("client", job.turn, job.at)]
        limits += [host.beside_gbit_s] if len(beside) > 1 else []
        if job.columns["bytes"] and job.columns["memory"] == "host":
            place = (host.name, rail.device)
            limits += [rail.first_gbit_s] if place not in self.tested else []
            self.tested.add(place)
        return min(limit for limit in limits if limit > 0) * (2 if job.columns["bidirectional"] else 1)

    def _ranks(self, host: Host, job: Job) -> Answer:
        first = self.pod.hosts[job.columns["hosts"][0]] if job.columns.get("hosts") else host
        run = [stack.state(self.pod.hosts[name]) for name in job.columns.get("hosts") or [host.name]]
        if job.columns["role"] == LAUNCHER:
            return self._instead(host, job) or {}
        if job.columns["role"] == TABLE:
            if instead := self._instead(host, job):
                return instead
            if not stack.state(host)["tests"]:
                return {"status": "missing", "rc": None, "stderr": f"{job.argv[0]}: not found on PATH"}
            return {"stdout": stack.table(job.argv, run, len(host.gpus), "NCCL_P2P_DISABLE" in job.environment)}
        program = next((word.strip("{}") for word in job.argv if re.fullmatch(r"\{\w+\}", word) and word != "{place}"), None)
        me = stack.state(host)
        if program is None and (me["own_log"] or me["own_steps"]):
            ended = {"rc": me["own_rc"]} if me["own_ends"] else {"status": "timeout", "rc": None}
            return {"stdout": stack.own_training(me), "stderr": "".join(f"{line}\n" for line in me["own_log"]), **ended}
        if program is None:
            return {"status": "missing", "rc": None, "stderr": f"{job.argv[0]}: not found on PATH"}
        if program == "dataset_read":
            output = stack.dataset(job.argv[job.argv.index("--path") + 1], stack.state(host))
            return {"stdout": json.dumps(output), "rc": 1 if output["error"] else 0}
        if "--document" in job.argv and any(self._instead(first, one) for one in self._launchers(first, job)):
            return {"rc": 2, "stderr": NOTHING_STARTED}
        options = stack.options(job.argv[job.argv.index(f"{{{program}}}") + 1 :])
        text, rc = stack.printed(program, options, run)
        return {"stdout": text, "rc": rc}
