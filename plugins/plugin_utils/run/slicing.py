# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a pod is cut into slices of gate groups, which runs test the paths between slices, and who owns each switch.

Racks that share leaves stay together where there are enough of such clusters, so that a leaf is read by one slice. A seam is a run over one
gate group of each slice: hosts of different slices ping and load each other in it. Where one such run leaves a pair of slices without a
ping or a pair of rails, a seam of these two slices follows.
"""

from __future__ import annotations

import itertools
import typing as t
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..checks import LAYERS
from ..loads.pairing import rail_rounds
from ..pod.plan import Plan
from ..pod.rail_ports import leaves_of
from ..text.schema import Each
from .errors import Refused, RunError
from .file_schemas import read_document

SCHEMA = 2
# The file of it, beside the runs of its slices.
FILE = "slices.json"
# Where the plans of a pod are, each in a directory named by its time, below the pod's runs directory.
DIRECTORY = "sliced"
# The layers of which all hosts must take part at once for a go; each is a run of its own.
WHOLE_LAYERS = ("collectives", "training")
SLICED = {
    "schema": int,
    **dict.fromkeys(("pod", "digest", "version", "planned"), str),
    "slices": Each(Each(str), dict),
    "seams": Each(Each(str), dict),
    "owners": Each(str, dict),
    "shared": Each(str),
}
Pairs = set[frozenset[str]]


@dataclass
class Sliced:
    """A pod in slices: the gate groups of each slice and of each seam by name, and by switch the slice that owns it.

    planned: when, as ISO 8601 in UTC: no run of it was opened before; shared: the switches that more than one slice uses.
    """

    pod: str
    digest: str
    version: str
    planned: str
    slices: dict[str, list[str]]
    seams: dict[str, list[str]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    shared: list[str] = field(default_factory=list)

    def dump(self) -> dict[str, t.Any]:
        """As JSON."""
        return {"schema": SCHEMA, **asdict(self)}

    def slice_of(self, group: str) -> str | None:
        """The slice that a gate group is in."""
        return next((name for name, groups in self.slices.items() if group in groups), None)


def read_plan_of_slices(path: Path) -> Sliced:
    """A plan as it was written; raises RunError, which names file and field, where it cannot be read."""
    document = read_document(path, SLICED)
    if document["schema"] != SCHEMA:
        raise RunError(f"{path}: field schema must be {SCHEMA}")
    return Sliced(**{name: document[name] for name in Sliced.__dataclass_fields__})


def run_of_plan(place: Path) -> Path:
    """By which run the pod is locked while a plan in ``place`` is carried out on this controller: one of its time, beside the pod's own runs."""
    return place.parent.parent / f"{DIRECTORY}-{place.name}"


def slice_pod(plan: Plan, number: int, digest: str, version: str, planned: str, layers: t.Container[str] = LAYERS) -> Sliced:
    """The pod in so many slices, with its seams.

    layers: those that are run; below routing nothing is tested between slices, and there are no seams. Raises Refused where there are fewer gate groups.
    """
    if not 1 <= number <= len(plan.groups):
        raise Refused([f"argument 'number' must be from 1 to the number of gate groups, which is {len(plan.groups)}, not {number}"])
    clusters = _clusters(plan)
    units = clusters if len(clusters) >= number else [[group] for cluster in clusters for group in cluster]
    slices = {f"slice_{place}": groups for place, groups in enumerate(_parts(plan, units, number), 1)}
    sliced = Sliced(next(iter(plan.nodes.values())).values["pod_name"], digest, version, planned, slices)
    behind = {node.name: plan.affects(node.name) for node in plan.nodes.values() if node.group is None}
    readers = {switch: [name for name, groups in slices.items() if served & set(groups)] for switch, served in behind.items()}
    sliced.owners = {switch: names[0] for switch, names in readers.items()}
    sliced.shared = [switch for switch, names in readers.items() if len(names) > 1]
    sliced.seams = _seams(plan, sliced) if "routing" in layers else {}
    return sliced


def _clusters(plan: Plan) -> list[list[str]]:
    """The gate groups that share a leaf, directly or through others, in their order."""
    found: list[set[str]] = [{group} for group in plan.groups]
    for node in plan.nodes.values():
        if node.role == "leaf" and (served := plan.behind(node.name)):
            joined = [one for one in found if one & served]
            found = [one for one in found if not one & served] + [set().union(*joined)]
    order = {group: place for place, group in enumerate(plan.groups)}
    return sorted((sorted(one, key=order.__getitem__) for one in found), key=lambda one: order[one[0]])


def _parts(plan: Plan, units: t.Sequence[t.Sequence[str]], number: int) -> list[list[str]]:
    """The units in their order as so many parts, of about as many hosts each; none is empty."""
    sizes = [sum(len(plan.groups[group]) for group in unit) for unit in units]
    parts: list[list[str]] = []
    at = 0
    for left in range(number, 0, -1):
        wanted, taken, size = sum(sizes[at:]) / left, 0, 0
        while at + taken < len(units) - (left - 1) and (taken == 0 or size + sizes[at + taken] / 2 <= wanted):
            size += sizes[at + taken]
            taken += 1
        parts.append([group for unit in units[at : at + taken] for group in unit])
        at += taken
    return parts


