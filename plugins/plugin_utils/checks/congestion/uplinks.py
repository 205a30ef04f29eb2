# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Uplinks of a leaf, and of a spine below super-spines: all of them carry the traffic that crosses the tier above, in equal parts."""

from __future__ import annotations

import math
import statistics
import typing as t

from ...loads.uplinks import FLOWS_TO_USE, flows_needed
from ...pod.names import port_name
from ...pod.tiers import SPINE, WORDS, above
from ...pod.types import NearCable
from ...readings.rows import Rows
from .. import CannotTell, Finding, NotApplicable, check
from .._counters import incasts_of_node, port_growth
from ..place import Place, at_port

# Below this part of the mean an uplink carries no flow of the load, only what the fabric itself says.
UNUSED = 0.05
# With fewer flows an uplink, hashing alone may leave one empty.
CERTAINTY = 0.99
TOO_FEW = "Fewer flows crossed this switch than it takes to tell a bad hash from chance."
NOT_USED = (
    "Nothing of the load left over {port} to {peer}, and the other uplinks carried it: that next hop is missing in the switch's hardware, though its routes "
    "have it (ecmp_paths), or its hash never chooses it."
)
NOT_USED_FIX = (
    "Look in the log of {switch} for a next hop or group that its hardware refused, and compare the hardware's next hops with its routes; shut and enable "
    "{port} so that they are written again, then run the layer again."
)
MORE_FLOWS = "Let more hosts take part, or raise pod_incast_qps, then evaluate the layer again."


@check(
    cause="The switch does not spread over all its uplinks: hashing on fields that all flows share, a polarised hash, or a missing next hop.",
    fix="Let it hash on the UDP source port too, give leaves and spines different hash seeds, and look at layer 2's ecmp_paths.",
    fabric="roce",
    kind="switch",
)
def ecmp_balanced(
    interface_bytes_idle: Rows, interface_bytes: Rows, pod_incasts: Rows, pod_incast_refused: str, pod_role: str, pod_ecmp_ratio_max: float,
    pod_cables: list[NearCable], pod_node: str,
) -> t.Iterator[Finding]:  # fmt: skip
    """Traffic to the spines, and from these to super-spines, is spread evenly over all uplinks."""
    if pod_role not in ("leaf", SPINE):
        raise NotApplicable("only a leaf has uplinks")
    rows = [row for row in incasts_of_node(pod_incasts, pod_incast_refused) if row["role"] == "uplink"]
    flows = max((row["flows"] for row in rows), default=0)
    if not flows:
        raise NotApplicable(f"no planned traffic leaves this {pod_role} over its uplinks")
    ports = dict.fromkeys(row["port"] for row in rows)
    sent = _sent(interface_bytes_idle, interface_bytes, ports)
    mean = sum(sent.values()) / len(sent)
    if not mean:
        raise CannotTell(f"its uplinks sent nothing: the load did not cross the {WORDS[above(pod_role)][1]}")
    unused = [port for port, count in sent.items() if count < mean * UNUSED]
    few = flows < FLOWS_TO_USE * len(sent)
    # Where most are empty it is the hash.
    peers = {port_name(cable["port"]): cable["peer"] for cable in pod_cables} if 2 * len(unused) <= len(sent) else {}
    for port in unused if not few else ():
        words = {"port": port, "peer": peers.get(port_name(port)), "switch": pod_node}
        cause, fix = (NOT_USED.format(**words), NOT_USED_FIX.format(**words)) if words["peer"] else (None, None)
        yield Finding(at_port(port), f"about {mean / 1e9:.3g} GB sent", f"{sent[port] / 1e9:.3g} GB: the uplink is not used", cause=cause, fix=fix)
    # What crosses a spine is as much as its leaves send further, so that its balance is judged by as many flows as there are.
    needed = flows_needed(len(sent)) if pod_role == "leaf" else FLOWS_TO_USE * len(sent)
    if flows < needed:
        yield Finding(
            Place("uplinks"),
            f"{needed} flows or more to measure the balance",
            f"too few flows: {flows}",
            "unknown",
            cause=TOO_FEW,
            fix=MORE_FLOWS,
        )
    elif len(sent) > 1 and not unused:
        yield from _unequal(sent, mean, flows, pod_ecmp_ratio_max)


def _sent(was: Rows, now: Rows, ports: t.Iterable[str]) -> dict[str, int]:
    grown = port_growth(was, now, ("tx_bytes",), "queue" if any(row["queue"] is not None for row in now) else None)
    sent: dict[str, int] = {}
    for port in ports:
        counts = [one["tx_bytes"] for (where, _queue), one in grown.items() if where == port_name(port)]
        if not counts:
            raise CannotTell(f"bytes sent by {port}: not reported")
        sent[port] = sum(counts)
    return sent


def _unequal(sent: dict[str, int], mean: float, flows: int, most: float) -> t.Iterator[Finding]:
    limit = max(most, fair_ratio(len(sent), flows))
    fullest = max(sent, key=lambda port: sent[port])
    if sent[fullest] > mean * limit:
        words = f"{sent[fullest] / mean:.2f} times the mean of {len(sent)} uplinks"
        yield Finding(at_port(fullest), f"at most {limit:.2f} times the mean", words, "warn")


def fair_ratio(uplinks: int, flows: int) -> float:
    """How far above the mean the fullest of some uplinks is at most, in 99 of 100 cases, where flows of one size are hashed fairly."""
    deviations = statistics.NormalDist().inv_cdf(CERTAINTY ** (1 / uplinks))
    return 1 + deviations * math.sqrt((uplinks - 1) / flows)
