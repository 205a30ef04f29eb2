# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resuming above gates that an earlier run left open (``pod_from_layer``)."""

from __future__ import annotations

from datetime import UTC, datetime

from ..checks import LAYERS
from ..evaluate.gates import OPEN
from ..pod.plan import Plan
from .errors import Refused
from .resume_changes import changes_since
from .state import State

# Of what has changed since the run that is resumed, so many things are named.
MOST_CHANGES = 5


def resumable_run(plan: Plan, state: State, first: str, earlier: State | None, earlier_plan: Plan | None) -> State:
    """The latest run, above whose open gates another one may begin.

    Raises Refused where there is none, or where something has changed since that the layers below use.
    """
    if earlier is None or earlier_plan is None:
        why = "there is none"
    elif changed := changes_since(plan, earlier_plan, (earlier.version, state.version), first):
        more = f"; and {len(changed) - MOST_CHANGES} more changes" if len(changed) > MOST_CHANGES else ""
        why = f"since run {earlier.run_id}, {'; '.join(changed[:MOST_CHANGES])}{more}"
    elif earlier.check_mode:
        why = f"run {earlier.run_id} was in check mode, which evaluates nothing"
    elif earlier.only or earlier.replay:
        why = f"run {earlier.run_id} evaluated {'only ' + earlier.only if earlier.only else 'kept evidence'}"
    elif not earlier.boots:
        why = f"run {earlier.run_id} did not record when its nodes booted"
    else:
        return earlier
    raise Refused([f"argument 'pod_from_layer': {first} needs the gates below it from the latest run, and {why}; start from preflight"])


def take_open_gates(state: State, first: str, groups: list[str], earlier: State, max_age_minutes: int) -> list[str]:
    """Copy an earlier run's gates below a layer into a run's state, with its quarantined hosts and boots, and return the gate groups that continue.

    first: the layer at which the run begins; groups: those in scope; max_age_minutes: since when a gate may be open at most.
    Raises Refused where no group can continue.
    """
    below = LAYERS[: LAYERS.index(first)]
    continuing: list[str] = []
    reasons: list[str] = []
    for group in groups:
        closed = next((reason for layer in below if (reason := _why_not_open(earlier, layer, group, max_age_minutes))), None)
        if closed is None:
            continuing.append(group)
        else:
            reasons.append(closed)
    for layer in below:
        state.gates[layer] = {group: gate.copy() for group, gate in earlier.gates.get(layer, {}).items() if group in groups}
    state.quarantined = {host: out.copy() for host, out in earlier.quarantined.items() if out["layer"] in below}
    state.boots = {node: dict(boot) for node, boot in earlier.boots.items()}
    if not continuing:
        raise Refused([f"argument 'pod_from_layer': no gate group can continue at {first}: {'; '.join(reasons)}"])
    return continuing


def _why_not_open(earlier: State, layer: str, group: str, max_age_minutes: int) -> str | None:
    """Why a gate of an earlier run does not count as open now; None where it does."""
    gate = earlier.gates.get(layer, {}).get(group)
    if gate is None or gate["state"] != OPEN:
        words = "; ".join(gate.get("unproved", ())) if gate else ""
        return f"the {layer} gate of {group} was {gate['state'] if gate else 'not evaluated'} in run {earlier.run_id}" + (f" ({words})" if words else "")
    age = (datetime.now(UTC) - datetime.fromisoformat(gate["time"])).total_seconds() / 60
    return f"the {layer} gate of {group} was opened {age:.0f} minutes ago, and {max_age_minutes} are allowed" if age > max_age_minutes else None
