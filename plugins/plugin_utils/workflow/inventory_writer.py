# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of an inventory that were drafted or imported, written where they are other than before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..run.files import write_private


def write_changed(into: Path, texts: Mapping[str, str], check_mode: bool) -> list[dict[str, str]]:
    """Write each text that is not what its file has, unless in check mode; returns the differences as Ansible shows them."""
    changed = []
    for name, text in texts.items():
        path = into / name
        old = path.read_text(encoding="utf-8") if path.is_file() else ""
        if old != text:
            changed.append({"before": old, "after": text, "before_header": str(path), "after_header": str(path)})
            if not check_mode:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_private(path, text)
    return changed
