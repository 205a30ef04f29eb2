# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run found to repair, how many hosts may be out, the drift, and the fixes that are told."""

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight import nic
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.remediation.blast_radius import blast_radius_reasons
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.remediation.drift import Rows, drift_table, host_settings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.remediation.findings import HostFindings, host_findings, remediable_hosts
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.remediation.manual_fixes import manual_fixes
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.remediation.partners import load_partners

GROUPS = {"rack_01": ["gpu01", "gpu02", "gpu03"], "rack_02": ["gpu04", "gpu05"]}
RAIL = {"device": "mlx5_4", "netdev": "enp79s0np0", "gpu": 2, "leaf": "leaf03"}
VALUES = {**DEFAULTS, "pod_rails": [RAIL], "pod_mtu": 9000}
STACK = {"managers": {}, "boot_loader": None}


def verdict(check: str = "roce_qos", output: str = "fail", **more: t.Any) -> dict[str, t.Any]:
    """A verdict of gpu03 as report.json has it."""
    of = {"layer": "preflight", "host": "gpu03", "group": "rack_01"}
    blank = {"words": "", "remedy": None, "required": False, "left_out": False, "waived": [], "findings": []}
    return {**of, **blank, "check": check, "verdict": output, **more}


def finding(where: str = "enp79s0np0", expected: str = "x", actual: str = "y", severity: str = "fail", host: str = "gpu03") -> dict[str, t.Any]:
    return {"where": where, "expected": expected, "actual": actual, "severity": severity, "host": host}


def report(*verdicts: dict[str, t.Any], gate: str = "open") -> dict[str, t.Any]:
    """A run of the preflight."""
    return {"verdicts": [verdict("answered", "pass"), *verdicts], "layers": [{"layer": "preflight", "asked": True, "groups": {"rack_01": {"gate": gate}}}]}


def found(*verdicts: dict[str, t.Any], gate: str = "open") -> HostFindings:
    return host_findings(report(*verdicts, gate=gate), "gpu03", "rack_01")


def test_a_host_without_a_finding_is_proved() -> None:
    assert found() == HostFindings(True)
    assert found(verdict(output="skip", words="no such platform"), verdict(output="warn")).proved
    assert found(verdict(output="skip", required=True, unavailable=True, words="not available on this platform"), verdict(output="warn")).proved


@pytest.mark.parametrize(
    ("one", "remedies", "left"),
    [
        (verdict(findings=[finding("mlx5_4", "MTU 9000", "1500")]), [], ["roce_qos: mlx5_4: expected MTU 9000, got 1500"]),
        (verdict(remedy="roce_qos", output="unknown", words="mlnx_qos: not found"), [], ["roce_qos: mlnx_qos: not found"]),
        (verdict("gid_index_uniform", host=None, findings=[finding("mlx5_4", "3", "5")]), [], ["gid_index_uniform: mlx5_4: expected 3, got 5"]),
        (verdict(output="skip", required=True, words="no such reading"), [], ["roce_qos: required, and skipped: no such reading"]),
    ],
)
def test_what_is_found_is_repaired_or_left(one: dict, remedies: list[str], left: list[str]) -> None:
    assert found(one) == HostFindings(False, remedies, left)


@pytest.mark.parametrize(
    ("one", "healable"),
    [
        (verdict(remedy="roce_qos", findings=[finding()]), ["roce_qos: enp79s0np0: expected x, got y"]),
        (verdict(remedy="roce_qos", output="warn", findings=[finding(severity="warn")]), ["roce_qos"]),
    ],
)
def test_what_a_remedy_heals_is_reported_beside_it(one: dict, healable: list[str]) -> None:
    assert found(one) == HostFindings(False, ["roce_qos"], [], healable)


def test_what_nobody_of_a_group_proved_is_not_proved_for_its_host() -> None:
    unknown = verdict("dcqcn_backs_off", "unknown", host=None, words="no receiver has counted a marked packet")
    assert found(unknown) == HostFindings(False, [], ["dcqcn_backs_off: no receiver has counted a marked packet"])
    assert found({**unknown, "group": "rack_02"}).proved
    skipped = verdict("slow_rail", "skip", host=None, required=True, words="one host in the group")
    assert found(skipped) == HostFindings(False, [], ["slow_rail: required, and skipped: one host in the group"])


