# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of sessions, equal-cost paths and reachability, by plain calls."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.routing import capacity, ecmp
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.routing import paths as routing
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.routing.sessions import bgp_established, bgp_settled


def summary(findings):
    return [(str(one), one.severity) for one in findings]


def unknown(findings):
    """Whether there are findings, and all of them unknown."""
    severities = [one.severity for one in findings]
    return bool(severities) and set(severities) == {"unknown"}


def uplink(number, address="numbered", asn=65000):
    return {"port": f"swp{number}", "peer": f"spine0{number}", "address": f"172.16.0.{number}" if address else None, "asn": asn}


UPLINKS = [cable | {"peer_role": "spine", "peer_port": "swp1"} for cable in (uplink(number) for number in (1, 2, 3, 4))]


def session(number, state="Established", asn=65000, name="172.16.0.{}"):
    return {"vrf": "default", "neighbor": name.format(number), "asn": asn, "state": state}


def sessions(*odd, **values):
    return [*odd, *[session(number, **values) for number in range(len(odd) + 1, 5)]]


def bgp(rows, neighbors=None, of_peers=None):
    planned = [uplink(number) for number in (1, 2, 3, 4)] if neighbors is None else neighbors
    return list(bgp_established(rows, planned, UPLINKS, "leaf01", of_peers or {}))


def test_numbered_sessions():
    assert bgp(sessions()) == []
    assert summary(bgp(sessions(session(1, "Active")))) == [("spine01 (172.16.0.1): expected Established with AS 65000, got Active with AS 65000", None)]
    assert summary(bgp(sessions(session(1, "Idle", 65999)))) == [("spine01 (172.16.0.1): expected Established with AS 65000, got Idle with AS 65999", None)]
    assert summary(bgp(sessions(session(1, "Established", 65999)))) == [
        ("spine01 (172.16.0.1): expected Established with AS 65000, got Established with AS 65999", None)
    ]
    assert summary(bgp(sessions()[1:])) == [("spine01 (172.16.0.1): expected Established with AS 65000, got no such neighbor", None)]
    # The port decides which gate groups the finding closes.
    assert [one.where.port for one in bgp(sessions(session(1, "Idle (Admin)")))] == ["swp1"]


def test_the_cause_of_a_session_is_what_its_own_end_is_configured_with():
    (absent,), (other,) = bgp(sessions()[1:]), bgp(sessions(session(1, "Active", 65999)))
    assert "leaf01 has no session to spine01" in absent.cause and "remote-as 65000" in absent.fix
    assert "leaf01 is configured with AS 65999" in other.cause and "remote-as 65000 for spine01 on leaf01" in other.fix
    (up,) = bgp(sessions(session(1, "Established", 65999)))
    assert "has AS 65999" in up.cause and "refuses" not in up.cause and "bgp_asn of spine01" in up.fix
    (down,) = bgp(sessions(session(1, "Active")))
    assert down.cause is None


def test_an_unnumbered_session_that_is_not_configured_is_named_by_its_port():
    neighbors = [uplink(number, None) for number in (1, 2, 3, 4)]
    (found,) = bgp(sessions(name="swp{}")[1:], neighbors)
    assert (str(found), found.where.port) == ("spine01 (swp1): expected Established with AS 65000, got no such neighbor", "swp1")
    # Another one of its AS may be it, under its address.
    assert summary(bgp([*sessions(name="swp{}")[1:], session(9, "Active")], neighbors)) == [
        ("AS 65000: expected 1 Established neighbors, got 0 (172.16.0.9 Active with AS 65000)", None)
    ]


@pytest.mark.parametrize(
    ("others", "switch"),
    [
        ({"leaf01": sessions(session(1, "Active")), "spine01": [session(5, "Active")]}, "spine01"),
        ({"leaf01": [session(1, "Active")], "spine01": [session(5)]}, "leaf01"),
        ({"leaf01": [session(1, "Active")], "spine01": [session(5, "Active")]}, None),
        ({"leaf01": sessions(session(1, "Active")), "spine01": [session(5)]}, None),
        ({"leaf01": sessions(session(1, "Active"))}, None),
    ],
)
def test_the_end_of_which_no_session_is_up_is_named(others, switch):
    (found,) = bgp_established(sessions(session(1, "Active")), [uplink(number) for number in (1, 2, 3, 4)], UPLINKS, "leaf01", others)
    assert found.cause is None if switch is None else f"No session of {switch} is up" in found.cause and switch in found.fix
    assert found.began_at in (None, (switch, ""))


def running(asn, *rows):
    return [{**row, "local_asn": asn} for row in rows]


def test_a_switch_that_runs_with_another_as_is_named_by_its_own_report():
    planned, leaf02 = [uplink(number) for number in (1, 2, 3, 4)], {"leaf02": running(65102, session(1))}

    def found(rows, of_peers, asn=65101):
        return list(bgp_established(rows, planned, UPLINKS, "leaf01", of_peers, pod_asn=asn))

    (copied,) = found(running(65102, *sessions()), leaf02)
    assert str(copied) == "its own AS: expected AS 65101, got AS 65102" and "that of leaf02 too" in copied.cause and "router bgp 65101" in copied.fix
    (wrong,) = found(running(65109, *sessions()), leaf02)
    assert "configuration of another switch" in wrong.cause and wrong.began_at is None
    # Of one VRF it is the planned one; and what is not reported, or not planned, says nothing.
    assert found([*running(65101, session(1)), *running(65102, *sessions()[1:])], leaf02) == []
    assert found(sessions(), leaf02) == found(running(65102, *sessions()), leaf02, asn=None) == []
    # Its sessions that are down follow from it.
    _own, down = found(running(65109, *sessions(session(1, "Active"))), {})
    assert (down.where.port, down.began_at) == ("swp1", ("leaf01", ""))


