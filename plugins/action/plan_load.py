# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan a load: the documentation is in plugins/modules/plan_load.py."""

from __future__ import annotations

import math
import time
import typing as t
from pathlib import Path

from ansible.utils.display import Display
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import busy, climb, ledger, loads, timetables
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.acting import Once, RunAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collecting import Reply
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.natural import counted

# How much longer a controller takes with each host more, of all that it reaches side by side: the loads begin when all are started.
LEAD_SECONDS_A_HOST = 0.15
# A shorter load is only collected, which ends with it: every job of it has a deadline of its own.
WATCHED_SECONDS = 900
# A load that nobody has looked at for so many rounds of watching, and as long as this, ends by itself.
LEASE_TICKS, LEASE_SECONDS = 6, 60


class ActionModule(Once, RunAction):
    """Runs once for the whole play, on the controller."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "layer": {"type": "str", "required": True, "choices": list(timetables.PLANNERS)},
        "step": {"type": "int", "required": True},
    }

    def act_in(self, run: Path, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Plan the layer's next step, say what it does and how long it takes, and keep it for the hosts."""
        book, layer, step = ledger.Ledger(run), given["layer"], given["step"]
        nothing = {"more": False, "layer": layer, "step": step, "hosts": {}, "ticks": 0, "seconds": 0, "sampled": False}
        situation, refused, unloaded = _situation(book, layer, step)
        timetable = timetables.PLANNERS[layer](situation) or loads.Timetable()
        refused = {} if step else refused
        if not (timetable.jobs or refused):
            return nothing
        for line in (*_said(timetable, refused), *([f"{unloaded}: this is the plan only"] if unloaded else [])):
            Display().display(f"{layer}: {line}")
        if unloaded:
            return nothing
        _keep_refused(book, layer, refused)
        if not timetable.jobs:
            return nothing
        tick = situation.values["pod_load_tick_seconds"]
        lead = situation.values["pod_load_lead_seconds"] + LEAD_SECONDS_A_HOST * len(timetable.jobs)
        begins = time.time() + lead
        watched = timetable.sampled or timetable.seconds > WATCHED_SECONDS
        document = {
            **timetable.dump(),
            "load": f"{run.name}-{layer}-{step}",
            "begins": begins,
            "ends": begins + timetable.seconds,
            "lease": LEASE_SECONDS + (LEASE_TICKS * tick if watched else lead + timetable.seconds),
        }
        book.keep_timetable(layer, step, document)
        told = {
            "more": True,
            "tick_seconds": tick,
            "hosts": dict.fromkeys(timetable.jobs, True),
            "ticks": math.ceil((lead + timetable.seconds) / tick) if watched else 0,
            "seconds": timetable.seconds,
        }
        return {**nothing, **told, "begins": begins, "sampled": timetable.sampled}


def _situation(book: ledger.Ledger, layer: str, step: int) -> tuple[loads.Situation, dict[str, str], str]:
    """What the step is planned from, the hosts that may not be loaded, and why nothing is, or nothing."""
    plan, state = book.plan(), book.state()
    hosts = [name for name in (*state.members.get(layer, []), *climb.loaders(plan, state, layer)) if plan.nodes[name].role == "host"]
    values = next(iter(plan.nodes.values())).values
    said = {phase: book.answers(layer, phase) for phase in ("before", "idle")}
    unloaded = climb.unloaded(values, state.check_mode)
    refused = timetables.refused(layer, plan.nodes, hosts)
    if not (values["pod_load_busy_hosts"] or unloaded):
        refused |= {host: words for host in hosts if (words := _busy(said, host, values))}
    idle = {node: {name: one["rows"] for name, one in envelope["readings"].items()} for node, envelope in said["idle"].items()}
    done: dict[str, dict[str, loads.Rows]] = {}
    for host, readings in book.loaded(layer).items():
        for name, one in readings.items():
            done.setdefault(name, {})[host] = one["rows"]
    return loads.Situation(plan, [host for host in hosts if host not in refused], step, idle, done), refused, unloaded


def _busy(said: dict[str, dict[str, t.Any]], host: str, values: dict[str, t.Any]) -> str | None:
    """Why a host may not be loaded, or None; a host that does not tell whether it is busy may not."""
    rows: dict[tuple[str, str], loads.Rows] = {("idle", "gpus"): []}
    for phase, names in busy.TOLD[values["pod_fabric"]].items():
        for name in names:
            if name == "gpus" and not values["pod_gpus_per_host"]:
                continue
            envelope = said[phase].get(host) or {"readings": {}}
            reading = envelope["readings"].get(name)
            if reading is None or reading["status"] != "ok":
                why = reading["words"] if reading else envelope.get("words") or f"{name} was not read"
                return f"whether it is idle is not told: {why}"
            rows[phase, name] = reading["rows"]
    counters = (rows[phase, busy.COUNTERS[values["pod_fabric"]]] for phase in ("before", "idle"))
    return busy.busy(rows["idle", "gpus"], *counters, values["pod_idle_seconds"], values["pod_idle_gbit_s"])


def _keep_refused(book: ledger.Ledger, layer: str, refused: dict[str, str]) -> None:
    """A host that is not loaded says so where its loads would have spoken."""
    told = {"answered": True, "words": "", "boot_id": None, "uptime_seconds": None}
    for host, words in refused.items():
        book.keep_answers(layer, host, "load-0", {loads.JOBS: Reply("unknown", f"it was not loaded: {words}")}, told, [])


def _said(timetable: loads.Timetable, refused: dict[str, str]) -> list[str]:
    minutes, seconds = divmod(round(timetable.seconds), 60)
    long = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    words = [*timetable.words, f"{counted(len(timetable.jobs), 'host')} loaded for at most {long}"] if timetable.jobs else ["no host is loaded"]
    return words + [f"{host} is not loaded: {why}" for host, why in refused.items()]
