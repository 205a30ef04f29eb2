# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans of slices, and what their runs come to, for tests that climb in process."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.planned_pod import expectations_digest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.slicing import Sliced, slice_pod
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import collection_version
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.merge import Merged, merge_sliced
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.sliced import read_sliced
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess

PLANNED = "2026-01-01T00:00:00Z"
SWITCHES = {*(f"leaf{number:02}" for number in range(1, 9)), "spine01", "spine02"}


def planned(inventory: Path, pods: inprocess.Pods, number: int) -> Sliced:
    """The plan of a pod in slices."""
    cabling = (inventory / "group_vars" / "cabling.csv").read_text(encoding="utf-8")
    return slice_pod(pods.plan, number, expectations_digest(pods.plan, cabling, collection_version()), collection_version(), PLANNED)


def merged(plan: Path, recheck: bool = False) -> Merged:
    return merge_sliced(read_sliced(plan, recheck), datetime.now(UTC), 60, collection_version(), recheck)