@pytest.mark.parametrize(
    ("named", "outside", "unfit", "hosts", "words"),
    [
        (["gpu03"], [], {}, ["gpu01", "gpu02"], None),
        (["gpu03"], ["gpu01"], {}, ["gpu02"], "rack_01 has 1 partners to load with, and an incast takes 2 (gpu01: outside --limit)"),
        (["gpu03"], [], {"gpu02": "has jobs"}, ["gpu01"], "rack_01 has 1 partners to load with, and an incast takes 2 (gpu02: has jobs)"),
        (["gpu03"], [], {"gpu04": "has jobs"}, ["gpu01", "gpu02"], None),
        (["gpu04", "gpu05"], [], {}, [], "rack_02 has 0 partners to load with, and an incast takes 2 (the group has no others)"),
    ],
)
def test_who_helps_to_prove(named: list[str], outside: list[str], unfit: dict[str, str], hosts: list[str], words: str | None) -> None:
    inside = {host for members in GROUPS.values() for host in members if host not in outside}
    assert load_partners(named, GROUPS, inside, unfit, 2) == (hosts, [words] if words else [])


def test_findings_of_others_are_not_this_host_s() -> None:
    assert found(verdict("gid_index_uniform", host=None, findings=[finding(host="gpu01")]), verdict(host="gpu01", findings=[finding(host="gpu01")])).proved


FAR = {("leaf03", "Ethernet3/1")}


def seen(switch: str, where: str, port: str | None, severity: str = "fail") -> dict[str, t.Any]:
    """A verdict of a switch's port."""
    return verdict("crc_clean", host=switch, findings=[{**finding(where, severity=severity, host=switch), "port": port}])


@pytest.mark.parametrize(
    ("one", "left"),
    [
        (seen("leaf03", "Ethernet3/1", "Et3/1"), ["crc_clean: leaf03 Ethernet3/1: expected x, got y"]),
        (seen("leaf03", "Ethernet3/1", None), ["crc_clean: leaf03 Ethernet3/1: expected x, got y"]),
        (seen("leaf03", "leaf03", None, "unknown"), ["crc_clean: leaf03 leaf03: expected x, got y"]),
        (verdict("crc_clean", "unknown", host="leaf03", words="never read"), ["crc_clean: never read"]),
        (seen("leaf03", "Ethernet4/1", "Ethernet4/1"), []),
        (seen("leaf04", "Ethernet3/1", "Ethernet3/1"), []),
    ],
)
def test_the_far_ends_of_its_cables_are_this_host_s(one: dict[str, t.Any], left: list[str]) -> None:
    judged = host_findings(report(one), "gpu03", "rack_01", FAR)
    assert judged == HostFindings(not left, [], left)


def test_the_hosts_of_which_a_finding_names_a_remedy() -> None:
    bad = verdict(remedy="roce_qos", findings=[finding()])
    assert remediable_hosts(report(bad, verdict(remedy="gid", output="unknown", host="gpu01"), {**bad, "host": "gpu02"}, verdict(host="gpu05"))) == [
        "gpu02",
        "gpu03",
    ]


def test_silence_proves_nothing() -> None:
    empty = report()
    empty["verdicts"] = []
    assert host_findings(empty, "gpu03", "rack_01") == HostFindings(False, [], ["preflight: not evaluated"])
    assert found(gate="not_reached") == HostFindings(False, [], ["preflight: the gate is not open"])
    nothing = copy.deepcopy(report())
    nothing["layers"] = []
    assert not host_findings(nothing, "gpu03", "rack_01").proved
    above = report()
    above["layers"].append({"layer": "links", "asked": True, "groups": {"rack_01": {"gate": "open"}}})
    assert host_findings(above, "gpu03", "rack_01") == HostFindings(False, [], ["links: not evaluated"])


