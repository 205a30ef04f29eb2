# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods whose NICs have a port in each of two or four planes, without a bond: nothing is sent from one to another, and what is at one is named with it.

That they climb to go is shown by tests/integration/test_discovered_platforms.py.
"""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.incasts import incasts_among
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.pairing import rail_rounds
from ansible_collections.gpufabric.pyramid.tests.cases import name_of_fault
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Pod, Rail

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("nic_planes")]
PORT = "enp94s0np0"


@pytest.fixture(scope="module", params=[2, 4], ids=["two planes", "four planes"])
def pods(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """Two racks of four hosts of eight rails, which are the ports of four or two NICs, under eight leaves and four spines."""
    place, small = tmp_path_factory.mktemp("pod"), {"pod_name": "small"}
    return inprocess.Pods(layout.write(place, racks=2, hosts_per_rack=4, spines=4, expectations=small, nic_planes=request.param))


def planes_of(pods: inprocess.Pods) -> int:
    """How many planes the fixture's pod has."""
    return len(set(pods.plan.planes.values()))


def rail_of(pod: Pod) -> Rail:
    """The last plane of a NIC, which leads to leaf04."""
    return pod.hosts["gpu02"].rails[3]


def test_nothing_crosses_planes(pods: inprocess.Pods) -> None:
    plane_of = {(rail["host"], rail["device"]): rail.get("plane") for rail in pods.plan.rails()}
    planes = planes_of(pods)
    assert planes in (2, 4) and set(plane_of.values()) == set(range(1, planes + 1)) and pods.plan.planes["leaf04"] == planes
    hosts = [name for name, node in pods.plan.nodes.items() if node.role == "host"]
    meshes = [(host, ping) for host, own in pods.plan.meshes(hosts).items() for ping in own["ping"] + own["path_probe"]]
    assert any(ping["cross"] for _host, ping in meshes)
    assert all(plane_of[host, ping["device"]] == plane_of[ping["peer"], ping["peer_device"]] for host, ping in meshes)
    incasts = incasts_among(pods.plan, pods.plan.rails()).pairs
    crossed = [pair for one in rail_rounds(pods.plan.rails(), "sampled", "rail_optimised", cross_rail=True) for pair in one]
    assert any(pair["cross"] and not pair["across"] for pair in incasts) and crossed
    assert all(one["sender"].get("plane") == one["receiver"].get("plane") for one in incasts)
    assert all(sender["index"] != receiver["index"] and sender.get("plane") == receiver.get("plane") for sender, receiver in crossed)


def dead(pod: Pod) -> None:
    rail_of(pod).state, pod.port("leaf04", "Ethernet2/1").state = "Down", "notconnect"


def slower(pod: Pod) -> None:
    rail_of(pod).speed_gbit_s = pod.port("leaf04", "Ethernet2/1").speed_gbit_s = 200


def planes_swapped(pod: Pod) -> None:
    """The two cables of one NIC are each in the other's port."""
    first, second = pod.hosts["gpu02"].rails[2:4]
    (first.lldp_peer, first.lldp_port), (second.lldp_peer, second.lldp_port) = (second.lldp_peer, second.lldp_port), (first.lldp_peer, first.lldp_port)
    pod.port("leaf03", "Ethernet2/1").lldp_port, pod.port("leaf04", "Ethernet2/1").lldp_port = second.netdev, first.netdev


def session_down(pod: Pod) -> None:
    pod.switches["leaf04"].sessions[0].state = "Active"


def lossy(pod: Pod) -> None:
    rail_of(pod).loss_percent = 40


def crc(pod: Pod) -> None:
    rail_of(pod).grow["rx_crc_errors_phy"] = 40


@pytest.mark.parametrize(
    ("fault", "layer", "place", "words"),
    [
        (dead, "links", ("port_speed", "gpu02", PORT), "the port at the far end (leaf04 Ethernet2/1 in plane {planes}) is shut or without power"),
        (slower, "links", ("port_speed", "leaf04", "Ethernet2/1"), "Both ends agree on a lower rate"),
        (planes_swapped, "links", ("cabling_as_planned", "gpu02", PORT), ""),
        (crc, "links", ("crc_clean", "gpu02", PORT), ""),
        (session_down, "routing", ("bgp_established", "leaf04", None), ""),
        (lossy, "routing", ("rails_reachable", "gpu02", None), ""),
    ],
    ids=name_of_fault,
)
def test_a_fault_of_one_plane_is_of_its_port(
    fault: t.Callable[[Pod], None], layer: str, place: tuple[str, str, str | None], words: str, pods: inprocess.Pods
) -> None:  # fmt: skip
    pod = pods.pod()
    fault(pod)
    its = inprocess.findings_by_place(pods.plan, pod, layer)
    found = {key: cause for key, (_got, cause) in its.items() if key[:2] == place[:2] and place[2] in (None, key[2])}
    assert found and all(words.format(planes=planes_of(pods)) in cause for cause in found.values()), its
    # Nothing is said of the other plane, but of the cable that is swapped with it.
    other = {"leaf01", "leaf05", "leaf07", "spine01", "spine02"} | (set() if fault is planes_swapped else {"leaf03"})
    assert not other & {host for _check, host, _where in its}, its
