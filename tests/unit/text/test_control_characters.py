# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nobody sees of a text from outside is shown, but for the returns that end lines of ssh and of consoles."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.control_characters import visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("port 22: No route to host\r\n", "port 22: No route to host\n"), ("port 22: No route to host\r", "port 22: No route to host"),
        ("one\r\r\ntwo", "one\ntwo"), ("a fail\rGO", "a fail\ufffdGO"), ("leaf01\x00\r", "leaf01\ufffd"),
    ],
)  # fmt: skip
def test_a_return_is_shown_only_where_something_follows_it_on_its_line(text: str, seen: str) -> None:
    assert visible({"msg": [text]}) == {"msg": [seen]}
