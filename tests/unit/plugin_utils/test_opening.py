# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run is opened for, and what it is refused for, by plain calls; the pod is two hosts cabled straight to each other."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.opening import Inventory, Refused, digest, prepare, reached

PEER = {"gpu01": "gpu02", "gpu02": "gpu01"}
HEAD = "a_node,a_port,b_node,b_port,medium,length_m\n"


def straight(leaf_of: dict[str, str], leaves: tuple[str, ...] = ()) -> Inventory:
    """Two hosts of one rail each, in one gate group."""
    common = {**DEFAULTS, "pod_topology": "rail_only", "pod_gate_groups": ["rack_01"]}
    hosts = {host: {**common, "pod_rails": [{"device": "mlx5_0", "netdev": "rail0", "gpu": 0, "leaf": leaf_of[host]}]} for host in PEER}
    switches = {leaf: {**common, "pod_platform": "eos"} for leaf in leaves}
    return Inventory({"gpu_hosts": list(PEER), "rack_01": list(PEER), "leaves": list(leaves)}, {**hosts, **switches})


def test_hosts_may_be_cabled_straight_to_each_other() -> None:
    plan, _waivers = prepare(straight(PEER), HEAD + "gpu01,rail0,gpu02,rail0,dac,1\n")
    assert plan.behind("gpu01") == {"rack_01"}
    assert [cable["peer"] for cable in plan.planned("gpu01")["pod_cables"]] == ["gpu02"]


def test_rails_of_one_number_on_two_leaves_are_refused() -> None:
    inventory = straight({"gpu01": "leaf01", "gpu02": "leaf02"}, ("leaf01", "leaf02"))
    with pytest.raises(Refused) as refused:
        prepare(inventory, HEAD + "gpu01,rail0,leaf01,Ethernet1,dac,1\ngpu02,rail0,leaf02,Ethernet1,dac,1\n")
    assert refused.value.reasons == ["rail 0 of rack_01 lands on two leaves: leaf01 (gpu01) and leaf02 (gpu02)"]


@pytest.mark.parametrize(("pod", "host"), [("../elsewhere", "gpu01"), ("", "gpu01"), ("pod", "../gpu01"), ("pod", ".ssh"), ("pod", "gpu01\n")])
def test_a_name_that_leads_elsewhere_is_refused(pod: str, host: str) -> None:
    given = Inventory({"gpu_hosts": [host], "rack_01": [host]}, {host: {"pod_name": pod, "pod_gate_groups": ["rack_01"]}})
    with pytest.raises(Refused, match="letters, digits and"):
        prepare(given, "")


CABLING = HEAD + "gpu01,rail0,gpu02,rail0,dac,1\n"


def refused(given: Inventory, text: str | None = CABLING) -> list[str]:
    """Every reason for which a pod is refused."""
    with pytest.raises(Refused) as reasons:
        prepare(given, text)
    return reasons.value.reasons


def changed(**values: object) -> Inventory:
    """The pod with other expectations of every node."""
    given = straight(PEER)
    return Inventory(given.groups, {node: {**own, **values} for node, own in given.variables.items()})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (changed(pod_gate_groups=[]), "argument 'pod_gate_groups' must name the inventory groups"),
        (changed(pod_gate_groups=["rack_1"]), "gate group 'rack_1' is not a group of the inventory"),
        (changed(pod_gate_groups=["rack_01", "gpu_hosts"]), "GPU hosts in the gate groups rack_01 and gpu_hosts, not in exactly one: gpu01, gpu02"),
        (changed(pod_hosts_count=3), "the inventory has 2 nodes of role host, and pod_hosts_count says 3"),
        (changed(pod_link_gbit_s="fast"), "argument 'pod_link_gbit_s' must be a number, not 'fast' (gpu01, gpu02)"),
        (changed(pod_platform="eos"), "argument 'pod_platform' of gpu01 must be one of linux, not 'eos'"),
        (changed(pod_rails=[]), "argument 'pod_rails' of gpu01 must name its fabric NICs"),
        (changed(pod_rails=[{"device": "mlx5_0"}]), "argument 'pod_rails' of gpu01: rail 0 lacks netdev, gpu, leaf"),
        (changed(pod_waivers=[{"check": "crc_clean"}]), "argument 'pod_waivers': waiver 1 lacks host"),
        (changed(pod_waivers=[{"check": "none", "host": "a", "where": "b", "reason": "c", "until": "2026-01-01"}]), "which does not exist"),
    ],
)
def test_what_is_not_described_whole_is_refused(given: Inventory, words: str) -> None:
    assert any(words in reason for reason in refused(given)), refused(given)


def test_expectations_of_the_run_are_one_value() -> None:
    given = straight(PEER)
    reasons = refused(Inventory(given.groups, {**given.variables, "gpu02": {**given.variables["gpu02"], "pod_depth": "quick"}}))
    assert len(reasons) == 1 and "argument 'pod_depth' must be one value for the whole pod" in reasons[0]


