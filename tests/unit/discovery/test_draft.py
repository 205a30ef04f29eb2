# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drafts from what nodes tell: by LLDP, by MAC addresses, by InfiniBand's discovery; what nobody tells stays blank."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.access import access_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.draft import draft_pod
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.inventory_files import inventory_files

ROLES = {"gpu01": "host", "leaf01": "leaf", "leaf02": "leaf", "spine01": "spine"}
MACS = ("b8:3f:d2:00:00:01", "b8:3f:d2:00:00:02")
RDMA = [{"device": f"mlx5_{number}", "port": 1, "state": "Active", "physical_state": "LinkUp", "netdev": f"eth{number}"} for number in range(2)]
LINKS = [{"netdev": f"eth{number}", "state": "UP", "mtu": 9000, "mac": mac, "parent_pci": f"0000:0{number}:00.0"} for number, mac in enumerate(MACS)]
NEAR = [("GPU0", "mlx5_0", "PXB"), ("GPU0", "mlx5_1", "SYS"), ("GPU1", "mlx5_0", "SYS"), ("GPU1", "mlx5_1", "PXB"), ("GPU0", "GPU1", "NV18")]
TOPOLOGY = [{"device": a, "peer": b, "connection": how} for a, b, how in NEAR]


def lldp(port, neighbor, neighbor_port):
    return {"port": port, "neighbor": neighbor, "neighbor_port": neighbor_port}


def host(**more):
    return {"rdma_link": RDMA, "ip_link": LINKS, "gpu_topology": TOPOLOGY, **more}


def switch(asn=65101, **more):
    status = [{"port": f"Et{number}", "state": "connected", "speed_gbit_s": 400.0} for number in (1, 2, 33)]
    return {"bgp_summary": [{"local_asn": asn}], "interface_status": status, **more}


WHOLE = {
    "gpu01": host(),
    "leaf01": switch(lldp_neighbors=[lldp("Et1", "gpu01.example.org", "eth0"), lldp("Et33", "spine01", "Ethernet0")]),
    "leaf02": switch(65102, lldp_neighbors=[lldp("Et1", "gpu01", "eth1")]),
    "spine01": switch(65000, lldp_neighbors=[lldp("Ethernet0", "leaf01", "Ethernet33")]),
}
CABLES = [
    (("gpu01", "eth0"), ("leaf01", "Ethernet1")),
    (("gpu01", "eth1"), ("leaf02", "Ethernet1")),
    (("leaf01", "Ethernet33"), ("spine01", "Ethernet0")),
]


def test_a_whole_pod_has_no_blanks():
    found = draft_pod(ROLES, WHOLE, "roce")
    assert (found.cables, found.blanks, found.topology, found.link_gbit_s) == (CABLES, [], "rail_optimised", 400.0)
    assert [(rail["device"], rail["netdev"], rail["gpu"], rail["leaf"], rail["pci"]) for rail in found.rails["gpu01"]] == [
        ("mlx5_0", "eth0", 0, "leaf01", "0000:00:00.0"), ("mlx5_1", "eth1", 1, "leaf02", "0000:01:00.0"),
    ]  # fmt: skip
    assert {name: (one["role"], one["asn"]) for name, one in found.switches.items()} == {
        "leaf01": ("leaf", 65101), "leaf02": ("leaf", 65102), "spine01": ("spine", 65000),
    }  # fmt: skip


def test_super_spines_are_drafted_as_a_group_of_the_spines():
    lldp_of_spine = [*WHOLE["spine01"]["lldp_neighbors"], lldp("Ethernet8", "top01", "Ethernet0")]
    found = draft_pod({**ROLES, "top01": "super_spine"}, {**WHOLE, "spine01": switch(65000, lldp_neighbors=lldp_of_spine)}, "roce")
    assert {name: one["role"] for name, one in found.switches.items()} == {
        "leaf01": "leaf", "leaf02": "leaf", "spine01": "spine", "top01": "super_spine"
    }  # fmt: skip
    hosts = inventory_files(found, {"rack_01": ["gpu01"]}, "pod", access_of({}, {}))["hosts.yml"]
    assert yaml.safe_load(hosts)["all"]["children"]["spines"]["children"] == {"super_spines": {"hosts": {"top01": {"bgp_asn": None}}}}


