# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the program of ``container_image`` prints on a host."""

from __future__ import annotations

import json
import typing as t

from ..model import Host

IDENTITY = {"id": f"sha256:{'4f' * 32}", "digests": [f"sha256:{'8a' * 32}"], "variables": []}


def container_image(host: Host, asked: t.Mapping[str, t.Any]) -> str:
    """One row; host.container: what is not as it should be.

    asked: the expectations of its command.
    """
    row: dict[str, t.Any] = {"runtime": asked["pod_container_runtime"], "state": "ok", "version": "28.3.3", "words": "", "present": True} | host.container
    if row["state"] == "ok" and (row["present"] or "id" in row):
        row = {**IDENTITY, **row}
    if row["state"] == "ok" and row["present"]:
        row = {"start": "ok", **row}
    if row.get("start") == "ok":
        found = {"gpus": len(host.gpus), "rdma": len(host.rails), "memlock": "unlimited", "torch": "2.9.0a0+145a3a7bda.nv25.10", "library": "nccl"}
        row = {**found, "nccl": ["2.28.9"], "nccl_tests": True if asked["pod_nccl_tests_dir"] else None, **row}
    return json.dumps({"rows": [row if row["state"] == "ok" else {**row, "version": None, "present": None}]}) + "\n"
