# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run is opened for, and what it is refused for, by plain calls; the pod is two hosts cabled straight to each other."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.planned_pod import Inventory, expectations_digest, layers_to_run, planned_pod
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.state import State
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore

PEER = {"gpu01": "gpu02", "gpu02": "gpu01"}
HEAD = "a_node,a_port,b_node,b_port,medium,length_m\n"


def straight(leaf_of: dict[str, str], leaves: tuple[str, ...] = ()) -> Inventory:
    """Two hosts of one rail each, in one gate group."""
    common = {**DEFAULTS, "pod_topology": "rail_only", "pod_gate_groups": ["rack_01"]}
    hosts = {host: {**common, "pod_rails": [{"device": "mlx5_0", "netdev": "rail0", "gpu": 0, "leaf": leaf_of[host]}]} for host in PEER}
    switches = {leaf: {**common, "pod_platform": "eos"} for leaf in leaves}
    return Inventory({"gpu_hosts": list(PEER), "rack_01": list(PEER), "leaves": list(leaves)}, {**hosts, **switches})


def test_hosts_may_be_cabled_straight_to_each_other() -> None:
    plan, _waivers = planned_pod(straight(PEER), HEAD + "gpu01,rail0,gpu02,rail0,dac,1\n")
    assert plan.behind("gpu01") == {"rack_01"}
    assert [cable["peer"] for cable in plan.planned("gpu01")["pod_cables"]] == ["gpu02"]


def test_rails_of_one_number_on_two_leaves_are_refused() -> None:
    inventory = straight({"gpu01": "leaf01", "gpu02": "leaf02"}, ("leaf01", "leaf02"))
    with pytest.raises(Refused) as refused:
        planned_pod(inventory, HEAD + "gpu01,rail0,leaf01,Ethernet1,dac,1\ngpu02,rail0,leaf02,Ethernet1,dac,1\n")
    assert refused.value.reasons == ["rail 0 of rack_01 lands on two leaves: leaf01 (gpu01) and leaf02 (gpu02)"]


@pytest.mark.parametrize(("pod", "host"), [("../elsewhere", "gpu01"), ("", "gpu01"), ("pod", "../gpu01"), ("pod", ".ssh"), ("pod", "gpu01\n")])
def test_a_name_that_leads_elsewhere_is_refused(pod: str, host: str) -> None:
    given = Inventory({"gpu_hosts": [host], "rack_01": [host]}, {host: {"pod_name": pod, "pod_gate_groups": ["rack_01"]}})
    with pytest.raises(Refused, match="letters, digits and"):
        planned_pod(given, "")


CABLING = HEAD + "gpu01,rail0,gpu02,rail0,dac,1\n"


def refused(given: Inventory, text: str | None = CABLING) -> list[str]:
    """Every reason for which a pod is refused."""
    with pytest.raises(Refused) as reasons:
        planned_pod(given, text)
    return reasons.value.reasons


def changed(**values: object) -> Inventory:
    """The pod with other expectations of every node."""
    given = straight(PEER)
    return Inventory(given.groups, {node: {**own, **values} for node, own in given.variables.items()})