@pytest.mark.parametrize(
    ("named", "out", "at_once", "quarantine", "words"),
    [
        (["gpu03"], [], 1, 0, None),
        (["gpu03", "gpu04"], [], 2, 0, None),
        (["gpu03", "gpu04"], [], 1, 0, "2 hosts are named (gpu03, gpu04), and pod_remediate_max allows 1"),
        (["gpu02", "gpu03"], [], 2, 0, "rack_01 may lose 1 of its 3 hosts (pod_quarantine_max), and gpu02, gpu03 are named"),
        (["gpu02", "gpu03"], [], 2, 2, None),
        (["gpu03"], ["gpu01"], 1, 0, "rack_01 may lose 1 of its 3 hosts (pod_quarantine_max), and gpu01 is out already"),
        (["gpu03"], ["gpu01", "gpu03"], 1, 0, None),
        (["gpu03"], ["gpu04"], 1, 0, None),
        (["gpu03"], ["gpu01"], 1, 2, None),
    ],
)
def test_how_many_may_be_out(named: list[str], out: list[str], at_once: int, quarantine: int, words: str | None) -> None:
    reasons = blast_radius_reasons(named, GROUPS, set(out), at_once, quarantine)
    assert (reasons == []) if words is None else (len(reasons) == 1 and words in reasons[0])


@pytest.mark.parametrize(
    ("kind", "file", "command"),
    [
        ("netplan", "/etc/netplan/50-rails.yaml", "netplan set ethernets.enp79s0np0.mtu=9000"),
        ("networkd", "/etc/systemd/network/50-rails.network", "/etc/systemd/network/50-rails.network.d/mtu.conf"),
        ("networkmanager", "/etc/NetworkManager/system-connections/rail2.nmconnection", "802-3-ethernet.mtu 9000"),
        ("ifcfg", "/etc/sysconfig/network-scripts/ifcfg-enp79s0np0", "echo MTU=9000 >>/etc/sysconfig/network-scripts/ifcfg-enp79s0np0"),
        ("ifupdown", "/etc/network/interfaces", "put 'mtu 9000' below 'iface enp79s0np0' in /etc/network/interfaces"),
        (None, None, "ip link set dev enp79s0np0 mtu 9000"),
    ],
)
def test_an_mtu_is_reported_in_the_words_of_the_network_stack(kind: str | None, file: str | None, command: str) -> None:
    wrong = report(verdict("mtu", findings=[{**finding("enp79s0np0", "MTU 9000", "1500"), "value": 9000}]))
    result = manual_fixes(wrong, "gpu03", VALUES, {"managers": {"enp79s0np0": {"kind": kind, "file": file}}, "boot_loader": None})
    assert len(result) == 1 and command in result[0]


def test_an_mtu_to_set_is_the_number_of_the_finding_and_not_of_its_text() -> None:
    wrong = report(verdict("mtu_uniform", findings=[{**finding("enp79s0np0", "MTU 1500 of a quotation", "1500"), "value": 9216}]))
    assert "mtu 9216" in manual_fixes(wrong, "gpu03", VALUES, STACK)[0]
    rails = [{"device": "mlx5_4", "netdev": "enp79s0np0"}]
    links, devices = [{"netdev": "enp79s0np0", "mtu": 1500}], [{"device": "mlx5_4", "active_mtu": 1024}]
    assert [one.value for one in nic.mtu(links, devices, rails, 4096, 9000, "roce")] == [None, 9000]
    of_group = {host: [{"netdev": "enp79s0np0", "mtu": mtu}] for host, mtu in (("gpu01", 9000), ("gpu02", 9000), ("gpu03", 1500))}
    assert [(one.host, one.value) for one in nic.mtu_uniform(of_group, rails)] == [("gpu03", 9000)]


def test_a_small_rdma_mtu_is_a_small_netdev_mtu() -> None:
    wrong = report(verdict("mtu", findings=[finding("mlx5_4", "active RDMA MTU 4096", "1024")]))
    assert "mtu 9000" in manual_fixes(wrong, "gpu03", VALUES, STACK)[0]
    assert "mtu 4200" in manual_fixes(wrong, "gpu03", {**VALUES, "pod_mtu": None}, STACK)[0]


