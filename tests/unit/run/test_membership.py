# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who climbs where: focus, --limit, resuming, quarantine and the outcome, by plain calls."""

from __future__ import annotations

import json
import types
import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import checks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.gates import Gate
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run import resume_changes
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused, RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.membership import (
    close_below,
    enter_first_layer,
    fabric_readers,
    groups_at_layer,
    load_helpers,
    no_load_reason,
    ping_partners,
    record_gates,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.outcome import run_outcome
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.pod_only import Selection, parse_pod_only
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.reader import RunReader
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.resume_changes import changes_since, first_layers
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.scope import groups_in_scope
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.state import State, gate_state, load_state

from ..conftest import small_plan

BOTH = ["rack_01", "rack_02"]
SWITCHES = ["leaf01", "leaf02", "spine01", "spine02"]
HOSTS = ["gpu01", "gpu02", "gpu03", "gpu04"]


def state(plan, **values):
    """A run of this pod that was just opened."""
    given = {"pod": "p", "run_id": "now", "depth": "standard", "mode": "full", "opened": "", "digest": "d", "version": "1"}
    return State(**{**given, "scope": dict.fromkeys(plan.groups, "in"), **values})


def values_of(plan, **more):
    return {**next(iter(plan.nodes.values())).values, **more}


def started(plan, earlier=None, of_state=None, **more):
    one = state(plan, **(of_state or {}))
    enter_first_layer(plan, one, values_of(plan, **more), earlier, plan)
    return one


def ago(minutes):
    return (datetime.now(UTC) - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def proved(plan, minutes=1, **values):
    """An earlier run whose first two layers stand open."""
    gates = {layer: {group: {"state": "open", "reasons": [], "time": ago(minutes)} for group in BOTH} for layer in ("preflight", "links")}
    boots = {node: {"boot_id": "1", "uptime_seconds": None, "asked_at": None, "layer": "preflight"} for node in HOSTS}
    return state(plan, **{"run_id": "before", "gates": gates, "boots": boots, **values})


def test_a_state_survives_json(plan):
    one = started(plan, of_state={"focus": Selection(nodes=["gpu01"]), "only": "gpu01"})
    assert load_state(json.loads(json.dumps(one.dump()))) == one


def test_a_state_of_another_version_is_none_to_resume_on(plan, tmp_path) -> None:
    (tmp_path / "state.json").write_text(json.dumps({**state(plan).dump(), "lent": []}))
    assert RunReader(tmp_path).resumable() == (None, None)
    with pytest.raises(RunError, match="another version of the collection: lent"):
        load_state(json.loads((tmp_path / "state.json").read_text()))


def test_everybody_starts(plan):
    one = started(plan)
    assert one.layers[0] == "preflight" and one.members["preflight"] == [*HOSTS, *SWITCHES]
    assert groups_at_layer(plan, one, "preflight") == BOTH and ping_partners(plan, one, one.members["preflight"]) == HOSTS


def apart(plan: Plan) -> Plan:
    """The small plan with leaf01 for the first rack alone and leaf02 for the second."""
    far = {"leaf01": ("gpu03", "gpu04"), "leaf02": ("gpu01", "gpu02")}
    return Plan(plan.nodes, plan.groups, [one for one in plan.cables if one.a.node not in far.get(one.b.node, ())])


def test_who_starts_is_the_groups_in_scope_with_what_serves_them(plan) -> None:
    of_first_rack = started(apart(plan), of_state={"scope": {"rack_01": "partly", "rack_02": "out"}})
    assert of_first_rack.members["preflight"] == ["gpu01", "gpu02", "leaf01", "spine01", "spine02"]
    assert started(plan, of_state={"scope": dict.fromkeys(BOTH, "out")}).members["preflight"] == []
    named = started(plan, of_state={"focus": Selection(nodes=["gpu02", "leaf01"])})
    assert named.members["preflight"] == ["gpu02", "leaf01"]
    of_a_layer = started(plan, of_state={"focus": Selection(layers=["links"])})
    assert of_a_layer.layers == ["links"] and of_a_layer.members["links"] == [*HOSTS, *SWITCHES]
    # pod_only stands on nothing, so that it needs no earlier run.
    assert started(plan, of_state={"focus": Selection(nodes=["gpu02"])}, pod_from_layer="links").members["links"] == ["gpu02"]


def test_a_resumed_run_stands_on_all_gates_below_its_first_layer(plan) -> None:
    one = started(plan, proved(plan), pod_from_layer="routing", pod_to_layer="congestion")
    assert (one.layers, list(one.members)) == (["routing", "congestion"], ["routing"])
    # What the first layer and those above it use may have changed.
    again = state(plan)
    enter_first_layer(plan, again, values_of(plan, pod_from_layer="routing", pod_to_layer="congestion"), proved(plan), other(plan, pod_ping_rtt_max_ms=9.0))
    assert list(again.members) == ["routing"]


def test_members_ping_each_other_and_what_pod_only_names_pings_all_that_stand_in_its_groups(plan) -> None:
    everybody = {"quarantined": {"gpu03": {}}, "scope": {"rack_01": "out", "rack_02": "partly"}}
    assert ping_partners(plan, state(plan, **everybody), ["gpu01", "gpu03", "leaf01"]) == ["gpu01", "gpu03"]
    assert ping_partners(plan, state(plan, **everybody, focus=Selection(layers=["routing"])), ["gpu01", "leaf01"]) == ["gpu01"]
    assert ping_partners(plan, state(plan, **everybody, focus=Selection(nodes=["gpu04"])), ["gpu04"]) == ["gpu04"]
    assert ping_partners(plan, state(plan, focus=Selection(nodes=["gpu04"])), ["gpu04"]) == HOSTS


@pytest.mark.parametrize(
    ("values", "check_mode", "reason"),
    [
        ({"pod_mode": "full", "pod_depth": "standard"}, False, ""),
        ({"pod_mode": "full", "pod_depth": "quick"}, False, "no load at depth quick"),
        ({"pod_mode": "passive", "pod_depth": "quick"}, False, "no load in mode passive"),
        ({"pod_mode": "passive", "pod_depth": "standard"}, True, "check mode loads nothing"),
    ],
)
def test_why_a_run_loads_nothing(values, check_mode, reason) -> None:
    assert no_load_reason(values, check_mode) == reason


def test_a_switch_that_pod_only_names_stands_for_the_groups_that_it_serves(plan) -> None:
    named = {"focus": Selection(nodes=["leaf01"]), "members": {"links": ["leaf01"]}}
    serves = sorted(plan.affects("leaf01"))
    assert groups_at_layer(plan, state(plan, **named), "links") == serves
    assert groups_at_layer(plan, state(plan, **{**named, "focus": None}), "links") == []
    assert groups_at_layer(apart(plan), state(plan, **named), "links") == ["rack_01"]
    assert groups_at_layer(plan, state(plan, **named, scope={**dict.fromkeys(plan.groups, "in"), serves[0]: "out"}), "links") == serves[1:]


def test_only_gates_that_were_decided_are_closed_by_what_comes_to_light_above(plan) -> None:
    one = state(plan, gates={"preflight": {"rack_01": {"state": "not_reached", "reasons": [], "time": ""}}, "links": {}})
    close_below(one, "routing", ["rack_01"], "preflight", "gpu01 booted since preflight")
    assert one.gates == {"preflight": {"rack_01": {"state": "not_reached", "reasons": [], "time": ""}}, "links": {}}


def test_others_help_to_load_what_pod_only_names(plan):
    plan.groups["rack_01"] += ["gpu03"]
    focused = {"focus": Selection(nodes=["gpu01"]), "members": {layer: ["gpu01"] for layer in ("routing", "congestion", "collectives")}}
    one = state(plan, **focused, helpers=["gpu01", "gpu03", "gpu04"])
    assert {layer: load_helpers(plan, one, layer) for layer in one.members} == {"routing": [], "congestion": ["gpu03"], "collectives": ["gpu03"]}
    assert load_helpers(plan, state(plan, **focused), "congestion") == []
    many = {"rack_01": ["gpu01", *(f"h{number}" for number in range(12))]}
    helped = state(plan, **{**focused, "members": {layer: ["gpu01"] for layer in checks.LAYERS}}, helpers=many["rack_01"])
    counts = [len(load_helpers(Plan(plan.nodes, many, plan.cables), helped, layer)) for layer in checks.LAYERS]
    assert counts == [0, 0, 0, 8, 8, 2, 2]
    quarantined = {"gpu03": {}}
    assert load_helpers(plan, state(plan, **focused, helpers=HOSTS, quarantined=quarantined), "congestion") == ["gpu02"]
    of_switch = {"focus": Selection(nodes=["leaf01"]), "members": {"congestion": ["leaf01"]}}
    assert load_helpers(plan, state(plan, **of_switch, helpers=HOSTS), "congestion") == []
    assert load_helpers(plan, state(plan, **{**focused, "focus": Selection(layers=["congestion"])}, helpers=HOSTS), "congestion") == []
    assert load_helpers(plan, state(plan, **{**focused, "focus": None}, helpers=HOSTS), "congestion") == []


@pytest.mark.parametrize(
    ("only", "nodes", "places"),
    [
        ("leaf01:Ethernet1", ["leaf01", "gpu01"], ["leaf01:Ethernet1", "gpu01:ens0"]),
        ("gpu03", ["gpu03"], []),
        ("ens1", ["gpu01", "leaf02", "gpu02", "gpu03", "gpu04"], None),
    ],
)
def test_what_pod_only_names(plan, only, nodes, places):
    focus = parse_pod_only(plan, only)
    assert focus.nodes == nodes and (places is None or focus.places == places)


def test_a_rail_is_named_by_its_own_port_and_no_longer_one(plan):
    for node in plan.nodes.values():
        for rail in node.values["pod_rails"]:
            rail["netdev"] = {"ens0": "ens10", "ens1": "ens1"}[rail["netdev"]]
    assert "gpu01:ens1" in parse_pod_only(plan, "ens1").places
    # The cables of the small plan are called as the rails were.
    assert parse_pod_only(plan, "ens10").places == [f"gpu0{host}:{name}" for host in range(1, 5) for name in ("mlx5_0", "ens10")]


def test_a_rail_is_named_with_the_ports_at_both_ends(plan):
    plan.nodes["leaf01"].values["pod_rails"] = [{"device": "mlx5_1", "netdev": "ens1", "leaf": "leaf02"}]
    del plan.nodes["gpu03"].values["pod_rails"][1]["netdev"]
    ends = {host: [f"{host}:mlx5_1", f"{host}:ens1", f"leaf02:Ethernet{number}"] for number, host in enumerate(HOSTS, 1)}
    focus = parse_pod_only(plan, "mlx5_1")
    assert focus.nodes == ["gpu01", "leaf02", "gpu02", "gpu03", "gpu04"]
    assert focus.places == [*ends["gpu01"], *ends["gpu02"], "gpu03:mlx5_1", *ends["gpu04"]]


def test_pod_only_of_a_layer_or_a_check(plan):
    assert parse_pod_only(plan, "links").layers == ["links"]
    assert (parse_pod_only(plan, "crc_clean").check, parse_pod_only(plan, "crc_clean").layers) == ("crc_clean", ["links"])
    assert parse_pod_only(plan, "") is None


@pytest.mark.parametrize(
    ("only", "words"),
    [
        ("leaf1:Ethernet1", "nothing of this pod is called 'leaf1' (near it: leaf01"), ("leaf01, leaf9999", "is called 'leaf9999'"),
        ("rail_reachable", "(near it: rails_reachable"), ("leaf01:Ethernet77", "has no cable on port 'Ethernet77'"), ("zz", "'zz'; it takes a node"),
    ],
)  # fmt: skip
def test_pod_only_of_nothing_is_refused(plan, only, words):
    with pytest.raises(Refused) as refused:
        parse_pod_only(plan, only)
    assert words in refused.value.reasons[0]


def test_limit(plan):
    everybody = [*HOSTS, *SWITCHES]
    assert groups_in_scope(plan, everybody, None) == ({"rack_01": "in", "rack_02": "in"}, {})
    groups, silent = groups_in_scope(plan, ["gpu01", "gpu02", *SWITCHES], None)
    assert groups == {"rack_01": "in", "rack_02": "out"} and silent == {}
    groups, silent = groups_in_scope(plan, ["gpu01", *SWITCHES], None)
    assert groups["rack_01"] == "partly" and list(silent) == ["gpu02"] and "add rack_01 to --limit" in silent["gpu02"]
    _groups, silent = groups_in_scope(plan, HOSTS, None)
    assert list(silent) == SWITCHES and "rack_01:leaves:spines" in silent["leaf01"]
    groups, silent = groups_in_scope(plan, HOSTS, Selection(nodes=["gpu03"]))
    assert groups == {"rack_01": "out", "rack_02": "in"} and silent == {}


def test_a_switch_outside_the_limit_is_missed_by_the_groups_that_it_serves_alone(plan):
    plan, spines = apart(plan), ["spine01", "spine02"]
    assert groups_in_scope(plan, ["gpu01", "gpu02", "leaf01", *spines], None) == ({"rack_01": "in", "rack_02": "out"}, {})
    groups, silent = groups_in_scope(plan, ["gpu03", "leaf01", *spines], None)
    assert groups == {"rack_01": "out", "rack_02": "partly"} and list(silent) == ["gpu04", "leaf02"]
    assert groups_at_layer(plan, state(plan, scope={"rack_01": "in", "rack_02": "partly"}, members={"links": HOSTS}), "links") == BOTH


def test_pod_only_of_a_layer_narrows_no_group_and_of_a_node_asks_for_that_node_alone(plan):
    assert groups_in_scope(plan, [*HOSTS, *SWITCHES], Selection(layers=["links"])) == (dict.fromkeys(BOTH, "in"), {})
    groups, silent = groups_in_scope(plan, HOSTS, Selection(nodes=["leaf01"]))
    assert groups == dict.fromkeys(BOTH, "in") and list(silent) == ["leaf01"]


def test_others_read_the_fabric_for_a_host_that_pod_only_names():
    plan = small_plan(pod_fabric="infiniband")
    named = {"focus": Selection(nodes=["gpu02"]), "members": {"links": ["gpu02"], "training": ["gpu02"]}, "helpers": HOSTS}
    assert fabric_readers(plan, state(plan, **named), "links") == ["gpu01", "gpu03"]
    assert fabric_readers(plan, state(plan, **named, quarantined={"gpu01": {}}), "links") == ["gpu03"]
    for other in ({"helpers": []}, {"members": {"links": []}}, {"focus": None}, {"focus": Selection(layers=["links"])}):
        assert fabric_readers(plan, state(plan, **{**named, **other}), "links") == []
    # No check of that layer reads the fabric.
    assert fabric_readers(plan, state(plan, **named), "training") == []


def test_a_closed_gate_stops_its_group_and_nobody_else(plan):
    one = started(plan)
    record_gates(plan, one, "preflight", {"rack_01": Gate("closed", ["x"]), "rack_02": Gate("open")}, ago(0))
    assert one.members["links"] == ["gpu03", "gpu04", *SWITCHES]
    assert groups_at_layer(plan, one, "links") == ["rack_02"]
    assert [gate_state(one, "links", group) for group in BOTH] == ["not_reached", "not_reached"]
    record_gates(plan, one, "links", {"rack_02": Gate("closed", ["y"])}, ago(0))
    assert one.members["routing"] == []


def test_a_quarantined_host_is_left_out_above(plan):
    one = started(plan)
    record_gates(plan, one, "preflight", {"rack_01": Gate("open", [], {"gpu02": "mtu"}), "rack_02": Gate("open")}, ago(0))
    assert "gpu02" not in one.members["links"] and one.quarantined == {"gpu02": {"group": "rack_01", "layer": "preflight", "check": "mtu"}}


def test_resuming_stands_on_fresh_open_gates_of_the_same_pod(plan):
    one = started(plan, proved(plan, minutes=119), pod_from_layer="routing", pod_to_layer="routing")
    assert one.layers == ["routing"] and one.members["routing"] == [*HOSTS, *SWITCHES]
    assert set(one.gates) == {"preflight", "links"}


@pytest.mark.parametrize(
    ("earlier", "words"),
    [
        (lambda _plan: None, "there is none"),
        (lambda plan: proved(plan, version="0"), "since run before, the collection was 0 and is 1"),
        (lambda plan: proved(plan, boots={}), "run before did not record when its nodes booted"),
        (lambda plan: proved(plan, only="gpu01"), "evaluated only gpu01"),
        (lambda plan: proved(plan, replay="/kept"), "evaluated kept evidence"),
        (lambda plan: proved(plan, minutes=121), "was opened 121 minutes ago, and 120 are allowed"),
        (lambda plan: proved(plan, check_mode=True), "run before was in check mode, which evaluates nothing"),
        (lambda plan: proved(plan, gates={}), "was not evaluated in run before"),
    ],
)
def test_resuming_on_anything_else_is_refused(plan, earlier, words):
    with pytest.raises(Refused) as refused:
        started(plan, earlier(plan), pod_from_layer="routing", pod_to_layer="routing")
    assert words in refused.value.reasons[0]


def other(plan, node="leaf01", **values):
    """The plan with other expectations of one node."""
    nodes = {**plan.nodes, node: replace(plan.nodes[node], values={**plan.nodes[node].values, **values})}
    return Plan(nodes, plan.groups, plan.cables)


WAIVER = {"check": "crc_clean", "host": "leaf01", "where": "Ethernet1", "reason": "r", "until": "2027-01-01"}


@pytest.mark.parametrize(
    ("earlier", "first", "words"),
    [
        (lambda plan: other(plan, pod_link_gbit_s=200), "links", "pod_link_gbit_s of leaf01 was 200 and is 400"),
        (lambda plan: other(plan, pod_flaps_max=99), "routing", "pod_flaps_max of leaf01 was 99"),
        (lambda plan: other(plan, pod_flaps_max=99), "links", None),
        (lambda plan: other(plan, pod_soak_seconds=1), "routing", "pod_soak_seconds of leaf01 was 1"),
        (lambda plan: other(plan, pod_ping_count=1), "routing", None),
        (lambda plan: other(plan, pod_ping_count=1), "congestion", "pod_ping_count of leaf01 was 1"),
        (lambda plan: other(plan, pod_write_bw_min_percent=1, pod_training_steps=9, pod_mfu_min_percent=9, pod_remediate_max=7), "rdma", None),
        (lambda plan: other(plan, pod_depth="quick"), "links", 'pod_depth of leaf01 was "quick" and is "standard"'),
        (lambda plan: other(plan, pod_waivers=[WAIVER]), "routing", "pod_waivers of leaf01"),
        (lambda plan: other(plan, pod_waivers=[WAIVER]), "links", None),
        (lambda plan: Plan(plan.nodes, plan.groups, [replace(one, length_m=7, line=9) for one in plan.cables]), "links", None),
        (lambda plan: Plan(plan.nodes, plan.groups, [replace(one, length_m=7) for one in plan.cables]), "routing", "the wiring plan has changed at"),
        (lambda plan: Plan(plan.nodes, plan.groups, plan.cables[1:]), "links", "the wiring plan has changed at gpu01"),
        (lambda plan: Plan({**plan.nodes, "gpu01": replace(plan.nodes["gpu01"], group="rack_02")}, plan.groups, plan.cables), "links", "the group of gpu01"),
        (lambda plan: Plan({**plan.nodes, "old": plan.nodes["gpu01"]}, plan.groups, plan.cables), "links", "old is no longer in the inventory"),
        (lambda plan: Plan({**plan.nodes, "leaf01": replace(plan.nodes["leaf01"], asn=1)}, plan.groups, plan.cables), "routing", None),
        (lambda plan: Plan({**plan.nodes, "leaf01": replace(plan.nodes["leaf01"], asn=1)}, plan.groups, plan.cables), "congestion", "the asn of leaf01 was 1"),
    ],
)
def test_resuming_is_refused_for_what_a_layer_below_uses_and_names_it(plan, earlier, first, words):
    found = changes_since(plan, earlier(plan), ("1", "1"), first)
    assert found == [] if words is None else [one for one in found if words in one] == found != []


def test_every_expectation_has_a_first_layer_that_is_no_higher_than_the_checks_that_name_it():
    for layer, declared in checks.REGISTRY.items():
        for one in declared.values():
            for name in set(one.expectations) & set(first_layers()):
                assert checks.LAYERS.index(first_layers()[name]) <= checks.LAYERS.index(layer)


def test_resuming_leaves_out_the_group_whose_gate_was_closed(plan):
    earlier = proved(plan)
    earlier.gates["links"]["rack_01"]["state"] = "closed"
    one = started(plan, earlier, pod_from_layer="routing", pod_to_layer="routing")
    assert one.members["routing"] == ["gpu03", "gpu04", *SWITCHES]


def resumed(plan, earlier, earlier_plan=None, **of_state):
    one = state(plan, **of_state)
    enter_first_layer(plan, one, values_of(plan, pod_from_layer="routing", pod_to_layer="routing"), earlier, earlier_plan or plan)
    return one


def test_a_resumed_run_has_the_gates_and_the_quarantine_of_the_layers_below(plan):
    out = {"gpu02": {"group": "rack_01", "layer": "links", "check": "mtu"}, "gpu03": {"group": "rack_02", "layer": "rdma", "check": "write_bw_per_rail"}}
    earlier = proved(plan, quarantined=out)
    earlier.gates["routing"] = earlier.gates["links"]
    one = resumed(plan, earlier)
    assert one.quarantined == {"gpu02": out["gpu02"]} and one.members["routing"] == ["gpu01", "gpu03", "gpu04", *SWITCHES]
    assert set(one.gates) == {"preflight", "links"} and set(one.gates["links"]) == set(BOTH) and one.boots == earlier.boots
    narrow = resumed(plan, earlier, scope={"rack_01": "in", "rack_02": "out"})
    assert {layer: set(gates) for layer, gates in narrow.gates.items()} == {"preflight": {"rack_01"}, "links": {"rack_01"}}


def reason_of(plan, earlier, earlier_plan=None):
    with pytest.raises(Refused) as refused:
        resumed(plan, earlier, earlier_plan)
    return refused.value.reasons[0]


@pytest.mark.parametrize("gate", ["closed", "not_run", "not_proved", "not_reached", "out_of_scope"])
def test_only_an_open_gate_is_built_upon(plan, gate):
    earlier = proved(plan)
    for group in BOTH:
        earlier.gates["links"][group] = {"state": gate, "reasons": ["a", "b"], "unproved": ["b", "c"], "time": ago(1)}
    assert f"the links gate of rack_01 was {gate} in run before (b; c)" in reason_of(plan, earlier)
    for group in BOTH:
        earlier.gates["links"][group]["unproved"] = []
    assert f"the links gate of rack_01 was {gate} in run before; the links gate of rack_02" in reason_of(plan, earlier)


def test_a_run_without_its_plan_is_none_to_resume_on(plan):
    with pytest.raises(Refused, match="there is none"):
        enter_first_layer(plan, state(plan), values_of(plan, pod_from_layer="routing", pod_to_layer="routing"), proved(plan), None)


def test_five_changes_are_named_and_the_others_counted(plan):
    names = ["pod_link_gbit_s", "pod_flaps_max", "pod_soak_seconds", "pod_traffic_class", "pod_roce_priority", "pod_topology", "pod_depth"]
    changed = {count: reason_of(plan, proved(plan), other(plan, **dict.fromkeys(names[:count], "x"))) for count in (4, 5, 6, 7)}
    assert all("more changes" not in changed[count] and changed[count].count(" of leaf01 was ") == count for count in (4, 5))
    assert all(f"; and {count - 5} more changes; start" in changed[count] and changed[count].count(" of leaf01 was ") == 5 for count in (6, 7))


def test_the_outcome(plan):
    one = started(plan, pod_to_layer="preflight")
    assert run_outcome(one, False, False) == ("no_go", ["rack_01 did not reach every layer", "rack_02 did not reach every layer", "the run has not ended"])
    record_gates(plan, one, "preflight", dict.fromkeys(BOTH, Gate("open")), ago(0))
    one.finished = True
    assert run_outcome(one, False, False) == ("go", [])
    assert run_outcome(one, False, True) == ("no_go", ["a waiver has expired"])
    assert run_outcome(one, True, False)[0] == "no_fault_seen"
    for key, value in (("mode", "passive"), ("depth", "quick"), ("only", "gpu01"), ("replay", "runs/pod/kept")):
        kept = getattr(one, key)
        setattr(one, key, value)
        assert run_outcome(one, False, False)[0] == "no_fault_seen"
        setattr(one, key, kept)
    one.quarantined["gpu02"] = {"group": "rack_01", "layer": "preflight", "check": "mtu"}
    assert run_outcome(one, False, False) == ("no_go", ["gpu02 is quarantined by mtu"])
    silent = [f"required check mtu_{number} has no pass (it evaluated no node)" for number in range(5)]
    record_gates(plan, one, "preflight", {"rack_01": Gate("closed", ["dcqcn on gpu01", *silent], {}, silent), "rack_02": Gate("closed", ["x"])}, ago(0))
    closed = run_outcome(one, False, False)[1]
    assert closed[0] == f"rack_01 failed layer preflight: dcqcn on gpu01; {'; '.join(silent[:2])}; and 3 more reasons"
    assert closed[1] == "rack_02 failed layer preflight: x"


def test_the_first_layer_of_an_expectation_is_the_lowest_that_uses_it():
    found = first_layers()
    by_check = {"pod_link_gbit_s": "preflight", "pod_flaps_max": "links", "pod_rails": "preflight", "pod_fabric": "preflight"}
    by_load = {"pod_soak_seconds": "links", "pod_ping_count": "routing", "pod_incast_seconds": "congestion", "pod_pairing": "rdma"}
    assert {name: found[name] for name in (*by_check, *by_load)} == {**by_check, **by_load}
    for layer, declared in checks.REGISTRY.items():
        for one in declared.values():
            required = one.required[0] if isinstance(one.required, tuple) else one.required
            for name in (*one.expectations, *([required] if isinstance(required, str) else []), *(name for name, _values in one.conditions)):
                assert name not in found or checks.LAYERS.index(found[name]) <= checks.LAYERS.index(layer), name
    assert not {"pod_waivers", "pod_prometheus_url", "pod_from_layer", "pod_remediate_max"} & found.keys()
    assert found["pod_name"] == "preflight" or "pod_name" not in found


def test_an_expectation_by_which_a_check_is_required_is_used_by_its_layer(monkeypatch):
    def declared(required: t.Any) -> dict[str, t.Any]:
        return {"one": types.SimpleNamespace(required=required, expectations=(), conditions=())}

    registry = {"preflight": declared(True), "links": declared(("pod_mtu", "pod_name")), "routing": declared("pod_name")}
    monkeypatch.setattr(resume_changes, "REGISTRY", registry)
    first_layers.cache_clear()
    found = first_layers()
    first_layers.cache_clear()
    assert (found["pod_name"], found["pod_mtu"]) == ("routing", "links")


def test_waivers_of_layers_below_are_compared_as_they_are_meant(plan):
    def waived(*checks_waived: str) -> Plan:
        return other(plan, "gpu01", pod_waivers=[{"check": name, "host": "gpu01"} for name in checks_waived])

    for name, first, changed in (("mtu", "links", True), ("crc_clean", "links", False), ("crc_clean", "routing", True), ("no_check_of_ours", "links", True)):
        found = changes_since(plan, waived(name), ("1", "1"), first)
        assert [one.split()[0] for one in found] == ["pod_waivers"] * changed, (name, first)
    turned = other(plan, "gpu01", pod_waivers=[{"host": "gpu01", "check": "mtu"}])
    assert changes_since(turned, waived("mtu"), ("1", "1"), "links") == [], "the order of keys is no change"


def test_a_change_names_the_first_node_and_its_values(plan):
    bare = Plan(plan.nodes, plan.groups, [])
    earlier = Plan({name: replace(node, platform=f"old {name}") for name, node in plan.nodes.items() if name != "gpu01"}, plan.groups, [])
    found = changes_since(bare, earlier, ("1", "1"), "links")
    assert found[0] == "gpu01 is new" and found[1].startswith("the platform of gpu02") and found[1].endswith(" was old gpu02 and is linux")
    long = other(other(plan, "gpu01", pod_name="a" * 200), "gpu02", pod_name="b" * 200)
    (name,) = [one for one in changes_since(plan, long, ("1", "1"), "links") if one.startswith("pod_name")]
    assert name.endswith(' was "' + "a" * 49 + " ... " + "a" * 24 + '" and is "pod"')
    (name,) = [one for one in changes_since(long, plan, ("1", "1"), "links") if one.startswith("pod_name")]
    assert name.endswith(' and is "' + "a" * 49 + " ... " + "a" * 24 + '"')