def grouped(**groups: list[str]) -> Inventory:
    """The pod with other groups beside its own; its hosts are members of one gate group."""
    given = straight(PEER, ("leaf01",))
    return Inventory({**given.groups, **groups}, {**given.variables, "head01": given.variables["gpu01"]})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (grouped(spines=["gpu02"]), "in one role group of the inventory, not in gpu_hosts and spines: gpu02"),
        (grouped(leaves=["leaf01", "gpu01", "gpu02"]), "in one role group of the inventory, not in gpu_hosts and leaves: gpu01, gpu02"),
        (grouped(spines=["leaf01"]), "in one role group of the inventory, not in leaves and spines: leaf01"),
        (grouped(rack_01=["gpu01", "gpu02", "head01"]), "gate group 'rack_01' must have GPU hosts only, and these are not in gpu_hosts: head01"),
        (grouped(rack_01=["gpu01", "gpu02", "leaf01"]), "gate group 'rack_01' must have GPU hosts only, and these are not in gpu_hosts: leaf01"),
    ],
)
def test_a_node_of_two_roles_or_of_another_role_than_its_gate_group_is_refused(given: Inventory, words: str) -> None:
    assert any(words in reason for reason in refused(given)), refused(given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (changed(pod_gate_groups=[]), "argument 'pod_gate_groups' must name the inventory groups"),
        (changed(pod_gate_groups=["rack_1"]), "gate group 'rack_1' is not a group of the inventory"),
        (grouped(rack_01=["gpu01"]), "GPU hosts in no gate group, not in exactly one: gpu02"),
        (changed(pod_gate_groups=["rack_01", "leaves"]), "gate group 'leaves' has no GPU host"),
        (changed(pod_gate_groups=["rack_01", "gpu_hosts"]), "GPU hosts in the gate groups rack_01 and gpu_hosts, not in exactly one: gpu01, gpu02"),
        (changed(pod_hosts_count=3), "the inventory has 2 nodes of role host, and pod_hosts_count is 3"),
        (changed(pod_link_gbit_s="fast"), "argument 'pod_link_gbit_s' must be a number, not 'fast' (gpu01, gpu02)"),
        (changed(pod_platform="eos"), "argument 'pod_platform' of gpu01 must be one of linux, not 'eos'"),
        (changed(pod_rails=[]), "argument 'pod_rails' of gpu01 must name its fabric NICs"),
        (changed(pod_rails=[{"device": "mlx5_0"}]), "argument 'pod_rails' of gpu01: rail 0 lacks netdev, gpu, leaf"),
        (changed(pod_container_image="a/b:1"), "arguments 'pod_container_runtime' and 'pod_container_image' go together"),
        (changed(pod_container_runtime="docker"), "arguments 'pod_container_runtime' and 'pod_container_image' go together"),
        (changed(pod_container_runtime="docker", pod_container_image="--privileged"), "must be NAME, NAME:TAG or NAME@sha256:DIGEST, not '--privileged'"),
        (changed(pod_container_runtime="docker", pod_container_image="a b"), "must be NAME, NAME:TAG or NAME@sha256:DIGEST, not 'a b'"),
        (changed(pod_container_runtime="docker", pod_container_image="a", pod_launcher="kubernetes"), "must be 'none' with pod_launcher 'kubernetes'"),
        (changed(pod_container_runtime="enroot", pod_container_image="a/b:1"), "must be the path of a squashfs file with pod_container_runtime 'enroot', not"),
        (changed(pod_container_runtime="pyxis", pod_container_image="a"), "must be one of none, docker, podman, enroot, not 'pyxis'"),
        (changed(pod_waivers=[{"check": "crc_clean"}]), "argument 'pod_waivers': waiver 1 lacks host"),
        (changed(pod_waivers=[{"check": "none", "host": "a", "where": "b", "reason": "c", "until": "2026-01-01"}]), "which does not exist"),
    ],
)
def test_what_is_not_described_whole_is_refused(given: Inventory, words: str) -> None:
    assert any(words in reason for reason in refused(given)), refused(given)


@pytest.mark.parametrize("image", ["a", "a/b:1.2-py3", "nvcr.io/nvidia/pytorch:25.10-py3", "host:5000/a/b_c@sha256:" + "0a" * 32, "a:1@sha256:" + "0" * 64])
def test_an_image_may_have_a_registry_a_tag_and_a_digest(image: str) -> None:
    plan, _waivers = planned_pod(changed(pod_container_runtime="podman", pod_container_image=image), CABLING)
    assert plan.nodes["gpu01"].values["pod_container_image"] == image


def test_an_image_of_enroot_is_a_file() -> None:
    plan, _waivers = planned_pod(changed(pod_container_runtime="enroot", pod_container_image="/shared/nvidia+pytorch+25.10-py3.sqsh"), CABLING)
    assert plan.nodes["gpu01"].values["pod_container_image"] == "/shared/nvidia+pytorch+25.10-py3.sqsh"


