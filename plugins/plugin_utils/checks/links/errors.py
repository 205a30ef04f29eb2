# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: counters of errors, lost links and corrected bits."""

from __future__ import annotations

import contextlib
import math
import typing as t
from dataclasses import replace

from ...pod.names import Rows, by_port
from ...pod.types import NearCable, Rail
from ...text.counting import counted
from ...text.times import epoch_seconds
from .. import CannotTell, Finding, NotApplicable, check
from .._counters import RESET_CAUSE, RESET_FIX, not_grown
from .._planned import cables_of
from ..place import Place, at_device, at_port

CRC = ("fcs_errors", "symbol_errors", "alignment_errors", "stomped_crc")
OTHER_ERRORS = ("runts", "giants", "rx_errors", "tx_errors")
DAY_SECONDS = 86400
BIT_ERRORS = "Physical Counters and BER Info"
# Links that are lost within this time of each other have one cause, from so many on.
TOGETHER_SECONDS = 1.0
MANY_LINKS = 4
LOST_TOGETHER = "{number} links of {hosts} hosts were lost within a second: one common cause, such as a leaf that restarted, and not {number} cables."
LOST_BY_HOST = "{number} links of {host} were lost within a second: one common cause on the host, such as a reset of its NICs or their driver."
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
)
def crc_clean(interface_errors: Rows, interface_errors_before: Rows, pod_cables: list[NearCable]) -> t.Iterator[Finding]:
    """No planned port gains a CRC, symbol or alignment error during the soak."""
    yield from of_one_node(_crc(interface_errors, interface_errors_before, pod_cables), len(pod_cables))


def _crc(interface_errors: Rows, interface_errors_before: Rows, pod_cables: list[NearCable]) -> t.Iterator[Finding]:
    for port, row, before in _both(interface_errors, interface_errors_before, pod_cables):
        if row is None or before is None:
            yield Finding(at_port(port), "error counters", "not reported for this port", "unknown")
            continue
        # SONiC has one counter of received errors, which holds the CRC errors.
        columns = CRC if row["fcs_errors"] is not None else ("rx_errors", *CRC)
        if row[columns[0]] is None:
            yield Finding(at_port(port), "no growth of CRC errors", "not reported by this platform", "unknown")
            continue
        yield from _growth(port, row, before, columns, "no growth of CRC errors")


@check(
    cause="A fault of the port or its cable, a wrong MTU at one end (giants), or a failing switch ASIC port.",
    fix="Compare MTU and cable of both ends; where they are right, move the cable to another port to see whether the error follows the cable.",
    fabric="roce",
)
def errors_clean(interface_errors: Rows, interface_errors_before: Rows, pod_cables: list[NearCable]) -> t.Iterator[Finding]:
    """No planned port gains runts, giants or other errors during the soak."""
    for port, row, before in _both(interface_errors, interface_errors_before, pod_cables):
        if row is None or before is None:
            yield Finding(at_port(port), "error counters", "not reported for this port", "unknown")
        elif row["fcs_errors"] is not None or before["fcs_errors"] is not None or row["rx_errors"] is None:
            yield from _growth(port, row, before, OTHER_ERRORS, "no growth of errors")
        else:
            yield from _growth(port, row, before, ("tx_errors", "runts", "giants"), "no growth of errors")


def of_one_node(findings: t.Iterable[Finding], ports: int) -> t.Iterator[Finding]:
    """The findings of a node's ports; where most of many ports fail, with that as their common cause."""
    found = list(findings)
    bad = {one.where for one in found if one.severity != "unknown"}
    common = len(bad) >= MANY_LINKS and 2 * len(bad) > ports
    cause = MANY_PORTS.format(number=len(bad), all=ports)
    yield from (replace(one, cause=cause, fix=MANY_PORTS_FIX) if common and one.severity != "unknown" else one for one in found)


def _both(rows: Rows, before: Rows, cables: list[NearCable]) -> t.Iterator[tuple[str, dict[str, t.Any] | None, dict[str, t.Any] | None]]:
    now, then = by_port(rows), by_port(before)
    for cable in cables_of(cables):
        yield cable["port"], now.get(cable["port"]), then.get(cable["port"])


def _growth(port: str, now: dict[str, t.Any], before: dict[str, t.Any], columns: t.Iterable[str], expected: str) -> t.Iterator[Finding]:
    reported = [column for column in columns if now[column] is not None and before[column] is not None]
    once = [column for column in columns if (now[column] is None) != (before[column] is None)]
    if once or not reported:
        yield Finding(
            at_port(port), expected, f"{', '.join(once)} reported in one of two readings only" if once else "not reported by this platform", "unknown"
        )
    yield from not_grown(at_port(port), expected, now, before, reported)


