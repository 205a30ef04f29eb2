# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: speed, wiring, errors, optics and cables."""

from __future__ import annotations

import re
import typing as t

from . import CannotTell, Finding, NotApplicable, check

Rows = list[dict[str, t.Any]]
CRC = ("fcs_errors", "symbol_errors", "alignment_errors", "stomped_crc")
OTHER_ERRORS = ("runts", "giants", "rx_errors", "tx_errors")
# Below this a receiver sees no light at all; tools write 0 mW as -40 dBm.
NO_LIGHT_DBM = -30.0
ABBREVIATED = re.compile(r"^(?:ethernet|eth|et)\s*(?=\d)", re.IGNORECASE)


def _port(name: str) -> str:
    """A port's name in one spelling: one switch writes Et1/1, Eth1/1 and Ethernet1/1, by command."""
    return ABBREVIATED.sub("Ethernet", name)


class _Ports(dict[str, dict[str, t.Any]]):
    """Rows by port, found by any spelling of its name."""

    def __getitem__(self, name: str) -> dict[str, t.Any]:
        return super().__getitem__(_port(name))

    def __contains__(self, name: object) -> bool:
        return super().__contains__(_port(str(name)))

    def get(self, name: str, default: t.Any = None) -> t.Any:
        """As of any mapping."""
        return super().get(_port(name), default)


def _by_port(rows: Rows) -> _Ports:
    return _Ports((_port(row["port"]), row) for row in rows)


@check(
    cause="The plan names a port that the node does not have, or a breakout or a line card is missing.",
    fix="Compare the wiring plan with the node's own list of ports.",
)
def ports_present(interface_status: Rows, pod_cables: Rows) -> t.Iterator[Finding]:
    """Every port of the wiring plan exists."""
    present = _by_port(interface_status)
    for cable in pod_cables:
        if cable["port"] not in present:
            yield Finding(cable["port"], f"a port (to {cable['peer']} {cable['peer_port']})", "no such port")


@check(
    cause="Transceiver mismatch (NIC against switch optic), a damaged or missing cable, or a port that is shut.",
    fix="Compare both transceivers, replace the odd one or the cable, then soak again.",
    required=True,
)
def port_speed(interface_status: Rows, pod_cables: Rows, pod_link_gbit_s: float) -> t.Iterator[Finding]:
    """Every planned port is connected at the rated speed."""
    present = _by_port(interface_status)
    if not pod_cables:
        raise CannotTell("the wiring plan has no cable of this node")
    for cable in pod_cables:
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
    interface_status: Rows,
    ip_link_of_peers: dict[str, Rows],
    pod_cables: Rows,
    lldp_neighbors: Rows | None = None,
    mac_table: Rows | None = None,
) -> t.Iterator[Finding]:
    """Each planned port leads to its planned peer, by LLDP or by the MAC addresses behind it."""
    told: dict[str, list[tuple[str, str]]] = {}
    for row in lldp_neighbors or ():
        told.setdefault(_port(row["port"]), []).append((row["neighbor"], row["neighbor_port"]))
    for port, owner in _owners(mac_table or (), ip_link_of_peers).items():
        told.setdefault(_port(port), []).append(owner)
    if not told:
        raise CannotTell("neither LLDP nor the MAC table tells a neighbor")
    up = {_port(row["port"]) for row in interface_status if row["state"] == "connected"}
    for cable in pod_cables:
        heard = told.get(_port(cable["port"]))
        planned = (cable["peer"], cable["peer_port"])
        if heard is None:
            if _port(cable["port"]) in up:
                yield Finding(cable["port"], _end(planned), "nobody tells", "unknown")
        elif not any(_same(one, planned) for one in heard):
            yield Finding(cable["port"], _end(planned), " and ".join(_end(one) for one in heard))


def _owners(mac_table: t.Iterable[dict[str, t.Any]], links: dict[str, Rows]) -> dict[str, tuple[str, str]]:
    """The host and netdev behind each port, where a MAC address learned there is a host's own."""
    of_mac = {_mac(row["mac"]): (node, row["netdev"]) for node, rows in links.items() for row in rows if row["mac"]}
    return {row["port"]: of_mac[_mac(row["mac"])] for row in mac_table if _mac(row["mac"]) in of_mac}


def _mac(text: str) -> str:
    return re.sub(r"[^0-9a-f]", "", text.lower())


def _end(end: tuple[str, str]) -> str:
    return f"{end[0]} {end[1]}"


