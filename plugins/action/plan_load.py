# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan a load: the documentation is in plugins/modules/plan_load.py."""

from __future__ import annotations

import math
import time
import typing as t
from datetime import datetime
from pathlib import Path

from ansible import constants as C
from ansible import context
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.types import ReadingResult
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.idle_test import IDLE_COUNTERS, IDLE_READINGS, busy_reason
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.planners import PLANNERS, not_loadable, plan_step
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import JOBS_READING, Rows, Schedule, StepInput, load_schedule
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.membership import load_helpers, no_load_reason
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.counting import counted
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.sorting import lasting
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import RunAction, RunOnce
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show

# How much longer a controller takes with each host more, of all that it reaches side by side: the loads begin when all are started.
LEAD_SECONDS_A_HOST = 0.15
# A shorter load is only collected, which ends with it: every job of it has a deadline of its own.
WATCHED_SECONDS = 900
# A load that no one has looked at for so many rounds of watching, and as long as this, ends by itself.
LEASE_TICKS, LEASE_SECONDS = 6, 60
# A reservation outlasts the longest time between two loads: readings after the one and before the other, and what is judged between them.
RESERVED_READS, RESERVED_SECONDS = 3, 60
NOTHING = {"more": False, "step": 0, "hosts": {}, "ticks": 0, "seconds": 0, "sampled": False}


class ActionModule(RunOnce, RunAction):
    """Runs once for the whole play, on the controller."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "layer": {"type": "str", "required": True, "choices": list(PLANNERS)},
        "step": {"type": "int", "required": True},
        "reserved": {"type": "bool", "default": False},
    }

    def act_in(self, run: Path, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Plan the layer's next step, say what it does and how long it takes, and keep it for the hosts."""
        store, layer, step = RunStore(run), given["layer"], given["step"]
        nothing = {**NOTHING, "layer": layer, "step": step}
        if given["reserved"]:
            return _reserved(store, layer)
        situation, refused, unloaded = _situation(store, layer, step)
        schedule = plan_step(layer, situation) or Schedule()
        refused = {} if step else refused
        if not (schedule.jobs or refused or (unloaded and not step)):
            return nothing
        for line in (*_summary(schedule, refused), *([f"{unloaded}: this is the plan only"] if unloaded else [])):
            show(f"{layer}: {line}")
        if unloaded:
            return nothing
        _keep_refused(store, layer, refused)
        return _begin(store, layer, step, schedule, situation.values, _reading_seconds(store, layer)) if schedule.jobs else nothing


def _reading_seconds(store: RunStore, layer: str) -> float:
    """How long it took to read all nodes just before the loads, as samples under load will take."""
    times = [datetime.fromisoformat(envelope["time"]).timestamp() for envelope in store.answers(layer, "idle").values()]
    return max(times) - min(times) + 1 if times else 0.0


def _reserved(store: RunStore, layer: str) -> dict[str, t.Any]:
    """Begin the first step of a layer where its hosts are all reserved; where one is another run's, none of them is loaded."""
    document, asked = store.schedule(layer, 0), store.reservations(layer)
    schedule = load_schedule(document)
    refused = {host: words for host, words in asked.items() if words is not None}
    if not refused:
        return _begin(store, layer, 0, schedule, next(iter(store.plan().nodes.values())).values, document["sampling"])
    first = next(iter(refused))
    others = dict.fromkeys(schedule.jobs, f"the loads of this layer need all of their hosts, and {first} is another run's: {refused[first]}")
    _keep_refused(store, layer, others | refused)
    for host, words in refused.items():
        show(f"{layer}: {host} is not loaded: {words}")
    show(f"{layer}: no host is loaded, since {counted(len(refused), 'host')} of {len(schedule.jobs)} could not be reserved")
    return {**NOTHING, "layer": layer, "hosts": {host: True for host, words in asked.items() if words is None}}


