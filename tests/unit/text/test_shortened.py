# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A long text keeps both of its ends."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.shortened import LONGEST_LINE, shortened, with_bounded_lines


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", ""),
        ("twenty characters ok", "twenty characters ok"),
        ("twenty-one characters", "twenty-one ... cters"),
        ("misc/shmutils.cc:72 open /dev/shm/nccl-x: No space left", "misc/shmut ...  left".replace("  ", " ")),
    ],
)
def test_a_long_text_keeps_its_beginning_and_its_end(words: str, found: str) -> None:
    assert shortened(words, 20) == found and len(found) <= 20


def test_what_an_error_ends_with_is_kept() -> None:
    line = "NCCL WARN Call to posix_fallocate failed: " + "x" * 300 + ": No space left on device"
    assert shortened(line, 200).startswith("NCCL WARN Call") and shortened(line, 200).endswith("No space left on device")


def test_only_the_longest_lines_lack_their_middle() -> None:
    text = "first\r\n" + "Error: " + "." * LONGEST_LINE + " refused\n" + "last"
    first, long, last = with_bounded_lines(text).splitlines()
    assert (first, last) == ("first", "last")
    assert len(long) == LONGEST_LINE and long.startswith("Error: ...") and long.endswith(". refused")
    assert with_bounded_lines("a" * LONGEST_LINE) == "a" * LONGEST_LINE and with_bounded_lines("") == ""
