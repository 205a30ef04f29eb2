# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loads of layer 5: every host alone, then the ladder of 2, 4, 8 and so on to all, then whatever finds out who breaks it."""

from __future__ import annotations

import typing as t

from ...text.counting import counted
from ...text.sorting import lasting
from ..collective_runs import (
    CLIQUE,
    GIB,
    LADDER,
    NODE,
    NODE_NICS,
    PROBE,
    RAIL,
    SEARCH,
    TABLE,
    CollectiveRun,
    collective_runs,
    groups_passed,
    hosts_at_fault,
    hosts_passed_alone,
    run_passed,
    slow_alone,
)
from ..containers import tests_over_hosts
from ..launchers import PROGRAM_MODULES
from ..probes import PROBES, PROBES_ALONE
from ..scaling_ladder import MAX_SEARCHES, group_sizes, groups_of_size, launch_count, next_step
from ..schedule import JOBS_READING, Schedule, StepInput, Values
from ._ranks import Run, add, one_word
from .nccl_tests import plan_nccl_tests

# Each run of a launch meets at a port of its own, and a port rests for some launches before it is used again.
PORTS_OF_A_LAUNCH, LAUNCHES_OF_PORTS = 64, 16
READINGS = ("collective_ranks", "collective_rates", "collective_results", "collective_hangs", "gpu_copies", "gpu_clocks", "nccl_log")
PROGRAMS = ["torch_collectives", *PROGRAM_MODULES["torch_collectives"]]
QUICK: Values = {"dtypes": "", "collectives": "all_reduce"}
# Of what no gloo has: copies between GPUs, and their clocks.
OF_GPUS: Values = {"copies": None, "clocks": None}
# So many hosts are probed alone, side by side: that all of a pod are slow has one reason.
MOST_PROBED_ALONE = 32
# What lets a rank see one GPU only.
VISIBLE = {"nvidia": "CUDA_VISIBLE_DEVICES", "amd": "HIP_VISIBLE_DEVICES"}
# With these off, what NVLink would carry must go over the host's own NICs; the multicast of NVSwitch asks for no peer access.
OVER_NICS = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NVLS_ENABLE": "0"}


def plan_collectives(situation: StepInput) -> Schedule | None:
    """The next step, by torch and then by nccl-tests; None where no one is left to be measured."""
    if not situation.hosts:
        return None
    if situation.step == 0:
        return _alone(situation)
    jobs, rates, ranks = (situation.done.get(name, {}) for name in (JOBS_READING, "collective_rates", "collective_ranks"))
    found = collective_runs(jobs, rates, ranks)
    order = hosts_passed_alone(found)
    searches = len({row["step"] for rows in jobs.values() for row in rows if row["kind"] == SEARCH and row["role"] != TABLE})
    step = next_step(order, groups_passed(found, situation.values), searches, hosts_at_fault(found))
    if not step.groups:
        probes = [row for rows in jobs.values() for row in rows if row["kind"] == PROBE]
        probed = any(len(row["hosts"]) > 1 for row in probes)
        lone = _slow_alone(situation, found)
        if lone and situation.values["pod_collective_backend"] == "nccl" and not any(len(row["hosts"]) == 1 for row in probes):
            return _probes_alone(situation, lone)
        # Of what came to no rate nothing could be restored.
        slow = [run for run in found if run.kind in (LADDER, SEARCH) and run.top and not run.trouble and not run_passed(run, situation.values)]
        if slow and situation.values["pod_collective_backend"] == "nccl" and not probed:
            return _probes(situation, min(slow, key=lambda run: (len(run.hosts), run.hosts)).hosts)
        railed = any(row["kind"] == RAIL for rows in jobs.values() for row in rows)
        if not railed and (table := _rails(situation, order)) is not None:
            return table
        over_nvlink = any(row["kind"] == CLIQUE for rows in jobs.values() for row in rows)
        if not over_nvlink and (table := _cliques(situation, order)) is not None:
            return table
        return plan_nccl_tests(situation, step.order, variables, OVER_NICS)
    kind = LADDER if step.rung else SEARCH
    # After a search a rung is climbed again by others.
    again = f", step {situation.step}" if not step.rung or step.found else ""
    what = f"all-reduce over {step.rung} hosts" if step.rung else f"bisecting: {len(step.groups)} groups in parallel"
    table = Schedule(words=[what], programs=PROGRAMS)
    for number, group in enumerate(step.groups):
        hosts = [host for host in order if host in group]
        name = f"{kind} of {len(hosts)}" + (f", group {number + 1}" if len(step.groups) > 1 else "") + again
        # Every collective and every value is proved by each host alone and by all together.
        _job(table, situation, hosts, kind, name, number, 0.0, {"clocks": True} if step.rung == len(step.order) else QUICK, {})
    return table


