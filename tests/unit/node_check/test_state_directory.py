# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check keeps for the next one, and that one runs at a time."""

from __future__ import annotations

import json
import stat
import threading
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.types import Envelope
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check import state_directory
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.node_plan import NodePlan, load_node_plan, node_plan_text
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess

ID = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def mine(pods: inprocess.Pods) -> NodePlan:
    return load_node_plan(node_plan_text(pods.plan, "gpu03", ID, "1.2.3", (), "mlx5_core"), ID)


def read_at(seconds: float, boot: str = "a") -> Envelope:
    """What a host answered at some time."""
    return t.cast("Envelope", {"answered": True, "words": "", "boot_id": boot, "uptime_seconds": seconds, "asked_at": seconds, "readings": {}})


@pytest.mark.parametrize(("seconds", "taken"), [(29, False), (30, True), (300, True), (3600, True), (3601, False), (-5, False)])
def test_a_reading_is_an_earlier_one_for_an_hour(tmp_path: Path, mine: NodePlan, seconds: float, taken: bool) -> None:
    state_directory.keep(tmp_path, mine, read_at(1000))
    assert state_directory.earlier(tmp_path, mine, read_at(1000 + seconds)) == (read_at(1000) if taken else None)


def test_a_reading_of_another_boot_or_plan_says_nothing(tmp_path: Path, mine: NodePlan, pods: inprocess.Pods) -> None:
    state_directory.keep(tmp_path, mine, read_at(1000))
    assert state_directory.earlier(tmp_path, mine, read_at(1100, boot="b")) is None
    other = load_node_plan(node_plan_text(pods.plan, "gpu03", ID, "1.2.4", (), "mlx5_core"), ID)
    assert state_directory.earlier(tmp_path, other, read_at(1100)) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"digest": 1, "envelope": null}', '{"envelope": {"asked_at": "x"}}'])
def test_a_damaged_reading_is_none_and_is_replaced(tmp_path: Path, mine: NodePlan, text: str) -> None:
    (tmp_path / state_directory.NAME).write_text(text, encoding="utf-8")
    assert state_directory.earlier(tmp_path, mine, read_at(1100)) is None
    state_directory.keep(tmp_path, mine, read_at(1100))
    assert json.loads((tmp_path / state_directory.NAME).read_text(encoding="utf-8"))["envelope"]["asked_at"] == 1100


def test_checks_that_follow_each_other_closely_still_see_growth(tmp_path: Path, mine: NodePlan) -> None:
    for seconds in range(1000, 1040, 10):
        state_directory.keep(tmp_path, mine, read_at(seconds))
    assert state_directory.earlier(tmp_path, mine, read_at(1060)) == read_at(1030)


def test_what_is_kept_is_private(tmp_path: Path, mine: NodePlan) -> None:
    with state_directory.alone(tmp_path / "state"):
        state_directory.keep(tmp_path / "state", mine, read_at(1000))
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "state" / state_directory.NAME).stat().st_mode) == 0o600


def test_one_check_runs_at_a_time(tmp_path: Path) -> None:
    with (
        state_directory.alone(tmp_path),
        pytest.raises(state_directory.Busy, match="another node check is running on this host"),
        state_directory.alone(tmp_path),
    ):
        pytest.fail("two have the lock")
    with state_directory.alone(tmp_path):
        pass


def test_another_check_is_awaited(tmp_path: Path) -> None:
    held, ended = threading.Event(), threading.Event()

    def hold() -> None:
        with state_directory.alone(tmp_path):
            held.set()
            ended.wait(30)

    other = threading.Thread(target=hold)
    other.start()
    assert held.wait(30)
    threading.Timer(0.2, ended.set).start()
    with state_directory.alone(tmp_path, 30):
        assert ended.is_set()
    other.join()
