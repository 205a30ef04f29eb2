# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: what the NICs behind a leaf receive alike, which is the leaf's doing and not each cable's."""

from __future__ import annotations

import typing as t

from ...pod.names import Rows
from ...pod.rail_ports import leaves_of
from ...pod.types import PodRail
from .. import CannotTell, Finding, NotApplicable, check
from .._once import Peers, once_for_all_nodes
from ..place import at_node
from .errors import RAW_RATES, bit_errors_of, first_rate

# Of fewer NICs nothing is said: two bad cables may well be at one leaf.
LEAST_NICS = 3
Nic = tuple[str, str]
CAUSE = (
    "Most NICs behind {leaf} receive many bit errors, and most others of the pod do not: {leaf} sends badly, and not {number} cables, optics or NICs. Its "
    "transmitters are not tuned for these modules (pre-emphasis, media settings, often since an update), or its power, temperature or a line card is at fault."
)
FIX = (
    "Before any cable compare {leaf} with another leaf: release, log since its last boot (SONiC: pre-emphasis and media settings in syslog), the settings of "
    "its ports' transmitters (media_settings.json, FEC), temperatures and power; go back to the release before, or set the ports down and up once they are "
    "corrected."
)


@once_for_all_nodes
def _rates(link_quality_of_peers: Peers) -> dict[Nic, float | None]:
    """The bit error rate before FEC of each NIC that reports on its link; None where it does not report that rate."""
    return {(host, device): rate for host, rows in link_quality_of_peers.items() for device, rate in _of_host(rows)}


def _of_host(rows: Rows) -> t.Iterator[tuple[str, float | None]]:
    for device in dict.fromkeys(row["device"] for row in rows if row["device"]):
        yield device, first_rate(bit_errors_of(rows, device), *RAW_RATES)


@check(
    cause="A leaf sends so that the NICs behind it receive many bit errors, whatever cable they have.",
    fix="Compare the leaf's release, transmitter settings and log with those of a leaf that is well, before any cable.",
    fabric="roce",
    kind="switch",
)
def hosts_receive_cleanly(
    link_quality_of_peers: Peers, pod_leaf_rails: list[PodRail], pod_node: str, pod_pre_fec_ber_warn: float, pod_pre_fec_ber_max: float
) -> t.Iterator[Finding]:  # fmt: skip
    """Most NICs behind a leaf receive at most {pod_pre_fec_ber_warn} bit errors before FEC (more than {pod_pre_fec_ber_max} at most of them: fail)."""
    # A bond receives from two leaves.
    behind = {(rail["host"], rail["device"]) for rail in pod_leaf_rails if leaves_of(rail) == [pod_node]}
    every = _rates(link_quality_of_peers)
    if len(behind & every.keys()) < LEAST_NICS:
        raise NotApplicable(f"fewer than {LEAST_NICS} NICs behind it report on their links")
    rates, others = ([rate for nic, rate in every.items() if rate is not None and (nic in behind) is its] for its in (True, False))
    if len(rates) < LEAST_NICS:
        raise CannotTell("the bit error rate before FEC of the NICs behind it: not reported")
    bad, elsewhere = ([rate for rate in its if rate > pod_pre_fec_ber_warn] for its in (rates, others))
    if not _most(bad, rates) or not others or _most(elsewhere, others):
        # Where most of the pod is so, it is not this leaf.
        return
    failing = [rate for rate in rates if rate > pod_pre_fec_ber_max]
    words = f"{len(bad)} of {len(rates)} receive more, up to {max(bad):g}; of the pod's other NICs {len(elsewhere)} of {len(others)}"
    expected = f"at most {pod_pre_fec_ber_warn:g} before FEC at most NICs behind it"
    named = {"leaf": pod_node, "number": len(bad)}
    yield Finding(at_node(pod_node), expected, words, None if _most(failing, rates) else "warn", cause=CAUSE.format(**named), fix=FIX.format(**named))


def _most(some: t.Sized, every: t.Sized) -> bool:
    return 2 * len(some) > len(every)
