# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What discovery asks a node that no plan describes: which readings, and which of them again once the node has named its devices."""

from __future__ import annotations

import typing as t

from ..discovery.gpus import vendor_of
from ..readings import catalogue
from ..text.ranges import ranges
from ..text.times import without_times
from .unplanned_node import UnplannedNode

Values = dict[str, t.Any]
# The rows of each reading that a node reported, and the words of each that it did not.
Reported = tuple[dict[str, t.Any], dict[str, str]]
Ask = t.Callable[[Values, t.Sequence[str]], Reported]
# GPUs are asked for once the host's PCI devices have named their vendor.
HOST = {
    "roce": ("rdma_link", "ip_link", "ip_address", "lldp_neighbors", "port_channels", "pci_devices", "virtualization"),
    "infiniband": ("ibstat", "rdma_link", "ip_link", "pci_devices", "virtualization"),
}
GPUS = ("gpu_topology", "gpus")
SWITCH = ("lldp_neighbors", "interface_status", "bgp_summary", "mac_table", "arp_table", "transceivers", "port_channels")
# What a switch without a BGP session of IPv4 is asked next, as if its pod were in a VRF, of IPv6, or routed by OSPF.
WITHOUT_BGP: tuple[tuple[Values, tuple[str, ...]], ...] = (
    ({"pod_rail_vrf": "any"}, ("bgp_summary",)),
    ({"pod_address_family": "ipv6"}, ("bgp_summary", "arp_table")),
    ({"pod_underlay": "ospf"}, ("ospf_neighbors",)),
)
# VRFs and VNIs are asked for as if the pod had some; no command of these names a VRF.
ROUTED: tuple[Values, tuple[str, ...]] = ({"pod_rail_vrf": "any", "pod_overlay": "evpn"}, ("port_vrfs", "vnis"))
OF_VRF = ("bgp_summary", "arp_table")
# What is asked of each rail of a host once it has named its devices.
RAIL = ("interface_status", "transceivers")
# The class of RoCE; what of it a node does not report is said of all nodes together, because many drivers and platforms report no part of it.
CLASS_OF_HOST = ("pfc_priorities", "dscp_map", "dcqcn")
CLASS_OF_SWITCH = ("pfc_priorities", "dscp_classes", "ecn_settings")


def survey_node(unplanned: UnplannedNode, fabric: str, ask: Ask) -> Reported:
    """Ask a node, and again what its first response says how to ask for.

    Of a host these are its GPUs by their vendor, its rails, and of a reader of an InfiniBand fabric the fabric, through the adapters that it turned out
    to have; of a switch without BGP of IPv4, BGP of IPv6, then OSPF. ask: of a node as queries take it, the readings with these names.
    """
    node = unplanned.asked()
    # Whether a node has port-channels or bonds is what is asked.
    node["items"]["channels"] = [{"item": "port-channels"}]

    def asked(names: t.Sequence[str]) -> Reported:
        known = [name for name in names if node["platform"] in catalogue()[name].platforms]
        return ask(node, known) if known else ({}, {})

    if unplanned.kind == "switch":
        reported, missing = asked(SWITCH)
        if fabric == "roce":
            # Where a command is repeated for ports, for those that lead to a neighbor.
            node["items"]["port"] = [{"item": port, "port": port} for port in dict.fromkeys(row["port"] for row in reported.get("lldp_neighbors", ()))]
            reported = {**reported, **asked(CLASS_OF_SWITCH)[0]}
            reported = _with_vrfs(node, reported, asked)
            missing = {name: words for name, words in missing.items() if name not in reported}
        if fabric != "roce" or any(row["local_asn"] is not None for row in reported.get("bgp_summary", ())):
            return reported, missing
        for values, names in WITHOUT_BGP:
            node["values"] = {**unplanned.values, **values}
            more = {name: rows for name, rows in asked(names)[0].items() if rows}
            if names[0] in more:
                missing = {name: words for name, words in missing.items() if name not in (*more, "bgp_summary")}
                more["arp_table"] = [*reported.get("arp_table", ()), *more.get("arp_table", ())]
                return {**reported, **more}, missing
        return reported, missing
    reported, missing = asked(HOST[fabric])
    node["values"] = {**node["values"], "pod_gpu_vendor": vendor_of(reported.get("pci_devices", ())) or node["values"]["pod_gpu_vendor"]}
    again: tuple[str, ...] = GPUS
    if fabric == "roce":
        node["items"]["rail"] = _rails(reported)
        again += RAIL if node["items"]["rail"] else ()
    elif devices := _devices(unplanned, reported.get("ibstat", [])):
        node["items"]["fabric"] = [{"via": device, "device": device} for device in devices]
        again += ("fabric_topology", "fabric_media")
    more, less = asked(again)
    of_class = asked(CLASS_OF_HOST)[0] if fabric == "roce" and node["items"]["rail"] else {}
    return {**reported, **more, **of_class}, {**missing, **less}


def _with_vrfs(node: Values, reported: Values, asked: t.Callable[[t.Sequence[str]], Reported]) -> Values:
    """What a switch reported, with its VRFs, its VNIs, and what it has in each VRF."""
    values = node["values"]
    node["values"] = {**values, **ROUTED[0]}
    found = {**reported, **asked(ROUTED[1])[0]}
    for vrf in sorted({str(row["vrf"]) for row in found.get("port_vrfs", ())} - {"default"}):
        node["values"] = {**values, "pod_rail_vrf": vrf}
        found |= {name: _joined(found.get(name, ()), rows) for name, rows in asked(OF_VRF)[0].items()}
    node["values"] = values
    return found


def _joined(known: t.Collection[Values], more: t.Iterable[Values]) -> list[Values]:
    """Rows of two readings, each once: some switches report the same table whatever VRF is asked for."""
    return [*known, *(row for row in more if row not in known)]


def unreported_words(missing_of: t.Mapping[str, t.Mapping[str, str]]) -> list[str]:
    """What nodes did not report, in a line for all nodes and readings of which the tools say the same.

    missing_of: of each node the words by reading, by an empty name where the node itself did not answer.
    """
    nodes_of: dict[tuple[str, str], list[str]] = {}
    for node, missing in missing_of.items():
        alike: dict[str, list[str]] = {}
        for reading, words in sorted(missing.items()):
            alike.setdefault(without_times(words), []).append(reading)
        for words, readings in alike.items():
            nodes_of.setdefault((", ".join(readings), words), []).append(node)
    return [": ".join([ranges(nodes), *([readings] if readings else []), words]) for (readings, words), nodes in nodes_of.items()]


def _rails(reported: Values) -> list[Values]:
    """The RDMA devices of a host with their netdevs, of a bond with its members, as commands are repeated for them."""
    bond_of = {row["member"]: row["channel"] for row in reported.get("port_channels", ())}
    found = []
    for row in reported.get("rdma_link", ()):
        if row["netdev"]:
            bond = bond_of.get(row["netdev"], row["netdev"])
            members = [member for member, name in bond_of.items() if name == bond]
            found.append({"device": row["device"], "netdev": bond, **({"members": members} if members else {})})
    return found


def _devices(node: UnplannedNode, ports: list[Values]) -> list[str]:
    """The adapters through which this host reads the fabric; none where others do."""
    active = [str(row["device"]) for row in ports if row["state"] == "Active" and row["link_layer"] == "InfiniBand"]
    named = node.fabric_devices()
    if named is None or not node.values["pod_fabric_reader"]:
        return active if named else []
    return [one for one in (device or next(iter(active), "") for device in named) if one]
