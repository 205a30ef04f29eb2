# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which switch announces the prefixes of rails, by the routes of the spines."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.routing._announced_less import announced_less
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.routing.announcements import prefixes_announced

SPINES = ("spine01", "spine02", "spine03")
LEAVES = ("leaf01", "leaf02", "leaf03")


def route(prefix, *ports, vrf=None):
    return [{"vrf": vrf, "prefix": prefix, "protocol": "bgp", "next_hop": f"10.0.0.{port}", "interface": f"swp{port}", "selected": True, "installed": True}
            for port in ports]  # fmt: skip


def spine(*more, without=(), vrf=None):
    """The routes of a spine whose port swpN leads to leaf0N with the prefix 10.0N.0.0/24."""
    own = [route(f"10.{number}.0.0/24", number, vrf=vrf) for number in (1, 2, 3) if number not in without]
    return [row for rows in (*own, *more) for row in rows]


def rail(leaf, host=1):
    return {"host": f"gpu0{host}", "device": f"mlx5_{leaf}", "leaf": f"leaf0{leaf}", "address": f"10.{leaf}.0.{host}"}


def judged(node, tables, vrf=""):
    number = int(node[-1])
    leaf = node in LEAVES
    cables = [
        {"port": f"swp{n}", "peer": peer, "peer_port": f"swp{number}", "peer_role": "spine" if leaf else "leaf"}
        for n, peer in enumerate(SPINES if leaf else LEAVES, 1)
    ]
    own, others = ([rail(n, host) for n in (1, 2, 3) for host in (1, 2) if (n == number) == there] for there in (True, False))
    same = [name for name in SPINES if name != node]
    return list(prefixes_announced(tables, node, "leaf" if leaf else "spine", cables, own if leaf else [], others if leaf else [], same, "ipv4", vrf))


def accused(tables, vrf=""):
    """The switches with findings, with the places of these."""
    return {node: [str(one.where) for one in found] for node in (*LEAVES, *SPINES) if (found := judged(node, tables, vrf))}


def of_all(*more, **values):
    return {name: spine(*more, **values) for name in SPINES}


def test_a_leaf_that_announces_its_own_prefix_alone_is_well():
    assert accused(of_all()) == {}
    # What holds no rail, such as a loopback, and an aggregate that nobody takes are no concern.
    assert accused(of_all(route("192.0.2.2/32", 2), route("10.0.0.0/8", 2))) == {}


def test_a_leaf_whose_rails_no_spine_reaches_over_it_holds_its_prefix_back():
    assert accused(of_all(without=(2,))) == {"leaf02": ["its rails"]}
    # One spine that has it shows that the leaf announces it.
    assert accused({**of_all(without=(2,)), "spine03": spine()}) == {}
    # By another route than its own, as of an aggregate that another leaf announces: it is the leaf's prefix that is missing.
    assert accused(of_all(route("10.0.0.0/8", 3), without=(2,))) == {"leaf02": ["its rails"]}


@pytest.mark.parametrize("prefix", ["10.3.0.0/25", "10.3.0.1/32"])
def test_a_leaf_that_announces_a_part_of_anothers_prefix_is_named_and_the_other_one_not(prefix):
    assert accused(of_all(route(prefix, 2))) == {"leaf02": [prefix]}
    assert accused({**of_all(), "spine01": spine(route(prefix, 2))}) == {"leaf02": [prefix]}
    (found,) = judged("leaf02", of_all(route(prefix, 2)))
    assert "leaf02 announces a prefix that holds rails of leaf03" in found.cause and found.where.peers == ("leaf03",)


def test_a_prefix_that_two_leaves_announce_is_a_finding_of_the_one_whose_rails_are_not_in_it():
    assert accused(of_all(route("10.3.0.0/24", 2))) == {"leaf02": ["10.3.0.0/24"]}


def test_a_longer_prefix_that_one_spine_has_alone_was_left_there():
    assert accused({**of_all(), "spine02": spine(route("10.3.0.2/32", 3))}) == {"spine02": ["10.3.0.2/32 to leaf03"]}
    assert accused(of_all(route("10.3.0.2/32", 3))) == {}
    # A longer prefix of nothing else, such as a loopback, is no part of what the others have.
    assert accused({**of_all(), "spine02": spine(route("192.0.2.3/32", 3))}) == {}


