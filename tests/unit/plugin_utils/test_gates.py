# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gates: who closes them, who is left out, and that every node is counted once."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.every import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.gates import counts, decide
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.judging import _by_group
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.verdicts import Verdict, Waiver, settle, waivers

from .conftest import GROUPS, small_plan

PORT_SPEED = REGISTRY["links"]["port_speed"]


def verdict(
    host: str | None, word: str = "pass", group: str | None = "rack_01", affects: tuple[str, ...] = ("rack_01",), check: str = "some_check", **more
) -> Verdict:
    return Verdict("links", check, group, host, word, affects, **more)


def states(plan, verdicts, checks=None) -> dict[str, str]:
    return {group: gate.state for group, gate in decide(plan, verdicts, GROUPS, checks, {}).items()}


@pytest.mark.parametrize(("word", "state"), [("pass", "open"), ("warn", "open"), ("skip", "open"), ("unknown", "closed"), ("fail", "closed")])
def test_only_unknown_and_fail_close(plan, word, state) -> None:
    assert states(plan, [verdict("gpu01", word)]) == {"rack_01": state, "rack_02": "open"}


def test_one_bad_host_port_closes_one_rack_of_all_that_the_leaf_serves(plan) -> None:
    bad = verdict("leaf01", "fail", None, ("rack_01", "rack_02"), findings=(Finding("Ethernet1", "a", "b", "fail"),))
    assert states(plan, [replace(bad, by_group=_by_group(plan, "leaf01", bad))]) == {"rack_01": "closed", "rack_02": "open"}
    whole = verdict("leaf01", "unknown", None, ("rack_01", "rack_02"))
    assert states(plan, [whole]) == {"rack_01": "closed", "rack_02": "closed"}


def test_a_required_check_without_a_pass_closes(plan) -> None:
    others = [verdict(host, "pass", group, (group,), "port_speed") for group, host in (("rack_02", "gpu03"),)]
    skipped = verdict("gpu01", "skip", check="port_speed", words="platform x has no reading interface_status")
    gates = decide(plan, [*others, skipped], GROUPS, [PORT_SPEED], {})
    assert (
        gates["rack_01"].reasons == ["required check port_speed has no pass (platform x has no reading interface_status)"] and gates["rack_02"].state == "open"
    )
    unjudged = decide(plan, others, GROUPS, [PORT_SPEED], {})["rack_01"]
    assert unjudged.reasons == unjudged.unproved == ["required check port_speed has no pass (it judged no node)"]
    failed = decide(plan, [*others, verdict("gpu01", "fail", check="port_speed")], GROUPS, [PORT_SPEED], {})["rack_01"]
    assert len(failed.reasons) == 2 and failed.unproved == [], "its finding says it"


@pytest.mark.parametrize("excuse", [{"left_out": True}, {"waived": ({"host": "gpu01"},)}])
def test_what_a_depth_or_a_waiver_left_out_is_not_asked_again(plan, excuse) -> None:
    both = [verdict("gpu01", "skip", check="port_speed", **excuse), verdict("gpu03", "pass", "rack_02", ("rack_02",), "port_speed")]
    assert states(plan, both, [PORT_SPEED]) == {"rack_01": "open", "rack_02": "open"}


def test_quarantine_leaves_out_as_many_as_it_may() -> None:
    plan = small_plan(pod_gate_policy="quarantine", pod_quarantine_max=1)
    bad = verdict("gpu01", "fail")
    gate = decide(plan, [bad, verdict("gpu02")], GROUPS, None, {})["rack_01"]
    assert (gate.state, gate.quarantined) == ("open", {"gpu01": "some_check"})
    assert decide(plan, [bad, verdict("gpu02")], GROUPS, None, {"rack_01": 1})["rack_01"].state == "closed"
    assert decide(plan, [bad, verdict("gpu02", "unknown")], GROUPS, None, {})["rack_01"].state == "closed"
    of_group = verdict(None, "fail", findings=(Finding("MTU", "a", "b", "fail", host="gpu01"),))
    assert decide(plan, [of_group, verdict("gpu02")], GROUPS, None, {})["rack_01"].quarantined == {"gpu01": "some_check"}
    switch = verdict("leaf01", "fail", None, ("rack_01", "rack_02"))
    assert decide(plan, [switch], GROUPS, None, {})["rack_01"].state == "closed"


