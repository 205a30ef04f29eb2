# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gates: who closes them, who is left out, and that every node is counted once."""

from __future__ import annotations

import datetime
import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import Place, at_device, at_node, at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.gates import count_nodes, decide_gates
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.shared_nodes import by_group
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.verdicts import Verdict, from_record, settle
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.waivers import Waiver, waivers, wrong_waivers

from ..conftest import GROUPS, small_plan

PORT_SPEED = REGISTRY["links"]["port_speed"]


def verdict(
    host: str | None, word: str = "pass", group: str | None = "rack_01", affects: tuple[str, ...] = ("rack_01",), check: str = "some_check", **more
) -> Verdict:
    return Verdict("links", check, group, host, word, affects, **more)


def states(plan, verdicts, checks=None) -> dict[str, str]:
    return {group: gate.state for group, gate in decide_gates(plan, verdicts, GROUPS, checks, {}).items()}


@pytest.mark.parametrize(("word", "state"), [("pass", "open"), ("warn", "open"), ("skip", "open"), ("unknown", "closed"), ("fail", "closed")])
def test_only_unknown_and_fail_close(plan, word, state) -> None:
    assert states(plan, [verdict("gpu01", word)]) == {"rack_01": state, "rack_02": "open"}


def test_one_bad_host_port_closes_one_rack_of_all_that_the_leaf_serves(plan) -> None:
    bad = verdict("leaf01", "fail", None, ("rack_01", "rack_02"), findings=(Finding(at_port("Ethernet1"), "a", "b", "fail"),))
    assert states(plan, [replace(bad, by_group=by_group(plan, "leaf01", bad))]) == {"rack_01": "closed", "rack_02": "open"}
    whole = verdict("leaf01", "unknown", None, ("rack_01", "rack_02"))
    assert states(plan, [whole]) == {"rack_01": "closed", "rack_02": "closed"}


def test_a_required_check_without_a_pass_closes(plan) -> None:
    others = [verdict(host, "pass", group, (group,), "port_speed") for group, host in (("rack_02", "gpu03"),)]
    skipped = verdict("gpu01", "skip", check="port_speed", words="platform x has no reading interface_status")
    gates = decide_gates(plan, [*others, skipped], GROUPS, [PORT_SPEED], {})
    assert (
        gates["rack_01"].reasons == ["required check port_speed has no pass (platform x has no reading interface_status)"] and gates["rack_02"].state == "open"
    )
    unjudged = decide_gates(plan, others, GROUPS, [PORT_SPEED], {})["rack_01"]
    assert unjudged.reasons == unjudged.unproved == ["required check port_speed has no pass (it evaluated no node)"]
    failed = decide_gates(plan, [*others, verdict("gpu01", "fail", check="port_speed")], GROUPS, [PORT_SPEED], {})["rack_01"]
    assert len(failed.reasons) == 2 and failed.unproved == [], "its finding says it"


@pytest.mark.parametrize("excuse", [{"left_out": True}, {"waived": ({"host": "gpu01"},)}])
def test_what_a_depth_or_a_waiver_left_out_is_not_asked_again(plan, excuse) -> None:
    both = [verdict("gpu01", "skip", check="port_speed", **excuse), verdict("gpu03", "pass", "rack_02", ("rack_02",), "port_speed")]
    assert states(plan, both, [PORT_SPEED]) == {"rack_01": "open", "rack_02": "open"}


def test_a_host_that_is_only_warned_beside_a_failing_one_is_not_left_out() -> None:
    plan = small_plan(pod_gate_policy="quarantine", pod_quarantine_max=1)
    found = (Finding(at_device("mlx5_0"), "a", "b", "fail", host="gpu01"), Finding(at_device("mlx5_0"), "a", "b", "warn", host="gpu02"))
    gate = decide_gates(plan, [verdict(None, "fail", findings=found), verdict("gpu02")], GROUPS, None, {})["rack_01"]
    assert (gate.state, gate.quarantined) == ("open", {"gpu01": "some_check"})


def test_a_shared_leaf_that_fails_at_a_port_of_another_group_is_proof_for_this_one(plan) -> None:
    required = [one for one in REGISTRY["links"].values() if one.is_required(plan.nodes["gpu01"].values) and "switch" in one.kinds][:1]
    leaf = verdict("leaf01", "fail", None, ("rack_01", "rack_02"), required[0].id, by_group={"rack_01": "fail", "rack_02": "pass"})
    assert states(plan, [leaf], required) == {"rack_01": "closed", "rack_02": "open"}


