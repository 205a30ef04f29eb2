# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image of the Soft-RoCE machines, built beside other tests: those that boot it run alone, and find it made."""

from __future__ import annotations

from ansible_collections.gpufabric.pyramid.tests.labs.softroce import image, keeper
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out


def test_an_image_is_built_once_with_all_that_a_machine_boots_from() -> None:
    if (words := keeper.lacking()) is not None:
        leave_out(words)
    made = image.image()
    assert {path.name for path in made.iterdir() if path.stat().st_size} == {"disk", "host_key", "host_key.pub", "initrd", "key", "key.pub", "vmlinuz"}
    before = (made / "disk").stat().st_mtime_ns
    assert image.image() == made and (made / "disk").stat().st_mtime_ns == before
