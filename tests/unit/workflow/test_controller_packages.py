# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A package that the controller lacks is named before a run is opened."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.archive import PACKAGES
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.controller_packages import missing_packages

ROOT = Path(__file__).parents[3]


def test_what_cannot_be_imported_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert missing_packages() == []
    for name in PACKAGES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert missing_packages() == list(PACKAGES)


def test_the_packages_are_those_that_are_installed_with_the_collection() -> None:
    wanted = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert all(f"\n{name}" in f"\n{wanted}" for name in PACKAGES)
