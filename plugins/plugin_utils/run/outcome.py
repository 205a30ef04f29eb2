# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict of a run from its gates."""

from __future__ import annotations

import typing as t

from ..checks import LAYERS
from ..evaluate.gates import CLOSED, NOT_PROVED, NOT_RUN, PASSABLE
from ..text.counting import counted
from .state import State, gate_state

# Reasons of a closed gate that its line shows.
SHOWN = 3


# The layer, check and node (or gate group) of each verdict whose findings other findings of the same layer explain.
Following = t.Container[tuple[str, str, str]]


def _closed_gate(state: State, group: str, following: Following) -> str:
    """Why a group failed: its lowest closed layer, the first reason there, what no finding reports, how many reasons more there are, and how many follow."""
    # Those of an earlier run too, which a reboot since may have closed.
    closed = [layer for layer in LAYERS if gate_state(state, layer, group) == CLOSED]
    gates = [(layer, state.gates[layer][group]) for layer in closed]
    reasons = list(dict.fromkeys(reason for _layer, gate in gates for reason in gate["reasons"]))
    unproved = list(dict.fromkeys(reason for _layer, gate in gates for reason in gate.get("unproved", ())))
    explained = {reason for layer, gate in gates for reason, (check, node) in gate.get("found", {}).items() if (layer, check, node) in following}
    lowest = gates[0][1]["reasons"]
    first = [reason for reason in lowest if reason not in explained and reason not in unproved] or lowest
    shown = list(dict.fromkeys((*first[:1], *unproved)))[:SHOWN]
    left = [reason for reason in reasons if reason not in shown]
    follow = sum(reason in explained for reason in left)
    words = [counted(len(left) - follow, "more reason")] * (len(left) > follow) + [f"{counted(follow, 'reason')} that other findings explain"] * bool(follow)
    return f"{group} failed layer {closed[0]}: {'; '.join(shown)}" + (f"; and {' and '.join(words)}" if words else "")


def _not_proved(state: State, groups: t.Iterable[str]) -> list[str]:
    """What required checks did not prove: too few hosts, nothing to compare with, or not reported on this platform; by layer and reason, once for all."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for layer in state.layers:
        for group in groups:
            if gate_state(state, layer, group) == NOT_PROVED:
                # A gate without its reasons is still no go.
                for check, why in state.gates[layer][group]["too_few"] or [["every required check", "the reason was not recorded"]]:
                    found.setdefault((layer, why), {})[check] = None
    return [f"{layer} does not prove {', '.join(checks)}: {why}" for (layer, why), checks in found.items()]


def run_outcome(state: State, left_out: bool, expired: bool, following: Following = frozenset()) -> tuple[str, list[str]]:
    """``go``, ``no_fault_seen`` or ``no_go``, and why it is not ``go``; in check mode ``not_judged`` once the run has ended."""
    if state.check_mode and state.finished:
        return "not_judged", ["check mode evaluates nothing"]
    judged = {group: [gate_state(state, layer, group) for layer in state.layers] for group, where in state.scope.items() if where != "out"}
    closed = [group for group, states in judged.items() if CLOSED in states]
    short = [group for group, states in judged.items() if group not in closed and not set(states) <= set(PASSABLE)]
    reasons = [_closed_gate(state, group, following) for group in closed] + [f"{group} did not reach every layer" for group in short]
    if not state.finished or not judged:
        reasons.append("the run has not ended" if not state.finished else "no gate group was evaluated")
    reasons += [f"{host} is quarantined by {out['check']}" for host, out in state.quarantined.items()]
    if expired:
        reasons.append("a waiver has expired")
    if reasons:
        return "no_go", reasons
    limits = [f"{group} is out of scope" for group, where in state.scope.items() if where == "out"]
    not_run = [layer for layer in state.layers if NOT_RUN in [gate_state(state, layer, group) for group in judged]]
    limits += [f"{', '.join(not_run)} was not run" if len(not_run) == 1 else f"{', '.join(not_run)} were not run"] * bool(not_run)
    limits += _not_proved(state, judged)
    limits += [f"only {state.only} was evaluated"] * bool(state.only)
    limits += ["kept evidence was evaluated, and the pod may have changed since"] * bool(state.replay)
    limits += [f"depth {state.depth} and mode {state.mode} prove less than a complete run"] * (left_out or state.depth == "quick" or state.mode == "passive")
    return ("no_fault_seen", limits) if limits else ("go", [])
