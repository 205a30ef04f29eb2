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


# By reading and program; None: it is refused.
OF_FORM: dict[tuple[str, str], t.Callable[[Rail], str | None]] = {
    ("pfc_priorities", "dcb"): pfc,
    ("dscp_map", "dcb"): app,
    ("qos_trust", "dcb"): apptrust,
    ("dcqcn", "grep"): parameters,
}


# Of errors that no check names by meaning.
OF_ERRORS = {"bnxt_en": {"rx_undersize_pkts_phy": "rx_undrsz_frames", "rx_oversize_pkts_phy": "rx_ovrsz_frames"}}
COUNTER = re.compile(r"(?P<before>.*[/ ])(?P<name>[\w.]+)(?P<after>: ?\d+)")
OF_MLX5 = ("_phy", "rx_vport", "tx_vport", "rx_prio", "tx_prio", "np_", "rp_")


@functools.cache
def _names(driver: str) -> dict[str, str]:
    """By a counter's name of mlx5, what another driver calls it; of several names of one meaning the last has one."""
    own, other = (next(table for table in nic_drivers() if name in table.drivers) for name in ("mlx5_core", driver))
    names = dict(OF_ERRORS.get(driver, {}))
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
