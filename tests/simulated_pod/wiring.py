# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An inventory's own words about the pod, as the model is built from them."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible.vars.manager import VariableManager

from ...plugins.plugin_utils.pod.cabling import PLACE, Cable, located, read_cabling
from ...plugins.plugin_utils.run.compiled_templates import compiled_once
from ...plugins.plugin_utils.text.sorting import natural_key

# Of a node in two of these groups it is the later one.
GROUPS = (("host", "gpu_hosts"), ("leaf", "leaves"), ("spine", "spines"), ("super_spine", "super_spines"))


@dataclass
class Place:
    """One node: host, leaf, spine or super_spine; its platform, gate group, rails and AS."""

    name: str
    role: str
    platform: str
    group: str
    asn: int
    rails: list[dict[str, t.Any]]


@dataclass
class Wiring:
    """The nodes by name, in the order of their names, and the cables."""

    places: dict[str, Place]
    cables: list[Cable]
    groups: dict[str, list[str]] = field(default_factory=dict)
    fabric: str = "roce"
    # The priority and the DSCP of RoCE.
    priority: int = 3
    dscp: int = 26
    vendor: str = "nvidia"
    gpus: int = 8
    # Whether the hosts are trays of NVL72 racks.
    trays: bool = False
    underlay: str = "bgp"
    at: dict[str, list[Cable]] = field(init=False)

    def __post_init__(self) -> None:
        self.at = {name: [] for name in self.places}
        for cable in self.cables:
            for end in (cable.a, cable.b):
                self.at[end.node].append(cable)

    def named(self, role: str) -> list[Place]:
        """The places of one role."""
        return [place for place in self.places.values() if place.role == role]


@compiled_once()
def load(directory: Path) -> Wiring:
    """The wiring of the inventory in a directory: its ``hosts.yml``, group variables and its wiring plan."""
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(directory / "hosts.yml")])
    variables = VariableManager(loader=loader, inventory=inventory)
    members = {group: sorted((host.name for host in inventory.groups[group].get_hosts()), key=natural_key) for group in inventory.groups}
    roles = {name: role for role, group in GROUPS for name in members.get(group, ())}
    places = {}
    of_class = {}
    vendor, domain, underlay = "nvidia", "auto", "bgp"
    for name, role in roles.items():
        raw = variables.get_vars(host=inventory.get_host(name), include_hostvars=False)
        templar = Templar(loader=loader, variables=raw)
        value = {key: templar.template(raw.get(key)) for key in ("pod_rails", "bgp_asn", "pod_gate_groups", "ansible_network_os", "pod_platform", "pod_fabric")}
        vendor = str(templar.template(raw.get("pod_gpu_vendor") or vendor))
        underlay = str(templar.template(raw.get("pod_underlay") or underlay))
        domain = str(templar.template(raw.get("pod_nvlink_domain") or domain))
        of_class |= {key: int(templar.template(raw[key])) for key in ("pod_roce_priority", "pod_roce_dscp") if raw.get(key) is not None}
        group = next((one for one in value["pod_gate_groups"] or () if name in members.get(one, ())), "")
        fabric = str(value["pod_fabric"] or "roce")
        own = value["pod_platform"] or ("infiniband" if fabric == "infiniband" else "")
        platform = "linux" if role == "host" else own or str(value["ansible_network_os"]).rpartition(".")[2]
        places[name] = Place(name, role, str(platform), str(group), int(value["bgp_asn"] or 0), [dict(rail) for rail in value["pod_rails"] or ()])
    plan = directory / located(directory, PLACE)
    cables, wrong = read_cabling(plan.read_text(encoding="utf-8-sig"), places, {name for name, place in places.items() if place.role == "host"})
    if wrong:
        raise ValueError(f"{plan}: {'; '.join(wrong)}")
    groups = {place.group: [one.name for one in places.values() if one.group == place.group] for place in places.values() if place.group}
    trays = domain == "gate_group"
    # Not by pod_gpus_per_host: what a run expects does not change the pod.
    gpus = len({rail["gpu"] for place in places.values() for rail in place.rails}) if trays else 8
    return Wiring(
        places, cables, groups, fabric, of_class.get("pod_roce_priority", 3), of_class.get("pod_roce_dscp", 26), vendor, gpus, trays, underlay
    )  # fmt: skip
