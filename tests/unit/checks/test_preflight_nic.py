# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of rail NICs, by plain calls: the rails are named rocep*, and a management NIC is among the adapters."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, Finding, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight import behind_leaf, firmware, nic, nic_addresses
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight import qos as quality
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY

RAILS = [
    {"device": "rocep24s0", "netdev": "ens1np0", "gpu": 0, "leaf": "leaf01", "address": "10.51.0.1/24"},
    {"device": "rocep64s0", "netdev": "ens2np0", "gpu": 1, "leaf": "leaf02", "address": "10.52.0.1/24"},
]
FIRST = RAILS[:1]


def summary(findings):
    return [(str(one), one.severity) for one in findings]


def unknown(findings):
    """Whether there are findings, and all of them unknown."""
    severities = [one.severity for one in findings]
    return bool(severities) and set(severities) == {"unknown"}


def port(device, **values):
    return {"device": device, "port": 1, "state": "Active", "physical_state": "LinkUp", "firmware": "28.39.1002", **values}


def link(device, netdev=None, **values):
    return {"device": device, "port": 1, "state": "Active", "physical_state": "LinkUp", "netdev": netdev, **values}


MANAGEMENT = port("mlx5_1", state="Down", physical_state="Disabled")
PORTS = [port("rocep24s0"), port("rocep64s0"), MANAGEMENT]
LINKS = [link("rocep24s0", "ens1np0"), link("rocep64s0", "ens2np0"), link("mlx5_1", "eno1", state="Down")]


def test_a_nic_without_an_rdma_device_lacks_its_module():
    drivers = [{"netdev": rail["netdev"], "driver": driver} for rail, driver in zip(RAILS, ("bnxt_en", "fm10k"))]
    ours, unknown_driver = nic.rails_present([MANAGEMENT], [], RAILS, "roce", drivers)
    assert str(ours) == "rocep24s0: expected Active and LinkUp, got no such RDMA device" and "bnxt_re is not loaded" in ours.cause
    assert unknown_driver.cause is None
    assert [one.cause for one in nic.rails_present([MANAGEMENT], [], RAILS, "roce")] == [None, None]


def test_rails_present():
    assert summary(nic.rails_present(PORTS, LINKS, RAILS, "roce")) == []
    down = [port("rocep24s0", state="Down", physical_state="Polling"), PORTS[1]]
    assert summary(nic.rails_present(down, LINKS, RAILS, "roce")) == [("rocep24s0: expected Active and LinkUp, got Down and Polling", None)]
    # Of InfiniBand it is told apart what is off at this end; drivers of Ethernet say Disabled of every port without a carrier.
    for fabric, physical, named, off in (
        ("infiniband", "Polling", "port of leaf01", False), ("infiniband", "Disabled", "ibportstate", True), ("roce", "Disabled", "port of leaf01", False),
    ):  # fmt: skip
        (found,) = nic.rails_present([{**PORTS[0], "state": "Down", "physical_state": physical}, *PORTS[1:]], LINKS, RAILS, fabric)
        assert named in found.fix and ("switched off at this end" in found.cause) == off
    # Rails of several leaves have one text, so that they are one finding; of most of a host it is the host's.
    many = [{"device": f"mlx5_{number}", "netdev": f"ens{number}np0", "gpu": number, "leaf": f"leaf0{number}"} for number in range(1, 9)]
    links = [{**LINKS[0], "device": rail["device"], "netdev": rail["netdev"]} for rail in many]
    for number, named, other in ((1, "leaf01", "Most rails"), (2, "the leaf", "leaf01"), (5, "Most rails of this host are down (5 of 8)", "leaf01")):
        states = [("Down", "Polling") if place < number else ("Active", "LinkUp") for place in range(8)]
        rows = [{**PORTS[0], "device": rail["device"], "state": one, "physical_state": two} for rail, (one, two) in zip(many, states)]
        texts = {f"{found.cause} {found.fix}" for found in nic.rails_present(rows, links, many, "roce")}
        assert len(texts) == 1 and named in texts.copy().pop() and other not in texts.pop()
    assert summary(nic.rails_present(PORTS[1:], LINKS, RAILS, "roce")) == [("rocep24s0: expected Active and LinkUp, got no such RDMA device", None)]
    assert summary(nic.rails_present(PORTS, LINKS[1:], RAILS, "roce")) == [("rocep24s0: expected Active and LinkUp, got no RDMA link of that device", None)]
    swapped = [link("rocep24s0", "ens2np0"), link("rocep64s0", "ens1np0")]
    assert all("another order" in found.cause for found in nic.rails_present(PORTS, swapped, RAILS, "roce"))
    assert [one[0] for one in summary(nic.rails_present(PORTS, swapped, RAILS, "roce"))] == [
        "rocep24s0: expected netdev ens1np0, got ens2np0",
        "rocep64s0: expected netdev ens2np0, got ens1np0",
    ]
    with pytest.raises(CannotTell):
        list(nic.rails_present(PORTS, LINKS, [], "roce"))


