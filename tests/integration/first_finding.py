# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fault of layer 2 comes to: one finding, which the gates name first, and others that follow from it alone."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Pod


def must_be_first(where: tuple[str, str, str], got: str, cause: str, pods: inprocess.Pods, pod: Pod, into: Path) -> None:
    """The finding at a place (check, node and place) reports this and has this in its cause, and a climb ends with it at layer 2."""
    found = inprocess.findings_by_place(pods.plan, pod, "routing")
    assert found[where][0] == got and cause in found[where][1], found
    report = pods.climb(pod, into, pod_to_layer="routing")
    assert report["verdict"] == "no_go" and report["up_to_layer"] == "links"
    # The gates name this finding first, and every other one follows from it.
    assert all(f"{where[0]} on {where[1]}" in reason for reason in report["reasons"]), report["reasons"]
    others = [(one["check"], its) for one in report["verdicts"] for its in one["findings"] if one["layer"] == "routing" and one["verdict"] != "skip"]
    assert [(check, its["host"], its["where"]) for check, its in others if check != where[0] and not its.get("follows")] == []
