# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a draft says of bonds of which a member is missing, carries nothing or is slower."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.members import members_apart

Readings = dict[str, dict[str, list[dict[str, t.Any]]]]
BOND = {"netdev": "bond0", "members": ["eth0", "eth1"], "leaves": ["leaf01", "leaf02"]}


def reported(bundled: bool = True, speed: float = 400.0) -> Readings:
    members = [{"channel": "bond0", "member": port, "bundled": True, "state": "distributing"} for port in ("eth0", "eth1")]
    members[1] |= {} if bundled else {"bundled": False, "state": "link up, not distributing by LACP"}
    return {"gpu02": {"port_channels": members, "interface_status": [{"port": "eth0", "speed_gbit_s": 400.0}, {"port": "eth1", "speed_gbit_s": speed}]}}


@pytest.mark.parametrize(
    ("rail", "readings", "words"),
    [
        (BOND, reported(), []),
        (BOND, reported(bundled=False), ["gpu02 eth1: it is a member of bond0 that carries nothing (to leaf02): link up, not distributing by LACP"]),
        (BOND, reported(speed=200.0), ["gpu02 bond0: its members run at different speeds, in Gb/s eth0 (to leaf01) 400 and eth1 (to leaf02) 200"]),
        (
            {**BOND, "members": ["eth0"], "leaves": ["leaf01"]}, {},
            ["gpu02 bond0: it has 1 member with a cable to a leaf, and 2 of 3 bonds have 2"],
        ),
        ({"netdev": "eth0"}, {}, []),
    ],
)  # fmt: skip
def test_a_member_apart_is_named(rail: dict[str, t.Any], readings: Readings, words: list[str]) -> None:
    assert members_apart({"gpu01": [BOND], "gpu02": [rail], "gpu03": [BOND]}, readings) == words


def test_of_a_tie_both_numbers_are_named_and_no_bond_is_odd() -> None:
    one = {**BOND, "members": ["eth0"], "leaves": ["leaf01"]}
    words = "bonds differ in how many members have a cable to a leaf, and no number is that of most: 1 member on gpu01 bond0 and 2 members on gpu02 bond0"
    assert members_apart({"gpu01": [one], "gpu02": [BOND]}, {}) == [words]
    three = {**BOND, "members": ["a", "b", "c"], "leaves": ["leaf01"] * 3}
    assert members_apart({"gpu01": [one], "gpu02": [BOND], "gpu03": [three]}, {}) == [words + " and 3 members on gpu03 bond0"]
    assert members_apart({"gpu01": [one], "gpu02": [one]}, {}) == [] and members_apart({}, {}) == []