def test_quarantine_leaves_out_as_many_as_it_may() -> None:
    plan = small_plan(pod_gate_policy="quarantine", pod_quarantine_max=1)
    bad = verdict("gpu01", "fail")
    gate = decide_gates(plan, [bad, verdict("gpu02")], GROUPS, None, {})["rack_01"]
    assert (gate.state, gate.quarantined) == ("open", {"gpu01": "some_check"})
    assert decide_gates(plan, [bad, verdict("gpu02")], GROUPS, None, {"rack_01": 1})["rack_01"].state == "closed"
    assert decide_gates(plan, [bad, verdict("gpu02", "unknown")], GROUPS, None, {})["rack_01"].state == "closed"
    of_group = verdict(None, "fail", findings=(Finding(Place("MTU"), "a", "b", "fail", host="gpu01"),))
    assert decide_gates(plan, [of_group, verdict("gpu02")], GROUPS, None, {})["rack_01"].quarantined == {"gpu01": "some_check"}
    switch = verdict("leaf01", "fail", None, ("rack_01", "rack_02"))
    assert decide_gates(plan, [switch], GROUPS, None, {})["rack_01"].state == "closed"
    plan.groups["rack_01"].append("gpu03")
    assert [decide_gates(plan, [bad], ["rack_01"], None, {"rack_01": out})["rack_01"].state for out in (0, 1)] == ["open", "closed"]


def test_what_follows_from_another_finding_is_a_later_reason_than_that(plan) -> None:
    """Both are effects where a session is down, and pings follow from routes."""
    lost, route = verdict("gpu01", "fail", check="rails_reachable"), verdict("leaf01", "fail", None, ("rack_01",), check="ecmp_paths")
    (gate,) = decide_gates(plan, [lost, route], ["rack_01"], None, {}).values()
    assert gate.reasons == ["ecmp_paths on leaf01", "rails_reachable on gpu01"]
    errors, leaf = verdict("gpu01", "fail", check="nic_bit_error_rate"), verdict("leaf01", "fail", None, ("rack_01",), check="hosts_receive_cleanly")
    (gate,) = decide_gates(plan, [errors, leaf], ["rack_01"], None, {}).values()
    assert gate.reasons == ["hosts_receive_cleanly on leaf01", "nic_bit_error_rate on gpu01"]


def test_what_seldom_is_the_cause_is_the_last_reason_of_a_closed_gate(plan) -> None:
    """Whoever reads the last lines of a run alone is sent to the switch, not to the hosts that are slow for its sake."""
    slow, unread = verdict("gpu01", "fail", check="all_reduce_bandwidth"), verdict("gpu01", "unknown", check="switch_environment")
    drops = verdict("leaf01", "fail", None, ("rack_01",), check="switch_drops_under_load")
    (gate,) = decide_gates(plan, [slow, unread, drops], ["rack_01"], None, {}).values()
    assert gate.reasons == ["switch_drops_under_load on leaf01", "all_reduce_bandwidth on gpu01", "switch_environment is unknown on gpu01"]


def test_every_node_is_counted_once_by_its_worst(plan) -> None:
    rows = count_nodes(
        plan,
        [verdict("gpu01", "warn"), verdict("gpu01", "fail"), verdict("gpu02", "skip"), verdict("leaf01", "pass", None, ("rack_01",))],
        {"gpu01", "gpu02", "leaf01", "leaf02"},
    )
    assert (rows["rack_01"]["fail"], rows["rack_01"]["skip"], rows["rack_02"]["out_of_scope"]) == (1, 1, 2)
    assert (rows["shared"]["pass"], rows["shared"]["not_reached"], rows["shared"]["out_of_scope"]) == (1, 1, 2)


TODAY = datetime.date(2026, 6, 15)
FOUND = [Finding(at_port("Ethernet1"), "400", "100"), Finding(at_port("Ethernet2"), "400", "100")]


def waived(*givens: Waiver) -> Verdict:
    return settle(verdict("leaf01", check="port_speed"), PORT_SPEED, list(FOUND), givens, TODAY)


