# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a small write takes, under one leaf and over a spine."""

from __future__ import annotations

import typing as t

from ...loads.pair_tests import Rows
from .. import PAIR, Finding, NotApplicable, check
from .._not_measured import not_measured
from ..place import at_device


@check(
    cause="A longer path than planned, power saving of the CPU or of PCIe, or a queue on the path that is not empty.",
    fix="Look at the host's CPU governor and C-states, at ASPM, and at the pod's counters while it is idle.",
    severity="warn",
    hosts=PAIR,
)
def write_latency(load_jobs: Rows, pod_write_lat_max_us: float, pod_hop_us: float, write_lat: Rows | None = None) -> t.Iterator[Finding]:
    """The latency of a small write is at most {pod_write_lat_max_us} us under one leaf, and 2 x {pod_hop_us} us more over a spine."""
    paths = {row["item"]: row for row in load_jobs if row["kind"] == "write_lat" and row["role"] == "client"}
    if not paths:
        raise NotApplicable("its partner measured it")
    judged = [(row, paths[row["item"]]) for row in write_lat or () if row["item"] in paths]
    if not judged:
        raise not_measured("no latency test of this host gave a number")
    for row, job in judged:
        reported = row["typical_us"] if row["typical_us"] is not None else row["average_us"]
        most = pod_write_lat_max_us + (2 * pod_hop_us if job["path"] == "spine" else 0)
        if reported > most:
            yield Finding(at_device(job["device"], f"to {job['peer']}", peers=(job["peer"],)), f"at most {most:g} us", f"{reported:g} us")
