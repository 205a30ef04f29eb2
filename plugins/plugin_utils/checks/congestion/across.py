# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What receivers get of incasts across gate groups: together what the uplinks of their leaf carry, and each its part."""

from __future__ import annotations

import statistics
import typing as t

from ...loads.incasts import ACROSS
from ...readings.rows import Peers, Rows
from ...text.counting import counted
from .. import Finding, NotApplicable, check
from .._counters import incasts_of_node
from .._not_measured import NO_RESULT, no_result
from ..place import Place, at_device
from .load import sent

NOT_ACROSS = "no incast across gate groups ends here"
NO_RATES = "rates of the senders across gate groups: not reported"


@check(
    cause="Between gate groups less arrives than the uplinks of the receivers' leaf carry: a spine or an uplink carries less than its part, "
    "spines mark too early, or pauses.",
    fix="Look at spines_balanced, spine_marks and pauses_stay_local of the spines and at ecmp_balanced of the senders' leaves; without a finding there, "
    "compare the spines' ECN thresholds with their vendor's.",
    kind="switch",
    severity="warn",
    needs="load",
)
def across_fills_uplinks(
    load_jobs_of_peers: Peers, write_bw_of_peers: Peers, pod_incasts: Rows, pod_incast_refused: str, pod_incast_fill_percent: float
) -> t.Iterator[Finding]:
    """Receivers of an incast across gate groups get at least {pod_incast_fill_percent} percent of what the uplinks of their leaf carry, or of their links."""
    rounds: dict[t.Any, Rows] = {}
    for row in incasts_of_node(pod_incasts, pod_incast_refused):
        if row["role"] == "receiver" and row["share"] is not None:
            rounds.setdefault(row["round"], []).append(row)
    if not rounds:
        raise NotApplicable(NOT_ACROSS)
    rates = sent(load_jobs_of_peers, write_bw_of_peers, kinds=(ACROSS,))
    for number, rows in sorted(rounds.items()):
        got = [sum(senders.values()) for row in rows if (senders := rates.get((row["peer"], row["device"]), {}).get(number))]
        if not got:
            raise no_result(NO_RATES)
        least = sum(row["share"] for row in rows) * pod_incast_fill_percent / 100
        if sum(got) < least:
            yield Finding(Place(f"round {number}"), f"{least:.4g} Gb/s or more to {counted(len(rows), 'receiver')} together", f"{sum(got):.4g}")


@check(
    cause="Of the receivers at one leaf this one gets less from other gate groups: its host is slower than its link, or its senders' paths are.",
    fix="Fix slow_receiver first, where it is reported; else compare the rates of its senders, each alone, with ib_write_bw from their gate groups.",
    severity="warn",
    kind="host",
    needs="load",
)
def across_fair_share(
    load_jobs_of_peers: Peers, write_bw_of_peers: Peers, pod_incasts: Rows, pod_incast_refused: str, pod_node: str, pod_fair_share_percent: float
) -> t.Iterator[Finding]:
    """A receiver of an incast across gate groups gets at least {pod_fair_share_percent} percent of the median of the receivers at its leaf."""
    beside = {(row["round"], row["device"]): row["beside"] for row in incasts_of_node(pod_incasts, pod_incast_refused) if row["beside"]}
    if not beside:
        raise NotApplicable(NOT_ACROSS)
    rates = sent(load_jobs_of_peers, write_bw_of_peers, kinds=(ACROSS,))
    for (number, device), ends in sorted(beside.items()):
        got = {tuple(end): sum(senders.values()) for end in ends if (senders := rates.get(tuple(end), {}).get(number))}
        own = got.get((pod_node, device))
        if own is None:
            yield Finding(at_device(device, f"in round {number}"), "rates of its senders", "not reported", "unknown", cause=NO_RESULT[0], fix=NO_RESULT[1])
            continue
        least = statistics.median(got.values()) * pod_fair_share_percent / 100
        if own < least:
            words = f"{least:.4g} Gb/s or more, as of {counted(len(ends), 'receiver')} at its leaf"
            yield Finding(at_device(device, f"in round {number}"), words, f"{own:.4g}")