def test_every_node_is_counted_once_by_its_worst(plan) -> None:
    rows = counts(
        plan,
        [verdict("gpu01", "warn"), verdict("gpu01", "fail"), verdict("gpu02", "skip"), verdict("leaf01", "pass", None, ("rack_01",))],
        {"gpu01", "gpu02", "leaf01", "leaf02"},
    )
    assert (rows["rack_01"]["fail"], rows["rack_01"]["skip"], rows["rack_02"]["out_of_scope"]) == (1, 1, 2)
    assert (rows["shared"]["pass"], rows["shared"]["not_reached"], rows["shared"]["out_of_scope"]) == (1, 1, 2)


TODAY = datetime.date(2026, 6, 15)
FOUND = [Finding("Ethernet1", "400", "100"), Finding("Ethernet2", "400", "100")]


def waived(*givens: Waiver) -> Verdict:
    return settle(verdict("leaf01", check="port_speed"), PORT_SPEED, list(FOUND), givens, TODAY)


def test_a_waiver_covers_one_finding_until_its_day() -> None:
    one = Waiver("port_speed", "leaf01", "Ethernet1", "spare ordered", TODAY)
    other = Waiver("port_speed", "leaf01", "Ethernet2", "spare ordered", TODAY)
    assert waived(one).verdict == "fail" and [finding.where for finding in waived(one).findings] == ["Ethernet2"]
    both = waived(one, other)
    assert (both.verdict, both.words, len(both.waived)) == ("skip", "waived until 2026-06-15: spare ordered", 2)
    expired = waived(one, Waiver("port_speed", "leaf01", "Ethernet2", "spare ordered", TODAY - datetime.timedelta(1)))
    assert expired.verdict == "fail" and "waiver expired on 2026-06-14: spare ordered" in expired.findings[0].actual
    assert waived(Waiver("port_speed", "leaf02", "Ethernet1", "x", TODAY)).waived == ()


def test_a_waiver_that_was_renewed_holds_beside_the_old_one() -> None:
    old, new = (Waiver("port_speed", "leaf01", "Ethernet2", "spare ordered", TODAY + datetime.timedelta(days)) for days in (-1, 7))
    for given in ((old, new), (new, old)):
        assert [finding.where for finding in waived(*given).findings] == ["Ethernet1"]


def test_wrong_waivers_are_named() -> None:
    whole = {"check": "port_speed", "host": "leaf01", "where": "Ethernet1", "reason": "x", "until": "2026-06-15"}
    given, wrong = waivers([whole, {**whole, "until": "soon"}, {**whole, "check": "nothing"}, {"check": "port_speed"}], {"port_speed"})
    assert [one.until for one in given] == [TODAY]
    assert (
        "waiver 2: until must be a date" in wrong[0]
        and "waiver 3 is for the check 'nothing'" in wrong[1]
        and "waiver 4 lacks host, where, reason, until" in wrong[2]
    )


def test_a_layer_without_checks_proves_nothing(plan):
    gates = decide(plan, [verdict("gpu01"), verdict("gpu02")], GROUPS, [], {})
    assert gates["rack_01"].state == "closed" and gates["rack_01"].reasons == ["the layer has no checks for this fabric"]


def test_what_any_member_of_a_group_needs_is_required_of_it(plan):
    pages = REGISTRY["preflight"]["hugepages_reserved"]
    first, second = plan.groups["rack_01"]
    plan.nodes[second] = replace(plan.nodes[second], values={**plan.nodes[second].values, "pod_hugepages_1g": 64})
    gates = decide(plan, [verdict(first, "skip", check="hugepages_reserved")], GROUPS, [pages], {})
    assert gates["rack_01"].state == "closed" and gates["rack_02"].state == "open"
