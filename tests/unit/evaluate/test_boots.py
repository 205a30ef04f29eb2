# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a node has booted between two responses, and what that does to the gates below."""

from __future__ import annotations

import typing as t
from datetime import date
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.boot_check import verdicts_of_boots
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.boots import Boot, boot_of, booted_since, earliest, has_booted
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.gates import Gate
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.layer_input import Layer
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.membership import close_below, enter_first_layer, record_gates
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.state import State
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.evaluate_layer import verdicts_of_layer

from ..conftest import small_plan

DAY = 86400.0


@pytest.mark.parametrize(
    ("then", "now", "booted"),
    [
        (Boot("a", 5.0, 0.0), Boot("a", 5.0, DAY), False),
        (Boot("a", 5.0, 0.0), Boot("b", DAY, 1.0), True),
        (Boot(None, None, 0.0), Boot(None, None, 9.0), None),
        (Boot("a", None, 0.0), Boot(None, 9.0, 9.0), None),
        (Boot(None, DAY, 0.0), Boot(None, DAY + 600, 600.0), False),
        (Boot(None, DAY, 0.0), Boot(None, DAY + 545, 600.0), False),
        (Boot(None, DAY, 0.0), Boot(None, DAY + 535, 600.0), True),
        (Boot(None, DAY, 0.0), Boot(None, 30.0, 600.0), True),
        # It has been up for longer than before, and was down for a part of the time.
        (Boot(None, 100.0, 0.0), Boot(None, 3000.0, DAY), True),
        # The controller's clock was set back between the two.
        (Boot(None, DAY, DAY), Boot(None, 30.0, 0.0), True),
        (Boot(None, DAY, DAY), Boot(None, DAY + 30, 0.0), False),
        (Boot(None, DAY, None), Boot(None, DAY + 30, None), None),
        (Boot(None, DAY, None), Boot(None, DAY + 30, 30.0), None),
        (Boot(None, DAY, 0.0), Boot(None, DAY + 30, None), None),
        # A clock and an uptime may be wrong by a minute together, an uptime in whole seconds by one.
        (Boot(None, DAY, 0.0), Boot(None, DAY + 540, 600.0), False),
        (Boot(None, DAY, 0.0), Boot(None, DAY + 539.5, 600.0), True),
        (Boot(None, DAY, 0.0), Boot(None, DAY - 1, 0.0), False),
        (Boot(None, DAY, 0.0), Boot(None, DAY - 1.5, 0.0), True),
        (Boot(None, DAY, 0.0), Boot("b", None, 9.0), None),
        (Boot("", 5.0, 0.0), Boot("b", 14.0, 9.0), False),
    ],
)
def test_a_boot_between_two_responses(then: Boot, now: Boot, booted: bool | None) -> None:
    assert has_booted(then, now) is booted


def test_only_a_node_that_was_asked_and_responded_reports_its_boot() -> None:
    response = {"answered": True, "contacted": True, "boot_id": "a", "uptime_seconds": 5.0, "asked_at": 9.0}
    assert boot_of(response) == Boot("a", 5.0, 9.0) == boot_of({name: value for name, value in response.items() if name != "contacted"})
    assert boot_of({**response, "answered": False}) is None and boot_of({**response, "contacted": False}) is None


def test_the_first_response_is_compared_with_all_others() -> None:
    first, later, other, unknown = Boot("a", None, 1.0), Boot("a", None, 2.0), Boot("b", None, 3.0), Boot(None, None, 4.0)
    assert earliest([other, later, first]) == first and earliest([Boot("c", None, 0.5), Boot("d", None, None)]).boot_id == "d"
    assert earliest([Boot("c", None, -0.5), Boot("d", None, None)]).boot_id == "c"
    assert [booted_since(first, boots) for boots in ([later], [later, other], [later, unknown], [unknown, other])] == [False, True, None, True]


def test_a_boot_that_is_not_reported_is_no_fault_of_text_captured_by_hand_and_each_node_is_judged_for_itself() -> None:
    def boot(boot_id: str | None) -> dict[str, t.Any]:
        return {"answered": True, "contacted": True, "boot_id": boot_id, "uptime_seconds": None, "asked_at": 0.0}

    layer = Layer("preflight", small_plan(), ["gpu01", "gpu02", "gpu03"], [], {}, {}, {}, (), date(2026, 6, 15))
    # The first has not booted, the second does not report, the third has booted.
    responses = [{node: boot("1") for node in layer.members}, {"gpu01": boot("1"), "gpu02": boot(None), "gpu03": boot("2")}]
    assert [one.host for one in verdicts_of_boots(layer, {}, responses)] == ["gpu02", "gpu03"]
    assert [one.host for one in verdicts_of_boots(layer, {}, responses, by_hand=True)] == ["gpu03"]
    without_the_first = [{node: one for node, one in envelopes.items() if node != "gpu01"} for envelopes in responses]
    assert [one.host for one in verdicts_of_boots(layer, {}, without_the_first)] == ["gpu02", "gpu03"]


