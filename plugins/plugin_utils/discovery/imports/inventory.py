# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An import as an inventory: hosts.yml with groups and addresses, and the wiring plan."""

from __future__ import annotations

import csv
import fnmatch
import io
import re
import typing as t
from collections.abc import Mapping, Sequence

import yaml

from ...pod.cabling import NEEDED, PLACE, read_cabling
from ...text.counting import counted
from ...text.sorting import natural_key
from ..wires import NAME
from .listing import ImportFailed, ListedNode, Listing

# By group, patterns of a node's role, or where it has none, of its name.
GROUPS: dict[str, tuple[str, ...]] = {
    "super_spines": ("*super*spine*",),
    "spines": ("*spine*",),
    "leaves": ("*leaf*", "tor*", "*-tor*"),
    "gpu_hosts": ("*gpu*", "*dgx*", "*hgx*", "*host*", "*server*", "*node*", "*compute*"),
}
# IPv4 or IPv6, with or without its prefix length.
ADDRESS = re.compile(r"[0-9A-Fa-f.:]+(?:/\d{1,3})?")
SWITCHES = ("leaves", "spines")
NOTE = "# Imported by playbooks/import_plan.yml. No node was asked; playbooks/discover.yml --check --diff says where the pod differs.\n---\n"
# What NetBox sites call a platform, by what the collection calls it.
PLATFORMS = {"arista": "eos", "eos": "eos", "nx-os": "nxos", "nxos": "nxos", "sonic": "sonic", "cumulus": "cumulus", "frr": "frr"}


def imported_files(listing: Listing, patterns: Mapping[str, Sequence[str]], source: str) -> dict[str, str]:
    """The texts of the inventory's files by name; what is left out is added to ``listing.left_out``.

    patterns: by group, instead of GROUPS. Raises ImportFailed where no node is a GPU host, or a cable is wrong.
    """
    groups = _grouped(listing, {**GROUPS, **{group: tuple(own) for group, own in patterns.items()}})
    if not groups["gpu_hosts"]:
        names = ", ".join(f"{one.name} ({one.role})" if one.role else one.name for one in list(listing.nodes.values())[:5])
        raise ImportFailed(
            f'no node is a GPU host by its role or name: {names}. Say which are, for example -e \'{{"import_groups": {{"gpu_hosts": ["worker-*"]}}}}\''
        )
    texts = {"hosts.yml": NOTE.replace("Imported", f"Imported from {source}") + yaml.safe_dump(_hosts(listing, groups), sort_keys=False, width=160)}
    if listing.cables:
        texts[PLACE] = _cabling(listing, {node for nodes in groups.values() for node in nodes})
    return texts


def _grouped(listing: Listing, patterns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {"gpu_hosts": [], "leaves": [], "spines": [], "super_spines": []}
    for name in sorted(listing.nodes, key=natural_key):
        node = listing.nodes[name]
        if not NAME.fullmatch(name) or " " in name:
            listing.left_out.append(f"{name!a:.80}: no name that an inventory can have")
            continue
        group = next((group for group in patterns if any(fnmatch.fnmatchcase((node.role or name).lower(), one.lower()) for one in patterns[group])), None)
        if group in groups:
            groups[group].append(name)
        else:
            listing.left_out.append(f"{name}{f' ({node.role})' if node.role else ''}: neither a GPU host nor a switch by its {'role' if node.role else 'name'}")
    return groups


def _hosts(listing: Listing, groups: Mapping[str, Sequence[str]]) -> dict[str, t.Any]:
    racks: dict[str, list[str]] = {}
    for host in groups["gpu_hosts"]:
        racks.setdefault(_group_name(listing.nodes[host].rack), []).append(host)
    hosts: dict[str, t.Any] = {"hosts": _own(listing, groups["gpu_hosts"], False)}
    if "" not in racks:
        hosts = {"children": {rack: {"hosts": _own(listing, own, False)} for rack, own in sorted(racks.items(), key=lambda one: natural_key(one[0]))}}
    children: dict[str, t.Any] = {"gpu_hosts": hosts}
    children |= {group: {"hosts": _own(listing, groups[group], True)} for group in SWITCHES if groups[group]}
    if groups["super_spines"]:
        children.setdefault("spines", {})["children"] = {"super_spines": {"hosts": _own(listing, groups["super_spines"], True)}}
    return {"all": {"children": children}}


def _own(listing: Listing, names: Sequence[str], switches: bool) -> dict[str, dict[str, str] | None]:
    return {name: _variables(listing.nodes[name], switches) or None for name in names}


def _variables(node: ListedNode, switch: bool) -> dict[str, str]:
    platform = next((own for word, own in PLATFORMS.items() if word in node.platform.lower()), "") if switch else ""
    return {**({"ansible_host": node.address} if node.address else {}), **({"pod_platform": platform} if platform else {})}


def _group_name(rack: str) -> str:
    """A rack as Ansible may call a group."""
    word = re.sub(r"\W+", "_", rack, flags=re.ASCII).strip("_").lower()
    return f"rack_{word}" if word[:1].isdigit() else word


def _cabling(listing: Listing, nodes: set[str]) -> str:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    more = {
        "a_address,b_address": any(any(cable.addresses) for cable in listing.cables),
        "gbit_s": any(cable.gbit_s is not None for cable in listing.cables),
    }
    rows.writerow([*NEEDED, *(column for columns, given in more.items() if given for column in columns.split(","))])
    away = 0
    for cable in listing.cables:
        if not {cable.a[0], cable.b[0]} <= nodes:
            away += 1
            continue
        if unfit := [port for _node, port in (cable.a, cable.b) if not NAME.fullmatch(port)]:
            raise ImportFailed(f"{cable.a[0]} to {cable.b[0]}: {unfit[0]!a:.80} is no name of a port")
        own = [*(cable.addresses if more["a_address,b_address"] else ()), *([_number(cable.gbit_s)] if more["gbit_s"] else ())]
        if unfit := [cell for cell in cable.addresses if cell and not ADDRESS.fullmatch(cell)]:
            raise ImportFailed(f"{cable.a[0]} to {cable.b[0]}: {unfit[0]!a:.80} is no address")
        rows.writerow([*cable.a, *cable.b, cable.medium, _number(cable.length_m), *own])
    if away:
        listing.left_out.append(f"{counted(away, 'cable')} to nodes that are left out or not in the source")
    _found, problems = read_cabling(out.getvalue(), nodes)
    if problems:
        raise ImportFailed("the plan would be wrong: " + "; ".join(problems))
    return out.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