def _begin(store: RunStore, layer: str, step: int, schedule: Schedule, values: dict[str, t.Any], sampling: float) -> dict[str, t.Any]:
    """Keep a step for its hosts, with the time at which it begins on all of them.

    sampling: seconds that a sample of all nodes takes.
    """
    tick, hosts = values["pod_load_tick_seconds"], len(schedule.jobs)
    lead = values["pod_load_lead_seconds"] + LEAD_SECONDS_A_HOST * hosts
    begins = time.time() + lead
    # A collector looks at its own host all the time; where not all hosts have one at once, they are looked at in turn.
    watched = schedule.sampled or schedule.seconds > WATCHED_SECONDS or hosts > (context.CLIARGS.get("forks") or C.DEFAULT_FORKS)
    document = {
        **schedule.dump(),
        "load": f"{store.run.name}-{layer}-{step}",
        "begins": begins,
        "ends": begins + schedule.seconds,
        "tick": tick,
        "sampling": sampling if schedule.sampled else 0.0,
        "lease": LEASE_SECONDS + LEASE_TICKS * tick + lead,
        "reserved_seconds": RESERVED_SECONDS + RESERVED_READS * values["pod_read_timeout_seconds"] + values["pod_idle_seconds"],
    }
    store.keep_schedule(layer, step, document)
    return {
        "more": True,
        "layer": layer,
        "step": step,
        "tick_seconds": tick,
        "hosts": dict.fromkeys(schedule.jobs, True),
        "ticks": math.ceil((lead + schedule.seconds) / tick) if watched else 0,
        "seconds": schedule.seconds,
        "begins": begins,
        "sampled": schedule.sampled,
    }


def _situation(store: RunStore, layer: str, step: int) -> tuple[StepInput, dict[str, str], str]:
    """What the step is planned from, the hosts that may not be loaded, and why nothing is, or nothing."""
    plan, state = store.plan(), store.state()
    hosts = [name for name in (*state.members.get(layer, []), *load_helpers(plan, state, layer)) if plan.nodes[name].role == "host"]
    values = next(iter(plan.nodes.values())).values
    responses = {phase: store.answers(layer, phase) for phase in ("before", "idle")}
    unloaded = no_load_reason(values, state.check_mode)
    refused = not_loadable(layer, plan.nodes, hosts)
    if not (values["pod_load_busy_hosts"] or unloaded):
        refused |= {host: words for host in hosts if (words := _busy(responses, host, values))}
    idle = {node: {name: one["rows"] for name, one in envelope["readings"].items()} for node, envelope in responses["idle"].items()}
    done: dict[str, dict[str, Rows]] = {}
    for host, readings in store.loaded(layer).items():
        for name, one in readings.items():
            done.setdefault(name, {})[host] = one["rows"]
    return StepInput(plan, [host for host in hosts if host not in refused], step, idle, done), refused, unloaded


def _busy(responses: dict[str, dict[str, t.Any]], host: str, values: dict[str, t.Any]) -> str | None:
    """Why a host may not be loaded, or None; a host that does not report whether it is busy may not."""
    rows: dict[tuple[str, str], Rows] = {("idle", "gpus"): []}
    for phase, names in IDLE_READINGS[values["pod_fabric"]].items():
        for name in names:
            if name == "gpus" and not values["pod_gpus_per_host"]:
                continue
            envelope = responses[phase].get(host) or {"readings": {}}
            reading = envelope["readings"].get(name)
            if reading is None or reading["status"] != "ok":
                why = reading["words"] if reading else envelope.get("words") or f"{name} was not read"
                return f"whether it is idle is not known: {why}"
            rows[phase, name] = reading["rows"]
    counters = (rows[phase, IDLE_COUNTERS[values["pod_fabric"]]] for phase in ("before", "idle"))
    return busy_reason(rows["idle", "gpus"], *counters, values["pod_idle_seconds"], values["pod_idle_gbit_s"], values["pod_idle_agents"], values["pod_fabric"])


def _keep_refused(store: RunStore, layer: str, refused: dict[str, str]) -> None:
    """A host that is not loaded says so where its loads would have spoken."""
    response = {"answered": True, "words": "", "boot_id": None, "uptime_seconds": None, "asked_at": None, "contacted": False}
    for host, words in refused.items():
        store.keep_answers(layer, host, "load-0", {JOBS_READING: ReadingResult("unknown", f"it was not loaded: {words}")}, response, [])


def _summary(schedule: Schedule, refused: dict[str, str]) -> list[str]:
    words = (
        [*schedule.words, f"{counted(len(schedule.jobs), 'host')} loaded for at most {lasting(schedule.seconds)}"]
        if schedule.jobs
        else [*schedule.words, "no host is loaded"]
    )
    return words + [f"{host} is not loaded: {why}" for host, why in refused.items()]
