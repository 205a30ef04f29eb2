# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 3, congestion: whether the switches have the settings of the RoCE class."""

from __future__ import annotations

import typing as t

from ...pod.names import by_port, port_name
from ...pod.types import NearCable
from ...readings.nic_drivers import is_virtual_function
from ...readings.rows import Peers, Rows
from .. import Finding, check
from .._lossless import Lossless, named
from .._planned import cables_of
from ..place import Place, at_port

DROPS = "The queue of RoCE has thresholds, and ECN marking is not enabled in them: what is above them is dropped, and no sender is told to slow down."
DROPS_FIX = "Enable ECN in that profile (SONiC: its ecn mode; EOS and NX-OS: the word ecn behind random-detect), as on a switch of this role that marks."
UNMARKED = "The switch has no ECN thresholds in the queue of the RoCE priority, so that only pauses slow the senders down."
UNMARKED_FIX = "Configure ECN in the queue that carries the RoCE priority, with the thresholds of the other switches, and bind it to every port."


@check(
    cause="PFC is not on for the RoCE priority at one end of a cable, or it is on for another priority too; or the switch has thresholds but does not mark.",
    fix="Give every port of the path the same lossless priority, and enable ECN marking in the queue that carries it.",
    fabric="roce",
    kind="switch",
)
def qos_agrees(
    pfc_priorities: Rows, pfc_priorities_of_peers: Peers, pod_cables: list[NearCable], pod_roce_priority: int,
    pod_other_lossless_priorities: list[int], pod_pfc: bool, ecn_settings: Rows | None = None,
    nic_functions_of_peers: Peers | None = None, pod_not_asked: t.Sequence[str] = (),
) -> t.Iterator[Finding]:  # fmt: skip
    """PFC is on for the RoCE priority where it is lossless, and for no other unless planned, at both ends of every cable, and the switch marks ECN."""
    expected = Lossless(pod_roce_priority, pod_other_lossless_priorities, pod_pfc)
    mine = _lossless(pfc_priorities)
    theirs = {node: _lossless(rows) for node, rows in pfc_priorities_of_peers.items()}
    virtual = {
        (node, row["netdev"]) for node, rows in (nic_functions_of_peers or {}).items() for row in rows if is_virtual_function(row["vendor"], row["device"])
    }
    for cable in cables_of(pod_cables):
        near, far = mine.get(port_name(cable["port"])), theirs.get(cable["peer"], {}).get(port_name(cable["peer_port"]))
        end = f"{cable['peer']} {cable['peer_port']}"
        if near is None:
            yield Finding(at_port(cable["port"], "PFC"), str(expected), "not reported", "unknown")
        elif not expected.fits(near):
            words = f"on {named(near)}" + (f", and on {named(far)} at {end}" if far is not None else "")
            yield Finding(at_port(cable["port"], "PFC"), str(expected), words, cause=expected.cause, fix=expected.fix)
        elif far is None and ((cable["peer"], cable["peer_port"]) in virtual or (cable["peer_role"] == "host" and cable["peer"] in pod_not_asked)):
            # The far end is set on the physical function, which the guest does not see; or the host is judged once its gate group reaches this layer.
            continue
        elif far is None:
            yield Finding(at_port(cable["port"], "PFC"), f"the same at {end}", f"{cable['peer']} does not report it", "unknown")
        elif not expected.fits(far) and cable["peer_role"] == "host":
            # A switch at the other end has a finding of its own; this one is as planned.
            words = f"on {named(far)} there"
            yield Finding(at_port(cable["port"], "PFC"), f"{expected} at {end} too", words, cause=expected.cause, fix=expected.fix)
    if ecn_settings is not None:
        yield from of_marking(ecn_settings, pod_cables, pod_roce_priority)


def _lossless(rows: Rows) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(port_name(row["port"]), []).extend([row["priority"]] if row["pfc"] else [])
    return found


def of_marking(settings: Rows, cables: list[NearCable], priority: int) -> t.Iterator[Finding]:
    """Profiles of which one must mark, or settings of ports that all must."""
    of_class = [row for row in settings if row["queue"] in (None, priority)]
    if not of_class:
        yield Finding(Place("ECN", of="ECN"), f"marking in queue {priority}", "no thresholds are configured for it", "warn", cause=UNMARKED, fix=UNMARKED_FIX)
    profiles = [row for row in of_class if row["port"] is None]
    if profiles and not any(row["marking"] for row in of_class):
        names = ", ".join(str(row["profile"]) for row in profiles)
        yield Finding(
            Place("ECN", of="ECN"),
            "a profile that marks",
            f"{names} drop{'s' if len(profiles) == 1 else ''} instead: marking is not enabled",
            cause=DROPS,
            fix=DROPS_FIX,
        )
    reported = by_port([row for row in of_class if row["port"] is not None])
    for cable in cables:
        row = reported.get(cable["port"])
        if row is None and reported and not profiles:
            yield Finding(at_port(cable["port"], "ECN"), f"marking on traffic class {priority}", "not reported", "unknown")
        elif row is not None and not (row["marking"] and (not row["traffic_classes"] or priority in row["traffic_classes"])):
            classes = f"on traffic class {', '.join(map(str, row['traffic_classes']))}" if row["marking"] else "not enabled"
            cause, fix = (None, None) if row["marking"] else (DROPS, DROPS_FIX)
            yield Finding(at_port(cable["port"], "ECN"), f"marking on traffic class {priority}", classes, cause=cause, fix=fix)


@check(
    cause="The switch carries RoCE in a class that has neither PFC nor ECN, so that it is dropped like any other traffic.",
    fix="Map the DSCP of the pod to the lossless class (SONiC DSCP_TO_TC_MAP, Cumulus nv set qos roce), and bind the map to every port of the path.",
    fabric="roce",
    kind="switch",
)
def dscp_agrees(dscp_classes: Rows, pod_cables: list[NearCable], pod_roce_priority: int, pod_roce_dscp: int) -> t.Iterator[Finding]:
    """The switch maps the RoCE DSCP to the traffic class of the RoCE priority, at every cabled port."""
    reported: dict[str | None, dict[str | None, int | None]] = {}
    for row in dscp_classes:
        by_map = reported.setdefault(row["port"] and port_name(row["port"]), {})
        by_map.setdefault(row["map"], None)
        if pod_roce_dscp in row["dscp"]:
            by_map[row["map"]] = row["traffic_class"]
    expected = f"traffic class {pod_roce_priority} for DSCP {pod_roce_dscp}"
    if not dscp_classes:
        yield Finding(Place("maps"), expected, "no map of any DSCP is configured")
        return
    if None in reported:
        wrong = [f"{_class(given)} in {name}" for name, given in reported[None].items() if given != pod_roce_priority]
        if wrong:
            some = len(wrong) < len(reported[None])
            yield Finding(
                Place("maps"), expected, ", ".join(wrong) + (", and which ports use that map is not reported" if some else ""), "unknown" if some else None
            )
        return
    for cable in cables_of(pod_cables):
        given = reported.get(port_name(cable["port"]))
        if given is None:
            yield Finding(at_port(cable["port"]), expected, "not reported", "unknown")
        elif list(given.values()) != [pod_roce_priority]:
            yield Finding(at_port(cable["port"]), expected, ", ".join(map(_class, given.values())))


def _class(given: int | None) -> str:
    return "none" if given is None else f"traffic class {given}"
