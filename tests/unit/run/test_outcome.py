# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict of a run, state by state of its gates."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.gates import STATES
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.outcome import run_outcome
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.state import State

LAYERS = ("preflight", "links")


def run(gates: dict[str, dict[str, t.Any]], layers: t.Sequence[str] = LAYERS, **values: t.Any) -> State:
    """A finished run with the gates of some groups, each a state or a whole gate."""
    given = {"pod": "p", "run_id": "now", "depth": "standard", "mode": "full", "opened": "", "digest": "d", "version": "1", "finished": True}
    kept = {
        layer: {group: {"too_few": [], "reasons": [], "time": "", **({"state": one} if isinstance(one, str) else one)} for group, one in its.items()}
        for layer, its in gates.items()
    }
    scope = {group: "in" for its in gates.values() for group in its}
    return State(**{**given, "layers": list(layers), "gates": kept, "scope": scope, **values})


def both(preflight: t.Any, links: t.Any, **values: t.Any) -> State:
    return run({"preflight": {"rack_01": preflight}, "links": {"rack_01": links}}, **values)


def outcome(state: State, left_out: bool = False, expired: bool = False) -> tuple[str, list[str]]:
    return run_outcome(state, left_out, expired)


@pytest.mark.parametrize("gate", STATES)
def test_only_gates_that_are_open_in_every_layer_make_a_go(gate: str) -> None:
    expected = {
        "open": ("go", []),
        "closed": ("no_go", ["rack_01 failed layer links: why"]),
        "not_run": ("no_fault_seen", ["links was not run"]),
        "not_proved": ("no_fault_seen", ["links does not prove every required check: the reason was not recorded"]),
    }.get(gate, ("no_go", ["rack_01 did not reach every layer"]))
    assert outcome(both("open", {"state": gate, "reasons": ["why"]})) == expected


def test_a_group_whose_gates_are_open_not_run_and_not_proved_reached_every_layer() -> None:
    gates = {"preflight": "open", "links": "not_run", "routing": "not_proved"}
    every = run({layer: {"rack_01": state} for layer, state in gates.items()}, layers=tuple(gates))
    limits = ["links was not run", "routing does not prove every required check: the reason was not recorded"]
    assert outcome(every) == ("no_fault_seen", limits)


def test_a_run_that_has_not_ended_or_evaluated_no_group_is_a_no_go() -> None:
    assert outcome(both("open", "open", finished=False)) == ("no_go", ["the run has not ended"])
    assert outcome(both("open", "open", scope={"rack_01": "out"})) == ("no_go", ["no gate group was evaluated"])
    assert outcome(run({}, finished=False)) == ("no_go", ["the run has not ended"])


def test_check_mode_gives_no_verdict_once_it_has_ended() -> None:
    assert outcome(both("not_run", "not_run", check_mode=True)) == ("not_judged", ["check mode evaluates nothing"])
    assert outcome(both("open", "open", check_mode=True, finished=False))[0] == "no_go"


def test_one_bad_group_one_quarantined_host_or_one_expired_waiver_is_a_no_go() -> None:
    gates = {
        "preflight": {"rack_01": "open", "rack_02": "open", "rack_03": "open"},
        "links": {"rack_01": "open", "rack_02": {"state": "closed", "reasons": ["x"]}},
    }
    assert outcome(run(gates)) == ("no_go", ["rack_02 failed layer links: x", "rack_03 did not reach every layer"])
    out = {"gpu02": {"group": "rack_01", "layer": "preflight", "check": "mtu"}}
    assert outcome(both("open", "open", quarantined=out)) == ("no_go", ["gpu02 is quarantined by mtu"])
    assert outcome(both("open", "open"), expired=True) == ("no_go", ["a waiver has expired"])


def test_a_group_out_of_scope_is_not_evaluated_and_named() -> None:
    state = both("open", "open")
    state.scope = {"rack_01": "in", "rack_02": "out"}
    assert outcome(state) == ("no_fault_seen", ["rack_02 is out of scope"])
    state.scope = {"rack_01": "partly"}
    assert outcome(state) == ("go", [])