def test_a_neighbor_that_runs_with_another_as_is_where_its_sessions_are_at_fault():
    planned = [uplink(number) for number in (1, 2, 3, 4)]
    for state in ("Active", "Established"):
        rows = sessions(session(1, state, 65000 if state == "Active" else 65999))
        (found,) = bgp_established(rows, planned, UPLINKS, "leaf01", {"spine01": running(65999, session(9, state, 65101))})
        assert found.began_at == ("spine01", "") and "spine01 runs BGP with AS 65999, and the plan has AS 65000" in found.cause
    (other,) = bgp_established(sessions(session(1, "Active")), planned, UPLINKS, "leaf01", {"spine01": running(65000, session(9, "Active", 65101))})
    assert "runs BGP with" not in str(other.cause)


def test_a_session_with_a_switch_that_takes_no_part_is_not_judged():
    planned, down = [uplink(number) for number in (1, 2, 3, 4)], sessions(session(1, "Active"))
    assert list(bgp_established(down, planned, UPLINKS, "leaf01", {}, pod_closed_switches=["spine01"])) == []
    assert len(list(bgp_established(down, planned, UPLINKS, "leaf01", {}, pod_closed_switches=["spine02"]))) == 1


def own(*rows):
    return [{**row, "local_asn": 65101} for row in rows]


@pytest.mark.parametrize(
    ("state", "theirs", "closed"),
    [
        ("Active", [session(9, "Idle (Admin)", 65101), session(5)], True),
        ("Active", [session(1, "Idle (PfxCt)", 65999, name="swp1"), session(9, "Active", 65101)], True),
        ("Active", [session(9, "Active", 65101), session(5)], False),
        ("Active", [session(9, "Idle (Admin)", 65102)], False),
        # One of two parallel sessions is closed, and the other is down for another reason.
        ("Active", [session(8, "Idle (Admin)", 65101), session(9, "Active", 65101), session(5)], False),
        # Both ends keep it closed: each has to be opened.
        ("Idle (Admin)", [session(9, "Idle (Admin)", 65101), session(5)], False),
    ],
)
def test_a_session_that_the_other_end_keeps_closed_began_there(state, theirs, closed):
    found = bgp(own(*sessions(session(1, state))), of_peers={"leaf01": own(*sessions()), "spine01": theirs})[0]
    assert found.began_at == (("spine01", "swp1") if closed else None)
    assert not closed or "spine01 keeps its end of the session at swp1 closed" in found.cause


@pytest.mark.parametrize(("known_as", "absent"), [(65101, True), (65109, False)])
def test_a_session_that_the_other_end_does_not_have_began_there(known_as, absent):
    # An AS that none of the others expects is the fault of this end.
    of_peers = {"leaf01": own(*sessions()), "spine01": [session(5, asn=65102)], "spine02": [session(6, asn=known_as)]}
    found = bgp(own(*sessions(session(1, "Active"))), of_peers=of_peers)[0]
    assert found.began_at == (("spine01", "swp1") if absent else None)
    assert not absent or "has none at swp1" in found.cause


def test_unnumbered_sessions_are_found_by_their_port():
    neighbors = [uplink(number, None) for number in (1, 2, 3, 4)]
    assert bgp(sessions(name="swp{}"), neighbors) == []
    assert summary(bgp(sessions(session(1, "Connect", name="swp{}"), name="swp{}"), neighbors)) == [
        ("spine01 (swp1): expected Established with AS 65000, got Connect with AS 65000", None)
    ]


def test_sessions_whose_addresses_are_not_planned_are_counted_by_as():
    neighbors = [uplink(number, None) for number in (1, 2, 3, 4)]
    assert bgp(sessions(), neighbors) == []
    assert summary(bgp(sessions(session(1, "Active")), neighbors)) == [
        ("AS 65000: expected 4 Established neighbors, got 3 (172.16.0.1 Active with AS 65000)", None)
    ]
    assert summary(bgp(sessions(session(1, "Idle", 65999)), neighbors)) == [
        ("AS 65000: expected 4 Established neighbors, got 3 (172.16.0.1 Idle with AS 65999)", None)
    ]
    assert summary(bgp([], neighbors)) == [("AS 65000: expected 4 Established neighbors, got 0", None)]
    assert unknown(bgp(sessions(), [uplink(1, None, None)]))
    assert unknown(bgp(sessions(), [uplink(1, asn=None)]))


def test_sessions_of_a_switch_that_plans_none():
    with pytest.raises(CannotTell, match="bgp_asn of this switch"):
        bgp(sessions(), [])
    with pytest.raises(NotApplicable):
        list(bgp_established([], [], [{"port": "swp5", "peer": "gpu01", "peer_role": "host"}], "leaf01", {}))


def test_a_session_without_the_address_family_of_the_rails_is_up_and_of_no_use():
    for state in ("NoNeg", "Established (No Cap)"):
        (found,) = bgp(sessions(session(1, state)))
        assert "address family" in found.cause and "neighbor spine01 activate" in found.fix and found.began_at is None


def test_the_other_end_that_told_nothing_is_where_it_began_if_no_switch_has_a_session_with_it():
    down, own = session(1, "Active", 65009), [uplink(1, asn=65009), *(uplink(number) for number in (2, 3, 4))]
    others = {"leaf01": sessions(down), "leaf02": sessions(down)}
    (found,) = bgp(sessions(down), own, others)
    assert found.began_at == ("spine01", "") and "spine01 did not tell" in found.cause
    # Another switch has one with its AS that is up, it told of its own, or this end has none that is up either.
    for more in ({**others, "leaf02": sessions(session(1, asn=65009))}, {**others, "spine01": [session(5)]}, {}):
        assert bgp(sessions(down), own, more)[0].cause is None or "did not tell" not in bgp(sessions(down), own, more)[0].cause
    assert "did not tell" not in (bgp([down], own[:1], {"leaf02": sessions(down)})[0].cause or "")


