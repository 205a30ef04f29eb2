# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a check is documented: on the site of the docs where one is named (``pod_docs_url``), else in the collection that wrote the report."""

from __future__ import annotations

import os
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "checks.md"
SCHEMES = ("https://", "http://")


class CheckLinks:
    """Addresses of checks, for a report in one directory.

    directory: the report's; site: the address of the docs' site, empty where there is none.
    """

    def __init__(self, directory: Path, site: str) -> None:
        self._site = site.rstrip("/") if site.lower().startswith(SCHEMES) else ""
        self._page = f"{self._site}/checks.html" if self._site else os.path.relpath(PAGE, directory.resolve())

    def of(self, check: str) -> str:
        """The address of a check's documentation."""
        # Sphinx writes the names of sections with dashes, and who renders Markdown keeps the underscore.
        return f"{self._page}#{check.replace('_', '-') if self._site else check}"
