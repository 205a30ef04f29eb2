# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeds that need no processes: the simulated pod is read in this one, and all else is the code of a run.

What is done to the pod, to the inventory or to the files of a run decides whether a go is allowed; no verdict of the collection does.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.needed_readings import needed_readings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for, query_commands
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused, RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import collection_version
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.evaluate_layer import evaluate_layer
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.kept_slice import read_slice
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.merge import merge_slices
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import answers, changes, inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Pod, Tool

from .edits import Edit, edit
from .inventories import add_role, shuffle
from .outcomes import Outcome

# Three hosts a rack, since an incast takes two senders.
SIZE: dict[str, t.Any] = {"racks": 2, "hosts_per_rack": 3, "spines": 2}
RACKS = ("rack_01", "rack_02")
EXPECTATIONS = {"pod_name": "chaos", "pod_soak_seconds": 1, "pod_gate_max_age_minutes": 10080}
SHUFFLED = 0.2
# A tool that ends with an error, one that may not be run, and one that prints nothing and reports success.
REFUSES = {"how": "says", "stderr": "Permission denied\n", "rc": 1}
SILENT = {"how": "says"}
TOOLS: tuple[dict[str, t.Any], ...] = ({"how": "hangs"}, {"how": "dies_halfway"}, {"how": "missing"}, REFUSES, SILENT)
# ``sysctl -e`` prints nothing of a setting that the kernel does not have, and grep nothing of files that are empty, which are responses.
MAY_BE_SILENT = ("sysctl", "grep")
Hold = t.Callable[[Path, str, t.Callable[[str], str | None]], object]


def usable_faults(pod: Pod) -> dict[str, dict[str, t.Any]]:
    """The faults that can be read without processes, in a pod of the usual expectations that has the nodes of them."""
    return {
        name: fault
        for name, fault in changes.known().items()
        if "expect" in fault and not name.startswith(("ib_", "nvl_")) and not {"loads", "processes", "expectations"} & set(fault) and changes.fits(pod, name)
    }


class Bench:
    """The pod of many seeds, and the runs that several of them begin with."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.pods = inprocess.Pods(inventory(directory / "inventory"))
        self.faults = usable_faults(self.pods.pod())
        self._runs: dict[tuple[str, ...], Path] = {}

    def first_run(self, fault: str | None, top: str, groups: t.Sequence[str], into: Path) -> Path:
        """A copy of a run of the pod with a fault in force, or none, which shares its files with the run."""
        key = (fault or "", top, *groups)
        if key not in self._runs:
            run = self.directory / f"run-{len(self._runs)}"
            self.pods.climb(self.pods.pod([fault] if fault else []), run, groups=groups, pod_to_layer=top)
            self._runs[key] = run
        return Path(shutil.copytree(self._runs[key], into / self._runs[key].name, copy_function=os.link))


def inventory(directory: Path, **expectations: t.Any) -> Path:
    """The inventory of the pod."""
    return layout.write(directory, **SIZE, expectations={**EXPECTATIONS, "pod_to_layer": inprocess.LAYERS[-1], **expectations})


@dataclass
class Draw:
    """A seed's random numbers, its pods, its directory, how high it climbs, and what comes of it."""

    noise: random.Random
    bench: Bench
    pods: inprocess.Pods
    into: Path
    top: str
    outcome: Outcome
    runs: int = 0
    edits: list[Edit] = field(default_factory=list)

    def says(self, words: str, met: bool, kind: str) -> None:
        """Note what was done, and whether it came into force."""
        self.outcome.words += f"; {words}"
        self.outcome.met += [kind] * met

    def climb(self, pod: Pod, **given: t.Any) -> tuple[str, Path]:
        """A run: its verdict, or ``refused``, and its directory."""
        self.runs += 1
        run = self.into / f"own-{self.runs}"
        try:
            return self.pods.climb(pod, run, **{"pod_to_layer": self.top, **given})["verdict"], run
        except (Refused, RunError):
            return "refused", run


def _numbers(number: int) -> random.Random:
    # A text as seed: the first numbers of near seeds are alike otherwise.
    return random.Random(f"chaos {number}")


