# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loads of layer 5: every host alone, then the ladder of 2, 4, 8 and so on to all, then whatever finds out who breaks it."""

from __future__ import annotations

import typing as t

from .. import ladder, launchers, rungs
from ..loads import JOBS, Situation, Timetable, Values
from ..natural import counted
from . import nccl_tests
from ._ranks import Run, add, one_word

# Each run of a launch meets at a port of its own, and a port rests for some launches before it is used again.
PORTS_OF_A_LAUNCH, LAUNCHES_OF_PORTS = 64, 16
READINGS = ("collective_ranks", "collective_rates", "collective_results", "collective_hangs", "gpu_copies", "nccl_log")
PROGRAMS = ["torch_collectives", *launchers.BESIDE["torch_collectives"]]
QUICK: Values = {"dtypes": "", "collectives": "all_reduce"}
# What each probe changes where a rung breaks although every rail carries its rate: what restores the rate names the cause.
PROBES: dict[str, dict[str, str]] = {
    "NCCL_ALGO=Ring": {"NCCL_ALGO": "Ring"},
    "NCCL_NVLS_ENABLE=0": {"NCCL_NVLS_ENABLE": "0"},
    # NCCL warns of a file that is not there, and looks at the machine itself.
    "no topology file": {"NCCL_TOPO_FILE": "/nonexistent"},
    "4 queue pairs a connection": {"NCCL_IB_QPS_PER_CONNECTION": "4"},
}
# What lets a rank see one GPU only.
VISIBLE = {"nvidia": "CUDA_VISIBLE_DEVICES", "amd": "HIP_VISIBLE_DEVICES"}
# With these off, what NVLink would carry must go over the host's own NICs; the multicast of NVSwitch asks for no peer access.
OVER_NICS = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NVLS_ENABLE": "0"}


def plan(situation: Situation) -> Timetable | None:
    """The next step, by torch and then by nccl-tests; None where nobody is left to be measured."""
    if not situation.hosts:
        return None
    if situation.step == 0:
        return _alone(situation)
    jobs, rates, ranks = (situation.done.get(name, {}) for name in (JOBS, "collective_rates", "collective_ranks"))
    found = rungs.runs(jobs, rates, ranks)
    order = rungs.came_through(found)
    searches = len({row["step"] for rows in jobs.values() for row in rows if row["kind"] == rungs.SEARCH and row["role"] != rungs.TABLE})
    step = ladder.following(order, rungs.measured(found, situation.values), searches)
    if not step.groups:
        probed = any(row["kind"] == rungs.PROBE for rows in jobs.values() for row in rows)
        # Of what came to no rate nothing could be restored.
        slow = [run for run in found if run.kind in (rungs.RUNG, rungs.SEARCH) and run.top and not run.trouble and not rungs.passed(run, situation.values)]
        if slow and situation.values["pod_collective_backend"] == "nccl" and not probed:
            return _probes(situation, min(slow, key=lambda run: (len(run.hosts), run.hosts)).hosts)
        railed = any(row["kind"] == rungs.RAIL for rows in jobs.values() for row in rows)
        if not railed and (table := _rails(situation, order)) is not None:
            return table
        return nccl_tests.plan(situation, step.order, variables, OVER_NICS)
    kind = rungs.RUNG if step.rung else rungs.SEARCH
    # After a search a rung is climbed again by others.
    again = f", step {situation.step}" if not step.rung or step.found else ""
    what = f"all-reduce over {step.rung} hosts" if step.rung else f"who is slow: {len(step.groups)} groups side by side"
    table = Timetable(words=[what], programs=PROGRAMS)
    for number, group in enumerate(step.groups):
        hosts = [host for host in order if host in group]
        name = f"{kind} of {len(hosts)}" + (f", group {number + 1}" if len(step.groups) > 1 else "") + again
        # Every collective and every value is proved by each host alone and by all together.
        _job(table, situation, hosts, kind, name, number, 0.0, {} if step.rung == len(step.order) else QUICK, {})
    return table


def _probes(situation: Situation, hosts: t.Sequence[str]) -> Timetable:
    """One round over the smallest group that is slow, one probe after the other."""
    long = float(situation.values["pod_collective_run_seconds"])
    table = Timetable(words=[f"what restores the rate over {', '.join(hosts)}: {', '.join(PROBES)}"], programs=PROGRAMS)
    for number, (name, changed) in enumerate(PROBES.items()):
        _job(table, situation, list(hosts), rungs.PROBE, f"{rungs.PROBE}: {name}", number, number * long, QUICK, changed)
    return table


