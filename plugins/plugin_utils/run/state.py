# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a run: one JSON document, from its opening to its verdict."""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass, field, fields

from ..collect.types import SharedSource
from ..evaluate.gates import NOT_REACHED, OUT_OF_SCOPE
from .documents import GateRecord, Quarantined
from .errors import RunError
from .pod_only import Selection


@dataclass
class State:
    """How far a run is.

    members: nodes by layer; gates: layer to group to Gate as a dict with its time; quarantined: host to group, layer and check.
    boots: node to what identified its last boot when the first gate that stands on it was opened, with that gate's layer.
    scope: gate group to ``in``, or why it is not; silent: nodes that no one will ask, and why.
    helpers: the hosts that may be loaded with others, or read their fabric, where ``pod_only`` names some.
    plans_only: no node is asked and nothing is judged: the run only prints the plans of its loads, as in check mode.
    ended: when the verdict was given; origin: who started the run, where and how (``provenance.py``); plan_digest: of ``plan.json``.
    shared: switch to the slice that read it for this run, with the greatest age that it had.
    """

    pod: str
    run_id: str
    depth: str
    mode: str
    opened: str
    digest: str
    version: str
    only: str = ""
    focus: Selection | None = None
    layers: list[str] = field(default_factory=list)
    scope: dict[str, str] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)
    helpers: list[str] = field(default_factory=list)
    members: dict[str, list[str]] = field(default_factory=dict)
    gates: dict[str, dict[str, GateRecord]] = field(default_factory=dict)
    quarantined: dict[str, Quarantined] = field(default_factory=dict)
    boots: dict[str, dict[str, t.Any]] = field(default_factory=dict)
    replay: str = ""
    check_mode: bool = False
    plans_only: bool = False
    finished: bool = False
    ended: str = ""
    origin: dict[str, t.Any] = field(default_factory=dict)
    plan_digest: str = ""
    shared: dict[str, SharedSource] = field(default_factory=dict)

    def dump(self) -> dict[str, t.Any]:
        """As JSON."""
        return asdict(self)


def load_state(document: dict[str, t.Any]) -> State:
    """The state that ``dump`` wrote.

    Raises RunError where another version of the collection wrote it, with other fields.
    """
    if unknown := sorted(set(document) ^ {one.name for one in fields(State)}):
        raise RunError(f"state.json of run {document.get('run_id')} is of another version of the collection: {', '.join(unknown[:3])}")
    focus = document.pop("focus")
    return State(**document, focus=Selection(**focus) if focus else None)


def gate_state(state: State, layer: str, group: str) -> str:
    """``open``, ``closed``, ``not_run``, ``not_proved``, ``not_reached`` or ``out_of_scope``."""
    if state.scope.get(group) == "out":
        return OUT_OF_SCOPE
    gate = state.gates.get(layer, {}).get(group)
    return gate["state"] if gate else NOT_REACHED
