# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host that is a virtual machine cannot report, so that a check of it is skipped before its readings are looked at."""

from __future__ import annotations

import typing as t

from ..checks import Check
from ..checks.guests import hypervisor_of
from ..collect.types import Envelope, reading_of

WORDS = "not available in a guest: "


def is_guest(now: t.Mapping[str, Envelope], node: str) -> bool:
    """Whether a node reports that it is a virtual machine: what a plan says excuses nothing, and virtualization_as_planned compares the two."""
    reading = reading_of(now, node, "virtualization")
    return reading is not None and reading["status"] == "ok" and bool(hypervisor_of(reading["rows"]))


def not_in_guest(now: t.Mapping[str, Envelope], node: str, check: Check) -> str:
    """Why a node cannot report what a check is about, or nothing."""
    return WORDS + check.not_in_guest if check.not_in_guest and is_guest(now, node) else ""
