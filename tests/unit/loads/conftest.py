# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads of simulated hosts print the same texts in each test: one that has been parsed is not parsed again."""

from __future__ import annotations

import functools
import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect import responses
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import Reading
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.catalogue import Source

Row = dict[str, t.Any]
_parse_source = responses.parse_source


class _SameObject(t.NamedTuple):
    """A reading and a source of the catalogue, of which a process has one each."""

    reading: Reading
    source: Source

    def __hash__(self) -> int:
        return hash((id(self.reading), id(self.source)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameObject) and self.reading is other.reading and self.source is other.source


@functools.lru_cache(maxsize=3000)
def _parsed(by: _SameObject, platform: str, text: str, item: str | None) -> list[Row]:
    return _parse_source(by.reading, platform, by.source, text, item)


def _copied(what: Reading, platform: str, source: Source, stdout: str, item: str | None = None) -> list[Row]:
    return [dict(row) for row in _parsed(_SameObject(what, source), platform, stdout, item)]


@pytest.fixture(autouse=True)
def parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse each text once a process; a text that is refused is refused anew each time."""
    monkeypatch.setattr(responses, "parse_source", _copied)