@check(
    cause="A loose connector, a failing optic, or a peer that resets its port.",
    fix="Reseat or replace the cable, and look at the peer's log for the same seconds.",
    fabric="roce",
    kind="host",
    needs="soak",
)
def link_flaps(
    kernel_log: Rows, kernel_log_before: Rows, kernel_log_of_peers: dict[str, Rows], pod_node: str, pod_rails: list[Rail],
    pod_flaps_warn: int, pod_flaps_max: int, pod_flaps_settle_minutes: int, host_clock: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """No rail loses its link in the soak, and fewer than {pod_flaps_max} times in 24 h ({pod_flaps_warn}: warn), boot excluded."""
    if not pod_rails:
        raise CannotTell("pod_rails names no rail of this host")
    if not any(row["event"] == "boot" for row in kernel_log):
        # The soak can be judged without them, the time before it cannot.
        yield Finding(Place("kernel log"), "all lines since the boot", "its first lines were overwritten", "warn")
    since, period = _watched(kernel_log, host_clock or [], pod_flaps_settle_minutes)
    unnamed = len(_losses(kernel_log, None))
    if unnamed:
        yield Finding(Place("kernel log"), "the netdev of every lost link", f"not reported of {unnamed}", "unknown")
    for rail in pod_rails:
        now, before = (_losses(rows, rail["netdev"]) for rows in (kernel_log, kernel_log_before))
        recent = [row for row in now if since is None or (epoch_seconds(row["time"]) or 0) >= since]
        lost = now[len(before) :] if len(now) > len(before) else recent
        why, mend = _common_loss(pod_node, rail, lost, kernel_log_of_peers)
        if len(now) < len(before):
            yield Finding(at_port(rail["netdev"]), "no link loss in the soak", "the log lost lines during the soak", "unknown")
        elif len(now) > len(before):
            yield Finding(at_port(rail["netdev"]), "no link loss in the soak", counted(len(now) - len(before), "link loss"), cause=why, fix=mend)
        elif len(recent) >= pod_flaps_max:
            # Without times, losses of weeks ago would stop a pod.
            words = f"fewer than {pod_flaps_max} link losses {period}"
            yield Finding(at_port(rail["netdev"]), words, str(len(recent)), None if since else "warn", cause=why, fix=mend)
        elif len(recent) >= pod_flaps_warn:
            yield Finding(at_port(rail["netdev"]), f"fewer than {pod_flaps_warn} link losses {period}", str(len(recent)), "warn", cause=why, fix=mend)


def _common_loss(node: str, rail: Rail, lost: Rows, logs: dict[str, Rows]) -> tuple[str, str] | tuple[None, None]:
    """Cause and fix of losses of a rail that came with those of others within a second; (None, None) for losses of its own."""
    dated = [
        (at, host, row["device"]) for host, rows in logs.items() for row in rows
        if row["event"] == "link_down" and row["device"] and (at := epoch_seconds(row["time"])) is not None
    ]  # fmt: skip
    together: list[list[tuple[float, str, str]]] = []
    for one in sorted(dated):
        if together and one[0] - together[-1][-1][0] <= TOGETHER_SECONDS:
            together[-1].append(one)
        else:
            together.append([one])
    own = {(epoch_seconds(row["time"]), node, rail["netdev"]) for row in lost}
    for cluster in together:
        links = {(host, netdev) for _at, host, netdev in cluster}
        if len(links) < MANY_LINKS or not own & set(cluster):
            continue
        time = next(row["time"] for row in lost if (epoch_seconds(row["time"]), node, rail["netdev"]) in cluster)
        if len({host for host, _netdev in links}) == 1:
            return LOST_BY_HOST.format(number=len(links), host=node), f"Look at the kernel log of {node} at {time} for a reset of the NICs, before any cable."
        cause = LOST_TOGETHER.format(number=len(links), hosts=len({host for host, _netdev in links}))
        return cause, f"Look at the log of {rail.get('leaf') or 'the leaf'} at {time} (restart, line card, power, a configuration change), before any cable."
    return None, None


def _losses(log: Rows, netdev: str | None) -> Rows:
    return [row for row in log if row["event"] == "link_down" and row["device"] == netdev]


def _watched(log: Rows, clock: Rows, settle_minutes: int) -> tuple[float | None, str]:
    """From when on a lost link counts, and that period in words; None where the log's lines or the host have no time."""
    times = [epoch_seconds(row["time"]) for row in log if row["event"] in ("boot", "link_down")]
    now = epoch_seconds(clock[0]["time"]) if clock else None
    if now is None or None in times:
        return None, "since the boot (the log has no timestamps)"
    boot = next((epoch_seconds(row["time"]) for row in log if row["event"] == "boot"), None)
    return max(now - DAY_SECONDS, (boot or 0) + settle_minutes * 60), "in 24 h"


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
    for port, row, before in _both(fec_counters, fec_counters_before, pod_cables):
        if row is None or before is None or row["uncorrectable"] is None or before["uncorrectable"] is None:
            yield Finding(at_port(port), "FEC counters", "not reported for this port", "unknown")
        elif row["uncorrectable"] < before["uncorrectable"]:
            yield Finding(at_port(port), "no growth of uncorrectable codewords", "counters were reset", "unknown", cause=RESET_CAUSE, fix=RESET_FIX)
        elif row["uncorrectable"] > before["uncorrectable"]:
            yield Finding(at_port(port), "no growth of uncorrectable codewords", f"+{row['uncorrectable'] - before['uncorrectable']}")
        elif row["pre_fec_ber"] is None:
            if rated:
                yield Finding(at_port(port), f"at most {pod_pre_fec_ber_warn:g} before FEC", "not reported", "unknown")
        elif row["pre_fec_ber"] > pod_pre_fec_ber_warn:
            severity = None if row["pre_fec_ber"] > pod_pre_fec_ber_max else "warn"
            yield Finding(at_port(port), f"at most {pod_pre_fec_ber_warn:g} before FEC", f"{row['pre_fec_ber']:g}", severity)


def _bit_errors(rows: Rows, device: str) -> dict[str, str]:
    """What mlxlink says of a rail's bit errors, by name."""
    return {row["name"]: row["value"] for row in rows if row["device"] == device and row["value"] is not None and row["section"] == BIT_ERRORS}


def _rate(reported: dict[str, str], *names: str) -> float | None:
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
)
def nic_bit_error_rate(link_quality: Rows, pod_rails: list[Rail], pod_pre_fec_ber_warn: float, pod_pre_fec_ber_max: float) -> t.Iterator[Finding]:
    """The pre-FEC bit error rate of every rail is at most {pod_pre_fec_ber_warn} (warn) and {pod_pre_fec_ber_max} (fail)."""
    if not pod_rails:
        raise CannotTell("pod_rails names no rail of this host")
    for rail in pod_rails:
        rate = _rate(_bit_errors(link_quality, rail["device"]), *RAW_RATES)
        if rate is None:
            yield Finding(at_device(rail["device"]), f"at most {pod_pre_fec_ber_warn:g} before FEC", "not reported", "unknown")
        elif rate > pod_pre_fec_ber_warn:
            yield Finding(
                at_device(rail["device"]), f"at most {pod_pre_fec_ber_warn:g} before FEC", f"{rate:g}", None if rate > pod_pre_fec_ber_max else "warn"
            )


