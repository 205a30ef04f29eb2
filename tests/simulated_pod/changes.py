# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes: faults and variants as data, applied to the model.

A change names nodes (``host: gpu05``, ``switch: leaf03``; ``*`` for all), optionally a part of them (``rail: 3``,
``gpu: 2``, ``port: Ethernet12/1``, ``session: spine02``; ``*`` for all), and what to ``set`` (attributes of the model)
or which ``tool`` misbehaves (attributes of Tool). ``pod: '*'`` changes what is of the whole pod.
"""

from __future__ import annotations

import difflib
import fnmatch
import functools
import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.yaml_text import from_yaml

from .model import Pod, Tool

HERE = Path(__file__).parent
# Faults of an InfiniBand pod are in a folder of their own, since they say nothing on another.
FOLDERS = ("faults", "faults_infiniband", "faults_nvl72", "variants")
# Incidents are told apart, since a fault is small and says what it breaks, and an incident is what somebody met.
INCIDENTS = HERE.parent / "incidents"
PARTS = {"rail": ("rails", "index"), "leg": ("legs", "netdev"), "gpu": ("gpus", "index"), "port": ("ports", "name"), "session": ("sessions", "peer")}


@functools.cache
def files() -> dict[str, Path]:
    """The file of every fault, variant and incident by its name."""
    return {path.stem: path for path in sorted([*(one for folder in FOLDERS for one in (HERE / folder).glob("*.yml")), *INCIDENTS.glob("*.yml")])}


@functools.cache
def known() -> dict[str, dict[str, t.Any]]:
    """Every fault and variant by name."""
    return {name: from_yaml(path.read_text(encoding="utf-8")) for name, path in files().items() if path.parent != INCIDENTS}


def apply(pod: Pod, names: t.Sequence[str]) -> None:
    """Put faults and variants in force; ``port_at_100g@leaf05`` is one on another node than its own.

    Raises KeyError with the names near it for an unknown one, LookupError for a change that touches nothing.
    """
    all_files = files()
    for asked in names:
        name, _at, node = asked.partition("@")
        if name not in all_files:
            raise KeyError(unknown_name(name, all_files))
        own = from_yaml(all_files[name].read_text(encoding="utf-8"))["changes"]
        for change in moved(own, node) if node else own:
            _change(pod, name, change)


def unknown_name(name: str, all_files: t.Iterable[str]) -> str:
    """That no fault has a name, with the names that are near it."""
    known_names = sorted(all_files)
    near = difflib.get_close_matches(name, known_names, 5, 0.5) or [one for one in known_names if set(name.split("_")) & set(one.split("_"))][:5]
    return f"no fault, variant or incident is called {name!r}" + (f"; near it are {', '.join(near)}" if near else "") + ". `make faults` lists all of them."


def node_of(change: dict[str, t.Any]) -> str:
    """The node, or the pattern of nodes, that a change is of."""
    return str(change.get("host") or change.get("switch") or "")


def moved(changes: list[dict[str, t.Any]], node: str) -> list[dict[str, t.Any]]:
    """The changes, with those of the first one's node on another node."""
    own = node_of(changes[0])
    return [{**change, "host" if "host" in change else "switch": node} if node_of(change) == own else change for change in changes]


def fits(pod: Pod, name: str) -> bool:
    """Whether a pod has what each change of a fault or variant is of: a small pod lacks the nodes of some."""
    return all(_targets(pod, change) for change in known()[name]["changes"])


def _targets(pod: Pod, change: dict[str, t.Any]) -> list[t.Any]:
    """The parts of the model that a change is of."""
    if "pod" in change:
        return [pod]
    pool: dict[str, t.Any] = dict(pod.hosts if "host" in change else pod.switches)
    targets: list[t.Any] = [node for node_name, node in pool.items() if fnmatch.fnmatchcase(node_name, node_of(change))]
    for part, (attribute, key) in PARTS.items():
        if part in change:
            targets = [one for node in targets for one in getattr(node, attribute) if fnmatch.fnmatchcase(str(getattr(one, key)), str(change[part]))]
    return targets


def _change(pod: Pod, name: str, change: dict[str, t.Any]) -> None:
    targets = _targets(pod, change)
    if not targets:
        raise LookupError(f"{name}: nothing in this pod is {change}")
    for target in targets:
        for attribute, value in change.get("set", {}).items():
            _set(target, attribute, value)
        if "tool" in change:
            target.tools.append(Tool(**change["tool"]))


def _set(target: t.Any, attribute: str, value: t.Any) -> None:
    current = getattr(target, attribute)
    setattr(target, attribute, {**current, **value} if isinstance(current, dict) and isinstance(value, dict) else value)
