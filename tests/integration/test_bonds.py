# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod whose rails are bonds (LACP) of two ports, each to another leaf: a healthy one climbs to go, and one port of a bond is named by its own cable."""

from __future__ import annotations

import copy
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.cases import name_of_fault
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Pod, Rail, Tool
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.reported import not_passed, proved

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("bonds")]
BOND, FIRST, SECOND = "bond1", "enp79s0f0np0", "enp79s0f1np1"
MEMBER = ("bond_members", "gpu02", f"{BOND} {SECOND}")


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """Two racks of four hosts; the two ports of each of their four rails lead to a pair of eight EOS leaves under four SONiC spines."""
    expectations = {"pod_name": "small", "pod_to_layer": "training"}
    return inprocess.Pods(layout.write(tmp_path_factory.mktemp("pod"), racks=2, hosts_per_rack=4, spines=4, expectations=expectations, bonds=True))


def bond_of(pod: Pod) -> Rail:
    return pod.hosts["gpu02"].rails[1]


def leg_of(pod: Pod) -> Rail:
    """The second port of a bond, which leads to leaf04."""
    return bond_of(pod).legs[1]


def test_a_healthy_pod_goes(pods: inprocess.Pods, tmp_path: Path) -> None:
    report = pods.climb(pods.pod(), tmp_path)
    assert not_passed(report) == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    assert {("bond_members", "gpu02"), ("channel_members", "leaf04"), ("ecmp_balanced", "leaf04"), ("write_bw_per_rail", "gpu02")} <= proved(report)
    assert {("dcqcn_running", "gpu02"), ("roce_qos", "gpu02"), ("right_class", "gpu02"), ("switch_marks", "leaf04")} <= proved(report)


def no_link(pod: Pod) -> None:
    leg_of(pod).state, pod.port("leaf04", "Ethernet2/1").state = "Down", "notconnect"
    leg_of(pod).aggregator = 2


def no_partner(pod: Pod) -> None:
    leg_of(pod).lacp_partner, leg_of(pod).aggregator, leg_of(pod).lacp_states, leg_of(pod).churned = "00:00:00:00:00:00", 2, (69, 1), True
    pod.port("leaf04", "Ethernet2/1").unbundled = "alone"


def another_pair(pod: Pod) -> None:
    leg_of(pod).lacp_partner, leg_of(pod).aggregator = "02:1c:73:00:00:07", 2


def another_key(pod: Pod) -> None:
    leg_of(pod).aggregator = 2


def slower(pod: Pod) -> None:
    half_speed(pod)
    leg_of(pod).aggregator = 2


def not_in_step(pod: Pod) -> None:
    leg_of(pod).lacp_states = (63, 5)


def churned(pod: Pod) -> None:
    not_in_step(pod)
    leg_of(pod).churned = True


def taken_out(pod: Pod) -> None:
    leg_of(pod).master = ""


@pytest.mark.parametrize(
    ("fault", "got", "cause"),
    [
        (no_link, "link down", "the port at leaf04 Ethernet2/1 is down"),
        (no_partner, "no LACP partner", "the port at leaf04 Ethernet2/1 is in no port-channel"),
        (another_pair, "in aggregator 2, and bond1 uses 1, with the LACP system 02:1c:73:00:00:07 and not 02:1c:73:00:00:03", "different LACP systems"),
        (another_key, "in aggregator 2, and bond1 uses 1", "an aggregator of its own"),
        (slower, "in aggregator 2, and bond1 uses 1", f"{SECOND} runs at 200 Gb/s, and the members that the bond uses at 400"),
        (not_in_step, "not in step, collecting and distributing (partner state 5)", ""),
        (churned, "not in step, collecting and distributing (partner state 5), for over a minute (churned)", ""),
        (taken_out, "no member of it", "taken out of the bond"),
    ],
    ids=name_of_fault,
)
def test_a_member_that_carries_nothing_is_named(fault: t.Callable[[Pod], None], got: str, cause: str, pods: inprocess.Pods) -> None:
    pod = pods.pod()
    fault(pod)
    its = inprocess.findings_by_place(pods.plan, pod, "links")
    assert its[MEMBER][0] == got and cause in its[MEMBER][1]
    # Both ends of the member's own cable, and nothing of the other member, leaf or host.
    assert set(its) - {MEMBER} <= {
        ("port_speed", "gpu02", SECOND), ("port_speed", "leaf04", "Ethernet2/1"), ("channel_members", "leaf04", "Port-Channel102 Ethernet2/1"),
    }  # fmt: skip
    assert inprocess.findings_by_place(pods.plan, pod, "preflight") == inprocess.findings_by_place(pods.plan, pod, "routing") == {}


