# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: quality of service of the rail NICs: DCQCN, the lossless priority, and the class that jobs use."""

from __future__ import annotations

import typing as t

from ...pod.rail_ports import rail_ports
from ...pod.types import Rail
from ...readings.nic_drivers import form_of
from ...readings.rows import Rows
from .. import Finding, check
from .._grouping import grouped, planned_rails
from .._lossless import Lossless, named
from ..place import Place, at_port

GLOBAL_PAUSE = "Link-level pause (802.3x, global pause) is on: it stops every priority of the port at once, and PFC is not in effect beside it."
PAUSE_OFF = "ethtool -A NETDEV autoneg off rx off tx off, now and at boot; switch it off (flowcontrol) at the leaf's port too."

CNP_PAUSED = (
    "The NIC sends and takes CNPs in a lossless priority: where that is paused they wait behind the data that they should slow down, and senders react late."
)
CNP_PAUSED_FIX = (
    "Map the DSCP of CNPs to a priority without PFC (mlnx_qos -i {netdev} --dscp2prio set,{cnp},PRIORITY, dcb app, or nicctl update qos), persistently, "
    "as on the other NICs."
)


@check(
    cause="DCQCN is off on the NIC, as after a reimage that lost the udev rule or service which sets it.",
    fix="Write 1 to /sys/class/net/NETDEV/ecn/roce_rp/enable/PRIORITY (and roce_np), now and at boot.",
    fabric="roce",
    remedy="dcqcn",
    when=("pod_congestion_control", ("dcqcn",)),
    meanings=("dcqcn_switches",),
)
def dcqcn_running(dcqcn: Rows, pod_rails: list[Rail], pod_roce_priority: int, pod_cnp_dscp: int) -> t.Iterator[Finding]:
    """DCQCN's reaction point is on for the RoCE priority of every rail, its notification point for any, with the planned CNP DSCP."""
    reported = grouped(dcqcn, "netdev")
    for rail in rail_ports(planned_rails(pod_rails)):
        rows = [row for row in reported.get(rail["netdev"], []) if row["setting"] == "enable"]
        reaction = [row["value"] for row in rows if row["role"] == "rp" and row["priority"] == pod_roce_priority]
        notification = [row["value"] for row in rows if row["role"] == "np"]
        if not reaction or not notification:
            yield Finding(at_port(rail["netdev"]), "DCQCN switches", "not reported by this driver", "unknown")
            continue
        if reaction != ["1"]:
            yield Finding(at_port(rail["netdev"], "roce_rp"), f"enabled on priority {pod_roce_priority}", "disabled")
        if "1" not in notification:
            yield Finding(at_port(rail["netdev"], "roce_np"), "enabled", "disabled on every priority")
        # Where the driver reports it: roce_qos has judged the planned one's priority, and no other's.
        for row in reported[rail["netdev"]]:
            if row["setting"] == "cnp_dscp" and row["value"] != str(pod_cnp_dscp):
                yield Finding(at_port(rail["netdev"], "cnp_dscp"), str(pod_cnp_dscp), row["value"], "warn")


