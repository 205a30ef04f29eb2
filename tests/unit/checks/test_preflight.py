# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a host's kernel, drivers and limits, by plain calls."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight import hardware, system

GPU, NIC, BRIDGE = "0000:19:00.0", "0000:18:00.0", "0000:17:00.0"
RAILS = [{"device": "mlx5_0", "netdev": "ens1np0", "gpu": 0, "leaf": "leaf01"}]
LINKS = [
    {"netdev": "ens1np0", "state": "UP", "mtu": 9000, "mac": None, "parent_pci": NIC},
    {"netdev": "lo", "state": "UP", "mtu": 65536, "mac": None, "parent_pci": None},
]


def summary(findings):
    return [(str(one), one.severity) for one in findings]


def pci(address, kind, **values):
    blank = dict.fromkeys(("device", "numa_node", "link_speed_gt_s", "link_width", "max_link_speed_gt_s", "max_link_width", "sriov_vfs", "sriov_max_vfs"))
    return {**blank, "pci": address, "class": kind, "vendor": "0x15b3", **values}


CARDS = [pci(GPU, "0x030200", vendor="0x10de"), pci(NIC, "0x020000"), pci(BRIDGE, "0x060400")]


def iommu(kind, virtualization="none", devices=(GPU, NIC)):
    groups = [{"group": number, "type": kind} for number, _device in enumerate(devices)]
    members = [{"group": number, "pci": device} for number, device in enumerate(devices)]
    return summary(system.iommu_as_expected(groups if kind else [], members if kind else [], CARDS, virtualization))


@pytest.mark.parametrize("virtualization", ["none", "container"])
@pytest.mark.parametrize("kind", ["identity", None])
def test_pass_through_or_no_iommu_suits_bare_metal(kind, virtualization):
    assert iommu(kind, virtualization) == []


def test_translated_dma_is_named_for_each_card():
    assert iommu("DMA-FQ") == [
        ("0000:19:00.0: expected IOMMU domain identity, or none, got DMA-FQ", None),
        ("0000:18:00.0: expected IOMMU domain identity, or none, got DMA-FQ", None),
    ]


@pytest.mark.parametrize("virtualization", ["sriov", "passthrough"])
def test_virtual_machines_need_the_iommu(virtualization):
    assert iommu("DMA", virtualization) == []
    assert iommu(None, virtualization) == [("IOMMU: expected on, for virtual machines, got off", None)]


def test_iommu_cannot_be_reported_without_cards_or_without_the_groups_devices():
    with pytest.raises(CannotTell):
        list(system.iommu_as_expected([], [], [], "none"))
    with pytest.raises(CannotTell):
        list(system.iommu_as_expected([{"group": 1, "type": "identity"}], [], CARDS, "none"))


def test_a_group_without_a_type_is_unknown():
    assert [one[1] for one in summary(system.iommu_as_expected([{"group": 9, "type": "identity"}], [{"group": 1, "pci": GPU}], CARDS, "none"))] == ["unknown"]


def pages(total, size=1048576):
    return [{"size_kbytes": size, "total": total, "free": total}]


def test_huge_pages():
    assert summary(system.hugepages_reserved(pages(64), 64)) == []
    assert summary(system.hugepages_reserved(pages(8), 64)) == [("1 GiB huge pages: expected 64, got 8", None)]
    assert summary(system.hugepages_reserved(pages(4096, size=2048), 64)) == [("1 GiB huge pages: expected 64, got 0", None)]
    with pytest.raises(NotApplicable):
        list(system.hugepages_reserved(pages(0), 0))


@pytest.mark.parametrize(
    ("vfs", "words"), [(8, []), (0, ["mlx5_0: expected virtual functions, got 0 of 16"]), (None, ["mlx5_0: expected virtual functions, got not reported"])]
)
def test_virtual_functions(vfs, words):
    cards = [pci(NIC, "0x020000", sriov_vfs=vfs, sriov_max_vfs=16)]
    assert [str(one) for one in system.sriov_enabled(cards, LINKS, RAILS, "sriov")] == words


def test_a_nic_with_fewer_virtual_functions_than_the_others_of_its_host():
    def found(*counts):
        rails = [{"device": f"mlx5_{number}", "netdev": f"ens{number}np0", "gpu": 0, "leaf": "leaf01", "pci": f"0000:4{number}:00.0"} for number in range(4)]
        cards = [pci(rail["pci"], "0x020000", sriov_vfs=vfs, sriov_max_vfs=64) for rail, vfs in zip(rails, counts)]
        return summary(system.sriov_enabled(cards, [], rails, "sriov"))

    assert found(64, 64, 61, 64) == [("mlx5_2: expected 64 virtual functions, as 3 of 4 rails of the host have, got 61", "warn")]
    assert found(64, 64, 64, 64) == found(8, 8, 64, 64) == found(8, 8, 8, 64) == []