def kind_of(number: int) -> str:
    """What is done in a seed."""
    return _numbers(number).choice(list(KINDS))


def run_seed(number: int, bench: Bench, into: Path) -> Outcome:
    """What comes of a seed that needs no processes.

    into: an empty directory of its own.
    """
    noise = _numbers(number)
    kind = noise.choice(list(KINDS))
    top = noise.choice(inprocess.LAYERS[2:])
    outcome = Outcome(f"seed {number}: {kind} up to {top}", [kind])
    pods = bench.pods
    if kind not in WITHOUT_INVENTORY and noise.random() < SHUFFLED:
        outcome.drawn.append("shuffled inventory")
        outcome.met.append("shuffled inventory")
        directory = inventory(into / "inventory")
        shuffle(directory, noise)
        pods = inprocess.Pods(directory)
    if top == inprocess.LAYERS[-1] and kind not in WITHOUT_INVENTORY:
        outcome.drawn.append("load of congestion")
        outcome.met.append("load of congestion")
    KINDS[kind](Draw(noise, bench, pods, into, top, outcome))
    return outcome


def _healthy(draw: Draw) -> None:
    verdict, _run = draw.climb(draw.pods.pod(seed=draw.noise.randrange(1000)))
    draw.says("nothing", True, "healthy")
    draw.outcome.judge(verdict, allowed=True, expected=True, what="a healthy pod")


def _fault(draw: Draw) -> None:
    """Faults of the catalogue: each says itself which gates it closes."""
    faults = draw.bench.faults
    names = draw.noise.sample(sorted(faults), draw.noise.randint(1, 2))
    found = [faults[name]["expect"] for name in names]
    met = any(one["groups"] and LAYERS.index(one["layer"]) <= LAYERS.index(draw.top) for one in found)
    verdict, _run = draw.climb(draw.pods.pod(names))
    draw.says(" and ".join(names), met, "fault")
    draw.outcome.judge(verdict, allowed=not met, expected=not met, what=f"a pod with {' and '.join(names)}")


def _tool(draw: Draw) -> None:
    """A command of a node hangs, dies, is missing, is refused, or prints nothing."""
    pod = draw.pods.pod()
    name = draw.noise.choice(sorted(pod.nodes))
    printed = answers.of_node(pod, draw.pods.plan, name)
    # What prints nothing, too, cannot be told from a tool that prints nothing.
    asked = [argv for argv in _commands(draw, name) if argv in printed and printed[argv].stdout]
    argv = draw.noise.choice(sorted(asked))
    how = draw.noise.choice([one for one in TOOLS if one != SILENT or argv[0] not in MAY_BE_SILENT])
    pod.nodes[name].tools.append(Tool(argv[0], arguments="" if how["how"] == "missing" else " ".join(argv), **how))
    verdict, _run = draw.climb(pod)
    draw.says(f"{' '.join(argv)} on {name} {how}", True, "tool")
    draw.outcome.judge(verdict, allowed=False, expected=False, what=f"a pod where {' '.join(argv)} on {name} {how}")


def _commands(draw: Draw, name: str) -> set[tuple[str, ...]]:
    """The commands of a node without which some check of the layers that are climbed cannot be judged."""
    place = draw.pods.plan.nodes[name]
    checks = [check for layer in LAYERS[: LAYERS.index(draw.top) + 1] for check in REGISTRY[layer].values() if check.fabric in (None, "roce")]
    needed = {reading for check in checks if place.kind in check.kinds for _phase, reading, parameter in check.asked if parameter not in check.optional}
    names = [one for one in sorted(needed) if place.kind in catalogue()[one].kinds and not catalogue()[one].load]
    asks, _apart = queries_for(names, {"platform": place.platform, "values": place.values, "items": draw.pods.plan.items(name)})
    return {tuple(command["alternatives"][0]["argv"]) for ask in asks for command in query_commands([ask])}


