# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: counters of errors and corrected bits."""

from __future__ import annotations

import contextlib
import math
import typing as t
from dataclasses import replace

from ...pod.names import by_port, port_name
from ...pod.rail_ports import port_label, rail_ports
from ...pod.types import NearCable, Rail, RailPort
from ...readings.rows import Peers, Rows
from .. import CannotTell, Finding, NotApplicable, check
from .._counters import RESET_CAUSE, RESET_FIX, not_grown
from .._planned import cables_of
from ..place import Place, at_device, at_port
from ._damaged_frames import Damaged, came_damaged, damaged_by_port, frames_damaged, has_grown
from ._thresholds import bit_errors_before_fec

CRC = ("fcs_errors", "symbol_errors", "alignment_errors", "stomped_crc")
OTHER_ERRORS = ("runts", "giants", "rx_errors", "tx_errors")
BIT_ERRORS = "Physical Counters and BER Info"
# Of so many ports of a node, or links, one common cause is looked for.
MANY_LINKS = 4
MANY_PORTS = (
    "Most ports of one node have it ({number} of {all}): one common cause of the node (heat, power, a line card, its firmware or FEC mode), not each cable."
)
MANY_PORTS_FIX = "Look at the node's temperatures, power, log and firmware before any cable; of CRC errors, at the one port on which bad frames first arrive."
RAW_RATES = ("Raw Physical BER", "Raw BER")
SYMBOL_RATES = ("Symbol BER", "Effective Physical BER")


