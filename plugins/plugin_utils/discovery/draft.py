# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A draft of a pod's inventory from what its nodes report of each other. What could not be determined is a blank with its reason, never a guess."""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass, field

from ..collect.fabric_rows import GENERATIONS
from ..pod.names import port_name
from ..readings.rows import Row, Rows
from ..text.ranges import ranges
from .channels import channels_of
from .gpus import gpu_proposals, models_of, vendor_of
from .guests import guests_of
from .media import Medium, media_of, media_of_fabric, media_of_ports
from .members import members_apart
from .outliers import Outlier, left_out, outliers_of
from .overlay import overlay_of
from .proposals import ALL, Proposal, proposals_of
from .rails import blanks_of, rails_of
from .rails_by_port import WORD, fill, unreported
from .roce_class import roce_class
from .session_addresses import session_addresses
from .wires import End, ReadingsByNode, Wires

RATES = dict(GENERATIONS.values())


@dataclass
class Draft:
    """A pod as it was found: cables as two ends, rails by host, switches with role, AS and GUID, and what stayed blank.

    sessions: by cable, the addresses that its BGP session is between; heard: by end, the ends that are heard on it, also those that no cable was made of;
    unreported: what of rails no host reported; channels: by cable, the port-channels or bonds of its two ends; vendor: of the GPUs, where it is one;
    models: how many GPUs of each name there are; undecided: expectations of the class of RoCE that no reading decides, and why.
    """

    fabric: str
    cables: list[tuple[End, End]] = field(default_factory=list)
    rails: dict[str, Rows] = field(default_factory=dict)
    switches: dict[str, Row] = field(default_factory=dict)
    topology: str | None = None
    link_gbit_s: float | None = None
    media: dict[tuple[End, End], Medium] = field(default_factory=dict)
    sessions: dict[tuple[End, End], tuple[str, str]] = field(default_factory=dict)
    proposals: list[Proposal] = field(default_factory=list)
    outliers: list[Outlier] = field(default_factory=list)
    blanks: list[str] = field(default_factory=list)
    heard: dict[End, set[End]] = field(default_factory=dict)
    unreported: list[str] = field(default_factory=list)
    channels: dict[tuple[End, End], tuple[str, str]] = field(default_factory=dict)
    vendor: str | None = None
    models: dict[str, int] = field(default_factory=dict)
    undecided: list[str] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)


def draft_pod(roles: t.Mapping[str, str], readings: ReadingsByNode, fabric: str, accepted: t.Collection[str] = ()) -> Draft:
    """The draft of a pod.

    roles: the inventory's nodes with ``host``, ``leaf`` or ``spine``; readings: each node's rows by reading, without those it did not report.
    accepted: the places (``host:netdev``, or a switch or its port) of outliers that are meant so; the others stay out of the plan.
    """
    result = Draft(fabric)
    found = Wires(roles, readings)
    if fabric == "infiniband":
        found.from_fabric()
    else:
        found.from_lldp()
        found.from_addresses()
    result.blanks += [*found.twice(), *found.unfit]
    result.heard = found.heard
    result.cables = found.cables()
    result.switches = found.switches(result.cables)
    underlay = _underlay(result, readings) if fabric == "roce" else []
    for name, switch in result.switches.items():
        switch |= {"asn": _own_as(readings.get(name, {}))} if fabric == "roce" else {"guid": found.guids.get(name)}
        result.blanks += [f"bgp_asn of {name}: it reports no AS of its own"] if fabric == "roce" and switch["asn"] is None and not underlay else []
    hosts = [name for name, role in roles.items() if role == "host"]
    for host in hosts:
        result.rails[host] = rails_of(host, readings.get(host, {}), result.cables, result.switches, fabric)
    result.blanks += members_apart(result.rails, readings)
    _of_gpus(result, hosts, readings)
    result.unreported = unreported(result.rails)
    if {ALL, WORD} & set(accepted):
        fill(result.rails, result.unreported)
    result.blanks += blanks_of(result.rails)
    result.topology = _topology(result)
    result.link_gbit_s = _rate(result, readings, fabric)
    everyone = {**roles, **{name: str(switch["role"]) for name, switch in result.switches.items()}}
    result.proposals = [
        *proposals_of(everyone, readings, result.cables, result.rails, result.link_gbit_s),
        *gpu_proposals(readings, result.rails),
        *underlay,
    ]
    guests, odd, blanks = guests_of(hosts, readings)
    result.proposals += guests
    result.blanks += blanks
    odd += outliers_of(result.rails, result.cables)
    if fabric == "roce":
        of_class = roce_class(everyone, readings, result.cables, result.rails)
        result.proposals += of_class.proposals
        result.undecided = of_class.undecided
        of_vrf = overlay_of(everyone, readings, result.cables)
        result.proposals += of_vrf.proposals
        result.blanks += of_vrf.blanks
        odd += [*of_class.outliers, *of_vrf.outliers]
    named = {ALL, *([WORD] if result.unreported else []), *(one.name for one in result.proposals), *(one.place for one in odd)}
    result.unmatched = [name for name in accepted if name not in named]
    result.outliers = [one for one in odd if one.place not in accepted]
    result.cables = left_out(result.outliers, result.rails, result.cables)
    result.blanks += [f"{one.place}: {one.words}; if it is meant so, -e discover_accept={one.place}" for one in result.outliers]
    by_end = media_of_ports(readings, hosts) if fabric == "roce" else media_of_fabric(readings, found.end_of)
    result.media, differing = media_of(result.cables, by_end)
    result.blanks += differing
    if fabric == "roce":
        result.channels, apart = channels_of(result.cables, readings, hosts)
        result.blanks += apart
        asns = {name: switch["asn"] for name, switch in result.switches.items()}
        result.sessions = session_addresses(result.cables, asns, readings, result.channels)
    return result


