# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evaluate a layer from the run directory, decide its gates and record them."""

from __future__ import annotations

import datetime
import typing as t
from pathlib import Path

from ..collect.fabric import spread_to_nodes
from ..evaluate.baselines import BASELINE_CHECK, judge_against_baseline, software_versions
from ..evaluate.boot_check import BOOT_CHECK, verdicts_of_boots
from ..evaluate.finding_places import add_places
from ..evaluate.gates import NOT_RUN, Gate, count_nodes, decide_gates
from ..evaluate.layer import verdicts_of_checks
from ..evaluate.layer_input import Layer
from ..evaluate.metrics import metric_values
from ..evaluate.row_places import RowPlaces
from ..evaluate.shared_causes import name_shared_groups, name_shared_leaves
from ..evaluate.shared_ends import name_shared_ends
from ..evaluate.shared_ways import name_shared_ways
from ..evaluate.silence import explained_by_silence
from ..evaluate.unanswering_nodes import name_unanswering_nodes
from ..evaluate.verdicts import Verdict
from ..evaluate.waivers import waivers
from ..pod.plan import Plan
from ..run.files import utc_now
from ..run.membership import close_below, groups_at_layer, load_helpers, no_load_reason, participants, ping_partners, record_gates
from ..run.places import limited_to_places
from ..run.reader import RunReader, joined_steps
from ..run.state import State
from ..run.store import RunStore
from .replay import replayed_responses
from .report_files import write_report

# The phases in which every node is read.
PHASES = ("before", "idle", "now")


def evaluate_layer(run: Path, layer: str, silent_words: t.Callable[[str], str | None]) -> tuple[dict[str, t.Any], dict[str, str]]:
    """Evaluate a layer, decide its gates and report what is known by now.

    silent_words: why a node left no answer, or None.
    Returns what the plays need to know (as ``RunStore.facts_for_plays``), and each group's gate.
    """
    store = RunStore(run)
    plan, state = store.plan(), store.state()
    gates = hold_gates(store, plan, state, layer, silent_words)
    write_report(store, plan, state)
    return store.facts_for_plays(plan, state), gates


def hold_gates(store: RunStore, plan: Plan, state: State, layer: str, silent_words: t.Callable[[str], str | None]) -> dict[str, str]:
    """Evaluate a layer and decide its gates: all of ``evaluate_layer`` but the report."""
    groups = groups_at_layer(plan, state, layer)
    if state.plans_only:
        return _not_evaluated(store, plan, state, layer, groups)
    judged, verdicts = verdicts_of_layer(store, plan, state, layer, silent_words)
    _record_sources(state, judged)
    narrow = state.focus is not None and (state.focus.nodes or state.focus.check)
    out: dict[str, int] = {}
    for left in state.quarantined.values():
        out[left["group"]] = out.get(left["group"], 0) + 1
    gates = decide_gates(plan, verdicts, groups, None if narrow else judged.checks(), out)
    for one in verdicts:
        if one.check == BOOT_CHECK and one.host is not None:
            stopped = [group for group in one.affects if group in gates and one.host not in gates[group].quarantined]
            close_below(state, layer, stopped, state.boots[one.host]["layer"], f"{one.host} {one.words}")
    record_gates(plan, state, layer, gates, utc_now())
    above = state.layers[state.layers.index(layer) + 1 :]
    if above:
        store.keep_items(plan, state, above[0])
    in_scope = {node.name for node in plan.nodes.values() if node.group is None or state.scope[node.group] != "out"}
    records = [one.record() for one in verdicts]
    add_places(plan, records)
    name_shared_leaves(plan, records)
    name_shared_groups(plan, records)
    name_shared_ways(plan, records)
    name_shared_ends(plan, records)
    name_unanswering_nodes(plan, records)
    counts, explained = count_nodes(plan, verdicts, in_scope), explained_by_silence(plan, verdicts)
    store.keep_verdicts(layer, {"verdicts": records, "counts": counts, "explained": explained})
    store.keep_state(state)
    return {group: gate.state for group, gate in gates.items()}