def device(name, **values):
    blank = {"device": name, "port": 1, "transport": "InfiniBand", "vendor_id": 0x02C9, "vendor_part_id": 4129, "link_layer": "Ethernet"}
    return {**blank, "active_mtu": 4096, "max_mtu": 4096, **values}


@pytest.mark.parametrize(
    ("values", "words", "severity"),
    [
        ({"transport": "iWARP"}, "rocep24s0: expected RoCE v2 or InfiniBand, got iWARP", None),
        ({"vendor_part_id": 4117}, "rocep24s0: expected ConnectX-5 or later, got ConnectX-4 Lx", None),
        ({"link_layer": "InfiniBand"}, "rocep24s0: expected link layer Ethernet, got InfiniBand", None),
        ({"link_layer": None}, "rocep24s0: expected the vendor of an adapter on Ethernet, got not reported", "unknown"),
        ({"vendor_id": None, "vendor_part_id": 4117}, "rocep24s0: expected the vendor of an adapter on Ethernet, got not reported", "unknown"),
        ({"vendor_part_id": None}, "rocep24s0: expected ConnectX-5 or later on Ethernet, got not reported", "unknown"),
    ],
)
def test_adapters_that_cannot(values, words, severity):
    assert summary(nic.adapters_capable([device("rocep24s0", **values)], FIRST, "roce")) == [(words, severity)]


def test_adapters_that_can():
    assert (
        summary(
            nic.adapters_capable([device("rocep24s0"), device("mlx5_1", vendor_part_id=4117)], FIRST, "roce", [{"gpu": 0, "name": "NVIDIA H100 80GB HBM3"}])
        )
        == []
    )
    assert summary(nic.adapters_capable([device("rocep24s0", vendor_part_id=4126)], FIRST, "roce")) == []
    assert summary(nic.adapters_capable([device("rocep24s0", vendor_part_id=4116)], FIRST, "roce")) == [
        ("rocep24s0: expected ConnectX-5 or later, got ConnectX-4 (virtual function)", None)
    ]
    # A virtual function of ionic has the number of a ConnectX-3.
    for part in (4099, None):
        assert summary(nic.adapters_capable([device("rocep24s0", vendor_id=0x1DD8, vendor_part_id=part)], FIRST, "roce")) == []
    assert summary(nic.adapters_capable([device("rocep24s0")], FIRST, "roce", [{"gpu": 0, "name": "Tesla P100-SXM2"}])) == [
        ("GPU 0: expected Volta or later, got Tesla P100-SXM2", None)
    ]
    assert summary(nic.adapters_capable([], FIRST, "roce")) == [("rocep24s0: expected an RDMA adapter, got no such RDMA device", None)]
    for name in ("Tesla V100-SXM2", "NVIDIA A100-SXM4-80GB", "NVIDIA L40S", "NVIDIA B200", "AMD Instinct MI300X", "NVIDIA TITAN V"):
        assert not nic.OLD_GPU.search(name)


def setting(name, current, after=None, device="rocep24s0", number=True):
    after = current if after is None else after
    values = {"current": str(current), "next_boot": str(after), "current_number": current, "next_boot_number": after}
    return {"device": device, "name": name, "differs": current != after, **values} if number else {"device": device, "name": name, **dict.fromkeys(values)}


@pytest.mark.parametrize("mask", [8, 255])
def test_any_mask_with_the_priority_serves(mask):
    rows = [setting("ROCE_CC_PRIO_MASK_P1", mask), setting("SRIOV_EN", 0)]
    assert summary(firmware.nic_settings(rows, FIRST, 3, "dcqcn", {})) == []