@pytest.mark.parametrize(
    ("loader", "command"),
    [("grubby", "grubby --update-kernel=ALL --args='iommu=pt'"), ("update_grub", "update-grub"), ("grub_mkconfig", "grub2-mkconfig"),
     ("kernel_cmdline", "/etc/kernel/cmdline"), (None, "where the boot loader has")],
)  # fmt: skip
def test_kernel_arguments_are_reported_in_the_words_of_the_boot_loader(loader: str | None, command: str) -> None:
    wrong = report(verdict("iommu_as_expected", findings=[finding("0000:1b:00.0", "identity", "DMA")]))
    result = manual_fixes(wrong, "gpu03", VALUES, {"managers": {}, "boot_loader": loader})
    assert len(result) == 1 and command in result[0] and "iommu=pt" in result[0]


def test_acs_and_nothing_else() -> None:
    bridge = {**finding("0000:15:00.0", "no ACS redirection", "ReqRedir"), "place": {"pci": "0000:15:00.0"}}
    wrong = report(verdict("acs_as_expected", findings=[bridge, finding("ACS", "on", "off")]), verdict(findings=[finding()]))
    assert manual_fixes(wrong, "gpu03", VALUES, STACK) == [
        "ACS, until the next boot; for good switch it off in the BIOS, or have a unit do this at boot:\n    setpci -s 0000:15:00.0 ECAP_ACS+0x6.w=0000"
    ]
    assert manual_fixes(wrong, "gpu01", VALUES, STACK) == []


def mask(current: int, later: int) -> dict[str, t.Any]:
    row = {"device": "mlx5_4", "name": "ROCE_CC_PRIO_MASK_P1", "current": str(current), "next_boot": str(later)}
    return {**row, "current_number": current, "next_boot_number": later}


def rows(**changed: t.Any) -> dict[str, Rows]:
    """What a healthy host tells."""
    result: dict[str, Rows] = {
        "lsmod": [{"module": "nvidia_peermem"}],
        "modules_load": [{"file": "x", "module": "nvidia-peermem"}],
        "dcqcn": [{"netdev": "enp79s0np0", "role": "rp", "setting": "enable", "priority": 3, "value": "1"}],
        "mlxconfig": [mask(255, 255)],
        "qos_trust": [{"netdev": "enp79s0np0", "trust": "dscp"}],
        "pfc_priorities": [{"port": "enp79s0np0", "priority": priority, "pfc": priority == 3} for priority in range(8)],
        "pause_settings": [{"netdev": "enp79s0np0", "rx": False, "tx": False}],
        "service_units": [{"unit": "slurmd.service", "names": None, "load_state": "loaded", "memlock": "infinity"}],
    }
    return {**result, **changed}


def drifted(result: dict[str, Rows], **values: t.Any) -> list[tuple[str, ...]]:
    return [(one.name, one.running, one.current, one.next_boot) for one in host_settings({**VALUES, **values}, result) if one.drifted]


def test_a_healthy_host_has_no_drift() -> None:
    assert drifted(rows()) == [] and drift_table(host_settings(VALUES, rows())) == "no drift in 6 settings"


def test_the_three_values_of_dcqcn() -> None:
    off = [{"netdev": "enp79s0np0", "role": "rp", "setting": "enable", "priority": 3, "value": "0"}]
    assert drifted(rows(mlxconfig=[mask(0, 8)], dcqcn=off)) == [
        ("DCQCN on priority 3", "off", "off", "on"),
        ("ROCE_CC_PRIO_MASK_P1", "-", "0", "8"),
    ]


def test_what_was_not_reported_is_no_agreement() -> None:
    assert drifted({}) == [
        ("nvidia_peermem", "not reported", "-", "not reported"), ("DCQCN on priority 3", "not reported", "not reported", "not reported"),
        ("trust", "not reported", "-", "-"), ("PFC on", "not reported", "-", "-"), ("link pause", "not reported", "-", "-"),
    ]  # fmt: skip
    assert drifted(rows(mlxconfig=[mask(255, 255)]), pod_nic_settings={"SRIOV_EN": 1}) == [("SRIOV_EN", "-", "not reported", "not reported")]


def test_the_table_has_only_what_drifted() -> None:
    lines = drift_table(host_settings(VALUES, rows(qos_trust=[{"netdev": "enp79s0np0", "trust": "pcp"}]))).splitlines()
    assert [line.split() for line in lines] == [
        ["where", "setting", "wanted", "running", "firmware", "next", "boot"], ["enp79s0np0", "trust", "dscp", "pcp", "-", "-"]
    ]  # fmt: skip