def _own_as(own: t.Mapping[str, Rows]) -> int | None:
    numbers = {row["local_asn"] for row in own.get("bgp_summary", ()) if row.get("local_asn") is not None}
    return next(iter(numbers)) if len(numbers) == 1 else None


def _underlay(found: Draft, readings: ReadingsByNode) -> list[Proposal]:
    """What routes where no switch has an AS of its own: OSPF where each has a neighbor, and nothing where no cable joins two switches."""
    own = [readings.get(name, {}) for name in found.switches]
    # A switch that did not answer may run anything.
    if not own or not all(own) or any(map(_own_as, own)):
        return []
    if all(one.get("ospf_neighbors") for one in own):
        return [Proposal("pod_underlay", "ospf", "all switches have OSPF neighbors and none reports BGP")]
    if any(a[0] in found.switches and b[0] in found.switches for a, b in found.cables):
        return []
    return [Proposal("pod_underlay", "none", "no cable joins two switches, and none reports an AS of its own")]


def _of_gpus(found: Draft, hosts: t.Sequence[str], readings: ReadingsByNode) -> None:
    """The vendor and the models of the GPUs; hosts with GPUs of another vendor than the others leave a blank."""
    vendors: dict[str, list[str]] = {}
    for host in hosts:
        if vendor := vendor_of(readings.get(host, {}).get("pci_devices", ())):
            vendors.setdefault(vendor, []).append(host)
    if len(vendors) == 1:
        found.vendor = next(iter(vendors))
    elif vendors:
        found.blanks.append(f"pod_gpu_vendor: {' and '.join(f'{vendor} on {ranges(its)}' for vendor, its in sorted(vendors.items()))}; set it by host")
    found.models = models_of(readings)


def _topology(found: Draft) -> str | None:
    """How rails meet leaves, where all hosts agree."""
    kinds = set()
    for rails in found.rails.values():
        leaves = [rail["leaf"] for rail in rails]
        if len(leaves) > 1:
            kinds.add("top_of_rack" if len(set(leaves)) == 1 else "rail" if len(set(leaves)) == len(leaves) else "mixed")
    spines = any(switch["role"] == "spine" for switch in found.switches.values())
    if kinds == {"rail"}:
        return "rail_optimised" if spines else "rail_only"
    if kinds == {"top_of_rack"}:
        return "top_of_rack"
    found.blanks.append(f"pod_topology: {'hosts differ in how their rails meet leaves' if kinds else 'no host has two rails'}")
    return None


def _rate(found: Draft, readings: ReadingsByNode, fabric: str) -> float | None:
    """The rate of all cables, where they agree."""
    ends = {end for cable in found.cables for end in cable}
    rates: Counter[float] = Counter()
    for node, own in readings.items():
        if fabric == "infiniband":
            rates.update(int(row["width"][:-1]) * RATES[row["speed"]] for row in own.get("fabric_topology", ()) if row["width"] and row["speed"] in RATES)
        else:
            up = (row for row in own.get("interface_status", ()) if row["state"] == "connected" and (node, port_name(row["port"])) in ends)
            rates.update(row["speed_gbit_s"] for row in up if row["speed_gbit_s"])
    if len(rates) == 1:
        return next(iter(rates))
    found.blanks.append(f"pod_link_gbit_s: links run at {', '.join(f'{rate:g} ({number})' for rate, number in sorted(rates.items())) or 'no reported rate'}")
    return None