def _same(heard: tuple[str, str], planned: tuple[str, str]) -> bool:
    """Whether a neighbor is the planned one: hosts may add their domain, platforms shorten Ethernet."""
    node = heard[0].split(".", maxsplit=1)[0].lower() == planned[0].split(".", maxsplit=1)[0].lower()
    return node and _port(heard[1]) == _port(planned[1])


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
    now, then = _by_port(rows), _by_port(before)
    for cable in cables:
        yield cable["port"], now.get(cable["port"]), then.get(cable["port"])


def _growth(port: str, now: dict[str, t.Any], before: dict[str, t.Any], columns: t.Iterable[str], expected: str) -> t.Iterator[Finding]:
    told = [column for column in columns if now[column] is not None and before[column] is not None]
    if not told:
        yield Finding(port, expected, "the platform tells no such counter", "unknown")
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
            lanes.setdefault(_port(row["port"]), []).append(row)
    optical = 0
    for cable in pod_cables:
        rows = lanes.get(_port(cable["port"]), [])
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
            yield from _lane(row, pod_optic_rx_range_dbm, pod_optic_rx_floor_dbm)
        lit = [power for power in powers if power > NO_LIGHT_DBM]
        if lit and max(lit) - min(lit) > pod_optic_lane_spread_db:
            yield Finding(cable["port"], f"lanes within {pod_optic_lane_spread_db:g} dB", f"{max(lit) - min(lit):.2f} dB apart", "warn")
    if not optical:
        raise NotApplicable("every planned cable of this node is copper")


def _planned_copper(cable: dict[str, t.Any]) -> bool:
    return str(cable["medium"]).lower() in ("dac", "copper", "acc", "aec")


def _lane(row: dict[str, t.Any], site: list[float], floor: float) -> t.Iterator[Finding]:
    power = row["rx_power_dbm"]
    if power is None:
        return
    where = row["port"] if row["lane"] is None else f"{row['port']} lane {row['lane']}"
    low_alarm, high_alarm = row["rx_low_alarm_dbm"], row["rx_high_alarm_dbm"]
    low, high = row["rx_low_warning_dbm"], row["rx_high_warning_dbm"]
    limits = [(low_alarm, high_alarm, None, "alarm"), (*site, None, "site") if len(site) == 2 else (None, None, None, ""), (low, high, "warn", "warning")]
    for least, most, severity, whose in limits:
        if (least is not None and power < least) or (most is not None and power > most):
            bounds = f"{'-' if least is None else f'{least:g}'} to {'-' if most is None else f'{most:g}'} dBm ({whose} limits)"
            yield Finding(where, bounds, f"{power:g} dBm", severity, row["port"])
            return
    if low_alarm is None and low is None and power < floor:
        severity = None if power < NO_LIGHT_DBM else "warn"
        yield Finding(where, f"at least {floor:g} dBm (the module tells no limits)", f"{power:g} dBm", severity, row["port"])


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
    told = _by_port(transceivers or [])
    fast = pod_lane_gbit_s > 50
    for cable in pod_cables:
        row = told.get(cable["port"])
        length = cable["length_m"] if cable["length_m"] is not None else row and row["length_m"]
        copper = str(cable["medium"]).lower() in ("dac", "copper") or (row is not None and _is_copper(row))
        if not copper:
            continue
        limit = pod_copper_max_m if fast else pod_copper_50g_max_m
        if length is None:
            yield Finding(cable["port"], f"at most {limit:g} m of passive copper", "a length that nobody tells", "unknown")
        elif length > limit:
            yield Finding(cable["port"], f"at most {limit:g} m of passive copper", f"{length:g} m")
        elif fast and length > pod_copper_warn_m:
            yield Finding(cable["port"], f"at most {pod_copper_warn_m:g} m of passive copper", f"{length:g} m", "warn")


@check(
    cause="A loose connector, a failing optic, or a peer that resets its port.",
    fix="Reseat or replace the cable, and look at the peer's log for the same seconds.",
    kind="host",
    needs="soak",
)
def link_flaps(kernel_log: Rows, kernel_log_before: Rows, pod_rails: Rows, pod_flaps_warn: int, pod_flaps_max: int) -> t.Iterator[Finding]:
    """No rail loses its link during the soak, and few since the boot."""
    if not any(row["event"] == "boot" for row in kernel_log):
        raise CannotTell("the kernel log has wrapped: its first lines are gone")
    for rail in pod_rails:
        now, before = (sum(row["event"] == "link_down" and row["device"] == rail["netdev"] for row in rows) for rows in (kernel_log, kernel_log_before))
        if now > before:
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