def _seams(plan: Plan, sliced: Sliced) -> dict[str, list[str]]:
    """The gate groups of each seam: first one group of every slice, then two slices at a time whose hosts have not met."""
    chosen = {name: _representative(plan, groups) for name, groups in sliced.slices.items()}
    seams: dict[str, list[str]] = {}
    if len(chosen) < 2:
        return seams
    seams["seam_1"] = list(chosen.values())
    met = pinged_and_loaded(plan, sliced, seams["seam_1"])
    for one, other in itertools.combinations(chosen, 2):
        if frozenset({one, other}) not in met:
            seams[f"seam_{len(seams) + 1}"] = [chosen[one], chosen[other]]
    return seams


def _representative(plan: Plan, groups: t.Sequence[str]) -> str:
    """The group with the most rails, and of these with the most hosts; the first of equal ones."""
    return max(groups, key=lambda group: (len({rail["index"] for rail in plan.rails(plan.groups[group])}), len(plan.groups[group])))


def pinged_and_loaded(plan: Plan, sliced: Sliced, groups: t.Sequence[str]) -> Pairs:
    """The pairs of slices of which hosts ping each other at routing and load each other at rdma, in a run over some gate groups.

    InfiniBand rails without an address are not pinged: there it is the loads alone.
    """
    loaded = slices_loaded(plan, sliced, groups)[0]
    return loaded & slices_pinged(plan, sliced, groups) if any(rail["address"] for rail in plan.rails()) else loaded


def slices_pinged(plan: Plan, sliced: Sliced, groups: t.Sequence[str]) -> Pairs:
    """The pairs of slices of which hosts ping each other in a run over some gate groups."""
    meshes = plan.meshes([host for group in groups for host in plan.groups[group]])
    return _pairs(plan, sliced, ((host, ping["peer"]) for host, own in meshes.items() for ping in own["ping"]))


def slices_loaded(plan: Plan, sliced: Sliced, groups: t.Sequence[str]) -> tuple[Pairs, set[int]]:
    """The pairs of slices of which rails load each other at rdma in a run over some gate groups, and the rails that do so between slices."""
    rails = plan.rails([host for group in groups for host in plan.groups[group]])
    values = next(iter(plan.nodes.values())).values
    pairs = [pair for one in rail_rounds(rails, values["pod_pairing"], values["pod_topology"]) for pair in one]
    across = [pair for pair in pairs if _of_host(plan, sliced, pair[0]["host"]) != _of_host(plan, sliced, pair[1]["host"])]
    return _pairs(plan, sliced, ((one["host"], other["host"]) for one, other in across)), {rail["index"] for pair in across for rail in pair}


def only_spines(plan: Plan, groups: t.Sequence[str]) -> set[str]:
    """The spines that are the one way between two leaves of some gate groups, so that no hash decides who crosses them."""
    rails = plan.rails([host for group in groups for host in plan.groups[group]])
    leaves = list(dict.fromkeys(leaf for rail in rails for leaf in leaves_of(rail) if leaf in plan.nodes))
    spines = {leaf: {far.node for _near, far in (cable.seen_from(leaf) for cable in plan.at[leaf]) if plan.nodes[far.node].role == "spine"} for leaf in leaves}
    common = (spines[one] & spines[other] for one, other in itertools.combinations(leaves, 2))
    return {spine for both in common if len(both) == 1 for spine in both}


def _of_host(plan: Plan, sliced: Sliced, host: str) -> str | None:
    return sliced.slice_of(plan.nodes[host].group or "")


def _pairs(plan: Plan, sliced: Sliced, hosts: t.Iterable[tuple[str, str]]) -> Pairs:
    found = (frozenset({str(_of_host(plan, sliced, one)), str(_of_host(plan, sliced, other))}) for one, other in hosts)
    return {pair for pair in found if len(pair) == 2}


def render_sliced(plan: Plan, sliced: Sliced) -> str:
    """The slices for a terminal, before anything is run."""
    lines = [f"pod {sliced.pod}: {len(plan.groups)} gate groups in {len(sliced.slices)} slices"]
    for name, groups in sliced.slices.items():
        own = [switch for switch, owner in sliced.owners.items() if owner == name]
        leaves = [switch for switch in own if plan.nodes[switch].role == "leaf"]
        hosts = sum(len(plan.groups[group]) for group in groups)
        lines.append(f"  {name}: {hosts} hosts of {', '.join(groups)}; owns {len(leaves)} leaves and {len(own) - len(leaves)} spines")
    for name, groups in sliced.seams.items():
        lines.append(f"  {name}: {sum(len(plan.groups[group]) for group in groups)} hosts of {', '.join(groups)}")
    if leaves := [switch for switch in sliced.shared if plan.nodes[switch].role == "leaf"]:
        lines.append(f"  {len(leaves)} leaves serve more than one slice, such as {leaves[0]}: their racks are in different slices")
    return "\n".join(lines) + "\n"
