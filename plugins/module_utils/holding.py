# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arguments that every module has by which a patrol holds nodes of a scheduler."""

from __future__ import annotations

SPEC = {
    "nodes": {"type": "list", "elements": "str", "required": True},
    "state": {"type": "str", "choices": ["looked_at", "held", "renewed", "released"], "default": "looked_at"},
    "job": {"type": "str", "default": ""},
    "minutes": {"type": "int", "default": 60},
}
REQUIRED_IF = [("state", "renewed", ("job",)), ("state", "released", ("job",))]
