# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: counters, bit errors and modules of switches as InfiniBand has them."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...pod.names import by_port, rated
from ...pod.types import NearCable
from ...readings.rows import Peers, Row, Rows
from .. import Finding, NotApplicable, check
from .._counters import NOT_ASKED, NOT_ASKED_FIX, SATURATED_CAUSE, SATURATED_FIX, not_grown
from .._once import once_for_all_nodes
from .._planned import cables_of
from ..place import Place, at_port
from ._fabric_stages import of_stage
from ._thresholds import bit_errors_before_fec, hot
from .errors import of_one_node
from .optics import planned_copper

JUDGED = ("symbol_errors", "link_recoveries", "link_downs", "rx_errors", "tx_discards", "local_integrity_errors", "buffer_overruns")
# What a link itself did to packets.
DAMAGE = ("symbol_errors", "rx_errors", "local_integrity_errors")
MARKED = (
    "The packets were marked bad (EBP) by {peer} or a switch before it, and no link of the fabric counted errors meanwhile: this cable is not at fault, but "
    "{peer}, a switch behind it, or a port whose counters are not read."
)
MARKED_FIX = (
    "Follow PortRcvRemotePhysicalErrors from {peer} towards the senders to the first switch that has none at its own ports; look at its log and firmware."
)
# A cage of a switch of NDR or faster holds one module with two ports, of which the first has an odd number.
TWO_PORTS_GBIT_S = 400
OF_CAGE = (
    "Both links of one cage have errors, those of ports {first} and {second}, whose other ends are two nodes: what they share is the cage of the switch and "
    "the module with two ports that is in it, and not two cables."
)
OF_CAGE_FIX = (
    "Reseat and clean the module in the cage of ports {first} and {second}, then replace it, or move it to another cage to see whether the errors follow it; "
    "touch the far ends only if they do not go. Clear the counters of both ends (perfquery -R) and soak again."
)
# Waiting is no error, and its counter is at its end within minutes of load.
WAITS = "PortXmitWait"


@check(
    cause="A bad or dirty cable or connector, a failing module, or a port that was reset; a switch discards packets that wait too long.",
    fix="Reseat and clean both ends of the cable named, then replace it; clear the counters of both ends (perfquery -R) and soak again.",
    fabric="infiniband",
    required=True,
)
def ib_errors_clean(
    link_errors: Rows, link_errors_before: Rows, pod_cables: list[NearCable], link_errors_of_peers: Peers | None = None,
    link_errors_before_of_peers: Peers | None = None, pod_link_gbit_s: float = 0, pod_role: str = "host",
) -> t.Iterator[Finding]:  # fmt: skip
    """No planned port gains symbol, receive or link errors or discards during the soak, and no counter is saturated."""
    now, then = by_port(link_errors), by_port(link_errors_before)
    explained = _damaging_links(link_errors_of_peers or {}, link_errors_before_of_peers or {})
    for cable in cables_of(pod_cables):
        port, expected = cable["port"], f"no growth of errors on the link to {cable['peer']} {cable['peer_port']}"
        if port not in now or port not in then:
            yield Finding(at_port(port), expected, "no counters of this port", "unknown", cause=NOT_ASKED, fix=NOT_ASKED_FIX)
        else:
            pair = _cage(cable, pod_cables, pod_link_gbit_s) if pod_role != "host" else ()
            words = dict(zip(("first", "second"), pair)) if len(pair) == 2 and all(_damaged(one, now, then) for one in pair) else {}
            for one in _growth(port, expected, now[port], then[port]):
                yield replace(one, cause=OF_CAGE.format(**words), fix=OF_CAGE_FIX.format(**words)) if words and one.severity is None else one
            if not explained:
                yield from _marked(port, expected, cable["peer"], now[port], then[port])


def _cage(cable: NearCable, cables: list[NearCable], link_gbit_s: float) -> tuple[str, ...]:
    """The ports of the cage that a port is in, where both have cables and it holds two; no names but numbers tell."""
    if not cable["port"].isdigit() or rated(cable, link_gbit_s) < TWO_PORTS_GBIT_S:
        return ()
    first = int(cable["port"]) - (int(cable["port"]) + 1) % 2
    known = {one["port"]: one["peer"] for one in cables}
    pair = (str(first), str(first + 1))
    return pair if all(port in known for port in pair) and len({known[port] for port in pair}) == len(pair) else ()


def _damaged(port: str, now: t.Mapping[str, Row], then: t.Mapping[str, Row]) -> bool:
    """Whether a link itself did something to packets in the soak."""
    return port in now and port in then and any(now[port][name] > then[port][name] for name in DAMAGE)


