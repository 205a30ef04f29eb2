# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs whose launcher started no ranks or ended early, and the one host with which it does, where that shows."""

from __future__ import annotations

import typing as t

from ...loads.collective_runs import LADDER, LAUNCHER, SEARCH
from ...readings.rows import Peers, Rows
from .._once import once_for_all_nodes
from ._runs import of_run


def refused(load_jobs: Rows) -> Rows:
    """The launchers that did not start their ranks, or ended early."""
    return [row for row in load_jobs if row["role"] == LAUNCHER and row["status"] != "ok"]


def refusals(jobs: t.Mapping[str, Rows]) -> dict[tuple[t.Any, ...], str]:
    """What the launcher of each run reported that did not start its ranks, by ``of_run``; jobs: the rows of load_jobs by host."""
    return {of_run(row): str(row["words"]) for rows in jobs.values() for row in refused(rows)}


@once_for_all_nodes
def only_refused(jobs: Peers) -> str | None:
    """The one host that all refused runs have in common, and that is in no run over several hosts which was started; None where no or another one is.

    jobs: the rows of load_jobs by host. Each of its partners is in a run that was started, so that a refusal which names no host is about this one.
    """
    launched = [row for rows in jobs.values() for row in rows if row["role"] == LAUNCHER and row["kind"] in (LADDER, SEARCH) and len(row["hosts"] or ()) > 1]
    ill = [set(row["hosts"]) for row in launched if row["status"] != "ok"]
    well = {host for row in launched if row["status"] == "ok" for host in row["hosts"]}
    left = set.intersection(*ill) - well if ill else set()
    beside = set().union(*ill) - left
    return next(iter(left)) if len(left) == 1 and beside and beside <= well else None
