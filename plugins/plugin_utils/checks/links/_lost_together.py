# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of hosts that were lost within a second of each other, which have one cause."""

from __future__ import annotations

from ...readings.rows import Peers
from ...text.times import epoch_seconds
from .._once import once_for_all_nodes
from .errors import MANY_LINKS

# Links that are lost within this time of each other have one cause, from MANY_LINKS on.
TOGETHER_SECONDS = 1.0
# A host and a network device of it.
Link = tuple[str, str]
# When each of some links was lost, in seconds since the epoch, in the order of these.
Cluster = list[tuple[float, Link]]


@once_for_all_nodes
def lost_together(kernel_log_of_peers: Peers) -> list[Cluster]:
    """The losses of links of all hosts that came together, by the times of their kernels' logs."""
    dated = [
        (at, (host, row["device"])) for host, rows in kernel_log_of_peers.items() for row in rows
        if row["event"] == "link_down" and row["device"] and (at := epoch_seconds(row["time"])) is not None
    ]  # fmt: skip
    together: list[Cluster] = []
    for one in sorted(dated):
        if together and one[0] - together[-1][-1][0] <= TOGETHER_SECONDS:
            together[-1].append(one)
        else:
            together.append([one])
    return [cluster for cluster in together if len(links_of(cluster)) >= MANY_LINKS]


def links_of(cluster: Cluster) -> set[Link]:
    """The links that were lost."""
    return {link for _at, link in cluster}
