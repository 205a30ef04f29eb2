# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the docs site: the pages of docs/, and every plugin and role from its own documentation.

``python docs/site/build.py DIRECTORY`` writes DIRECTORY/html; a warning of Sphinx is an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
# Each page in one of the four kinds of documentation, in the order of the site: to learn, to do, to look up, to understand. A page that is in none is to do.
TO_DO = "How-to guides"
KINDS = {
    "Tutorial": ("first_pod_roce",),
    TO_DO: (
        "imports", "infiniband", "nvl72", "failover", "telemetry", "continuous", "history", "remediation", "awx", "containers", "kubernetes", "troubleshooting",
        "how_to_add",
    ),
    "Reference": ("report", "checks", "readings", "expectations", "privileges", "acceptance", "addressing", "collections/index"),
    "Explanation": ("live_traffic", "security", "scale"),
}  # fmt: skip


def main() -> int:
    """The exit status of Sphinx."""
    into = Path(sys.argv[1])
    source = into / "source"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    source.chmod(0o755)
    for page in (
        *DOCS.glob("*.md"),
        DOCS / "report.png",
        DOCS / "validate.svg",
        *(DOCS / "site" / name for name in ("conf.py", "site.css", "ansible_terms.rst")),
    ):
        shutil.copy(page, source)
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    rest = sorted({page.stem for page in DOCS.glob("*.md")} - {page for pages in KINDS.values() for page in pages})
    kinds = {kind: [*pages, *(rest if kind == TO_DO else ())] for kind, pages in KINDS.items()}
    trees = "".join(f"\n```{{toctree}}\n:hidden:\n:caption: {kind}\n\n" + "\n".join(pages) + "\n```\n" for kind, pages in kinds.items())
    (source / "index.md").write_text(readme + trees, encoding="utf-8")
    generate = ["antsibull-docs", "collection", "--use-current", "--squash-hierarchy", "--fail-on-error", "--dest-dir", "collections", "gpufabric.pyramid"]
    (source / "collections").mkdir(mode=0o755)
    # It starts ansible by name.
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
    subprocess.run([BIN / generate[0], *generate[1:]], cwd=source, env=environment, check=True)
    return subprocess.run([BIN / "sphinx-build", "-q", "-W", "--keep-going", "-b", "html", source, into / "html"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
