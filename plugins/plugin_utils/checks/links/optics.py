# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: light, optics and cables."""

from __future__ import annotations

import re
import typing as t
from dataclasses import replace

from ...pod.judged_ports import further_lanes, inactive_ports
from ...pod.names import by_port, port_name
from ...pod.rail_ports import rail_ports
from ...pod.types import NearCable, Rail
from ...readings.rows import Peers, Rows
from .. import Finding, NotApplicable, check
from .._grouping import not_reported, several
from .._odd_ones import odd_ones, undecided
from .._planned import cables_of
from ..place import Place, at_port
from ._far_light import NO_LIGHT_DBM, dark_lanes, lanes_at_far_end, lanes_of_light, lanes_of_nodes, weak_lanes

# Copper, as the wiring plan calls it.
PLANNED_PASSIVE, PLANNED_ACTIVE = ("dac", "copper"), ("acc", "aec")
SENT_WEAKLY = "The module of {peer} {port} sends too little light; this end receives what it sends, and is not at fault."
SENT_WEAKLY_FIX = "Mend the module of {peer} {port} (optic_health), then look at the light that arrives here again."
EMPTY_CAGE = "No module is in the port, or it is not seated: there is no light to judge."


def is_copper(row: dict[str, t.Any]) -> bool:
    """Whether a module says of itself that it is copper."""
    return bool(re.search(r"copper|\bdac\b|-CR\d?|CR[248]\b|direct attach|base-cr|twinax", str(row["media"] or ""), re.IGNORECASE))


