# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: the temperature of optics, and the power that their own lasers send."""

from __future__ import annotations

import typing as t

from ...pod.names import port_name
from ...pod.types import NearCable
from ...readings.rows import Peers, Row, Rows
from .. import Finding, NotApplicable, check
from .._planned import cables_of
from ..place import Place, at_port
from ._far_light import NO_LIGHT_DBM, dark_lanes, lanes_at_far_end, lanes_of_light, lanes_of_nodes
from ._thresholds import hot
from .optics import is_copper, planned_copper

BIAS_LIMITS = ("bias_low_alarm_ma", "bias_low_warning_ma", "bias_high_warning_ma", "bias_high_alarm_ma")
MONITORS = ("temperature_c", "rx_power_dbm", "tx_power_dbm")
HEATED = "All lasers of this module need more current than it allows for, and the module is hot: lasers need more current the warmer they are."
HEATED_FIX = (
    "Cool it first: look at fans and airflow at this port, and compare with the neighbouring modules; where it is hot alone, reseat it. Read the current again "
    "once it is cool, and replace the module where it is still too high."
)
AGES = "The laser needs more current than the module allows for: it ages or is too hot, and fails soon; too little current is a failing laser driver circuit."
AGES_FIX = "Compare with the other lanes and the module's temperature, then replace the module before its light fails."
LASER = "A laser of this module fails or is switched off: it receives light and sends too little."
LASER_FIX = (
    "Look whether the port is shut or its transmitter disabled; otherwise reseat the module, then replace it. Its peer at the other end is not at fault."
)


@check(
    cause="The module is hot: a failed fan or blocked airflow at this port or node, or a room that is too warm; a hot module loses bits and then its link.",
    fix="Compare with the neighbouring modules: where all are hot, look at the node's fans and the room, otherwise reseat or replace the module.",
    fabric="roce",
    meanings=("optics",),
)
def optic_health(
    transceivers: Rows, pod_cables: list[NearCable], pod_optic_temperature_warn_c: float, pod_optic_temperature_max_c: float, pod_optic_tx_floor_dbm: float,
    transceivers_of_peers: Peers | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Every planned optic is below {pod_optic_temperature_max_c} degrees C ({pod_optic_temperature_warn_c}: warn), and its lasers send."""
    lanes, of_peers = lanes_of_light(transceivers), lanes_of_nodes(transceivers_of_peers or {})
    monitored = 0
    # Older modules and active cables have no sensor of the one or the other.
    warmth = any(row["temperature_c"] is not None for row in transceivers)
    for cable in cables_of(pod_cables):
        rows = lanes.get(port_name(cable["port"]), [])
        # Copper, empty cages and modules without monitors; optic_rx_power evaluates whether there is a module.
        if planned_copper(cable) or all(is_copper(row) for row in rows) or all(row[name] is None for row in rows for name in MONITORS):
            continue
        monitored += 1
        if warmth:
            celsius = max((row["temperature_c"] for row in rows if row["temperature_c"] is not None), default=None)
            yield from hot(cable["port"], celsius, pod_optic_temperature_warn_c, pod_optic_temperature_max_c)
        for row in rows if any(row["tx_power_dbm"] is not None for row in rows) else ():
            yield from _sent(cable, row, pod_optic_tx_floor_dbm, dark_lanes(lanes_at_far_end(cable, of_peers)))
    if not monitored:
        raise NotApplicable("no planned port of this node has an optic that reports its temperature or power")


@check(
    cause=AGES,
    fix=AGES_FIX,
    fabric="roce",
    meanings=("optics",),
)
def laser_bias(transceivers: Rows, pod_cables: list[NearCable], pod_optic_temperature_warn_c: float) -> t.Iterator[Finding]:
    """The current of every laser of a planned optic is within the alarm limits of its module, and within its warning limits (outside: warn)."""
    lanes = lanes_of_light(transceivers)
    judged = 0
    for cable in cables_of(pod_cables):
        rows = lanes.get(port_name(cable["port"]), [])
        # Limits are those of a module, whichever lane they are reported with; 0 mA is written where there is none.
        limits = {name: next((row[name] for row in rows if row[name]), None) for name in BIAS_LIMITS}
        if planned_copper(cable) or all(row["tx_bias_ma"] is None or is_copper(row) for row in rows) or all(limit is None for limit in limits.values()):
            continue
        judged += 1
        cause, fix = (HEATED, HEATED_FIX) if _heated(rows, limits, pod_optic_temperature_warn_c) else (None, None)
        for row in rows:
            yield from _bias(cable["port"], row, limits, cause, fix)
    if not judged:
        raise NotApplicable("no planned port of this node has an optic that reports its laser current and its limits")


def _heated(rows: Rows, limits: t.Mapping[str, float | None], warm: float) -> bool:
    """Whether a module is hot and every laser of it needs more current than usual: one that ages does so alone."""
    celsius = max((row["temperature_c"] for row in rows if row["temperature_c"] is not None), default=None)
    high = limits["bias_high_warning_ma"] or limits["bias_high_alarm_ma"]
    currents = [row["tx_bias_ma"] for row in rows if row["tx_bias_ma"] is not None]
    return celsius is not None and celsius >= warm and high is not None and len(currents) > 1 and min(currents) > high


def _bias(port: str, row: Row, limits: t.Mapping[str, float | None], cause: str | None, fix: str | None) -> t.Iterator[Finding]:
    """The current of one lane, in mA; that of a laser that is switched off is no fault of the laser."""
    where, current, sent = _lane(port, row, "laser current"), row["tx_bias_ma"], row["tx_power_dbm"]
    if current is None:
        yield Finding(where, "a current within the module's limits", "not reported", "unknown")
        return
    off = sent is not None and sent <= NO_LIGHT_DBM
    for whose, severity in (("alarm", None), ("warning", "warn")):
        low, high = limits[f"bias_low_{whose}_ma"], limits[f"bias_high_{whose}_ma"]
        if (low is not None and current < low and not off) or (high is not None and current > high):
            bounds = f"{'-' if low is None else f'{low:g}'} to {'-' if high is None else f'{high:g}'} mA ({whose} limits)"
            yield Finding(where, bounds, f"{current:g} mA", severity, cause=cause, fix=fix)
            return


def _lane(port: str, row: Row, of: str) -> Place:
    return at_port(port, of if row["lane"] is None else f"lane {row['lane']} {of}")


def _sent(cable: NearCable, row: Row, floor: float, dark: int) -> t.Iterator[Finding]:
    """What a lane sends; a lane that neither sends nor receives is that of optic_rx_power, or of no link.

    dark: how many lanes of the other end receive less than its module's alarm limit, so that what is sent here is proved to be too little.
    """
    where, sent, received = _lane(cable["port"], row, "sent power"), row["tx_power_dbm"], row["rx_power_dbm"]
    if sent is None:
        yield Finding(where, f"at least {floor:g} dBm", "not reported", "unknown")
    elif sent < floor and not (sent <= NO_LIGHT_DBM and (received is None or received <= NO_LIGHT_DBM)):
        words = f"{sent:g} dBm" + ("" if received is None else f", while it receives {received:g} dBm")
        words += f", and {cable['peer']} receives too little" if dark else ""
        severity = None if sent <= NO_LIGHT_DBM or dark else "warn"
        yield Finding(where, f"at least {floor:g} dBm", words, severity, cause=LASER, fix=LASER_FIX)
