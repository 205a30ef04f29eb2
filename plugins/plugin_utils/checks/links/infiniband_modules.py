# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: the modules of InfiniBand at hosts, as mlxlink reports them."""

from __future__ import annotations

import re
import typing as t

from ...pod.types import Rail
from ...readings.rows import Rows
from .. import CannotTell, Finding, NotApplicable, check
from ..place import at_device
from ._far_light import NO_LIGHT_DBM
from .optics_health import AGES, AGES_FIX

TEMPERATURE, RECEIVED, SENT, CURRENT = "Temperature [C]", "Rx Power Current [dBm]", "Tx Power Current [dBm]", "Bias Current [mA]"
LANE_CAUSE = "The module reports no value of a lane: it is still starting, its laser or receiver of that lane is off, or its firmware reports less than it has."
LANE_FIX = "Run mlxlink -d DEVICE -m again; where the lane stays without a value, reseat the module, then replace it or update its firmware."
# mlxlink writes what is measured and, in brackets, the module's own limits; copper has 0 and [0..0].
MEASURED = re.compile(r"^(?P<values>\S+) \[(?P<low>-?\d+(?:\.\d+)?)\.\.(?P<high>-?\d+(?:\.\d+)?)\]$")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class Measured(t.NamedTuple):
    """What a module measures, one text a lane, and its own limits; without limits both are the same."""

    lanes: list[str]
    low: float
    high: float

    @property
    def numbers(self) -> list[float]:
        """The lanes that have a number."""
        return [float(value) for value in self.lanes if NUMBER.fullmatch(value)]


@check(
    cause="The module is too hot, or a connector is dirty or a fibre bent, so that too little light arrives.",
    fix="Look at the airflow of the host, clean both connectors, then replace the module.",
    fabric="infiniband",
)
def ib_modules(
    link_quality: Rows, pod_rails: list[Rail], pod_optic_rx_range_dbm: list[float], pod_optic_lane_spread_db: float, pod_optic_temperature_warn_c: float,
    pod_optic_temperature_max_c: float,
) -> t.Iterator[Finding]:  # fmt: skip
    """Temperature, optical power and laser current of every rail's module are within the limits of the module and of the site, and its lanes are alike."""
    optical = 0
    for device, values in _by_rail(link_quality, pod_rails).items():
        if "copper" in f"{values.get('Cable Technology')} {values.get('Cable Type')}".lower():
            continue
        optical += 1
        measured = {name: _measured(values.get(name) or "") for name in (TEMPERATURE, RECEIVED, SENT, CURRENT)}
        for name in (TEMPERATURE, RECEIVED, SENT):
            yield from _within(device, name, measured[name], values.get(name) or "")
        if (warmth := measured[TEMPERATURE]) is not None:
            yield from _warm(device, warmth, pod_optic_temperature_warn_c, pod_optic_temperature_max_c)
        if (light := measured[RECEIVED]) is not None:
            yield from _light(device, light, pod_optic_rx_range_dbm, pod_optic_lane_spread_db)
        if (current := measured[CURRENT]) is not None:
            yield from _current(device, current, measured[SENT])
        elif CURRENT in values and values[CURRENT] is None:
            yield Finding(at_device(device, CURRENT), "a value and its limits", "no value in what mlxlink prints", "unknown")
    if not optical:
        raise NotApplicable("every rail of this host is on copper")


def _measured(stated: str) -> Measured | None:
    """The values of a key and their limits; None where it has none, and where both limits are the same, as of copper."""
    match = MEASURED.match(stated.strip())
    if match is None or float(match["low"]) == float(match["high"]):
        return None
    return Measured(match["values"].split(","), float(match["low"]), float(match["high"]))


def _within(device: str, name: str, measured: Measured | None, stated: str) -> t.Iterator[Finding]:
    if measured is None:
        yield Finding(at_device(device, name), "a value and its limits", stated or "not reported by mlxlink", "unknown")
        return
    limits = f"{measured.low:g} to {measured.high:g}"
    outside = [value for value in measured.numbers if not measured.low <= value <= measured.high]
    if outside:
        yield Finding(at_device(device, name), limits, ", ".join(f"{value:g}" for value in outside))
    elif len(measured.numbers) < len(measured.lanes):
        yield Finding(at_device(device, name), f"{limits} on every lane", ",".join(measured.lanes), "unknown", cause=LANE_CAUSE, fix=LANE_FIX)


def _warm(device: str, measured: Measured, warn: float, most: float) -> t.Iterator[Finding]:
    """A module within its own limits that is warmer than the site allows."""
    for celsius in measured.numbers:
        if warn <= celsius <= measured.high:
            yield Finding(at_device(device, TEMPERATURE), f"below {warn:g} ({most:g}: fail)", f"{celsius:g}", None if celsius >= most else "warn")


def _light(device: str, measured: Measured, site: list[float], spread: float) -> t.Iterator[Finding]:
    """Light that the module takes for enough: outside of the site's limits, or far less on one lane than on another."""
    inside = [power for power in measured.numbers if measured.low <= power <= measured.high]
    outside = [power for power in inside if len(site) == 2 and not site[0] <= power <= site[1]]
    if outside:
        yield Finding(at_device(device, RECEIVED), f"{site[0]:g} to {site[1]:g} (site limits)", ", ".join(f"{power:g}" for power in outside))
    lit = [power for power in measured.numbers if power > NO_LIGHT_DBM]
    if lit and max(lit) - min(lit) > spread:
        yield Finding(at_device(device, RECEIVED), f"lanes within {spread:g} dB", f"{max(lit) - min(lit):.2f} dB apart", "warn")


def _current(device: str, measured: Measured, sent: Measured | None) -> t.Iterator[Finding]:
    """Lasers outside of the limits of their current, which not every module has; one that is switched off needs none."""
    dark = sent is not None and any(power <= NO_LIGHT_DBM for power in sent.numbers)
    for current in measured.numbers:
        if current > measured.high or (current < measured.low and not dark):
            yield Finding(at_device(device, CURRENT), f"{measured.low:g} to {measured.high:g}", f"{current:g}", cause=AGES, fix=AGES_FIX)
    if 0 < len(measured.numbers) < len(measured.lanes):
        expected = f"{measured.low:g} to {measured.high:g} on every lane"
        yield Finding(at_device(device, CURRENT), expected, ",".join(measured.lanes), "unknown", cause=LANE_CAUSE, fix=LANE_FIX)


def _by_rail(rows: Rows, rails: list[Rail]) -> dict[str, dict[str, str | None]]:
    """What mlxlink says of each rail, by its own keys."""
    if not rails:
        raise CannotTell("pod_rails names no rail of this host")
    reported: dict[str, dict[str, str | None]] = {rail["device"]: {} for rail in rails}
    for row in rows:
        if row["device"] in reported:
            reported[row["device"]][row["name"]] = row["value"]
    return reported
