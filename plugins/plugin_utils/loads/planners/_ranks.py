# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of the collection's programs of ranks as jobs: each host starts its own, or a launcher on the first host starts all."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ..collective_runs import LAUNCHER, RANK
from ..containers import in_container, runtime_of
from ..launchers import STARTED_FROM_ONE_HOST, STARTED_ON_EACH_HOST, Launch, agent_argv, agent_argv_by_launcher, agent_argv_on_host
from ..schedule import Job, Schedule, StepInput, Values

# What it starts must be on every host, and a controller may be slow to bring it.
LAUNCHED_AFTER_SECONDS = 2.0
# What a launcher gives all ranks alike, because it starts them with one command.
ALIKE = ("pod_torch_python", "pod_gpus_per_host", "pod_collective_backend", "pod_nccl_environment", "pod_traffic_class")


@dataclass(frozen=True)
class Run:
    """One run of a program over some hosts: its name, where its ranks meet, when it is, and what each host is given.

    own: a host's options and variables from its expectations; columns: what ``load_jobs`` has of it; readings: of what is printed;
    turn: of its jobs; ranks: of each host, None for one a GPU.
    """

    program: str
    name: str
    hosts: list[str]
    port: int
    at: float
    until: float
    own: t.Callable[[Values], tuple[Values, dict[str, str]]]
    columns: Values
    readings: t.Callable[[Values], tuple[str, ...]]
    turn: int | None = None
    ranks: int | None = None

    def of_host(self, values: Values) -> int:
        """How many ranks a host has in it."""
        return self.ranks or int(values["pod_gpus_per_host"])

    @property
    def job(self) -> str:
        """Its name as one word."""
        return one_word(self.name)


def one_word(name: str) -> str:
    """A run's name as its ranks and files have it."""
    return re.sub(r"\W+", "_", name)


def add(table: Schedule, situation: StepInput, run: Run) -> None:
    """Put a run into a schedule."""
    first = situation.plan.nodes[run.hosts[0]].values
    launched = first["pod_launcher"] in STARTED_FROM_ONE_HOST and len(run.hosts) > 1
    where, document = address(situation, run.hosts[0], run.hosts), f"{{place}}/{run.job}.json"
    columns = {**run.columns, "round": len(run.hosts), "hosts": run.hosts}
    for index, host in enumerate(run.hosts):
        values = situation.plan.nodes[host].values
        options, variables = run.own(values)
        started = Launch(tuple(run.hosts), run.of_host(values), variables)
        if launched:
            argv = agent_argv_on_host(run.program, values["pod_torch_python"], started, index, where, run.port, document, options)
        else:
            argv = agent_argv(run.program, values["pod_torch_python"], started, index, where, run.port, options)
        readings = run.readings(values)
        job = Job(
            run.name, in_container(values, argv), run.at, run.until, {**columns, "role": RANK}, reading=readings[0], also=readings[1:], turn=run.turn,
            runtime=runtime_of(values),
        )  # fmt: skip
        table.jobs.setdefault(host, []).append(job)
    if launched:
        table.jobs[run.hosts[0]].append(_launcher(situation, run, {**columns, "role": LAUNCHER}, f"{where}:{run.port}", document))


def _launcher(situation: StepInput, run: Run, columns: Values, where: str, document: str) -> Job:
    """What starts the agents of all hosts; it is tried once, and what it prints is none of the ranks' words."""
    values = situation.plan.nodes[run.hosts[0]].values
    launcher = values["pod_launcher"]
    options, variables = run.own(values)
    names = tuple(named(situation, host) for host in run.hosts)
    launch = Launch(names, run.of_host(values), variables, tuple(map(str, values["pod_mpirun_arguments"])))
    argv = agent_argv_by_launcher(
        launcher, run.program, values["pod_torch_python"], launch, where, document, options, lambda argv: in_container(values, argv, launched=True)
    )  # fmt: skip
    return Job(f"{run.name}, {launcher}", argv, run.at + LAUNCHED_AFTER_SECONDS, run.until, columns, turn=run.turn)


def named(situation: StepInput, host: str) -> str:
    """A host as its launcher knows it."""
    values = situation.plan.nodes[host].values
    return str(values["pod_scheduler_node" if values["pod_launcher"] == "srun" else "pod_bootstrap_address"] or host)


def address(situation: StepInput, host: str, hosts: t.Sequence[str]) -> str:
    """Where the ranks of a run meet: an address of its first host; alone, the host itself."""
    if len(hosts) == 1:
        return "127.0.0.1"
    values = situation.plan.nodes[host].values
    rail = next((str(rail["address"]).split("/", maxsplit=1)[0] for rail in values["pod_rails"] if rail.get("address")), None)
    return str(values["pod_bootstrap_address"] or rail or host)


def refused(nodes: t.Mapping[str, t.Any], hosts: t.Sequence[str]) -> dict[str, str]:
    """The hosts whose ranks the pod's launcher cannot start as they should be, and why."""
    if not hosts:
        return {}
    first = nodes[hosts[0]].values
    launcher = first["pod_launcher"]
    if launcher in STARTED_ON_EACH_HOST:
        return dict.fromkeys((host for host in hosts if nodes[host].values["pod_launcher"] != launcher), f"pod_launcher is {launcher} on {hosts[0]}, not here")
    unlike = {host: [name for name in ("pod_launcher", *ALIKE) if nodes[host].values[name] != first[name]] for host in hosts}
    return {host: f"{launcher} starts all ranks alike, and {', '.join(names)} is not as on {hosts[0]}" for host, names in unlike.items() if names}