@pytest.mark.parametrize("mac", [MACS[0], "b83f.d200.0001"])
@pytest.mark.parametrize("table", ["mac_table", "arp_table"])
def test_a_silent_host_is_found_behind_its_mac_address(table, mac):
    row = {"mac": mac, "port": "Et1", "vlan": None, "address": "10.0.0.1", "interface": "Ethernet1"}
    behind = {**WHOLE, "leaf01": switch(lldp_neighbors=[lldp("Et33", "spine01", "Ethernet0")], **{table: [row]})}
    # Every spine and other leaf learns the address too, over its uplink.
    behind["spine01"] = {**behind["spine01"], table: [{**row, "port": "Ethernet0", "interface": "Ethernet0"}]}
    assert draft_pod(ROLES, behind, "roce").cables == CABLES


def test_an_address_on_two_ports_tells_no_place():
    rows = [{"mac": MACS[0], "port": port, "vlan": None} for port in ("Et1", "Et2")]
    found = draft_pod(ROLES, {**WHOLE, "leaf01": switch(mac_table=rows), "spine01": {}}, "roce")
    assert found.cables == CABLES[1:2]


def test_a_nic_whose_own_agent_gives_its_address_for_a_name():
    result = {**WHOLE, "leaf01": switch(lldp_neighbors=[lldp("Et1", "b83f.d200.0001", "b83f.d200.0001"), lldp("Et33", "spine01", "Ethernet0")])}
    assert draft_pod(ROLES, result, "roce").cables == CABLES


def test_two_neighbors_on_one_port_are_a_blank():
    result = {**WHOLE, "leaf02": switch(65102, lldp_neighbors=[lldp("Et1", "gpu01", "eth1"), lldp("Et1", "gpu01", "eth0")])}
    found = draft_pod(ROLES, result, "roce")
    assert found.cables == CABLES[2:]
    assert "leaf02 Ethernet1: leads to gpu01 eth0 and gpu01 eth1" in found.blanks
    assert "pod_rails of gpu01: no cable to a switch was found" in found.blanks


def test_what_hosts_lack_alike_is_one_blank_and_none_once_it_is_accepted():
    roles = {"gpu01": "host", "gpu02": "host", "leaf01": "leaf", "leaf02": "leaf"}
    both = [lldp("Et1", "gpu01", "eth0"), lldp("Et2", "gpu02", "eth0")]
    result = {"gpu01": {"ip_link": LINKS}, "gpu02": {"ip_link": LINKS}, "leaf01": switch(lldp_neighbors=both), "leaf02": switch(65102)}
    assert [one for one in draft_pod(roles, result, "roce").blanks if one.startswith("pod_rails")] == [
        "pod_rails of gpu01, gpu02: no RDMA device was reported for eth0", "pod_rails of gpu01, gpu02: the nearest GPU was not reported for eth0",
    ]  # fmt: skip
    accepted = draft_pod(roles, result, "roce", ["all", "pod_link_gbit_s", "al"])
    assert not any(one.startswith("pod_rails") for one in accepted.blanks) and accepted.unmatched == ["al"]


@pytest.mark.parametrize(
    ("node", "without", "blank"),
    [
        ("leaf01", "bgp_summary", "bgp_asn of leaf01: it reports no AS of its own"),
        ("gpu01", "rdma_link", "pod_rails of gpu01: no RDMA device was reported for eth0, eth1"),
        ("gpu01", "gpu_topology", "pod_rails of gpu01: the nearest GPU was not reported for mlx5_0, mlx5_1"),
    ],
)
def test_what_nobody_tells_is_a_blank(node, without, blank):
    result = {**WHOLE, node: {name: rows for name, rows in WHOLE[node].items() if name != without}}
    assert blank in draft_pod(ROLES, result, "roce").blanks


