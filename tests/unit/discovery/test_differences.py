# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the pod differs from its plan: what was seen otherwise, what nobody told, and what is not planned."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.differences import Difference, Planned, differences_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.draft import draft_pod
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.planned import planned_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import PLACE

ROLES = {"gpu01": "host", "gpu02": "host", "leaf01": "leaf", "leaf02": "leaf"}
PLAN = """a_node,a_port,b_node,b_port,medium,length_m
gpu01,eth0,leaf01,Et1,,
gpu01,eth1,leaf02,Et1,,
gpu02,eth0,leaf01,Et2,,
gpu02,eth1,leaf02,Et2,,
"""
RAILS = {host: {"pod_rails": [{"netdev": f"eth{rail}", "address": f"10.0.{rail}.{host[-1]}/24"} for rail in (0, 1)]} for host in ("gpu01", "gpu02")}
AS = {"leaf01": {"bgp_asn": 65101}, "leaf02": {"bgp_asn": "65102"}}


def switch(asn: int, **ports: str) -> dict[str, list[dict[str, object]]]:
    heard = [{"port": f"Ethernet{port[2:]}", "neighbor": end.split(":")[0], "neighbor_port": end.split(":")[1]} for port, end in ports.items()]
    return {"lldp_neighbors": heard, "bgp_summary": [{"local_asn": asn}]}


def host(name: str, **addresses: str) -> dict[str, list[dict[str, object]]]:
    given = {"eth0": f"10.0.0.{name[-1]}", "eth1": f"10.0.1.{name[-1]}", **addresses}
    return {"ip_address": [{"netdev": netdev, "family": "inet", "address": address, "prefix_length": 24} for netdev, address in given.items()]}


AS_PLANNED = {
    "gpu01": host("gpu01"), "gpu02": host("gpu02"),
    "leaf01": switch(65101, Et1="gpu01:eth0", Et2="gpu02:eth0"), "leaf02": switch(65102, Et1="gpu01:eth1", Et2="gpu02:eth1"),
}  # fmt: skip


def differing(tmp_path: Path, **nodes: dict[str, list[dict[str, object]]] | None) -> list[Difference]:
    (tmp_path / PLACE).parent.mkdir(exist_ok=True)
    (tmp_path / PLACE).write_text(PLAN)
    planned, wrong = planned_of(tmp_path, ROLES, {**RAILS, **AS})
    assert planned is not None and not wrong
    readings = {name: own for name, own in {**AS_PLANNED, **nodes}.items() if own is not None}
    return differences_of(planned, draft_pod(ROLES, readings, "roce").heard, readings, ROLES)


def test_a_pod_as_planned_has_none(tmp_path: Path) -> None:
    assert differing(tmp_path) == []


def test_swapped_cables_are_two_at_both_ends(tmp_path: Path) -> None:
    found = differing(tmp_path, leaf01=switch(65101, Et1="gpu02:eth0", Et2="gpu01:eth0"))
    assert [tuple(one) for one in found] == [
        ("gpu01:eth0", "leaf01:Ethernet1", "leaf01:Ethernet2", True), ("gpu02:eth0", "leaf01:Ethernet2", "leaf01:Ethernet1", True),
        ("leaf01:Ethernet1", "gpu01:eth0", "gpu02:eth0", True), ("leaf01:Ethernet2", "gpu02:eth0", "gpu01:eth0", True),
    ]  # fmt: skip


def test_a_cable_that_is_pulled_or_a_node_that_is_silent_is_not_called_another_cable(tmp_path: Path) -> None:
    wanted = [("gpu02:eth0", "leaf01:Ethernet2", "neither end reports a neighbor", False)]
    assert [tuple(one) for one in differing(tmp_path, leaf01=switch(65101, Et1="gpu01:eth0"))] == wanted
    found = differing(tmp_path, leaf01=None)
    assert [(one.where, one.seen) for one in found] == [("gpu01:eth0", False), ("gpu02:eth0", False), ("leaf01", False)]


def test_a_cable_that_nobody_planned_is_said_once(tmp_path: Path) -> None:
    found = differing(tmp_path, leaf01=switch(65101, Et1="gpu01:eth0", Et2="gpu02:eth0", Et9="leaf02:Et9"))
    assert [tuple(one) for one in found] == [("leaf01:Ethernet9", "no cable", "leaf02:Ethernet9", True)]


def test_addresses_and_as_numbers(tmp_path: Path) -> None:
    found = differing(tmp_path, gpu01=host("gpu01", eth0="10.0.0.9"), leaf02=switch(65999, Et1="gpu01:eth1", Et2="gpu02:eth1"))
    assert [tuple(one) for one in found] == [("gpu01:eth0", "10.0.0.1/24", "10.0.0.9/24", True), ("leaf02", "AS 65102", "AS 65999", True)]


@pytest.mark.parametrize("text", [None, PLAN.replace("leaf02,Et2", "leaf09,Et2")])
def test_an_inventory_without_a_plan_is_not_compared_and_a_wrong_one_is_named(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / PLACE).parent.mkdir()
        (tmp_path / PLACE).write_text(text)
    planned, wrong = planned_of(tmp_path, ROLES, {})
    assert (planned is None, len(wrong)) == ((True, 0) if text is None else (False, 1))
    assert text is None or (planned is not None and planned == Planned(planned.cables) and "leaf09" in wrong[0])
