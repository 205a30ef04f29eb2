# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a small write takes, under one leaf and over a spine."""

from __future__ import annotations

import typing as t

from ...loads.pair_tests import PairTest, ends_of, pair_tests
from ...loads.perftest_errors import explained
from ...loads.thresholds import longest_latency_us
from ...loads.unknown_errors import explain_unknown
from ...readings.rows import Peers, Rows
from .. import PAIR, Finding, NotApplicable, check
from .._not_measured import not_measured
from .._slow_pairs import NOT_RUN_CAUSE, NOT_RUN_FIX
from ..place import at_device


@check(
    cause="A longer path than planned, power saving of the CPU or of PCIe, or a queue on the path that is not empty.",
    fix="Look at the host's CPU governor and C-states, at ASPM, and at the pod's counters while it is idle.",
    severity="warn",
    hosts=PAIR,
)
def write_latency(
    load_jobs: Rows, pod_node: str, pod_write_lat_max_us: float, pod_hop_us: float, write_lat: Rows | None = None, load_jobs_of_peers: Peers | None = None
) -> t.Iterator[Finding]:  # fmt: skip
    """The latency of a small write is at most {pod_write_lat_max_us} us under one leaf, 2 x {pod_hop_us} us more over a spine, 4 x over a super-spine."""
    paths = {row["item"]: row for row in load_jobs if row["kind"] == "write_lat" and row["role"] == "client"}
    if not paths:
        raise NotApplicable("its partner measured it")
    judged = [(row, paths[row["item"]]) for row in write_lat or () if row["item"] in paths]
    measured = {ends_of(pod_node, job) for _row, job in judged}
    # A test that gave no number is made twice; of two that gave none the second one says why.
    lost = {one.ends: one for one in pair_tests(pod_node, load_jobs_of_peers or {}, {}, ("write_lat",), sent=True)}
    failed = [one for ends, one in lost.items() if ends not in measured]
    if not judged and all(one.by == pod_node for one in failed):
        raise not_measured("no latency test of this host gave a number")
    yield from map(_without_a_number, failed)
    for row, job in judged:
        reported = row["typical_us"] if row["typical_us"] is not None else row["average_us"]
        most = longest_latency_us(job["path"], pod_write_lat_max_us, pod_hop_us)
        if reported > most:
            yield Finding(at_device(job["device"], f"to {job['peer']}", peers=(job["peer"],)), f"at most {most:g} us", f"{reported:g} us")


def _without_a_number(test: PairTest) -> Finding:
    """A test that measured nothing, of the host whose program says why."""
    end = test.receiver if test.by == test.receiver.host else test.sender
    unnamed = explain_unknown(test.unnamed) if test.unnamed else (NOT_RUN_CAUSE, NOT_RUN_FIX)
    cause, fix = explained(test.words) or unnamed
    return Finding(at_device(end.device), "a latency", test.words, "unknown", host=end.host, cause=cause, fix=fix)