@check(
    cause="Bit errors remain after FEC: dirt, a failing optic, or a cable at its limit.",
    fix="Clean and reseat both ends, then replace the cable or optic; clear the counters (mlxlink --pc) and run the layer again after the minimum time.",
)
def symbol_error_rate(link_quality: Rows, pod_rails: list[Rail], pod_symbol_ber_max: float, pod_ber_min_minutes: int) -> t.Iterator[Finding]:
    """The bit error rate of every rail after FEC is at most {pod_symbol_ber_max}, counted for {pod_ber_min_minutes} minutes or more."""
    if not pod_rails:
        raise CannotTell("pod_rails names no rail of this host")
    short = []
    for rail in pod_rails:
        reported = _bit_errors(link_quality, rail["device"])
        minutes, rate = _rate(reported, "Time Since Last Clear [Min]"), _rate(reported, *SYMBOL_RATES)
        if minutes is None or rate is None:
            yield Finding(at_device(rail["device"]), f"at most {pod_symbol_ber_max:g} after FEC", "not reported", "unknown")
        elif rate > pod_symbol_ber_max and _rate(reported, "Symbol Errors", "Effective Physical Errors") != 0:
            severity = None if minutes >= pod_ber_min_minutes else "warn"
            yield Finding(at_device(rail["device"]), f"at most {pod_symbol_ber_max:g} after FEC", f"{rate:g} in {minutes:g} minutes", severity)
        elif minutes < pod_ber_min_minutes:
            short.append((rail["device"], f"{minutes:g} minutes"))
    if len(short) == len(pod_rails):
        raise NotApplicable(f"counted for less than the {pod_ber_min_minutes} minutes needed for {pod_symbol_ber_max:g}: {', '.join(map(' '.join, short))}")
    for device, time in short:
        yield Finding(at_device(device), f"counted for {pod_ber_min_minutes} minutes", time, "warn")