def test_a_waiver_covers_one_finding_until_its_day() -> None:
    one = Waiver("port_speed", "leaf01", "Ethernet1", "spare ordered", TODAY)
    other = Waiver("port_speed", "leaf01", "Ethernet2", "spare ordered", TODAY)
    assert waived(one).verdict == "fail" and [str(finding.where) for finding in waived(one).findings] == ["Ethernet2"]
    both = waived(one, other)
    assert (both.verdict, both.words, len(both.waived)) == ("skip", "waived until 2026-06-15: spare ordered", 2)
    expired = waived(one, Waiver("port_speed", "leaf01", "Ethernet2", "spare ordered", TODAY - datetime.timedelta(1)))
    assert expired.verdict == "fail" and "waiver expired on 2026-06-14: spare ordered" in expired.findings[0].actual
    assert {str(finding.where): finding.waiver_expired for finding in expired.findings} == {"Ethernet2": True}
    assert [finding.waiver_expired for finding in waived().findings] == [False, False]
    assert waived(Waiver("port_speed", "leaf02", "Ethernet1", "x", TODAY)).waived == ()


def test_a_waiver_that_was_renewed_holds_beside_the_old_one() -> None:
    old, new = (Waiver("port_speed", "leaf01", "Ethernet2", "spare ordered", TODAY + datetime.timedelta(days)) for days in (-1, 7))
    for given in ((old, new), (new, old)):
        assert [str(finding.where) for finding in waived(*given).findings] == ["Ethernet1"]


def test_wrong_waivers_are_named() -> None:
    whole = {"check": "port_speed", "host": "leaf01", "where": "Ethernet1", "reason": "x", "until": "2026-06-15"}
    assert [one.until for one in waivers([whole])] == [TODAY]
    changes = ({}, {"until": "soon"}, {"check": "nothing"}, {"host": "leaf09"}, {"unitl": "2026-06-15"}, {"until": "2027-06-16"}, {"until": "2027-06-17"})
    wrong = wrong_waivers([*({**whole, **change} for change in changes), {"check": "port_speed"}], {"port_speed"}, {"leaf01"}, TODAY)
    words = (
        "waiver 2 has until 'soon', which must be a date",
        "waiver 3 is for the check 'nothing', which does not exist",
        "waiver 4 is for the node 'leaf09', which is not in the inventory",
        "waiver 5 has the unknown key unitl",
        "waiver 7 is until 2027-06-17, more than a year from 2026-06-15",
        "waiver 8 lacks host, where, reason, until",
    )
    assert len(wrong) == len(words) and all(expected in got for expected, got in zip(words, wrong)), wrong


def test_a_layer_without_checks_proves_nothing(plan):
    gates = decide_gates(plan, [verdict("gpu01"), verdict("gpu02")], GROUPS, [], {})
    assert gates["rack_01"].state == "closed" and gates["rack_01"].reasons == ["the layer has no checks for this fabric"]


def test_what_any_member_of_a_group_needs_is_required_of_it(plan):
    pages = REGISTRY["preflight"]["hugepages_reserved"]
    first, second = plan.groups["rack_01"]
    plan.nodes[second] = replace(plan.nodes[second], values={**plan.nodes[second].values, "pod_hugepages_1g": 64})
    gates = decide_gates(plan, [verdict(first, "skip", check="hugepages_reserved")], GROUPS, [pages], {})
    assert gates["rack_01"].state == "closed" and gates["rack_02"].state == "open"


def test_a_group_of_which_every_member_is_bad_leaves_nobody_out() -> None:
    plan = small_plan(pod_gate_policy="quarantine", pod_quarantine_max=2)
    both = [verdict("gpu01", "fail"), verdict("gpu02", "unknown")]
    gate = decide_gates(plan, both, GROUPS, None, {})["rack_01"]
    assert (gate.state, gate.quarantined) == ("closed", {})
    assert gate.reasons == ["some_check on gpu01", "some_check is unknown on gpu02"]


def test_a_finding_about_others_than_those_left_out_closes_the_gate() -> None:
    plan = small_plan(pod_gate_policy="quarantine", pod_quarantine_max=1)
    of_one = (Finding(Place("MTU"), "a", "b", host="gpu01"),)
    cases = {"one": of_one, "none": (), "both": (*of_one, Finding(Place("MTU"), "a", "b", host="gpu02")), "group": (Finding(Place("MTU"), "a", "b"),)}
    gates = {
        name: decide_gates(plan, [verdict(None, "fail", findings=findings), verdict("gpu02")], GROUPS, None, {})["rack_01"] for name, findings in cases.items()
    }
    assert {name: (gate.state, gate.quarantined) for name, gate in gates.items()} == {
        "one": ("open", {"gpu01": "some_check"}), "none": ("closed", {}), "both": ("closed", {}), "group": ("closed", {}),
    }  # fmt: skip