def test_the_other_end_of_a_session_of_a_switch_that_has_none_began_at_that_switch():
    down, own = [{**one, "state": "Active"} for one in sessions()], sessions(session(1, "Active"))
    (found,) = bgp(own, of_peers={"leaf01": own, "spine01": down})
    assert found.began_at == ("spine01", "") and "No session of spine01 is up" in found.cause
    (found,) = bgp(own, of_peers={"leaf01": own, "spine01": down[:1]})
    assert found.began_at is None and "No session of spine01 is up" in found.cause
    assert {one.began_at for one in bgp(down, of_peers={"leaf01": down, "spine01": own})} == {None}


def settled(rows, of_peers=None, neighbors=None, link=None):
    planned = [uplink(number) for number in (1, 2, 3, 4)] if neighbors is None else neighbors
    return list(bgp_settled(rows, {"leaf01": rows, "leaf02": aged(9000, 9000), **(of_peers or {})}, planned, "leaf01", 300, link or {}, 300))


def aged(*seconds, name="172.16.0.{}"):
    return [{**session(number, name=name), "up_seconds": age} for number, age in enumerate(seconds, 1)]


def test_a_session_that_came_up_a_short_time_ago():
    assert settled(aged(300, 9000, 9000, 9000)) == []
    found = settled(aged(12, 9000, 9000, 9000))
    assert summary(found) == [("spine01 (172.16.0.1): expected Established for 300 s or longer, got established 12 s ago", None)]
    assert [(one.where.port, one.cause) for one in found] == [("swp1", None)]
    # By its port, and by its AS where the plan has neither.
    assert summary(settled(aged(12, 9000, name="swp{}"), neighbors=[uplink(1, None), uplink(2, None)])) == [
        ("spine01 (swp1): expected Established for 300 s or longer, got established 12 s ago", None)
    ]
    assert summary(settled(aged(12, 9000), neighbors=[uplink(1, None), uplink(2, None)])) == [
        ("172.16.0.1 (AS 65000): expected Established for 300 s or longer, got established 12 s ago", None)
    ]


def test_a_session_whose_link_was_shut_on_purpose_in_this_run_is_young():
    link = {"leaf": "leaf01", "port": "swp1", "spine": "spine01", "spine_port": "swp1"}
    assert settled(aged(12, 9000, 9000, 9000), link=link) == []
    assert [one.where.port for one in settled(aged(12, 14, 9000, 9000), link=link)] == ["swp2"]
    # One that is as young for a longer time was reset before.
    assert summary(settled(aged(290, 9000, 9000, 9000), link={**link, "leaf": "leaf02"})) != []


def test_the_switch_that_restarted_is_named():
    found = settled(aged(12, 14, 13, 12))
    assert summary(found) == [("all sessions: expected Established for 300 s or longer, got established 12 to 14 s ago", None)]
    assert found[0].cause.startswith("All sessions of leaf01 came up a short time ago")
    (found,) = settled(aged(12, 9000, 9000, 9000), {"spine01": aged(12, 11)})
    assert str(found.where).startswith("spine01") and found.cause.startswith("All sessions of spine01 came up a short time ago")
    assert found.began_at == ("spine01", "") and settled(aged(12, 9000, 9000, 9000))[0].began_at is None
    # A switch with one session has lost all of them, whichever end is at fault.
    assert settled(aged(12, 9000, 9000, 9000), {"spine01": aged(12)})[0].began_at is None
    (found,) = settled(aged(12, 14, 13, 12), {"leaf02": aged(12, 11), "spine01": aged(12, 11)})
    assert str(found.where) == "all sessions" and found.cause.startswith("All sessions of every switch came up a short time ago")


def test_an_age_that_is_not_reported_is_no_pass():
    assert unknown(settled(aged(None, 9000, 9000, 9000)))
    with pytest.raises(NotApplicable, match="does not report"):
        settled(aged(None, None))
    with pytest.raises(NotApplicable, match="no planned session is Established"):
        settled([{**one, "state": "Active"} for one in aged(5, 5)])
    # A switch of which one age is unknown is not known to have restarted.
    (found,) = settled(aged(12, 9000), {"spine01": aged(12, None)})
    assert found.cause is None


RAILS = [{"host": f"gpu0{number}", "device": "mlx5_3", "address": f"10.52.0.{number}", "leaf": "leaf02"} for number in (1, 2)]


def route(prefix, hops, installed=True, vrf=None, selected=True):
    row = {"vrf": vrf, "prefix": prefix, "protocol": "bgp", "selected": selected, "installed": installed}
    return [{**row, "next_hop": f"172.16.0.{hop}", "interface": f"swp{hop}"} for hop in hops]


FOUR = route("10.52.0.0/24", (1, 2, 3, 4))
UP = ["swp1", "swp2", "swp3", "swp4"]
WAYS = {"leaf02": UP, "leaf03": UP}


def judged_paths(rows, rails=RAILS, role="leaf", topology="rail_optimised", ways=None):
    return summary(ecmp.ecmp_paths(rows, role, topology, WAYS if ways is None else ways, rails, "ipv4", [], "bgp"))


