# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The docs as a site, and links that lead somewhere."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


@pytest.mark.exhaustive
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    done = subprocess.run([sys.executable, "docs/site/build.py", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    html = tmp_path / "html"
    assert "First validation of a RoCE pod" in (html / "index.html").read_text() and (html / "collections" / "open_run_module.html").is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for name, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name} links to {name}"
        if anchor:
            text = target.read_text(encoding="utf-8")
            headings = {re.sub(r"[^\w-]", "", line.lstrip("# ").strip().lower().replace(" ", "-")) for line in text.splitlines() if line.startswith("#")}
            assert anchor in headings or f'id="{anchor}"' in text, f"{page.name} links to {name}#{anchor}"


def test_a_page_is_in_one_kind_of_documentation() -> None:
    kinds = runpy.run_path(str(ROOT / "docs" / "site" / "build.py"))["KINDS"]
    listed = [page for pages in kinds.values() for page in pages if not page.startswith("collections/")]
    assert len(set(listed)) == len(listed) and set(listed) <= {path.stem for path in (ROOT / "docs").glob("*.md")}


def test_the_recording_shows_a_no_go_and_a_go_and_nothing_of_the_machine() -> None:
    text = (ROOT / "docs" / "validate.svg").read_text(encoding="utf-8")
    assert len(text) < 500_000 and text.index(">NO-GO") < text.rindex(">GO<")
    assert "port_speed" in text and not re.search(r"/(?:tmp|root|home|work)/", text)