def _record_sources(state: State, layer: Layer) -> None:
    """Record which slices read members for this one; of several readings the oldest."""
    for node in layer.members:
        for envelopes in (layer.before, layer.now):
            source = envelopes[node].get("shared") if node in envelopes else None
            if source is not None and source["age_seconds"] >= state.shared.get(node, source)["age_seconds"]:
                state.shared[node] = source


def _not_evaluated(store: RunStore, plan: Plan, state: State, layer: str, groups: t.Sequence[str]) -> dict[str, str]:
    """As ``hold_gates``, where nothing was read: every gate is one that was not run, and every group goes on to the next layer's plan."""
    record_gates(plan, state, layer, {group: Gate(NOT_RUN, ["check mode: nothing was read and nothing evaluated"]) for group in groups}, utc_now())
    if above := state.layers[state.layers.index(layer) + 1 :]:
        store.keep_items(plan, state, above[0])
    store.keep_state(state)
    return dict.fromkeys(groups, NOT_RUN)


def verdicts_of_layer(store: RunStore, plan: Plan, state: State, layer: str, silent_words: t.Callable[[str], str | None]) -> tuple[Layer, list[Verdict]]:
    """The layer as it was judged, and its verdicts within what ``pod_only`` names."""
    members = state.members[layer]
    partners, asked = ping_partners(plan, state, members), participants(plan, state, layer)
    if state.replay:
        kept = RunReader(Path(state.replay))
        stated = {phase: replayed_responses(kept, plan, layer, asked, partners, phase) for phase in PHASES}
    else:
        kept, stated = store, {phase: {**store.answers(layer, phase)} for phase in PHASES}
    stated = {phase: spread_to_nodes(plan, envelopes, asked) for phase, envelopes in stated.items()}
    loads, during = kept.load_answers(layer), kept.during(layer)
    for node, loaded in joined_steps(loads).items():
        if node in stated["now"]:
            stated["now"][node]["readings"] |= loaded
    silent = dict(state.silent)
    for node in members:
        # A node that answered before the soak and not after it has not answered.
        words = silent_words(node) if not state.replay else None
        if node not in silent and (node not in stated["now"] or words):
            silent[node] = words or "never read"
    values = next(iter(plan.nodes.values())).values
    given = waivers(values["pod_waivers"])
    only = state.focus.check if state.focus else None
    judged = Layer(
        layer, plan, members, partners, stated["now"], stated["before"], silent, given, datetime.datetime.now(datetime.UTC).date(), only,
        idle=stated["idle"], during=during, unloaded=no_load_reason(values, state.check_mode), helpers=load_helpers(plan, state, layer),
        left_out=frozenset(state.silent),
    )  # fmt: skip
    verdicts = [
        *verdicts_of_checks(judged),
        *verdicts_of_boots(judged, state.boots, [*stated.values(), during, *loads], by_hand=bool(state.replay)),
        *_against_baseline(store, judged, state),
    ]
    return judged, limited_to_places(verdicts, set(state.focus.places)) if state.focus and state.focus.places else verdicts


def _against_baseline(store: RunStore, layer: Layer, state: State) -> list[Verdict]:
    """What has become worse than the baseline that the run was opened with; nothing where it was opened with none."""
    baseline = store.baseline()
    if baseline is None or layer.only not in (None, BASELINE_CHECK):
        return []
    reported = {
        node: {name: stated["rows"] for name, stated in envelope["readings"].items() if stated["status"] == "ok"}
        for node, envelope in layer.now.items()
        if node in layer.members and node not in layer.silent
    }
    software = software_versions(RunReader(store.source(state.replay), layer.plan).reported({"software"}).get("preflight", {}))
    return judge_against_baseline(baseline, layer.plan, layer.name, metric_values(RowPlaces(layer.plan), layer.name, reported), software)