def test_what_is_of_a_member_is_at_its_own_leaf(pods: inprocess.Pods, tmp_path: Path) -> None:
    pod = pods.pod()
    no_partner(pod)
    by_address(pod)
    report = pods.climb(pod, tmp_path, pod_to_layer="links")
    its = {finding["where"]: (finding["rail"], finding["leaf"]) for one in report["verdicts"] if one["check"] == "bond_members" for finding in one["findings"]}
    # Which leaf a bond as a whole is at cannot be said.
    assert its == {f"{BOND} {SECOND}": ("mlx5_bond_1", "leaf04"), f"{BOND} hash policy": ("mlx5_bond_1", None)}
    assert report["verdict"] == "no_go"


def active_backup(pod: Pod) -> None:
    bond_of(pod).bond_mode = "fault-tolerance (active-backup)"


def by_address(pod: Pod) -> None:
    bond_of(pod).hash_policy = "layer2 (0)"


@pytest.mark.parametrize(
    ("fault", "where", "got", "cause"),
    [
        (active_backup, f"{BOND} mode", "active-backup", "one member alone carries traffic"),
        (by_address, f"{BOND} hash policy", "layer2", "alike for all flows between two hosts"),
    ],
    ids=name_of_fault,
)
def test_a_bond_that_leaves_a_member_idle_is_named(fault: t.Callable[[Pod], None], where: str, got: str, cause: str, pods: inprocess.Pods) -> None:
    pod = pods.pod()
    fault(pod)
    [(place, (actual, why))] = inprocess.findings_by_place(pods.plan, pod, "links").items()
    assert (place, actual) == (("bond_members", "gpu02", where), got) and cause in why


def half_speed(pod: Pod) -> None:
    leg_of(pod).speed_gbit_s = pod.port("leaf04", "Ethernet2/1").speed_gbit_s = 200


def on_another_leaf(pod: Pod) -> None:
    """The second ports of two bonds of a host, swapped: leaf04 and leaf06 have each other's."""
    first, second = leg_of(pod), pod.hosts["gpu02"].rails[2].legs[1]
    (first.lldp_peer, first.lldp_port), (second.lldp_peer, second.lldp_port) = (second.lldp_peer, second.lldp_port), (first.lldp_peer, first.lldp_port)
    pod.port("leaf04", "Ethernet2/1").lldp_port, pod.port("leaf06", "Ethernet2/1").lldp_port = second.netdev, first.netdev


def both_on_one_leaf(pod: Pod) -> None:
    """The second port of a bond is in a spare port of the leaf of the first."""
    leg_of(pod).lldp_peer, leg_of(pod).lldp_port = "leaf03", "Ethernet20/1"
    pod.port("leaf04", "Ethernet2/1").state = "notconnect"


def test_members_at_one_leaf_are_named_with_the_leaf_that_is_planned(pods: inprocess.Pods) -> None:
    pod = pods.pod()
    both_on_one_leaf(pod)
    its = inprocess.findings_by_place(pods.plan, pod, "links")
    assert its[MEMBER][0] == f"at leaf03, as {FIRST} is" and "the rail is lost with that leaf" in its[MEMBER][1]
    assert its["cabling_as_planned", "gpu02", SECOND][0] == "leaf03 Ethernet20/1"
    assert {(host, where) for _check, host, where in its} <= {
        ("gpu02", SECOND), ("gpu02", MEMBER[2]), ("leaf04", "Ethernet2/1"), ("leaf04", "Port-Channel102 Ethernet2/1"),
    }  # fmt: skip


def another_vlan(pod: Pod) -> None:
    """The port-channel of one host on one leaf."""
    pod.port("leaf04", "Ethernet2/1").vlan = "20"


