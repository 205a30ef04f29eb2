# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text of devices made harmless for a reader's eyes: escaping is the renderer's, this is what no escaping takes away."""

from __future__ import annotations

import re
import typing as t

# Control characters but newline and tab, what turns the reading direction round, and halves of characters.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
SHOWN = "\ufffd"


def clean(value: t.Any) -> t.Any:
    """The value with every unseen character of its texts replaced by one that is seen."""
    if isinstance(value, str):
        return UNSEEN.sub(SHOWN, value)
    if isinstance(value, dict):
        return {clean(key): clean(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(one) for one in value]
    return value
