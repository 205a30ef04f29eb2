# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The VRF that leaves have the rails in, and the VNI of EVPN that it has: proposed as most leaves have them, and leaves that differ named."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Hashable, Mapping, Sequence

from ..pod.names import port_name
from ..readings.rows import Rows
from .outliers import Outlier
from .proposals import Proposal
from .usual import End, Usual, odd_ones, usual_of

Readings = Mapping[str, Mapping[str, Rows]]
DEFAULT = "default"
VLAN = re.compile(r"(?i)vlan-?0*(\d+)")


class Overlay(t.NamedTuple):
    """What is proposed of a pod's VRF and VNI, the leaves that differ, and blanks."""

    proposals: list[Proposal]
    outliers: list[Outlier]
    blanks: list[str]


def overlay_of(roles: Mapping[str, str], readings: Readings, cables: Sequence[tuple[End, End]]) -> Overlay:
    """The VRF and the VNI of the rails; nothing where the leaves have them in the default VRF."""
    found = Overlay([], [], [])
    vrfs: dict[End, Hashable] = {}
    for leaf in (node for node, role in roles.items() if role == "leaf"):
        ports = [port for ends in cables for (node, port), far in (ends, ends[::-1]) if node == leaf and roles.get(far[0]) == "host"]
        if ports and (vrf := _vrf_of(ports, readings.get(leaf, {}))):
            vrfs[leaf, ""] = vrf
    if set(vrfs.values()) <= {DEFAULT}:
        return found
    most = usual_of(vrfs)
    if most is None:
        found.blanks.append("pod_rail_vrf: leaves have the rails in different VRFs, and none is that of most")
        return found
    found.outliers.extend(odd_ones(vrfs, most, lambda vrf: f"rails in VRF {vrf}, and in VRF {most.value} on {_of(most)}"))
    if most.value != DEFAULT:
        found.proposals.append(Proposal("pod_rail_vrf", most.value, f"ports or VLANs of rails are in it on {_of(most)}"))
        _add_vni(found, str(most.value), [leaf for leaf, _port in vrfs], readings)
    return found


def _of(most: Usual) -> str:
    return f"{most.nodes} of {most.reporting} leaves"


def _vrf_of(ports: Sequence[str], own: Mapping[str, Rows]) -> str | None:
    """The one VRF of a leaf's ports to hosts, or of the interfaces of their VLANs; None where that is not reported, or several are."""
    rows = own.get("port_vrfs")
    if rows is None:
        return None
    if not rows:
        return DEFAULT
    of_port = {port_name(row["port"].partition(".")[0]): str(row["vrf"]) for row in rows}
    of_vlan = {match[1]: str(row["vrf"]) for row in rows if (match := VLAN.fullmatch(row["port"]))}
    vlans = {port_name(row["port"]): str(row.get("vlan")) for row in own.get("interface_status", ())}
    # A trunk, or a port of which no VLAN is reported, is in one of the VLANs that the leaf routes.
    any_vlan = next(iter(of_vlan.values())) if len(set(of_vlan.values())) == 1 else None
    names = [port_name(port) for port in ports]
    found = {of_port.get(name) or of_vlan.get(vlans.get(name, "")) or any_vlan for name in names}
    return found.pop() if len(found) == 1 else None


def _add_vni(found: Overlay, vrf: str, leaves: Sequence[str], readings: Readings) -> None:
    """Propose EVPN where most leaves have a VNI of layer 3 of the VRF."""
    vnis: dict[End, Hashable] = {}
    for leaf in leaves:
        rows = readings.get(leaf, {}).get("vnis")
        if rows is not None:
            vnis[leaf, ""] = next((row["vni"] for row in rows if row["kind"] == "L3" and str(row["vrf"] or "").lower() == vrf.lower()), None)
    if not any(vnis.values()):
        return
    most = usual_of(vnis)
    if most is None:
        found.blanks.append(f"pod_overlay, pod_rail_vni: leaves differ in the VNI of VRF {vrf}, and none is that of most")
        return
    words = {vni: "no VNI" if vni is None else f"VNI {vni}" for vni in vnis.values()}
    found.outliers.extend(odd_ones(vnis, most, lambda vni: f"{words[vni]} of VRF {vrf}, and {words[most.value]} on {_of(most)}"))
    if most.value is not None:
        found.proposals.append(Proposal("pod_overlay", "evpn", f"VRF {vrf} has a VNI of layer 3 on {_of(most)}"))
        found.proposals.append(Proposal("pod_rail_vni", most.value, f"that of VRF {vrf} on {_of(most)}"))
