# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where began what switches pass on: of findings on the way of damaged frames the one of the link that damages them."""

from __future__ import annotations

import typing as t

from ..pod.names import port_name
from .verdicts import FindingRecord, VerdictRecord, place_of

# The check whose finding names the link, whichever check's finding follows from it.
OF_LINKS = "crc_clean"


def name_origins(records: t.Iterable[VerdictRecord]) -> None:
    """Set ``origin`` of each finding that says where it came in before: the finding there that says so of no other, if there is one."""
    records = list(records)
    at: dict[tuple[str, str], FindingRecord] = {}
    for record in records:
        for finding in record["findings"] if record["check"] == OF_LINKS else ():
            if finding["host"] and (port := place_of(finding).port):
                at[finding["host"], port_name(port)] = finding
    for finding in (one for record in records for one in record["findings"] if one.get("passed_by")):
        first = _first(finding, at)
        if first is not None and first["host"] and (port := place_of(first).port):
            finding["origin"] = (first["host"], port)


def _first(finding: FindingRecord, at: t.Mapping[tuple[str, str], FindingRecord]) -> FindingRecord | None:
    """The finding at the beginning of the way; None where no finding is there, or the way leads round."""
    seen: set[tuple[str, str]] = set()
    one: FindingRecord | None = finding
    while one is not None and (before := one.get("passed_by")):
        place = (before[0], port_name(before[1]))
        if place in seen:
            return None
        seen.add(place)
        one = at.get(place)
    return one