def test_rates_that_differ_are_a_blank():
    slow = [{"port": "Et1", "state": "connected", "speed_gbit_s": 200.0}]
    found = draft_pod(ROLES, {**WHOLE, "leaf02": {**WHOLE["leaf02"], "interface_status": slow}}, "roce")
    assert found.link_gbit_s is None and "pod_link_gbit_s: links run at 200 (1), 400 (2)" in found.blanks


def fabric_row(node, kind, guid, port, peer, peer_kind, peer_guid, peer_port, speed="NDR"):
    row = {"via": "mlx5_0", "kind": kind, "guid": guid, "port_guid": None, "node": node, "ports": 1, "port": port, "width": "4x", "speed": speed}
    return {**row, "peer_kind": peer_kind, "peer_guid": peer_guid, "peer_port_guid": None, "peer": peer, "peer_port": peer_port}


def fabric():
    """A host of two rails on two leaves that the inventory does not name, one of them unmanaged, and SHARP's node in one."""
    ends = [
        ("MT4129 ConnectX7   Mellanox Technologies", "adapter", "c0", 1, "MF0;leaf-a:MQM9700/U1", "switch", "a1", 1),
        ("gpu01 mlx5_1", "adapter", "c1", 1, "Quantum Mellanox Technologies", "switch", "a2", 1),
        ("MF0;leaf-a:MQM9700/U1", "switch", "a1", 33, "MF0;top:MQM9700/U1", "switch", "b1", 1),
        ("Mellanox Technologies Aggregation Node", "adapter", "d1", 1, "MF0;leaf-a:MQM9700/U1", "switch", "a1", 65),
    ]
    return [fabric_row(*one) for a in ends for one in (a, a[4:] + a[:4])]


def test_infiniband_is_drafted_by_guids_and_descriptions():
    ibstat = [{"device": "mlx5_0", "node_guid": "0xc0", "port_guid": "0xc0"}]
    result = {"gpu01": {"ibstat": ibstat, "rdma_link": [{**RDMA[0], "netdev": "ib0"}], "gpu_topology": TOPOLOGY, "fabric_topology": fabric()}}
    found = draft_pod({"gpu01": "host"}, result, "infiniband")
    assert found.cables == [
        (("gpu01", "mlx5_0"), ("leaf-a", "1")), (("gpu01", "mlx5_1"), ("switch_00000000000000a2", "1")), (("leaf-a", "33"), ("top", "1")),
    ]  # fmt: skip
    assert {name: (one["role"], one["guid"]) for name, one in found.switches.items()} == {
        "leaf-a": ("leaf", "0x00000000000000a1"), "switch_00000000000000a2": ("leaf", "0x00000000000000a2"), "top": ("spine", "0x00000000000000b1"),
    }  # fmt: skip
    assert (found.link_gbit_s, found.topology, found.blanks) == (400.0, "rail_optimised", [])
    text = inventory_files(found, {}, "ib")
    document = yaml.safe_load(text["hosts.yml"])["all"]["children"]
    assert document["leaves"]["hosts"]["leaf-a"] == {"pod_node_guid": "0x00000000000000a1"}, "a GUID stays a string"
    assert document["gpu_hosts"]["children"] == {"in_no_gate_group": {"hosts": {"gpu01": None}}}
    assert "# - pod_gate_groups: no groups of the inventory divide gpu_hosts among them" in text["group_vars/all/pod.yml"]
    assert yaml.safe_load(text["group_vars/all/pod.yml"])["pod_gate_groups"] is None


