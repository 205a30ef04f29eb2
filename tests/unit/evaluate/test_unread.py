# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reading whose command failed with an error that no table knows: whose it is follows from which nodes have it."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.unread import ToolErrors, lost_of_rails

from ..conftest import small_plan

LINE = "qux: cannot frob 0000:9d:00.0: Operation not permitted"


def nodes(**lines: str | None) -> dict[str, t.Any]:
    """The responses of nodes by what their command failed with; None where it answered."""
    blank = {"words": "", "rows": [], "lost": {}, "evidence": None, "unparsed": False}
    readings = {node: {"ibstat": {**blank, "status": "unknown" if line else "ok", "error": line or ""}} for node, line in lines.items()}
    return {node: {"answered": True, "words": "", "boot_id": "1", "uptime_seconds": 1.0, "readings": own} for node, own in readings.items()}


def marks(node: str, **lines: str | None) -> dict[str, t.Any]:
    return ToolErrors(small_plan()).marks_of(nodes(**lines), node, "ibstat", f"ibstat exited with status 1: {lines[node]}")


@pytest.mark.parametrize(
    ("others", "begins"),
    [
        ({"gpu02": None, "gpu03": None}, "gpu01 alone has this error, and of the 3 nodes that are asked alike others answer"),
        ({"gpu02": LINE.replace("9d", "1c"), "gpu03": LINE}, "All 3 nodes that are asked alike have this error, so it is what they share"),
        ({"gpu02": LINE, "gpu03": None}, "2 of 3 nodes that are asked alike have this error"),
        # A switch is asked by other commands, and a host alone shows nothing.
        ({"leaf01": None, "spine01": LINE}, "It names the PCI address 0000:9d:00.0. The process lacks a privilege for what the line names (EPERM)"),
        ({}, "It names the PCI address 0000:9d:00.0. The process lacks a privilege for what the line names (EPERM)"),
        # Another error, and no answer that shows that the command works anywhere.
        ({"gpu02": "qux: no such thing"}, "It names the PCI address 0000:9d:00.0. The process lacks a privilege for what the line names (EPERM)"),
    ],
)
def test_which_nodes_have_an_error_decides_whose_it_is(others: dict[str, str | None], begins: str) -> None:
    found = marks("gpu01", gpu01=LINE, **others)
    assert found["cause"].startswith(begins) and "EPERM" in found["cause"]
    assert found["fix"].startswith(f"Begin with this line: {LINE}. ") and found["judged"]


def test_a_tool_of_the_system_is_no_rank_of_a_job() -> None:
    """Its line may have a word that the errors of ranks are told apart by."""
    found = marks("gpu01", gpu01="qux: Connection to the socket of quxd failed: Host is down")
    assert "ranks" not in found["cause"] and "NCCL" not in found["fix"] and "EHOSTDOWN" in found["cause"]
    bus = marks("gpu01", gpu01="Failed to connect to bus: Host is down")
    assert "booted with" in bus["cause"] and "EHOSTDOWN" not in bus["cause"]


def test_a_line_of_a_tool_cannot_pass_for_one_of_the_report() -> None:
    fix = marks("gpu01", gpu01="\x1b[2Jfrob\nGO" + "x" * 5000)["fix"]
    assert "\x1b" not in fix and "\n" not in fix and len(fix) < 500


def test_what_a_table_knows_and_what_a_load_lacks_keep_their_own_words() -> None:
    known = "Failed to initialize NVML: Driver/library version mismatch"
    assert "upgrade" in marks("gpu01", gpu01=known, gpu02=None)["cause"]
    load = {"gpu01": {**nodes(gpu01=LINE)["gpu01"], "readings": {"write_bw": {"status": "unknown", "words": LINE, "error": LINE}}}}
    assert "Begin with this line" not in ToolErrors(small_plan()).marks_of(load, "gpu01", "write_bw", LINE)["fix"]
    assert marks("gpu01", gpu01="") == {}


@pytest.mark.parametrize(
    ("lost", "on"),
    [
        ({"ens1": "ethtool exited with status 71"}, [("ens1", None, "ens1")]),
        ({"mlx5_1": "lspci exited with status 1"}, [("mlx5_1", "mlx5_1", None)]),
        # The tool itself, all rails, and what is no rail of the plan.
        ({"": "ethtool: not found"}, []),
        ({"ens0": "ethtool: not found", "ens1": "ethtool: not found"}, []),
        ({"ens7": "ethtool exited with status 71"}, []),
        ({}, []),
    ],
)
def test_a_reading_that_is_missing_of_one_rail_is_a_finding_there(lost: dict[str, str], on: list[tuple[str, str | None, str | None]]) -> None:
    reading: t.Any = {"status": "unknown", "words": "", "rows": [], "lost": lost, "evidence": None, "unparsed": False}
    found = lost_of_rails(small_plan(), "gpu01", reading, {"cause": "A cause.", "fix": None, "judged": True})
    assert [(one.where.text, one.where.device, one.where.port) for one in found] == on
    assert all(one.unread and one.severity == "unknown" and one.cause == "A cause." and one.actual in lost.values() for one in found)
    assert lost_of_rails(small_plan(), "gpu01", None, {}) == []
