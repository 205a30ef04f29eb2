# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rails of a plan: every reason why they are not one NIC, one cable and one address each."""

from __future__ import annotations

import typing as t

from ..readings.cells import CONVERT
from ..text.counting import some_nodes
from .addressing import IN_WORDS, bare, family_of, is_link_local
from .plan import Node, Plan


def rail_errors(plan: Plan, cabled: bool = True) -> list[str]:
    """One message for each rail that is not described whole, is another one's twin, or has no cable to its leaf.

    cabled: whether the wiring plan could be read, so that cables can be looked for.
    """
    wrong = []
    for node in plan.nodes.values():
        if node.role != "host":
            continue
        for number, rail in enumerate(node.values["pod_rails"]):
            lacking = [key for key in ("device", "netdev", "gpu", "leaf") if rail.get(key) in (None, "")]
            if lacking and not (lacking == ["netdev"] and node.values["pod_fabric"] == "infiniband"):
                wrong.append(f"argument 'pod_rails' of {node.name}: rail {number} lacks {', '.join(lacking)}")
                continue
            wrong += _rail_cable(plan, node, rail) if cabled else []
        if not node.values["pod_rails"]:
            wrong.append(f"argument 'pod_rails' of {node.name} must name its fabric NICs, not []; playbooks/discover.yml drafts them")
        wrong += [*_named_twice(node), *_no_pci(node)]
    return [*wrong, *_addresses(plan), *(_two_leaves(plan) if cabled and not wrong else [])]


def _no_pci(node: Node) -> list[str]:
    """PCI addresses that are none."""
    wrong = []
    for number, rail in enumerate(node.values["pod_rails"]):
        try:
            CONVERT["pci"](rail.get("pci") or "0000:00:00.0")
        except ValueError:
            wrong.append(f"argument 'pod_rails' of {node.name}: rail {number} has the PCI address {rail['pci']!r}, which is none")
    return wrong


def _named_twice(node: Node) -> list[str]:
    """Rails of a host that are one NIC: the one that was meant is judged nowhere."""
    wrong = []
    for key in ("device", "netdev", "pci"):
        first: dict[str, int] = {}
        for number, rail in enumerate(node.values["pod_rails"]):
            if rail.get(key) and first.setdefault(str(rail[key]).lower(), number) != number:
                wrong.append(f"argument 'pod_rails' of {node.name}: rails {first[str(rail[key]).lower()]} and {number} have one {key}, {rail[key]}")
    return wrong


def _addresses(plan: Plan) -> list[str]:
    """Planned addresses that are none, or are of two rails: a ping to one of them proves nothing of the other."""
    wrong: list[str] = []
    whose: dict[str, list[str]] = {}
    for node in plan.nodes.values():
        for number, rail in enumerate(node.values["pod_rails"] if node.role == "host" else ()):
            if not rail.get("address"):
                continue
            if words := _no_rail_address(str(rail["address"]), node.values["pod_address_family"]):
                wrong.append(f"argument 'pod_rails' of {node.name}: rail {number} has the address {rail['address']!r}, which {words}")
            else:
                whose.setdefault(bare(str(rail["address"])), []).append(f"{node.name} {rail.get('device')}")
    return wrong + [f"argument 'pod_rails': the address {address} is of {' and '.join(rails)}" for address, rails in whose.items() if len(rails) > 1]


def _no_rail_address(address: str, family: str) -> str | None:
    """Why a rail cannot be reached by an address, or None."""
    try:
        its = family_of(address)
    except ValueError:
        return "is none"
    if is_link_local(address):
        return "is of one link only: other hosts do not reach it"
    return None if its == family else f"is of {IN_WORDS[its]}, and pod_address_family is {family}"


def _rail_cable(plan: Plan, node: Node, rail: t.Mapping[str, t.Any]) -> list[str]:
    ports = {rail["device"], rail.get("netdev")}
    ends = [(cable, *cable.seen_from(node.name)) for cable in plan.at[node.name]]
    own = [(cable, far) for cable, near, far in ends if near.port in ports]
    if not own:
        return [f"{node.values['pod_cabling_file']}: rail {rail['device']} ({rail.get('netdev')}) of {node.name} has no cable"]
    return [
        f"{node.values['pod_cabling_file']}: line {cable.line}: rail {rail['device']} of {node.name} lands on {far.node}, and pod_rails has {rail['leaf']}"
        for cable, far in own
        if far.node != rail["leaf"]
    ]


def _two_leaves(plan: Plan) -> list[str]:
    """On a rail-optimised pod, rail i of one gate group is on one leaf; a rail that is cabled straight to a host is on none."""
    wrong = []
    for group, hosts in plan.groups.items():
        if not hosts or plan.nodes[hosts[0]].values["pod_topology"] == "top_of_rack":
            continue
        leaves: dict[int, dict[str, list[str]]] = {}
        for host in hosts:
            for number, rail in enumerate(plan.nodes[host].values["pod_rails"]):
                if plan.nodes[str(rail["leaf"])].role == "leaf":
                    leaves.setdefault(number, {}).setdefault(str(rail["leaf"]), []).append(host)
        for number, at in leaves.items():
            if len(at) > 1:
                wrong.append(f"rail {number} of {group} lands on two leaves: {' and '.join(f'{leaf} ({some_nodes(hosts)})' for leaf, hosts in at.items())}")
    return wrong