def _probes(situation: StepInput, hosts: t.Sequence[str]) -> Schedule:
    """One round over the smallest group that is slow, one probe after the other."""
    long = float(situation.values["pod_collective_run_seconds"])
    table = Schedule(words=[f"what restores the rate over {', '.join(hosts)}: {', '.join(PROBES)}"], programs=PROGRAMS)
    for number, (name, changed) in enumerate(PROBES.items()):
        _job(table, situation, list(hosts), PROBE, f"{PROBE}: {name}", number, number * long, QUICK, changed, part={"probe": name})
    return table


def _slow_alone(situation: StepInput, found: t.Sequence[CollectiveRun]) -> list[str]:
    """The hosts that are slow by themselves."""
    device = {host: next((row["device"] for row in rows if row["device"]), None) for host, rows in situation.done.get("collective_ranks", {}).items()}
    values = {host: situation.plan.nodes[host].values for host in situation.hosts}
    return [run.hosts[0] for run in found if run.hosts[0] in values and slow_alone(run, device.get(run.hosts[0]), values[run.hosts[0]])]


def _probes_alone(situation: StepInput, hosts: t.Sequence[str]) -> Schedule:
    """One probe after the other by each of some hosts alone."""
    long = float(situation.values["pod_collective_run_seconds"])
    table = Schedule(words=[f"what restores the rate of {', '.join(hosts[:MOST_PROBED_ALONE])} alone: {', '.join(PROBES_ALONE)}"], programs=PROGRAMS)
    for host in hosts[:MOST_PROBED_ALONE]:
        for number, (name, changed) in enumerate(PROBES_ALONE.items()):
            _job(table, situation, [host], PROBE, f"{PROBE}: {name}", number, number * long, QUICK, changed, part={"probe": name})
    return table


def _rails(situation: StepInput, order: t.Sequence[str]) -> Schedule | None:
    """Each rail by itself over every gate group, all of them side by side: the ladder's rate is that of all rails together."""
    values = situation.values
    table = Schedule(words=["each rail by itself over every gate group"], programs=PROGRAMS)
    only = {**QUICK, "sizes": str(max(values["pod_collective_sizes"], default=GIB))}
    for members in situation.plan.groups.values() if values["pod_collective_backend"] == "nccl" else ():
        hosts = [host for host in order if host in members]
        # The first host's rails are those of its group: members that have others are distinguished in layer 0.
        for number, rail in enumerate(situation.plan.nodes[hosts[0]].values["pod_rails"] if len(hosts) > 1 else ()):
            if rail.get("gpu") is not None:
                # Which NIC carries it is not left to NCCL: it takes what is nearest by its own view of the machine.
                shown = {VISIBLE[values["pod_gpu_vendor"]]: str(rail["gpu"]), "NCCL_IB_HCA": f"={rail['device']}"}
                _job(table, situation, hosts, RAIL, f"{RAIL} {rail['device']}", number, 0.0, only, shown, 1, {"device": rail["device"]})
    return table if table.jobs else None


def _cliques(situation: StepInput, order: t.Sequence[str]) -> Schedule | None:
    """Every gate group by the NVLink that its hosts share, side by side: the ladder has it off."""
    values = situation.values
    table = Schedule(words=["every gate group by NVLink between its hosts"], programs=PROGRAMS)
    only = {**QUICK, "sizes": str(max(values["pod_collective_sizes"], default=GIB))}
    reaching = values["pod_nvlink_domain"] == "gate_group" and values["pod_collective_backend"] == "nccl"
    for number, (group, members) in enumerate(situation.plan.groups.items()) if reaching else ():
        hosts = [host for host in order if host in members]
        if len(hosts) > 1:
            _job(table, situation, hosts, CLIQUE, f"{CLIQUE} {group}", number, 0.0, only, {"NCCL_MNNVL_ENABLE": "1"})
    return table if table.jobs else None


def variables(values: Values) -> dict[str, str]:
    """What the ranks get: the pod's own variables, its traffic class, and a log."""
    given = {str(name): str(value) for name, value in values["pod_nccl_environment"].items()}
    if values["pod_fabric"] == "roce" and values["pod_collective_backend"] == "nccl":
        given.setdefault("NCCL_IB_TC", str(values["pod_traffic_class"]))
    if values["pod_nvlink_domain"] == "gate_group" and values["pod_collective_backend"] == "nccl":
        # NVLink would carry what is between the trays of a rack, and a NIC that is slow or down would be no part of any rate.
        given["NCCL_MNNVL_ENABLE"] = "0"
    if values["pod_sharp"] and values["pod_collective_backend"] == "nccl":
        given.setdefault("NCCL_COLLNET_ENABLE", "1")
    return given