def test_expectations_of_the_run_are_one_value() -> None:
    given = straight(PEER)
    reasons = refused(Inventory(given.groups, {**given.variables, "gpu02": {**given.variables["gpu02"], "pod_depth": "quick"}}))
    assert len(reasons) == 1 and "argument 'pod_depth' must be one value for the whole pod" in reasons[0]


@pytest.mark.parametrize(("name", "value"), [("pod_idle_seconds", 7), ("pod_traffic_class", 96), ("pod_write_bw_min_percent", 70.0)])
def test_what_a_load_takes_of_its_first_host_is_one_value_for_all_hosts(name: str, value: float) -> None:
    given = straight(PEER)
    (reason,) = refused(Inventory(given.groups, {**given.variables, "gpu02": {**given.variables["gpu02"], name: value}}))
    assert reason.startswith(f"argument '{name}' must be one value for all GPU hosts, which are loaded together, not ") and f"{value} (gpu02)" in reason


def test_the_wiring_plan_is_needed_and_whole() -> None:
    assert "group_vars/cabling.csv: the wiring plan does not exist" in refused(straight(PEER), None)
    assert "group_vars/cabling.csv: rail mlx5_0 (rail0) of gpu01 has no cable" in refused(straight(PEER), HEAD + "gpu01,rail7,gpu02,rail7,dac,1\n")


def test_every_reason_is_reported_at_once() -> None:
    assert len(refused(changed(pod_link_gbit_s="fast", pod_hosts_count=3, pod_leaves_count=1))) == 3


def test_a_digest_changes_with_what_is_proved_and_not_with_how() -> None:
    plan, _waivers = planned_pod(straight(PEER), CABLING)
    same, _waivers = planned_pod(changed(pod_from_layer="links", pod_to_layer="links"), CABLING)
    other, _waivers = planned_pod(changed(pod_link_gbit_s=200), CABLING)
    assert expectations_digest(plan, CABLING, "1") == expectations_digest(same, CABLING, "1") != expectations_digest(other, CABLING, "1")
    assert expectations_digest(plan, CABLING, "1") != expectations_digest(plan, CABLING, "2") != expectations_digest(plan, CABLING + " ", "2")


def test_layers_from_and_to() -> None:
    assert layers_to_run({"pod_from_layer": "links", "pod_to_layer": "routing"}) == ("links", "routing")
    with pytest.raises(Refused):
        layers_to_run({"pod_from_layer": "routing", "pod_to_layer": "links"})


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
        (
            railed({**FIRST, "address": "fd00::1/64"}),
            "argument 'pod_rails' of gpu01: rail 0 has the address 'fd00::1/64', which is of IPv6, and pod_address_family is ipv4",
        ),
        (
            railed({**FIRST, "address": "fe80::1/64"}),
            "argument 'pod_rails' of gpu01: rail 0 has the address 'fe80::1/64', which is of one link only: other hosts do not reach it",
        ),
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
        "nodes must differ without their domains, since neighbors are reported without them: gpu.rack1, gpu.rack2"
    ]


@pytest.mark.parametrize(("output", "asn"), [(65001, 65001), ("65001", 65001), ("65001.1", 4259905537), (65001.1, 4259905537), (None, None)])
def test_an_autonomous_system_in_either_notation(output: object, asn: int | None) -> None:
    given = straight(PEER)
    plan, _waivers = planned_pod(Inventory(given.groups, {**given.variables, "gpu01": {**given.variables["gpu01"], "bgp_asn": output}}), CABLING)
    assert plan.nodes["gpu01"].asn == asn