def test_a_slot_above_one_nic_alone_is_that_nic():
    def lost(first, last):
        log = [{"event": "slot_lost", "device": "0000:17:01.0", "severity": None, "code": None, "recovery": None, "text": "", "time": None}]
        bridges = [{"pci": "0000:17:01.0", "first_bus": first, "last_bus": last, "supported": True, "enabled": []}]
        gpus = [{"gpu": 3, "pci": GPU}]
        return [(str(one.where), one.severity) for one in hardware.hardware_log(log, RAILS, 5, gpus, LINKS, bridges)]

    assert lost("18", "18") == [("mlx5_0", "warn")], "it may have come back, by a reset of the NIC's firmware"
    assert lost("18", "19") == lost("1a", "1f") == lost(None, None) == [("0000:17:01.0", "warn")]


def test_virtual_functions_that_a_nic_offers_and_nothing_created():
    card = pci("0000:40:00.0", "0x020000", sriov_vfs=0, sriov_max_vfs=16)
    rails = [{**RAILS[0], "pci": "0000:40:00.0"}]
    (offered,), (off,) = (list(system.sriov_enabled([{**card, "sriov_max_vfs": most}], [], rails, "sriov")) for most in (16, 0))
    assert "at boot" in offered.cause and "sriov_numvfs" in offered.fix and off.cause is None
    no_room = [{"event": "no_room_for_functions", "device": "0000:4f:00.0"}]
    (found,) = system.sriov_enabled([card], [], rails, "sriov", no_room)
    assert "MMIO" in found.cause and "BIOS" in found.fix


def test_virtual_functions_of_a_nic_that_is_not_found_are_unknown():
    assert [one[1] for one in summary(system.sriov_enabled([], LINKS, RAILS, "sriov"))] == ["unknown"]
    assert summary(system.sriov_enabled([pci("0000:40:00.0", "0x020000", sriov_vfs=8)], [], [{**RAILS[0], "pci": "0000:40:00.0"}], "sriov")) == []
    with pytest.raises(CannotTell):
        list(system.sriov_enabled([], LINKS, [], "sriov"))
    with pytest.raises(NotApplicable, match="pod_virtualization is none"):
        list(system.sriov_enabled([], LINKS, RAILS, "none"))


def bridge(*enabled, supported=True):
    return {"pci": BRIDGE, "enabled": list(enabled), "supported": supported}


def test_acs_is_off_on_bare_metal():
    assert summary(system.acs_as_expected([bridge(), bridge(supported=False)], "none", [])) == []
    assert summary(system.acs_as_expected([bridge("SrcValid")], "container", [])) == []
    assert summary(system.acs_as_expected([], "none", [])) == [("PCIe bridges: expected their ACS control, got lspci shows no bridge", "unknown")]
    assert summary(system.acs_as_expected([bridge("SrcValid", "ReqRedir", "CmpltRedir")], "none", [])) == [
        ("0000:17:00.0: expected no ACS redirection, got CmpltRedir, ReqRedir", None)
    ]


def test_acs_is_judged_on_the_way_to_gpus_and_rails_only():
    rails = [{"device": "mlx5_0", "netdev": "ens1np0", "pci": "0000:18:00.0"}]
    gpus = [{"pci": "0000:2a:00.0", "class": "0x030200", "vendor": "0x10de"}]

    def judged(first, last, own=tuple(rails), devices=tuple(gpus)):
        row = {**bridge("ReqRedir"), "first_bus": first, "last_bus": last}
        return [str(one) for one in system.acs_as_expected([row], "none", own, None, None, devices)]

    found = ["0000:17:00.0: expected no ACS redirection, got ReqRedir"]
    assert judged("18", "1f") == judged("20", "2f") == found
    assert judged("01", "02") == [], "a management controller's"
    assert judged("01", "02", devices=None) == judged("01", "02", own=[]) == judged(None, None) == found, "what is not known may be on the way"


def test_acs_is_on_for_virtual_machines():
    assert summary(system.acs_as_expected([bridge("ReqRedir"), bridge(supported=False)], "passthrough", [])) == []
    for rows in ([], [bridge()], [bridge(supported=False)]):
        assert summary(system.acs_as_expected(rows, "passthrough", [])) == [("ACS: expected on, for virtual machines, got off on every bridge", None)]


