# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventories that say the same in another order, and ones that say too much."""

from __future__ import annotations

import random
import re
import typing as t
from pathlib import Path

import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import PLACE

RANGE = re.compile(r"(.*)\[(\d+):(\d+)\](.*)")
ROLE_GROUPS = ("gpu_hosts", "leaves", "spines")


def shuffle(directory: Path, noise: random.Random) -> None:
    """Write hosts, groups, gate groups and the rows of the wiring plan in another order, and some cables from their other end."""
    hosts = yaml.safe_load((directory / "hosts.yml").read_text(encoding="utf-8"))
    (directory / "hosts.yml").write_text(yaml.safe_dump(_shuffled(hosts, noise), sort_keys=False), encoding="utf-8")
    size = directory / "group_vars" / "all" / "size.yml"
    values = yaml.safe_load(size.read_text(encoding="utf-8"))
    noise.shuffle(values["pod_gate_groups"])
    size.write_text(yaml.safe_dump(values), encoding="utf-8")
    header, *rows = (directory / PLACE).read_text(encoding="utf-8").splitlines()
    noise.shuffle(rows)
    columns = header.split(",")
    turned = [columns.index({"a": "b", "b": "a"}[name[0]] + name[1:]) if name[1:2] == "_" else number for number, name in enumerate(columns)]
    rows = [",".join(row.split(",")[number] for number in turned) if noise.random() < 0.5 else row for row in rows]
    (directory / PLACE).write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


def _shuffled(value: t.Any, noise: random.Random) -> t.Any:
    if not isinstance(value, dict):
        return value
    pairs = [(name, _shuffled(own, noise)) for key, own in value.items() for name in _names(str(key))]
    noise.shuffle(pairs)
    return dict(pairs)


def _names(key: str) -> list[str]:
    """The hosts of a range one by one."""
    found = RANGE.fullmatch(key)
    if found is None:
        return [key]
    before, first, last, after = found.groups()
    return [f"{before}{number:0{len(first)}}{after}" for number in range(int(first), int(last) + 1)]


def add_role(directory: Path, noise: random.Random) -> str:
    """Put a node into a second role group, itself or by a group below it; returns what was done."""
    hosts = yaml.safe_load((directory / "hosts.yml").read_text(encoding="utf-8"))
    groups = hosts["all"]["children"]
    own = noise.choice(ROLE_GROUPS)
    other = noise.choice([name for name in ROLE_GROUPS if name != own])
    node = noise.choice(list(_hosts_of(groups[own])))
    if noise.random() < 0.5:
        groups[other].setdefault("hosts", {})[node] = None
    else:
        groups[other].setdefault("children", {})["also"] = {"hosts": {node: None}}
    (directory / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False), encoding="utf-8")
    return f"{node} of {own} also in {other}"


def _hosts_of(group: dict[str, t.Any]) -> t.Iterator[str]:
    for key in group.get("hosts") or {}:
        yield from _names(str(key))
    for child in (group.get("children") or {}).values():
        yield from _hosts_of(child or {})