def test_a_lost_mask_and_a_setting_of_the_site():
    rows = [setting("ROCE_CC_PRIO_MASK_P1", 0), setting("ROCE_CC_PRIO_MASK_P2", 1), {**setting("SRIOV_EN", 0), "current": "False"}]
    assert summary(firmware.nic_settings(rows, FIRST, 3, "dcqcn", {"SRIOV_EN": True})) == [
        ("rocep24s0 ROCE_CC_PRIO_MASK_P1: expected bit 3 set, got 0", None),
        ("rocep24s0 ROCE_CC_PRIO_MASK_P2: expected bit 3 set, got 1", None),
        ("rocep24s0 SRIOV_EN: expected True, got False", None),
    ]
    assert summary(firmware.nic_settings(rows, FIRST, 3, "other", {"SRIOV_EN": 0})) == []


def test_settings_that_are_not_reported_are_unknown():
    for rows in ([], [setting("ROCE_CC_PRIO_MASK_P1", 8, number=False)], [setting("ROCE_CC_PRIO_MASK_P1", 8, device="mlx5_1")]):
        assert unknown(firmware.nic_settings(rows, FIRST, 3, "dcqcn", {"SRIOV_EN": True}))


def pending(*rows, settings=None):
    return list(firmware.nic_reset_pending(list(rows), FIRST, 3, "dcqcn", settings or {}))


def alike(values, settings=None):
    """What is found of two hosts with two NICs each, by host and device."""
    hosts = {host: [{"device": device, "name": "PCI_WR_ORDERING", "current": values.get((host, device), "per_mkey")} for device in DEVICES] for host in HOSTS}
    return [(one.host, str(one), one.severity) for one in firmware.nic_settings_alike(hosts, RAILS, settings or {})]


HOSTS, DEVICES = ("gpu01", "gpu02"), ("rocep24s0", "rocep64s0")


def test_settings_of_pcie_alike():
    assert alike({}) == []
    odd = "rocep64s0 PCI_WR_ORDERING: expected per_mkey, as 3 of the group's 4 NICs, got force_relax"
    assert alike({("gpu02", "rocep64s0"): "force_relax"}) == [("gpu02", odd, None)]
    unread = {"device": "rocep24s0", "name": "PCI_WR_ORDERING", "current": None}
    read = {"gpu01": [{**unread, "current": "per_mkey"}], "gpu02": [unread]}
    assert unknown(list(firmware.nic_settings_alike(read, RAILS, {})))
    of_two_models = {(host, "rocep64s0"): "force_relax" for host in HOSTS}
    assert alike(of_two_models) == [], "each rail has one value on all hosts"
    ((host, words, _severity),) = alike({("gpu02", device): "force_relax" for device in DEVICES})
    assert (host, "none of them is the usual one" in words) == (None, True)
    with pytest.raises(NotApplicable, match="setting of PCIe"):
        alike({("gpu02", "rocep64s0"): "force_relax"}, {"PCI_WR_ORDERING": "per_mkey"})


def test_a_pending_reset():
    assert summary(pending(setting("SRIOV_EN", 1))) == []
    assert summary(pending(setting("SRIOV_EN", 0, 1))) == [("rocep24s0 SRIOV_EN: expected 1 (next boot), got 0 (a reset is pending)", None)]
    assert unknown(pending())
    assert unknown(pending(setting("SRIOV_EN", 1, number=False)))


@pytest.mark.parametrize(
    ("name", "now", "later", "settings"), [("LINK_TYPE_P1", 2, 1, {}), ("ROCE_CC_PRIO_MASK_P1", 8, 0, {}), ("PCI_WR_ORDERING", 1, 0, {"PCI_WR_ORDERING": 1})]
)
def test_a_needed_value_that_the_next_boot_takes_away_is_set_back_before_it(name, now, later, settings):
    (lost,) = pending(setting(name, now, later), settings=settings)
    assert f"set {name}={now} before the next boot" in lost.fix and "as the pod needs it" in lost.cause
    # The other way round the reset is what it waits for.
    (waits,) = pending(setting(name, later, now), settings=settings)
    assert waits.cause is waits.fix is None


def dcqcn(rp="1", np="1", np_priority=3):
    row = {"netdev": "ens1np0", "setting": "enable"}
    return [{**row, "role": "rp", "priority": 3, "value": rp}, {**row, "role": "np", "priority": np_priority, "value": np}]


