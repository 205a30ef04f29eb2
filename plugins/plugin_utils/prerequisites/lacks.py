# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node lacks for the layers of the pyramid: of a host its programs and privileges, of a switch the commands that it refused."""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass, field

from ..checks import LAYERS, Check
from ..checks.guests import GUEST
from ..checks.registry import REGISTRY
from ..collect.queries import applies
from ..loads.containers import ON_THE_HOST
from ..readings import reading
from ..readings.catalogue import Reading, Source
from ..readings.nic_drivers import Form, form_of, is_virtual_function
from ..readings.rows import Rows
from .tools import TORCH, tools

LOAD_TOOLS = {"congestion": ("ib_write_bw",), "rdma": ("ib_write_bw", "ib_write_lat"), "collectives": (TORCH,), "training": (TORCH,)}
LAUNCHERS = ("srun", "mpirun")
ROOT = "root"


@dataclass
class Lack:
    """One thing that a node lacks.

    what: a program, several of which one is enough (``mlxconfig or mstconfig``), torch, root, or a command of a switch; why: in words, what brings it
    or what the node answered; required: by layer, the checks that keep their gate closed without it; other: the same of other checks.
    """

    what: str
    why: str
    required: dict[str, list[str]] = field(default_factory=dict)
    other: dict[str, list[str]] = field(default_factory=dict)

    def dump(self) -> dict[str, t.Any]:
        """As data of a task's result."""
        return asdict(self)

    def needed_by(self, layer: str, name: str, required: bool) -> None:
        """Count a check, or a load, that needs it."""
        names = (self.required if required else self.other).setdefault(layer, [])
        if name not in names:
            names.append(name)


def host_lacks(values: t.Mapping[str, t.Any], installed: Rows, reads_fabric: bool = False) -> list[Lack]:
    """What a host lacks.

    values: its expectations; installed: its rows of the reading of that name; reads_fabric: whether it reads an InfiniBand fabric for all nodes.
    A check that none of its NICs' drivers can feed needs nothing, nor does one of what a planned guest cannot report.
    """
    found = {row["name"] for row in installed if row["kind"] in ("program", TORCH) and row["found"]}
    if any(row["kind"] == TORCH and row["found"] for row in installed):
        found.add(TORCH)
    root = any(row["kind"] == "user" and row["found"] == "0" for row in installed)
    drivers = _drivers(installed)
    lacks: dict[str, Lack] = {}
    for layer, check in _checks_of(values, "host"):
        if drivers and all(not driver.cannot_report.keys().isdisjoint(check.meanings) for driver in drivers):
            continue
        if check.not_in_guest and values["pod_virtualization"] == GUEST:
            continue
        for what in _needed(check):
            for lack in _of_reading(what, values, found, root) if not what.of_fabric else ():
                lacks.setdefault(lack.what, lack).needed_by(layer, check.id, check.is_required(values))
    for layer, check, what in _of_fabric(values) if reads_fabric else ():
        for lack in _of_reading(what, values, found, root):
            lacks.setdefault(lack.what, lack).needed_by(layer, check.id, check.is_required(values))
    for layer, names in LOAD_TOOLS.items():
        launcher = (values["pod_launcher"],) if TORCH in names and values["pod_launcher"] in LAUNCHERS else ()
        # Torch of an image is proved by a container of it, once the runtime is there.
        inside = values["pod_container_runtime"]
        wanted = [inside if name == TORCH and inside != ON_THE_HOST else name for name in (*names, *launcher)]
        for name in wanted:
            if name not in found:
                lacks.setdefault(name, Lack(name, _packages((name,)))).needed_by(layer, "the loads", required=True)
    return list(lacks.values())


def _drivers(installed: Rows) -> list[Form]:
    """The forms of the drivers of a host's RDMA devices."""
    ids = {row["name"]: str(row["found"]).split() for row in installed if row["kind"] == "function"}
    virtual = {name for name, its in ids.items() if len(its) == 2 and is_virtual_function(*its)}
    return [form_of(str(row["found"]), None, row["name"] in virtual) for row in installed if row["kind"] == "driver"]


def switch_lacks(values: t.Mapping[str, t.Any], refused: t.Mapping[str, tuple[str, str]]) -> list[Lack]:
    """What a switch refused; refused: by reading, its command and why there were no rows."""
    lacks: dict[str, Lack] = {}
    for layer, check in _checks_of(values, "switch"):
        for what in _needed(check):
            if what.name in refused:
                command, why = refused[what.name]
                lacks.setdefault(command, Lack(command, why)).needed_by(layer, check.id, check.is_required(values))
    return list(lacks.values())


def switch_readings(values: t.Mapping[str, t.Any], platform: str) -> list[str]:
    """The readings that checks need of a switch and that take no port or address."""
    names = {what.name: what for _layer, check in _checks_of(values, "switch") for what in _needed(check)}
    return [name for name, what in names.items() if what.platforms.get(platform) and not any(source.foreach for source in what.platforms[platform])]


def _checks_of(values: t.Mapping[str, t.Any], kind: str) -> t.Iterator[tuple[str, Check]]:
    for layer in LAYERS:
        for check in REGISTRY[layer].values():
            if kind in check.kinds and check.fabric in (None, values["pod_fabric"]) and check.out_of_place(values) is None:
                yield layer, check


def _needed(check: Check) -> t.Iterator[Reading]:
    """The readings without which a check is unknown, but those of loads and those that a node without their tools lacks by right."""
    for _phase, name, parameter in (*check.asked, *check.of_peers):
        what = reading(name)
        if parameter not in check.optional and not what.load and not what.where_installed:
            yield what


def _of_fabric(values: t.Mapping[str, t.Any]) -> t.Iterator[tuple[str, Check, Reading]]:
    """The readings of a whole InfiniBand fabric that the checks of its hosts and switches are made of."""
    if values["pod_fabric"] == "infiniband":
        for kind in ("host", "switch"):
            for layer, check in _checks_of(values, kind):
                for what in _needed(check):
                    yield from ((layer, check, reading(base)) for base in what.of_fabric.get("infiniband", ()))


def _of_reading(what: Reading, values: t.Mapping[str, t.Any], found: t.Container[str], root: bool) -> t.Iterator[Lack]:
    sources = [one for one in what.platforms.get("linux", ()) if applies(one, values)]
    if not sources:
        return
    there = [one for one in sources if one.tool in found]
    if not there:
        names = tuple(dict.fromkeys(one.tool for one in sources))
        yield Lack(" or ".join(names), _packages(names))
    elif not root and all(_needs_root(one) for one in there):
        yield Lack(ROOT, "set ansible_become; without root these stay unknown")


def _needs_root(source: Source) -> bool:
    return bool(tools()[source.tool].root) and source.tool not in ("ping", "python3")


def _packages(names: t.Sequence[str]) -> str:
    return "; ".join(f"{name}: {tools()[name].packages}" if len(names) > 1 else tools()[name].packages for name in names)
