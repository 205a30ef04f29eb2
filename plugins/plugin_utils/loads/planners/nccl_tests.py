# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All-reduce by nccl-tests or rccl-tests, beside torch's ladder: every host alone, then 2, 4, 8 and so on where a launcher can start them."""

from __future__ import annotations

import typing as t

from ..collective_runs import LADDER, NODE, NODE_NICS, TABLE, groups_passed, nccl_tests_runs
from ..containers import ON_THE_HOST, in_container, runtime_of, tests_over_hosts
from ..launchers import FORCED_PREFIXES, LOAD_MARK, Launch, launcher_argv, nccl_tests_argv
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
    if not tests_over_hosts(values["pod_launcher"], values["pod_container_runtime"]):
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
    several = tests_over_hosts(values["pod_launcher"], values["pod_container_runtime"])
    words = ["every host alone by nccl-tests"]
    if not several and len(hosts) > 1:
        inside = values["pod_container_runtime"] != ON_THE_HOST
        needs = "programs on the hosts, which start no ranks from containers" if inside else f"pod_launcher srun or mpirun; with {values['pod_launcher']}"
        words.append(f"nccl-tests over several hosts needs {needs} only torch measures larger groups")
    table = Schedule(words=words)
    for host in hosts:
        own = situation.plan.nodes[host].values
        kinds = [NODE, NODE_NICS] if own["pod_rails"] and own["pod_gpus_per_host"] > 1 else [NODE]
        table.jobs[host] = [_of_host(situation, host, kind, turn, {**given(own), **(over_nics if turn else {})}) for turn, kind in enumerate(kinds)]
    return table


def _of_host(situation: StepInput, host: str, kind: str, turn: int, variables: dict[str, str]) -> Job:
    """All GPUs of a host as one process, in its turn."""
    values = situation.plan.nodes[host].values
    long = float(values["pod_collective_run_seconds"])
    argv = in_container(values, _argv(values, values["pod_gpus_per_host"]), variables)
    return Job(
        f"{PROGRAM} {kind}", argv, turn * long, (turn + 1) * long, {**_columns(situation, [host]), "kind": kind}, environment=variables,
        without=FORCED_PREFIXES, reading="nccl_tests", turn=turn or None, runtime=runtime_of(values),
    )  # fmt: skip


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
