# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventories of the simulated pod's layout in any size; ``inventories/simulated`` is the one of full size.

Run as a program it writes hosts.yml and the wiring plan of a directory again.
"""

from __future__ import annotations

import re
import shutil
import sys
import typing as t
from pathlib import Path

import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import PLACE
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.yaml_text import from_yaml

INVENTORIES = Path(__file__).resolve().parents[2] / "inventories"
OF_FABRIC = {"roce": INVENTORIES / "simulated", "infiniband": INVENTORIES / "simulated_ib"}
SIMULATED = OF_FABRIC["roce"]
NETDEVS = ("enp24s0np0", "enp64s0np0", "enp79s0np0", "enp94s0np0", "enp154s0np0", "enp192s0np0", "enp206s0np0", "enp220s0np0")
DEVICES = ("mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11")
FIRST_UPLINK = 33
BELOW_LOADS = "routing"


def hosts_yml(racks: int, hosts_per_rack: int, spines: int, fabric: str = "roce", leaves: int = len(NETDEVS), super_spines: int = 0, units: int = 1) -> str:
    """The inventory: racks of GPU hosts, one leaf a rail (or of each rack), spines (of each of some units), super-spines."""
    lines = ["# Written by tests/simulated_pod/layout.py.", "---", "all:", "  children:", "    gpu_hosts:", "      children:"]
    for rack in range(racks):
        first = rack * hosts_per_rack + 1
        lines += [f"        rack_{rack + 1:02}:", "          hosts:", f"            gpu[{first:02}:{first + hosts_per_rack - 1:02}]:"]
    lines += ["    leaves:", "      hosts:"] + [f"        leaf{leaf:02}: {{bgp_asn: {65100 + leaf}}}" for leaf in range(1, leaves + 1)]
    lines += ["    spines:", "      hosts:"] + [
        f"        spine{spine:02}: {{bgp_asn: {65000 + (spine - 1) // spines}}}" for spine in range(1, spines * units + 1)
    ]
    if super_spines:
        lines += ["      children:", "        super_spines:", "          hosts:"]
        lines += [f"            superspine{number:02}: {{bgp_asn: 64900}}" for number in range(1, super_spines + 1)]
    text = "\n".join(lines) + "\n"
    return re.sub(r" \{bgp_asn: \d+\}", "", text) if fabric == "infiniband" else text


def infiniband_csv(hosts: int, spines: int) -> str:
    """The wiring plan of InfiniBand: a host's port is its device, a switch's its number."""
    lines = ["a_node,a_port,b_node,b_port,medium,length_m"]
    for leaf, device in enumerate(DEVICES, 1):
        lines += [f"gpu{host:02},{device},leaf{leaf:02},{host},{'dac,2' if host <= 4 else 'optic,30'}" for host in range(1, hosts + 1)]
    for leaf in range(1, len(DEVICES) + 1):
        lines += [f"leaf{leaf:02},{FIRST_UPLINK + spine - 1},spine{spine:02},{leaf},optic,50" for spine in range(1, spines + 1)]
    return "\n".join(lines) + "\n"


def cabling_csv(hosts: int, spines: int, netdevs: t.Sequence[str] = NETDEVS, leaf_platform: str = "eos", hosts_per_unit: int = 0, members: int = 0) -> str:
    """The wiring plan: rail i of every host on leaf i (of its unit), one uplink of every leaf to every spine, or a port-channel of so many members.

    leaf_platform: eos or sonic, by which its ports are named; hosts_per_unit: how many hosts share their leaves, 0 for all.
    """
    per = hosts_per_unit or hosts
    units = -(-hosts // per)
    lines = ["a_node,a_port,b_node,b_port,medium,length_m,a_address,b_address"]
    for rail, netdev in enumerate(netdevs, 1):
        for host in range(1, hosts + 1):
            leaf = rail + len(netdevs) * ((host - 1) // per)
            lines.append(f"gpu{host:02},{netdev},leaf{leaf:02},{_leaf_port(leaf_platform, host)},{'dac,2' if host <= 4 else 'optic,30'},,")
    for leaf in range(1, units * len(netdevs) + 1):
        for spine in range(1, spines + 1):
            network = f"10.{leaf // 127}.{spine}"
            addresses = f"{network}.{2 * (leaf % 127)},{network}.{2 * (leaf % 127) + 1}"
            channels = f",{'PortChannel000' if leaf_platform == 'sonic' else 'Port-Channel'}{spine},PortChannel{leaf:04}" if members else ""
            for member in range(members or 1):
                uplink = _leaf_port(leaf_platform, FIRST_UPLINK + (members or 1) * (spine - 1) + member)
                down = f"Ethernet{8 * ((members or 1) * (leaf - 1) + member)}"
                lines.append(f"leaf{leaf:02},{uplink},spine{spine:02},{down},optic,50,{addresses}{channels}")
    if members:
        lines = [lines[0] + ",a_channel,b_channel", *(line if "spine" in line else line + ",," for line in lines[1:])]
    return "\n".join(lines) + "\n"


def over_super_spines(cables: str, spines: int, super_spines: int, units: int, planes: bool = False) -> str:
    """The wiring plan of two tiers where each unit has spines of its own, and two cables from each of these to each super-spine, or all to its plane's."""
    lines = cables.splitlines()
    found = [lines[0]]
    leaves = len({line.split(",")[0] for line in lines if line.startswith("leaf")})
    for line in lines[1:]:
        cells = line.split(",")
        if cells[0].startswith("leaf"):
            unit = (int(cells[0].removeprefix("leaf")) - 1) * units // leaves
            cells[2] = f"spine{int(cells[2].removeprefix('spine')) + spines * unit:02}"
        found.append(",".join(cells))
    for spine in range(1, spines * units + 1):
        for number in range(2 * super_spines):
            top, network = number // 2 + 1, f"10.200.{spine}"
            port = 2 * (spine - 1) + number % 2
            if planes:
                top, port = (spine - 1) % spines + 1, 2 * super_spines * ((spine - 1) // spines) + number
            ports = f"spine{spine:02},Ethernet{8 * (leaves + number)},superspine{top:02},Ethernet{8 * port}"
            found.append(f"{ports},optic,100,{network}.{2 * number},{network}.{2 * number + 1}")
    return "\n".join(found) + "\n"


def _leaf_port(platform: str, number: int) -> str:
    return f"Ethernet{8 * (number - 1)}" if platform == "sonic" else f"Ethernet{number}/1"


def rails_of_units(hosts_per_unit: int) -> list[dict[str, t.Any]]:
    """The rails of a pod whose leaves are those of a unit of so many hosts: leaf and network follow from a host's number."""
    first = f"8 * ((host_number | int - 1) // {hosts_per_unit})"
    raw = from_yaml((SIMULATED / "group_vars" / "gpu_hosts.yml").read_text(encoding="utf-8"))["pod_rails"]
    return [
        {
            **rail,
            "leaf": f"leaf{{{{ '%02d' | format({first} + {number}) }}}}",
            "address": f"10.{{{{ 50 + {first} + {number} }}}}.0.{{{{ host_number }}}}/24",
        }
        for number, rail in enumerate(raw, 1)
    ]


def rails_of_bonds() -> list[dict[str, t.Any]]:
    """Four rails, each a bond (LACP) of two ports, which lead to a pair of leaves."""
    raw = from_yaml((SIMULATED / "group_vars" / "gpu_hosts.yml").read_text(encoding="utf-8"))["pod_rails"]
    return [
        {
            **raw[2 * number],
            "device": f"mlx5_bond_{number}",
            "netdev": f"bond{number}",
            "members": [raw[2 * number]["netdev"].replace("np0", f"f{port}np{port}") for port in (0, 1)],
            "leaf": f"leaf{2 * number + 1:02}",
        }
        for number in range(4)
    ]


def bonded(cables: str, rails: list[dict[str, t.Any]], leaf_platform: str = "eos") -> str:
    """The wiring plan whose host ports are those of bonds: rows of rail by rail become those of member by member.

    leaf_platform: eos or sonic, by which its port-channels are named.
    """
    channel = "PortChannel" if leaf_platform == "sonic" else "Port-Channel"
    ports = {netdev: (port, rail["netdev"]) for rail, pair in zip(rails, zip(NETDEVS[::2], NETDEVS[1::2])) for netdev, port in zip(pair, rail["members"])}
    lines = cables.splitlines()
    found = [lines[0] + ",a_channel,b_channel"]
    for line in lines[1:]:
        cells = line.split(",")
        if cells[0].startswith("gpu"):
            number = int(cells[0].removeprefix("gpu"))
            port, bond = ports[cells[1]]
            cells = [cells[0], port, *cells[2:], bond, f"{channel}{100 + number}"]
        else:
            cells += ["", ""]
        found.append(",".join(cells))
    return "\n".join(found) + "\n"


def at_one_leaf(cables: str) -> str:
    """The wiring plan of bonds whose ports lead to one leaf each, in place of a pair: no leaf has an even number."""
    found = []
    for line in cables.splitlines():
        cells = line.split(",")
        if cells[0].startswith("gpu") and int(cells[2].removeprefix("leaf")) % 2 == 0:
            cells[2] = f"leaf{int(cells[2].removeprefix('leaf')) - 1:02}"
            cells[3] = f"Ethernet{int(cells[0].removeprefix('gpu')) + FIRST_UPLINK // 2}/1"
        if not (cells[0].startswith("leaf") and int(cells[0].removeprefix("leaf")) % 2 == 0):
            found.append(",".join(cells))
    return "\n".join(found) + "\n"


def rails_of_planes(planes: int) -> list[dict[str, t.Any]]:
    """Eight rails, of which each so many are the ports of one NIC, for the first of as many GPUs."""
    raw = from_yaml((SIMULATED / "group_vars" / "gpu_hosts.yml").read_text(encoding="utf-8"))["pod_rails"]
    return [{**rail, "gpu": planes * (number // planes)} for number, rail in enumerate(raw)]


def in_planes(cables: str, spines: int, planes: int) -> str:
    """The wiring plan without what joins its planes: one leaf after the other is in the next plane, and each plane has as many spines, in their order.

    Raises ValueError where a plane has no spine.
    """
    if spines % planes:
        raise ValueError(f"{planes} planes need the same number of spines each, and there are {spines}")
    found = []
    for line in cables.splitlines():
        ends = re.match(r"leaf(\d+),[^,]+,spine(\d+),", line)
        if not ends or (int(ends[1]) - 1) % planes == (int(ends[2]) - 1) * planes // spines:
            found.append(line)
    return "\n".join(found) + "\n"


def rails_of_ipv6() -> list[dict[str, t.Any]]:
    """The rails of a pod of IPv6 alone: a network a leaf."""
    raw = from_yaml((SIMULATED / "group_vars" / "gpu_hosts.yml").read_text(encoding="utf-8"))["pod_rails"]
    return [{**rail, "address": f"fd00:{50 + number:x}::{{{{ '%x' | format(host_number | int) }}}}/64"} for number, rail in enumerate(raw, 1)]


def write(
    into: Path, racks: int = 4, hosts_per_rack: int = 8, spines: int = 4, expectations: t.Mapping[str, t.Any] | None = None, fabric: str = "roce",
    leaf_platform: str = "eos", leaves_of_racks: bool = False, ipv6: bool = False, members: int = 0, bonds: bool = False,
    units: int = 0, super_spines: int = 4, planes: bool = False, one_leaf: bool = False, nic_planes: int = 0,
) -> Path:  # fmt: skip
    """An inventory of that size in a directory; expectations override those of ``inventories/simulated`` or ``inventories/simulated_ib``.

    leaf_platform: eos or sonic; leaves_of_racks: whether each rack has leaves of its own, so that hosts of two racks meet over the spines;
    ipv6: whether rails have addresses of IPv6 alone, and switches none; members: of each port-channel between a leaf and a spine, 0 for ports of their own;
    bonds: whether rails are bonds of two ports each, to a pair of leaves; units: of how many scalable units it is, each with racks, leaves and spines of
    its own below so many super-spines, 0 for none; planes: whether spine i of each unit leads to super-spine i alone; one_leaf: whether both ports of a
    bond lead to one leaf; nic_planes: of how many planes the ports of one NIC are, each port a rail, 0 for one plane.
    It stops below the loads, which take their time on a pod of any size, unless the expectations say more. Returns the directory.
    """
    shutil.copytree(OF_FABRIC[fabric] / "group_vars", into / "group_vars", dirs_exist_ok=True)
    if leaf_platform == "sonic":
        shutil.copy(into / "group_vars" / "spines.yml", into / "group_vars" / "leaves.yml")
    per_unit = racks * hosts_per_rack // units if units else hosts_per_rack if leaves_of_racks else 0
    expectations = {**({"pod_rails": rails_of_units(per_unit)} if per_unit else {}), **(expectations or {})}
    expectations |= {"pod_address_family": "ipv6", "pod_rails": rails_of_ipv6()} if ipv6 else {}
    expectations |= {"pod_rails": rails_of_bonds()} if bonds else {}
    expectations |= {"pod_rails": rails_of_planes(nic_planes)} if nic_planes else {}
    values = {"pod_gate_groups": [f"rack_{rack:02}" for rack in range(1, racks + 1)], "pod_to_layer": BELOW_LOADS, **expectations}
    netdevs = [rail["netdev"] for rail in values["pod_rails"]] if "pod_rails" in values and not bonds else NETDEVS
    leaves = len(netdevs) * (units or (racks if leaves_of_racks else 1))
    inventory = hosts_yml(racks, hosts_per_rack, spines, fabric, leaves, super_spines if units else 0, units or 1)
    inventory = re.sub(r".*leaf\d[02468]:.*\n", "", inventory) if one_leaf else inventory
    (into / "hosts.yml").write_text(inventory, encoding="utf-8")
    cables = infiniband_csv(racks * hosts_per_rack, spines) if fabric == "infiniband" else cabling_csv(
        racks * hosts_per_rack, spines, netdevs, leaf_platform, per_unit, members
    )  # fmt: skip
    cables = over_super_spines(cables, spines, super_spines, units, planes) if units else cables
    cables = bonded(cables, values["pod_rails"], leaf_platform) if bonds else cables
    cables = at_one_leaf(cables) if one_leaf else cables
    cables = in_planes(cables, spines, nic_planes) if nic_planes else cables
    (into / PLACE).write_text(re.sub(r"10\.0\.\d+\.\d+", "", cables) if ipv6 else cables, encoding="utf-8")
    rails = {key: values.pop(key) for key in ("pod_rails",) if key in values}
    (into / "group_vars" / "all" / "size.yml").write_text(yaml.safe_dump(values), encoding="utf-8")
    if rails:
        raw = from_yaml((into / "group_vars" / "gpu_hosts.yml").read_text(encoding="utf-8"))
        (into / "group_vars" / "gpu_hosts.yml").write_text(yaml.safe_dump({**raw, **rails}), encoding="utf-8")
    return into


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else SIMULATED
    whose = "infiniband" if target.name == OF_FABRIC["infiniband"].name else "roce"
    (target / "hosts.yml").write_text(hosts_yml(4, 8, 4, whose), encoding="utf-8")
    (target / PLACE).write_text(infiniband_csv(32, 4) if whose == "infiniband" else cabling_csv(32, 4), encoding="utf-8")
