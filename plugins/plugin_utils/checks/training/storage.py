# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The storage that feeds training: the third cause of slow steps, beside computation and network."""

from __future__ import annotations

import typing as t

from .. import Finding, check
from .._rows import Rows

PATH = "pod_dataset_path"
FROM_MEMORY = "the page cache"


@check(
    cause="The storage or its client is too slow for all hosts at once, or its hot tier has no room for the dataset: steps wait for data.",
    fix="Read with fio from one host and from all: one slow host has a client, mount or NIC of its own; where all are slow, it is the storage.",
    needs="load",
    when=(PATH, True),
)
def dataset_feeds(dataset_reads: Rows, pod_dataset_path: str, pod_dataset_read_gbyte_s: float | None, pod_dataset_gbyte: float | None) -> t.Iterator[Finding]:
    """Every host reads the dataset as fast as the pod asks, while all do, and its storage has room for it."""
    if not dataset_reads:
        yield Finding(pod_dataset_path, "a rate of reading", "nothing was read", "unknown")
    for row in dataset_reads:
        if row["error"] is not None or row["gbyte_s"] is None:
            yield Finding(pod_dataset_path, "a rate of reading", str(row["error"] or "not told"), "unknown")
        elif row["by"] == FROM_MEMORY:
            yield Finding(
                pod_dataset_path, "reads from the storage", f"{row['gbyte_s']:.3g} GB/s through the host's page cache, which tells nothing", "unknown"
            )
        elif pod_dataset_read_gbyte_s is not None and row["gbyte_s"] < pod_dataset_read_gbyte_s:
            yield Finding(pod_dataset_path, f"{pod_dataset_read_gbyte_s:g} GB/s or more", f"{row['gbyte_s']:.3g} GB/s by {row['by']}")
        if pod_dataset_gbyte is not None and row["free_gbyte"] is None:
            yield Finding(pod_dataset_path, f"room for {pod_dataset_gbyte:g} GB", "not told", "unknown")
        elif pod_dataset_gbyte is not None and row["free_gbyte"] < pod_dataset_gbyte:
            yield Finding(pod_dataset_path, f"room for {pod_dataset_gbyte:g} GB", f"{row['free_gbyte']:.4g} GB are free")