def test_a_session_without_routes_is_why_a_next_hop_is_missing():
    three = route("10.52.0.0/24", (1, 3, 4))
    received = [{**session(number), "prefixes_received": 0 if number == 2 else 8} for number in (1, 2, 3, 4)]
    neighbors = [uplink(number) for number in (1, 2, 3, 4)]
    (found,) = ecmp.ecmp_paths(three, "leaf", "rail_optimised", WAYS, RAILS, "ipv4", neighbors, "bgp", received)
    assert "spine02 is Established and brings no route" in found.actual and "policy" in found.cause and "policy" in found.fix
    for rows in ([{**one, "prefixes_received": None} for one in received], [{**one, "prefixes_received": 0} for one in received], None):
        (bare,) = ecmp.ecmp_paths(three, "leaf", "rail_optimised", WAYS, RAILS, "ipv4", neighbors, "bgp", rows)
        assert bare.cause is None and bare.actual == "3 next hops in the forwarding table, none over swp2 (to spine02)"


def test_routes_that_a_neighbor_brings_and_that_are_not_used():
    received = [{**session(number), "prefixes_received": 7 if number == 2 else 8} for number in (1, 2, 3, 4)]
    neighbors = [uplink(number) for number in (1, 2, 3, 4)]

    def found(hops, rows=received):
        return next(ecmp.ecmp_paths(route("10.52.0.0/24", hops), "leaf", "rail_optimised", WAYS, RAILS, "ipv4", neighbors, "bgp", rows))

    one = found((1, 3, 4))
    assert "spine02" in one.cause and "inaccessible" in one.cause and "clear the session" in one.fix and "maximum-paths" in one.fix
    assert found((1, 3)).cause is None, "of several the check's own cause says more"
    assert found((1, 3, 4), [row for row in received if row["neighbor"] != received[1]["neighbor"]]).cause is None, "its session is down"


def test_a_spine_in_maintenance_is_why_a_next_hop_is_missing():
    three = route("10.52.0.0/24", (1, 3, 4))
    received = [{**session(number), "prefixes_received": 1 if number == 2 else 8} for number in (1, 2, 3, 4)]
    (found,) = ecmp.ecmp_paths(three, "leaf", "rail_optimised", WAYS, RAILS, "ipv4", [uplink(number) for number in (1, 2, 3, 4)], "bgp", received)
    assert "spine02 is Established and brings 1 prefix, others bring 8" in found.actual
    assert "spine02" in found.cause and "maintenance" in found.cause and "TSB" in found.fix


def test_four_paths():
    assert judged_paths(FOUR) == []
    assert judged_paths([*FOUR, *route("0.0.0.0/0", (1,)), *route("10.0.0.0/8", (1,)), *route("2001:db8::/32", (1,))]) == []
    assert judged_paths(route("10.52.0.0/24", (1, 2, 3, 4), installed=None)) == []
    # Unnumbered next hops may have one link-local address on every port.
    assert judged_paths([{**row, "next_hop": "fe80::1"} for row in FOUR]) == []


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            route("10.52.0.0/24", (1,)),
            "10.52.0.0/24: expected 4 next hops to the rails of leaf02 (2 in each prefix), got 1 next hop in the forwarding table, none over swp2, swp3, swp4",
        ),
        (
            route("10.52.0.0/24", (1, 2), None),
            "10.52.0.0/24: expected 4 next hops to the rails of leaf02 (2 in each prefix), got 2 next hops in the RIB, none over swp3, swp4",
        ),
        (
            [*FOUR[:3], {**FOUR[3], "installed": False}],
            "10.52.0.0/24: expected 4 next hops to the rails of leaf02 (2 in each prefix), got 3 next hops in the forwarding table, none over swp4",
        ),
        ([], "rails of leaf02: expected 4 next hops to its 2 rails, such as 10.52.0.1, got no route"),
        # A default route over no uplink is that of the management network.
        (
            [{**row, "interface": "eth0", "next_hop": "192.0.2.1"} for row in route("0.0.0.0/0", (1,))],
            "rails of leaf02: expected 4 next hops to its 2 rails, such as 10.52.0.1, got no route",
        ),
        # Paths of another VRF are no paths of this one.
        (
            [*route("10.52.0.0/24", (1,), vrf="default"), *route("10.52.0.0/16", (2, 3, 4), vrf="mgmt")],
            "10.52.0.0/24: expected 4 next hops to the rails of leaf02 (2 in each prefix), got 1 next hop in the forwarding table, none over swp2, swp3, swp4",
        ),
    ],
)
def test_fewer_paths(rows, words):
    assert judged_paths(rows) == [(words, None)]


def routes_found(rows, rails=RAILS, ways=None, neighbors=()):
    return list(ecmp.ecmp_paths(rows, "leaf", "rail_optimised", ways or WAYS, rails, "ipv4", list(neighbors), "bgp"))


def test_a_default_route_that_is_wide_enough_reaches_the_rails():
    assert routes_found(route("0.0.0.0/0", (1, 2, 3, 4))) == []
    # Beside that of the management network, which is in a VRF of its own or goes over no uplink.
    mgmt = [{**row, "interface": "mgmt0", "next_hop": "192.0.2.1"} for row in route("0.0.0.0/0", (1,), vrf="management")]
    assert routes_found([*route("0.0.0.0/0", (1, 2, 3, 4), vrf="default"), *mgmt]) == []
    # Over the uplinks' subinterfaces, and where only the next hops' addresses lead to the uplinks.
    assert routes_found([{**row, "interface": f"{row['interface']}.100"} for row in route("0.0.0.0/0", (1, 2, 3, 4))]) == []
    neighbors = [uplink(number) for number in (1, 2, 3, 4)]
    assert routes_found([{**row, "interface": None} for row in route("0.0.0.0/0", (1, 2, 3, 4))], neighbors=neighbors) == []


