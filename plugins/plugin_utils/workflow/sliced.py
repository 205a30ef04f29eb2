# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs of a pod that was validated in planned slices: which are there, and what they cover of the paths between slices.

``slices.json`` names slices and seams; beside it each has a directory of its name, with the pod's runs below it. A run that is missing,
cannot be read, was opened before the plan, or judges other gate groups than planned is a reason for a no-go.
"""

from __future__ import annotations

import itertools
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ..evaluate.gates import OPEN, PASSABLE
from ..evaluate.layer_input import ANSWERED
from ..pod.plan import Plan
from ..pod.tiers import SPINE, SUPER_SPINE
from ..run.errors import RunError
from ..run.slicing import WHOLE_LAYERS, Sliced, only_spines, pinged_and_loaded, read_plan_of_slices, slices_loaded, slices_pinged
from .kept_slice import Slice, read_slice
from .lean_slices import lean

# What a spine's own counters say of it under incasts across gate groups.
SPINE_CHECK = "spines_balanced"
PASSED = ("pass", "warn")


@dataclass
class SlicedRuns:
    """The runs of a plan by the name of their slice, seam or layer, and why any of them cannot be used."""

    plan: Sliced
    slices: dict[str, Slice] = field(default_factory=dict)
    seams: dict[str, Slice] = field(default_factory=dict)
    whole: dict[str, Slice] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def runs(self) -> dict[str, Slice]:
        """All of them."""
        return {**self.slices, **self.seams, **self.whole}


@dataclass
class Coverage:
    """What the seams cover: pairs of slices, spines and rails as how many of how many; and the most hosts of one run, of how many.

    missing: what a go needs besides, in words.
    """

    pairs: tuple[int, int] = (0, 0)
    spines: tuple[int, int] = (0, 0)
    rails: tuple[int, int] = (0, 0)
    hosts: tuple[int, int] = (0, 0)
    missing: list[str] = field(default_factory=list)

    def words(self) -> str:
        """In one line; without what the layers that were asked for do not load."""
        return ", ".join(
            f"{words} {number} of {of}"
            for words, (number, of) in (
                ("seams between slices tested", self.pairs), ("spines crossed", self.spines), ("rails crossed", self.rails),
                ("largest run: hosts", self.hosts),
            )
            if of
        )  # fmt: skip


def read_sliced(path: Path, recheck: bool) -> SlicedRuns:
    """The plan of a sliced validation, and its runs.

    Raises RunError where the plan cannot be read: without it the runs that there must be are not known.
    """
    found = SlicedRuns(read_plan_of_slices(path))
    for names, into, needed in ((found.plan.slices, found.slices, True), (found.plan.seams, found.seams, True), (WHOLE_LAYERS, found.whole, False)):
        for name in names:
            place = path.parent / name / found.plan.pod / "latest"
            if not needed and not place.exists():
                continue
            try:
                into[name] = lean(read_slice(place, recheck), found.runs().values())
                into[name].part = name
            except RunError as error:
                found.wrong.append(f"{name} has no run that can be read: {error}")
    for name, one in found.runs().items():
        found.wrong += _unlike_plan(found.plan, name, one)
    return found


def _unlike_plan(sliced: Sliced, name: str, one: Slice) -> t.Iterator[str]:
    groups = {**sliced.slices, **sliced.seams}.get(name, list(one.plan.groups))
    judged = [group for group, scope in one.state.scope.items() if scope == "in"]
    if set(judged) != set(groups) or "partly" in one.state.scope.values():
        yield f"run {one.name} judges {', '.join(judged) or 'no gate group'}, and {', '.join(groups)} were planned"
    for what in ("pod", "digest", "version"):
        if getattr(one.state, what) != getattr(sliced, what):
            yield f"run {one.name} has another {what} than the plan of the slices: {getattr(one.state, what)}, not {getattr(sliced, what)}"
    if one.state.opened < sliced.planned:
        yield f"run {one.name} was opened at {one.state.opened}, before the slices were planned at {sliced.planned}"
    if sorted(group for its in sliced.slices.values() for group in its) != sorted(one.plan.groups):
        yield "the slices do not have every gate group of the plan once"


def whole_reasons(runs: SlicedRuns) -> t.Iterator[str]:
    """Why a run of one layer over all hosts is not the proof of it that it claims to be."""
    for layer, one in runs.whole.items():
        if one.state.layers != [layer] or one.state.only != layer or one.state.focus is None or one.state.focus.nodes or one.state.focus.check:
            yield f"{layer}: run {one.name} is no run of {layer} over all hosts"


def stopped_reasons(runs: SlicedRuns, needed: t.Sequence[str]) -> list[str]:
    """The gates at which a seam, or a layer over all hosts, stopped."""
    return [words for _name, words in _not_in(runs, needed, PASSABLE)]


def _not_in(runs: SlicedRuns, needed: t.Sequence[str], states: t.Container[str]) -> list[tuple[str, str]]:
    """By group, the lowest gate of each seam and layer over all hosts that is in none of some states: the run's name, and words."""
    seams = [(name, one, needed, runs.plan.seams[name]) for name, one in runs.seams.items()]
    whole = [(layer, one, [layer], list(one.plan.groups)) for layer, one in runs.whole.items()]
    found = []
    for name, one, layers, groups in (*seams, *whole):
        for group in groups:
            lowest = next(((layer, state) for layer in layers if (state := one.gate(layer, group)) not in states), None)
            if lowest is not None:
                found.append((name, f"{name}: {group} is {lowest[1].replace('_', ' ')} at {lowest[0]}"))
    return found


