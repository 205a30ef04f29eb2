# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tiers of a pod by the role of their nodes, from hosts up: leaves, spines, and in a pod of three tiers super-spines."""

from __future__ import annotations

from .types import NearCable, TierCable

SPINE, SUPER_SPINE = "spine", "super_spine"
TIERS = ("host", "leaf", SPINE, SUPER_SPINE)
# One and several nodes of a role, in words.
WORDS = {"host": ("host", "hosts"), "leaf": ("leaf", "leaves"), SPINE: ("spine", "spines"), SUPER_SPINE: ("super-spine", "super-spines")}


def above(role: str) -> str:
    """The role of the tier above; empty above super-spines."""
    return (*TIERS, "")[TIERS.index(role) + 1]


def below(role: str) -> str:
    """The role of the tier below; empty below hosts."""
    return ("", *TIERS)[TIERS.index(role)]


def is_above(role: str, other: str) -> bool:
    """Whether a role is of a higher tier than another."""
    return TIERS.index(role) > TIERS.index(other)


def tier_cable(lower: str, lower_port: str, near: NearCable) -> TierCable:
    """A cable to the tier above; near: as the lower switch sees it."""
    upper, port, address = near["peer"], near["peer_port"], near["peer_address"]
    return {"lower": lower, "lower_port": lower_port, "upper": upper, "upper_port": port, "upper_address": address, "gbit_s": near["gbit_s"]}