@pytest.mark.parametrize(
    ("leaf", "adapter", "cells"),
    [
        (("Copper cable unequalized", 2.0), (None, None), "dac,2"),
        (("Copper cable, far end limiting active equalizers", 3.0), ("Copper cable, far end limiting active equalizers", 3.0), "aec,3"),
        (("850 nm VCSEL", None), ("850 nm VCSEL", None), "optic,"),
        (("850 nm VCSEL", 15.0), ("850 nm VCSEL", 15.0), "aoc,15"),
        ((None, None), (None, None), ","),
        (("Copper cable unequalized", 2.0), ("1310 nm EML", None), ","),
    ],
)
def test_the_medium_of_an_infiniband_cable_is_what_its_modules_report(leaf, adapter, cells):
    ibstat = [{"device": "mlx5_0", "node_guid": "0xc0", "port_guid": "0xc0"}]
    media = [{"via": "mlx5_0", "guid": guid, "port": 1, "media": words, "length_m": length} for guid, (words, length) in (("0x00a1", leaf), ("0xc0", adapter))]
    reported = {"ibstat": ibstat, "rdma_link": [{**RDMA[0], "netdev": "ib0"}], "fabric_topology": fabric(), "fabric_media": media}
    draft = draft_pod({"gpu01": "host"}, {"gpu01": reported}, "infiniband")
    text = inventory_files(draft, {}, "ib")
    assert text["group_vars/cabling.csv"].splitlines()[1] == f"gpu01,mlx5_0,leaf-a,1,{cells}"
    assert ("its ends report dac and optic" in "".join(draft.blanks)) == (leaf[0] is not None and adapter[0] == "1310 nm EML")
    assert ("medium of 2 cables, which neither" in text["group_vars/all/pod.yml"]) == (cells != ",")


def test_xdr_and_hdr_are_rates():
    for speed, rate in (("HDR", 200.0), ("XDR", 800.0)):
        rows = [fabric_row("gpu01 mlx5_0", "adapter", "c0", 1, "leaf01", "switch", "a1", 1, speed)]
        assert draft_pod({"gpu01": "host"}, {"gpu01": {"fabric_topology": rows}}, "infiniband").link_gbit_s == rate


def test_files_are_an_inventory():
    result = {**WHOLE, "gpu01": host(ip_address=[{"netdev": "eth0", "family": "inet", "address": "10.1.0.1", "prefix_length": 24}])}
    text = inventory_files(draft_pod(ROLES, result, "roce"), {"rack_01": ["gpu01"]}, "mypod")
    children = yaml.safe_load(text["hosts.yml"])["all"]["children"]
    assert children["gpu_hosts"]["children"]["rack_01"]["hosts"]["gpu01"] == {"rail_addresses": ["10.1.0.1/24", None]}
    assert children["rails_01"]["vars"]["pod_rails"][0] == {
        "device": "mlx5_0", "netdev": "eth0", "pci": "0000:00:00.0", "gpu": 0, "leaf": "leaf01", "address": "{{ rail_addresses[0] }}",
    }  # fmt: skip
    assert children["spines"]["hosts"] == {"spine01": {"bgp_asn": 65000}}
    assert text["group_vars/cabling.csv"].splitlines()[1] == "gpu01,eth0,leaf01,Ethernet1,,"
    assert yaml.safe_load(text["group_vars/all/pod.yml"]) == {
        "pod_name": "mypod", "pod_fabric": "roce", "pod_topology": "rail_optimised", "pod_gate_groups": ["rack_01"],
    }  # fmt: skip


def test_rails_of_ipv6_alone_are_drafted_with_their_routed_addresses():
    def of(text, length=64):
        return {"netdev": "eth0", "family": "inet6", "address": text, "prefix_length": length}

    result = {**WHOLE, "gpu01": host(ip_address=[of("fe80::1"), of("fd00:1::1"), of("fd00:1::aaaa")])}
    text = inventory_files(draft_pod(ROLES, result, "roce"), {"rack_01": ["gpu01"]}, "mypod")
    children = yaml.safe_load(text["hosts.yml"])["all"]["children"]
    assert children["gpu_hosts"]["children"]["rack_01"]["hosts"]["gpu01"] == {"rail_addresses": ["fd00:1::1/64", None]}
    assert yaml.safe_load(text["group_vars/all/pod.yml"])["pod_address_family"] == "ipv6"


