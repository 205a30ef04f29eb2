# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CONTRIBUTING.md, README.md and docs/how_to_add.md describe the tree as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .test_layout import ORDER

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
QUOTED_PATH = re.compile(r"`((?:plugins|roles|playbooks|tests|docs|changelogs)/[\w./-]*)`")


def table(heading: str) -> list[list[str]]:
    """The cells of each row of the first table below a heading."""
    rows = re.findall(r"^\| (.*) \|$", CONTRIBUTING.partition(f"# {heading}\n")[2].partition("\n#")[0], flags=re.MULTILINE)
    return [row.split(" | ") for row in rows[2:]]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/how_to_add.md"])
def test_every_quoted_path_exists(page: str) -> None:
    quoted = QUOTED_PATH.findall((ROOT / page).read_text(encoding="utf-8"))
    assert len(quoted) > 4
    assert [path for path in quoted if not (ROOT / path).exists()] == []


def test_the_packages_are_listed_in_the_order_of_their_imports() -> None:
    listed = [tuple(re.findall(r"`(\w+)`", row[0])) for row in table("Packages of plugins/plugin_utils")]
    assert listed == list(ORDER)


def test_the_glossary_is_short_and_has_each_term_once() -> None:
    terms = [row[0] for row in table("Glossary")]
    assert 20 <= len(terms) <= 30
    assert terms == sorted(set(terms))


def test_the_readme_names_every_module() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    modules = [path.stem for path in sorted((ROOT / "plugins/modules").glob("[!_]*.py"))]
    assert len(modules) > 30
    assert [name for name in modules if f"`{name}`" not in text] == []
