# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An uplink that is shut on purpose: what was seen of it, what it did to flows, and whether all is as before."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.routing.failover import reconvergence_time, restored_after_failure

LINK = {"leaf": "leaf01", "port": "Ethernet33", "spine": "spine01", "spine_port": "Ethernet1"}
PLACE = {"pod_node": "leaf01", "pod_role": "leaf", "pod_topology": "rail_optimised", "pod_failover_link": LINK, "pod_reconvergence_max_ms": 1000}
NEIGHBOR = {"port": "Ethernet33", "peer": "spine01", "address": "10.0.1.1", "asn": 65000}


def states(*words):
    """The port's state, one reading every ten seconds."""
    return [{"port": "Ethernet33", "state": word, "seconds": 10.0 * number, "sample": number} for number, word in enumerate(words)]


SHUT = states("connected", "disabled", "disabled", "connected", "connected")


def probe(*events, flows=16, item="failover mlx5_0"):
    """The rows of a host's probe; an event: from, until (None: to the end), longest in ms, flows lost."""
    row = {"item": item, "source": "10.1.0.1", "target": "10.2.0.2", "flows": flows, "sent": 1000, "answered": 990}
    blank = {"from_s": None, "until_s": None, "longest_ms": None, "flows_lost": None, "flows_not_back": None}
    found = [
        {**row, "from_s": begin, "until_s": until, "longest_ms": longest, "flows_lost": lost, "flows_not_back": lost if until is None else 0}
        for begin, until, longest, lost in events
    ]
    return found or [{**row, **blank}]


def rerouted(during=SHUT, rows=None, jobs=None, uplinks=4, **place):
    rows = {"gpu01": probe((5.0, 5.2, 200, 4))} if rows is None else rows
    given = {**PLACE, **place}
    return list(reconvergence_time(rows, jobs or {}, pod_uplinks=uplinks, interface_status_during=during, **given))


def restored(rows=None, during=SHUT, neighbors=(NEIGHBOR,), session=("Established", 20), before=20, routes=None, **place):
    summary = [{"neighbor": "10.0.1.1", "state": session[0], "prefixes_received": session[1]}] if session else []
    was = [{"neighbor": "10.0.1.1", "state": "Established", "prefixes_received": before, "seconds": 0.0}]
    given = {**PLACE, **place, "bgp_summary": summary, "bgp_summary_during": was, "ecmp_routes": routes, "interface_status_during": during}
    return list(restored_after_failure(rows or {"gpu01": probe()}, pod_neighbors=list(neighbors), pod_underlay="bgp", **given))


def summaries(findings):
    return [(str(one), one.severity) for one in findings]


@pytest.mark.parametrize(
    ("during", "words"),
    [
        (None, "was not read while the probes ran"),
        ([], "was not read while the probes ran"),
        (states("connected", "connected"), "was not shut: it was up in each of 2 readings over 10 s"),
        (states("disabled", "disabled", "connected"), "was down before the probes began"),
    ],
)
@pytest.mark.parametrize("judge", [rerouted, restored])
def test_what_was_not_seen_to_go_down_is_no_pass(judge, during, words):
    with pytest.raises(CannotTell, match=words):
        judge(during=during)


@pytest.mark.parametrize("judge", [rerouted, restored])
def test_other_switches_and_pods_without_uplinks(judge):
    for node, role in (("leaf02", "leaf"), ("spine01", "spine")):
        with pytest.raises(NotApplicable, match="the link that is shut is Ethernet33"):
            judge(pod_node=node, pod_role=role)
    with pytest.raises(CannotTell, match="no leaf with two spines"):
        judge(pod_failover_link={})
    for place in ({"pod_topology": "rail_only"}, {"pod_role": "spine"}):
        with pytest.raises(NotApplicable):
            judge(pod_failover_link={}, **place)


def test_flows_that_move_in_time():
    assert rerouted() == []
    assert rerouted(rows={"gpu01": probe((5.0, 6.0, 1000, 4))}) == []