def test_a_default_route_that_is_too_narrow():
    (found,) = routes_found(route("0.0.0.0/0", (1, 2, 4)), neighbors=[uplink(number) for number in (1, 2, 3, 4)])
    wanted = "0.0.0.0/0: expected 4 next hops to the rails of leaf02 (2 in each prefix), got 3 next hops in the forwarding table, none over swp3 (to spine03)"
    assert str(found) == wanted and "default route" in found.cause and "default-originate" in found.fix
    # One more that leaves by another port is no path to the rails.
    mgmt = [{**row, "interface": "eth0", "next_hop": "192.0.2.1"} for row in route("0.0.0.0/0", (9,))]
    (found,) = routes_found([*route("0.0.0.0/0", (1, 2, 4)), *mgmt])
    assert found.actual.startswith("3 next hops")
    # Of a leaf whose other rails have a route of their own, a rail under the default is no rail off the plan.
    (found,) = routes_found([*route("10.52.0.1/32", (1, 2, 3, 4)), *route("0.0.0.0/0", (1,))])
    assert str(found.where) == "0.0.0.0/0"


def test_an_aggregate_that_is_too_narrow_or_discards():
    rails = [*RAILS, {**RAILS[0], "host": "gpu03", "address": "10.53.0.3", "leaf": "leaf03"}]
    assert routes_found(route("10.48.0.0/12", (1, 2, 3, 4)), rails) == []
    (found,) = routes_found([*route("10.48.0.0/12", (1, 2)), *route("0.0.0.0/0", (1, 2, 3, 4))], rails)
    assert str(found.where) == "10.48.0.0/12" and "aggregate" in found.cause
    discard = [{**row, "next_hop": None, "interface": "Null0"} for row in route("10.48.0.0/12", (1,))]
    for rows in (discard, [{**discard[0], "interface": None}]):
        (found,) = routes_found([*rows, *route("0.0.0.0/0", (1, 2, 3, 4))], rails)
        assert found.actual == "0 next hops in the forwarding table" and "discards" in found.cause


def test_a_leaf_that_has_fewer_ways_by_plan_needs_fewer_next_hops():
    rails = [*RAILS, {**RAILS[0], "host": "gpu03", "address": "10.53.0.3", "leaf": "leaf03"}]
    ways = {"leaf02": UP, "leaf03": UP[:2]}
    assert routes_found([*FOUR, *route("10.53.0.0/24", (1, 2))], rails, ways) == []
    # An aggregate takes all ways of those that it leads to; a leaf of another plane is not asked for.
    assert routes_found(route("10.48.0.0/12", (1, 2, 3, 4)), rails, ways) == []
    assert routes_found(FOUR, rails, {"leaf02": UP}) == []
    with pytest.raises(CannotTell, match="leads from this leaf to no other leaf"):
        routes_found(FOUR, rails, {"leaf04": UP})


def test_paths_of_ipv6():
    rails = [{**RAILS[0], "address": "fd00:52::1"}]
    four = [{**row, "next_hop": "fe80::1"} for row in route("fd00:52::/64", (1, 2, 3, 4))]
    others = [*FOUR, *({**row, "interface": "eth0"} for row in route("::/0", (1,))), *route("fe80::/64", (1,))]

    def judged(rows):
        return summary(ecmp.ecmp_paths(rows, "leaf", "rail_optimised", WAYS, rails, "ipv6", [], "bgp"))

    assert judged([*four, *others]) == []
    assert judged([*four[:3], *others]) == [
        ("fd00:52::/64: expected 4 next hops to gpu01 mlx5_3, got 3 next hops in the forwarding table, none over swp4", None)
    ]
    assert judged(others) == [("rails of leaf02: expected 4 next hops to gpu01 mlx5_3 (fd00:52::1), got no route", None)]


def test_a_rail_off_the_plan_is_no_want_of_paths():
    odd = {**RAILS[1], "address": "10.99.0.2"}
    (found,) = ecmp.ecmp_paths(FOUR, "leaf", "rail_optimised", WAYS, [RAILS[0], odd], "ipv4", [], "bgp")
    got = "no route; other rails of leaf02 are reached by 10.52.0.0/24"
    assert str(found) == f"gpu02 mlx5_3 (10.99.0.2): expected an address in a prefix that its leaf announces, got {got}"
    assert "off the address plan" in found.cause and "pod_rails" in found.fix
    (silent,) = ecmp.ecmp_paths(FOUR, "leaf", "rail_optimised", WAYS, [RAILS[0], {**odd, "leaf": "leaf03"}], "ipv4", [], "bgp")
    assert silent.cause.startswith("leaf03 does not announce")


def test_one_host_of_two_by_its_longest_prefix():
    assert judged_paths([*FOUR, *route("10.52.0.2/32", (1,))]) == [
        ("10.52.0.2/32: expected 4 next hops to gpu02 mlx5_3, got 1 next hop in the forwarding table, none over swp2, swp3, swp4", None)
    ]
    same = [*route("10.52.0.0/24", (1, 2), vrf="a"), *route("10.52.0.0/24", (3, 4), vrf="b")]
    assert len(judged_paths(same)) == 2


def test_paths_that_do_not_apply_or_are_not_planned():
    for role, topology, ways in (("spine", "rail_optimised", {}), ("leaf", "rail_only", WAYS)):
        with pytest.raises(NotApplicable):
            judged_paths(FOUR, role=role, topology=topology, ways=ways)
    assert judged_paths(FOUR, role="spine") == judged_paths(FOUR), "a spine below super-spines has ways"
    with pytest.raises(CannotTell, match="has an address"):
        judged_paths(FOUR, rails=[])


PAIR = {"source": "10.51.0.1", "target": "10.51.0.2", "device": "mlx5_0", "peer": "gpu02", "peer_device": "mlx5_0", "cross": False}


RAILS_OF_PAIR = [{"device": PAIR["device"], "netdev": "ens0np0", "gpu": 0, "leaf": "leaf01", "address": "10.50.0.1/24"}]


def ping(received=20, average=0.05, sent=20):
    loss = 100 - 100 * received / sent if sent else 0
    return {"source": PAIR["source"], "target": PAIR["target"], "sent": sent, "received": received, "loss_percent": loss, "rtt_avg_ms": average, "error": None}


