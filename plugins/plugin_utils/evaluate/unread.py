# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cause and fix of a reading that is missing, where more is known than that it is."""

from __future__ import annotations

import typing as t

from ..checks import NotMeasured
from ..collect.tool_errors import known_tool_error
from ..readings import catalogue


def marks_of(name: str, words: str) -> dict[str, t.Any]:
    """What a verdict without a reading says besides its words: cause and fix of its tool's message, or those of a load without a result."""
    if known := known_tool_error(words):
        return {"cause": known.cause, "fix": known.fix, "judged": True}
    return dict(NotMeasured.MARKS) if catalogue()[name].load else {}