def coverage_of(runs: SlicedRuns, needed: t.Sequence[str]) -> Coverage:
    """What the runs cover, where none of them stopped at a gate.

    The rounds of a load follow from the plan and its members, and an open gate has a result of each of them: so the pairs come from the plan.
    A seam with a gate that lets it pass and is not open, such as one of loads that were left out, covers none.
    """
    sliced = runs.plan
    plan = next(iter(runs.slices.values())).plan
    wanted = {frozenset(pair) for pair in itertools.combinations(sliced.slices, 2)}
    found = Coverage(hosts=(_largest(runs, plan), sum(len(hosts) for hosts in plan.groups.values())))
    unproved = _not_in(runs, needed, (OPEN,))
    found.missing += [words for _name, words in unproved]
    if not wanted or "routing" not in needed:
        return found
    met, rails = set[frozenset[str]](), set[int]()
    for name in runs.seams.keys() - {name for name, _words in unproved}:
        met |= (pinged_and_loaded if "rdma" in needed else slices_pinged)(plan, sliced, sliced.seams[name])
        rails |= slices_loaded(plan, sliced, sliced.seams[name])[1]
    found.pairs = (len(met & wanted), len(wanted))
    found.missing += [f"no seam tests the paths between {' and '.join(sorted(pair))}" for pair in sorted(wanted - met, key=sorted)]
    every = {rail["index"] for rail in plan.rails()}
    if "rdma" in needed:
        found.rails = (len(rails & every), len(every))
        found.missing += [f"no seam loads rail {index}" for index in sorted(every - rails)]
    spines = [node.name for node in plan.nodes.values() if node.role in (SPINE, SUPER_SPINE)]
    uncrossed = [spine for spine in spines if not any(_crosses(one, sliced.seams[name], spine, needed) for name, one in runs.seams.items())]
    found.spines = (len(spines) - len(uncrossed), len(spines))
    found.missing += [f"no seam is shown to cross {spine}" for spine in uncrossed]
    found.missing += [f"{layer} was not run over all hosts at once" for layer in WHOLE_LAYERS if layer in needed and layer not in runs.whole]
    return found


def _crosses(one: Slice, groups: t.Sequence[str], spine: str, needed: t.Sequence[str]) -> bool:
    """Whether a spine carries traffic of a seam: by its own counters under incasts, or as the one way; below the loads it is only judged."""
    layer, check = ("congestion", SPINE_CHECK) if "congestion" in needed else ("routing", ANSWERED)
    records = one.judged[layer]["verdicts"] if layer in one.judged else []
    if any(record["check"] == check and record["host"] == spine and record["verdict"] in PASSED for record in records):
        return True
    return layer == "congestion" and spine in only_spines(one.plan, groups)


def _largest(runs: SlicedRuns, plan: Plan) -> int:
    return max(sum(len(plan.groups[group]) for group, scope in one.state.scope.items() if scope == "in") for one in runs.runs().values())