def _after(layer: str, act: t.Callable[[], object]) -> Hold:
    """A gate after which something happens to the pod."""

    def hold(run: Path, name: str, silent: t.Callable[[str], str | None]) -> object:
        found = evaluate_layer(run, name, silent)
        if name == layer:
            act()
        return found

    return hold


def _unreachable(draw: Draw) -> None:
    """A node that no longer responds from some layer on."""
    pod = draw.pods.pod()
    name = draw.noise.choice(sorted(pod.nodes))
    layers = LAYERS[: LAYERS.index(draw.top) + 1]
    last = draw.noise.choice(layers[:-1])
    above = layers[layers.index(last) + 1 :]
    met = any(needed_readings(layer, draw.pods.plan.nodes[name].kind, draw.pods.plan.nodes[name].values, "now") for layer in above)
    verdict, _run = draw.climb(pod, hold=_after(last, lambda: setattr(pod.nodes[name], "unreachable", "ssh: No route to host")))
    draw.says(f"{name} after {last}", met, "unreachable")
    draw.outcome.judge(verdict, allowed=not met, expected=not met, what=f"a pod where {name} is unreachable after {last}")


def _reading_lost(draw: Draw) -> None:
    """What a node responded in one phase is not there when the layer is evaluated."""
    lost: list[str] = []
    layer = draw.noise.choice(LAYERS[: LAYERS.index(draw.top) + 1])

    def hold(run: Path, name: str, silent: t.Callable[[str], str | None]) -> object:
        paths = [path for phase in ("before", "now") for path in sorted((run / "readings" / layer / phase).glob("*.json"))]
        paths = [path for path in paths if any(one["status"] == "ok" for one in json.loads(path.read_bytes())["readings"].values())]
        if name == layer and paths:
            path = draw.noise.choice(paths)
            path.unlink()
            lost.append(str(path.relative_to(run)))
        return evaluate_layer(run, name, silent)

    verdict, _run = draw.climb(draw.pods.pod(), hold=hold)
    draw.says(", ".join(lost), bool(lost), "reading lost")
    draw.outcome.judge(verdict, allowed=not lost, expected=not lost, what=f"a run without {', '.join(lost)}")


def _boot(draw: Draw) -> None:
    """A node boots between two of its responses in a run."""
    pod = draw.pods.pod()
    name = draw.noise.choice(sorted(pod.nodes))
    after = draw.noise.randrange(8)
    pod.nodes[name].boots_after = after
    verdict, run = draw.climb(pod)
    met = 0 < after < _responses(run, name)
    draw.says(f"{name} after {after} responses", met, "boot")
    draw.outcome.judge(verdict, allowed=not met, expected=not met, what=f"a run in which {name} booted after {after} responses")


def _responses(run: Path, name: str) -> int:
    """How often a node told of its boot in a run."""
    result = [json.loads(path.read_bytes()) for path in run.glob(f"readings/*/*/{name}.json")]
    return sum(one["contacted"] and (one["boot_id"] is not None or one["uptime_seconds"] is not None) for one in result)


def _resumed(draw: Draw, first: Path, pod: Pod, below: str, **given: t.Any) -> tuple[str, Path]:
    return draw.climb(pod, earlier=first if (first / "report.json").is_file() else None, pod_from_layer=LAYERS[LAYERS.index(below) + 1], **given)


def _boot_before_resume(draw: Draw) -> None:
    """A node boots between a run and the one that is resumed on its gates; in some seeds none does."""
    below = draw.noise.choice([layer for layer in LAYERS[: LAYERS.index(draw.top)] if layer != LAYERS[0]])
    verdict, first = draw.climb(draw.pods.pod(), pod_to_layer=below)
    draw.outcome.judge(verdict, allowed=True, expected=True, what=f"a healthy pod up to {below}")
    pod = draw.pods.pod()
    name = draw.noise.choice(sorted(pod.nodes)) if draw.noise.random() < 0.75 else ""
    if name:
        pod.nodes[name].boots_after = 0
    verdict, run = _resumed(draw, first, pod, below)
    met = bool(name) and _responses(first, name) > 0 and _responses(run, name) > 0
    draw.says(f"{name or 'no node'} after {below}", met, "boot before resume")
    draw.outcome.judge(verdict, allowed=not met, expected=not met, what=f"a run resumed above {below} where {name or 'no node'} booted")