@check(
    cause="DSCP trust, PFC or the DSCP map were never set or did not survive a reimage; RoCE traffic is then lossy.",
    fix="mlnx_qos -i NETDEV --trust dscp --pfc with the one lossless priority, and --dscp2prio where the map differs, or dcb pfc and app, or nicctl update "
    "qos and nicctl update port --pause-type pfc; persistently.",
    fabric="roce",
    remedy="roce_qos",
    meanings=("qos_settings",),
)
def roce_qos(
    pfc_priorities: Rows, dscp_map: Rows, pause_settings: Rows, pod_rails: list[Rail], pod_roce_priority: int, pod_roce_dscp: int, pod_cnp_dscp: int,
    pod_other_lossless_priorities: list[int], pod_pfc: bool, qos_trust: Rows | None = None, nic_driver: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Every rail trusts DSCP, has PFC on RoCE's priority where it is lossless and on no other unless planned, and maps RoCE's and CNP's DSCP as planned."""
    expected = Lossless(pod_roce_priority, pod_other_lossless_priorities, pod_pfc)
    pause = {row["netdev"]: row for row in pause_settings}
    pfc, maps = grouped(pfc_priorities, "port"), grouped(dscp_map, "netdev")
    trust = {**_trust_by_map(nic_driver or [], maps), **{row["netdev"]: row["trust"] for row in qos_trust or ()}}
    for netdev in (rail["netdev"] for rail in rail_ports(planned_rails(pod_rails))):
        if netdev not in trust or netdev not in pfc or netdev not in pause:
            yield Finding(at_port(netdev), "trust, PFC and pause settings", "not reported", "unknown")
            continue
        if trust[netdev] != "dscp":
            yield Finding(at_port(netdev, "trust"), "dscp", trust[netdev])
        lossless = sorted(row["priority"] for row in pfc[netdev] if row["pfc"])
        if pod_roce_priority not in {row["priority"] for row in pfc[netdev]}:
            yield Finding(at_port(netdev, "PFC"), str(expected), "that priority is not reported", "unknown")
        elif not expected.fits(lossless):
            yield Finding(at_port(netdev, "PFC"), str(expected), f"on {named(lossless)}", cause=expected.cause, fix=expected.fix)
        if pause[netdev]["rx"] or pause[netdev]["tx"]:
            sides = " and ".join(side for side in ("rx", "tx") if pause[netdev][side])
            yield Finding(at_port(netdev, "link pause"), "off", f"on ({sides})", cause=GLOBAL_PAUSE, fix=PAUSE_OFF)
        if trust[netdev] == "dscp":
            yield from _mapped(netdev, maps.get(netdev, []), pod_roce_priority, pod_roce_dscp, pod_cnp_dscp, lossless)


def _trust_by_map(nic_driver: Rows, maps: dict[str, Rows]) -> dict[str, str]:
    """What each rail trusts whose driver reports no trust, and has it follow from the DSCPs that are mapped."""
    netdevs = [row["netdev"] for row in nic_driver if form_of(row["driver"], row["version"]).map_is_trust]
    return {netdev: "dscp" if any(row["dscp"] for row in maps.get(netdev, [])) else "pcp" for netdev in netdevs}


def _mapped(netdev: str, rows: Rows, priority: int, roce: int, cnp: int, lossless: list[int]) -> t.Iterator[Finding]:
    of_dscp = {dscp: row["priority"] for row in rows for dscp in row["dscp"]}
    if roce not in of_dscp:
        yield Finding(at_port(netdev, f"DSCP {roce}"), f"priority {priority}", "not in the map", "unknown")
    elif of_dscp[roce] != priority:
        yield Finding(at_port(netdev, f"DSCP {roce}"), f"priority {priority}", f"priority {of_dscp[roce]}")
    if cnp in of_dscp and of_dscp[cnp] in lossless:
        where = at_port(netdev, f"DSCP {cnp} (CNP)")
        yield Finding(where, "a priority without PFC", f"priority {of_dscp[cnp]}", cause=CNP_PAUSED, fix=CNP_PAUSED_FIX.format(netdev=netdev, cnp=cnp))
    elif cnp not in of_dscp and {0, cnp >> 3} & {*lossless, priority}:
        # dcb reports explicit entries only; any other DSCP is on priority 0 or on that of its upper three bits.
        yield Finding(at_port(netdev, f"DSCP {cnp} (CNP)"), "a priority without PFC", "not in the map", "unknown")


@check(
    cause="Tests or jobs send another traffic class than RoCE's, and so test or use a lossy priority.",
    fix="Use --tclass and NCCL_IB_TC of four times the RoCE DSCP plus 2 (106 for DSCP 26).",
    fabric="roce",
)
def traffic_class(nccl_environment: Rows, pod_traffic_class: int, pod_roce_dscp: int) -> t.Iterator[Finding]:
    """The traffic class of tests and jobs carries the RoCE DSCP."""
    if pod_traffic_class >> 2 != pod_roce_dscp:
        yield Finding(Place("pod_traffic_class"), f"DSCP {pod_roce_dscp}", f"DSCP {pod_traffic_class >> 2} (class {pod_traffic_class})")
    set_by = [row for row in nccl_environment if row["name"] == "NCCL_IB_TC"]
    for row in set_by:
        if row["value"] != str(pod_traffic_class):
            yield Finding(Place(f"{row['file']} NCCL_IB_TC"), str(pod_traffic_class), str(row["value"]))
    if pod_traffic_class and not set_by:
        yield Finding(Place("NCCL_IB_TC"), str(pod_traffic_class), "set for no job: one that does not set it itself sends class 0", "warn")
