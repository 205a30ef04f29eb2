# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: counters of errors, lost links and corrected bits."""

from __future__ import annotations

import contextlib
import math
import typing as t

from ...times import epoch
from .. import CannotTell, Finding, NotApplicable, check
from .._counters import not_grown
from .._ports import Rows, by_port, cables_of

CRC = ("fcs_errors", "symbol_errors", "alignment_errors", "stomped_crc")
OTHER_ERRORS = ("runts", "giants", "rx_errors", "tx_errors")
DAY_SECONDS = 86400
BIT_ERRORS = "Physical Counters and BER Info"
# By version of the tool.
RAW_RATES = ("Raw Physical BER", "Raw BER")
SYMBOL_RATES = ("Symbol BER", "Effective Physical BER")


@check(
    cause="Bad optic or cable, or dirt on a connector.",
    fix="Clean and reseat both ends, then replace the cable or optic, and soak again.",
    fabric="roce",
    required=True,
)
def crc_clean(interface_errors: Rows, interface_errors_before: Rows, pod_cables: Rows) -> t.Iterator[Finding]:
    """No planned port gains a CRC, symbol or alignment error during the soak."""
    for port, row, before in _both(interface_errors, interface_errors_before, pod_cables):
        if row is None or before is None:
            yield Finding(port, "error counters", "none for this port", "unknown")
            continue
        # SONiC has one counter of received errors, which holds the CRC errors.
        columns = CRC if row["fcs_errors"] is not None else ("rx_errors", *CRC)
        if row[columns[0]] is None:
            yield Finding(port, "no growth of CRC errors", "the platform tells no such counter", "unknown")
            continue
        yield from _growth(port, row, before, columns, "no growth of CRC errors")


@check(
    cause="A fault of the port or its cable, a wrong MTU at one end (giants), or a failing switch ASIC port.",
    fix="Compare MTU and cable of both ends; where they are right, move the cable to another port to see what the error follows.",
    fabric="roce",
)
def errors_clean(interface_errors: Rows, interface_errors_before: Rows, pod_cables: Rows) -> t.Iterator[Finding]:
    """No planned port gains runts, giants or other errors during the soak."""
    for port, row, before in _both(interface_errors, interface_errors_before, pod_cables):
        if row is None or before is None:
            yield Finding(port, "error counters", "none for this port", "unknown")
        elif row["fcs_errors"] is not None or row["rx_errors"] is None:
            yield from _growth(port, row, before, OTHER_ERRORS, "no growth of errors")
        else:
            yield from _growth(port, row, before, ("tx_errors", "runts", "giants"), "no growth of errors")


def _both(rows: Rows, before: Rows, cables: Rows) -> t.Iterator[tuple[str, dict[str, t.Any] | None, dict[str, t.Any] | None]]:
    now, then = by_port(rows), by_port(before)
    for cable in cables_of(cables):
        yield cable["port"], now.get(cable["port"]), then.get(cable["port"])


def _growth(port: str, now: dict[str, t.Any], before: dict[str, t.Any], columns: t.Iterable[str], expected: str) -> t.Iterator[Finding]:
    told = [column for column in columns if now[column] is not None and before[column] is not None]
    once = [column for column in columns if (now[column] is None) != (before[column] is None)]
    if once or not told:
        yield Finding(port, expected, f"{', '.join(once)} told only once" if once else "the platform tells no such counter", "unknown")
    yield from not_grown(port, expected, now, before, told)


