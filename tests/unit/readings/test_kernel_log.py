# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What journalctl is asked for is all that the template knows, and what is logged by drivers is judged by a table."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks._kernel_event_causes import EVENTS, FEW, OF_OTHERS, OVERCOME
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue, parse
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.yaml_text import from_yaml

RECORDED = [
    case
    for case in sorted((Path(__file__).parents[2] / "recordings" / "linux" / "kernel_log").glob("*.txt"))
    if "error" not in from_yaml(case.with_suffix(".yml").read_text(encoding="utf-8"))
]
SOURCES = catalogue()["kernel_log"].platforms["linux"]
WANTED = re.compile(shlex.split(str(SOURCES[0].command))[-1])


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case.stem)
def test_every_line_that_is_a_row_is_asked_for(case: Path) -> None:
    told = parse("kernel_log", "linux", case.read_text(encoding="utf-8"))
    assert [row["text"] for row in told if not WANTED.search(row["text"])] == []


def test_the_tables_name_events_that_there_are() -> None:
    mapped = {event for source in SOURCES for event in source.map["event"].values()}
    assert set(EVENTS) - mapped == set()
    assert (FEW | OF_OTHERS | OVERCOME) - set(EVENTS) == set()
