# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On which host the rank is with whose line a training ended: the launcher of one host may print those of all."""

from __future__ import annotations

import typing as t

from ...loads.host_names import Addressed, HostNames
from ...loads.speakers import homes, of_several_hosts
from ...readings.rows import Peers
from .._once import once_for_all_nodes


class PrintedRanks(t.NamedTuple):
    """The hosts whose training ended with a line of a rank that their launcher printed for another host: that one, and those whose rank is of no known host."""

    elsewhere: dict[str, str]
    nowhere: frozenset[str]


@once_for_all_nodes
def printed_ranks(jobs: Peers, gpus: int, addresses: t.Mapping[str, Addressed]) -> PrintedRanks:
    """Where the ranks are with whose lines the training of the hosts ended; jobs: the rows of load_jobs by host; gpus: of a host; addresses: of the hosts."""
    names = HostNames(jobs, addresses)
    said = {host: list(row.get("speakers") or ()) for host, rows in jobs.items() for row in rows if row["kind"] == "training"}
    of_blocks, elsewhere, nowhere = homes(said, names, gpus), {}, set()
    ended = {host: row for host, rows in jobs.items() for row in rows if row["kind"] == "training" and row["status"] != "ok"}
    for host, row in ended.items():
        rank, name = row.get("words_rank"), row.get("words_of")
        home = names.host(name) if name else None
        home = home or (of_blocks.get(rank // gpus) if rank is not None else None if name else host)
        if home is None and (name or of_several_hosts(said.get(host, ()), gpus)):
            nowhere.add(host)
        elif home not in (None, host):
            elsewhere[host] = str(home)
    return PrintedRanks(elsewhere, frozenset(nowhere))
