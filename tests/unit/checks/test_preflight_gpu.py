# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of GPUs, their way to the NICs, and what jobs get, by plain calls."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight import gpu as checks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight import pcie
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight import software as versions

RAILS = [{"device": f"rocep{number}", "netdev": f"ens{number}np0", "pci": f"0000:{number}8:00.0", "gpu": number, "leaf": "leaf01"} for number in (0, 1)]
COLUMNS = ("uuid", "attached", "processes", "power_cap", "sm_clock_mhz", "max_sm_clock_mhz", "pcie_width", "max_pcie_width", "recovery_action")


def summary(findings):
    return [(str(one), one.severity) for one in findings]


def unknown(findings):
    """Whether there are findings, and all of them unknown."""
    severities = [one.severity for one in findings]
    return bool(severities) and set(severities) == {"unknown"}


def gpu(number, **values):
    return {
        **dict.fromkeys(COLUMNS), "gpu": number, "name": "NVIDIA H100 80GB HBM3", "pci": f"0000:{number}9:00.0", "driver": "550.90.07", "runtime": "12.4",
        "ecc_uncorrected_volatile": 0, "remap_pending": False, "remap_failed": False, "retirement_pending": None, "reset_required": False,
        "hardware_slowdown": False, "thermal_slowdown": False, "fabric_state": "Completed", "fabric_status": "Success", **values,
    }  # fmt: skip


GPUS = [gpu(0), gpu(1)]


def test_gpu_clocks_uniform():
    def judged(*clocks):
        rows = {f"gpu{number:02}": [gpu(0, max_sm_clock_mhz=clock)] for number, clock in enumerate(clocks, 1)}
        return [(one.host, str(one), one.severity) for one in checks.gpu_clocks_uniform(rows, "nvidia")]

    assert judged(1980, 1980, 1980) == []
    assert judged(1980, 1410, 1980) == [("gpu02", "GPU 0: expected up to 1980 MHz, as its group, got 1410 MHz", None)]
    assert judged(None, None) == [(host, "GPU 0: expected a highest clock, got not reported", "unknown") for host in ("gpu01", "gpu02")]
    with pytest.raises(CannotTell):
        judged()
    with pytest.raises(NotApplicable):
        list(checks.gpu_clocks_uniform({}, "amd"))


def test_gpus_present():
    assert summary(checks.gpus_present(GPUS, 2)) == []
    assert summary(checks.gpus_present(GPUS[:1], 2)) == [("GPUs: expected 2, got 1", None)]
    assert summary(checks.gpus_present([], 8)) == [("GPUs: expected 8, got 0", None)]


def parts(number):
    """Two GPUs of which each is so many devices."""
    return [gpu(slot * number + part, pci=f"0000:{slot}9:00.{part}", name="AMD Instinct MI300X") for slot in (0, 1) for part in range(number)]


