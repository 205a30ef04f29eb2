# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rails that are not there, or have another name: what is missing of them for this reason is counted to the finding of the rail."""

from __future__ import annotations

import typing as t

from .verdicts import FindingRecord, VerdictRecord, place_of

CHECK = "rails_present"
# Part of a rail, in findings of that check, whose name on the host is another one.
NETDEV = "netdev"
# What is set up by the name of a netdev, and looked for under it.
BY_NETDEV = frozenset(("gid_index", "gid_index_uniform", "address_plan", "mtu", "mtu_uniform", "nic_driver_uniform"))
_Rail = tuple[str, str | None, str]


def name_absent_rails(records: t.Sequence[VerdictRecord]) -> None:
    """Set ``origin`` of what could not be read of a rail, or is not set up on it, where the rail itself is a finding. What they are on is known."""
    absent = {
        rail: finding for record in records if record["check"] == CHECK for finding in record["findings"]
        if finding["severity"] == "fail" and (rail := _rail(record, finding))
    }  # fmt: skip
    for record in records:
        for finding in record["findings"]:
            of_rail = absent.get(rail) if (rail := _rail(record, finding)) else None
            if of_rail is None or record["check"] == CHECK:
                continue
            renamed = place_of(of_rail).of == NETDEV
            if finding.get("unread") or (renamed and record["check"] in BY_NETDEV):
                finding["origin"] = (CHECK, finding["host"] or "", "")


def _rail(record: VerdictRecord, finding: FindingRecord) -> _Rail | None:
    """Layer, host and rail of a finding; None of one that is on no rail of the plan."""
    return (record["layer"], finding["host"], rail) if (rail := finding.get("rail")) else None