def _two_roles(draw: Draw) -> None:
    directory = inventory(draw.into / "inventory")
    shuffle(directory, draw.noise)
    words = add_role(directory, draw.noise)
    try:
        pods = inprocess.Pods(directory)
        verdict = pods.climb(pods.pod(), draw.into / "run")["verdict"]
    except Refused:
        verdict = "refused"
    draw.says(words, True, "two roles")
    draw.outcome.judge(verdict, allowed=False, expected=False, what=f"an inventory with {words}")


def _first_fault(draw: Draw, top: str, share: float) -> str | None:
    """A fault that closes a gate up to a layer, in some seeds."""
    found = {name: fault["expect"] for name, fault in sorted(draw.bench.faults.items())}
    closing = [name for name, expect in found.items() if expect["groups"] and LAYERS.index(expect["layer"]) <= LAYERS.index(top)]
    return draw.noise.choice(closing) if draw.noise.random() < share else None


def _edited(draw: Draw, runs: t.Sequence[Path], evidence: bool) -> bool:
    """Edit some runs; returns whether a part of their proof is no longer there."""
    for _number in range(draw.noise.choice((0, 1, 1, 1, 2, 3))):
        run = draw.noise.choice(runs)
        try:
            draw.edits.append(edit(run, draw.noise, evidence))
        except (ValueError, IndexError):
            # An earlier edit has left nothing that can be edited.
            break
    return any(one.removes_proof for one in draw.edits)


def _edited_resume(draw: Draw) -> None:
    """A run that is resumed on another whose files were edited."""
    below = draw.noise.choice([layer for layer in LAYERS[: LAYERS.index(draw.top)] if layer != LAYERS[0]])
    fault = _first_fault(draw, below, 0.6)
    first = draw.bench.first_run(fault, below, (), draw.into)
    removed = _edited(draw, [first], False)
    what = f"a run resumed above {below} on one with {fault}, edited: {', '.join(one.words for one in draw.edits)}"
    verdict, _run = _resumed(draw, first, draw.pods.pod(), below)
    draw.says(what, bool(draw.edits), "edited resume")
    draw.outcome.judge(verdict, allowed=not (fault or removed), expected=not (fault or draw.edits), what=what)


def _edited_merge(draw: Draw) -> None:
    """Slices of a pod whose files were edited, and the verdict over them."""
    top = draw.noise.choice(("links", "routing"))
    closing, recheck = _first_fault(draw, top, 0.6), draw.noise.random() < 0.3
    slices = [draw.bench.first_run(closing, top, [rack], draw.into) for rack in RACKS]
    removed = _edited(draw, slices, recheck)
    try:
        found = [read_slice(run, recheck) for run in slices]
        verdict = merge_slices(found, datetime.now(UTC), 1440, collection_version(), recheck).verdict
    except RunError:
        verdict = "refused"
    what = f"slices with {closing}, {'rechecked, ' if recheck else ''}edited: {', '.join(one.words for one in draw.edits)}"
    draw.says(what, bool(draw.edits), "edited merge")
    draw.outcome.judge(verdict, allowed=not (closing or removed), expected=False, what=what)
    if not (closing or draw.edits) and verdict != {"links": "go", "routing": "no_fault_seen"}[top]:
        draw.outcome.wrong.append(f"FALSE NO-GO: {what} are {verdict}")


KINDS: dict[str, t.Callable[[Draw], None]] = {
    "healthy": _healthy, "fault": _fault, "tool": _tool, "unreachable": _unreachable, "reading lost": _reading_lost, "boot": _boot,
    "boot before resume": _boot_before_resume, "two roles": _two_roles, "edited resume": _edited_resume, "edited merge": _edited_merge,
}  # fmt: skip
# They write their own, or begin with runs that several seeds share.
WITHOUT_INVENTORY = ("two roles", "edited resume", "edited merge")
