# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a call of NCCL failed, by the host's own log of it, where the error of the rank says only that one did."""

from __future__ import annotations

from ...loads.error_classes import says_only_a_result
from ...loads.rank_errors import follows
from ...readings.rows import Peers, Row, Rows
from .._once import once_for_all_nodes


@once_for_all_nodes
def with_reasons(ranks: Peers, logs: Peers) -> dict[str, Rows]:
    """The rows of collective_ranks by host, with NCCL's warning in each error that only names the kind of its result; logs: the rows of nccl_log by host."""
    return {host: [_with_reason(row, logs.get(host, [])) for row in rows] for host, rows in ranks.items()}


def _with_reason(row: Row, log: Rows) -> Row:
    if not row["error"] or not says_only_a_result(row["error"]):
        return row
    warnings = [one for one in log if one["event"] == "warning" and one["item"] == row["item"] and one["text"] and not follows(one["text"])]
    # A rank's own warning says more than one of another rank of the host; where the GPU is not known any may be its own.
    own = [one for one in warnings if one["gpu"] == row.get("local_rank")] or warnings
    # In the form in which newer releases of PyTorch quote it themselves.
    return {**row, "error": f"{row['error']}\nLast error:\n{own[0]['text']}"} if own else row
