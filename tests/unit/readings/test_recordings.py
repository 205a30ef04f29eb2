# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every recording says what its parse must give; every template has a recording."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import ParseError, catalogue, parse
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.catalogue import HERE
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.parsing import parse_source
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.yaml_text import from_yaml

RECORDINGS = Path(__file__).parents[2] / "recordings"
CASES = sorted(RECORDINGS.glob("*/*/*.txt"))


def recorded(case: Path) -> tuple[str, str]:
    return case.parent.name, case.parent.parent.name


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.relative_to(RECORDINGS)))
def test_recording_gives_its_rows(case: Path) -> None:
    name, platform = recorded(case)
    expected = from_yaml(case.with_suffix(".yml").read_text(encoding="utf-8"))
    text = case.read_text(encoding="utf-8")
    if "error" in expected:
        with pytest.raises(ParseError) as caught:
            parse(name, platform, text)
        assert expected["error"] in str(caught.value)
        if "rows" in expected:
            assert [shown(row) for row in caught.value.rows] == expected["rows"]
    else:
        # A recording may leave out the columns that are None.
        assert [shown(row) for row in parse(name, platform, text)] == expected["rows"]


def shown(row: dict) -> dict:
    return {column: value for column, value in row.items() if value is not None}


def _sources() -> list[tuple[str, str, int]]:
    return [
        (name, platform, number) for name, reading in catalogue().items() for platform, sources in reading.platforms.items() for number in range(len(sources))
    ]


@pytest.mark.parametrize(("name", "platform", "number"), _sources())
def test_every_source_has_a_recording_that_it_parses_itself(name: str, platform: str, number: int) -> None:
    what = catalogue()[name]
    source = what.platforms[platform][number]
    parsed = []
    for case in sorted((RECORDINGS / platform / name).glob("*.txt")):
        try:
            parsed.append(parse_source(what, platform, source, case.read_text(encoding="utf-8")))
        except ParseError:
            continue
    assert any(parsed), f"no recording in tests/recordings/{platform}/{name} gives rows by {source.template or source.jmespath}"


def test_every_template_is_used() -> None:
    used = {source.template for what in catalogue().values() for sources in what.platforms.values() for source in sources}
    assert {path.stem for path in (HERE / "templates").glob("*.textfsm")} == used - {None}


NO_DEVICE = re.compile(r"not from a device")


def test_what_was_not_seen_on_a_device_says_so_to_its_readers() -> None:
    for path in sorted((HERE / "definitions").glob("*.yml")):
        stated = [source.basis for sources in catalogue()[path.stem].platforms.values() for source in sources if source.basis]
        assert len(stated) >= len(NO_DEVICE.findall(path.read_text(encoding="utf-8"))), path.stem
