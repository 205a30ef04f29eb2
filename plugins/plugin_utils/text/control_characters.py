# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text from outside (devices, wiring plans, inventories, kept runs) without what acts on its reader's terminal or eyes.

All of it passes here: verdicts and findings where they become records of the report, the rest of the report where it is built, and
results, refusals and lines of tasks in ``workflow/action_base.py`` and ``workflow/console.py``. Escaping for Markdown, HTML, XML and
Prometheus is the renderers'.
"""

from __future__ import annotations

import re
import typing as t

# Control characters but newline and tab, what turns the reading direction round, and halves of characters.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
SHOWN = "\ufffd"
# With which programs colour what they print.
ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[=>])")
# ssh and the consoles of switches end lines so; a line that one of these ends shows nothing else than it has.
RETURNS = re.compile(r"\r+(?=\n|\Z)")


def visible(value: t.Any) -> t.Any:
    """The value with every unseen character of its texts replaced by one that is seen, and lines ended as Unix does."""
    if isinstance(value, str):
        # Nearly all texts are letters, digits and signs of ASCII, which takes no search to see.
        return value if value.isascii() and value.isprintable() else UNSEEN.sub(SHOWN, RETURNS.sub("", value))
    if isinstance(value, dict):
        return {visible(key): visible(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [visible(one) for one in value]
    return value


def printable(text: t.Any) -> str:
    """Text on one line: a line of its own could pass for one of ours."""
    return str(visible(str(text))).replace("\n", " ").replace("\t", " ")
