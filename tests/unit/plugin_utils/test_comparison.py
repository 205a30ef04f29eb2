# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What got worse between two runs."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import runs
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import comparison

from tests import made_run

BAD = Finding("ens0", "400", "100")


def report(directory: Path, plan: t.Any, *verdicts: t.Any) -> dict[str, t.Any]:
    return runs.read_json(made_run.make(directory, plan, verdicts).run / "report.json")


def test_the_lowest_layer_that_got_worse_comes_first(plan, tmp_path: Path) -> None:
    layers = (("links", "port_speed"), ("routing", "path_mtu"))
    good = report(tmp_path / "good", plan, *(made_run.verdict(plan, layer, check, "gpu01") for layer, check in layers))
    bad = report(tmp_path / "bad", plan, *(made_run.verdict(plan, layer, check, "gpu01", BAD) for layer, check in layers))
    told = comparison.compare(good, bad)
    assert told.first == "links" and [one.layer for one in told.worse] == ["links", "routing"]
    assert ("links", "rack_01", "open", "closed") in told.gates and not told.better
    back = comparison.compare(bad, good)
    assert back.first is None and back.better == [("links", "port_speed", ["gpu01"]), ("routing", "path_mtu", ["gpu01"])]
    assert "What got worse begins in layer links" in comparison.render(good, bad, told)


def test_what_stays_bad_is_not_new(plan, tmp_path: Path) -> None:
    one, other = (report(tmp_path / name, plan, made_run.verdict(plan, "links", "port_speed", "gpu01", BAD)) for name in ("one", "other"))
    told = comparison.compare(one, other)
    assert (told.worse, told.better, told.gates, told.unjudged) == ([], [], [], [])


def test_silence_is_not_an_improvement(plan, tmp_path: Path) -> None:
    bad = report(tmp_path / "bad", plan, made_run.verdict(plan, "links", "port_speed", "gpu01", BAD))
    mute = report(tmp_path / "mute", plan)
    told = comparison.compare(bad, mute)
    assert told.better == [] and told.unjudged == [("links", "port_speed", ["gpu01"])]
    assert "Not judged any more\n  links/port_speed on gpu01" in comparison.render(bad, mute, told)


def test_numbers_and_device_text_are_printed_plainly(plan, tmp_path: Path) -> None:
    calm = report(tmp_path / "calm", plan)
    told = comparison.compare(calm, calm, [Finding("light of gpu01", "about 1 dBm", "\x1b[2J-4 dBm")])
    text = comparison.render(calm, calm, told)
    assert "light of gpu01: ?[2J-4 dBm; expected about 1 dBm" in text and "\x1b" not in text
