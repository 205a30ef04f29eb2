# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a run begins: at preflight, or above the gates of an earlier run whose own verdicts come to them."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ..checks import LAYERS
from ..evaluate.gates import OPEN
from ..pod.plan import Plan
from ..run.errors import Refused
from ..run.membership import enter_first_layer
from ..run.planned_pod import layers_to_run
from ..run.reader import RunReader
from ..run.state import State
from .kept_slice import read_slice


def enter_run(plan: Plan, state: State, values: t.Mapping[str, t.Any], earlier: Path | None) -> None:
    """Set which nodes are evaluated at the first layer, above what an earlier run proved where ``pod_from_layer`` says so.

    earlier: the directory of the latest run, where there is one; only a run that is resumed reads it.
    Raises Refused where no gate group can continue or the earlier run does not agree with itself, and RunError where a file of it
    is malformed.
    """
    first = layers_to_run(values)[0]
    if earlier is None or first == LAYERS[0] or state.focus is not None:
        enter_first_layer(plan, state, values, None)
        return
    enter_first_layer(plan, state, values, *RunReader(earlier).resumable())
    if (words := _disagreement(earlier)) is not None:
        raise Refused([f"argument 'pod_from_layer': {first} needs the gates below it from run {earlier.name}, and {words}; start from preflight"])


def _disagreement(run: Path) -> str | None:
    """Where a run's gates are not what its verdicts come to; its report may be older than both, where the run was killed."""
    one = read_slice(run, reported=False)
    if one.wrong:
        return f"that run does not agree with itself: {one.wrong[0]}"
    opened = [(layer, group) for layer, gates in one.state.gates.items() for group, gate in gates.items() if gate["state"] == OPEN]
    return next((f"no verdict proves the {layer} gate of {group}" for layer, group in opened if one.gate(layer, group) != OPEN), None)