def test_dcqcn():
    assert summary(quality.dcqcn_running(dcqcn(), FIRST, 3, 48)) == []
    # The notification side is one switch of the port: another priority is as good.
    assert summary(quality.dcqcn_running(dcqcn(np_priority=5), FIRST, 3, 48)) == []
    assert summary(quality.dcqcn_running(dcqcn("0", "0"), FIRST, 3, 48)) == [
        ("ens1np0 roce_rp: expected enabled on priority 3, got disabled", None),
        ("ens1np0 roce_np: expected enabled, got disabled on every priority", None),
    ]
    assert unknown(quality.dcqcn_running([], FIRST, 3, 48))
    assert unknown(quality.dcqcn_running(dcqcn()[:1], FIRST, 3, 48))
    assert unknown(quality.dcqcn_running([{**one, "setting": "clamp_tgt_rate", "priority": None} for one in dcqcn()], FIRST, 3, 48))
    other = {**dcqcn()[0], "role": "np", "setting": "cnp_dscp", "priority": None, "value": "46"}
    assert summary(quality.dcqcn_running([*dcqcn(), other], FIRST, 3, 48)) == [("ens1np0 cnp_dscp: expected 48, got 46", "warn")]
    assert REGISTRY["preflight"]["dcqcn_running"].out_of_place({"pod_congestion_control": "other"}) == "pod_congestion_control is other"
    either = REGISTRY["preflight"]["nic_settings"]
    assert either.out_of_place({"pod_congestion_control": "other", "pod_nic_settings": {}}) == "pod_congestion_control is other and pod_nic_settings is not set"
    assert either.out_of_place({"pod_congestion_control": "other", "pod_nic_settings": {"SRIOV_EN": True}}) is None
    assert either.out_of_place({"pod_congestion_control": "dcqcn", "pod_nic_settings": {}}) is None


MAP = [{"netdev": "ens1np0", "priority": priority, "dscp": list(range(priority * 8, priority * 8 + 8))} for priority in range(8)]


def qos(trust="dscp", on=(3,), dscp=None, pause=(False, False), priorities=range(8), version=None, others=(), pfc=True):
    return list(
        quality.roce_qos(
            [{"port": "ens1np0", "priority": priority, "pfc": priority in on} for priority in priorities],
            MAP if dscp is None else dscp,
            [{"netdev": "ens1np0", "autonegotiate": False, "rx": pause[0], "tx": pause[1]}] if pause else [],
            FIRST, 3, 26, 48, list(others), pfc,
            [{"netdev": "ens1np0", "trust": trust}] if trust else None,
            [{"netdev": "ens1np0", "driver": "mlx5_core", "version": version}] if version else None,
        )
    )  # fmt: skip


def test_a_lossy_nic_has_pfc_on_no_priority_or_on_another() -> None:
    assert qos(on=(), pfc=False) == qos(on=(4,), others=(4,), pfc=False) == []
    found = qos(on=(3,), pfc=False)
    assert summary(found) == [("ens1np0 PFC: expected off on priority 3 and any other, got on 3", None)]
    assert "RoCE is lossy" in found[0].cause and "if priority 3 is lossless" in found[0].fix
    assert summary(qos(on=(4,), pfc=False)) == [("ens1np0 PFC: expected off on priority 3 and any other, got on 4", None)]
    assert summary(qos(on=(3, 4), others=(4,), pfc=False)) == [("ens1np0 PFC: expected off on priority 3, on 4 at most, got on 3, 4", None)]


def test_other_priorities_may_be_lossless_and_that_of_roce_must_be() -> None:
    assert qos(on=(3, 4), others=(4,)) == qos(on=(3,), others=(4,)) == []
    expected = "ens1np0 PFC: expected on priority 3, and at most on 4, 5 besides, got on"
    assert summary(qos(on=(4,), others=(5, 4))) == [(f"{expected} 4", None)]
    assert summary(qos(on=(2, 3), others=(4, 5))) == [(f"{expected} 2, 3", None)]
    (late,) = qos(on=(3, 6), others=(6,))
    assert str(late) == "ens1np0 DSCP 48 (CNP): expected a priority without PFC, got priority 6"
    assert "CNPs" in late.cause and "--dscp2prio set,48," in late.fix


