# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Set trust, PFC, DSCP map and pause of NICs for RoCE, now and whenever they appear."""

from __future__ import annotations

DOCUMENTATION = r"""
module: roce_qos
short_description: Set trust, PFC, DSCP map and pause of NICs for RoCE, now and whenever they appear
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Lets NICs trust DSCP, puts priority flow control on one priority (or none) and takes it from every other, maps the DSCPs of RoCE and of
    congestion notifications where the map differs, and switches link-level pause off, with C(mlnx_qos) and C(ethtool).
  - A systemd unit does it again whenever the netdev appears, at boot and after a reset of the NIC, since none of it survives either.
    Where nothing has to change now, the next boot is left as it is too, since the host then has a way of its own.
  - It reads every NIC again afterwards, because the exit status of C(mlnx_qos) proves nothing.
extends_documentation_fragment: [gpufabric.pyramid.repair, gpufabric.pyramid.repair.rails]
options:
  dscp:
    description: The DSCP of RoCE.
    type: int
    required: true
  cnp_dscp:
    description: The DSCP of congestion notifications; where the map has it on O(priority) it goes to the priority of its upper three bits.
    type: int
    required: true
  pfc:
    description: Whether O(priority) is lossless; without it priority flow control is off on all priorities.
    type: bool
    default: true
    version_added: 0.3.0
"""

EXAMPLES = r"""
- name: Set PFC, trust and pause of the rails
  gpufabric.pyramid.roce_qos:
    netdevs: [enp24s0np0, enp64s0np0]
    priority: 3
    dscp: 26
    cnp_dscp: 48
  become: true
"""

RETURN = r"""
changes:
  description: What was changed, or would be in check mode, a sentence each.
  returned: always
  type: list
  elements: str
  sample: ["enp24s0np0 trust = dscp (was pcp)"]
"""

import re

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpufabric.pyramid.plugins.module_utils import repairing

NAME = "gpufabric-roce-qos"
TRUST = re.compile(r"^Priority trust state: (\S+)", re.MULTILINE)
ENABLED = re.compile(r"^\s*enabled\s+((?:[01]\s+){7}[01])\s*$", re.MULTILINE)
MAPPED = re.compile(r"^\s*prio:(\d) dscp:([\d,]+)\s*$", re.MULTILINE)
PAUSE = re.compile(r"^(RX|TX):\s+(on|off)\s*$", re.MULTILINE)


def settings(mlnx_qos, ethtool, netdev):
    """What a NIC has: ``trust``, ``pfc`` (eight numbers), ``pause`` (rx and tx) and ``map`` (DSCP to priority; empty unless DSCP is trusted).

    Raises Broken where a tool fails or does not state one of them.
    """
    printed = repairing.ran([mlnx_qos, "-i", netdev], 30, f"{netdev} cannot be read")
    trust, enabled = TRUST.search(printed), ENABLED.search(printed)
    pause = dict(PAUSE.findall(repairing.ran([ethtool, "-a", netdev], 30, f"{netdev} cannot be read")))
    if not trust or not enabled or set(pause) != {"RX", "TX"}:
        raise repairing.Broken(f"{netdev}: mlnx_qos or ethtool -a does not report trust, PFC or pause")
    mapped = {int(dscp): int(priority) for priority, dscps in MAPPED.findall(printed) for dscp in dscps.split(",") if dscp}
    return {"trust": trust[1], "pfc": ",".join(enabled[1].split()), "pause": f"rx {pause['RX']} tx {pause['TX']}", "map": mapped}


def away(cnp, priority):
    """Where a congestion notification goes: to the priority of its upper three bits, unless that is RoCE's."""
    return cnp >> 3 if cnp >> 3 != priority else 0


def enabled(given):
    """PFC of the eight priorities, as mlnx_qos takes it."""
    return ",".join("1" if given["pfc"] and one == given["priority"] else "0" for one in range(8))


def commands(mlnx_qos, ethtool, netdev, given):
    """What makes a NIC as it has to be, whatever it is: name of the setting to the argument list."""
    priority = given["priority"]
    cnp = away(given["cnp_dscp"], priority)
    return {
        "trust": [mlnx_qos, "-i", netdev, "--trust", "dscp"],
        "pfc": [mlnx_qos, "-i", netdev, "--pfc", enabled(given)],
        "dscp": [mlnx_qos, "-i", netdev, "--dscp2prio", f"set,{given['dscp']},{priority}"],
        "cnp_dscp": [mlnx_qos, "-i", netdev, "--dscp2prio", f"set,{given['cnp_dscp']},{cnp}"],
        "pause": [ethtool, "-A", netdev, "rx", "off", "tx", "off"],
    }


def differing(netdev, has, given):
    """Each setting that has to change: its name, its words, what it is and what it has to be."""
    priority, mapped = given["priority"], has["map"]
    rows = [("trust", f"{netdev} trust", has["trust"], "dscp"), ("pfc", f"{netdev} PFC", has["pfc"], enabled(given))]
    rows.append(("pause", f"{netdev} link pause", has["pause"], "rx off tx off"))
    # A NIC that trusts the VLAN's priority shows no map; the one it has is seen once it trusts DSCP.
    if has["trust"] == "dscp":
        rows.append(("dscp", f"{netdev} DSCP {given['dscp']}", f"priority {mapped.get(given['dscp'])}", f"priority {priority}"))
        if mapped.get(given["cnp_dscp"], priority) == priority:
            was = f"priority {mapped.get(given['cnp_dscp'])}"
            rows.append(("cnp_dscp", f"{netdev} DSCP {given['cnp_dscp']} (CNP)", was, f"priority {away(given['cnp_dscp'], priority)}"))
    return [row for row in rows if row[2] != row[3]]


def configure(record, mlnx_qos, ethtool, netdev):
    """Set what differs, and look again.

    Raises Broken where something still differs.
    """
    given = record.module.params
    # Twice: a NIC that trusts the VLAN's priority shows its map only after it trusts DSCP.
    for _turn in range(2):
        for name, where, was, wanted in differing(netdev, settings(mlnx_qos, ethtool, netdev), given):
            record.wants(where, was, wanted)
            if not record.check:
                repairing.ran(commands(mlnx_qos, ethtool, netdev, given)[name], 30, f"{where} cannot be set")
        if record.check:
            return
    left = differing(netdev, settings(mlnx_qos, ethtool, netdev), given)
    if left:
        raise repairing.Broken("; ".join(f"{where} is {was} after it was set to {wanted}" for _name, where, was, wanted in left))


def repair(record):
    """The next boot first, so that an interrupted repair is seen again; then every NIC that differs."""
    given = record.module.params
    mlnx_qos, ethtool = repairing.tool("mlnx_qos"), repairing.tool("ethtool")
    wrong = [netdev for netdev in given["netdevs"] if differing(netdev, settings(mlnx_qos, ethtool, netdev), given)]
    if wrong:
        lines = [" ".join(argv) for argv in commands(mlnx_qos, ethtool, "%I", given).values()]
        record.at_boot(NAME, repairing.unit(f"RoCE on priority {given['priority']}", lines), given["netdevs"])
    for netdev in wrong:
        configure(record, mlnx_qos, ethtool, netdev)


def main():
    """Repair."""
    number = {"type": "int", "required": True}
    numbers = {"priority": number, "dscp": number, "cnp_dscp": number}
    spec = {"netdevs": {"type": "list", "elements": "str", "required": True}, **numbers, "pfc": {"type": "bool", "default": True}, "root": repairing.ROOT}
    repairing.repaired(AnsibleModule(argument_spec=spec, supports_check_mode=True), repair)


if __name__ == "__main__":
    main()