def test_routes_of_other_vrfs_are_no_announcement():
    tables = {name: [*spine(vrf="rails"), *route("10.3.0.0/25", 2)] for name in SPINES}
    assert accused(tables, "rails") == {}
    assert accused({name: spine(route("10.3.0.0/25", 2, vrf="rails"), vrf="rails") for name in SPINES}, "rails") == {"leaf02": ["10.3.0.0/25"]}


def test_what_was_not_read_proves_nothing():
    with pytest.raises(NotApplicable):
        judged("leaf01", {})
    with pytest.raises(NotApplicable):
        judged("spine01", {"spine01": spine(), "spine02": spine()})


def test_routes_whose_ports_are_not_reported_cannot_be_decided_and_hide_no_finding_of_others():
    unnamed = [{**row, "interface": None} for row in spine()]
    with pytest.raises(CannotTell, match="routes of spine01, spine02, spine03: not reported"):
        judged("leaf01", dict.fromkeys(SPINES, unnamed))
    with pytest.raises(CannotTell, match="routes of spine02: not reported"):
        judged("leaf01", {**of_all(), "spine02": unnamed})
    with pytest.raises(CannotTell, match="routes of spine02: not reported"):
        judged("spine02", {**of_all(), "spine02": unnamed})
    assert [str(one.where) for one in judged("leaf02", {**of_all(without=(2,)), "spine02": unnamed})] == ["its rails"]


DEFAULT = "0.0.0.0/0"


def less(received, over=(1, 2), prefix=DEFAULT, upper="spine03", numbered=None):
    """What is found of a spine; received: by leaf, how many prefixes spine01 and so on bring; over: the spines that the leaves' route goes over."""
    cables = [
        {"lower": leaf, "lower_port": f"swp{n}", "upper": spine, "upper_port": "swp1", "upper_address": numbered and f"10.9.{n}.{leaf[-1]}", "gbit_s": None}
        for leaf in received for n, spine in enumerate(SPINES, 1)
    ]  # fmt: skip
    sessions = {
        leaf: [{"neighbor": f"10.9.{n}.{leaf[-1]}" if numbered else f"swp{n}", "state": "Established", "prefixes_received": number}
               for n, number in enumerate(numbers, 1)]
        for leaf, numbers in received.items()
    }  # fmt: skip
    routes = {leaf: [{"prefix": prefix, "next_hop": f"10.9.{n}.{leaf[-1]}", "interface": None if numbered else f"swp{n}"} for n in over] for leaf in received}
    return list(announced_less(upper, cables, [name for name in SPINES if name != upper], sessions, routes, DEFAULT))


@pytest.mark.parametrize("numbered", [None, True])
def test_a_spine_that_announces_less_to_every_leaf_is_named(numbered):
    (found,) = less({"leaf01": (2, 2, 1), "leaf02": (2, 3, 1)}, numbered=numbered)
    assert found.actual == "1 to each of 2, none of which has 0.0.0.0/0 over spine03" and "default-originate" in found.cause
    (found,) = less({"leaf01": (9, 9, 1), "leaf02": (9, 9, 1)}, prefix="10.8.0.0/24", numbered=numbered)
    assert "maintenance" in found.cause and "10.8.0.0/24" in found.actual


def test_what_the_leaves_do_not_take_is_no_finding_of_a_spine():
    # As many prefixes of all spines: the leaves use fewer paths by themselves.
    assert less({"leaf01": (2, 2, 2), "leaf02": (2, 2, 2)}) == []
    # One leaf alone has less of it, and may filter by itself; numbers that are not reported decide nothing.
    assert less({"leaf01": (2, 2, 1), "leaf02": (2, 2, 2)}) == less({"leaf01": (2, 2, 1)}) == []
    assert less({"leaf01": (2, 2, None), "leaf02": (2, 2, None)}) == less({"leaf01": (2, None, 1), "leaf02": (2, None, 1)}) == []
    # Its session to one leaf is down: what it lacks of that one it announces to none of the others.
    assert less({"leaf01": (2, 2, 1), "leaf02": (2, 2, 1), "leaf03": (2, 2, None)}) == []
    # The route goes over it all the same: what it does not announce is nothing that the leaves use.
    assert less({"leaf01": (2, 2, 1), "leaf02": (2, 2, 1)}, over=(1, 2, 3)) == []
