# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who climbs where: focus, --limit, resuming, quarantine and the outcome, by plain calls."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import climb
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.focus import Focus, focus_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.gates import Gate
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.opening import Refused

BOTH = ["rack_01", "rack_02"]
SWITCHES = ["leaf01", "leaf02", "spine01", "spine02"]
HOSTS = ["gpu01", "gpu02", "gpu03", "gpu04"]


def state(plan, **values):
    """A run of this pod that was just opened."""
    given = {"pod": "p", "run_id": "now", "depth": "standard", "mode": "full", "opened": "", "digest": "d", "version": "1"}
    return climb.State(**{**given, "scope": dict.fromkeys(plan.groups, "in"), **values})


def values_of(plan, **more):
    return {**next(iter(plan.nodes.values())).values, **more}


def started(plan, earlier=None, of_state=None, **more):
    one = state(plan, **(of_state or {}))
    climb.start(plan, one, values_of(plan, **more), earlier)
    return one


def ago(minutes):
    return (datetime.now(UTC) - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def proved(plan, minutes=1, **values):
    """An earlier run whose first two layers stand open."""
    gates = {layer: {group: {"state": "open", "reasons": [], "time": ago(minutes)} for group in BOTH} for layer in ("preflight", "links")}
    return state(plan, run_id="before", gates=gates, **values)


def test_a_state_survives_json(plan):
    one = started(plan, of_state={"focus": Focus(nodes=["gpu01"]), "only": "gpu01"})
    assert climb.load(json.loads(json.dumps(one.dump()))) == one


def test_everybody_starts(plan):
    one = started(plan)
    assert one.layers[0] == "preflight" and one.members["preflight"] == [*HOSTS, *SWITCHES]
    assert climb.climbing(plan, one, "preflight") == BOTH and climb.partners(plan, one, one.members["preflight"]) == HOSTS


def test_others_help_to_load_what_pod_only_names(plan):
    plan.groups["rack_01"] += ["gpu03"]
    focused = {"focus": Focus(nodes=["gpu01"]), "members": {layer: ["gpu01"] for layer in ("routing", "congestion", "collectives")}}
    one = state(plan, **focused, lent=["gpu01", "gpu03", "gpu04"])
    assert {layer: climb.loaders(plan, one, layer) for layer in one.members} == {"routing": [], "congestion": ["gpu03"], "collectives": ["gpu03"]}
    assert climb.loaders(plan, state(plan, **focused), "congestion") == []
    assert climb.loaders(plan, state(plan, **{**focused, "focus": None}, lent=HOSTS), "congestion") == []


@pytest.mark.parametrize(
    ("only", "nodes", "places"),
    [
        ("leaf01:Ethernet1", ["leaf01", "gpu01"], ["leaf01:Ethernet1", "gpu01:ens0"]),
        ("gpu03", ["gpu03"], []),
        ("ens1", ["gpu01", "leaf02", "gpu02", "gpu03", "gpu04"], None),
    ],
)
def test_what_pod_only_names(plan, only, nodes, places):
    focus = focus_of(plan, only)
    assert focus.nodes == nodes and (places is None or focus.places == places)


def test_a_rail_is_named_by_its_own_port_and_no_longer_one(plan):
    for node in plan.nodes.values():
        for rail in node.values["pod_rails"]:
            rail["netdev"] = {"ens0": "ens10", "ens1": "ens1"}[rail["netdev"]]
    assert "gpu01:ens1" in focus_of(plan, "ens1").places
    # The cables of the small plan are called as the rails were.
    assert focus_of(plan, "ens10").places == [f"gpu0{host}:{name}" for host in range(1, 5) for name in ("mlx5_0", "ens10")]


def test_pod_only_of_a_layer_or_a_check(plan):
    assert focus_of(plan, "links").layers == ["links"]
    assert (focus_of(plan, "crc_clean").check, focus_of(plan, "crc_clean").layers) == ("crc_clean", ["links"])
    assert focus_of(plan, "") is None


@pytest.mark.parametrize(
    ("only", "words"), [("leaf99", "must be a node"), ("leaf01:Ethernet77", "has no cable on port 'Ethernet77'"), ("speed", "not 'speed'")]
)
def test_pod_only_of_nothing_is_refused(plan, only, words):
    with pytest.raises(Refused) as refused:
        focus_of(plan, only)
    assert words in refused.value.reasons[0]


def test_limit(plan):
    everybody = [*HOSTS, *SWITCHES]
    assert climb.scope(plan, everybody, None) == ({"rack_01": "in", "rack_02": "in"}, {})
    groups, silent = climb.scope(plan, ["gpu01", "gpu02", *SWITCHES], None)
    assert groups == {"rack_01": "in", "rack_02": "out"} and silent == {}
    groups, silent = climb.scope(plan, ["gpu01", *SWITCHES], None)
    assert groups["rack_01"] == "partly" and list(silent) == ["gpu02"] and "add rack_01 to --limit" in silent["gpu02"]
    _groups, silent = climb.scope(plan, HOSTS, None)
    assert list(silent) == SWITCHES and "rack_01:leaves:spines" in silent["leaf01"]
    groups, silent = climb.scope(plan, HOSTS, Focus(nodes=["gpu03"]))
    assert groups == {"rack_01": "out", "rack_02": "in"} and silent == {}


def test_a_closed_gate_stops_its_group_and_nobody_else(plan):
    one = started(plan)
    climb.hold(plan, one, "preflight", {"rack_01": Gate("closed", ["x"]), "rack_02": Gate("open")}, ago(0))
    assert one.members["links"] == ["gpu03", "gpu04", *SWITCHES]
    assert climb.climbing(plan, one, "links") == ["rack_02"]
    assert [climb.gate_state(one, "links", group) for group in BOTH] == ["not_reached", "not_reached"]
    climb.hold(plan, one, "links", {"rack_02": Gate("closed", ["y"])}, ago(0))
    assert one.members["routing"] == []


def test_a_quarantined_host_is_left_out_above(plan):
    one = started(plan)
    climb.hold(plan, one, "preflight", {"rack_01": Gate("open", [], {"gpu02": "mtu"}), "rack_02": Gate("open")}, ago(0))
    assert "gpu02" not in one.members["links"] and one.quarantined == {"gpu02": {"group": "rack_01", "layer": "preflight", "check": "mtu"}}


def test_resuming_stands_on_fresh_open_gates_of_the_same_pod(plan):
    one = started(plan, proved(plan), pod_from_layer="routing", pod_to_layer="routing")
    assert one.layers == ["routing"] and one.members["routing"] == [*HOSTS, *SWITCHES]
    assert set(one.gates) == {"preflight", "links"}


@pytest.mark.parametrize(
    ("earlier", "words"),
    [
        (lambda _plan: None, "there is none"),
        (lambda plan: proved(plan, digest="other"), "other expectations"),
        (lambda plan: proved(plan, only="gpu01"), "judged only gpu01"),
        (lambda plan: proved(plan, replay="/kept"), "judged kept evidence"),
        (lambda plan: proved(plan, minutes=200), "was opened 200 minutes ago, and 120 are allowed"),
        (lambda plan: state(plan, run_id="before"), "was not judged in run before"),
    ],
)
def test_resuming_on_anything_else_is_refused(plan, earlier, words):
    with pytest.raises(Refused) as refused:
        started(plan, earlier(plan), pod_from_layer="routing", pod_to_layer="routing")
    assert words in refused.value.reasons[0]


def test_resuming_leaves_out_the_group_whose_gate_was_closed(plan):
    earlier = proved(plan)
    earlier.gates["links"]["rack_01"]["state"] = "closed"
    one = started(plan, earlier, pod_from_layer="routing", pod_to_layer="routing")
    assert one.members["routing"] == ["gpu03", "gpu04", *SWITCHES]


def test_the_outcome(plan):
    one = started(plan, pod_to_layer="preflight")
    assert climb.outcome(one, False, False) == ("no_go", ["rack_01 did not reach every layer", "rack_02 did not reach every layer", "the run has not ended"])
    climb.hold(plan, one, "preflight", dict.fromkeys(BOTH, Gate("open")), ago(0))
    one.finished = True
    assert climb.outcome(one, False, False) == ("go", [])
    assert climb.outcome(one, False, True) == ("no_go", ["a waiver has expired"])
    assert climb.outcome(one, True, False)[0] == "no_fault_seen"
    for key, value in (("mode", "passive"), ("depth", "quick"), ("only", "gpu01"), ("replay", "runs/pod/kept")):
        kept = getattr(one, key)
        setattr(one, key, value)
        assert climb.outcome(one, False, False)[0] == "no_fault_seen"
        setattr(one, key, kept)
    one.quarantined["gpu02"] = {"group": "rack_01", "layer": "preflight", "check": "mtu"}
    assert climb.outcome(one, False, False) == ("no_go", ["gpu02 is quarantined by mtu"])
    silent = ["required check mtu has no pass (it judged no node)"] * 5
    climb.hold(plan, one, "preflight", {"rack_01": Gate("closed", ["dcqcn is fail on gpu01", *silent], {}, silent), "rack_02": Gate("closed", ["x"])}, ago(0))
    held = climb.outcome(one, False, False)[1]
    assert held[0] == f"rack_01 is held at a closed gate: {'; '.join(silent[:3])}; and 2 more" and held[1] == "rack_02 is held at a closed gate"