def test_pings():
    where = "mlx5_0 to gpu02 mlx5_0 (10.51.0.2)"
    assert summary(routing.rails_reachable([ping()], [PAIR], 5.0, RAILS_OF_PAIR)) == []
    lossy = {**ping(16), "loss_percent": None}
    assert summary(routing.rails_reachable([lossy], [PAIR], 5.0, RAILS_OF_PAIR)) == [(f"{where}: expected no loss, got 20 % loss, 16 of 20", None)]
    assert summary(routing.rails_reachable([ping(0, None)], [PAIR], 5.0, RAILS_OF_PAIR)) == [(f"{where}: expected no loss, got 100 % loss, 0 of 20", None)]
    assert summary(routing.rails_reachable([ping(average=7.5)], [PAIR], 5.0, RAILS_OF_PAIR)) == [
        (f"{where}: expected at most 5 ms on average, got 7.5 ms", None)
    ]
    for rows in ([], [ping(0, None, 0)], [ping(average=None)], [{**ping(), "received": None}], [{**ping(), "target": "10.51.0.3"}]):
        assert unknown(routing.rails_reachable(rows, [PAIR], 5.0, RAILS_OF_PAIR))
    # What sent nothing names no tool that answers for it: the host lacks what pod_rails has.
    (nothing,) = routing.rails_reachable([], [PAIR], 5.0, RAILS_OF_PAIR)
    assert nothing.judged and "address_plan" in str(nothing.fix)
    with pytest.raises(CannotTell, match="no ping is planned"):
        list(routing.rails_reachable([ping()], [], 5.0, RAILS_OF_PAIR))


@pytest.mark.parametrize(
    ("error", "word"),
    [
        ("Network is unreachable", "ip rule"),
        ("Cannot assign requested address", "address_plan"),
        ("Operation not permitted", "nft list ruleset"),
        ("No buffer space available", "transmit queue"),
        ("Invalid argument", "by hand"),
    ],
)
def test_what_the_kernel_says_of_a_ping_that_it_does_not_send_is_the_finding(error, word):
    for row, lost in ((ping(0, None, None), "nothing was sent"), (ping(0, None), "100 % loss, 0 of 20"), (ping(16), "20 % loss, 16 of 20")):
        (found,) = routing.rails_reachable([{**row, "error": error}], [PAIR], 5.0, RAILS_OF_PAIR)
        assert (found.actual, found.severity) == (f"{lost}: {error}", None) and word in f"{found.cause} {found.fix}"
    assert summary(routing.rails_reachable([{**ping(), "error": error}], [PAIR], 5.0, RAILS_OF_PAIR)) == [], "all were answered"


def test_a_ping_that_a_host_without_routes_does_not_answer_began_there():
    def found(error):
        return next(
            routing.rails_reachable([ping(0, None)], [PAIR], 5.0, RAILS_OF_PAIR, None, {"gpu01": [ping(0, None)], "gpu02": [{**ping(), "error": error}]})
        )

    assert found("Network is unreachable").began_at == ("gpu02", "") and found(None).began_at is None


def probe(answered, flows=16):
    return {"source": PAIR["source"], "target": PAIR["target"], "size_bytes": 9000, "flows": flows, "answered": answered}


def test_full_size_probes():
    def judged(rows, planned=(PAIR,), responder=(), pings=(PAIR,)):
        return summary(routing.path_carries_full_size(rows, list(planned), list(pings), responder))

    assert judged([probe(16)]) == []
    assert judged([probe(12)]) == [("mlx5_0 to gpu02 mlx5_0 (10.51.0.2): expected 16 flows of 9000 bytes answered, got 12", None)]
    assert judged([])[0][1] == judged([probe(0, 0)])[0][1] == "unknown"
    with pytest.raises(CannotTell, match="could not start the responder"):
        judged([probe(16)], responder=None)
    with pytest.raises(NotApplicable, match="hosts outside of this run"):
        judged([], planned=())
    with pytest.raises(CannotTell, match="pod_rails has no addresses"):
        judged([], planned=(), pings=())


HOST = [{"port": "Ethernet1/1", "peer": "gpu01", "peer_port": "ens1np0", "peer_role": "host"}]
SPINE = [{"port": "Ethernet33/1", "peer": "spine01", "peer_port": "Ethernet0", "peer_role": "spine"}]
LEAF = [{"port": "ens1np0", "peer": "leaf01", "peer_port": "Ethernet1/1", "peer_role": "leaf"}]


def size(port, mtu):
    return [{"port": port, "mtu": mtu}]


def test_mtu_of_both_ends():
    assert summary(routing.path_mtu(size("Et33/1", 9214), {"spine01": size("Ethernet0", 9214)}, SPINE, "leaf")) == []
    assert summary(routing.path_mtu(size("Et33/1", 1500), {"spine01": size("Ethernet0", 9214)}, SPINE, "leaf")) == [
        ("Ethernet33/1: expected the MTU of spine01 Ethernet0, 9214, got 1500", None)
    ]
    assert len(list(routing.path_mtu(size("Et33/1", 9216), {"spine01": size("Ethernet0", 9214)}, SPINE, "leaf"))) == 1


def test_the_end_with_less_than_most_ports_of_the_pod_is_the_one_that_is_named():
    peers = {"leaf01": size("Et33/1", 9000), "leaf02": size("Et33/1", 9000), "spine01": size("Ethernet0", 1500)}
    assert summary(routing.path_mtu(size("Et33/1", 9000), peers, SPINE, "leaf")) == []
    down = [{**SPINE[0], "port": "Ethernet0", "peer": "leaf01", "peer_port": "Ethernet33/1", "peer_role": "leaf"}]
    assert len(summary(routing.path_mtu(size("Ethernet0", 1500), peers, down, "spine"))) == 1
    # Where most ports have the smaller one, both ends are named.
    spare = {f"spine0{number}": size("Ethernet0", 1500) for number in range(1, 6)}
    assert len(summary(routing.path_mtu(size("Et33/1", 9000), {**peers, **spare}, SPINE, "leaf"))) == 1