def crc(pod: Pod) -> None:
    leg_of(pod).grow["rx_crc_errors_phy"] = 40


@pytest.mark.parametrize(
    ("fault", "layer", "expected"),
    [
        (half_speed, "links", {("port_speed", "gpu02", SECOND), ("port_speed", "leaf04", "Ethernet2/1")}),
        (
            on_another_leaf, "links",
            {("cabling_as_planned", "gpu02", SECOND), ("cabling_as_planned", "gpu02", "enp154s0f1np1"),
             ("cabling_as_planned", "leaf04", "Ethernet2/1"), ("cabling_as_planned", "leaf06", "Ethernet2/1")},
        ),
        (crc, "links", {("crc_clean", "gpu02", SECOND)}),
        (another_vlan, "links", {("host_vlans_alike", "leaf04", "Ethernet2/1")}),
    ],
    ids=name_of_fault,
)  # fmt: skip
def test_a_fault_of_one_cable_is_of_its_port(fault: t.Callable[[Pod], None], layer: str, expected: set[tuple[str, str, str]], pods: inprocess.Pods) -> None:
    pod = pods.pod()
    fault(pod)
    assert set(inprocess.findings_by_place(pods.plan, pod, layer)) == expected


def agents_of_firmware(pod: Pod) -> None:
    """No host runs an LLDP agent, and each NIC port's firmware gives the address that it has from its factory, for its name and its chassis."""
    legs = {(leg.leaf, leg.leaf_port): leg for host in pod.hosts.values() for rail in host.rails for leg in rail.legs}
    for (leaf, name), leg in legs.items():
        leg.lldp, one = False, pod.port(leaf, name)
        one.lldp_peer = one.lldp_port = leg.mac


def test_members_are_told_apart_though_they_share_an_address(pods: inprocess.Pods) -> None:
    pod = pods.pod()
    agents_of_firmware(pod)
    assert inprocess.findings_by_place(pods.plan, pod, "links") == {}
    first, second = pod.port("leaf03", "Ethernet2/1"), pod.port("leaf04", "Ethernet2/1")
    first.lldp_peer, second.lldp_peer = second.lldp_peer, first.lldp_peer
    first.lldp_port, second.lldp_port = second.lldp_port, first.lldp_port
    its = inprocess.findings_by_place(pods.plan, pod, "links")
    assert set(its) == {("cabling_as_planned", "leaf03", "Ethernet2/1"), ("cabling_as_planned", "leaf04", "Ethernet2/1")}
    assert its["cabling_as_planned", "leaf04", "Ethernet2/1"][0].startswith(f"gpu02 {FIRST}")


def a_stranger(pod: Pod) -> None:
    stranger = copy.copy(leg_of(pod))
    stranger.netdev = "enp5s0f1np1"
    bond_of(pod).legs.append(stranger)


def test_a_member_that_is_not_planned_is_named(pods: inprocess.Pods) -> None:
    pod = pods.pod()
    a_stranger(pod)
    assert {key: got for key, (got, _cause) in inprocess.findings_by_place(pods.plan, pod, "links").items()} == {
        ("bond_members", "gpu02", f"{BOND} enp5s0f1np1"): "a member of it"
    }


def test_what_is_told_to_root_alone_is_unknown_to_others(pods: inprocess.Pods) -> None:
    pod = pods.pod()
    pod.hosts["gpu02"].by_root = False
    verdicts = [one for one in inprocess.judge(pods.plan, pod, "links") if one.check == "bond_members" and one.host == "gpu02"]
    assert [one.verdict for one in verdicts] == ["unknown"]
    assert {finding.actual for one in verdicts for finding in one.findings} == {"LACP's partner and state are told to root only, and are not reported"}


def test_a_bond_that_is_not_read_closes_the_gate(pods: inprocess.Pods) -> None:
    pod = pods.pod()
    pod.hosts["gpu02"].tools.append(Tool("cat", "says", arguments="/proc/net/bonding/bond1", stderr="cat: No such file or directory\n", rc=1))
    verdicts = inprocess.judge(pods.plan, pod, "links")
    assert [one.verdict for one in verdicts if one.check == "bond_members" and one.host == "gpu02"] == ["unknown"]
    assert inprocess.decide(pods.plan, verdicts, "links") == {"rack_01": "closed", "rack_02": "open"}