def test_the_policy_is_that_of_the_groups_first_host() -> None:
    plan = small_plan(pod_gate_policy="quarantine", pod_quarantine_max=1)
    plan.nodes["gpu02"] = replace(plan.nodes["gpu02"], values={**plan.nodes["gpu02"].values, "pod_gate_policy": "all"})
    assert decide_gates(plan, [verdict("gpu01", "fail")], GROUPS, None, {})["rack_01"].quarantined == {"gpu01": "some_check"}


def test_quarantine_leaves_no_group_without_a_host() -> None:
    plan = small_plan(pod_gate_policy="quarantine", pod_quarantine_max=2)
    assert len(plan.groups["rack_01"]) == 2
    gate = decide_gates(plan, [verdict("gpu02", "fail")], ["rack_01"], None, {"rack_01": 1})["rack_01"]
    assert (gate.state, gate.quarantined) == ("closed", {})


def test_no_quarantine_is_allowed_where_none_may_be_left_out() -> None:
    plan = small_plan(pod_gate_policy="quarantine", pod_quarantine_max=0)
    assert decide_gates(plan, [verdict("gpu01", "fail")], GROUPS, None, {})["rack_01"].quarantined == {}
    assert decide_gates(small_plan(pod_quarantine_max=1), [verdict("gpu01", "fail")], GROUPS, None, {})["rack_01"].quarantined == {}


def test_the_pass_of_a_member_that_is_left_out_proves_nothing() -> None:
    plan = small_plan(pod_gate_policy="quarantine", pod_quarantine_max=1)
    found = [verdict("gpu01", "fail"), verdict("gpu01", check="port_speed"), verdict("gpu02", "skip", check="port_speed", words="not read")]
    gate = decide_gates(plan, found, GROUPS, [PORT_SPEED], {})["rack_01"]
    assert (gate.state, gate.reasons) == ("closed", ["required check port_speed has no pass (not read)"])


def left_out(words: str, **more: t.Any) -> Verdict:
    return verdict("gpu01", "skip", **{"check": "write_bw_per_rail", "words": words, "required": True, "left_out": True, **more})


def test_a_required_load_that_was_left_out_is_not_run() -> None:
    plan, load = small_plan(), replace(left_out("no load at depth quick"), layer="rdma")
    assert REGISTRY["rdma"]["write_bw_per_rail"].needs == "load"
    gate = decide_gates(plan, [load, load], GROUPS, None, {})["rack_01"]
    assert (gate.state, gate.reasons) == ("not_run", ["no load at depth quick"])
    for other in (
        replace(load, required=False),
        replace(load, left_out=False),
        replace(load, check="none_such"),
        replace(load, layer="links", check="port_speed"),
    ):
        assert decide_gates(plan, [other], GROUPS, None, {})["rack_01"].state == "open"
    assert decide_gates(plan, [load, verdict("gpu02", "fail")], GROUPS, None, {})["rack_01"].state == "closed"


def test_a_required_check_that_takes_more_hosts_is_not_proved() -> None:
    few = verdict("gpu01", "skip", words="it takes 3 hosts, and 2 took part", too_few=True, required=True)
    required = replace(few, check="port_speed")
    gate = decide_gates(small_plan(), [required], GROUPS, [PORT_SPEED], {})["rack_01"]
    assert (gate.state, gate.reasons) == ("not_proved", ["port_speed: it takes 3 hosts, and 2 took part"])
    assert gate.too_few == [("port_speed", "it takes 3 hosts, and 2 took part")]
    load = replace(left_out("no load at depth quick"), layer="rdma")
    both = decide_gates(small_plan(), [load, few], GROUPS, None, {})["rack_01"]
    assert (both.state, both.too_few) == ("not_run", [])
    for other in ([replace(few, required=False)], [replace(few, too_few=False)], [few, verdict("gpu02", "warn")], [few, verdict("gpu02")]):
        assert decide_gates(small_plan(), other, GROUPS, None, {})["rack_01"].state == "open"
    assert decide_gates(small_plan(), [few, verdict("gpu02", "skip")], GROUPS, None, {})["rack_01"].state == "not_proved"


