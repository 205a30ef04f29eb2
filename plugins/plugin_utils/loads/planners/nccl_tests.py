# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All-reduce by nccl-tests or rccl-tests, beside torch's ladder: every host alone, then 2, 4, 8 and so on where a launcher can start them."""

from __future__ import annotations

import typing as t

from ..collective_runs import LADDER, NODE, NODE_NICS, TABLE, groups_passed, nccl_tests_runs
from ..launchers import FORCED_PREFIXES, LOAD_MARK, STARTED_FROM_ONE_HOST, Launch, launcher_argv, nccl_tests_argv
from ..scaling_ladder import next_step
from ..schedule import JOBS_READING, Job, Schedule, StepInput, Values
from ._ranks import named

# 1 MiB to 4 GiB by four has every size that torch measures.
FACTOR = 4
PROGRAM = "nccl-tests"


def plan_nccl_tests(situation: StepInput, order: t.Sequence[str], given: t.Callable[[Values], dict[str, str]], over_nics: dict[str, str]) -> Schedule | None:
    """The next step, None where there are no programs or nothing is left.

    order: the hosts that came through torch's own run; given: what every rank gets; over_nics: and what takes NVLink away.
    """
    values = situation.values
    if not values["pod_nccl_tests_dir"] or values["pod_collective_backend"] != "nccl" or not order:
        return None
    found = nccl_tests_runs(situation.done.get(JOBS_READING, {}), situation.done.get("nccl_tests", {}))
    if not found:
        return _alone(situation, order, given, over_nics)
    good = [host for host in order if any(run.kind == NODE and run.hosts == (host,) and not run.trouble and not run.wrong for run in found)]
    if values["pod_launcher"] not in STARTED_FROM_ONE_HOST:
        return None
    step = next_step(good, groups_passed(found, values), 0)
    # Who breaks a rung is found out by torch, whose ladder is the same.
    if not step.rung or not step.groups:
        return None
    table = Schedule(words=[f"all-reduce over {step.rung} hosts by nccl-tests"])
    for number, group in enumerate(step.groups):
        hosts = [host for host in good if host in group]
        table.jobs[hosts[0]] = [_over(situation, hosts, given, f"{PROGRAM} of {len(hosts)}" + (f", group {number + 1}" if len(step.groups) > 1 else ""))]
    return table


def _alone(situation: StepInput, hosts: t.Sequence[str], given: t.Callable[[Values], dict[str, str]], over_nics: dict[str, str]) -> Schedule:
    values = situation.values
    several = values["pod_launcher"] in STARTED_FROM_ONE_HOST
    words = ["every host alone by nccl-tests"]
    if not several and len(hosts) > 1:
        words.append(f"nccl-tests over several hosts needs pod_launcher srun or mpirun; with {values['pod_launcher']} only torch measures larger groups")
    table = Schedule(words=words)
    for host in hosts:
        own = situation.plan.nodes[host].values
        long = float(own["pod_collective_run_seconds"])
        argv = _argv(own, own["pod_gpus_per_host"])
        columns = _columns(situation, [host])
        alone = {**columns, "kind": NODE}
        job = Job(f"{PROGRAM} {NODE}", argv, 0.0, long, alone, environment=given(own), without=FORCED_PREFIXES, reading="nccl_tests")
        table.jobs[host] = [job]
        if own["pod_rails"] and own["pod_gpus_per_host"] > 1:
            kind = NODE_NICS
            environment = {**given(own), **over_nics}
            again = {**columns, "kind": kind}
            job = Job(f"{PROGRAM} {kind}", argv, long, 2 * long, again, environment=environment, without=FORCED_PREFIXES, reading="nccl_tests", turn=1)
            table.jobs[host].append(job)
    return table


def _over(situation: StepInput, hosts: list[str], given: t.Callable[[Values], dict[str, str]], name: str) -> Job:
    """What the first host of a run starts on all of them, a process for each GPU."""
    values = situation.plan.nodes[hosts[0]].values
    variables = {**given(values), **LOAD_MARK}
    names = tuple(named(situation, host) for host in hosts)
    launch = Launch(names, values["pod_gpus_per_host"], variables, tuple(map(str, values["pod_mpirun_arguments"])))
    argv = launcher_argv(values["pod_launcher"], _argv(values, 1), launch)
    until = float(values["pod_collective_run_seconds"])
    return Job(name, argv, 0.0, until, {**_columns(situation, hosts), "kind": LADDER}, without=FORCED_PREFIXES, reading="nccl_tests")


def _argv(values: Values, gpus: int) -> list[str]:
    sizes = values["pod_collective_sizes"]
    return nccl_tests_argv(values["pod_nccl_tests_dir"], "all_reduce", min(sizes), max(sizes), FACTOR, gpus, values["pod_collective_iterations"])


def _columns(situation: StepInput, hosts: list[str]) -> Values:
    return {"round": len(hosts), "hosts": hosts, "step": situation.step, "role": TABLE}