def test_the_map_of_the_kernels_own_driver_is_its_trust() -> None:
    assert summary(qos(trust=None, version="6.8.0-45-generic")) == []
    assert summary(qos(trust=None, version="6.8.0-45-generic", dscp=[])) == [("ens1np0 trust: expected dscp, got pcp", None)]
    assert unknown(qos(trust=None, version="24.10-0.7.0")) and unknown(qos(trust=None))


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ({}, []),
        ({"trust": "pcp", "dscp": []}, ["ens1np0 trust: expected dscp, got pcp"]),
        ({"on": ()}, ["ens1np0 PFC: expected on priority 3 only, got on none"]),
        ({"on": (3, 4)}, ["ens1np0 PFC: expected on priority 3 only, got on 3, 4"]),
        ({"pause": (True, False)}, ["ens1np0 link pause: expected off, got on (rx)"]),
        (
            {"dscp": [{"netdev": "ens1np0", "priority": 0, "dscp": [26]}, {"netdev": "ens1np0", "priority": 3, "dscp": [48]}]},
            ["ens1np0 DSCP 26: expected priority 3, got priority 0", "ens1np0 DSCP 48 (CNP): expected a priority without PFC, got priority 3"],
        ),
        # dcb tells explicit entries only; DSCP 48 is on a lossy priority whatever the driver does with it.
        ({"dscp": [{"netdev": "ens1np0", "priority": 3, "dscp": [26]}]}, []),
    ],
)
def test_quality_of_service(case, words):
    assert [str(one) for one in qos(**case)] == words


def test_global_pause_is_no_lossy_class() -> None:
    (found,) = qos(pause=(True, True))
    assert "global pause" in found.cause and found.fix.startswith("ethtool -A NETDEV autoneg off rx off tx off")
    assert [one.cause for one in qos(on=())] == [None]


@pytest.mark.parametrize("case", [{"trust": None}, {"pause": None}, {"priorities": ()}, {"priorities": (0, 1)}, {"dscp": []}])
def test_quality_of_service_that_is_not_reported_is_unknown(case):
    assert unknown(qos(**case))


def test_traffic_class():
    variable = {"file": "/etc/nccl.conf", "name": "NCCL_IB_TC", "value": "106"}
    assert summary(quality.traffic_class([variable], 106, 26)) == []
    assert summary(quality.traffic_class([{**variable, "value": "104"}], 104, 26)) == []
    assert summary(quality.traffic_class([], 106, 26)) == [
        ("NCCL_IB_TC: expected 106, got set for no job: one that does not set it itself sends class 0", "warn")
    ]
    assert summary(quality.traffic_class([], 0, 26)) == [("pod_traffic_class: expected DSCP 26, got DSCP 0 (class 0)", None)]
    assert summary(quality.traffic_class([{**variable, "value": "0"}], 106, 26)) == [("/etc/nccl.conf NCCL_IB_TC: expected 106, got 0", None)]


def netdevs(mtu, names=("ens1np0", "ens2np0")):
    return [{"netdev": name, "mtu": mtu, "state": "UP", "mac": None, "parent_pci": None} for name in (*names, "eno1")]


@pytest.mark.parametrize("size", [4200, 9000, 9216])
def test_any_mtu_that_the_plan_leaves_open(size):
    assert summary(nic.mtu(netdevs(size), [device("rocep24s0"), device("rocep64s0")], RAILS, 4096, None, "roce")) == []
    assert summary(nic.mtu_uniform({"gpu01": netdevs(size), "gpu02": netdevs(size)}, RAILS)) == []


def test_the_mtu_of_a_subnet_is_the_managers():
    (found,) = nic.mtu([], [device("rocep24s0", active_mtu=2048)], FIRST, 4096, None, "infiniband")
    assert "partitions.conf" in found.cause and "mtu=5" in found.fix


def test_a_small_mtu():
    assert summary(nic.mtu(netdevs(1500), [device("rocep24s0", active_mtu=1024)], FIRST, 4096, 9000, "roce")) == [
        ("rocep24s0: expected active RDMA MTU 4096, got 1024", None),
        ("ens1np0: expected MTU 9000, got 1500", None),
    ]
    assert unknown(nic.mtu(netdevs(9000), [], FIRST, 4096, 9000, "roce"))
    assert unknown(nic.mtu([], [device("rocep24s0")], FIRST, 4096, 9000, "roce"))


def test_the_odd_mtu_of_a_group():
    pod = {"gpu01": netdevs(9000), "gpu02": netdevs(9000), "gpu03": [*netdevs(1500, ("ens1np0",)), *netdevs(9000, ("ens2np0",))]}
    found = list(nic.mtu_uniform(pod, RAILS))
    assert [(one.host, str(one)) for one in found] == [("gpu03", "ens1np0: expected MTU 9000, as its group, got 1500")]
    assert [(one.host, one.severity) for one in nic.mtu_uniform({"gpu01": netdevs(9000), "gpu02": netdevs(9000, ("ens1np0",))}, RAILS)] == [
        ("gpu02", "unknown")
    ]
    with pytest.raises(NotApplicable, match="one host"):
        list(nic.mtu_uniform({"gpu01": netdevs(9000)}, RAILS))


