# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rails of a plan: every reason why they are not one NIC, one cable and one address each."""

from __future__ import annotations

import typing as t

from ..readings.cells import CONVERT
from ..text.counting import counted, some_nodes
from .addressing import IN_WORDS, bare, family_of, is_link_local
from .plan import Node, Plan
from .rail_ports import leaves_of, members_of


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
    return [*wrong, *_addresses(plan), *([*_two_leaves(plan), *_unlike_bonds(plan)] if cabled and not wrong else [])]


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
    of_port: dict[str, list[int]] = {}
    for number, rail in enumerate(node.values["pod_rails"]):
        for port in dict.fromkeys([*members_of(rail), rail.get("netdev") or ""]):
            of_port.setdefault(str(port), []).append(number)
    bonds = {number for number, rail in enumerate(node.values["pod_rails"]) if members_of(rail)}
    shared = {port: numbers for port, numbers in of_port.items() if port and len(numbers) > 1 and bonds & set(numbers)}
    return wrong + [f"argument 'pod_rails' of {node.name}: rails {' and '.join(map(str, its))} have one port, {port}" for port, its in shared.items()]


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


def _bond(plan: Plan, node: Node, rail: t.Mapping[str, t.Any]) -> list[str]:
    """What is wrong with the members of a bond and their cables."""
    members, file = rail["members"], node.values["pod_cabling_file"]
    named = isinstance(members, list) and all(isinstance(member, str) and member for member in members)
    if not named or len(set(members)) < 2 or len(set(members)) < len(members) or rail["netdev"] in members:
        return [f"argument 'pod_rails' of {node.name}: members of {rail['netdev']} must name two ports or more, each once, not {members!r}"]
    if node.values["pod_fabric"] == "infiniband":
        return [f"argument 'pod_rails' of {node.name}: {rail['netdev']} has members, and there are no bonds of rails on InfiniBand"]
    near = {end.port: (cable, end, far) for cable in plan.at[node.name] for end, far in [cable.seen_from(node.name)]}
    wrong = [f"{file}: {member}, a member of {rail['netdev']} of {node.name}, has no cable" for member in members if member not in near]
    own = [near[member] for member in members if member in near]
    wrong += [
        f"{file}: line {cable.line}: {end.port} of {node.name} is in {end.channel}, and pod_rails has it as a member of {rail['netdev']}"
        for cable, end, _far in own
        if end.channel not in (None, rail["netdev"])
    ]
    leaves = {far.node for _cable, _end, far in own}
    wrong += [f"{file}: {rail['netdev']} of {node.name} lands on {leaf}, which is no leaf" for leaf in sorted(leaves) if plan.nodes[leaf].role != "leaf"]
    speeds = sorted({cable.gbit_s or float(node.values["pod_link_gbit_s"]) for cable, _end, _far in own})
    if len(speeds) > 1:
        rated = " and ".join(f"{speed:g}" for speed in speeds)
        wrong.append(f"{file}: the members of {rail['netdev']} of {node.name} run at {rated} Gb/s, and LACP bundles members of one speed alone")
    if own and rail["leaf"] not in leaves:
        wrong.append(f"{file}: {rail['netdev']} of {node.name} lands on {' and '.join(sorted(leaves))}, and pod_rails has {rail['leaf']}")
    return wrong


def _unlike_bonds(plan: Plan) -> list[str]:
    """Rails of which some are bonds and others are not, or have other numbers of members, and bonds that share some of their leaves."""
    rails = plan.rails()
    if not any("members" in rail for rail in rails):
        return []
    sizes: dict[int, list[str]] = {}
    sharing: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for rail in rails:
        sizes.setdefault(len(rail.get("members") or [rail["device"]]), []).append(rail["host"])
        for leaf in leaves_of(rail):
            sharing.setdefault(leaf, {}).setdefault(tuple(leaves_of(rail)), []).append(rail["host"])
    wrong = []
    if len(sizes) > 1:
        words = " and ".join(f"{counted(number, 'port')} ({some_nodes(list(dict.fromkeys(hosts)))})" for number, hosts in sorted(sizes.items()))
        wrong.append(f"argument 'pod_rails': all rails of a pod must have as many ports, not {words}")
    for leaf, ways in sharing.items():
        if len(ways) > 1:
            words = " and ".join(f"{', '.join(leaves)} ({some_nodes(list(dict.fromkeys(hosts)))})" for leaves, hosts in ways.items())
            wrong.append(f"bonds with a member on {leaf} must all end at the same leaves, not at {words}")
    uneven = [rail for rail in rails if len(leaves_of(rail)) > 1 and len(rail.get("members", ())) > len(leaves_of(rail))]
    return wrong + [
        f"the members of {rail['netdev']} of {rail['host']} must all end at one leaf, or each at another one, not two at one of {', '.join(leaves_of(rail))}"
        for rail in uneven
    ]


def _rail_cable(plan: Plan, node: Node, rail: t.Mapping[str, t.Any]) -> list[str]:
    if "members" in rail:
        return _bond(plan, node, rail)
    ports = {rail["device"], rail.get("netdev")}
    ends = [(cable, *cable.seen_from(node.name)) for cable in plan.at[node.name]]
    own = [(cable, far) for cable, near, far in ends if near.port in ports]
    if not own:
        members = [near.port for _cable, near, _far in ends if near.channel and near.channel == rail.get("netdev")]
        what = f" of its own: name its ports as members of the rail in pod_rails ({', '.join(members)})" if members else ""
        return [f"{node.values['pod_cabling_file']}: rail {rail['device']} ({rail.get('netdev')}) of {node.name} has no cable{what}"]
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
        for rail in plan.rails(hosts):
            if all(plan.nodes[leaf].role == "leaf" for leaf in leaves_of(rail)):
                leaves.setdefault(rail["index"], {}).setdefault(" beside ".join(leaves_of(rail)), []).append(rail["host"])
        for number, at in leaves.items():
            if len(at) > 1:
                wrong.append(f"rail {number} of {group} lands on two leaves: {' and '.join(f'{leaf} ({some_nodes(hosts)})' for leaf, hosts in at.items())}")
    return wrong
