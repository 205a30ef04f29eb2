# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Boots of a node: what separates one from the next, and whether it booted between two responses."""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass

from ..collect.types import NodeStatus

# What the controller's clock, the way to a switch and a coarse uptime may be wrong by together.
TOLERANCE_SECONDS = 60
# An uptime in whole seconds that was rounded up and then down.
ROUNDING_SECONDS = 1


@dataclass(frozen=True)
class Boot:
    """What separates one boot of a node from the next: the kernel's boot id, or the uptime and when it was asked for (seconds since the epoch)."""

    boot_id: str | None
    uptime_seconds: float | None
    asked_at: float | None

    def record(self, layer: str) -> dict[str, t.Any]:
        """As a run's state keeps it, with the layer in which it was read."""
        return {**asdict(self), "layer": layer}


def boot_of(envelope: NodeStatus) -> Boot | None:
    """What a response reports of the node's boot; None where the node itself was not asked, or did not respond."""
    if not envelope["answered"] or not envelope.get("contacted", True):
        return None
    return Boot(envelope.get("boot_id"), envelope.get("uptime_seconds"), envelope.get("asked_at"))


def recorded_boot(kept: t.Mapping[str, t.Any]) -> Boot:
    """The boot that ``record`` wrote."""
    return Boot(kept["boot_id"], kept["uptime_seconds"], kept["asked_at"])


def has_booted(then: Boot, now: Boot) -> bool | None:
    """Whether a node booted between two responses, the earlier one first; None where they do not report."""
    if then.boot_id and now.boot_id:
        return then.boot_id != now.boot_id
    if then.uptime_seconds is None or now.uptime_seconds is None:
        return None
    if now.uptime_seconds < then.uptime_seconds - ROUNDING_SECONDS:
        return True
    if then.asked_at is None or now.asked_at is None:
        return None
    return now.uptime_seconds + TOLERANCE_SECONDS < then.uptime_seconds + now.asked_at - then.asked_at


def earliest(boots: t.Iterable[Boot]) -> Boot:
    """The one that was asked for first."""
    return min(boots, key=lambda one: one.asked_at or 0.0)


def began(boots: t.Iterable[Boot]) -> float | None:
    """When the node's latest boot began, in seconds since the epoch; None where it does not report for how long it has been up."""
    return max((one.asked_at - one.uptime_seconds for one in boots if one.asked_at is not None and one.uptime_seconds is not None), default=None)


def booted_since(first: Boot, boots: t.Iterable[Boot]) -> bool | None:
    """Whether a node booted between its first response and any of the others; None where they do not report."""
    found = [has_booted(first, one) for one in boots]
    return True if True in found else None if None in found else False