@once_for_all_nodes
def _damaging_links(link_errors_of_peers: Peers, link_errors_before_of_peers: Peers) -> bool:
    """Whether a link of the fabric damaged packets in the soak: the switch behind it marks them bad, and all ports on their way count them."""
    for node, rows in link_errors_of_peers.items():
        then = by_port(link_errors_before_of_peers.get(node, []))
        # A counter at its end stands still, and its port has a finding of its own.
        if any({*row["saturated"]} - {WAITS} for row in rows):
            return True
        if any(row[name] > then[row["port"]][name] for row in rows if row["port"] in then for name in DAMAGE):
            return True
    return False


def _marked(port: str, expected: str, peer: str, now: Row, before: Row) -> t.Iterator[Finding]:
    """Packets that came with the mark of a switch before, where no link of the fabric is known to have damaged them."""
    grown = now["rx_remote_errors"] - before["rx_remote_errors"]
    if grown > 0:
        yield Finding(at_port(port), expected, f"rx_remote_errors +{grown}", cause=MARKED.format(peer=peer), fix=MARKED_FIX.format(peer=peer))


def _growth(port: str, expected: str, now: Row, before: Row) -> t.Iterator[Finding]:
    stopped = sorted({*now["saturated"], *before["saturated"]} - {WAITS})
    if stopped:
        yield Finding(at_port(port), expected, f"saturated counters, to be cleared: {', '.join(stopped)}", "unknown", cause=SATURATED_CAUSE, fix=SATURATED_FIX)
    yield from not_grown(at_port(port), expected, now, before, JUDGED)


@check(
    cause="The link has many corrected bit errors at this end of it: dirt, a marginal module at either end, or a cable at its limit.",
    fix="Clean and reseat both ends of the cable named, then replace the cable or module; compare with the neighboring ports (ibdiagnet --get_phy_info).",
    fabric="infiniband",
    kind="switch",
)
def ib_bit_error_rate(
    link_bit_errors: Rows, interface_status: Rows, pod_cables: list[NearCable], pod_pre_fec_ber_warn: float, pod_pre_fec_ber_max: float
) -> t.Iterator[Finding]:  # fmt: skip
    """The pre-FEC bit error rate of every planned port with a link is at most {pod_pre_fec_ber_warn} (warn) and {pod_pre_fec_ber_max} (fail)."""
    reported, linked = by_port(link_bit_errors), _linked(pod_cables, interface_status)
    rates = {cable["port"]: reported.get(cable["port"], {}).get("pre_fec_ber") for cable in linked}
    if all(rate is None for rate in rates.values()):
        raise NotApplicable("ibdiagnet has a bit error rate of no planned port with a link")
    found: list[Finding] = []
    for cable in linked:
        expected = f"at most {pod_pre_fec_ber_warn:g} before FEC on the link to {cable['peer']} {cable['peer_port']}"
        found += bit_errors_before_fec(cable["port"], rates[cable["port"]], expected, pod_pre_fec_ber_warn, pod_pre_fec_ber_max)
    yield from of_one_node(found, len(linked))


@check(
    cause="The module is hot: a failed fan or blocked airflow of the switch, or a room that is too warm; a hot module loses bits and then its link.",
    fix="Compare with the neighboring modules: where all are hot, look at the switch's fans and the room, otherwise reseat or replace the module.",
    fabric="infiniband",
    kind="switch",
)
def ib_module_temperature(
    module_temperatures: Rows, interface_status: Rows, pod_cables: list[NearCable], pod_optic_temperature_warn_c: float, pod_optic_temperature_max_c: float
) -> t.Iterator[Finding]:  # fmt: skip
    """The module of every planned port with a link is below {pod_optic_temperature_max_c} degrees C ({pod_optic_temperature_warn_c}: warn)."""
    reported = {row["port"]: row["temperature_c"] for row in module_temperatures}
    optics = [cable["port"] for cable in _linked(pod_cables, interface_status) if not planned_copper(cable)]
    if all(reported.get(port) is None for port in optics):
        raise NotApplicable("ibdiagnet has a temperature of no planned module at a port with a link")
    for port in optics:
        yield from hot(port, reported.get(port), pod_optic_temperature_warn_c, pod_optic_temperature_max_c)


def _linked(cables: list[NearCable], interface_status: Rows) -> list[NearCable]:
    """The planned cables at ports that have a link: ibdiagnet asks no others, and others are the finding of port_speed."""
    states = by_port(interface_status)
    return [cable for cable in cables_of(cables) if states.get(cable["port"], {}).get("state") == "connected"]


@check(
    cause="ibdiagnet found an error that no other check reports, such as a wrong firmware, a partition or a routing loop.",
    fix="Read ibdiagnet2.log on the host that read the fabric, at the stage named.",
    fabric="infiniband",
    severity="warn",
)
def fabric_diagnosed(fabric_diagnosis: Rows) -> t.Iterator[Finding]:
    """Every stage of ibdiagnet ends without an error, where it is installed."""
    for row in fabric_diagnosis:
        if row["errors"]:
            cause, fix = of_stage(row["stage"])
            yield Finding(Place(row["stage"]), "no error", f"{row['errors']} errors and {row['warnings']} warnings", cause=cause, fix=fix)
