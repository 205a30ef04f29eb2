# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that vanish, hang, babble, are cut short or run out of what they need, and a run that is killed or has no room left: a few of many seeds.

``make chaos`` runs a hundred.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.chaos import befalling, processes
from ansible_collections.gpufabric.pyramid.tests.chaos.climbing import Seed, seed, withstand


def test_the_seeds_have_every_trouble() -> None:
    made = [seed(number) for number in range(100)]
    assert {one["how"] for each in made for own in each.troubles.values() for one in own} == set(befalling.HOW)
    assert {each.signal.name for each in made if each.killed_at is not None} == {"SIGKILL", "SIGTERM", "SIGINT"}
    assert str(seed(7)) == str(seed(7))


def test_nodes_that_fail_in_several_ways(tmp_path: Path) -> None:
    hows = {"gpu01": "runs_out", "gpu04": "is_full", "leaf03": "is_cut", "spine02": "drops"}
    troubles = {node: [{"at": 2, "how": how, "once": False, "number": 1}] for node, how in hows.items()}
    assert withstand(Seed(0, troubles), tmp_path) == []


def test_a_killed_run_and_the_one_that_takes_it_up(tmp_path: Path) -> None:
    assert withstand(Seed(0, killed_at=40), tmp_path) == []


def test_a_run_without_room_and_the_one_that_has_it_again(tmp_path: Path) -> None:
    if not processes.may_mount():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("only root can make a small disk")
    assert withstand(Seed(0, megabytes=1.0), tmp_path) == []
