# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/acceptance.md names checks and expectations that exist."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS

PAGE = Path(__file__).parents[2] / "docs" / "acceptance.md"


def test_every_check_and_expectation_of_the_page_exists() -> None:
    answers = [row.rsplit(" | ", 1)[1] for row in re.findall(r"^\| (?!---)(.*) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)]
    named = {name for answer in answers for name in re.findall(r"`([a-z]+(?:_[a-z]+)+|mfu)`", answer)}
    assert len(named) > 40
    assert named - {check for of_layer in REGISTRY.values() for check in of_layer} - {*DEFAULTS} == set()
