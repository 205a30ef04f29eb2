# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rails of a host: its NICs, or bonds of NICs, that a cable leads from to a switch, each with the GPU that it is nearest to."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ..pod.addressing import routed_addresses
from ..readings.rows import Rows
from ..text.ranges import ranges
from ..text.sorting import natural_key
from .gpus import NEAR

Rail = dict[str, t.Any]
End = tuple[str, str]


def rails_of(
    host: str, own: Mapping[str, Rows], cables: Sequence[tuple[End, End]], switches: t.Container[str], fabric: str
) -> list[Rail]:  # fmt: skip
    """The rails in the order of their GPUs where that is reported, else of their ports.

    own: the host's rows by reading. Of a bond a rail also has ``members`` and, in their order, ``leaves``.
    """
    of_netdev: dict[str, str] = {row["netdev"]: row["device"] for row in own.get("rdma_link", ()) if row["netdev"]}
    of_device = {device: netdev for netdev, device in of_netdev.items()}
    bond_of = {row["member"]: row["channel"] for row in own.get("port_channels", ())}
    pci = {row["netdev"]: row["parent_pci"] for row in own.get("ip_link", ())}
    addresses = routed_addresses(own.get("ip_address", ()))
    ports: dict[str, list[tuple[str, str]]] = {}
    for a, b in cables:
        near, far = (a, b) if a[0] == host else (b, a)
        if near[0] == host and far[0] in switches:
            ports.setdefault(bond_of.get(near[1], near[1]), []).append((near[1], far[0]))
    rails: list[Rail] = []
    for name, its in ports.items():
        device: str | None = name
        netdev: str | None = of_device.get(name)
        if fabric != "infiniband":
            device, netdev = next((of_netdev[one] for one in (name, *(port for port, _leaf in its)) if one in of_netdev), None), name
        its.sort(key=lambda one: natural_key(one[0]))
        place = next((pci[port] for port in (of_device.get(device or ""), netdev, its[0][0]) if pci.get(port)), None)
        rail = {"device": device, "netdev": netdev, "pci": place, "gpu": None, "leaf": min((leaf for _port, leaf in its), key=natural_key)}
        rail |= {"address": addresses.get(netdev)}
        rails.append(rail | ({"members": [port for port, _leaf in its], "leaves": [leaf for _port, leaf in its]} if name in bond_of.values() else {}))
    _give_gpus(rails, own.get("gpu_topology", []))
    return sorted(rails, key=lambda rail: (rail["gpu"] is None, rail["gpu"] or 0))


def blanks_of(rails: Mapping[str, Sequence[Rail]]) -> list[str]:
    """What the rails of hosts lack, in words: what several hosts lack alike is one entry."""
    hosts_of: dict[str, list[str]] = {}
    for host, own in rails.items():
        without_device = [str(rail["netdev"]) for rail in own if rail["device"] is None]
        without_gpu = [str(rail["device"] or rail["netdev"]) for rail in own if rail["gpu"] is None]
        words = [] if own else ["no cable to a switch was found"]
        words += [f"no RDMA device was reported for {', '.join(without_device)}"] if without_device else []
        words += [f"the nearest GPU was not reported for {', '.join(without_gpu)}"] if without_gpu else []
        for one in words:
            hosts_of.setdefault(one, []).append(host)
    return [f"pod_rails of {ranges(hosts)}: {words}" for words, hosts in hosts_of.items()]


def ports_of(rails: Sequence[Rail]) -> list[Rail]:
    """Every port of some rails with its netdev and its leaf; of a bond its members."""
    found = []
    for rail in rails:
        members = rail.get("members")
        found += [{"netdev": member, "leaf": leaf} for member, leaf in zip(members, rail["leaves"])] if members else [rail]
    return found


def _give_gpus(rails: list[Rail], topology: Rows) -> None:
    """Give each rail the GPU that it is nearest to, where each GPU of those near some NICs has as many ports of these; the others get none."""
    ranks = {(row["device"], row["peer"]): NEAR.index(row["connection"]) for row in topology if row["connection"] in NEAR}
    gpus = sorted({gpu for gpu, _nic in ranks if gpu.startswith("GPU")}, key=lambda name: int(name[3:]))
    devices = {rail["device"]: rail for rail in rails if rail["device"]}
    for near in range(len(NEAR)):
        groups: dict[tuple[str, ...], list[str]] = {}
        for gpu in gpus:
            own = tuple(device for device in devices if devices[device]["gpu"] is None and ranks.get((gpu, device)) == near)
            best = min((ranks.get((gpu, device), len(NEAR)) for device in devices), default=len(NEAR))
            if own and best == near:
                groups.setdefault(own, []).append(gpu)
        for own, whose in groups.items():
            # As many ports for each GPU, side by side: of a NIC with planes two or four.
            each = len(own) // len(whose) if len(own) % len(whose) == 0 else 0
            for place, gpu in enumerate(whose):
                for device in own[place * each : (place + 1) * each]:
                    devices[device]["gpu"] = int(gpu[3:])