def test_a_gate_of_a_layer_below_that_a_reboot_closed_is_the_reason() -> None:
    state = both({"state": "closed", "reasons": ["same_boot on gpu01"]}, {"state": "closed", "reasons": ["crc on leaf01"]}, layers=["links"])
    assert outcome(state) == ("no_go", ["rack_01 failed layer preflight: same_boot on gpu01; and 1 more reason"])


def test_three_reasons_of_a_group_are_shown_and_the_others_counted() -> None:
    def words(reasons: list[str], unproved: t.Sequence[str] = ()) -> str:
        return outcome(both({"state": "closed", "reasons": reasons, "unproved": list(unproved)}, "not_reached"))[1][0].partition(": ")[2]

    assert words(["a"]) == "a"
    assert words(["a", "b"]) == "a; and 1 more reason" and words(["a", "b", "a"]) == "a; and 1 more reason"
    assert words(["a", "u1", "u2"], ["u1", "u2"]) == "a; u1; u2"
    assert words(["a", "u1", "u2", "u3"], ["u1", "u2", "u3"]) == "a; u1; u2; and 1 more reason"
    assert words(["u1"], ["u1"]) == "u1"


def test_reasons_that_other_findings_explain_are_counted_apart_and_never_the_first() -> None:
    found = {"ber on gpu01": ["ber", "gpu01"], "fec on leaf01": ["fec", "leaf01"], "ber on gpu02": ["ber", "gpu02"]}
    gate = {"state": "closed", "reasons": [*found, "no pass"], "found": found, "unproved": ["no pass"]}
    state = both("open", gate)

    def words(following: set[tuple[str, str, str]]) -> str:
        return run_outcome(state, False, False, following)[1][0].partition(": ")[2]

    assert words(set()) == "ber on gpu01; no pass; and 2 more reasons"
    behind = {("links", "ber", "gpu01"), ("links", "ber", "gpu02")}
    assert words(behind) == "fec on leaf01; no pass; and 2 reasons that other findings explain"
    assert words(behind - {("links", "ber", "gpu02")}) == "fec on leaf01; no pass; and 1 more reason and 1 reason that other findings explain"
    # One of another layer explains none of this one, and where all follow the first of them stands.
    assert words({("preflight", "fec", "leaf01")}) == words(set())
    assert words({("links", *one) for one in map(tuple, found.values())}).startswith("ber on gpu01; no pass; and 2 reasons that")


def test_what_a_go_lacks_is_listed() -> None:
    twice = run({"preflight": {"rack_01": "not_run"}, "links": {"rack_01": "not_run"}})
    assert outcome(twice) == ("no_fault_seen", ["preflight, links were not run"])
    few = {"state": "not_proved", "too_few": [("fair_share", "it takes 3 hosts"), ("dcqcn", "it takes 3 hosts"), ("marks", "it takes 2 hosts")]}
    assert outcome(run({"links": {"rack_01": few, "rack_02": few}}, ["links"])) == (
        "no_fault_seen", ["links does not prove fair_share, dcqcn: it takes 3 hosts", "links does not prove marks: it takes 2 hosts"],
    )  # fmt: skip
    assert outcome(both("open", "open", only="gpu01")) == ("no_fault_seen", ["only gpu01 was evaluated"])
    assert outcome(both("open", "open", replay="kept"))[1] == ["kept evidence was evaluated, and the pod may have changed since"]
    less = ["depth standard and mode full prove less than a complete run"]
    assert outcome(both("open", "open"), left_out=True) == ("no_fault_seen", less)
    assert [outcome(both("open", "open", **{name: value}))[0] for name, value in (("depth", "quick"), ("mode", "passive"), ("depth", "go_live"))] == [
        "no_fault_seen", "no_fault_seen", "go",
    ]  # fmt: skip
