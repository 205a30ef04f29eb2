# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: the partitions (PKeys) of every InfiniBand rail: its own, without which no queue pair reaches another one, and none of another tenant."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.types import Rail
from ...readings.rows import Peers, Rows
from .. import Finding, check
from .._grouping import planned_rails
from ..place import Place, at_device

# The rows of peers that were asked for last, and how many rails have which partition; the hosts of a layer are given the same rows.
_KEPT: dict[str, tuple[Peers, Counter[int]]] = {}
# The highest bit says full member, the others are the partition (InfiniBand architecture, section 10.9).
FULL, PARTITION = 0x8000, 0x7FFF
NONE_CAUSE = "The subnet manager gave the port no partition key: it is in no partition, or the manager has not reached it since its link came up."
NONE_FIX = "Add the port's GUID to its partition (partitions.conf of opensm, or UFM), and let the manager sweep the subnet again."
LIMITED_CAUSE = "The port is a limited member, and two limited members of a partition cannot send to each other."
LIMITED_FIX = "Make the port a full member of the partition (partitions.conf of opensm: GUID=full, or UFM), and let the manager sweep the subnet again."


@check(
    cause="The port is in another partition than the other rails of the pod, such as a former tenant's, so that no queue pair connects to them.",
    fix="Move the port's GUID to the pod's partition (partitions.conf of opensm, or UFM), and let the manager sweep the subnet again.",
    fabric="infiniband",
    kind="host",
)
def rails_in_partition(pkeys: Rows, pkeys_of_peers: Peers, pod_rails: list[Rail], pod_partition_key: int | None) -> t.Iterator[Finding]:
    """The first partition key of every rail is that of a full member of the pod's partition, which loads use."""
    tables = _tables(pkeys)
    wanted = pod_partition_key & PARTITION if pod_partition_key is not None else None
    for rail in planned_rails(pod_rails):
        table = tables.get(rail["device"], {})
        own = at_device(rail["device"], "partition key")
        if 0 not in table:
            yield Finding(own, "one of a full member", "not reported", "unknown")
        elif not table[0] & PARTITION:
            yield Finding(own, "one of a full member", "none", cause=NONE_CAUSE, fix=NONE_FIX)
        else:
            partition = wanted if wanted is not None else _usual(pkeys_of_peers)
            yield from _judged(own, table, partition)


@check(
    cause="The port is a member of another tenant's partition, so that its queue pairs reach that tenant's hosts, and theirs reach this one.",
    fix="Take the port's GUID out of that partition (partitions.conf of opensm, or UFM), and let the manager sweep the subnet again.",
    fabric="infiniband",
    kind="host",
    when=("pod_other_partition_keys", True),
)
def other_partitions_apart(pkeys: Rows, pod_rails: list[Rail], pod_other_partition_keys: list[int]) -> t.Iterator[Finding]:
    """No rail has the partition key of another tenant, not even as a limited member."""
    tables, others = _tables(pkeys), {key & PARTITION for key in pod_other_partition_keys}
    for rail in planned_rails(pod_rails):
        table = tables.get(rail["device"], {})
        own = at_device(rail["device"], "partition keys")
        if 0 not in table:
            yield Finding(own, "those of this pod", "not reported", "unknown")
        for index, key in table.items():
            if key & PARTITION in others:
                # A limited member reaches the full members of its partition.
                reaches = "a full member" if key & FULL else "a limited member, which reaches the full ones"
                yield Finding(own, "none of another tenant", f"{key:#06x} is entry {index}: {reaches}")


def _judged(where: Place, table: dict[int, int], wanted: int | None) -> t.Iterator[Finding]:
    """A rail's keys by their index; wanted: the pod's partition, None where as many rails have another one."""
    first = table[0]
    if wanted is None:
        cause = "As many rails of the pod have one partition as another, so that the right one is not known."
        fix = "Set pod_partition_key to the key of the pod's partition."
        yield Finding(where, "the partition of most rails", f"{first:#06x}, and no partition has most", "unknown", cause=cause, fix=fix, judged=True)
        return
    expected = f"{wanted | FULL:#06x}"
    if first & PARTITION == wanted:
        if not first & FULL:
            yield Finding(where, expected, f"{first:#06x}", cause=LIMITED_CAUSE, fix=LIMITED_FIX)
        return
    elsewhere = [index for index, key in table.items() if key == wanted | FULL]
    if elsewhere:
        cause = "The key is in the port's table, but not its first entry, which programs use unless another one is configured."
        fix = f"Make it the first entry, or set NCCL_IB_PKEY={elsewhere[0]} for jobs; loads of this validation use the first entry."
        yield Finding(where, expected, f"{first:#06x}; {expected} is entry {elsewhere[0]}", "warn", cause=cause, fix=fix)
    else:
        yield Finding(where, expected, f"{first:#06x}")


def _tables(rows: Rows) -> dict[str, dict[int, int]]:
    """The keys of each device by index, without free entries but the first."""
    tables: dict[str, dict[int, int]] = {}
    for row in rows:
        own = tables.setdefault(row["device"], {})
        own.update({row["index"] + place: int(key, 16) for place, key in enumerate(row["pkeys"])})
    return tables


def _usual(of_peers: Peers) -> int | None:
    """The partition that more rails have as their first one than any other; None where there is none."""
    kept = _KEPT.get("rails")
    if kept is None or kept[0] is not of_peers:
        firsts = (table.get(0, 0) & PARTITION for rows in of_peers.values() for table in _tables(rows).values())
        kept = _KEPT["rails"] = (of_peers, Counter(first for first in firsts if first))
    common = kept[1].most_common(2)
    return None if not common or (len(common) > 1 and common[0][1] == common[1][1]) else common[0][0]