def test_what_ansible_connects_to_is_a_name_of_a_host_where_one_has_it_alone(tmp_path: Path) -> None:
    given = straight(PEER)

    def names(first: object, second: object, **values: object) -> dict[str, tuple[str, str | None]]:
        of_host = {"gpu01": first, "gpu02": second}
        hosts = {host: {**own, "ansible_host": of_host[host], **values} for host, own in given.variables.items()}
        plan, _waivers = planned_pod(Inventory(given.groups, hosts), CABLING)
        state = State(pod="pod", run_id="1", depth="standard", mode="full", opened="x", digest="", version="", layers=["preflight"], members={"preflight": []})
        book = RunStore(tmp_path)
        book.keep_plan(plan, state)
        kept = book.plan().of_all()["pod_host_addresses"]
        assert kept == plan.of_all()["pod_host_addresses"]
        return kept

    assert names("192.0.2.1", "bmc-2.site") == {"192.0.2.1": ("gpu01", None), "bmc-2.site": ("gpu02", None)}
    # One that all have leads to what stands before them, and the name of another node is that node.
    assert names("bastion", "bastion") == {} and names("gpu01", None) == {} and names("gpu02", "") == {}


def test_what_is_no_autonomous_system_is_refused() -> None:
    given = straight(PEER)
    wrong = Inventory(given.groups, {**given.variables, "gpu01": {**given.variables["gpu01"], "bgp_asn": "spine"}})
    assert refused(wrong) == ["bgp_asn of gpu01 must be an autonomous system, not 'spine'"]


def test_spines_want_a_routing_protocol() -> None:
    given = changed(pod_underlay="none")
    assert planned_pod(given, CABLING)[0].nodes["gpu01"].values["pod_underlay"] == "none"
    spine = {**given.variables["gpu01"], "pod_rails": [], "pod_platform": "eos"}
    with_spine = Inventory({**given.groups, "spines": ["spine01"]}, {**given.variables, "spine01": spine})
    assert any(reason.startswith("argument 'pod_underlay' must name the routing protocol of a pod with spines") for reason in refused(with_spine))
    assert any("must be one of bgp, ospf, static, none, not 'isis'" in reason for reason in refused(changed(pod_underlay="isis")))
    assert any("OSPFv3 is not read" in reason for reason in refused(changed(pod_underlay="ospf", pod_address_family="ipv6")))


def test_an_overlay_wants_a_vrf_ipv4_and_a_way_to_its_vteps() -> None:
    assert planned_pod(changed(pod_overlay="evpn", pod_rail_vrf="RAILS"), CABLING)[0].nodes["gpu01"].values["pod_rail_vni"] is None
    for values, words in (
        ({}, "'pod_rail_vrf' must name the VRF of the rails"),
        ({"pod_rail_vrf": "RAILS", "pod_address_family": "ipv6"}, "VTEPs and rails of IPv4 are read"),
        ({"pod_rail_vrf": "RAILS", "pod_underlay": "none"}, "'pod_underlay' must name what leads to the VTEPs"),
        ({"pod_rail_vrf": "RAILS", "pod_rail_vni": 16777216}, "from 1 to 16777215"),
    ):
        assert any(words in reason for reason in refused(changed(pod_overlay="evpn", **values))), words


HOSTS = [f"gpu-{first}{second}{third}" for first in "abcdefgh" for second in "abcdefgh" for third in "abcdefgh"]


def large(**values: object) -> tuple[Inventory, str]:
    """512 hosts of eight rails, named by letters, and their wiring plan."""
    leaves = [f"leaf-{rail}" for rail in range(8)]
    common = {**DEFAULTS, "pod_gate_groups": ["rack_01"], "pod_topology": "rail_optimised", **values}
    rails = [{"device": f"mlx5_{rail}", "netdev": f"rail{rail}", "gpu": rail, "leaf": leaf} for rail, leaf in enumerate(leaves)]
    nodes = {**{host: {**common, "pod_rails": rails} for host in HOSTS}, **{leaf: {**common, "pod_platform": "eos"} for leaf in leaves}}
    rows = [f"{host},rail{rail},{leaf},Ethernet{number},dac,1\n" for number, host in enumerate(HOSTS) for rail, leaf in enumerate(leaves)]
    return Inventory({"gpu_hosts": HOSTS, "rack_01": HOSTS, "leaves": leaves}, nodes), HEAD + "".join(rows)