def gid(index=3, ipv4="10.51.0.1", version="v2", name="rocep24s0", text="0000:0000:0000:0000:0000:ffff:0a33:0001"):
    return {"device": name, "port": 1, "index": index, "gid": text, "ipv4": ipv4, "version": version, "netdev": None}


LOCAL = "fe80:0000:0000:0000:0eee:bdff:fe00:0001"


def test_gid_index():
    others = [gid(0, None, "v1", text=LOCAL), gid(1, None, text=LOCAL), gid(2, version="v1"), gid(name="mlx5_1"), gid(5, name="mlx5_1")]
    assert summary(nic_addresses.gid_index([*others, gid()], FIRST, None, "ipv4")) == []
    assert summary(nic_addresses.gid_index([*others, gid()], FIRST, 3, "ipv4")) == []
    shifted = list(nic_addresses.gid_index([gid(3, None, text=LOCAL), gid(5)], FIRST, 3, "ipv4"))
    assert summary(shifted) == [(f"rocep24s0: expected GID index 3, got 5: the index moved from 3 to 5, and 3 is {LOCAL}", None)]
    assert "shifted the GID table" in shifted[0].cause
    assert summary(nic_addresses.gid_index(others, FIRST, 3, "ipv4")) == [("rocep24s0: expected one IPv4 RoCE v2 GID, got 0", None)]
    assert summary(nic_addresses.gid_index([gid(3), gid(5)], FIRST, 3, "ipv4")) == [("rocep24s0: expected one IPv4 RoCE v2 GID, got 2", None)]


def test_the_gid_of_ipv6_is_that_of_the_rails_own_routed_address():
    local, own = gid(1, None, text=LOCAL), gid(3, None, text="fd00:0051:0000:0000:0000:0000:0000:0001")
    mapped, of_vlan = gid(5), {**gid(7, None, text="fd00:0099:0000:0000:0000:0000:0000:0001"), "netdev": "ens1np0.100"}
    assert summary(nic_addresses.gid_index([local, own, mapped, of_vlan], FIRST, 3, "ipv6")) == []
    assert summary(nic_addresses.gid_index([local, mapped], FIRST, 3, "ipv6")) == [("rocep24s0: expected one IPv6 RoCE v2 GID, got 0", None)]
    temporary = {**own, "index": 5, "gid": "fd00:0051:0000:0000:aaaa:0000:0000:0001"}
    assert summary(nic_addresses.gid_index([local, own, temporary], FIRST, 3, "ipv6")) == [("rocep24s0: expected one IPv6 RoCE v2 GID, got 2", None)]


def test_a_vlan_on_a_rail_is_none_of_its_addresses():
    assert summary(nic_addresses.gid_index([{**gid(3), "netdev": "ens1np0"}, {**gid(5), "netdev": "ens1np0.100"}], FIRST, 3, "ipv4")) == []


def test_a_netdev_of_a_name_that_the_plan_does_not_know_is_told_before_its_state():
    def found(netdev, state="Active"):
        port = {"device": "rocep24s0", "state": state, "physical_state": "LinkUp" if state == "Active" else "Disabled"}
        link = {"device": "rocep24s0", "port": 1, "state": state, "physical_state": None, "netdev": netdev}
        (one,) = nic.rails_present([port], [link], FIRST, "roce")
        return one

    for one in (found("ens1"), found("ens1", "Down")):
        assert (str(one), one.where.of) == ("rocep24s0: expected netdev ens1np0, got ens1", "netdev")
        assert "called ens1 on the host and not ens1np0" in str(one.cause) and "/sys/class/net/ens1 " in str(one.fix)
    # Without a netdev the state is what is known.
    assert str(found(None, "Down")).endswith("got Down and Disabled")


def test_the_odd_gid_index_of_a_group():
    pod = {"gpu01": [gid()], "gpu02": [gid()], "gpu03": [gid(5)]}
    assert [(one.host, str(one)) for one in nic_addresses.gid_index_uniform(pod, FIRST, "ipv4")] == [
        ("gpu03", "rocep24s0: expected GID index 3, as its group, got 5")
    ]
    assert unknown(nic_addresses.gid_index_uniform({"gpu01": [gid()], "gpu02": []}, FIRST, "ipv4"))
    with pytest.raises(NotApplicable, match="one host"):
        list(nic_addresses.gid_index_uniform({"gpu01": [gid()]}, FIRST, "ipv4"))