def test_what_a_whole_pod_may_share_as_a_fault_is_proposed_and_adopted_by_name_only():
    draft = draft_pod(ROLES, WHOLE, "roce")
    assert [one[:2] for one in draft.proposals] == [("pod_link_gbit_s", 400.0), ("pod_mtu", 9000), ("pod_gpus_per_host", 2), ("pod_gpu_interconnect", "NV18")]
    own = ("pod_link_gbit_s", "pod_mtu", "pod_gpus_per_host", "pod_gpu_interconnect")
    for accepted, adopted in (((), set()), (("pod_mtu",), {"pod_mtu"}), (("all",), set(own))):
        text = inventory_files(draft, {}, "mypod", accepted=accepted)["group_vars/all/pod.yml"]
        assert {name for name in own if name in yaml.safe_load(text)} == adopted
        assert {name for name in own if f"# {name}: " in text} == set(own) - adopted
    other = {**WHOLE, "gpu01": host(ip_link=[{**row, "mtu": 1500 + number} for number, row in enumerate(LINKS)])}
    assert "pod_mtu" not in {one.name for one in draft_pod(ROLES, other, "roce").proposals}


def test_oversubscription_is_proposed_where_it_is_more_than_the_default():
    ports = [lldp(f"Et{number}", "gpu01", f"eth{number}") for number in range(8)]
    leaf = switch(lldp_neighbors=[*ports, lldp("Et33", "spine01", "Ethernet0")])
    found = draft_pod(ROLES, {**WHOLE, "leaf01": leaf, "leaf02": switch()}, "roce").proposals
    assert [one for one in found if "oversubscription" in one.name] == [
        (name, 8.0, "leaf01 has 8 host ports and 1 uplink") for name in ("pod_oversubscription_warn", "pod_oversubscription_max")
    ]


def module(port, media, length=None, present=True):
    return {"port": port, "media": media, "length_m": length, "present": present}


@pytest.mark.parametrize(
    ("near", "far", "cells"),
    [
        (module("eth0", "400GBASE-DR4"), module("Et1", "400GBASE-DR4", 500.0), "optic,"),
        (module("eth0", "400GBASE-CR4", 2.0), module("Et1", "400GBASE-CR8", 2.0), "dac,2"),
        (module("eth0", "Active Copper Cable", 3.0), module("Et1", None), "aec,3"),
        (module("eth0", "AOC", 15.0), module("Et1", "Not Present"), "aoc,15"),
        (module("eth0", "400GBASE-CR4", 2.0), module("Et1", "400GBASE-CR4", 3.0), "dac,"),
        (module("eth0", "400GBASE-CR4", 2.0), module("Et1", "400GBASE-DR4"), ","),
        (module("eth0", "something"), module("Et1", "400GBASE-DR4", present=False), ","),
    ],
)
def test_the_medium_is_what_the_modules_at_both_ends_report(near, far, cells):
    readings = {**WHOLE, "gpu01": host(transceivers=[near]), "leaf01": {**WHOLE["leaf01"], "transceivers": [far]}}
    draft = draft_pod(ROLES, readings, "roce")
    text = inventory_files(draft, {}, "mypod")
    assert text["group_vars/cabling.csv"].splitlines()[1] == f"gpu01,eth0,leaf01,Ethernet1,{cells}"
    assert ("its ends report" in "".join(draft.blanks)) == (near["media"] == "400GBASE-CR4" and far["media"] == "400GBASE-DR4")
    blank = "length_m of 1 cable of passive copper, not reported or not alike at both ends: write it into its column"
    assert (blank in text["group_vars/all/pod.yml"]) == (cells == "dac,")


def test_the_inventory_says_how_its_nodes_were_reached_without_secrets():
    own = {"ansible_user": "pyramid", "ansible_become": True, "ansible_password": "secret"}
    variables = {
        "gpu01": {**own, "ansible_host": "10.0.0.1"},
        "leaf01": {"ansible_network_os": "arista.eos.eos", **own},
        "leaf02": {"ansible_network_os": "arista.eos.eos", **own},
    }
    access = access_of(ROLES, variables)
    assert access.shared["leaves"] == {"ansible_network_os": "arista.eos.eos", "ansible_user": "pyramid", "ansible_become": True}
    assert access.own["gpu01"] == {"ansible_host": "10.0.0.1", "ansible_user": "pyramid", "ansible_become": True} and "spine01" not in access.own
    texts = inventory_files(draft_pod(ROLES, WHOLE, "roce"), {"rack_01": ["gpu01"]}, "mypod", access)
    hosts = yaml.safe_load(texts["hosts.yml"])["all"]["children"]["gpu_hosts"]["children"]["rack_01"]["hosts"]
    assert hosts["gpu01"]["ansible_become"] is True and hosts["gpu01"]["ansible_host"] == "10.0.0.1"
    assert yaml.safe_load(texts["group_vars/leaves.yml"]) == access.shared["leaves"] and "secret" not in "".join(texts.values())