@check(
    cause="Bad optic or cable, or dirt on a connector.",
    fix="Clean and reseat both ends, then replace the cable or optic, and soak again.",
    fabric="roce",
    required=True,
    meanings=("bit_errors",),
)
def crc_clean(
    interface_errors: Rows, interface_errors_before: Rows, pod_cables: list[NearCable], fec_counters: Rows | None = None,
    fec_counters_before: Rows | None = None, interface_errors_of_peers: Peers | None = None, interface_errors_before_of_peers: Peers | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """No planned port gains a CRC, symbol or alignment error during the soak."""
    damaged = damaged_by_port(interface_errors_of_peers or {}, interface_errors_before_of_peers or {})
    lost = _lost_codewords(fec_counters or [], fec_counters_before or [])
    yield from of_one_node(_crc(interface_errors, interface_errors_before, pod_cables, damaged, lost), len(pod_cables))


def _lost_codewords(rows: Rows, before: Rows) -> set[str]:
    """The ports whose own link lost codewords, so that their CRC errors are theirs."""
    then = by_port(before)
    return {port_name(row["port"]) for row in rows if row["port"] in then and has_grown(("uncorrectable",), row, then[row["port"]])}


def _crc(interface_errors: Rows, interface_errors_before: Rows, pod_cables: list[NearCable], damaged: Damaged, lost: set[str]) -> t.Iterator[Finding]:
    """damaged: the frames that arrived damaged at each node; lost: the ports of this one whose own link lost codewords."""
    for cable, row, before in _both(interface_errors, interface_errors_before, pod_cables):
        port = cable["port"]
        if row is None or before is None:
            yield Finding(at_port(port), "error counters", "not reported for this port", "unknown")
            continue
        # SONiC has one counter of received errors, which holds the CRC errors.
        columns = CRC if row["fcs_errors"] is not None else ("rx_errors", *CRC)
        if row[columns[0]] is None:
            yield Finding(at_port(port), "no growth of CRC errors", "not reported by this platform", "unknown")
            continue
        for one in _growth(port, row, before, columns, "no growth of CRC errors"):
            yield one if port_name(port) in lost else came_damaged(one, cable, row, before, damaged)


@check(
    cause="A fault of the port or its cable, a wrong MTU at one end (giants), or a failing switch ASIC port.",
    fix="Compare MTU and cable of both ends; where they are right, move the cable to another port to see whether the error follows the cable.",
    fabric="roce",
    meanings=("bit_errors",),
)
def errors_clean(
    interface_errors: Rows, interface_errors_before: Rows, pod_cables: list[NearCable], interface_errors_of_peers: Peers | None = None,
    interface_errors_before_of_peers: Peers | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """No planned port gains runts, giants or other errors during the soak."""
    damaged = damaged_by_port(interface_errors_of_peers or {}, interface_errors_before_of_peers or {})
    for cable, row, before in _both(interface_errors, interface_errors_before, pod_cables):
        port = cable["port"]
        if row is None or before is None:
            yield Finding(at_port(port), "error counters", "not reported for this port", "unknown")
        elif row["fcs_errors"] is not None or before["fcs_errors"] is not None or row["rx_errors"] is None:
            for one in _growth(port, row, before, OTHER_ERRORS, "no growth of errors"):
                yield came_damaged(one, cable, row, before, damaged) if _crc_alone(row, before) else one
        else:
            yield from _growth(port, row, before, ("tx_errors", "runts", "giants"), "no growth of errors")


def _crc_alone(now: dict[str, t.Any], before: dict[str, t.Any]) -> bool:
    """Whether all that grew is the sum of received errors, and by no more than the CRC errors that it holds."""
    grown = {column: now[column] - before[column] for column in OTHER_ERRORS if now[column] is not None and before[column] is not None}
    return not any(number for column, number in grown.items() if column != "rx_errors") and grown.get("rx_errors", 0) <= (frames_damaged(now, before) or 0)


def of_one_node(findings: t.Iterable[Finding], ports: int) -> t.Iterator[Finding]:
    """The findings of a node's ports; where most of many ports fail, with that as their common cause."""
    found = list(findings)
    bad = {one.where for one in found if one.severity != "unknown"}
    common = len(bad) >= MANY_LINKS and 2 * len(bad) > ports
    cause = MANY_PORTS.format(number=len(bad), all=ports)
    yield from (replace(one, cause=cause, fix=MANY_PORTS_FIX) if common and one.severity != "unknown" else one for one in found)


def _both(rows: Rows, before: Rows, cables: list[NearCable]) -> t.Iterator[tuple[NearCable, dict[str, t.Any] | None, dict[str, t.Any] | None]]:
    now, then = by_port(rows), by_port(before)
    for cable in cables_of(cables):
        yield cable, now.get(cable["port"]), then.get(cable["port"])


def _growth(port: str, now: dict[str, t.Any], before: dict[str, t.Any], columns: t.Iterable[str], expected: str) -> t.Iterator[Finding]:
    reported = [column for column in columns if now[column] is not None and before[column] is not None]
    once = [column for column in columns if (now[column] is None) != (before[column] is None)]
    if once or not reported:
        yield Finding(
            at_port(port), expected, f"{', '.join(once)} reported in one of two readings only" if once else "not reported by this platform", "unknown"
        )
    yield from not_grown(at_port(port), expected, now, before, reported)


@check(
    cause="The link has many corrected bit errors: dirt, a marginal optic, or a cable at its limit.",
    fix="Clean, reseat, then replace the cable or optic; compare with the neighbouring ports.",
    fabric="roce",
)
def bit_error_rate(
    fec_counters: Rows, fec_counters_before: Rows, pod_cables: list[NearCable], pod_pre_fec_ber_warn: float, pod_pre_fec_ber_max: float
) -> t.Iterator[Finding]:
    """No uncorrectable codeword during the soak, and the pre-FEC bit error rate is at most {pod_pre_fec_ber_warn} (warn) and {pod_pre_fec_ber_max} (fail)."""
    if not fec_counters and not fec_counters_before:
        raise NotApplicable("this switch reports FEC counters of no port")
    rated = any(row["pre_fec_ber"] is not None or row["rate_column"] is not None for row in (*fec_counters, *fec_counters_before))
    found = list(_ber(fec_counters, fec_counters_before, pod_cables, pod_pre_fec_ber_warn, pod_pre_fec_ber_max, rated))
    if not found and not rated:
        raise NotApplicable("this release reports no bit error rate before FEC; no codeword was uncorrectable")
    yield from of_one_node(found, len(pod_cables))


def _ber(
    fec_counters: Rows, fec_counters_before: Rows, pod_cables: list[NearCable], pod_pre_fec_ber_warn: float, pod_pre_fec_ber_max: float, rated: bool
) -> t.Iterator[Finding]:  # fmt: skip
    """rated: the release has bit error rates, so that a port without one is unknown."""
    for cable, row, before in _both(fec_counters, fec_counters_before, pod_cables):
        port = cable["port"]
        if row is None or before is None or row["uncorrectable"] is None or before["uncorrectable"] is None:
            yield Finding(at_port(port), "FEC counters", "not reported for this port", "unknown")
        elif row["uncorrectable"] < before["uncorrectable"]:
            yield Finding(at_port(port), "no growth of uncorrectable codewords", "counters were reset", "unknown", cause=RESET_CAUSE, fix=RESET_FIX)
        elif row["uncorrectable"] > before["uncorrectable"]:
            yield Finding(at_port(port), "no growth of uncorrectable codewords", f"+{row['uncorrectable'] - before['uncorrectable']}")
        elif rated:
            expected = f"at most {pod_pre_fec_ber_warn:g} before FEC"
            yield from bit_errors_before_fec(port, row["pre_fec_ber"], expected, pod_pre_fec_ber_warn, pod_pre_fec_ber_max)


def bit_errors_of(rows: Rows, device: str) -> dict[str, str]:
    """What mlxlink says of a rail's bit errors, by name."""
    return {row["name"]: row["value"] for row in rows if row["device"] == device and row["value"] is not None and row["section"] == BIT_ERRORS}


def first_rate(reported: dict[str, str], *names: str) -> float | None:
    """The first of these values that is a number; mlxlink writes none at all as 15E-255."""
    for name in names:
        with contextlib.suppress(KeyError, ValueError):
            # No comparison holds of nan, so that it would be a good rate.
            if not math.isnan(rate := float(reported[name])):
                return rate
    return None


@check(
    cause="The link has many corrected bit errors: dirt, a marginal optic, or a cable at its limit.",
    fix="Clean, reseat, then replace the cable or optic; compare with the other rails of the host and with the leaf's port.",
    meanings=("link_quality",),
)
def nic_bit_error_rate(link_quality: Rows, pod_rails: list[Rail], pod_pre_fec_ber_warn: float, pod_pre_fec_ber_max: float) -> t.Iterator[Finding]:
    """The pre-FEC bit error rate of every rail is at most {pod_pre_fec_ber_warn} (warn) and {pod_pre_fec_ber_max} (fail)."""
    if not pod_rails:
        raise CannotTell("pod_rails names no rail of this host")
    for port in rail_ports(pod_rails):
        rate = first_rate(bit_errors_of(link_quality, port_label(port)), *RAW_RATES)
        expected = f"at most {pod_pre_fec_ber_warn:g} before FEC"
        if rate is None:
            yield Finding(_at(port), expected, "not reported", "unknown")
        elif rate > pod_pre_fec_ber_warn:
            yield Finding(_at(port), expected, f"{rate:g}", None if rate > pod_pre_fec_ber_max else "warn", began_at=sent_by(port))


@check(
    cause="Bit errors remain after FEC: dirt, a failing optic, or a cable at its limit.",
    fix="Clean and reseat both ends, then replace the cable or optic; clear the counters (mlxlink --pc) and run the layer again after the minimum time.",
    meanings=("link_quality",),
)
def symbol_error_rate(link_quality: Rows, pod_rails: list[Rail], pod_symbol_ber_max: float, pod_ber_min_minutes: int) -> t.Iterator[Finding]:
    """The bit error rate of every rail after FEC is at most {pod_symbol_ber_max}, counted for {pod_ber_min_minutes} minutes or more."""
    if not pod_rails:
        raise CannotTell("pod_rails names no rail of this host")
    short = []
    for port in rail_ports(pod_rails):
        reported = bit_errors_of(link_quality, port_label(port))
        minutes, rate = first_rate(reported, "Time Since Last Clear [Min]"), first_rate(reported, *SYMBOL_RATES)
        if minutes is None or rate is None:
            yield Finding(_at(port), f"at most {pod_symbol_ber_max:g} after FEC", "not reported", "unknown")
        elif rate > pod_symbol_ber_max and first_rate(reported, "Symbol Errors", "Effective Physical Errors") != 0:
            severity = None if minutes >= pod_ber_min_minutes else "warn"
            words = f"{rate:g} in {minutes:g} minutes"
            yield Finding(_at(port), f"at most {pod_symbol_ber_max:g} after FEC", words, severity, began_at=sent_by(port))
        elif minutes < pod_ber_min_minutes:
            short.append((port, f"{minutes:g} minutes"))
    if len(short) == len(rail_ports(pod_rails)):
        times = ", ".join(f"{port_label(port)} {time}" for port, time in short)
        raise NotApplicable(f"counted for less than the {pod_ber_min_minutes} minutes needed for {pod_symbol_ber_max:g}: {times}")
    for port, time in short:
        yield Finding(_at(port), f"counted for {pod_ber_min_minutes} minutes", time, "warn")


def sent_by(port: RailPort) -> tuple[str, str] | None:
    """The leaf at the other end of a port, where it began if most NICs behind that leaf have it."""
    leaf = port.get("leaf")
    return (leaf, "") if leaf else None


def _at(port: RailPort) -> Place:
    """A port of a rail, by the RDMA device where that is of it alone."""
    return at_port(port_label(port)) if port.get("bond") else at_device(port_label(port))
