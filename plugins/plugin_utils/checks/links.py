# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: speed, wiring, errors, optics and cables."""

from __future__ import annotations

import re
import typing as t

from . import CannotTell, Finding, NotApplicable, check
from ._ports import Rows, by_port, cables_of, mac_of, node_name, port_name, same_end

CRC = ("fcs_errors", "symbol_errors", "alignment_errors", "stomped_crc")
OTHER_ERRORS = ("runts", "giants", "rx_errors", "tx_errors")
MAC_DIGITS = 12
# Below this a receiver sees no light at all; tools write 0 mW as -40 dBm.
NO_LIGHT_DBM = -30.0


@check(
    cause="The plan names a port that the node does not have, or a breakout or a line card is missing.",
    fix="Compare the wiring plan with the node's own list of ports.",
)
def ports_present(interface_status: Rows, pod_cables: Rows) -> t.Iterator[Finding]:
    """Every port of the wiring plan exists."""
    present = by_port(interface_status)
    for cable in cables_of(pod_cables):
        if cable["port"] not in present:
            yield Finding(cable["port"], f"a port (to {cable['peer']} {cable['peer_port']})", "no such port")


@check(
    cause="Transceiver mismatch (NIC against switch optic), a damaged or missing cable, or a port that is shut.",
    fix="Compare both transceivers, replace the odd one or the cable, then soak again.",
    required=True,
)
def port_speed(interface_status: Rows, pod_cables: Rows, pod_link_gbit_s: float) -> t.Iterator[Finding]:
    """Every planned port is connected at the rated speed."""
    present = by_port(interface_status)
    for cable in cables_of(pod_cables):
        row = present.get(cable["port"])
        if row is None:
            yield Finding(cable["port"], f"connected at {pod_link_gbit_s:g} Gb/s", "no such port")
        elif row["state"] != "connected":
            reason = f" ({row['reason']})" if row.get("reason") else ""
            yield Finding(cable["port"], f"connected at {pod_link_gbit_s:g} Gb/s", row["state"] + reason)
        elif row["speed_gbit_s"] is None:
            yield Finding(cable["port"], f"connected at {pod_link_gbit_s:g} Gb/s", "connected, speed not told", "unknown")
        elif row["speed_gbit_s"] != pod_link_gbit_s:
            yield Finding(cable["port"], f"connected at {pod_link_gbit_s:g} Gb/s", f"connected at {row['speed_gbit_s']:g} Gb/s")


