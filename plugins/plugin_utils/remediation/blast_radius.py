# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many hosts may be out of service at once."""

from __future__ import annotations

import typing as t


def blast_radius_reasons(
    named: t.Sequence[str], groups: t.Mapping[str, t.Sequence[str]], out: t.Container[str], at_once: int, quarantine_max: int
) -> list[str]:
    """Why some hosts must not be out at once; none where they may.

    named: the hosts to remediate; out: hosts that take no jobs already; at_once: ``pod_remediate_max``.
    A host that is out already may always be repaired: that takes nothing from its group.
    """
    reasons = []
    if len(named) > at_once:
        some = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
        reasons.append(f"{len(named)} hosts are named ({some}), and pod_remediate_max allows {at_once}; name fewer with --limit")
    allowed = max(1, quarantine_max)
    for group, members in groups.items():
        leaving = [host for host in named if host in members and host not in out]
        gone = [host for host in members if host in out and host not in leaving]
        if leaving and len(leaving) + len(gone) > allowed:
            words = f"{', '.join(gone)} {'is' if len(gone) == 1 else 'are'} out already" if gone else f"{', '.join(leaving)} are named"
            reasons.append(f"{group} may lose {allowed} of its {len(members)} hosts (pod_quarantine_max), and {words}")
    return reasons