def test_a_leaf_may_take_more_than_its_host_sends():
    assert summary(routing.path_mtu(size("Et1/1", 9214), {"gpu01": size("ens1np0", 9000)}, HOST, "leaf")) == []
    assert summary(routing.path_mtu(size("ens1np0", 9000), {"leaf01": size("Et1/1", 9214)}, LEAF, "host")) == []
    assert summary(routing.path_mtu(size("Et1/1", 1500), {"gpu01": size("ens1np0", 9000)}, HOST, "leaf")) == [
        ("Ethernet1/1: expected at least the MTU of gpu01 ens1np0, 9000, got 1500", None)
    ]
    assert summary(routing.path_mtu(size("ens1np0", 9000), {"leaf01": size("Et1/1", 1500)}, LEAF, "host")) == [
        ("ens1np0: expected at most the MTU of leaf01 Ethernet1/1, 1500, got 9000", None)
    ]
    (of_host,) = routing.path_mtu(size("ens1np0", 9000), {"leaf01": size("Et1/1", 1500)}, LEAF, "host")
    (of_leaf,) = routing.path_mtu(size("Et1/1", 1500), {"gpu01": size("ens1np0", 9000)}, HOST, "leaf")
    assert of_host.began_at == ("leaf01", "Ethernet1/1") and of_leaf.began_at is None


def test_an_mtu_that_is_not_reported_is_unknown():
    peers = {"gpu01": size("ens1np0", 9000)}
    assert unknown(routing.path_mtu([], peers, HOST, "leaf"))
    assert unknown(routing.path_mtu(size("Et1/1", None), peers, HOST, "leaf"))
    assert unknown(routing.path_mtu(size("Et1/1", 9000), {"gpu01": size("eno1", 1500)}, HOST, "leaf"))
    with pytest.raises(NotApplicable, match="MTU of the peers: not reported"):
        list(routing.path_mtu(size("Et1/1", 9000), {}, HOST, "leaf"))
    with pytest.raises(CannotTell):
        list(routing.path_mtu(size("Et1/1", 9000), peers, [], "leaf"))


def ratio(hosts, uplinks, role="leaf", topology="rail_optimised"):
    cables = [{"peer_role": "host"}] * hosts + [{"peer_role": "spine"}] * uplinks
    return summary(capacity.oversubscription(role, topology, cables, 400.0, 1.0, 2.0))


def test_oversubscription():
    assert ratio(32, 32) == []
    assert ratio(32, 20) == [("uplinks: expected at most 1:1, got 1.6:1 (32 host ports, 20 uplinks)", "warn")]
    assert ratio(32, 8) == [("uplinks: expected at most 2:1, got 4:1 (32 host ports, 8 uplinks)", None)]
    assert ratio(32, 0) == [("uplinks: expected at least one, got none in the wiring plan", None)]
    for role, topology in (("spine", "rail_optimised"), ("leaf", "rail_only")):
        with pytest.raises(NotApplicable):
            ratio(32, 4, role, topology)


def test_uplinks_count_by_their_speed():
    cables = [{"peer_role": "host", "gbit_s": None}] * 32 + [{"peer_role": "spine", "gbit_s": 800.0}] * 16
    assert summary(capacity.oversubscription("leaf", "rail_optimised", cables, 400.0, 1.0, 2.0)) == []
    assert summary(capacity.oversubscription("leaf", "rail_optimised", cables[:-8], 400.0, 1.0, 2.0)) == [
        ("uplinks: expected at most 1:1, got 2:1 (32 host ports, 8 uplinks)", "warn")
    ]


def test_rtt_uniform():
    def judged(*times, host="gpu01"):
        rows = [{"source": f"10.0.{number}.1", "received": int(time is not None), "rtt_min_ms": time} for number, time in enumerate(times)]
        return [(one.host, str(one)) for one in routing.rtt_uniform({host: rows}, 5, 0.5)]

    assert judged(0.05, 0.06, 0.05, 0.4) == []
    assert judged(0.05, 0.06, 0.05, 0.9) == [("gpu01", "10.0.3.1: expected at most 0.5 ms (the group's median is 0.055), got 0.9 ms")]
    assert judged(0.3, 0.3, 0.3, 1.2) == []
    for times in ((0.05,), (0.05, None)):
        with pytest.raises(NotApplicable):
            judged(*times)
    untimed = [{"source": "10.0.0.1", "received": 5, "rtt_min_ms": None}]
    assert [one.severity for one in routing.rtt_uniform({"gpu01": untimed}, 5, 0.5)] == ["unknown"]


def installed(*hops, prefix="10.51.0.0/24", **values):
    row = {"vrf": "default", "prefix": prefix, "protocol": "bgp", "installed": True, "interface": None, **values}
    return [{**row, "next_hop": hop} for hop in hops]


def kernel(*hops, prefix="10.51.0.0/24", usable=True):
    return [{"prefix": prefix, "protocol": "bgp", "next_hop": hop, "interface": "swp1", "usable": usable} for hop in hops]