@check(
    cause="Two cables are swapped, or one is plugged into the wrong port or switch.",
    fix="Move the cable to its planned port, or mend the wiring plan; then read the neighbors again.",
)
def cabling_as_planned(
    interface_status: Rows, ip_link_of_peers: dict[str, Rows], lldp_neighbors_of_peers: dict[str, Rows], pod_cables: Rows, pod_node: str,
    lldp_neighbors: Rows | None = None, mac_table: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Each planned port leads to its planned peer, by LLDP or by the MAC addresses behind it."""
    of_mac = _owners(mac_table or [], lldp_neighbors or [], ip_link_of_peers)
    told: dict[str, list[tuple[str, str]]] = {}
    for row in lldp_neighbors or ():
        # The LLDP agent in a NIC's firmware gives its MAC address for its name.
        heard_end = of_mac.get(mac_of(row["neighbor_port"])) or of_mac.get(mac_of(row["neighbor"])) or (row["neighbor"], row["neighbor_port"])
        told.setdefault(port_name(row["port"]), []).append(heard_end)
    for row in mac_table or ():
        if mac_of(row["mac"]) in of_mac:
            told.setdefault(port_name(row["port"]), []).append(of_mac[mac_of(row["mac"])])
    if not told:
        raise CannotTell("neither LLDP nor the MAC table tells a neighbor")
    up = {port_name(row["port"]) for row in interface_status if row["state"] == "connected"}
    place_of = {(node_name(cable["peer"]), port_name(cable["peer_port"])): cable["port"] for cable in pod_cables}
    for cable in cables_of(pod_cables):
        heard = told.get(port_name(cable["port"]), [])
        end = (cable["peer"], cable["peer_port"])
        if not heard and port_name(cable["port"]) in up:
            yield Finding(cable["port"], _end(end), "nobody tells", "unknown")
        elif heard and not any(same_end(one, end) for one in heard) and not _confirmed(cable, pod_node, heard, lldp_neighbors_of_peers):
            yield Finding(cable["port"], _end(end), " and ".join(dict.fromkeys(_end(one) + _elsewhere(one, place_of) for one in heard)))


def _owners(mac_table: Rows, lldp: Rows, links: dict[str, Rows]) -> dict[str, tuple[str, str]]:
    """The host and netdev of each MAC address that was heard."""
    heard = {mac_of(row["mac"]) for row in mac_table} | {mac_of(row[column]) for row in lldp for column in ("neighbor", "neighbor_port")}
    if not any(len(one) == MAC_DIGITS for one in heard):
        return {}
    return {mac_of(row["mac"]): (node, row["netdev"]) for node, rows in links.items() for row in rows if row["mac"] and mac_of(row["mac"]) in heard}


def _confirmed(cable: dict[str, t.Any], node: str, heard: list[tuple[str, str]], of_peers: dict[str, Rows]) -> bool:
    """Whether the planned peer is heard under another name of its port (SONiC tells its alias), and hears this end on the planned port."""
    named = any(node_name(one[0]) == node_name(cable["peer"]) for one in heard)
    back = [row for row in of_peers.get(cable["peer"], ()) if port_name(row["port"]) == port_name(cable["peer_port"])]
    return named and any(same_end((row["neighbor"], row["neighbor_port"]), (node, cable["port"])) for row in back)


def _elsewhere(heard: tuple[str, str], place_of: dict[tuple[str, str], str]) -> str:
    """Where a neighbor is planned that is heard on the wrong port, so that swapped cables name each other."""
    place = place_of.get((node_name(heard[0]), port_name(heard[1])))
    return f", planned on {place}" if place else ""


def _end(end: tuple[str, str]) -> str:
    return f"{end[0]} {end[1]}"


@check(
    cause="Bad optic or cable, or dirt on a connector.",
    fix="Clean and reseat both ends, then replace the cable or optic, and soak again.",
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
    shrunk = [column for column in told if now[column] < before[column]]
    if shrunk:
        yield Finding(port, expected, f"counters were reset ({', '.join(shrunk)})", "unknown")
        return
    grown = [f"{column} +{now[column] - before[column]}" for column in told if now[column] > before[column]]
    if grown:
        yield Finding(port, expected, ", ".join(grown))


def _is_copper(row: dict[str, t.Any]) -> bool:
    return bool(re.search(r"copper|\bdac\b|-CR\d?|CR[248]\b|direct attach|base-cr|twinax", str(row["media"] or ""), re.IGNORECASE))


@check(
    cause="A dirty, bent or mismatched fibre, or a failing laser at the other end.",
    fix="Clean both connectors, check the bend radius, then swap the optic; compare the power that the other end sends.",
)
def optic_rx_power(
    transceivers: Rows, pod_cables: Rows, pod_optic_rx_range_dbm: list[float], pod_optic_rx_floor_dbm: float, pod_optic_lane_spread_db: float
) -> t.Iterator[Finding]:
    """Every lane of every planned optic receives light within the module's limits and the site's."""
    lanes: dict[str, Rows] = {}
    for row in transceivers:
        # A module may have fewer lanes of light than of copper; the others are always dark.
        if row["lane"] is None or row["media_lanes"] is None or row["lane"] <= row["media_lanes"]:
            lanes.setdefault(port_name(row["port"]), []).append(row)
    optical = 0
    for cable in cables_of(pod_cables):
        rows = lanes.get(port_name(cable["port"]), [])
        if _planned_copper(cable) or (rows and all(_is_copper(row) for row in rows)):
            continue
        optical += 1
        if not rows or not all(row["present"] for row in rows):
            yield Finding(cable["port"], "a transceiver", "none is present", "unknown")
            continue
        powers = [row["rx_power_dbm"] for row in rows if row["rx_power_dbm"] is not None]
        if not powers:
            yield Finding(cable["port"], "received power", "the module does not tell", "unknown")
            continue
        for row in rows:
            yield from _lane(cable["port"], row, pod_optic_rx_range_dbm, pod_optic_rx_floor_dbm)
        lit = [power for power in powers if power > NO_LIGHT_DBM]
        if lit and max(lit) - min(lit) > pod_optic_lane_spread_db:
            yield Finding(cable["port"], f"lanes within {pod_optic_lane_spread_db:g} dB", f"{max(lit) - min(lit):.2f} dB apart", "warn")
    if not optical:
        raise NotApplicable("every planned cable of this node is copper")


def _planned_copper(cable: dict[str, t.Any]) -> bool:
    return str(cable["medium"]).lower() in ("dac", "copper", "acc", "aec")


def _lane(port: str, row: dict[str, t.Any], site: list[float], floor: float) -> t.Iterator[Finding]:
    power = row["rx_power_dbm"]
    where = port if row["lane"] is None else f"{port} lane {row['lane']}"
    if power is None:
        yield Finding(where, "received power", "the module does not tell", "unknown", port)
        return
    low_alarm, high_alarm = row["rx_low_alarm_dbm"], row["rx_high_alarm_dbm"]
    low, high = row["rx_low_warning_dbm"], row["rx_high_warning_dbm"]
    limits: list[tuple[float | None, float | None, str | None, str]] = [(low_alarm, high_alarm, None, "alarm"), (low, high, "warn", "warning")]
    if len(site) == 2:
        limits.insert(1, (site[0], site[1], None, "site"))
    for least, most, severity, whose in limits:
        if (least is not None and power < least) or (most is not None and power > most):
            bounds = f"{'-' if least is None else f'{least:g}'} to {'-' if most is None else f'{most:g}'} dBm ({whose} limits)"
            yield Finding(where, bounds, f"{power:g} dBm", severity, port)
            return
    if low_alarm is None and low is None and power < floor:
        severity = None if power < NO_LIGHT_DBM else "warn"
        yield Finding(where, f"at least {floor:g} dBm (the module tells no limits)", f"{power:g} dBm", severity, port)


@check(
    cause="Passive copper is longer than its speed allows, which costs throughput under load long before the link drops.",
    fix="Use an active optical or active electrical cable for this length.",
)
def cable_reach(
    pod_cables: Rows,
    interface_status: Rows,
    pod_lane_gbit_s: float,
    pod_copper_warn_m: float,
    pod_copper_max_m: float,
    pod_copper_50g_max_m: float,
    transceivers: Rows | None = None,
) -> t.Iterator[Finding]:
    """Passive copper is no longer than its lane speed allows, by the plan or by what the module tells."""
    told = by_port(transceivers or [])
    fast = pod_lane_gbit_s > 50
    limit = pod_copper_max_m if fast else pod_copper_50g_max_m
    judged = 0
    for cable in cables_of(pod_cables):
        row = told.get(cable["port"]) or {"media": None, "length_m": None}
        judged += 1
        if not cable["medium"] and not row["media"]:
            yield Finding(cable["port"], "a known medium", "neither the plan nor the module tells", "unknown")
        if not (str(cable["medium"]).lower() in ("dac", "copper") or _is_copper(row)):
            judged -= bool(cable["medium"] or row["media"])
            continue
        lengths = [float(one) for one in (cable["length_m"], row["length_m"]) if one]
        if not lengths:
            yield Finding(cable["port"], f"at most {limit:g} m of passive copper", "a length that nobody tells", "unknown")
        elif max(lengths) > limit:
            yield Finding(cable["port"], f"at most {limit:g} m of passive copper", f"{max(lengths):g} m")
        elif fast and max(lengths) > pod_copper_warn_m:
            yield Finding(cable["port"], f"at most {pod_copper_warn_m:g} m of passive copper", f"{max(lengths):g} m", "warn")
    if not judged:
        raise NotApplicable("no planned cable of this node is passive copper")


@check(
    cause="A loose connector, a failing optic, or a peer that resets its port.",
    fix="Reseat or replace the cable, and look at the peer's log for the same seconds.",
    kind="host",
    needs="soak",
)
def link_flaps(kernel_log: Rows, kernel_log_before: Rows, pod_rails: Rows, pod_flaps_warn: int, pod_flaps_max: int) -> t.Iterator[Finding]:
    """No rail loses its link during the soak, and few since the boot."""
    if not pod_rails:
        raise CannotTell("pod_rails names no rail of this host")
    if not any(row["event"] == "boot" for row in kernel_log):
        # The soak can be judged without them, the time before it cannot.
        yield Finding("kernel log", "every line since the boot", "its first lines are gone", "warn")
    for rail in pod_rails:
        now, before = (sum(row["event"] == "link_down" and row["device"] == rail["netdev"] for row in rows) for rows in (kernel_log, kernel_log_before))
        if now < before:
            yield Finding(rail["netdev"], "no link loss in the soak", "the log lost lines during the soak", "unknown")
        elif now > before:
            yield Finding(rail["netdev"], "no link loss in the soak", f"{now - before}")
        elif now >= pod_flaps_max:
            yield Finding(rail["netdev"], f"fewer than {pod_flaps_max} link losses since the boot", str(now), "warn")
        elif now >= pod_flaps_warn:
            yield Finding(rail["netdev"], f"fewer than {pod_flaps_warn} link losses since the boot", str(now), "warn")


@check(
    cause="The link corrects more than it should: dirt, a marginal optic, or a cable at its limit.",
    fix="Clean, reseat, then replace the cable or optic; compare with the neighbouring ports.",
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