def _alone(situation: StepInput) -> Schedule:
    """Every host alone, once as it is and once over its NICs; the first proves the values and the copies too."""
    values = situation.values
    long = float(values["pod_collective_run_seconds"])
    sizes = group_sizes(len(situation.hosts))
    sizes_text = ", ".join(map(str, sizes))
    groups = ", ".join(str(len(groups_of_size(situation.hosts, size))) for size in sizes)
    launches = launch_count(len(situation.hosts)) + 1
    rails, cliques = (int(planned(situation, situation.hosts) is not None) for planned in (_rails, _cliques))
    words = [
        "every host alone, with and without NVLink"
        + (f", then all-reduce over {sizes_text} hosts ({groups} groups in parallel)" if sizes_text else "")
        + (", then each rail by itself" if rails else "")
        + (", then every gate group by NVLink" if cliques else ""),
        # Alone they are launched once and run twice.
        f"{counted(launches + rails + cliques, 'launch')} of at most {long:g} s, {lasting((launches + rails + cliques + 1) * long)} together, and at most "
        f"{MAX_SEARCHES} more and {len(PROBES)} probes where a size is slow",
    ]
    if values["pod_nccl_tests_dir"]:
        again = launches if tests_over_hosts(values["pod_launcher"], values["pod_container_runtime"]) else 1
        words.append(f"then {counted(again, 'launch')} of nccl-tests of at most {long:g} s")
    table = Schedule(words=words, programs=PROGRAMS)
    for host in situation.hosts:
        own = situation.plan.nodes[host].values
        _job(table, situation, [host], NODE, NODE, 0, 0.0, {"copies": True, "clocks": True}, {})
        if own["pod_collective_backend"] == "nccl" and own["pod_rails"] and own["pod_gpus_per_host"] > 1:
            _job(table, situation, [host], NODE_NICS, NODE_NICS, 1, long, QUICK, OVER_NICS)
    return table


def _job(
    table: Schedule, situation: StepInput, hosts: list[str], kind: str, name: str, number: int, at: float, proofs: Values, extra: dict[str, str],
    ranks: int | None = None, part: Values | None = None,
) -> None:  # fmt: skip
    """A run of some hosts; part: what a probe tries, or the device of a single rail, as ``load_jobs`` has it."""
    until = at + float(situation.plan.nodes[hosts[0]].values["pod_collective_run_seconds"])
    log = f"{{place}}/{number}.log"

    def own(values: Values) -> tuple[Values, dict[str, str]]:
        given = {**variables(values), **extra}
        nccl = values["pod_collective_backend"] == "nccl"
        if nccl:
            given |= {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET,GRAPH,ENV,TUNING", "NCCL_DEBUG_FILE": f"{log}.%h.%p"}
        options: Values = {
            "backend": values["pod_collective_backend"],
            "job": one_word(name),
            # A rank must have the time to say who is missing before all of them are ended.
            "timeout": min(values["pod_collective_timeout_seconds"], (until - at) / 3),
            "start-timeout": (until - at) / 2,
            "deadline": (until - at) * 0.9,
            "sizes": ",".join(map(str, values["pod_collective_sizes"])),
            "iterations": values["pod_collective_iterations"],
            "log": log if nccl else None,
            **(proofs if nccl else {**proofs, **OF_GPUS}),
        }
        return options, given

    port = situation.values["pod_collective_port"] + situation.step % LAUNCHES_OF_PORTS * PORTS_OF_A_LAUNCH + number
    columns = {"kind": kind, "step": situation.step, **(part or {})}
    readings = _of_a_part if kind in (PROBE, RAIL, CLIQUE) else _readings
    add(table, situation, Run("torch_collectives", name, hosts, port, at, until, own, columns, readings, number if at else None, ranks))


def _readings(values: Values) -> tuple[str, ...]:
    nccl = values["pod_collective_backend"] == "nccl"
    return READINGS if nccl else tuple(name for name in READINGS if name not in ("nccl_log", "gpu_copies", "gpu_clocks"))


def _of_a_part(values: Values) -> tuple[str, ...]:
    """The log of a probe, of a single rail or of NVLink between hosts is of variables that no one asked for; and none of them watches clocks."""
    return tuple(name for name in _readings(values) if name not in ("nccl_log", "gpu_clocks"))
