# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One verdict of several slices, which fails closed."""

from __future__ import annotations

import copy
import typing as t
from datetime import datetime
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import runs
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import merging

from tests import made_run

NOW = datetime.fromisoformat("2026-06-15T12:30:00Z")


@pytest.fixture
def slices(plan, tmp_path: Path) -> list[dict[str, t.Any]]:
    """Two good slices of one rack each."""
    whole = runs.read_json(made_run.make(tmp_path / "run", plan, [], asked=["preflight", "links"]).run / "report.json")
    found = []
    for mine in plan.groups:
        own = copy.deepcopy(whole)
        own["run_id"] = mine
        for layer in own["layers"]:
            for group, gate in layer["groups"].items():
                gate["gate"] = "out_of_scope" if group != mine else "open" if layer["asked"] else "not_reached"
        found.append(own)
    return found


def gate(report: dict[str, t.Any], layer: int, group: str, state: str) -> None:
    report["layers"][layer]["groups"][group]["gate"] = state


def test_slices_that_are_all_well_are_a_go(slices) -> None:
    merged = merging.merge(slices, NOW, 60)
    assert (merged.verdict, merged.reasons) == ("go", []) and merged.runs == {"rack_01": ["rack_01"], "rack_02": ["rack_02"]}


def test_paths_between_slices_are_nobodys(slices) -> None:
    for one in slices:
        one["layers"][2]["asked"] = True
        gate(one, 2, one["run_id"], "open")
    merged = merging.merge(slices, NOW, 60)
    assert (merged.verdict, merged.reasons) == ("no_fault_seen", ["paths between hosts of different slices were not tested"])


def test_a_missing_slice_is_a_no_go(slices) -> None:
    merged = merging.merge(slices[:1], NOW, 60)
    assert (merged.verdict, merged.reasons) == ("no_go", ["no slice judged rack_02"])
    assert merging.merge([], NOW, 60).verdict == "no_go"


def test_a_group_is_as_bad_as_its_worst_judge(slices) -> None:
    again = copy.deepcopy(slices[0])
    gate(again, 1, "rack_01", "closed")
    assert merging.merge([*slices, again], NOW, 60).reasons == ["rack_01 is closed at links"]
    gate(again, 1, "rack_01", "not_reached")
    assert merging.merge([*slices, again], NOW, 60).reasons == ["rack_01 is not reached at links"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"complete": False}, "has not ended"),
        ({"digest": "other"}, "another digest"),
        ({"digest": None}, "another digest"),
        ({"pod": "other"}, "another pod"),
        ({"version": "9"}, "another version"),
        ({"depth": "quick"}, "another depth"),
        ({"only": "gpu01"}, "judged only gpu01"),
        ({"replayed_from": "x"}, "judged kept evidence"),
        ({"opened": "2026-06-15T11:00:00Z"}, "was opened 90 minutes ago"),
        ({"opened": "2026-06-15T13:00:00Z"}, "was opened -30 minutes ago"),
        ({"quarantined": {"gpu03": {}}}, "gpu03 is quarantined"),
    ],
)
def test_a_slice_that_does_not_fit_is_a_no_go(change: dict[str, t.Any], words: str, slices) -> None:
    slices[1].update(change)
    merged = merging.merge(slices, NOW, 60)
    assert merged.verdict == "no_go" and any(words in reason for reason in merged.reasons), merged.reasons


def test_slices_of_other_layers_do_not_fit(slices) -> None:
    slices[1]["layers"][1]["asked"] = False
    assert merging.merge(slices, NOW, 60).verdict == "no_go"


def test_what_a_depth_left_out_is_not_proved(slices) -> None:
    for one in slices:
        one["depth"] = "quick"
    assert merging.merge(slices, NOW, 60).verdict == "no_fault_seen"
