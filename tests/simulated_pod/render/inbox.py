# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts print whose NICs have the kernel's own driver, or that of another vendor. The layouts of dcb are from its manual."""

from __future__ import annotations

import functools
import json
import re
import typing as t

from ....plugins.plugin_utils.readings.nic_drivers import nic_drivers
from ..model import Rail

PRIORITIES = range(8)


def pfc(rail: Rail) -> str:
    """``dcb -j pfc show dev``."""
    return json.dumps({"pfc_cap": 8, "macsec_bypass": False, "delay": 0, "prio_pfc": [one in rail.pfc for one in PRIORITIES]}) + "\n"


def app(rail: Rail) -> str:
    """``dcb -j app show dev``: mlx5 maps every DSCP where it trusts DSCP, and none otherwise."""
    mapped = [[dscp, rail.dscp_moved.get(dscp, dscp // 8)] for dscp in range(64)] if rail.trust == "dscp" else []
    return json.dumps({"dscp_prio": mapped} if mapped else {}) + "\n"


def apptrust(_rail: Rail) -> None:
    """``dcb apptrust show dev``, which mlx5 refuses."""


def parameters(rail: Rail) -> str:
    """``grep -rs .`` over the parameters of congestion control in debugfs: none of them is a switch."""
    values = {"np_cnp_dscp": "48", **{f"rp_{name}": value for name, value in rail.dcqcn_parameters.items()}}
    return "".join(f"/sys/kernel/debug/mlx5/{rail.pci}/cc_params/{name}:{value}\n" for name, value in values.items())


def _ranges(numbers: t.Iterable[int]) -> str:
    """``0-23, 25-45`` of numbers in their order."""
    runs: list[list[int]] = []
    for one in numbers:
        if runs and runs[-1][-1] == one - 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def nicctl(rail: Rail) -> str:
    """``nicctl show port`` and ``nicctl show qos`` of one card of AMD."""
    nic = f"NIC  : 42424650-4c32-3533-3330-{rail.index:012d} ({rail.pci})\n\nPort : 04908100-0000-4242-4242-{rail.index:012d}"
    pause = "PFC" if rail.pfc_paused else "NONE"
    port = {"Type": "ETH", "speed": f"{rail.speed_gbit_s}G", "Admin state": "UP", "FEC type": "RS", "Pause type": pause, "MTU": "9216"}
    spec = {**port, "TX pause": "enabled", "RX pause": "enabled", "Auto negotiation": "disabled"}
    text = f"{nic} (eth1/1)\n  Spec:\n" + "".join(f"    {name:<41}: {value}\n" for name, value in spec.items())
    text += f"  Status:\n    {'Operational status':<41}: UP\n{'-' * 85}\n{nic}\n\n"
    text += f"  Classification type         : {'DSCP' if rail.trust == 'dscp' else 'PCP'}\n\n"
    if rail.trust == "dscp":
        maps = {priority: [dscp for dscp in range(64) if rail.dscp_moved.get(dscp, dscp // 8) == priority] for priority in PRIORITIES}
        text += "  DSCP-to-priority :\n"
        text += "".join(f"    DSCP bitmap               : {sum(1 << one for one in its):#018x} ==> priority : {priority}\n" for priority, its in maps.items())
        text += "".join(f"    DSCP                      : {_ranges(its)} ==> priority : {priority}\n" for priority, its in maps.items()) + "\n\n"
    text += f"  PFC :\n    PFC priority bitmap       : {sum(1 << one for one in rail.pfc):#x}\n"
    text += f"    PFC no-drop priorities    : {','.join(map(str, rail.pfc))}".rstrip() + "\n\n  Scheduling :\n"
    return text + "    0         DWRR        0         N/A\n"


def niccli(rail: Rail) -> str:
    """``niccli --dev N qos --ets --show``."""
    lines = ["", "IEEE 8021QAZ ETS Configuration TLV:", "         PRIO_MAP: 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:2", "IEEE 8021QAZ PFC TLV:"]
    lines += [f"         PFC enabled: {','.join(map(str, rail.pfc))}", "IEEE 8021QAZ APP TLV:"]
    for number, dscp in enumerate((26, 48) if rail.trust == "dscp" else ()):
        entry = (f"Priority: {rail.dscp_moved.get(dscp, dscp // 8)}", "Sel: 5", f"DSCP: {dscp}")
        lines += [f"         APP#{number}:", *(f"          {one}" for one in entry), ""]
    return "\n".join([*lines, "TC Rate Limit: 100% 100% 100% 0% 0% 0% 0% 0%"]) + "\n"


# By reading and program; None: it is refused.
OF_FORM: dict[tuple[str, str], t.Callable[[Rail], str | None]] = {
    ("qos_trust", "{nicctl_qos}"): nicctl,
    ("pfc_priorities", "{nicctl_qos}"): nicctl,
    ("dscp_map", "{nicctl_qos}"): nicctl,
    ("pfc_priorities", "{niccli_qos}"): niccli,
    ("dscp_map", "{niccli_qos}"): niccli,
    ("pfc_priorities", "dcb"): pfc,
    ("dscp_map", "dcb"): app,
    ("qos_trust", "dcb"): apptrust,
    ("dcqcn", "grep"): parameters,
}


COUNTER = re.compile(r"(?P<before>.*[/ ])(?P<name>[\w.]+)(?P<after>: ?\d+)")
OF_MLX5 = ("_phy", "rx_vport", "tx_vport", "rx_prio", "tx_prio", "np_", "rp_")


@functools.cache
def _names(driver: str) -> dict[str, str]:
    """By a counter's name of mlx5, what another driver calls it; of several names of one meaning the last has one."""
    own, other = (next(table for table in nic_drivers() if name in table.drivers) for name in ("mlx5_core", driver))
    names: dict[str, str] = {}
    for mine, its in ((own.netdev, other.netdev), (own.device, other.device)):
        for meaning in mine.keys() & its.keys():
            names |= {mine[meaning][-1].format(p=priority): its[meaning][0].format(p=priority) for priority in PRIORITIES}
    return names


def renamed(text: str, driver: str) -> str:
    """The counters of mlx5 by the names of another driver; those that it does not have are left out."""
    lines = []
    for line in text.splitlines():
        found = COUNTER.fullmatch(line)
        name = found and _names(driver).get(found["name"])
        if found and name:
            lines.append(found["before"] + name + found["after"])
        elif not found or not any(part in found["name"] for part in OF_MLX5):
            lines.append(line)
    return "\n".join(lines) + "\n"