def without_pfc(pod: Pod) -> None:
    leg_of(pod).pfc = []


def without_dcqcn(pod: Pod) -> None:
    leg_of(pod).dcqcn_rp = []


@pytest.mark.parametrize(
    ("fault", "expected"),
    [(without_pfc, ("roce_qos", "gpu02", f"{SECOND} PFC")), (without_dcqcn, ("dcqcn_running", "gpu02", f"{SECOND} roce_rp"))],
    ids=name_of_fault,
)
def test_a_setting_of_one_port_is_of_that_port(fault: t.Callable[[Pod], None], expected: tuple[str, str, str], pods: inprocess.Pods) -> None:
    pod = pods.pod()
    fault(pod)
    assert set(inprocess.findings_by_place(pods.plan, pod, "preflight")) == {expected}


def test_pauses_of_one_port_are_of_that_port(pods: inprocess.Pods) -> None:
    pod = pods.pod()
    leg_of(pod).grow["rx_prio3_pause"] = leg_of(pod).grow["rx_prio3_pause_duration"] = 900
    assert set(inprocess.findings_by_place(pods.plan, pod, "congestion")) == {("idle_quiet", "gpu02", f"{SECOND} pauses received")}


def test_a_bond_that_carries_no_more_than_one_port_is_slow(pods: inprocess.Pods, tmp_path: Path) -> None:
    pod = pods.pod()
    bond_of(pod).sends_gbit_s = bond_of(pod).from_gpu_gbit_s = 378.0
    report = pods.climb(pod, tmp_path, from_layer="rdma", pod_to_layer="rdma")
    its = {(one["check"], finding["host"] or one["host"], finding["where"]) for one in report["verdicts"] for finding in one["findings"]}
    assert ("write_bw_per_rail", "gpu02", "mlx5_bond_1") in its
    assert {host for _check, host, _where in its} == {"gpu02"}


@pytest.fixture(scope="module")
def under_sonic(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """The same pod under leaves of SONiC."""
    into, expectations = tmp_path_factory.mktemp("sonic"), {"pod_name": "small", "pod_to_layer": "training"}
    return inprocess.Pods(layout.write(into, racks=2, hosts_per_rack=4, spines=4, expectations=expectations, bonds=True, leaf_platform="sonic"))


def test_a_healthy_pod_under_sonic_goes(under_sonic: inprocess.Pods, tmp_path: Path) -> None:
    report = under_sonic.climb(under_sonic.pod(), tmp_path)
    assert not_passed(report) == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    assert {("bond_members", "gpu02"), ("channel_members", "leaf04"), ("write_bw_per_rail", "gpu02"), ("switch_marks", "leaf04")} <= proved(report)


def deselected(pod: Pod) -> None:
    """teamd of the leaf gets no LACP from the host's port."""
    leg_of(pod).lacp_states, pod.port("leaf04", "Ethernet8").unbundled = (63, 5), "deselected"


def out_of_its_channel(pod: Pod) -> None:
    leg_of(pod).lacp_partner, leg_of(pod).aggregator, leg_of(pod).lacp_states = "00:00:00:00:00:00", 2, (69, 1)
    pod.port("leaf04", "Ethernet8").unbundled = "alone"


@pytest.mark.parametrize(
    ("fault", "got", "cause"),
    [
        (deselected, "not in step, collecting and distributing (partner state 5)", ""),
        (out_of_its_channel, "no LACP partner", "the port at leaf04 Ethernet8 is in no port-channel"),
    ],
    ids=name_of_fault,
)
def test_a_member_that_sonic_does_not_use_is_named_at_both_ends(
    fault: t.Callable[[Pod], None], got: str, cause: str, under_sonic: inprocess.Pods
) -> None:  # fmt: skip
    pod = under_sonic.pod()
    fault(pod)
    its = inprocess.findings_by_place(under_sonic.plan, pod, "links")
    assert its[MEMBER][0] == got and cause in its[MEMBER][1]
    assert set(its) == {MEMBER, ("channel_members", "leaf04", "PortChannel102 Ethernet8")}