def test_flows_that_move_too_late():
    (found,) = rerouted(rows={"gpu01": probe((5.0, 9.0, 4000, 4)), "gpu02": probe((5.0, 5.2, 200, 3))})
    assert (found.where.port, found.cause) == ("Ethernet33", None)
    assert str(found) == (
        "Ethernet33 (to spine01 Ethernet1): expected no flow without an answer for longer than 1000 ms, got 4000 ms at most, "
        "gpu01 10.1.0.1 to 10.2.0.2; 4 flows in all"
    )


@pytest.mark.parametrize("event", [(5.0, 28.0, 23000, 4), (5.0, 20.5, 15500, 4), (5.0, None, 0, 4)])
def test_flows_that_wait_for_the_link(event):
    (found,) = rerouted(rows={"gpu01": probe(event)})
    assert "4 flows lost until it was up again, such as gpu01" in found.actual and "spine01" in found.cause and "leaf01" in found.fix


def test_that_no_flow_was_lost_proves_nothing_where_few_flows_may_have_crossed():
    assert rerouted(rows={"gpu01": probe(flows=64)}) == []
    with pytest.raises(CannotTell, match="of 16 flows over 4 uplinks it is not known"):
        rerouted(rows={"gpu01": probe()})
    with pytest.raises(CannotTell, match="no probe has crossed"):
        rerouted(rows={})


def test_a_loss_while_nothing_changes_is_distinguished():
    during = states("connected", "connected", "connected", "disabled", "connected")
    (found,) = rerouted(during, {"gpu01": probe((2.0, 2.1, 100, 1), (25.0, 25.3, 300, 4), (38.0, 38.1, 100, 2))})
    assert (found.severity, str(found.where)) == ("warn", "gpu01 to 10.2.0.2")
    # What begins once the link is back is of the other check.
    assert "2 s after the probes began" in found.actual


def test_a_probe_that_did_not_end_is_unknown():
    jobs = {"gpu02": [{"kind": "failover", "item": "failover mlx5_0", "status": "unknown", "words": "python3 was ended: "}, {"kind": "rung", "status": "fail"}]}
    assert [(one.severity, str(one.where)) for one in rerouted(jobs=jobs)] == [("unknown", "gpu02 failover mlx5_0")]


def test_a_link_that_comes_back_whole():
    routes = [{"protocol": "bgp", "interface": "Ethernet33", "installed": True, "selected": True}]
    assert restored() == restored(routes=routes) == restored(session=("Established", 21)) == []
    # By its AS alone a session is none of this link.
    assert restored(neighbors=[{**NEIGHBOR, "address": None}], session=None) == []


def test_a_link_that_stays_down():
    for during in (states("connected", "disabled"), states("connected", "disabled", "connected", "disabled")):
        assert summaries(restored(during=during)) == [
            ("Ethernet33 (to spine01 Ethernet1): expected connected again while the probes run, got disabled to their end", None)
        ]


def test_a_session_or_routes_that_stay_away():
    assert restored(session=("Active", None))[0].actual == "Active"
    assert restored(session=None)[0].actual == "no such neighbor"
    (found,) = restored(session=("Established", 12))
    assert (found.expected, found.actual) == ("20 prefixes from spine01, as before", "12")
    other = [{"protocol": "bgp", "interface": "Ethernet34", "installed": True, "selected": True}]
    assert restored(routes=other)[0].actual == "none of 1 next hop"


def test_a_session_that_nobody_read_is_unknown():
    found = restored_after_failure({}, pod_neighbors=[NEIGHBOR], pod_underlay="bgp", interface_status_during=SHUT, bgp_summary=None, **PLACE)
    assert [one.severity for one in found] == ["unknown"]


def test_traffic_that_is_lost_when_the_link_comes_back():
    assert restored(rows={"gpu01": probe((29.0, 29.5, 500, 3))}) == []
    (found,) = restored(rows={"gpu01": probe((29.0, 33.0, 4000, 3))})
    assert "3 flows without an answer, for 4000 ms" in found.actual and "came back" in found.cause
    (found,) = restored(rows={"gpu01": probe((5.0, None, 0, 3))})
    assert "until the probes ended" in found.actual