def test_what_each_host_passes_for_itself_is_not_began_at_another() -> None:
    """A check of single hosts that knows nothing to judge one of them by; of a check of several hosts one pass is enough."""
    few = verdict("gpu01", "skip", words="no threshold is known for this GPU", too_few=True, required=True, check="port_speed")
    assert decide_gates(small_plan(), [few, replace(few, host="gpu02", verdict="pass", too_few=False)], GROUPS, None, {})["rack_01"].state == "not_proved"
    pair = replace(few, layer="rdma", check="write_bw_per_rail")
    assert decide_gates(small_plan(), [pair, replace(pair, host="gpu02", verdict="pass", too_few=False)], GROUPS, None, {})["rack_01"].state == "open"


def test_a_layer_of_which_the_platform_reports_nothing_that_is_required_is_not_proved() -> None:
    plan = small_plan()
    other = next(one for one in REGISTRY["links"].values() if one.is_required(plan.nodes["gpu01"].values) and one.id != "port_speed")
    required, optional = [PORT_SPEED, other], next(one for one in REGISTRY["links"].values() if not one.is_required(plan.nodes["gpu01"].values))

    def lacking(check: str, host: str = "gpu01") -> Verdict:
        return verdict(host, "skip", check=check, unavailable=True, words=f"the driver has no {check}")

    def gate(*verdicts: Verdict) -> t.Any:
        return decide_gates(plan, verdicts, GROUPS, required, {})["rack_01"]

    both = [lacking(one.id) for one in required]
    for more in ([], [lacking(optional.id)], [lacking("port_speed", "gpu02")], [verdict("gpu02", check=optional.id)]):
        found = gate(*both, *more)
        assert (found.state, found.too_few) == ("not_proved", [(one.id, f"the driver has no {one.id}") for one in required]), more
    assert gate(lacking("port_speed"), verdict("gpu01", check=other.id)).state == "open"
    assert gate(lacking("port_speed"), verdict("gpu01", "warn", check=other.id)).state == "open"
    waived = verdict("gpu01", "skip", check=other.id, waived=({"host": "gpu01"},))
    assert gate(lacking("port_speed"), waived).too_few == [("port_speed", "the driver has no port_speed")]


def test_a_reason_names_the_first_place_and_counts_the_others() -> None:
    def reason(*findings: Finding, host: str | None = "gpu01", word: str = "fail", group: str | None = "rack_01") -> str:
        bad = verdict(host, word, group, findings=findings)
        (only,) = decide_gates(small_plan(), [replace(bad, by_group=by_group(small_plan(), host, bad) if host else {})], GROUPS, None, {})["rack_01"].reasons
        return only

    assert reason() == "some_check on gpu01"
    assert reason(Finding(at_node("gpu01"), "a", "b")) == reason(Finding(Place(""), "a", "b")) == "some_check on gpu01"
    assert reason(Finding(at_device("mlx5_0"), "a", "b"), Finding(at_device("mlx5_1"), "a", "b", "warn")) == "some_check on gpu01 mlx5_0"
    assert reason(Finding(at_device("mlx5_0"), "a", "b"), Finding(at_device("mlx5_1"), "a", "b")) == "some_check on gpu01 mlx5_0 and 1 more"
    assert (
        reason(Finding(at_device("mlx5_0"), "a", "b", "warn"), Finding(at_device("mlx5_1"), "a", "b", "unknown"), word="unknown")
        == "some_check is unknown on gpu01 mlx5_1"
    )
    assert reason(Finding(Place("MTU"), "a", "b", host="gpu02"), host=None) == "some_check on gpu02 MTU"
    assert reason(host=None) == "some_check on rack_01"
    several = (Finding(Place("MTU"), "a", "b", host="gpu02"), Finding(at_node("gpu02"), "a", "b", host="gpu01"), Finding(Place("rail"), "a", "b", host="gpu03"))
    assert reason(*several, host=None) == "some_check on gpu02 MTU and 2 more"
    assert reason(Finding(Place("MTU"), "a", "b", host="gpu02"), Finding(Place(""), "a", "b", host="gpu01"), host=None) == "some_check on gpu02 MTU and 1 more"
    named = (Finding(Place("of rail 3", port="Ethernet3"), "a", "b"), Finding(Place("of rail 1", port="Ethernet1"), "a", "b"))
    assert reason(*named, host="leaf01", group=None) == "some_check on leaf01 of rail 1"
    ends = [Finding(at_port(f"Ethernet{number}"), "a", "b") for number in (3, 1, 2)]
    assert reason(*ends, host="leaf01", group=None) == "some_check on leaf01 Ethernet1 and 1 more", "Ethernet3 serves the other rack"