def test_kernel_forwards():
    def judged(routes, of_kernel):
        return [str(one) for one in routing.kernel_forwards(routes, of_kernel, "ipv4", "bgp")]

    four = installed("a", "b", "c", "d")
    assert judged(four, kernel("a", "b", "c", "d")) == []
    assert judged(four, kernel("a", "b", "c")) == ["10.51.0.0/24: expected 4 next hops, as the daemon shows, got 3 in the kernel"]
    assert judged(four, [*kernel("a", "b", "c"), *kernel("d", usable=False)]) == judged(four, kernel("a", "b", "c"))
    assert judged(four, kernel("a", prefix="10.52.0.0/24")) == ["10.51.0.0/24: expected 4 next hops, as the daemon shows, got no route in the kernel"]
    assert judged(installed("a", prefix="10.7.7.7/32"), kernel("a", prefix="10.7.7.7")) == []
    for prefix, of_kernel in (("fd00:7::7/128", "fd00:7::7"), ("::/0", "default")):
        assert list(routing.kernel_forwards(installed("a", prefix=prefix), kernel("a", prefix=of_kernel), "ipv6", "bgp")) == []
    assert judged(installed("a", prefix="0.0.0.0/0"), kernel("a", prefix="default")) == []
    # What is not installed, not of BGP or of another VRF is not asked of the kernel's main table.
    aside = [*installed("e", installed=False), *installed("e", protocol="connected"), *installed("e", vrf="blue", prefix="10.9.0.0/24")]
    assert judged([*four, *aside], kernel("a", "b", "c", "d")) == []
    with pytest.raises(NotApplicable):
        judged(aside, [])


def test_a_session_that_no_plan_names_hides_none_that_is_down():
    """Overlay sessions have the AS of the spines, too, and stay up while any path does."""
    neighbors = [uplink(number, None) for number in (1, 2, 3, 4)]
    overlay = [session(number, name="10.255.0.{}") for number in (1, 2, 3, 4)]
    assert bgp([*sessions(), *overlay], neighbors) == []
    hidden = bgp([*sessions(session(1, "Active")), *overlay], neighbors)
    assert unknown(hidden) and "172.16.0.1 Active" in str(hidden[0]) and "no address" in str(hidden[0])


def test_a_neighbor_of_two_vrfs_is_established_in_both():
    down = {**session(1, "Active"), "vrf": "tenant"}
    for rows in ([down, *sessions()], [*sessions(), down]):
        assert [str(one) for one in bgp(rows)] == ["spine01 (172.16.0.1): expected Established with AS 65000, got Active with AS 65000"]


def test_an_unnumbered_session_is_found_by_any_spelling_of_its_port():
    neighbors = [{**uplink(number, None), "port": f"Ethernet{number}/1"} for number in (1, 2, 3, 4)]
    found = bgp(sessions(session(1, "Connect", name="Et{}/1"), name="Et{}/1"), neighbors)
    assert [(str(one), one.where.port) for one in found] == [
        ("spine01 (Ethernet1/1): expected Established with AS 65000, got Connect with AS 65000", "Ethernet1/1")
    ]


def test_a_rail_that_nobody_pings_is_unknown():
    lonely = {"device": "mlx5_5", "netdev": "ens5np0", "gpu": 1, "leaf": "leaf02"}
    assert summary(routing.rails_reachable([ping()], [PAIR], 5.0, [*RAILS_OF_PAIR, lonely])) == [
        ("mlx5_5: expected a ping to a rail of another host, got none is planned: pod_rails has no address of it", "unknown")
    ]
    (finding,) = routing.rails_reachable([ping()], [PAIR], 5.0, [*RAILS_OF_PAIR, lonely])
    assert "does not say which address" in str(finding.cause) and "pod_rails" in str(finding.fix)
    with_address = {**lonely, "address": "10.55.0.1/24"}
    assert summary(routing.rails_reachable([ping()], [PAIR], 5.0, [*RAILS_OF_PAIR, with_address])) == [
        ("mlx5_5: expected a ping to a rail of another host, got none is planned: no other host under test has an address of such a rail", "unknown")
    ]


def test_lost_pings_of_a_host_whose_table_of_neighbors_was_full():
    full = [{"event": "neighbors_full"}]
    (plain,) = routing.rails_reachable([ping(16)], [PAIR], 5.0, RAILS_OF_PAIR, [{"event": "link_up"}])
    (one,) = routing.rails_reachable([ping(16)], [PAIR], 5.0, RAILS_OF_PAIR, full)
    assert plain.cause is None and "gc_thresh3" in one.cause and "gc_thresh3" in one.fix
    assert list(routing.rails_reachable([ping()], [PAIR], 5.0, RAILS_OF_PAIR, full)) == []


def test_a_switch_without_a_router_id_is_named():
    down = [session(number, "Active") | {"router_id": "0.0.0.0"} for number in range(1, 5)]
    others = {f"spine0{number}": [session(9), session(8, "Idle")] for number in range(1, 5)}
    neighbors = [uplink(number) for number in range(1, 5)]
    causes = {one.cause for one in bgp_established(down, neighbors, UPLINKS, "leaf01", {"leaf01": down, **others})}
    assert len(causes) == 1 and "leaf01 has no router ID" in causes.pop()
    named = [row | {"router_id": "10.255.1.1"} for row in down]
    assert not any("router ID" in one.cause for one in bgp_established(named, neighbors, UPLINKS, "leaf01", {"leaf01": named, **others}))


def test_sessions_in_a_vrf_that_is_not_planned_say_what_to_set():
    ways, rails = {"leaf02": ["swp1"], "leaf03": ["swp1"]}, [{**RAILS[0], "leaf": leaf} for leaf in ("leaf02", "leaf03")]
    for vrf, words in (("RAILS", "pod_rail_vrf to RAILS"), ("default", "bgp_established of this switch")):
        rows = [{**session(1), "vrf": vrf, "prefixes_received": 8}]
        found = list(ecmp.ecmp_paths([], "leaf", "rail_optimised", ways, rails, "ipv4", [uplink(1)], "bgp", rows))
        assert len(found) == 2 and all(words in one.fix for one in found)
