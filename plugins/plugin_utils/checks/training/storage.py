# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The storage that feeds training: the third cause of slow steps, beside computation and network."""

from __future__ import annotations

import typing as t

from ...loads.unknown_errors import NOT_SHOWN, Extent, alike, extent_of
from ...readings.rows import Rows
from .. import Finding, check
from ..place import Place

PATH = "pod_dataset_path"
FROM_MEMORY = "the page cache"
REFUSED_CAUSE = (
    "The host's file system returned an error instead of data: the mount is missing, stale or hangs, its client was evicted by the server (Lustre), "
    "permissions or the export (root_squash) refuse this user, or the dataset is not where it should be."
)
REFUSED_FIX = (
    "Read the path by hand on this host as the jobs' user (ls -ln, dd iflag=direct), compare its mount and export with a good host's, and mount it again; "
    "then look at the client's log (Lustre: lctl get_param *.*.import, and why the server evicted it)."
)
FROM_ALL = "Begin with the storage's servers, their network and the export, and not with one host. "


@check(
    cause="The storage or its client is too slow for all hosts at once, or its hot tier has no room for the dataset: steps wait for data.",
    fix="Read with fio from one host and from all: where one host is slow, look at its client, mount and NIC; where all are slow, at the storage.",
    needs="load",
    when=(PATH, True),
)
def dataset_feeds(
    dataset_reads: Rows, pod_node: str, pod_dataset_path: str, pod_dataset_read_gbyte_s: float | None, pod_dataset_gbyte: float | None,
    dataset_reads_of_peers: t.Mapping[str, Rows] | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Every host reads the dataset at pod_dataset_read_gbyte_s or more while all hosts read, and its storage has room for it."""
    if not dataset_reads:
        yield Finding(Place(pod_dataset_path), "a read rate", "nothing was read", "unknown")
    for row in dataset_reads:
        if row["error"] is not None or row["gbyte_s"] is None:
            extent = _extent(pod_node, row["error"], dataset_reads_of_peers or {}) if row["error"] else NOT_SHOWN
            fix = f"{FROM_ALL}{REFUSED_FIX}" if extent.all_hosts else REFUSED_FIX
            own = (f"{extent.words}{REFUSED_CAUSE}", fix) if row["error"] else (None, None)
            yield Finding(Place(pod_dataset_path), "a read rate", str(row["error"] or "not reported"), "unknown", cause=own[0], fix=own[1])
        elif row["by"] == FROM_MEMORY:
            yield Finding(
                Place(pod_dataset_path), "reads from the storage", f"{row['gbyte_s']:.3g} GB/s through the host's page cache, not from the storage", "unknown",
                cause="The file system does not read past the host's page cache (O_DIRECT), so the rate is that of the host's memory.",
                fix="Give a dataset larger than the host's memory or that no host has read, or a mount that allows direct reads; then run layer 6 again.",
            )  # fmt: skip
        elif pod_dataset_read_gbyte_s is not None and row["gbyte_s"] < pod_dataset_read_gbyte_s:
            yield Finding(Place(pod_dataset_path), f"{pod_dataset_read_gbyte_s:g} GB/s or more", f"{row['gbyte_s']:.3g} GB/s by {row['by']}")
        if pod_dataset_gbyte is not None and row["free_gbyte"] is None:
            yield Finding(Place(pod_dataset_path), f"room for {pod_dataset_gbyte:g} GB", "not reported", "unknown")
        elif pod_dataset_gbyte is not None and row["free_gbyte"] < pod_dataset_gbyte:
            yield Finding(Place(pod_dataset_path), f"room for {pod_dataset_gbyte:g} GB", f"{row['free_gbyte']:.4g} GB are free")


def _extent(host: str, error: str, reads: t.Mapping[str, Rows]) -> Extent:
    """Which hosts cannot read for the same reason."""
    having = [name for name, rows in reads.items() if any(row["error"] and alike(row["error"]) == alike(error) for row in rows)]
    return extent_of(host, having, reads, any(row["error"] is None for rows in reads.values() for row in rows))