def test_translated_traffic_goes_straight_with_sriov():
    rails = [{"device": "mlx5_0", "netdev": "ens1np0", "pci": "0000:18:00.0"}]

    def judged(bridges, *cards):
        return summary(system.acs_as_expected(bridges, "sriov", rails, [{"device": "mlx5_0", "ats_enabled": on, "ats_supported": able} for on, able in cards]))

    on = [bridge("ReqRedir", "DirectTrans"), bridge()]
    assert judged(on, (True, True)) == []
    assert judged([bridge("ReqRedir")], (True, True)) == [("0000:17:00.0: expected direct translated peer-to-peer (DirectTrans) on, got off", None)]
    wanted = "mlx5_0: expected address translation services (ATS) on, got"
    assert judged(on, (False, True)) == [(f"{wanted} off", None)]
    assert judged(on, (False, False)) == [(f"{wanted} not supported", None)]
    assert judged(on) == [(f"{wanted} not reported", "unknown")]


CORE, DMABUF = "ib_register_peer_memory_client", "ib_umem_dmabuf_get"
LOADED = [{"module": "nvidia_peermem", "size_bytes": 16384, "used_count": 0, "used_by": []}]
AT_BOOT = [{"file": "/etc/modules-load.d/gpu.conf", "module": "nvidia-peermem"}]
LISTED = {"directory": "/sys/kernel/mm/memory_peers", "peer": None}
PEERS = [LISTED, {**LISTED, "peer": "nv_mem"}]


def gpudirect(wanted="either", loaded=tuple(LOADED), symbols=(CORE,), flavour="closed", at_boot=tuple(AT_BOOT), peers=tuple(PEERS), vendor="nvidia"):
    rows = [{"symbol": symbol, "module": None} for symbol in symbols]
    driver = [{"driver": vendor, "version": "550.90.07", "flavour": flavour}] if flavour else []
    return summary(system.gpudirect_available(loaded, rows, driver, at_boot, wanted, vendor, peers))


def test_a_module_that_the_kernel_refuses_is_another_cause_than_one_that_is_not_loaded():
    text = "nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client"
    log = [{"time": None, "event": "module_refused", "device": "nvidia_peermem", "code": None, "text": text}]
    rows = [{"symbol": CORE, "module": None}]
    driver = [{"driver": "nvidia", "version": "550.90.07", "flavour": "closed"}]

    def found(loaded, lines):
        return list(system.gpudirect_available(loaded, rows, driver, AT_BOOT, "peermem", "nvidia", PEERS if loaded else [], lines))

    (refused,) = found([], log)
    assert text in refused.actual and "refuses it" in refused.cause and "dkms" in refused.fix
    (missing,) = found([], [])
    assert missing.cause is None and "is not loaded" in missing.actual
    # Not every kernel says which module it was.
    for device in ("nvidia_peermem", None):
        (unsigned,) = found([], [{**log[0], "event": "module_unsigned", "device": device, "text": "Loading of unsigned module is rejected"}])
        assert "unsigned module" in unsigned.actual and "Secure Boot" in unsigned.cause and "mokutil" in unsigned.fix
    (other,) = found([], [{**log[0], "event": "module_unsigned", "device": "zfs"}])
    assert other.cause is None, "another module is none of it"
    assert found(LOADED, log) == [], "it was loaded since"


def test_gpudirect_by_either_way():
    assert gpudirect() == []
    assert gpudirect("peermem") == []
    # The open driver with DMA-BUF needs no module, loaded or at boot.
    assert gpudirect(loaded=[], symbols=[DMABUF], flavour="open", at_boot=[], peers=[]) == []
    assert gpudirect("dmabuf", loaded=[], symbols=[DMABUF], flavour="open", at_boot=[], peers=None) == []


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ({"loaded": []}, "nvidia_peermem is not loaded; the closed GPU driver has no DMA-BUF"),
        (
            {"loaded": [], "symbols": [], "flavour": "open"},
            "nvidia_peermem is not loaded, and cannot be: ib_core has no peer memory (inbox RDMA); ib_core has no DMA-BUF",
        ),
        ({"peers": [LISTED]}, "nvidia_peermem is loaded and not registered with ib_core; the closed GPU driver has no DMA-BUF"),
        ({"peers": [LISTED, {**LISTED, "peer": "amdkfd"}]}, "nvidia_peermem is loaded and not registered with ib_core; the closed GPU driver has no DMA-BUF"),
        ({"symbols": [], "flavour": None}, "nvidia_peermem is loaded, and ib_core has no peer memory for it; no GPU driver"),
    ],
)
def test_gpudirect_says_what_is_missing(case, words):
    assert gpudirect(**case) == [(f"GPUDirect: expected peer memory or DMA-BUF, got {words}", None)]


def test_a_module_that_lost_its_registration_is_loaded_again():
    rows = [{"symbol": CORE, "module": None}]
    driver = [{"driver": "nvidia", "version": "550.90.07", "flavour": "closed"}]
    (found,) = system.gpudirect_available(LOADED, rows, driver, AT_BOOT, "peermem", "nvidia", [LISTED])
    assert "restarted" in found.cause and "nvidia_peermem again" in found.fix