def test_a_node_is_counted_by_the_findings_of_group_checks_about_it(plan) -> None:
    of_group = (
        Finding(Place("MTU"), "a", "b", "warn", host="gpu01"),
        Finding(Place("MTU"), "a", "b", "unknown", host="gpu02"),
        Finding(Place("MTU"), "a", "b"),
    )
    found = [verdict("gpu01"), verdict("gpu01", "skip"), verdict("gpu02", "warn"), verdict(None, "fail", findings=of_group)]
    rows = count_nodes(plan, found, {"gpu01", "gpu02", "gpu03"})
    assert {state: number for state, number in rows["rack_01"].items() if number} == {"warn": 1, "unknown": 1}
    assert {state: number for state, number in rows["rack_02"].items() if number} == {"not_reached": 1, "out_of_scope": 1}
    passed = count_nodes(
        plan, [verdict("gpu01", "skip"), verdict("gpu01"), verdict(None, "fail", findings=(Finding(Place("MTU"), "a", "b", host="gpu02"),))], ()
    )
    assert (passed["rack_01"]["pass"], passed["rack_01"]["fail"]) == (1, 1)


def test_rows_that_lack_a_node_are_no_count(plan) -> None:
    class Twice(dict):
        def __len__(self) -> int:
            return 2 * super().__len__()

    with pytest.raises(AssertionError, match="do not add up to the inventory"):
        count_nodes(replace(plan, nodes=Twice(plan.nodes)), [], ())


def test_a_waiver_names_the_host_of_a_groups_finding_and_may_be_of_it() -> None:
    findings = [Finding(Place("MTU"), "a", "b", host="gpu01"), Finding(Place("MTU"), "a", "b", host="gpu02"), Finding(Place("MTU"), "a", "b")]

    def settled(host: str | None, *findings: Finding, of: str = "gpu01") -> Verdict:
        days = ("2026-06-16", "2026-06-17")
        given = [Waiver("port_speed", of, where, f"until {day}", datetime.date.fromisoformat(day)) for where, day in zip(("MTU", "Ethernet1"), days)]
        return settle(verdict(host, check="port_speed"), PORT_SPEED, list(findings), given, TODAY)

    of_group = settled(None, *findings)
    assert [one["host"] for one in of_group.waived] == ["gpu01"] and [one.host for one in of_group.findings] == ["gpu02", None]
    assert (of_group.verdict, of_group.words) == ("fail", "")
    of_node = settled("gpu01", Finding(Place("MTU"), "a", "b"), Finding(at_port("Ethernet1"), "a", "b"))
    assert [(one["host"], one["until"], one["reason"]) for one in of_node.waived] == [
        ("gpu01", "2026-06-16", "until 2026-06-16"), ("gpu01", "2026-06-17", "until 2026-06-17"),
    ]  # fmt: skip
    assert (of_node.verdict, of_node.words) == ("skip", "waived until 2026-06-16: until 2026-06-16"), "the first of them"


def test_a_verdict_keeps_its_words_where_a_finding_stands() -> None:
    result = replace(verdict("leaf01", check="port_speed"), words="of two ports")
    assert settle(result, PORT_SPEED, list(FOUND), [Waiver("port_speed", "leaf01", "Ethernet1", "x", TODAY)], TODAY).words == "of two ports"


def test_a_verdict_survives_its_record() -> None:
    plain = verdict(
        "gpu01", "fail", findings=(Finding(at_port("Ethernet1"), "a", "b"), Finding(Place("", port="Ethernet7"), "a", "b", "warn", host="gpu02", value=3))
    )
    assert (plain.required, plain.left_out, plain.too_few) == (False, False, False)
    record = plain.record()
    first, second = record["findings"]
    assert (first["where"], first["severity"], first["host"]) == ("Ethernet1", "fail", "gpu01")
    assert (second["where"], second["severity"], second["host"], second["port"], second["value"]) == ("", "warn", "gpu02", "Ethernet7", 3)
    whole = replace(plain, required=True, left_out=True, too_few=True, by_group={"rack_01": "warn"}, words="why", findings=())
    assert from_record(whole.record()) == whole
    named = replace(plain.findings[0], host="gpu01", severity="fail")
    assert from_record(record) == replace(plain, findings=(named, plain.findings[1]))
    older = {name: value for name, value in whole.record().items() if name not in ("too_few", "left_out")}
    assert from_record(older) == replace(whole, too_few=False, left_out=False)
