# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What got worse between two runs."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import Place, at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.comparison import compare_runs, failing, render_comparison
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import read_json

from tests import made_run

BAD = Finding(at_port("ens0"), "400", "100")


def report(directory: Path, plan: t.Any, *verdicts: t.Any) -> dict[str, t.Any]:
    return read_json(made_run.make(directory, plan, verdicts).run / "report.json")


def test_the_lowest_layer_that_got_worse_comes_first(plan, tmp_path: Path) -> None:
    layers = (("links", "port_speed"), ("routing", "path_mtu"))
    good = report(tmp_path / "good", plan, *(made_run.verdict(plan, layer, check, "gpu01") for layer, check in layers))
    bad = report(tmp_path / "bad", plan, *(made_run.verdict(plan, layer, check, "gpu01", BAD) for layer, check in layers))
    result = compare_runs(good, bad)
    assert result.first == "links" and [one.layer for one in result.worse] == ["links", "routing"]
    assert ("links", "rack_01", "open", "closed") in result.gates and not result.better
    back = compare_runs(bad, good)
    assert back.first is None and back.better == [("links", "port_speed", ["gpu01"]), ("routing", "path_mtu", ["gpu01"])]
    assert "The lowest layer that got worse is links" in render_comparison(good, bad, result)


def test_what_stays_bad_is_not_new(plan, tmp_path: Path) -> None:
    one, other = (report(tmp_path / name, plan, made_run.verdict(plan, "links", "port_speed", "gpu01", BAD)) for name in ("one", "other"))
    result = compare_runs(one, other)
    assert (result.worse, result.better, result.gates, result.unjudged) == ([], [], [], [])


def test_silence_is_not_an_improvement(plan, tmp_path: Path) -> None:
    bad = report(tmp_path / "bad", plan, made_run.verdict(plan, "links", "port_speed", "gpu01", BAD))
    mute = report(tmp_path / "mute", plan)
    result = compare_runs(bad, mute)
    assert result.better == [] and result.unjudged == [("links", "port_speed", ["gpu01"])]
    assert "Not evaluated any more\n  links/port_speed on gpu01" in render_comparison(bad, mute, result)


def test_numbers_and_device_text_are_printed_plainly(plan, tmp_path: Path) -> None:
    calm = report(tmp_path / "calm", plan)
    result = compare_runs(calm, calm, [Finding(Place("light of gpu01"), "about 1 dBm", "\x1b[2J-4 dBm")])
    text = render_comparison(calm, calm, result)
    assert "light of gpu01: \ufffd[2J-4 dBm; expected about 1 dBm" in text and "\x1b" not in text


def test_another_place_of_a_check_that_failed_before_is_new(plan, tmp_path: Path) -> None:
    other = Finding(at_port("ens1"), "400", "100")
    one = report(tmp_path / "one", plan, made_run.verdict(plan, "links", "port_speed", "gpu01", BAD))
    two = report(tmp_path / "two", plan, made_run.verdict(plan, "links", "port_speed", "gpu01", BAD, other))
    result = compare_runs(one, two)
    assert result.new_fails == [("links", "port_speed", ["gpu01"])] and [entry.places for entry in result.worse] == [[("gpu01", "ens1")]]
    assert failing(result, two, "new_fail") == ["links/port_speed fails on gpu01"]
    assert failing(result, two, "nothing") == []
    assert failing(compare_runs(two, one), one, "new_fail") == []


def test_what_cannot_be_reported_any_more_fails_where_that_is_asked_for(plan, tmp_path: Path) -> None:
    well = report(tmp_path / "well", plan, made_run.verdict(plan, "links", "port_speed", "gpu01"), made_run.verdict(plan, "links", "crc_clean", "gpu01"))
    mute = report(tmp_path / "mute", plan, made_run.verdict(plan, "links", "port_speed", "gpu01", Finding(at_port("ens0"), "400", "nothing", "unknown")))
    result = compare_runs(well, mute)
    assert failing(result, mute, "new_fail") == []
    assert failing(result, mute, "new_unknown") == ["links/port_speed is unknown on gpu01", "links/crc_clean is not evaluated any more on gpu01"]


def test_a_run_that_has_not_ended_cannot_tell_that_nothing_failed(plan, tmp_path: Path) -> None:
    well = report(tmp_path / "well", plan)
    assert failing(compare_runs(well, well), {**well, "complete": False}, "new_fail") == ["run well has not ended"]
