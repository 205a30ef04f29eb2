# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 6, training: which ranks the site's own training reports to be slow, in steps that are as steady as the slowest of them."""

from __future__ import annotations

import re
import typing as t

from ...loads.host_names import NO_ADDRESSES, Addressed, HostNames
from ...loads.speakers import homes
from ...readings.rows import Peers, Rows
from .. import Finding, NotApplicable, check
from ..place import at_rank
from .steps import OWN_COMMAND

NUMBER = re.compile(r"\d+")
COMPARED = {"others": "slower than the other ranks", "earlier": "slower than it was before"}


@check(
    cause="The training's own report found the GPU of this rank slower than those of the others, or than it was before: its clocks are lowered (heat, power), "
    "its memory, PCIe slot or host is slower, or another process uses it. All other ranks wait for it in every step, so that the steps may be steady.",
    fix="On the host compare nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE of that GPU with its neighbours' under load; run the layer without "
    "pod_training_command, which times computation of each rank, and the vendor's GPU diagnostics.",
    needs="load",
    kind="host",
    when=(OWN_COMMAND, True),
)
def own_ranks_keep_up(
    straggler_reports_of_peers: Peers, pod_node: str, pod_gpus_per_host: int, load_jobs_of_peers: Peers | None = None,
    pod_host_addresses: t.Mapping[str, Addressed] = NO_ADDRESSES,
) -> t.Iterator[Finding]:  # fmt: skip
    """By its own report of stragglers, where the site's own training prints one, no rank is slow."""
    if not any(straggler_reports_of_peers.values()):
        raise NotApplicable("the log of the training has no report of ranks that are slow")
    jobs = load_jobs_of_peers or {}
    names = HostNames(jobs or straggler_reports_of_peers, pod_host_addresses)
    said = {host: list(row.get("speakers") or ()) for host, rows in jobs.items() for row in rows if row["kind"] == "training"}
    of_blocks = homes(said, names, pod_gpus_per_host)
    for printer, rows in straggler_reports_of_peers.items():
        for rank, (words, node) in _slow(rows).items():
            home = (names.host(node) if node else None) or of_blocks.get(rank // pod_gpus_per_host)
            gpu = rank % pod_gpus_per_host
            if home == pod_node:
                yield Finding(at_rank(rank, f"(GPU {gpu})", gpu=gpu), "to keep up with the others", words)
            elif home is None and printer == pod_node:
                yield Finding(at_rank(rank), "to keep up with the others", f"{words}; no line says on which host it is", "unknown", judged=True)


def _slow(rows: Rows) -> dict[int, tuple[str, str | None]]:
    """The ranks that warnings name, each with what is reported of it and the name of its host, None where no score has one."""
    found: dict[int, tuple[str, str | None]] = {}
    for row in rows:
        for rank in map(int, NUMBER.findall(row["slow"] or "")):
            scores = [(one["score"], one["host"]) for one in rows if one["rank"] == rank and one["score"] is not None]
            score, node = min(scores, key=lambda pair: pair[0], default=(None, None))
            words = COMPARED.get(row["compared_with"] or "", "slow")
            found.setdefault(rank, (words + (f", score {score:g} of 1" if score is not None else ""), node))
    return found