def address(netdev, text, length=24, family="inet", at_another_node=False):
    return {"netdev": netdev, "family": family, "address": text, "prefix_length": length, "at_another_node": at_another_node}


def test_address_plan():
    local = address("ens1np0", "fe80::1", 64, "inet6")
    good = [local, address("ens1np0", "10.51.0.1"), address("ens2np0", "10.52.0.1"), address("eno1", "192.0.2.1")]
    assert summary(nic_addresses.address_plan(good, RAILS, "ipv4")) == []
    assert summary(nic_addresses.address_plan(good[:1], FIRST, "ipv4")) == [("ens1np0: expected 10.51.0.1/24, got no IPv4 address", None)]
    assert summary(nic_addresses.address_plan([address("ens1np0", "10.51.0.1", 16)], FIRST, "ipv4")) == [
        ("ens1np0: expected 10.51.0.1/24, got 10.51.0.1/16", None)
    ]
    assert summary(nic_addresses.address_plan([address("ens1np0", "10.51.0.1"), address("eno1", "10.51.0.1")], FIRST, "ipv4")) == [
        ("10.51.0.1: expected on one netdev, got on several", None)
    ]
    # Of one netdev with two prefix lengths the kernel tells two rows.
    assert summary(nic_addresses.address_plan([address("ens1np0", "10.51.0.1"), address("ens1np0", "10.51.0.1", 32)], FIRST, "ipv4")) == []
    with pytest.raises(NotApplicable):
        list(nic_addresses.address_plan(good, [{**RAILS[0], "address": None}], "ipv4"))


def test_the_address_plan_of_ipv6():
    rail = [{**RAILS[0], "address": "fd00:51::1/64"}]
    local, planned = address("ens1np0", "fe80::1", 64, "inet6"), address("ens1np0", "fd00:51::1", 64, "inet6")
    assert summary(nic_addresses.address_plan([local, planned, address("eno1", "fe80::1", 64, "inet6")], rail, "ipv6")) == []
    assert summary(nic_addresses.address_plan([local], rail, "ipv6")) == [("ens1np0: expected fd00:51::1/64, got no IPv6 address", None)]
    # The kernel has it, and found it at another node; what it found of its local address is not what the plan is about.
    (taken,) = nic_addresses.address_plan([local, address("ens1np0", "fd00:51::1", 64, "inet6", True)], rail, "ipv6")
    assert str(taken) == "ens1np0: expected fd00:51::1/64 in use, got dadfailed: not in use"
    assert "Another node on the link has fd00:51::1" in str(taken.cause) and "ndisc6 fd00:51::1 ens1np0" in str(taken.fix)
    assert summary(nic_addresses.address_plan([address("ens1np0", "fe80::1", 64, "inet6", True), planned], rail, "ipv6")) == []
    # However the plan writes it.
    assert summary(nic_addresses.address_plan([planned], [{**rail[0], "address": "FD00:51:0::1/64"}], "ipv6")) == []


def test_an_address_that_another_host_has_names_that_host():
    peers = {"gpu01": [address("ens1np0", "10.51.0.2")], "gpu02": [address("ens7np0", "10.51.0.1")]}
    (found,) = nic_addresses.address_plan(peers["gpu01"], FIRST, "ipv4", peers, "gpu01")
    assert "10.51.0.1 is set at gpu02 ens7np0" in str(found.cause) and "DHCP" in str(found.cause) and "MAC addresses" in str(found.fix)
    # It is nowhere, on this host alone, or this rail has it too, with another prefix length.
    for own, others in (("10.51.0.2", []), ("10.51.0.2", [address("ens2np0", "10.51.0.1")]), ("10.51.0.1", peers["gpu02"])):
        rows = [address("ens1np0", own, 24 if own.endswith("2") else 16), *([] if others is peers["gpu02"] else others)]
        (off,) = nic_addresses.address_plan(rows, FIRST, "ipv4", {"gpu01": rows, **({"gpu02": others} if others is peers["gpu02"] else {})}, "gpu01")
        assert off.cause is None


def test_an_address_that_the_host_gave_itself_is_a_lost_lease():
    (found,) = nic_addresses.address_plan([address("ens1np0", "169.254.11.7", 16)], FIRST, "ipv4")
    assert "no DHCP server" in found.cause and "lease" in found.fix
    (off,) = nic_addresses.address_plan([address("ens1np0", "169.254.11.7", 16), address("ens1np0", "10.99.0.1")], FIRST, "ipv4")
    assert off.cause is None


