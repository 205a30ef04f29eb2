# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from the programs of a host and the answers of a switch: which checks of which layers lack what."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import installed
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight.containers import IN_CONTAINERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.prerequisites.lacks import (
    LAUNCHERS,
    LOAD_TOOLS,
    Lack,
    host_lacks,
    switch_lacks,
    switch_readings,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.prerequisites.tools import tools
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue

RUNTIMES = IN_CONTAINERS[1]
ROCE = {**DEFAULTS, "pod_fabric": "roce", "pod_rails": [{"device": "mlx5_0"}]}
INFINIBAND = {**ROCE, "pod_fabric": "infiniband"}
OF_READINGS = {source.tool for what in catalogue().values() if not what.load for source in what.platforms.get("linux", ())}


def rows(
    lacking: t.Collection[str] = (), uid: str = "0", torch: bool = True, drivers: t.Sequence[str] = (), functions: t.Sequence[str] = ()
) -> list[dict[str, t.Any]]:  # fmt: skip
    """The rows of a host that has all programs but some; functions: vendor and device of its RDMA devices in turn."""
    found = [{"kind": "program", "name": name, "found": None if name in lacking else f"/usr/bin/{name}"} for name in installed.PROGRAMS]
    found += [{"kind": "torch", "name": "python3", "found": "/torch/__init__.py" if torch else None}, {"kind": "user", "name": "uid", "found": uid}]
    found += [{"kind": "function", "name": f"rdma{number}", "found": ids} for number, ids in enumerate(functions)]
    return [*found, *({"kind": "driver", "name": f"rdma{number}", "found": driver} for number, driver in enumerate(drivers))]


def the_one(lacks: list[Lack]) -> Lack:
    (lack,) = lacks
    return lack


def test_the_program_looks_for_all_that_readings_and_loads_start_and_for_nothing_else() -> None:
    loads = {name for names in LOAD_TOOLS.values() for name in names} - {"torch"}
    assert set(installed.PROGRAMS) == OF_READINGS | loads | set(LAUNCHERS) | set(RUNTIMES)
    assert set(tools()) == {*installed.PROGRAMS, "torch"}
    assert [name for name, tool in tools().items() if not tool.packages] == []


@pytest.mark.parametrize("values", [ROCE, INFINIBAND])
def test_a_host_that_has_all_lacks_nothing(values: dict[str, t.Any]) -> None:
    assert host_lacks(values, rows()) == []


def test_a_missing_program_comes_with_its_package_and_the_checks_that_need_it() -> None:
    lack = the_one(host_lacks(ROCE, rows(["lsmod"])))
    assert (lack.what, lack.why) == ("lsmod", "Debian: kmod, RHEL: kmod")
    assert "gpudirect_available" in lack.required["preflight"]


def test_who_reads_a_fabric_needs_its_tools_for_all_nodes() -> None:
    lacking = rows(["iblinkinfo", "ibnetdiscover"])
    found = {lack.what: lack for lack in host_lacks(INFINIBAND, lacking, reads_fabric=True)}
    assert set(found) == {"iblinkinfo", "ibnetdiscover"} and "port_speed" in found["iblinkinfo"].required["links"]
    assert found["ibnetdiscover"].why == "Debian: infiniband-diags, RHEL: infiniband-diags"
    assert host_lacks(INFINIBAND, lacking) == host_lacks(ROCE, lacking, reads_fabric=True) == []


def test_of_two_programs_one_is_enough() -> None:
    assert host_lacks(ROCE, rows(["mlxconfig"])) == host_lacks(ROCE, rows(["mstconfig"])) == []
    lack = next(one for one in host_lacks(ROCE, rows(["mlxconfig", "mstconfig"])) if "mlxconfig" in one.what)
    assert "mstconfig: Debian: mstflint" in lack.why and "nic_settings" in lack.required["preflight"]


def test_what_the_driver_cannot_report_needs_no_program() -> None:
    lacks = host_lacks(ROCE, rows(["mlxconfig", "mstconfig"], drivers=["bnxt_en", "bnxt_en"]))
    assert not [check for one in lacks for names in (*one.required.values(), *one.other.values()) for check in names if check == "nic_settings"]


def test_virtual_functions_need_no_program_of_the_physical_one() -> None:
    lacking = ["mlxconfig", "mstconfig", "mlxlink", "mstlink"]
    needing = {
        (card, check)
        for card, ids in (("virtual", "0x15b3 0x101e"), ("whole", "0x15b3 0x1021"))
        for one in host_lacks(ROCE, rows(lacking, drivers=["mlx5_core"] * 2, functions=[ids] * 2))
        for names in (*one.required.values(), *one.other.values())
        for check in names
    }
    assert ("whole", "nic_settings") in needing and not [check for card, check in needing if card == "virtual" and check == "nic_settings"]


def test_a_driver_of_one_nic_excuses_no_other() -> None:
    lacks = host_lacks(ROCE, rows(["mlxconfig", "mstconfig"], drivers=["mlx5_core", "bnxt_en"]))
    assert [one.required["preflight"] for one in lacks if "mlxconfig" in one.what and "nic_settings" in one.required["preflight"]]


def test_loads_need_perftest_and_torch() -> None:
    lack = the_one(host_lacks(ROCE, rows(["ib_write_bw"])))
    assert set(lack.required) == {"congestion", "rdma"} and lack.why.startswith("Debian: perftest")
    lack = the_one(host_lacks(ROCE, rows(torch=False)))
    assert lack.what == "torch" and set(lack.required) == {"collectives", "training"}


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_what_runs_in_containers_needs_their_runtime_and_no_torch(runtime: str) -> None:
    values = {**ROCE, "pod_container_runtime": runtime, "pod_container_image": "a/b:1"}
    assert host_lacks(values, rows(torch=False)) == []
    lack = the_one(host_lacks(values, rows([runtime], torch=False)))
    assert lack.what == runtime and set(lack.required) == {"collectives", "training"}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_launcher_is_needed_where_the_pod_has_it(launcher: str) -> None:
    assert the_one(host_lacks({**ROCE, "pod_launcher": launcher}, rows([launcher]))).what == launcher
    assert host_lacks(ROCE, rows([launcher])) == []


def test_without_root_what_needs_it_is_named() -> None:
    lack = the_one(host_lacks(ROCE, rows(uid="1000")))
    assert lack.what == "root" and "nic_settings" in lack.required["preflight"] and "gpus_present" not in str(lack)


def test_readings_of_a_switch_take_no_port_and_what_it_refuses_is_named_with_its_checks() -> None:
    names = switch_readings(ROCE, "eos")
    assert {"interface_status", "bgp_summary"} <= set(names) and not any(one.foreach for name in names for one in catalogue()[name].platforms["eos"])
    assert switch_lacks(ROCE, {}) == []
    lack = the_one(switch_lacks(ROCE, {"bgp_summary": ("show ip bgp summary vrf all", "% Invalid input")}))
    assert (lack.what, lack.why) == ("show ip bgp summary vrf all", "% Invalid input") and "bgp_established" in lack.required["routing"]
    assert set(lack.required) <= set(LAYERS)
