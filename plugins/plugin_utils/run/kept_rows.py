# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows that a run has kept, as they are read: with the columns that readings have today, and equal ones of many nodes once."""

from __future__ import annotations

import typing as t

from ..collect.types import KeptEnvelope
from ..readings import catalogue
from ..readings.rows import Row

# Readings whose rows are of other nodes of the pod, so that many nodes report the same ones.
SHARED_ROWS = ("neighbor_table", "arp_table")


def of_this_version(envelope: KeptEnvelope) -> KeptEnvelope:
    """Kept rows with the columns that readings have today: a run of an older version lacks new ones, which are then not reported."""
    for name, kept_file in envelope["readings"].items():
        if (
            kept_file["rows"]
            and name in catalogue()
            and (lacking := [column.name for column in catalogue()[name].columns if column.name not in kept_file["rows"][0]])
        ):
            kept_file["rows"] = [{**dict.fromkeys(lacking), **row} for row in kept_file["rows"]]
    return envelope


class SharedRows:
    """Rows that many nodes report in the same words, such as who has which address, kept once: tables of neighbors grow with the square of the pod."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[tuple[t.Any, ...], Row]] = {name: {} for name in SHARED_ROWS}

    def in_place(self, envelope: KeptEnvelope) -> KeptEnvelope:
        """The envelope, with those of its rows that another node has reported before in their place."""
        for name, known in self.rows.items():
            if (kept_file := envelope["readings"].get(name)) is not None:
                kept_file["rows"] = [known.setdefault(tuple(row.items()), row) for row in kept_file["rows"]]
        return envelope