def test_the_wiring_plan_is_needed_and_whole() -> None:
    assert "cabling.csv: the wiring plan does not exist" in refused(straight(PEER), None)
    assert "cabling.csv: rail mlx5_0 (rail0) of gpu01 has no cable" in refused(straight(PEER), HEAD + "gpu01,rail7,gpu02,rail7,dac,1\n")


def test_every_reason_is_told_at_once() -> None:
    assert len(refused(changed(pod_link_gbit_s="fast", pod_hosts_count=3, pod_leaves_count=1))) == 3


def test_a_digest_changes_with_what_is_proved_and_not_with_how() -> None:
    plan, _waivers = prepare(straight(PEER), CABLING)
    same, _waivers = prepare(changed(pod_from_layer="links", pod_to_layer="links"), CABLING)
    other, _waivers = prepare(changed(pod_link_gbit_s=200), CABLING)
    assert digest(plan, CABLING, "1") == digest(same, CABLING, "1") != digest(other, CABLING, "1")
    assert digest(plan, CABLING, "1") != digest(plan, CABLING, "2") != digest(plan, CABLING + " ", "2")


def test_layers_from_and_to() -> None:
    assert reached({"pod_from_layer": "links", "pod_to_layer": "routing"}) == ("links", "routing")
    with pytest.raises(Refused):
        reached({"pod_from_layer": "routing", "pod_to_layer": "links"})


def railed(*rails: dict[str, object], **other: object) -> Inventory:
    """The pod with these rails on one host, and others on the other."""
    given = straight(PEER)
    second = [{"device": "mlx5_0", "netdev": "rail0", "gpu": 0, "leaf": "gpu01", **other}]
    return Inventory(
        given.groups, {"gpu01": {**given.variables["gpu01"], "pod_rails": list(rails)}, "gpu02": {**given.variables["gpu02"], "pod_rails": second}}
    )


FIRST = {"device": "mlx5_0", "netdev": "rail0", "gpu": 0, "leaf": "gpu02", "address": "10.0.0.1/31"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (railed(FIRST, {**FIRST, "gpu": 1, "address": "10.0.0.3"}), "argument 'pod_rails' of gpu01: rails 0 and 1 have one device, mlx5_0"),
        (railed(FIRST, {**FIRST, "device": "mlx5_1", "address": "10.0.0.3"}), "argument 'pod_rails' of gpu01: rails 0 and 1 have one netdev, rail0"),
        (railed({**FIRST, "pci": "slot 3"}), "argument 'pod_rails' of gpu01: rail 0 has the PCI address 'slot 3', which is none"),
        (railed(FIRST, address="10.0.0.1/24"), "argument 'pod_rails': the address 10.0.0.1 is of gpu01 mlx5_0 and gpu02 mlx5_0"),
        (railed({**FIRST, "address": "10.0.0.300/24"}), "argument 'pod_rails' of gpu01: rail 0 has the address '10.0.0.300/24', which is none"),
    ],
)
def test_a_rail_that_is_named_twice_leaves_another_unnamed(given: Inventory, words: str) -> None:
    assert words in refused(given)


def test_nodes_that_differ_by_their_domain_only_are_refused() -> None:
    given = straight(PEER)
    names = {"gpu01": "gpu.rack1", "gpu02": "gpu.rack2"}
    hosts = {names[host]: {**own, "pod_rails": [{**own["pod_rails"][0], "leaf": names[PEER[host]]}]} for host, own in given.variables.items()}
    same = Inventory({"gpu_hosts": list(hosts), "rack_01": list(hosts)}, hosts)
    assert refused(same, HEAD + "gpu.rack1,rail0,gpu.rack2,rail0,dac,1\n") == [
        "nodes must differ without their domains, since neighbors are told without them: gpu.rack1, gpu.rack2"
    ]


@pytest.mark.parametrize(("said", "asn"), [(65001, 65001), ("65001", 65001), ("65001.1", 4259905537), (65001.1, 4259905537), (None, None)])
def test_an_autonomous_system_in_either_notation(said: object, asn: int | None) -> None:
    given = straight(PEER)
    plan, _waivers = prepare(Inventory(given.groups, {**given.variables, "gpu01": {**given.variables["gpu01"], "bgp_asn": said}}), CABLING)
    assert plan.nodes["gpu01"].asn == asn


def test_what_is_no_autonomous_system_is_refused() -> None:
    given = straight(PEER)
    wrong = Inventory(given.groups, {**given.variables, "gpu01": {**given.variables["gpu01"], "bgp_asn": "spine"}})
    assert refused(wrong) == ["bgp_asn of gpu01 must be an autonomous system, not 'spine'"]
