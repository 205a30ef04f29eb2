# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter, as a template of a play uses it."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.gpufabric.pyramid.plugins.filter.rail_rounds import FilterModule

rail_rounds = FilterModule().filters()["rail_rounds"]


def test_rounds_are_lists_that_a_playbook_can_loop_over():
    rails = [{"host": host, "index": 0, "leaf": "leaf01", "extra": 1} for host in ("gpu01", "gpu02", "gpu03")]
    rounds = rail_rounds(rails, pairing="exhaustive")
    assert len(rounds) == 3 and all(len(one) == 1 for one in rounds)
    assert {rail["host"] for one in rounds for pair in one for rail in pair} == {"gpu01", "gpu02", "gpu03"}
    assert all(rail["extra"] == 1 for one in rounds for pair in one for rail in pair)


@pytest.mark.parametrize(("rails", "words"), [([{"host": "gpu01"}], "a rail lacks 'index'"), ([1], "rail_rounds: ")])
def test_what_is_no_rail_is_refused(rails, words):
    with pytest.raises(AnsibleFilterError, match=words):
        rail_rounds(rails)
