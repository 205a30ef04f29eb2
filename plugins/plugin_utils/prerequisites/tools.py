# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the programs come from that readings and loads start, loaded from tools.yml."""

from __future__ import annotations

import functools
import typing as t
from dataclasses import dataclass
from pathlib import Path

from ..text.schema import Each, shape_error
from ..text.yaml_text import from_yaml

FILE = Path(__file__).with_name("tools.yml")
TORCH = "torch"


@dataclass(frozen=True)
class Tool:
    """One program, or torch.

    debian, rhel: the distribution's package, empty where it has none; source: what else brings it; root: what of it needs root, and whose it may be else.
    """

    debian: str = ""
    rhel: str = ""
    source: str = ""
    root: str = ""

    @property
    def packages(self) -> str:
        """The packages in words: ``Debian: lldpd, RHEL: lldpd (EPEL)``."""
        named = (("Debian", self.debian), ("RHEL", self.rhel), ("", self.source))
        return ", ".join(f"{where}: {what}" if where else what for where, what in named if what)


@functools.cache
def tools() -> t.Mapping[str, Tool]:
    """Every tool by name.

    Raises ValueError where the file is not of its form.
    """
    raw = from_yaml(FILE.read_text(encoding="utf-8"))
    if wrong := shape_error(raw, Each(Each(str, dict), dict)):
        raise ValueError(f"{FILE.name}: {wrong}")
    return {name: Tool(one.get("debian", ""), one.get("rhel", ""), one.get("from", ""), one.get("root", "")) for name, one in raw.items()}