@pytest.mark.parametrize(("accepted", "device", "gpu"), [((), None, None), (["all"], "eth0", 0), (["rails_by_port"], "eth0", 0)])
def test_rails_of_hosts_without_rdma_and_gpus_are_named_by_their_ports_where_that_is_accepted(accepted, device, gpu):
    bare = {**WHOLE, "gpu01": {"ip_link": LINKS}}
    found = draft_pod(ROLES, bare, "roce", accepted)
    assert found.unreported == ["device", "gpu"]
    assert [found.rails["gpu01"][0][key] for key in ("device", "gpu")] == [device, gpu]


def test_what_only_some_hosts_lack_stays_blank_whatever_is_accepted():
    roles = {**ROLES, "gpu02": "host"}
    leaf = switch(lldp_neighbors=[lldp("Et1", "gpu01", "eth0"), lldp("Et2", "gpu02", "eth0")])
    found = draft_pod(roles, {**WHOLE, "leaf01": leaf, "gpu02": {"ip_link": []}}, "roce", ["all"])
    assert found.unreported == [] and found.rails["gpu02"][0]["device"] is None


def test_what_the_site_decided_is_drafted_as_it_stands():
    decided = {"pod_launcher": "kubernetes", "pod_software": {"driver": "550.90.07"}}
    variables = {node: {**decided, "pod_roce_dscp": 24 if node == "gpu01" else 26, "ansible_kubectl_pod": f"pyramid-{node}"} for node in ROLES}
    access = access_of(ROLES, variables)
    texts = inventory_files(draft_pod(ROLES, WHOLE, "roce"), {"rack_01": ["gpu01"]}, "mypod", access)
    values = yaml.safe_load(texts["group_vars/all/pod.yml"])
    assert {key: values.get(key) for key in (*decided, "pod_roce_dscp")} == {**decided, "pod_roce_dscp": None}
    assert yaml.safe_load(texts["hosts.yml"])["all"]["children"]["leaves"]["hosts"]["leaf01"]["ansible_kubectl_pod"] == "pyramid-leaf01"


def channel(port, name="Po1"):
    return {"channel": name, "member": port, "bundled": True, "state": "active"}


def test_members_of_a_port_channel_have_one_session_and_what_one_end_alone_bundles_is_a_blank():
    far = [lldp("Et33", "spine01", "Ethernet0"), lldp("Et34", "spine01", "Ethernet8"), lldp("Et35", "spine01", "Ethernet16"), lldp("Et1", "gpu01", "eth0")]
    own = [channel("Et33"), channel("Et34"), channel("Et35", "Po2")]
    bgp = [{"local_asn": 65101, "neighbor": "10.0.0.0", "asn": 65000}]
    leaf = {**switch(lldp_neighbors=far, port_channels=own), "bgp_summary": bgp}
    spine = {**switch(port_channels=[channel("Ethernet0"), channel("Ethernet8")]), "bgp_summary": [{"local_asn": 65000, "neighbor": "10.0.0.1", "asn": 65101}]}
    draft = draft_pod(ROLES, {**WHOLE, "leaf01": leaf, "spine01": spine}, "roce")
    plan = inventory_files(draft, {}, "mypod")["group_vars/cabling.csv"].splitlines()
    assert plan[0].endswith(",length_m,a_channel,b_channel")
    assert [line for line in plan if "spine01" in line] == [
        "leaf01,Ethernet33,spine01,Ethernet0,,,Po1,Po1", "leaf01,Ethernet34,spine01,Ethernet8,,,Po1,Po1", "leaf01,Ethernet35,spine01,Ethernet16,,,,",
    ]  # fmt: skip
    assert any(line.startswith("leaf01 Ethernet35 is a member of Po2, and spine01 Ethernet16 at its other end of none") for line in draft.blanks)
    # Without the third cable all between the two switches is one link, and its session is told.
    leaf["lldp_neighbors"] = [far[0], far[1], far[3]]
    draft = draft_pod(ROLES, {**WHOLE, "leaf01": leaf, "spine01": spine}, "roce")
    assert list(draft.sessions.values()) == [("10.0.0.1", "10.0.0.0")] * 2