def test_a_driver_of_all_rails_of_a_host_is_one_finding_and_that_of_one_rail_is_its_own() -> None:
    def of(*versions: str) -> list[dict[str, t.Any]]:
        return [{"netdev": f"ens{number}", "driver": "mlx5_core", "version": version} for number, version in enumerate(versions)]

    rails = t.cast(t.Any, [{"device": f"mlx5_{number}", "netdev": f"ens{number}"} for number in range(2)])
    vendors, kernels = "24.10-0.7.0", "6.8.0-45-generic"
    group = {"gpu01": of(vendors, vendors), "gpu02": of(vendors, vendors), "gpu03": of(kernels, kernels), "gpu04": of(vendors, kernels)}
    expected = "expected driver mlx5_core, as its group, got mlx5_core of the kernel"
    assert [(one.host, str(one)) for one in nic.nic_driver_uniform(group, rails)] == [
        ("gpu03", f"all 2 rails: {expected}"), ("gpu04", f"ens1: {expected}"),
    ]  # fmt: skip


def test_a_guest_with_a_whole_nic_among_virtual_functions_is_odd() -> None:
    drivers = [{"netdev": f"ens{number}", "driver": "mlx5_core", "version": "24.10-0.7.0"} for number in range(2)]

    def functions(*ids: str) -> list[dict[str, t.Any]]:
        return [{"netdev": f"ens{number}", "vendor": "0x15b3", "device": one} for number, one in enumerate(ids)]

    rails = t.cast(t.Any, [{"device": f"mlx5_{number}", "netdev": f"ens{number}"} for number in range(2)])
    virtual, whole = "0x101e", "0x1021"
    of_group = {"gpu01": functions(virtual, virtual), "gpu02": functions(virtual, virtual), "gpu03": functions(virtual, whole), "gpu04": None}
    found = nic.nic_driver_uniform(dict.fromkeys(of_group, drivers), rails, of_group)
    expected = "expected driver mlx5_core, virtual function, as its group, got mlx5_core"
    assert [(one.host, str(one)) for one in found] == [("gpu03", f"ens1: {expected}"), ("gpu04", f"all 2 rails: {expected}")]


def behind(*down: tuple[str, str], hosts: int = 6, rails: int = 4, unknown: bool = False, leaf: str = "leaf1") -> list[Finding]:
    """What a leaf is found to share where NICs (host, device) have no link; rail N of each host is at leaf N."""
    every = [
        {"host": f"gpu{host}", "device": f"mlx5_{rail}", "netdev": f"ens{rail}", "leaf": f"leaf{rail}", "index": rail}
        for host in range(1, hosts + 1) for rail in range(1, rails + 1)
    ]  # fmt: skip
    reported: dict[str, list[dict[str, t.Any]]] = {}
    for rail in every:
        state = None if unknown else "Down" if (rail["host"], rail["device"]) in down else "Active"
        reported.setdefault(rail["host"], []).append({"device": rail["device"], "state": state})
    own, others = ([rail for rail in every if (rail["leaf"] == leaf) is there] for there in (True, False))
    cables = [{"port": f"Ethernet{rail['host'][3:]}/1", "peer": rail["host"], "peer_port": rail["netdev"]} for rail in own]
    return list(behind_leaf.hosts_have_links(reported, own, others, cables, leaf))


def test_links_of_several_hosts_that_are_down_at_one_leaf() -> None:
    three = [(f"gpu{number}", "mlx5_1") for number in (1, 2, 3)]
    found = behind(*three)
    assert [str(one) for one in found] == [f"Ethernet{number}/1: expected a link to gpu{number} mlx5_1, got down at gpu{number} mlx5_1" for number in (1, 2, 3)]
    assert found[0].where.peers == ("gpu1",) and "at its ports Ethernet1-3/1" in str(found[0].cause) and "leaf1" in str(found[0].fix)
    assert behind(*three[:2]) == [], "two cables may be bad at once"
    assert behind(*three, leaf="leaf2") == [], "what is down is at another leaf"
    whole = [("gpu3", f"mlx5_{rail}") for rail in (2, 3, 4)]
    assert behind(*three, *whole) == [], "most links of one of the hosts are down"
    assert behind(*three, *((f"gpu{number}", "mlx5_2") for number in (1, 2, 3))) == [], "as many are down at another leaf"
    assert behind(*three, rails=1) == [], "nothing shows that these hosts are on"
    for told in ({"hosts": 2}, {"unknown": True}):
        with pytest.raises(NotApplicable, match="rails_present judges"):
            behind(**told)
