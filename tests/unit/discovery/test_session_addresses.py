# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The addresses of the BGP session over a cable: both ends' neighbors in one point-to-point network, and nothing where that leaves a choice."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.session_addresses import session_addresses

CABLE = (("leaf01", "Ethernet33"), ("spine01", "Ethernet0"))
ASNS = {"leaf01": 65101, "spine01": 65000, "spine02": 65000}


def reported(**neighbors):
    return {switch: {"bgp_summary": [{"neighbor": address, "asn": asn} for address, asn in found]} for switch, found in neighbors.items()}


@pytest.mark.parametrize(
    ("far", "own"),
    [("10.0.0.0", "10.0.0.1"), ("10.0.0.1", "10.0.0.0"), ("10.0.0.5", "10.0.0.6"), ("2001:db8::2", "2001:db8::3")],
)
def test_neighbors_of_one_point_to_point_network_are_the_ends(far, own):
    # Another spine of the same AS is a neighbor of the leaf as well.
    found = reported(leaf01=[(far, 65000), ("10.9.9.0", 65000)], spine01=[(own, 65101), ("10.8.8.1", 65102)])
    assert session_addresses([CABLE], ASNS, found) == {CABLE: (own, far)}


@pytest.mark.parametrize(
    ("leaf", "spine"),
    [
        ([("10.0.0.0", 65000), ("10.0.0.2", 65000)], [("10.0.0.1", 65101), ("10.0.0.3", 65101)]),
        ([("10.0.0.3", 65000)], [("10.0.0.4", 65101)]),
        ([("10.0.0.0", 65001)], [("10.0.0.1", 65101)]),
        ([("fe80::2", 65000)], [("fe80::3", 65101)]),
        ([("Ethernet33", 65000)], [("Ethernet0", 65101)]),
        ([("10.0.0.0", 65000)], []),
    ],
    ids=["a choice of two", "not one network", "another AS", "link-local", "unnumbered", "one end alone"],
)
def test_what_leaves_a_choice_or_does_not_agree_stays_blank(leaf, spine):
    assert session_addresses([CABLE], ASNS, reported(leaf01=leaf, spine01=spine)) == {}


def test_leaves_of_one_as_are_told_apart():
    found = reported(leaf01=[("10.0.0.1", 65000)], spine01=[("10.0.0.0", 65101), ("10.0.0.2", 65101)])
    assert session_addresses([CABLE], ASNS, found) == {CABLE: ("10.0.0.0", "10.0.0.1")}


def test_several_cables_between_two_switches_stay_blank():
    second = (("leaf01", "Ethernet34"), ("spine01", "Ethernet4"))
    found = reported(leaf01=[("10.0.0.0", 65000), ("10.0.0.2", 65000)], spine01=[("10.0.0.1", 65101), ("10.0.0.3", 65101)])
    assert session_addresses([CABLE, second], ASNS, found) == {}


def test_a_host_has_no_session():
    assert session_addresses([(("gpu01", "eth0"), ("leaf01", "Ethernet1"))], ASNS, reported(leaf01=[("10.0.0.0", 65000)])) == {}
