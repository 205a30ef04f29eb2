# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks and plugins of two copies of the collection judge nothing together, unless the copies are the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.playbooks_of_another_copy import playbooks_of_another_copy

COMPILED = "plugins/lookup/__pycache__/whole_run.pyc"
FILES = {"playbooks/validate.yml": "[]\n", "plugins/lookup/whole_run.py": "one\n", COMPILED: "compiled", "roles/a/b.yml": "[]\n"}
INFO = {"namespace": "gpufabric", "name": "pyramid", "version": "0.4.0"}


def copy(root: Path, files: dict[str, str], installed: bool = False) -> Path:
    """A copy of the collection: a clone, or as it is installed."""
    own = {"MANIFEST.json": json.dumps({"collection_info": INFO})} if installed else {"galaxy.yml": json.dumps(INFO)}
    for name, text in {**files, **own}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize("changed", ["playbooks/validate.yml", "plugins/lookup/whole_run.py", "roles/a/b.yml", "plugins/more.py"])
def test_other_code_is_refused_with_both_places_and_a_way_out(tmp_path: Path, changed: str) -> None:
    clone, installed = copy(tmp_path / "clone", FILES), copy(tmp_path / "installed", {**FILES, changed: "other\n"}, installed=True)
    words = playbooks_of_another_copy(clone / "playbooks", installed)
    assert words is not None and f"of {clone} (version 0.4.0)" in words and f"of {installed} (version 0.4.0)" in words
    assert f"differs in 1 file, such as {changed}:" in words and "gpufabric.pyramid.NAME" in words


def test_the_same_code_in_two_places_is_one(tmp_path: Path) -> None:
    compiled = {**FILES, COMPILED: "compiled by another Python"}
    clone, installed = copy(tmp_path / "clone", FILES), copy(tmp_path / "installed", compiled, installed=True)
    assert playbooks_of_another_copy(clone / "playbooks", installed) is None


def test_a_link_to_the_copy_is_the_copy(tmp_path: Path) -> None:
    clone = copy(tmp_path / "clone", FILES)
    (tmp_path / "linked").symlink_to(clone)
    assert playbooks_of_another_copy(clone / "playbooks", tmp_path / "linked") is None
    assert playbooks_of_another_copy(tmp_path / "linked/playbooks", clone) is None


def test_a_project_that_imports_the_playbooks_is_no_copy(tmp_path: Path) -> None:
    installed = copy(tmp_path / "installed", FILES, installed=True)
    (tmp_path / "fabric/playbooks").mkdir(parents=True)
    assert playbooks_of_another_copy(tmp_path / "fabric/playbooks", installed) is None
    (tmp_path / "fabric/galaxy.yml").write_text("namespace: site\nname: fabric\nversion: 1.0.0\n", encoding="utf-8")
    assert playbooks_of_another_copy(tmp_path / "fabric/playbooks", installed) is None
