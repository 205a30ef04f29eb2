# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the playbooks that run and the plugins that answer are of one copy of the collection: a controller may have several."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..run.store import ROOT, collection_info, collection_version
from ..text.counting import counted

# What judges a pod.
CODE = ("playbooks", "plugins", "roles")
COMPILED = "__pycache__"


def playbooks_of_another_copy(playbooks: Path, plugins: Path = ROOT) -> str | None:
    """The message where a playbook is of another copy of the collection than its plugins, and their code is not the same; None where all is well.

    playbooks: the directory of the playbook; it may be a project's own. plugins: the collection that answers.
    """
    copy = playbooks.resolve().parent
    if copy == plugins.resolve() or _name(copy) != _name(plugins):
        return None
    one, other = _code(copy), _code(plugins)
    differing = sorted(path for path in {*one, *other} if one.get(path) != other.get(path))
    if not differing:
        return None
    return (
        f"the playbook is of {copy} (version {collection_version(copy)}), but its plugins are of {plugins} (version {collection_version(plugins)}), "
        f"which differs in {counted(len(differing), 'file')}, such as {differing[0]}: start the playbook by its name, gpufabric.pyramid.NAME, to run "
        f"{plugins}; to run {copy}, begin in that directory where it is a clone, after make setup and without ANSIBLE_COLLECTIONS_PATH, and put its "
        "collections directory first in ANSIBLE_COLLECTIONS_PATH where it is installed"
    )


def _name(root: Path) -> tuple[str, str]:
    own = collection_info(root)
    return str(own.get("namespace")), str(own.get("name"))


def _code(root: Path) -> dict[str, bytes]:
    """The digest of each file of a copy's code, by its path in the collection."""
    files = (path for under in CODE for path in (root / under).rglob("*") if path.is_file())
    named = ((path, path.relative_to(root)) for path in files)
    return {str(name): hashlib.sha256(path.read_bytes()).digest() for path, name in named if COMPILED not in name.parts}
