# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real fabric that OSPF routes (zebra and ospfd), judged over ssh: whole, and with faults of an adjacency."""

from __future__ import annotations

import contextlib
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.labs.frr import life
from ansible_collections.gpufabric.pyramid.tests.labs.frr.lab import Lab
from ansible_collections.gpufabric.pyramid.tests.labs.frr.shape import Shape
from ansible_collections.gpufabric.pyramid.tests.labs.judged import Judged, climbed
from ansible_collections.gpufabric.pyramid.tests.labs.standing import poll
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out

pytestmark = [pytest.mark.xdist_group("frr_lab_ospf"), pytest.mark.exhaustive]


@pytest.fixture(scope="module")
def fabric() -> t.Iterator[Lab]:
    """Two spines, three leaves and two hosts."""
    words = life.lacking()
    if words is not None:
        leave_out(words)
    name = f"o{os.getpid()}"
    lab = life.up(name, Shape.parse("2x3x2-ospf"), owner=os.getpid())
    try:
        lab.wait()
        yield lab
    finally:
        life.down(name)


def judge(lab: Lab, runs: Path) -> Judged:
    return climbed(lab.inventory, runs, pod_only="routing")


def at_uplink(lab: Lab, *lines: str) -> None:
    """Configure the port of leaf01 to spine02."""
    lab.vtysh("leaf01", "configure terminal", f"interface {lab.plan.between('leaf01', 'spine02')[0].name}", *lines)


@contextlib.contextmanager
def uplink_with(lab: Lab, setting: str, without: str, in_force: t.Callable[[], object], wrong: str) -> t.Iterator[None]:
    """The port of leaf01 to spine02 with a setting that is in force, and without it afterwards."""
    at_uplink(lab, setting)
    try:
        poll(20, lambda: None if in_force() else wrong, setting)
        yield
    finally:
        at_uplink(lab, without)
        lab.wait()


def test_a_whole_fabric_has_no_fault(fabric: Lab, tmp_path: Path) -> None:
    judged = judge(fabric, tmp_path)
    assert (judged.rc, judged.report["verdict"]) == (0, "no_fault_seen"), judged.output
    assert judged.not_well() == set()
    passed = {(one["check"], one["host"]) for one in judged.report["verdicts"] if one["verdict"] == "pass"}
    assert {("ospf_full", switch.name) for switch in fabric.plan.switches()} <= passed
    assert {(check, leaf) for check in ("ecmp_paths", "kernel_forwards") for leaf in fabric.plan.with_role("leaf")} <= passed
    assert not any(check == "bgp_established" for check, _host in passed)


def test_an_uplink_that_costs_more_is_a_path_less(fabric: Lab, tmp_path: Path) -> None:
    own, _far = fabric.plan.between("leaf01", "spine02")
    with uplink_with(fabric, "ip ospf cost 100", "no ip ospf cost", lambda: fabric.routes("leaf01"), "leaf01 spreads over both spines"):
        judged = judge(fabric, tmp_path)
    assert {(check, host) for check, host, _verdict in judged.not_well()} == {("ecmp_paths", "leaf01")}
    wanted, got = next(iter(judged.findings("ecmp_paths", "leaf01").values()))
    assert wanted.startswith("2 next hops to ") and got == f"1 next hop in the forwarding table, none over {own.name} (to spine02)"


def test_a_passive_port_has_no_neighbor(fabric: Lab, tmp_path: Path) -> None:
    own, far = fabric.plan.between("leaf01", "spine02")
    with uplink_with(fabric, "ip ospf passive", "no ip ospf passive", lambda: fabric.adjacencies("spine02"), "spine02 has all its neighbors"):
        judged = judge(fabric, tmp_path)
    found = {host: judged.findings("ospf_full", host) for host in ("leaf01", "spine02")}
    assert found["leaf01"] == {f"spine02 ({own.name})": ("an OSPF neighbor in Full", "no neighbor")}
    assert found["spine02"] == {f"leaf01 ({far.name})": ("an OSPF neighbor in Full", "no neighbor")}
    assert {host for check, host, _verdict in judged.not_well() if check == "ospf_full"} == {"leaf01", "spine02"}