@check(
    cause="A loose connector, a failing optic, or a peer that resets its port.",
    fix="Reseat or replace the cable, and look at the peer's log for the same seconds.",
    fabric="roce",
    kind="host",
    needs="soak",
)
def link_flaps(
    kernel_log: Rows, kernel_log_before: Rows, pod_rails: Rows, pod_flaps_warn: int, pod_flaps_max: int, pod_flaps_settle_minutes: int,
    host_clock: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """No rail loses its link during the soak, and few in the last day; the first minutes after a boot do not count."""
    if not pod_rails:
        raise CannotTell("pod_rails names no rail of this host")
    if not any(row["event"] == "boot" for row in kernel_log):
        # The soak can be judged without them, the time before it cannot.
        yield Finding("kernel log", "every line since the boot", "its first lines are gone", "warn")
    since, period = _watched(kernel_log, host_clock or [], pod_flaps_settle_minutes)
    for rail in pod_rails:
        now, before = (_losses(rows, rail["netdev"]) for rows in (kernel_log, kernel_log_before))
        recent = [row for row in now if since is None or (epoch(row["time"]) or 0) >= since]
        if len(now) < len(before):
            yield Finding(rail["netdev"], "no link loss in the soak", "the log lost lines during the soak", "unknown")
        elif len(now) > len(before):
            yield Finding(rail["netdev"], "no link loss in the soak", f"{len(now) - len(before)}")
        elif len(recent) >= pod_flaps_max:
            # Without times, losses of weeks ago would stop a pod.
            yield Finding(rail["netdev"], f"fewer than {pod_flaps_max} link losses {period}", str(len(recent)), None if since else "warn")
        elif len(recent) >= pod_flaps_warn:
            yield Finding(rail["netdev"], f"fewer than {pod_flaps_warn} link losses {period}", str(len(recent)), "warn")


def _losses(log: Rows, netdev: str) -> Rows:
    return [row for row in log if row["event"] == "link_down" and row["device"] == netdev]


def _watched(log: Rows, clock: Rows, settle_minutes: int) -> tuple[float | None, str]:
    """From when on a lost link counts, and that period in words; None where the log's lines or the host have no time."""
    times = [epoch(row["time"]) for row in log if row["event"] in ("boot", "link_down")]
    now = epoch(clock[0]["time"]) if clock else None
    if now is None or None in times:
        return None, "since the boot (the log tells no times)"
    boot = next((epoch(row["time"]) for row in log if row["event"] == "boot"), None)
    return max(now - DAY_SECONDS, (boot or 0) + settle_minutes * 60), "in 24 h"


@check(
    cause="The link corrects more than it should: dirt, a marginal optic, or a cable at its limit.",
    fix="Clean, reseat, then replace the cable or optic; compare with the neighbouring ports.",
    fabric="roce",
)
def bit_error_rate(
    fec_counters: Rows, fec_counters_before: Rows, pod_cables: Rows, pod_pre_fec_ber_warn: float, pod_pre_fec_ber_max: float
) -> t.Iterator[Finding]:
    """No codeword becomes uncorrectable during the soak, and the rate before correction is low."""
    for port, row, before in _both(fec_counters, fec_counters_before, pod_cables):
        if row is None or before is None:
            yield Finding(port, "FEC counters", "none for this port", "unknown")
        elif row["uncorrectable"] is None or before["uncorrectable"] is None:
            yield Finding(port, "FEC counters", "not told for this port", "unknown")
        elif row["uncorrectable"] < before["uncorrectable"]:
            yield Finding(port, "no growth of uncorrectable codewords", "counters were reset", "unknown")
        elif row["uncorrectable"] > before["uncorrectable"]:
            yield Finding(port, "no growth of uncorrectable codewords", f"+{row['uncorrectable'] - before['uncorrectable']}")
        elif row["pre_fec_ber"] is not None and row["pre_fec_ber"] > pod_pre_fec_ber_warn:
            severity = None if row["pre_fec_ber"] > pod_pre_fec_ber_max else "warn"
            yield Finding(port, f"at most {pod_pre_fec_ber_warn:g} before correction", f"{row['pre_fec_ber']:g}", severity)


def _bit_errors(rows: Rows, device: str) -> dict[str, str]:
    """What mlxlink says of a rail's bit errors, by name."""
    return {row["name"]: row["value"] for row in rows if row["device"] == device and row["value"] is not None and row["section"] == BIT_ERRORS}


def _rate(told: dict[str, str], *names: str) -> float | None:
    """The first of these values that is a number; mlxlink writes none at all as 15E-255."""
    for name in names:
        with contextlib.suppress(KeyError, ValueError):
            # No comparison holds of nan, so that it would be a good rate.
            if not math.isnan(rate := float(told[name])):
                return rate
    return None


@check(
    cause="The link corrects more than it should: dirt, a marginal optic, or a cable at its limit.",
    fix="Clean, reseat, then replace the cable or optic; compare with the other rails of the host and with the leaf's port.",
)
def nic_bit_error_rate(link_quality: Rows, pod_rails: Rows, pod_pre_fec_ber_warn: float, pod_pre_fec_ber_max: float) -> t.Iterator[Finding]:
    """Every rail's NIC receives few wrong bits before correction."""
    if not pod_rails:
        raise CannotTell("pod_rails names no rail of this host")
    for rail in pod_rails:
        rate = _rate(_bit_errors(link_quality, rail["device"]), *RAW_RATES)
        if rate is None:
            yield Finding(rail["device"], f"at most {pod_pre_fec_ber_warn:g} before correction", "not told", "unknown")
        elif rate > pod_pre_fec_ber_warn:
            yield Finding(rail["device"], f"at most {pod_pre_fec_ber_warn:g} before correction", f"{rate:g}", None if rate > pod_pre_fec_ber_max else "warn")


@check(
    cause="Errors get through the correction: dirt, a failing optic, or a cable at its limit.",
    fix="Clean and reseat both ends, then replace the cable or optic; clear the counters (mlxlink --pc) and judge again after the minimum time.",
)
def symbol_error_rate(link_quality: Rows, pod_rails: Rows, pod_symbol_ber_max: float, pod_ber_min_minutes: int) -> t.Iterator[Finding]:
    """No rail's link loses more bits after correction than its rate allows, once it was watched for long enough to tell."""
    if not pod_rails:
        raise CannotTell("pod_rails names no rail of this host")
    short = []
    for rail in pod_rails:
        told = _bit_errors(link_quality, rail["device"])
        minutes, rate = _rate(told, "Time Since Last Clear [Min]"), _rate(told, *SYMBOL_RATES)
        if minutes is None or rate is None:
            yield Finding(rail["device"], f"at most {pod_symbol_ber_max:g} after correction", "not told", "unknown")
        elif rate > pod_symbol_ber_max and _rate(told, "Symbol Errors", "Effective Physical Errors") != 0:
            severity = None if minutes >= pod_ber_min_minutes else "warn"
            yield Finding(rail["device"], f"at most {pod_symbol_ber_max:g} after correction", f"{rate:g} in {minutes:g} minutes", severity)
        elif minutes < pod_ber_min_minutes:
            short.append((rail["device"], f"{minutes:g} minutes"))
    if len(short) == len(pod_rails):
        raise NotApplicable(f"counted for less than the {pod_ber_min_minutes} minutes in which {pod_symbol_ber_max:g} shows: {', '.join(map(' '.join, short))}")
    for device, time in short:
        yield Finding(device, f"counted for {pod_ber_min_minutes} minutes", time, "warn")
