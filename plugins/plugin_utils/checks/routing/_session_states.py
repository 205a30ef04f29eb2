# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the words for the state of a BGP session say of why it carries nothing."""

from __future__ import annotations

import re

# What the state of a session says of why it is down, by a regular expression of its words.
BY_STATE = (
    (
        r"Pfx|MaxPath|[Pp]refix",
        "The neighbor sent more prefixes than this session's maximum-prefix allows, so that this end closed it and keeps it closed.",
        "Find out which routes the neighbor announces beyond the plan (a leaked default or full table, host routes) and filter them; raise maximum-prefix "
        "where they "
        "are meant; then clear the session.",
    ),
    (
        r"Admin|Shut",
        "The session is shut down by configuration at this end (neighbor shutdown), such as for maintenance.",
        "Take the shutdown out of this end's configuration (no neighbor shutdown; SONiC: config bgp startup neighbor) once the maintenance is over.",
    ),
)
# A session that is up without the address family of the rails, in the words of FRR and NX-OS.
NOT_AGREED = re.compile(r"NoNeg|No Cap|NotNegotiated")
NOT_AGREED_CAUSE = (
    "The session is up, and the two ends did not agree on the address family of the rails, so that no route of it comes over it: one end has not activated the "
    "neighbor for it."
)
NOT_AGREED_FIX = (
    "Activate the neighbor below that address family at both ends (address-family ipv4 unicast, neighbor {peer} activate), directly or by its peer group, as "
    "the other sessions have it; then clear the session."
)


def why_closed(state: str) -> tuple[str, str] | None:
    """Cause and fix of a session that its own end keeps closed, by the words of its state; None where it would take the session."""
    return next(((cause, fix) for pattern, cause, fix in BY_STATE if re.search(pattern, state)), None)


def not_agreed(state: str, peer: str) -> tuple[str, str] | None:
    """Cause and fix of a session that is up without the address family of the rails, by the words of its state; None of any other."""
    return (NOT_AGREED_CAUSE, NOT_AGREED_FIX.format(peer=peer)) if NOT_AGREED.search(state) else None