def test_a_kernel_that_lists_no_clients_shows_by_the_loaded_module_that_it_is_registered():
    """nvidia_peermem does not stay loaded where ib_core refuses it as a client; amdgpu is loaded in any case."""
    assert gpudirect(peers=[]) == gpudirect("peermem", peers=[]) == []
    unknown = [
        ("GPUDirect: expected peer memory or DMA-BUF, got clients of ib_core's peer memory: not reported; the closed GPU driver has no DMA-BUF", "unknown")
    ]
    assert gpudirect(peers=None) == unknown
    amdgpu = [{"module": "amdgpu", "size_bytes": 1, "used_count": 0, "used_by": []}]
    assert gpudirect("peermem", vendor="amd", loaded=amdgpu, peers=[]) == [
        ("GPUDirect: expected peer memory, got clients of ib_core's peer memory: not reported", "unknown")
    ]


def test_gpudirect_of_one_way_is_not_served_by_the_other():
    assert gpudirect("peermem", loaded=[], symbols=[CORE, DMABUF], flavour="open") == [
        ("GPUDirect: expected peer memory, got nvidia_peermem is not loaded", None)
    ]
    assert gpudirect("dmabuf", symbols=[CORE, DMABUF]) == [("GPUDirect: expected DMA-BUF, got the closed GPU driver has no DMA-BUF", None)]


def test_a_module_that_the_next_boot_forgets_is_warned_about():
    assert gpudirect(at_boot=[]) == [("nvidia_peermem: expected loaded at boot (modules-load.d), got loaded now, and not at the next boot", "warn")]


def test_gpudirect_of_amd_and_of_a_pod_without():
    amdgpu = [{"module": "amdgpu", "size_bytes": 1, "used_count": 0, "used_by": []}]
    assert gpudirect(vendor="amd", loaded=amdgpu, flavour="open", symbols=[DMABUF], peers=[], at_boot=[]) == []
    with pytest.raises(NotApplicable):
        gpudirect("none")


def unit(name, memlock="infinity", load="loaded", *aliases):
    return {"unit": name, "names": [name, *aliases], "load_state": load, "active_state": "active", "memlock": memlock}


def test_locked_memory_of_job_services():
    services = ["slurmd.service", "containerd.service"]
    assert summary(system.job_limits([unit(services[0]), unit(services[1], None, "not-found"), unit("docker.service", "65536")], services)) == []
    absent = unit(services[1], None, "not-found")
    assert summary(system.job_limits([unit(services[0], "18446744073709551615"), absent], services)) == []
    assert summary(system.job_limits([unit(services[0], "8388608"), absent], services)) == [
        ("slurmd.service: expected LimitMEMLOCK infinity, got 8388608", None)
    ]
    assert summary(system.job_limits([unit(services[0], None), absent], services)) == [
        ("slurmd.service: expected LimitMEMLOCK infinity, got not reported", "unknown")
    ]
    with pytest.raises(CannotTell, match=r"none of slurmd\.service, containerd\.service is on this host"):
        list(system.job_limits([unit(name, None, "not-found") for name in services], services))
    aliased = [unit("pbs.service", "65536", "loaded", "pbs_mom.service")]
    assert summary(system.job_limits(aliased, ["pbs_mom.service"])) == [("pbs_mom.service: expected LimitMEMLOCK infinity, got 65536", None)]
    unasked = system.job_limits([unit(services[0]), unit(services[1])], [*services, "pbs_mom.service"])
    assert summary(unasked) == [("pbs_mom.service: expected LimitMEMLOCK infinity, got this unit is not read", "unknown")]


def test_numa_balancing():
    assert summary(system.numa_balancing_off([{"name": "kernel.numa_balancing", "value": "0"}])) == []
    assert summary(system.numa_balancing_off([{"name": "kernel.numa_balancing", "value": "1"}])) == [("kernel.numa_balancing: expected 0, got 1", None)]
    with pytest.raises(NotApplicable):
        list(system.numa_balancing_off([]))


def test_the_screen_of_a_management_controller_is_no_gpu():
    """Older kernels translate what stands behind its PCI bridge, whatever the others do."""
    screen = pci("0000:03:00.0", "0x030000", vendor="0x1a03")
    groups = [{"group": number, "type": kind} for number, kind in enumerate(("identity", "identity", "DMA"))]
    members = [{"group": number, "pci": device} for number, device in enumerate((GPU, NIC, "0000:03:00.0"))]
    assert summary(system.iommu_as_expected(groups, members, [*CARDS, screen], "none")) == []
    card = pci("0000:03:00.0", "0x030000", vendor="0x10de")
    assert [str(one.where) for one in system.iommu_as_expected(groups, members, [*CARDS, card], "none")] == ["0000:03:00.0"]
