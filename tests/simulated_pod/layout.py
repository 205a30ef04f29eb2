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

INVENTORIES = Path(__file__).resolve().parents[2] / "inventories"
OF_FABRIC = {"roce": INVENTORIES / "simulated", "infiniband": INVENTORIES / "simulated_ib"}
SIMULATED = OF_FABRIC["roce"]
NETDEVS = ("enp24s0np0", "enp64s0np0", "enp79s0np0", "enp94s0np0", "enp154s0np0", "enp192s0np0", "enp206s0np0", "enp220s0np0")
DEVICES = ("mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11")
FIRST_UPLINK = 33
BELOW_LOADS = "routing"


def hosts_yml(racks: int, hosts_per_rack: int, spines: int, fabric: str = "roce", leaves: int = len(NETDEVS)) -> str:
    """The inventory: racks of GPU hosts, one leaf a rail (or of each rack), spines."""
    lines = ["# Written by tests/simulated_pod/layout.py.", "---", "all:", "  children:", "    gpu_hosts:", "      children:"]
    for rack in range(racks):
        first = rack * hosts_per_rack + 1
        lines += [f"        rack_{rack + 1:02}:", "          hosts:", f"            gpu[{first:02}:{first + hosts_per_rack - 1:02}]:"]
    lines += ["    leaves:", "      hosts:"] + [f"        leaf{leaf:02}: {{bgp_asn: {65100 + leaf}}}" for leaf in range(1, leaves + 1)]
    lines += ["    spines:", "      hosts:"] + [f"        spine{spine:02}: {{bgp_asn: 65000}}" for spine in range(1, spines + 1)]
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


def _leaf_port(platform: str, number: int) -> str:
    return f"Ethernet{8 * (number - 1)}" if platform == "sonic" else f"Ethernet{number}/1"


def rails_of_units(hosts_per_unit: int) -> list[dict[str, t.Any]]:
    """The rails of a pod whose leaves are those of a unit of so many hosts: leaf and network follow from a host's number."""
    first = f"8 * ((host_number | int - 1) // {hosts_per_unit})"
    raw = yaml.safe_load((SIMULATED / "group_vars" / "gpu_hosts.yml").read_text(encoding="utf-8"))["pod_rails"]
    return [
        {
            **rail,
            "leaf": f"leaf{{{{ '%02d' | format({first} + {number}) }}}}",
            "address": f"10.{{{{ 50 + {first} + {number} }}}}.0.{{{{ host_number }}}}/24",
        }
        for number, rail in enumerate(raw, 1)
    ]


def rails_of_ipv6() -> list[dict[str, t.Any]]:
    """The rails of a pod of IPv6 alone: a network a leaf."""
    raw = yaml.safe_load((SIMULATED / "group_vars" / "gpu_hosts.yml").read_text(encoding="utf-8"))["pod_rails"]
    return [{**rail, "address": f"fd00:{50 + number:x}::{{{{ '%x' | format(host_number | int) }}}}/64"} for number, rail in enumerate(raw, 1)]


def write(
    into: Path, racks: int = 4, hosts_per_rack: int = 8, spines: int = 4, expectations: t.Mapping[str, t.Any] | None = None, fabric: str = "roce",
    leaf_platform: str = "eos", leaves_of_racks: bool = False, ipv6: bool = False, members: int = 0,
) -> Path:  # fmt: skip
    """An inventory of that size in a directory; expectations override those of ``inventories/simulated`` or ``inventories/simulated_ib``.

    leaf_platform: eos or sonic; leaves_of_racks: whether each rack has leaves of its own, so that hosts of two racks meet over the spines;
    ipv6: whether rails have addresses of IPv6 alone, and switches none; members: of each port-channel between a leaf and a spine, 0 for ports of their own.
    It stops below the loads, which take their time on a pod of any size, unless the expectations say more. Returns the directory.
    """
    shutil.copytree(OF_FABRIC[fabric] / "group_vars", into / "group_vars", dirs_exist_ok=True)
    if leaf_platform == "sonic":
        shutil.copy(into / "group_vars" / "spines.yml", into / "group_vars" / "leaves.yml")
    expectations = {**({"pod_rails": rails_of_units(hosts_per_rack)} if leaves_of_racks else {}), **(expectations or {})}
    expectations |= {"pod_address_family": "ipv6", "pod_rails": rails_of_ipv6()} if ipv6 else {}
    values = {"pod_gate_groups": [f"rack_{rack:02}" for rack in range(1, racks + 1)], "pod_to_layer": BELOW_LOADS, **expectations}
    netdevs = [rail["netdev"] for rail in values["pod_rails"]] if "pod_rails" in values else NETDEVS
    leaves = len(netdevs) * (racks if leaves_of_racks else 1)
    (into / "hosts.yml").write_text(hosts_yml(racks, hosts_per_rack, spines, fabric, leaves), encoding="utf-8")
    cables = infiniband_csv(racks * hosts_per_rack, spines) if fabric == "infiniband" else cabling_csv(
        racks * hosts_per_rack, spines, netdevs, leaf_platform, hosts_per_rack if leaves_of_racks else 0, members
    )  # fmt: skip
    (into / PLACE).write_text(re.sub(r"10\.0\.\d+\.\d+", "", cables) if ipv6 else cables, encoding="utf-8")
    rails = {key: values.pop(key) for key in ("pod_rails",) if key in values}
    (into / "group_vars" / "all" / "size.yml").write_text(yaml.safe_dump(values), encoding="utf-8")
    if rails:
        raw = yaml.safe_load((into / "group_vars" / "gpu_hosts.yml").read_text(encoding="utf-8"))
        (into / "group_vars" / "gpu_hosts.yml").write_text(yaml.safe_dump({**raw, **rails}), encoding="utf-8")
    return into


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else SIMULATED
    whose = "infiniband" if target.name == OF_FABRIC["infiniband"].name else "roce"
    (target / "hosts.yml").write_text(hosts_yml(4, 8, 4, whose), encoding="utf-8")
    (target / PLACE).write_text(infiniband_csv(32, 4) if whose == "infiniband" else cabling_csv(32, 4), encoding="utf-8")