def test_a_large_pod_is_opened() -> None:
    assert len(planned_pod(*large())[0].cables) == 4096


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda text: "\ufeff" + text, "line 1: the columns a_node are missing"),
        (lambda text: text.replace(",", ";"), "line 1: the columns a_node"),
        (lambda text: text.removeprefix(HEAD), "line 1: the columns a_node"),
        (lambda text: text + text.removeprefix(HEAD), "line 4098: the cable of line 2 again"),
        (lambda text: text.replace(",dac,", ",dac,,"), "line 2: there are more cells than columns"),
        (lambda text: text.replace("leaf-", "leaf_"), "line 2: node leaf_0 is not in the inventory"),
        (lambda text: text.replace("Ethernet", "", 1).replace(",1\n", ",1 m\n"), "line 2: length_m must be a number"),
        (
            lambda text: "".join(line.replace("rail", "ens") for line in text.splitlines(keepends=True)),
            "cabling.csv: rail mlx5_0 (rail0) of gpu-aaa has no cable",
        ),
        (lambda text: text.replace("leaf-0", "leaf-9").replace("leaf-1", "leaf-0").replace("leaf-9", "leaf-1"), "lands on leaf-1, and pod_rails has leaf-0"),
    ],
)
def test_one_mistake_in_a_large_plan_is_at_most_twelve_lines(edit, words: str) -> None:
    given, text = large()
    reasons = refused(given, edit(text))
    assert words in reasons[0] and len(reasons) <= 12 and max(map(len, reasons)) < 420, reasons


@pytest.mark.parametrize(
    "values",
    [
        {"pod_platform": "eos"},
        {"pod_link_gbit_s": "fast"},
        {"pod_gate_groups": ["rack_02"]},
        {"pod_gate_groups": []},
        {"pod_colour": "blue"},
        {"pod_fabric_reader": ["nobody"]},
    ],
)
def test_one_wrong_value_of_a_large_pod_is_at_most_twelve_lines(values: dict[str, object]) -> None:
    assert len(refused(*large(**values))) <= 12


def test_one_mistake_in_the_rails_of_every_host_is_at_most_twelve_lines() -> None:
    given, text = large()
    for change in ({"leaf": ""}, {"pci": "slot 3"}, {"address": "10.0.0.300"}, {"address": "10.0.0.1/24"}, {"device": "mlx5_0"}, {"leaf": "leaf-7"}):
        nodes = {name: {**own, "pod_rails": [{**rail, **change} for rail in own.get("pod_rails", ())]} for name, own in given.variables.items()}
        reasons = refused(Inventory(given.groups, nodes), text)
        assert len(reasons) <= 12 and max(map(len, reasons)) < 420, reasons


def test_waivers_are_refused_when_the_run_is_opened() -> None:
    year = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=300)
    whole = {"check": "crc_clean", "host": "gpu01", "where": "ens0", "reason": "x", "until": year}
    plan, given = planned_pod(changed(pod_waivers=[whole]), CABLING)
    # A date without quotes in YAML is text in the documents of a run.
    assert given[0].until == year and plan.nodes["gpu01"].values["pod_waivers"][0]["until"] == str(year)
    for change, words in (
        ({"host": "gpu09"}, "the node 'gpu09', which is not in the inventory"),
        ({"hots": "gpu01"}, "the unknown key hots"),
        ({"until": year + datetime.timedelta(days=100)}, "more than a year"),
    ):
        assert any(words in reason for reason in refused(changed(pod_waivers=[{**whole, **change}])))


def test_different_mistakes_are_not_folded_into_one() -> None:
    reasons = refused(changed(pod_link_gbit_s="a", pod_soak_seconds="b", pod_gpus_per_host="c", pod_roce_priority="d", pod_mtu="e"))
    assert len(reasons) == 5
