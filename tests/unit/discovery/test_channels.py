# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The port-channels of a draft: those that both ends report, and what is said of one at a single end."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.channels import channels_of

CABLE = (("leaf01", "Ethernet1"), ("spine01", "Ethernet9"))
NEAR: dict[str, list[dict[str, t.Any]]] = {"port_channels": [{"channel": "Port-Channel1", "member": "Ethernet1"}]}


@pytest.mark.parametrize(
    ("far", "words"),
    [
        ({"port_channels": []}, "of none"),
        # A switch that did not answer, and one that answered other questions.
        (None, "is not known to be of any, since spine01 did not report its own"),
        ({"interface_status": []}, "is not known to be of any, since spine01 did not report its own"),
    ],
)
def test_a_far_end_that_was_not_read_is_not_one_without_a_channel(far: dict[str, list[dict[str, t.Any]]] | None, words: str) -> None:
    readings = {"leaf01": NEAR, **({} if far is None else {"spine01": far})}
    expected = f"leaf01 Ethernet1 is a member of Port-Channel1, and spine01 Ethernet9 at its other end {words}; no channel was drafted for that cable"
    assert channels_of([CABLE], readings, ()) == ({}, [expected])
    assert channels_of([CABLE[::-1]], readings, ()) == ({}, [expected])


def test_both_ends_have_one() -> None:
    far = {"port_channels": [{"channel": "bond9", "member": "Ethernet9"}]}
    assert channels_of([CABLE], {"leaf01": NEAR, "spine01": far}, ()) == ({CABLE: ("Port-Channel1", "bond9")}, [])