def test_many_nodes_that_booted_together_have_one_cause() -> None:
    def causes(**uptimes: float) -> dict[str, bool]:
        layer = Layer("links", small_plan(), list(uptimes), [], {}, {}, {}, (), date(2026, 6, 15))
        status = {"answered": True, "contacted": True, "boot_id": None}
        before = {node: {**status, "uptime_seconds": DAY, "asked_at": 0.0} for node in uptimes}
        after = {node: {**status, "uptime_seconds": uptime, "asked_at": DAY} for node, uptime in uptimes.items()}
        found = verdicts_of_boots(layer, {}, [before, after])  # type: ignore[list-item]
        return {str(one.host): "power feed" in one.cause for one in found}

    together = {"leaf01": 600.0, "leaf02": 640.0, "gpu01": 700.0}
    assert causes(**together, gpu02=5000.0) == {"leaf01": True, "leaf02": True, "gpu01": True, "gpu02": False}
    assert causes(leaf01=600.0, leaf02=640.0) == {"leaf01": False, "leaf02": False}
    assert causes(leaf01=600.0, leaf02=640.0, gpu01=900.0) == {"leaf01": False, "leaf02": False, "gpu01": False}


class Run:
    """A run of the small plan in a directory, its layers held one after the other; nodes respond with nothing but their boot."""

    def __init__(self, directory: Path, **state: t.Any) -> None:
        self.book, self.plan = RunStore(directory), small_plan()
        given = {"pod": "p", "run_id": directory.name, "depth": "standard", "mode": "full", "opened": "", "digest": "d", "version": "1"}
        self.opened = State(**{**given, "scope": dict.fromkeys(self.plan.groups, "in"), **state})

    def start(self, earlier: State | None = None, **values: t.Any) -> Run:
        """Open it, from an earlier run where ``pod_from_layer`` says so."""
        enter_first_layer(self.plan, self.opened, {**next(iter(self.plan.nodes.values())).values, **values}, earlier, self.plan)
        self.book.keep_plan(self.plan, self.opened)
        self.book.keep_state(self.opened)
        return self

    def hold(self, layer: str, **boots: dict[str, t.Any]) -> dict[str, list[str]]:
        """Judge a layer in which all nodes respond, some with another boot; returns the nodes that ``same_boot`` names, with its words."""
        state = self.book.state()
        for node in state.members[layer]:
            output = {"answered": True, "words": "", "contacted": True, "boot_id": "1", "uptime_seconds": None, "asked_at": 0.0, **boots.get(node, {})}
            self.book.keep_answers(layer, node, "now", {}, output, [])
        _judged, verdicts = verdicts_of_layer(self.book, self.plan, state, layer, lambda _node: None)
        self.book.keep_state(state)
        return {one.host or "": one.words for one in verdicts if one.check == "same_boot"}


def test_a_node_that_booted_or_does_not_tell_is_unknown_for_the_groups_that_stand_on_it(tmp_path) -> None:
    run = Run(tmp_path).start(pod_to_layer="links")
    silent = {"boot_id": None}
    assert run.hold("preflight", leaf01={"contacted": False, **silent}) == {}
    assert run.book.state().boots["gpu01"]["layer"] == "preflight" and "leaf01" not in run.book.state().boots
    record_gates(run.plan, state := run.book.state(), "preflight", {group: Gate("open") for group in run.plan.groups}, "2026-06-15T12:00:00Z")
    run.book.keep_state(state)
    untold = "whether it booted since preflight is not known: it reports neither a boot id nor an uptime"
    assert run.hold("links", gpu01={"boot_id": "2"}, gpu02=silent) == {"gpu01": "booted since preflight", "gpu02": untold}


def test_gates_below_a_boot_do_not_stand_and_nothing_is_resumed_above_them(tmp_path) -> None:
    run = Run(tmp_path / "first").start(pod_to_layer="links")
    groups = list(run.plan.groups)
    for layer in ("preflight", "links"):
        run.hold(layer)
        record_gates(run.plan, state := run.book.state(), layer, {group: Gate("open") for group in groups}, "2026-06-15T12:00:00Z")
        run.book.keep_state(state)
    state = run.book.state()
    resumed = Run(tmp_path / "second").start(state, pod_from_layer="routing", pod_to_layer="routing", pod_gate_max_age_minutes=10**9)
    assert resumed.hold("routing", gpu01={"boot_id": "2"}) == {"gpu01": "booted since preflight"}
    close_below(state, "routing", ["rack_01"], "preflight", "gpu01 booted since preflight")
    assert [state.gates[layer]["rack_01"]["state"] for layer in ("preflight", "links")] == ["closed", "closed"]
    assert [state.gates[layer][group]["state"] for layer in ("preflight", "links") for group in groups if group != "rack_01"] in ([], ["open", "open"])
    state.scope = {"rack_01": "in"}
    with pytest.raises(Refused, match=r"preflight gate of rack_01 was closed in run first \(gpu01 booted since preflight\)"):
        Run(tmp_path / "third", scope={"rack_01": "in"}).start(state, pod_from_layer="routing", pod_to_layer="routing", pod_gate_max_age_minutes=10**9)