@check(
    cause="A dirty, bent or mismatched fibre, or a failing laser at the other end.",
    fix="Clean both connectors, check the bend radius, then swap the optic; compare the power that the other end sends.",
    fabric="roce",
    meanings=("optics",),
)
def optic_rx_power(
    transceivers: Rows, pod_cables: list[NearCable], pod_optic_rx_range_dbm: list[float], pod_optic_rx_floor_dbm: float, pod_optic_lane_spread_db: float,
    pod_optic_tx_floor_dbm: float, interface_status: Rows | None = None, transceivers_of_peers: Peers | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Every lane of every planned optic receives optical power within the limits of the module and of the site."""
    lanes, of_peers = lanes_of_light(transceivers), lanes_of_nodes(transceivers_of_peers or {})
    optical = 0
    shared = inactive_ports(interface_status or ())
    for cable in cables_of(pod_cables):
        rows = [*lanes.get(port_name(cable["port"]), []), *_shared_lanes(port_name(cable["port"]), lanes, shared)]
        if planned_copper(cable) or (rows and all(is_copper(row) for row in rows)):
            continue
        optical += 1
        if not rows or not all(row["present"] for row in rows):
            yield Finding(at_port(cable["port"]), "a transceiver", "none is present" if rows else "not reported", "unknown", cause=EMPTY_CAGE if rows else None)
            continue
        powers = [row["rx_power_dbm"] for row in rows if row["rx_power_dbm"] is not None]
        if not powers:
            yield Finding(at_port(cable["port"]), "received power", "not reported by the module", "unknown")
            continue
        found = [one for row in rows for one in _lane(cable["port"], row, pod_optic_rx_range_dbm, pod_optic_rx_floor_dbm)]
        lit = [power for power in powers if power > NO_LIGHT_DBM]
        if lit and max(lit) - min(lit) > pod_optic_lane_spread_db:
            found.append(Finding(at_port(cable["port"]), f"lanes within {pod_optic_lane_spread_db:g} dB", f"{max(lit) - min(lit):.2f} dB apart", "warn"))
        # Lanes may be crossed on their way, so that they are counted: more of them than are sent weakly are dark by themselves.
        if 0 < dark_lanes(rows) <= weak_lanes(lanes_at_far_end(cable, of_peers), pod_optic_tx_floor_dbm):
            found = [one if one.severity == "unknown" else _sent_weakly(one, cable) for one in found]
        yield from found
    if not optical:
        raise NotApplicable("every planned cable of this node is copper")


def _shared_lanes(port: str, lanes: t.Mapping[str, Rows], shared: t.Container[str]) -> t.Iterator[dict[str, t.Any]]:
    """The rows of the further lanes of a port."""
    for number, name in further_lanes(port, shared):
        yield from ({**row, "lane": number, "present": True} for row in lanes.get(name, ()) if row["rx_power_dbm"] is not None)


def _sent_weakly(finding: Finding, cable: NearCable) -> Finding:
    """A finding of what arrives, as of what the other end sends."""
    peer, port = cable["peer"], cable["peer_port"]
    return replace(finding, cause=SENT_WEAKLY.format(peer=peer, port=port), fix=SENT_WEAKLY_FIX.format(peer=peer, port=port), began_at=(peer, port))


def planned_copper(cable: NearCable) -> bool:
    """Whether a cable is copper by the wiring plan."""
    return str(cable["medium"]).lower() in (*PLANNED_PASSIVE, *PLANNED_ACTIVE)


def _lane(port: str, row: dict[str, t.Any], site: list[float], floor: float) -> t.Iterator[Finding]:
    power = row["rx_power_dbm"]
    where = at_port(port, "" if row["lane"] is None else f"lane {row['lane']}")
    if power is None:
        yield Finding(where, "received power", "not reported by the module", "unknown")
        return
    low_alarm, high_alarm = row["rx_low_alarm_dbm"], row["rx_high_alarm_dbm"]
    low, high = row["rx_low_warning_dbm"], row["rx_high_warning_dbm"]
    limits: list[tuple[float | None, float | None, str | None, str]] = [(low_alarm, high_alarm, None, "alarm"), (low, high, "warn", "warning")]
    if len(site) == 2:
        limits.insert(1, (site[0], site[1], None, "site"))
    for least, most, severity, whose in limits:
        if (least is not None and power < least) or (most is not None and power > most):
            bounds = f"{'-' if least is None else f'{least:g}'} to {'-' if most is None else f'{most:g}'} dBm ({whose} limits)"
            yield Finding(where, bounds, f"{power:g} dBm", severity)
            return
    if low_alarm is None and low is None and power < floor:
        severity = None if power < NO_LIGHT_DBM else "warn"
        yield Finding(where, f"at least {floor:g} dBm (the module has no limits)", f"{power:g} dBm", severity)


NOT_KNOWN = "Neither the wiring plan nor the module at this end says it, and how far a cable reaches depends on it; many modules of copper report nothing."
WRITE_MEDIUM = "Write dac, aec, aoc or optic into the column medium of the wiring plan, and length_m of dac."
WRITE_LENGTH = "Write the length of this cable in metres into the column length_m of the wiring plan."


def _is_passive(planned: str, row: dict[str, t.Any]) -> bool:
    """Whether a cable is passive copper: by the plan, or by the module, whose own word counts more than that it was planned to be active."""
    words = str(row["media"] or "")
    if planned in PLANNED_PASSIVE or re.search(r"passive|unequalized", words, re.IGNORECASE):
        return planned in PLANNED_PASSIVE or is_copper(row)
    return is_copper(row) and planned not in PLANNED_ACTIVE and not re.search(r"\bactive\b|\bA[CE]C\b", words, re.IGNORECASE)


@check(
    cause="Passive copper is longer than its speed allows, which costs throughput under load long before the link drops.",
    fix="Use an active optical or active electrical cable for this length.",
)
def cable_reach(
    pod_cables: list[NearCable],
    interface_status: Rows,
    pod_lane_gbit_s: float,
    pod_copper_warn_m: float,
    pod_copper_max_m: float,
    pod_copper_50g_max_m: float,
    transceivers: Rows | None = None,
) -> t.Iterator[Finding]:
    """Passive copper is no longer than its lane speed allows, by the plan and the module."""
    reported = by_port(transceivers or [])
    fast = pod_lane_gbit_s > 50
    limit = pod_copper_max_m if fast else pod_copper_50g_max_m
    judged = 0
    for cable in cables_of(pod_cables):
        row = reported.get(cable["port"]) or {"media": None, "length_m": None}
        judged += 1
        if not cable["medium"] and not row["media"]:
            words = "not in the plan, not reported by the module"
            yield Finding(at_port(cable["port"]), "a known medium", words, "unknown", cause=NOT_KNOWN, fix=WRITE_MEDIUM, judged=True)
        if not _is_passive(str(cable["medium"]).lower(), row):
            judged -= bool(cable["medium"] or row["media"])
            continue
        lengths = [float(one) for one in (cable["length_m"], row["length_m"]) if one]
        if not lengths:
            limits = f"at most {limit:g} m of passive copper"
            yield Finding(at_port(cable["port"]), limits, "length: not reported", "unknown", cause=NOT_KNOWN, fix=WRITE_LENGTH, judged=True)
        elif max(lengths) > limit:
            yield Finding(at_port(cable["port"]), f"at most {limit:g} m of passive copper", f"{max(lengths):g} m")
        elif fast and max(lengths) > pod_copper_warn_m:
            yield Finding(at_port(cable["port"]), f"at most {pod_copper_warn_m:g} m of passive copper", f"{max(lengths):g} m", "warn")
    if not judged:
        raise NotApplicable("no planned cable of this node is passive copper")


@check(
    cause="Optics or cables of several part numbers are mixed: spares of another maker or revision, with other firmware and other ways to fail.",
    fix="Swap the odd ones for the part that the group has; where the mix is meant, waive the finding.",
    fabric="roce",
    scope="group",
    severity="warn",
    meanings=("optics",),
)
def optics_uniform(transceivers: dict[str, Rows], pod_rails: list[Rail]) -> t.Iterator[Finding]:
    """Optics and cables of one kind and length have one part number over a gate group."""
    several(transceivers)
    netdevs = {rail["netdev"] for rail in rail_ports(pod_rails)}
    parts: dict[tuple[t.Any, ...], dict[tuple[str, str], str]] = {}
    absent = set()
    for host, rows in transceivers.items():
        for row in rows:
            if row["port"] in netdevs and row["present"] and row["part_number"]:
                # The length is part of a cable's number.
                parts.setdefault((row["media"], row["length_m"]), {})[host, row["port"]] = f"{row['vendor']} {row['part_number']}"
            elif row["present"] is False:
                absent.add((host, row["port"]))
    # A module that could not be read is not one like the others.
    yield from not_reported(transceivers, absent.union(*parts.values()), netdevs, "a part number")
    for (media, length), kind in parts.items():
        yield from undecided(kind, Place(f"modules of {media or 'unknown medium'}" + (f", {length} m" if length else "")), "one part number")
        for (host, port), part, usual in odd_ones(kind):
            yield Finding(at_port(port), f"{usual}, as its group", part, host=host)
