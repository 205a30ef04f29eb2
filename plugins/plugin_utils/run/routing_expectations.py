# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether what is expected of a pod's routing can be so, and is known to the readings."""

from __future__ import annotations

import re
import typing as t

from ..pod.plan import Plan
from ..pod.tiers import SPINE
from ..text.counting import some_nodes

VRF = re.compile(r"[\w.:+-]{0,64}", re.ASCII)


def wrong_routing(plan: Plan, values: t.Mapping[str, t.Any]) -> list[str]:
    """Which expectations of underlay, overlay, VRF and family do not go together, in words; none where they do."""
    spines = [node.name for node in plan.nodes.values() if node.role == SPINE]
    if values.get("pod_underlay") == "ospf" and values.get("pod_address_family") == "ipv6":
        return ["argument 'pod_underlay' must not be 'ospf' where pod_address_family is 'ipv6': OSPFv3 is not read"]
    if not VRF.fullmatch(str(values.get("pod_rail_vrf", ""))) or values.get("pod_rail_vrf") == "default":
        return [f"argument 'pod_rail_vrf' must be the name of a VRF, and empty for the default one, not {values['pod_rail_vrf']!r}"]
    if wrong := _overlay(values):
        return [wrong]
    if values["pod_fabric"] != "roce" or values.get("pod_underlay") != "none" or not spines:
        return []
    return [
        f"argument 'pod_underlay' must name the routing protocol of a pod with spines, not 'none': rails on other leaves are routed over {some_nodes(spines)}"
    ]


def _overlay(values: t.Mapping[str, t.Any]) -> str:
    """What an overlay lacks, in words; empty where it lacks nothing."""
    if values.get("pod_overlay", "none") == "none":
        return ""
    if not values.get("pod_rail_vrf"):
        return "argument 'pod_rail_vrf' must name the VRF of the rails where pod_overlay is 'evpn'"
    if values.get("pod_address_family") == "ipv6":
        return "argument 'pod_overlay' must not be 'evpn' where pod_address_family is 'ipv6': VTEPs and rails of IPv4 are read"
    return "argument 'pod_underlay' must name what leads to the VTEPs where pod_overlay is 'evpn', not 'none'" if values.get("pod_underlay") == "none" else ""
