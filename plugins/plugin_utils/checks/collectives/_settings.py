# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the settings with which a run's ranks ran have to do with its errors: one host that has others than most, or what all of them set."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...loads.collective_runs import PROBE, items_of_kind
from ...loads.rank_errors import ALIKE_FIRST, SET_ON_ALL, SET_OTHERWISE
from ...readings.rows import Peers
from .._once import once_for_all_nodes
from ._nccl_transport import OWN, OWN_OVER_NICS

Odd = t.Mapping[str, t.Sequence[str]]
NONE = "none"
VERSION = "NCCL"


@once_for_all_nodes
def odd_hosts(logs: Peers, jobs: Peers) -> Odd:
    """In words what the hosts whose variables or release of NCCL differ from those of most hosts have otherwise.

    logs, jobs: the rows of nccl_log and load_jobs by host. A host whose NCCL did not begin has no release there, and the settings that its ranks had.
    """
    probes = {host: items_of_kind(rows, PROBE) for host, rows in jobs.items()}
    # A probe is there to set other variables.
    found = {host: _settings(row for row in rows if row["item"] not in probes.get(host, ())) for host, rows in logs.items()}
    odd: dict[str, list[str]] = {}
    for name in sorted({name for one in found.values() for name in one}):
        values = {host: one.get(name, NONE) for host, one in found.items() if name != VERSION or name in one}
        usual, number = Counter(values.values()).most_common(1)[0]
        if 2 * number > len(values) and len(values) > 2:
            for host, value in values.items():
                if value != usual:
                    odd.setdefault(host, []).append(f"{name} {value}, of the others {usual}")
    return odd


def _settings(log: t.Iterable[dict[str, t.Any]]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for row in log:
        if row["event"] == "version":
            found.setdefault(VERSION, set()).add(str(row["value"]))
        elif row["event"] == "variable" and row["name"] not in OWN | OWN_OVER_NICS:
            found.setdefault(str(row["name"]), set()).add(str(row["value"]))
    return {name: ", ".join(sorted(values)) for name, values in found.items()}


def with_settings(host: str, began_at: str | None, odd: Odd, of_all: t.Sequence[str], own: bool, words: tuple[str, str]) -> tuple[str, str]:
    """Cause and fix (words) of an error of a host with what differs in its settings, or in those of the host at which its runs show that it began.

    odd: the hosts of the run that are set up otherwise; of_all: the variables that all of them set and the pod does not list; own: whether the error arises
    within the host. That another host is set up otherwise is by itself no reason.
    """
    cause, fix = words
    if host in odd and own:
        return f"{cause} {_otherwise(host, odd)}", f"{fix} {ALIKE_FIRST}"
    about = host if host in odd else began_at
    if about in odd and not own:
        return f"{_otherwise(str(about), odd)} {cause}", f"{ALIKE_FIRST} {fix}"
    if of_all and not own:
        before, first = (one.format(variables=", ".join(of_all)) for one in SET_ON_ALL)
        return before + cause, first + fix
    return words


def _otherwise(host: str, odd: Odd) -> str:
    return SET_OTHERWISE.format(host=host, unlike="; ".join(odd[host]))