def test_gpus_that_are_split_into_partitions():
    (found,) = checks.gpus_present(parts(4), 2)
    assert found.actual == "8" and found.cause.startswith("2 GPUs are split into 8 devices") and "SPX" in found.fix
    (found,) = checks.gpus_present(parts(1), 3)
    assert found.cause is None
    # The second GPU of the plan is the fifth device.
    rows = [*cards(), *[pci(one["pci"], numa=number // 4) for number, one in enumerate(parts(4))]]
    rows = [{**row, "numa_node": 1} if row["pci"] == "0000:18:00.0" else row for row in rows]
    assert affinity(rows=rows, pairs=[], vendor="amd", gpus=parts(4)) == []
    # Only the first device of a slot is on the bus.
    assert list(pcie.pcie_link(cards(), parts(4), RAILS, 16, 400.0)) == []


@pytest.mark.parametrize(("event", "words", "fix"), [("gpu_without_memory_range", "no addresses", "BIOS"), ("gpu_not_started", "RmInit", "Power-cycle")])
def test_a_gpu_that_its_driver_left_out(event, words, fix):
    def left(device):
        return list(checks.gpus_present(GPUS[:1], 2, [{"event": event, "device": device}]))

    (found,) = left("0000:9d:00.0")
    assert words in found.actual and "0000:9d:00.0" in found.actual and fix in found.fix
    # One that is reported now was started since.
    assert left(GPUS[0]["pci"])[0].cause is None


def links(active=18, inactive=0, numbers=(0, 1)):
    return [
        {"gpu": number, "link": link, "state": "active" if link < active else "inactive", "speed_gbyte_s": 26.562}
        for number in numbers
        for link in range(active + inactive)
    ]


def topology(connection="NV18", distance="PXB", names=("rocep0", "rocep1")):
    rows = [("GPU0", "GPU1", connection), *((f"GPU{number}", name, distance) for number, name in enumerate(names))]
    return [{"device": a, "peer": b, "connection": word} for first, second, word in rows for a, b in ((first, second), (second, first))]


BOOT = {"time": None, "event": "boot", "device": None, "code": None, "text": ""}


LOADED = {**BOOT, "event": "driver_loaded"}


def xid(code, device="0000:09:00", recovery=None, severity=None):
    return {"time": None, "event": "xid", "device": device, "code": code, "recovery": recovery, "severity": severity, "text": ""}


def errors(gpus=tuple(GPUS), log=(), nvlinks=None, pairs=None, wanted=18, interconnect="NV18", vendor="nvidia"):
    rows = None if log is None else [BOOT, *log]
    return list(checks.gpu_errors(gpus, vendor, wanted, interconnect, 2, rows, links() if nvlinks is None else nvlinks, topology() if pairs is None else pairs))


def test_gpus_without_errors():
    assert errors() == []
    assert errors(log=[{"time": None, "event": "link_down", "device": "ens1np0", "code": None, "text": ""}]) == []
    # PCIe boards without a bridge: no NVLink is planned and none is there.
    assert errors(nvlinks=[{"gpu": number, "link": None, "state": "absent", "speed_gbyte_s": None} for number in (0, 1)], wanted=None, interconnect="") == []


@pytest.mark.parametrize(
    ("case", "words", "severity"),
    [
        ({"gpus": [gpu(0, ecc_uncorrected_volatile=3), gpu(1)]}, "GPU 0: expected no uncorrected ECC error, got 3", None),
        (
            {"gpus": [gpu(0, ecc_uncorrected_volatile=None), gpu(1)]},
            "GPU 0: expected no uncorrected ECC error, got not reported: ECC is off or missing",
            "unknown",
        ),
        ({"gpus": [gpu(0), gpu(1, remap_pending=True)]}, "GPU 1: expected no pending row remap, got row remap pending", None),
        ({"gpus": [gpu(0), gpu(1, remap_pending=None)]}, "GPU 1: expected no pending row remap, got not reported", "unknown"),
        ({"gpus": [gpu(0), gpu(1, retirement_pending=True)]}, "GPU 1: expected no pending page retirement, got page retirement pending", None),
        ({"gpus": [gpu(0), gpu(1, remap_failed=True)]}, "GPU 1: expected no failed row remap, got row remap failed", None),
        ({"gpus": [gpu(0), gpu(1, reset_required=True)]}, "GPU 1: expected no pending reset, got reset pending", None),
        ({"log": [xid(79)]}, "GPU 0: expected no Xid since the driver was loaded, got Xid 79 (fallen off the bus)", None),
        ({"log": [xid(48), xid(48)]}, "GPU 0: expected no Xid since the driver was loaded, got Xid 48 (uncorrectable ECC error), 2 times", None),
        ({"log": [xid(31, "0000:aa:00")]}, "GPU 0000:aa:00: expected no Xid since the driver was loaded, got Xid 31, caused by a program", "warn"),
        ({"log": [xid(149, severity="fatal")]}, "GPU 0: expected no Xid since the driver was loaded, got Xid 149 (fatal NVLink error)", None),
        (
            {"log": [xid(145, severity="nonfatal")]},
            "GPU 0: expected no Xid since the driver was loaded, got Xid 145 (nonfatal NVLink error), from which the link recovered",
            "warn",
        ),
        (
            {"log": [xid(79), LOADED, xid(63)]},
            "GPU 0: expected no Xid since the driver was loaded, got Xid 63 (row remap recorded), which only informs",
            "warn",
        ),
        ({"gpus": [gpu(0, recovery_action="Reset"), gpu(1)]}, "GPU 0: expected no recovery action, got Reset", None),
        ({"log": None}, "kernel log: expected no Xid since the boot, got not reported", "unknown"),
        ({"nvlinks": [*links(17, 1, (0,)), *links(numbers=(1,))]}, "GPU 0: expected 18 active NVLinks, got 17", None),
        ({"nvlinks": links(numbers=(0,))}, "GPU 1: expected 18 active NVLinks, got 0", None),
        ({"pairs": topology("SYS")}, "GPU0 to GPU1: expected NV18, got SYS", None),
        ({"pairs": []}, "GPU0 to GPU1: expected NV18, got not reported", "unknown"),
    ],
)
def test_gpu_errors(case, words, severity):
    assert summary(errors(**case)) == [(words, severity)]


@pytest.mark.parametrize(
    ("log", "words", "severity", "fix"),
    [
        ([xid(63)], "Xid 63 (row remap recorded), which only informs", "warn", "when no job runs"),
        ([xid(64)], "Xid 64 (row remap failed)", None, "Drain the host and reset the GPU"),
        ([xid(92)], "Xid 92 (many corrected ECC errors), which only informs", "warn", "vendor's diagnostics"),
        ([xid(94)], "Xid 94 (contained ECC error), which only informs", "warn", "Start that program again"),
        ([xid(95)], "Xid 95 (uncontained ECC error)", None, "before any job starts"),
        ([xid(160)], "Xid 160, which only informs", "warn", "catalogue"),
        ([xid(999)], "Xid 999", None, "catalogue"),
        ([xid(None)], "Xid None", None, "catalogue"),
        ([xid(154, recovery="Reset")], "Xid 154 (recovery action: Reset)", None, "reset it"),
        ([xid(154, recovery="Reboot")], "Xid 154 (recovery action: Reboot)", None, "reboot it"),
        ([xid(154, recovery="Drain P2P")], "Xid 154 (recovery action: Drain P2P)", None, "peer access"),
        ([xid(154, recovery="Drain and Reset")], "Xid 154 (recovery action: Drain and Reset)", None, "Start no new job"),
        ([xid(154, recovery="Something New")], "Xid 154 (recovery action: Something New)", None, "catalogue"),
        ([xid(154)], "Xid 154 (recovery action not reported)", "unknown", "nvidia-smi -q"),
        ([xid(154, recovery="Reset"), xid(154, recovery="None")], "Xid 154 (recovery action: none), which only informs", "warn", "Xids before it"),
        ([xid(154, recovery="None"), xid(154, recovery="Reset")], "Xid 154 (recovery action: Reset)", None, "reset it"),
    ],
)
def test_an_xid_is_judged_as_the_catalogue_does(log, words, severity, fix):
    (finding,) = errors(log=log)
    assert (finding.actual, finding.severity) == (words, severity)
    assert fix in finding.fix


def test_the_recovery_of_one_gpu_is_not_that_of_another():
    asked = errors(log=[xid(154, recovery="Reset"), xid(154, "0000:19:00", "None")])
    assert [(str(one.where), one.severity) for one in asked] == [("GPU 0", None), ("GPU 1", "warn")]


def test_an_xid_of_gpus_whose_tools_do_not_answer_is_found():
    assert summary(checks.xids_of_silent_gpus([BOOT, xid(48)], None)) == [
        ("GPU 0000:09:00: expected no Xid since the driver was loaded, got Xid 48 (uncorrectable ECC error)", None)
    ]
    assert summary(checks.xids_of_silent_gpus([BOOT], None)) == [] and unknown(checks.xids_of_silent_gpus(None, None))
    with pytest.raises(NotApplicable, match="gpu_errors judges"):
        list(checks.xids_of_silent_gpus([BOOT, xid(48)], GPUS))


def test_gpu_errors_of_nothing():
    with pytest.raises(CannotTell):
        errors(gpus=[])
    assert unknown(checks.gpu_errors(GPUS, "nvidia", 18, "", 2, [BOOT], None, None))


def test_fabric_state():
    unit = {"unit": "nvidia-fabricmanager.service", "load_state": "loaded", "active_state": "active", "memlock": None}
    a100 = [gpu(0, name="NVIDIA A100-SXM4-80GB", fabric_state=None, fabric_status=None)]
    assert summary(checks.fabric_state(GPUS, True, "nvidia", "auto", "none", [unit])) == []
    assert summary(checks.fabric_state(GPUS, True, "nvidia", "auto", "none")) == []
    assert summary(checks.fabric_state(a100, True, "nvidia", "auto", "none", [unit])) == []
    assert summary(checks.fabric_state(a100, True, "nvidia", "auto", "none")) == [
        ("GPU 0: expected fabric Completed, Success, got not reported, not reported", "unknown")
    ]
    assert summary(checks.fabric_state(a100, True, "nvidia", "auto", "none", [{**unit, "active_state": "failed"}])) == [
        ("nvidia-fabricmanager.service: expected active, got failed", None)
    ]
    assert summary(checks.fabric_state([gpu(0, fabric_state="In Progress", fabric_status=None)], True, "nvidia", "auto", "none"))[0][1] is None
    assert summary(checks.fabric_state([gpu(0, fabric_state="Completed", fabric_status=None)], True, "nvidia", "auto", "none"))[0][1] == "unknown"
    assert summary(checks.fabric_state([gpu(0, fabric_status="Failure")], True, "nvidia", "auto", "none")) == [
        ("GPU 0: expected fabric Completed, Success, got Completed, Failure", None)
    ]
    with pytest.raises(NotApplicable):
        list(checks.fabric_state(GPUS, False, "nvidia", "auto", "none"))
    with pytest.raises(CannotTell):
        list(checks.fabric_state([], True, "nvidia", "auto", "none"))


def test_the_switches_of_a_guest_may_be_managed_by_another_machine():
    inactive = {"unit": "nvidia-fabricmanager.service", "load_state": "loaded", "active_state": "inactive", "memlock": None}
    assert summary(checks.fabric_state(GPUS, True, "nvidia", "auto", "guest", [inactive])) == []
    a100 = [gpu(0, name="NVIDIA A100-SXM4-80GB", fabric_state=None, fabric_status=None)]
    assert [severity for _words, severity in summary(checks.fabric_state(a100, True, "nvidia", "auto", "guest", [inactive]))] == ["unknown"]


def test_slowdown():
    assert summary(checks.gpu_throttled([gpu(0, power_cap=True)], "nvidia")) == []
    assert summary(checks.gpu_throttled([gpu(0, thermal_slowdown=True)], "nvidia")) == [("GPU 0: expected no slowdown, got thermal slowdown", None)]
    assert summary(checks.gpu_throttled([gpu(0, hardware_slowdown=True)], "nvidia")) == [("GPU 0: expected no slowdown, got hardware slowdown", None)]
    assert unknown(checks.gpu_throttled([gpu(0, hardware_slowdown=None)], "nvidia"))
    with pytest.raises(CannotTell):
        list(checks.gpu_throttled([], "nvidia"))
    with pytest.raises(NotApplicable):
        list(checks.gpu_throttled([gpu(0, hardware_slowdown=None, thermal_slowdown=None)], "amd"))


def pci(address, numa=0, width=16, speed=32.0, most=32.0):
    return {
        "pci": address,
        "vendor": "0x15b3",
        "device": "0x1021",
        "numa_node": numa,
        "link_width": width,
        "link_speed_gt_s": speed,
        "max_link_speed_gt_s": most,
    }


def cards(**nic):
    return [pci("0000:09:00.0", speed=2.5), pci("0000:19:00.0", speed=2.5), pci("0000:08:00.0", **nic), pci("0000:18:00.0")]


def affinity(rows=None, pairs=None, longest="PXB", vendor="nvidia", gpus=tuple(GPUS)):
    return list(checks.nic_gpu_affinity(cards() if rows is None else rows, RAILS, longest, vendor, topology() if pairs is None else pairs, [], [], gpus))


def test_affinity():
    assert affinity() == []
    assert affinity(pairs=topology(distance="PIX")) == []
    assert affinity(pairs=topology(distance="NODE"), longest="NODE") == []
    assert affinity(pairs=topology(distance="SYS"), longest="SYS", rows=cards(numa=-1)) == []
    # rocm-smi shows no NICs.
    assert affinity(pairs=[], vendor="amd") == []
    assert [str(one) for one in affinity(pairs=topology(distance="SYS"), rows=cards(numa=1))] == [
        "rocep0 and GPU 0: expected PXB or closer, got SYS",
        "rocep0 and GPU 0: expected one NUMA node, got NUMA nodes 1 and 0",
        "rocep1 and GPU 1: expected PXB or closer, got SYS",
    ]


def test_affinity_where_the_firmware_names_no_numa_node():
    found = affinity(rows=[{**row, "numa_node": -1} for row in cards()])
    assert {(str(one).partition("got ")[2], one.severity, one.judged) for one in found} == {("the kernel knows the node of neither", "unknown", True)}
    assert all("BIOS" in str(one.cause) for one in found)


def test_affinity_that_is_not_reported_is_unknown():
    assert summary(affinity(rows=cards(numa=-1))) == [("rocep0 and GPU 0: expected one NUMA node, got not reported for the NIC", "unknown")]
    assert unknown(affinity(pairs=[]))
    assert unknown(affinity(pairs=topology(names=("mlx5_1", "mlx5_2"))))
    assert unknown(affinity(rows=[]))
    assert unknown(affinity(gpus=[]))


def test_affinity_by_what_the_topology_says_of_the_gpu():
    of_gpu = [{"gpu": number, "cpu_affinity": None, "numa_node": 1} for number in (0, 1)]
    assert len(list(checks.nic_gpu_affinity(cards(), RAILS, "PXB", "nvidia", topology(), of_gpu, [], GPUS))) == 2


def width(rows, link=400.0):
    return summary(pcie.pcie_link(rows, GPUS, RAILS, 16, link))


def test_pcie_link():
    # Idle GPUs slow their link down.
    assert width(cards()) == []
    assert width(cards(width=8)) == [("rocep0: expected PCIe width x16, got x8", None)]
    assert width(cards(speed=16.0)) == [("rocep0: expected PCIe speed 32 GT/s, got 16 GT/s", None)]
    assert width(cards(speed=None)) == [("rocep0: expected full PCIe speed, got not reported", "unknown")]
    nowhere = [{key: value for key, value in RAILS[0].items() if key != "pci"}]
    assert [str(one) for one in pcie.pcie_link(cards(), GPUS, nowhere, 16, 400.0)] == [
        "rocep0: expected PCIe width x16, got not reported, nor its PCI address: give it as the rail's pci in pod_rails"
    ]
    assert list(pcie.pcie_link(cards(), GPUS, [{**RAILS[1], "pci": "00000000:18:00.0"}], 16, 400.0)) == []
    # A virtual function has no link of its own, and its GPU has.
    virtual = [{**row, "device": "0x101e"} if row["link_width"] == 8 else row for row in cards(width=8)]
    assert width(virtual) == []
    assert width(cards()[1:]) == [("GPU 0: expected PCIe width x16, got not reported", "unknown")]
    assert width(cards(width=None)) == [("rocep0: expected PCIe width x16, got not reported", "unknown")]
    with pytest.raises(CannotTell):
        list(pcie.pcie_link(cards(), [], RAILS, 16, 400.0))


def test_a_card_of_a_later_generation_than_its_slots_is_warned_about_while_it_carries_its_port():
    """ConnectX-8 speaks 64 GT/s, and most boards 32; ConnectX-7 at 200 Gb/s stands in slots of 16."""
    carried = "{} GT/s as every rail of the host, which carries {} Gb/s"
    for speed, most, link in ((32.0, 64.0, 400.0), (16.0, 32.0, 200.0)):
        rows = [*cards()[:2], *(pci(f"0000:{number}8:00.0", speed=speed, most=most) for number in (0, 1))]
        words = f"expected PCIe speed {most:g} GT/s, got " + carried.format(f"{speed:g}", f"{link:g}")
        assert width(rows, link) == [(f"{rail['device']}: {words}", "warn") for rail in RAILS]
        assert {severity for _words, severity in width(rows, 2 * link)} == {None}
    # One that is slower than its neighbours has come up slow, whatever it carries.
    assert width(cards(speed=16.0), 200.0) == [("rocep0: expected PCIe speed 32 GT/s, got 16 GT/s", None)]


def variable(name, value, file="/etc/nccl.conf"):
    return {"file": file, "name": name, "value": value}


def test_nccl_environment():
    assert summary(checks.nccl_environment([], {})) == []
    assert summary(checks.nccl_environment([variable("NCCL_IB_HCA", "=mlx5_0")], {"NCCL_IB_HCA": "=mlx5_0"})) == []
    assert summary(checks.nccl_environment([variable("NCCL_IB_DISABLE", "1")], {})) == [
        ("/etc/nccl.conf NCCL_IB_DISABLE: expected not forced, got 1 (sends everything over TCP)", None)
    ]
    assert summary(checks.nccl_environment([], {"NCCL_IB_TC": 106})) == [("NCCL_IB_TC: expected 106, got not set", None)]
    # The same variable of two files: each is judged.
    twice = [variable("NCCL_ALGO", "Tree"), variable("NCCL_ALGO", "Ring", "/etc/environment")]
    assert summary(checks.nccl_environment(twice, {"NCCL_ALGO": "Ring"})) == [("/etc/nccl.conf NCCL_ALGO: expected Ring, got Tree", None)]


DRIVER = [{"driver": "nvidia", "version": "550.90.07", "flavour": "open"}]
SOFTWARE = [{"item": "kernel", "version": "5.15.0-119-generic", "path": None}, {"item": "nccl", "version": "2.21.5", "path": "/usr/lib/libnccl.so.2.21.5"}]


def ports(firmware="28.39.1002"):
    return [{"device": "rocep0", "firmware": firmware}, {"device": "rocep1", "firmware": "28.39.1002"}, {"device": "mlx5_1", "firmware": "16.35.1012"}]


def test_software_pinned():
    pinned = {"driver": "550.90.07", "runtime": "12.4", "firmware": "28.39.1002", "kernel": "5.15.0-119-generic"}
    assert summary(versions.software_pinned(DRIVER, GPUS, ports(), SOFTWARE, RAILS, pinned)) == []
    assert summary(versions.software_pinned(DRIVER, GPUS, ports("28.38.1900"), SOFTWARE, RAILS, {**pinned, "ofed": "24.07", "nccl": "2.20.5"})) == [
        ("firmware of rocep0: expected 28.39.1002, got 28.38.1900", None),
        ("ofed: expected 24.07, got not reported", "unknown"),
        ("nccl: expected 2.20.5, got 2.21.5", None),
    ]
    with pytest.raises(NotApplicable):
        list(versions.software_pinned(DRIVER, GPUS, ports(), SOFTWARE, RAILS, {}))


def uniform(firmware, software=tuple(SOFTWARE), hosts=("gpu01", "gpu02", "gpu03")):
    same = dict.fromkeys(hosts)
    found = versions.software_uniform(
        {**same, **dict.fromkeys(hosts, DRIVER)}, dict.fromkeys(hosts, GPUS), {**dict.fromkeys(hosts, ports()), hosts[-1]: ports(firmware)},
        {**dict.fromkeys(hosts, SOFTWARE), hosts[-1]: software}, RAILS,
    )  # fmt: skip
    return [(one.host, str(one)) for one in found]


def test_the_odd_software_of_a_group():
    assert uniform("28.39.1002") == []
    assert uniform("28.38.1900") == [("gpu03", "firmware of rocep0: expected 28.39.1002, as its group, got 28.38.1900")]
    assert uniform("28.39.1002", SOFTWARE[:1]) == [("gpu03", "nccl: expected 2.21.5, as its group, got none")]
    with pytest.raises(NotApplicable, match="one host"):
        uniform("28.39.1002", hosts=("gpu01",))


def test_a_log_without_its_beginning_does_not_show_that_there_was_no_xid():
    found = checks.gpu_errors(GPUS, "nvidia", None, "", 2, [xid(79)], None, None)
    assert summary(found) == [
        ("kernel log: expected all lines since the boot, got its first lines were overwritten", "warn"),
        ("GPU 0: expected no Xid since the driver was loaded, got Xid 79 (fallen off the bus)", None),
    ]


def test_a_link_of_which_one_end_alone_is_as_planned_is_found():
    def judged(*rows):
        topology = [{"device": device, "peer": peer, "connection": connection} for device, peer, connection in rows]
        return summary(checks._interconnect(topology, "XGMI", 2))

    assert judged(("GPU0", "GPU1", "XGMI"), ("GPU1", "GPU0", "XGMI")) == []
    assert judged(("GPU0", "GPU1", "XGMI"), ("GPU1", "GPU0", "XGMI DISABLED")) == [("GPU0 to GPU1: expected XGMI, got XGMI DISABLED", None)]
    assert judged(("GPU0", "GPU1", "XGMI")) == [("GPU0 to GPU1: expected XGMI, got not reported", "unknown")]


def test_nvlinks_of_a_gpu_in_multi_instance_mode_are_unknown():
    rows = [{"gpu": 0, "link": None, "state": "unsupported", "speed_gbyte_s": None}, *links()[18:]]
    assert summary(checks._nvlinks(rows, 18, 2)) == [("GPU 0: expected 18 active NVLinks, got not reported of a GPU in multi-instance mode (MIG)", "unknown")]


def test_an_idle_fabric_manager_is_healthy_on_a_tray():
    unit = {"unit": "nvidia-fabricmanager.service", "load_state": "loaded", "active_state": "inactive", "memlock": None}
    assert summary(checks.fabric_state(GPUS, True, "nvidia", "gate_group", "none", [unit])) == []
    assert [one for one, _severity in summary(checks.fabric_state(GPUS, True, "nvidia", "host", "none", [unit]))] == [
        "nvidia-fabricmanager.service: expected active, got inactive"
    ]


def alike(of_hosts, pinned=None):
    """What software_alike finds on each host; of_hosts: the version of ofed by host, in groups of two hosts."""
    names, software = list(of_hosts), {host: [{"item": "mlx5_core", "version": version}] for host, version in of_hosts.items()}
    found = {}
    for place, host in enumerate(names):
        group = [one for at, one in enumerate(names) if at // 2 == place // 2 and one != host]
        found[host] = [str(one) for one in versions.software_alike({}, {}, {}, software, host, group, pinned or {})]
    return {host: its for host, its in found.items() if its}


def test_the_group_that_an_update_did_not_reach():
    same = {f"gpu0{number}": "24.04" for number in range(1, 7)}
    assert alike(same) == {}
    left = {**same, "gpu05": "23.07", "gpu06": "23.07"}
    words = "ofed: expected 24.04, as 4 of 4 hosts of other gate groups, got 23.07 on 2 hosts of this one"
    assert alike(left) == {"gpu05": [words], "gpu06": [words]}
    assert alike(left, {"ofed": "23.07"}) == {}, "a group whose version is pinned is judged by that"
    # One host that differs from its own group is a finding of software_uniform; of two groups it is not known which is right.
    assert alike({**same, "gpu06": "25.01"}) == {}
    assert len(alike({"gpu01": "1", "gpu02": "1", "gpu03": "2", "gpu04": "2"})) == 4
    with pytest.raises(NotApplicable, match="no other gate group"):
        alike({"gpu01": "1", "gpu02": "1"})
