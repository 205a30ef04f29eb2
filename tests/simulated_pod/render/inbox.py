# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host with the kernel's own NIC driver prints, where it has no tool of OFED. The layouts of dcb are from its manual."""

from __future__ import annotations

import json
import typing as t

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