def test_a_bond_is_one_rail_of_its_ports_and_a_port_of_it_elsewhere_is_an_outlier():
    hosts = [f"gpu{number:02}" for number in range(1, 6)]
    roles = {**dict.fromkeys(hosts, "host"), "leaf01": "leaf", "leaf02": "leaf", "leaf03": "leaf"}
    bonds = [channel("eth0", "bond0"), channel("eth1", "bond0")]
    readings = {host: {"rdma_link": [{**RDMA[0], "device": "mlx5_bond_0"}], "ip_link": LINKS, "port_channels": bonds} for host in hosts}
    ends = {leaf: [] for leaf in ("leaf01", "leaf02", "leaf03")}
    for number, host in enumerate(hosts, 1):
        ends["leaf01"].append(lldp(f"Et{number}", host, "eth0"))
        ends["leaf03" if host == "gpu03" else "leaf02"].append(lldp(f"Et{number}", host, "eth1"))
    draft = draft_pod(roles, {**readings, **{leaf: switch(lldp_neighbors=rows) for leaf, rows in ends.items()}}, "roce")
    (rail,) = draft.rails["gpu01"]
    assert (rail["device"], rail["netdev"], rail["members"], rail["leaf"]) == ("mlx5_bond_0", "bond0", ["eth0", "eth1"], "leaf01")
    assert [(one.place, one.what) for one in draft.outliers] == [("gpu03:eth1", "leaf")]
    assert not any(("gpu03", "eth1") in cable for cable in draft.cables)


def test_switches_without_bgp_whose_neighbors_are_of_ospf_propose_it():
    neighbor = [{"vrf": None, "router_id": "10.0.0.1", "state": "Full", "address": "10.0.0.1", "interface": "Ethernet33"}]
    routed = {name: {**own, "bgp_summary": [], "ospf_neighbors": neighbor} if name != "gpu01" else own for name, own in WHOLE.items()}
    draft = draft_pod(ROLES, routed, "roce")
    assert ("pod_underlay", "ospf") in {one[:2] for one in draft.proposals} and draft.blanks == []
    assert yaml.safe_load(inventory_files(draft, {}, "mypod")["hosts.yml"])["all"]["children"]["leaves"]["hosts"]["leaf01"] is None
    for other in ({**routed, "leaf02": WHOLE["leaf02"]}, {**routed, "leaf02": {**routed["leaf02"], "ospf_neighbors": []}}):
        assert "pod_underlay" not in {one.name for one in draft_pod(ROLES, other, "roce").proposals}


def test_of_switches_that_did_not_answer_no_underlay_is_proposed():
    roles = {name: role for name, role in ROLES.items() if name != "spine01"}
    heard = {**WHOLE["gpu01"], "lldp_neighbors": [lldp("eth0", "leaf01", "Ethernet1"), lldp("eth1", "leaf02", "Ethernet1")]}
    found = draft_pod(roles, {"gpu01": heard}, "roce")
    assert len(found.cables) == 2 and "pod_underlay" not in {one.name for one in found.proposals}


@pytest.mark.parametrize(
    ("without", "proposed", "blank"),
    [
        (("spine01",), "none", False),
        # Between two switches something routes, which is not known.
        ((), None, True),
    ],
)
def test_leaves_that_no_cable_joins_and_that_have_no_as_are_proposed_to_route_nothing(without, proposed, blank):
    result = {name: {key: rows for key, rows in own.items() if key != "bgp_summary"} for name, own in WHOLE.items() if name not in without}
    found = draft_pod({name: role for name, role in ROLES.items() if name not in without}, result, "roce")
    assert next((one.value for one in found.proposals if one.name == "pod_underlay"), None) == proposed
    assert any(words.startswith("bgp_asn of") for words in found.blanks) is blank