def _rails(situation: Situation, order: t.Sequence[str]) -> Timetable | None:
    """Each rail by itself over every gate group, all of them side by side: the ladder's rate is that of all rails together."""
    values = situation.values
    table = Timetable(words=["each rail by itself over every gate group"], programs=PROGRAMS)
    only = {**QUICK, "sizes": str(max(values["pod_collective_sizes"], default=rungs.GIB))}
    for members in situation.plan.groups.values() if values["pod_collective_backend"] == "nccl" else ():
        hosts = [host for host in order if host in members]
        # The first host's rails are those of its group: members that have others are told apart in layer 0.
        for number, rail in enumerate(situation.plan.nodes[hosts[0]].values["pod_rails"] if len(hosts) > 1 else ()):
            if rail.get("gpu") is not None:
                # Which NIC carries it is not left to NCCL: it takes what is nearest by its own view of the machine.
                shown = {VISIBLE[values["pod_gpu_vendor"]]: str(rail["gpu"]), "NCCL_IB_HCA": f"={rail['device']}"}
                _job(table, situation, hosts, rungs.RAIL, f"{rungs.RAIL} {rail['device']}", number, 0.0, only, shown, 1)
    return table if table.jobs else None


def variables(values: Values) -> dict[str, str]:
    """What the ranks get: the pod's own variables, its traffic class, and a log."""
    given = {str(name): str(value) for name, value in values["pod_nccl_environment"].items()}
    if values["pod_fabric"] == "roce" and values["pod_collective_backend"] == "nccl":
        given.setdefault("NCCL_IB_TC", str(values["pod_traffic_class"]))
    if values["pod_sharp"] and values["pod_collective_backend"] == "nccl":
        given.setdefault("NCCL_COLLNET_ENABLE", "1")
    return given


def _alone(situation: Situation) -> Timetable:
    """Every host alone, once as it is and once over its NICs; the first proves the values and the copies too."""
    values = situation.values
    long = float(values["pod_collective_run_seconds"])
    climbed = ", ".join(map(str, ladder.rungs(len(situation.hosts))))
    launches = ladder.launches(len(situation.hosts)) + 1
    rails = int(_rails(situation, situation.hosts) is not None)
    words = [
        "every host alone, with and without NVLink"
        + (f", then all-reduce over {climbed} hosts" if climbed else "")
        + (", then each rail by itself" if rails else ""),
        f"{counted(launches + rails, 'launch')} of at most {long:g} s, and at most {ladder.MOST_SEARCHES} more and {len(PROBES)} probes where a rung breaks",
    ]
    if values["pod_nccl_tests_dir"]:
        again = launches if values["pod_launcher"] in launchers.FROM_ONE_HOST else 1
        words.append(f"then {counted(again, 'launch')} of nccl-tests of at most {long:g} s")
    table = Timetable(words=words, programs=PROGRAMS)
    for host in situation.hosts:
        own = situation.plan.nodes[host].values
        _job(table, situation, [host], rungs.NODE, rungs.NODE, 0, 0.0, {"copies": True}, {})
        if own["pod_collective_backend"] == "nccl" and own["pod_rails"] and own["pod_gpus_per_host"] > 1:
            _job(table, situation, [host], rungs.NODE_NICS, rungs.NODE_NICS, 1, long, QUICK, OVER_NICS)
    return table


def _job(
    table: Timetable, situation: Situation, hosts: list[str], kind: str, name: str, number: int, at: float, proofs: Values, extra: dict[str, str],
    ranks: int | None = None,
) -> None:  # fmt: skip
    """A run of some hosts."""
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
            **(proofs if nccl else {**proofs, "copies": None}),
        }
        return options, given

    port = situation.values["pod_collective_port"] + situation.step % LAUNCHES_OF_PORTS * PORTS_OF_A_LAUNCH + number
    told = {"kind": kind, "step": situation.step}
    readings = _of_a_part if kind in (rungs.PROBE, rungs.RAIL) else _readings
    add(table, situation, Run("torch_collectives", name, hosts, port, at, until, own, told, readings, number if at else None, ranks))


def _readings(values: Values) -> tuple[str, ...]:
    nccl = values["pod_collective_backend"] == "nccl"
    return READINGS if nccl else tuple(name for name in READINGS if name not in ("nccl_log", "gpu_copies"))


def _of_a_part(values: Values) -> tuple[str, ...]:
    """The log of a probe or of a single rail is of variables that nobody asked for."""
    return tuple(name for name in _readings(values) if name != "nccl_log")
