# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers 1 and 2 judged on ibsim with a real subnet manager: a whole fabric passes, and each fault is found with its words and nothing beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.verdicts import Verdict
from ansible_collections.gpufabric.pyramid.tests.labs.infiniband import inventory
from ansible_collections.gpufabric.pyramid.tests.labs.infiniband.faults import FAULTS, ready
from ansible_collections.gpufabric.pyramid.tests.labs.infiniband.judge import Judge
from ansible_collections.gpufabric.pyramid.tests.labs.infiniband.lab import Lab, lacking
from ansible_collections.gpufabric.pyramid.tests.labs.infiniband.shape import Shape, healthy
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out

from .conftest import alike, more

pytestmark = pytest.mark.xdist_group("infiniband_lab")

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("links", "routing")
RACKS = ["rack_01", "rack_02", "rack_03", "rack_04"]
LEAVES = [f"leaf{number:02}" for number in range(1, 9)]
SPINES = [f"spine{number:02}" for number in range(1, 5)]
HOSTS = [f"gpu{number:02}" for number in range(1, 33)]
Found = set[tuple[str, str, str]]


def on(check: str, verdict: str, *nodes: str) -> Found:
    """One verdict of a check on each of some nodes."""
    return {(check, node, verdict) for node in nodes}


# Fault: by layer, exactly what is not well, sentences that say so, and whose gates are closed.
EXPECTED: dict[str, dict[str, tuple[Found, list[str], list[str]]]] = {
    "hca_lost": {
        "links": (
            on("ports_present", "fail", "gpu03") | on("port_speed", "fail", "gpu03", "leaf03") | on("ib_errors_clean", "unknown", "gpu03"),
            ["leaf03 3: expected connected at 200 Gb/s, got notconnect (Polling)", "gpu03 mlx5_2: expected a port (to leaf03 3), got no such port"],
            ["rack_01"],
        ),
        "routing": (
            on("topology_as_planned", "fail", "gpu03"),
            ["gpu03 mlx5_2: expected a link to leaf03 3, got none (7 of 8 links to switches)"],
            ["rack_01"],
        ),
    },
    "switch_link_lost": {
        "links": (on("port_speed", "fail", "leaf01", "spine01"), ["leaf01 33: expected connected at 200 Gb/s, got notconnect (Polling)"], RACKS),
        "routing": (
            on("topology_as_planned", "fail", "leaf01", "spine01") | on("tree_complete", "fail", "leaf01") | on("oversubscription", "warn", "leaf01"),
            ["leaf01 33: expected a link to spine01 1, got none", "leaf01 links to spine01: expected 8, as to other spines, got 7", "1.03:1"],
            RACKS,
        ),
    },
    "spine_dead": {
        "links": (
            on("answered", "unknown", "spine02")
            | on("cabling_as_planned", "unknown", *LEAVES)
            # Every fourth host was reached over the spine that is dead.
            | on("ib_errors_clean", "unknown", *HOSTS[1::4]),
            [
                "no switch of this name or GUID is in the fabric that gpu01 mlx5_0, gpu09 mlx5_0 sees",
                "gpu02 mlx5_1: expected no growth of errors on the link to leaf02 2, got no counters of this port",
            ],
            RACKS,
        ),
        "routing": (
            on("answered", "unknown", "spine02")
            | on("topology_as_planned", "fail", *LEAVES)
            | on("tree_complete", "fail", *LEAVES)
            | on("oversubscription", "warn", *LEAVES),
            ["leaf05 links to spine02: expected 8, as to other spines, got 0", "1.33:1 (32 host ports, 24 uplinks)"],
            RACKS,
        ),
    },
    "no_manager": {
        "links": (
            on("port_speed", "fail", *HOSTS, *LEAVES, *SPINES) | on("ib_errors_clean", "unknown", *HOSTS, *LEAVES, *SPINES),
            ["gpu01 mlx5_0: expected connected at 200 Gb/s, got init (LinkUp to leaf01 1, not set up by a subnet manager)"],
            RACKS,
        ),
        "routing": (
            on("subnet_manager_up", "fail", *LEAVES, *SPINES),
            ["spine01 subnet manager: expected one master, got no response"],
            RACKS,
        ),
    },
    "manager_died": {
        "links": (set(), [], []),
        "routing": (on("subnet_manager_up", "fail", *LEAVES, *SPINES), ["leaf01 subnet manager: expected one master, got no response"], RACKS),
    },
    "limited_member": {
        "links": (set(), [], []),
        "routing": (
            on("rails_in_partition", "fail", "gpu01"),
            ["gpu01 mlx5_2 partition key: expected 0xffff, got 0x7fff"],
            ["rack_01"],
        ),
    },
    "other_partition": {
        "links": (set(), [], []),
        "routing": (
            on("other_partitions_apart", "fail", "gpu09"),
            ["gpu09 mlx5_3 partition keys: expected none of another tenant, got 0x8005 is entry 1: a full member"],
            ["rack_02"],
        ),
    },
    "one_lane": {
        "links": (
            on("port_speed", "fail", "gpu03", "leaf01"),
            [
                "leaf01 3: expected connected at 200 Gb/s, got connected at 50 Gb/s (1X HDR to gpu03 mlx5_0)",
                "gpu03 mlx5_0: expected connected at 200 Gb/s, got connected at 50 Gb/s (1X HDR to leaf01 3)",
            ],
            ["rack_01"],
        ),
        "routing": (set(), [], []),
    },
    "fdr_link": {
        "links": (on("port_speed", "fail", "gpu05", "leaf05"), ["leaf05 5: expected connected at 200 Gb/s, got connected at 56 Gb/s (4X FDR"], ["rack_01"]),
        "routing": (set(), [], []),
    },
    "symbol_errors": {
        "links": (
            on("ib_errors_clean", "fail", "leaf02"),
            ["leaf02 10: expected no growth of errors on the link to gpu10 mlx5_1, got symbol_errors +4211"],
            ["rack_02"],
        ),
        "routing": (set(), [], []),
    },
    "counter_saturated": {
        "links": (on("ib_errors_clean", "unknown", "leaf05"), ["saturated counters, to be cleared: PortRcvErrors"], ["rack_01"]),
        "routing": (set(), [], []),
    },
    "counters_reset": {
        "links": (on("ib_errors_clean", "unknown", "leaf06"), ["leaf06 4: expected no growth", "counters were reset (symbol_errors)"], ["rack_01"]),
        "routing": (set(), [], []),
    },
    "cables_swapped": {
        "links": (
            on("cabling_as_planned", "fail", "leaf01", "gpu03", "gpu04"),
            ["leaf01 3: expected gpu03 mlx5_0, got gpu04 mlx5_0, planned on 4", "gpu04 mlx5_0: expected leaf01 4, got leaf01 3"],
            ["rack_01"],
        ),
        "routing": (
            on("topology_as_planned", "fail", "gpu03", "gpu04"),
            ["gpu03 mlx5_0: expected a link to leaf01 3, got one to leaf01 4"],
            ["rack_01"],
        ),
    },
    "wrong_rail": {
        "links": (
            on("cabling_as_planned", "fail", "leaf01", "leaf02", "gpu07"),
            ["leaf01 7: expected gpu07 mlx5_0, got gpu07 mlx5_1", "gpu07 mlx5_0: expected leaf01 7, got leaf02 7, planned on mlx5_1"],
            ["rack_01"],
        ),
        "routing": (
            on("topology_as_planned", "fail", "gpu07"),
            ["gpu07 mlx5_1: expected a link to leaf02 7, got one to leaf01 7"],
            ["rack_01"],
        ),
    },
    "uplink_removed": {
        "links": (on("port_speed", "fail", "leaf03", "spine01"), ["leaf03 40: expected connected at 200 Gb/s, got notconnect (Polling)"], RACKS),
        "routing": (
            on("topology_as_planned", "fail", "leaf03", "spine01") | on("tree_complete", "fail", "leaf03") | on("oversubscription", "warn", "leaf03"),
            ["leaf03 uplinks: expected at most 1:1, got 1.03:1 (32 host ports, 31 uplinks)"],
            RACKS,
        ),
    },
}
# Those of which another one ends with the same checks.
MORE = ("switch_link_lost", "cables_swapped", "limited_member", "manager_died", "symbol_errors", "spine_dead")
ALIKE = ("uplink_removed", "counters_reset", "fdr_link")
OFTEN = [name for name in EXPECTED if name not in MORE + ALIKE]
# What ibsim has no hardware for.
ELSEWHERE = {"adaptive_routing_on", "ib_bit_error_rate", "ib_module_temperature", "ib_modules", "fabric_diagnosed"}


def made(directory: Path, shape: Shape, **expectations: t.Any) -> Lab:
    """A lab that is not up yet, with its inventory."""
    words = lacking()
    if words is not None:
        leave_out(words)
    lab = Lab(directory, healthy(shape), f"p{os.getpid()}-{directory.name}")
    inventory.write(lab, **expectations)
    return lab


@pytest.fixture(scope="module")
def fabric(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Judge]:
    """32 hosts of 8 rails over 8 leaves and 4 spines, whole and not oversubscribed; a counter of an earlier day stands in it."""
    lab = made(tmp_path_factory.mktemp("fabric"), Shape())
    try:
        lab.up()
        lab.console('PerformanceSet "leaf06"[4] PortCounters.SymbolErrorCounter=7', "has been set to 7")
        yield Judge(lab)
    finally:
        lab.down()


def not_well(verdicts: list[Verdict]) -> Found:
    """Check, node and verdict of all that is neither a pass nor a skip."""
    return {(one.check, one.host or "", one.verdict) for one in verdicts if one.verdict not in ("pass", "skip")}


def printed(verdicts: list[Verdict]) -> str:
    """Every finding's sentence after its node, and the words of what was not told."""
    return "\n".join([f"{one.host} {finding}" for one in verdicts for finding in one.findings] + [one.words for one in verdicts])


def closed(gates: dict[str, str]) -> list[str]:
    """The groups whose gates are not open."""
    return [group for group, state in gates.items() if state != "open"]


def test_a_whole_fabric_passes(fabric: Judge) -> None:
    for layer in LAYERS:
        verdicts, gates = fabric.layer(layer)
        assert not not_well(verdicts) and not closed(gates), printed(verdicts)
        passed = {one.check for one in verdicts if one.verdict == "pass"}
        declared = {name for name, check in REGISTRY[layer].items() if check.fabric == "infiniband"}
        assert declared - ELSEWHERE <= passed
        assert {one.host for one in verdicts if one.check == "answered" and one.verdict == "pass"} == set(fabric.plan.nodes)


@pytest.mark.parametrize("name", [*OFTEN, *map(more, MORE), *map(alike, ALIKE)])
def test_a_fault_is_found_where_it_is(name: str, fabric: Judge) -> None:
    with ready(fabric.lab, name) as between:
        for layer, (wanted, sentences, groups) in EXPECTED[name].items():
            verdicts, gates = fabric.layer(layer, between if layer == "links" else None)
            assert not_well(verdicts) == wanted, printed(verdicts)
            assert closed(gates) == groups
            for sentence in sentences:
                assert sentence in printed(verdicts)


def test_every_fault_and_every_check_is_there() -> None:
    assert set(EXPECTED) == set(FAULTS)
    tripped = {check for fault in EXPECTED.values() for found, _sentences, _groups in fault.values() for check, _node, _verdict in found}
    declared = {name for layer in LAYERS for name, check in REGISTRY[layer].items() if check.fabric == "infiniband"}
    assert declared - ELSEWHERE <= tripped


def test_a_reader_without_its_tools_closes_every_gate_and_another_opens_them(fabric: Judge) -> None:
    tool = fabric.lab.directory / "hosts" / "gpu01" / "iblinkinfo"
    tool.rename(tool.with_name("away"))
    tool.write_text("#!/bin/sh\necho 'ibwarn: mad_rpc_open_port: cannot open' >&2\nexit 1\n")
    tool.chmod(0o755)
    try:
        verdicts, gates = fabric.layer("links")
        assert not not_well(verdicts) and not closed(gates), "gpu09 tells the same fabric"
        now, before = fabric.envelopes("links", "now"), fabric.envelopes("links", "before")
        for one in (now, before):
            del one["gpu09"]["readings"]["fabric_links"]
        verdicts, gates = fabric.judged("links", now, before)
        assert not_well(verdicts) >= on("answered", "unknown", *LEAVES, *SPINES) and closed(gates) == RACKS
        assert "gpu01 mlx5_0: mlx5_0: iblinkinfo exited with status 1: ibwarn: mad_rpc_open_port: cannot open" in printed(verdicts)
    finally:
        tool.unlink()
        tool.with_name("away").rename(tool)


def climb(lab: Lab, layer: str) -> tuple[int, str, dict[str, t.Any]]:
    """Exit status, output and report of a real climb of one layer."""
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/validate.yml", "-i", str(lab.directory / "inventory")]
    command += ["-e", json.dumps({"pod_only": layer})]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "ANSIBLE_NOCOLOR": "1"}, text=True, capture_output=True, timeout=300, check=False)
    report = lab.directory / "runs" / "infiniband_lab" / "latest" / "report.json"
    assert report.is_file(), done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr, json.loads(report.read_text())


def test_playbooks_climb_a_fabric_that_nobody_logs_in_to(tmp_path: Path) -> None:
    """Real Ansible on a small fabric: hosts are asked by their own Python, switches by nobody."""
    lab = made(tmp_path / "small", Shape(hosts=4, rails=2, spines=2, unit=4))
    try:
        lab.up()
        rc, output, report = climb(lab, "links")
        assert (rc, report["verdict"]) == (0, "no_fault_seen"), output
        assert {one["host"] for one in report["verdicts"] if one["check"] == "port_speed" and one["verdict"] == "pass"} == {
            "gpu01", "gpu02", "gpu03", "gpu04", "leaf01", "leaf02", "spine01", "spine02"
        }  # fmt: skip
        lab.stop_manager()
        rc, output, report = climb(lab, "routing")
        assert (rc, report["verdict"]) == (2, "no_go"), output
        found = {(one["check"], finding["actual"]) for one in report["verdicts"] for finding in one["findings"]}
        assert found == {("subnet_manager_up", "no response")}
    finally:
        lab.down()


@pytest.mark.exhaustive
def test_names_that_nobody_set_are_reported_by_guids(tmp_path: Path) -> None:
    """Adapters are told by what hosts say of their GUIDs, switches by pod_node_guid."""
    shape = Shape(hosts=2, rails=2, spines=1, unit=2)
    lab = made(tmp_path / "unnamed", shape, pod_fabric_reader=["gpu01", "gpu02"])
    try:
        lab.up()
        judge = Judge(lab)
        now, before = judge.envelopes("links", "now"), judge.envelopes("links", "before")
        for rows in (envelope["readings"][name]["rows"] for one in (now, before) for envelope in (one["gpu01"], one["gpu02"]) for name in ("fabric_links",)):
            for row in rows:
                row.update({"node": "MT4129 ConnectX7", "peer": row["peer"] and "Quantum Mellanox Technologies"})
        verdicts, _gates = judge.judged("links", now, before)
        assert not_well(verdicts) >= on("answered", "unknown", "leaf01", "leaf02", "spine01")
        guids = {row["peer"]: row["peer_guid"] for row in judge.envelopes("links", "now")["gpu01"]["readings"]["fabric_links"]["rows"] if row["peer"]}
        for name in ("leaf01", "leaf02", "spine01"):
            judge.plan.nodes[name].values["pod_node_guid"] = guids[name]
        verdicts, gates = judge.judged("links", now, before)
        assert not not_well(verdicts) and not closed(gates), printed(verdicts)
    finally:
        lab.down()


@pytest.mark.exhaustive
@pytest.mark.long
def test_256_hosts_are_read_and_judged(tmp_path: Path) -> None:
    """2048 adapters over 32 leaves and 16 spines, without a manager, which takes longer than all else: so every port is a finding."""
    lab = made(tmp_path / "large", Shape(hosts=256, rails=8, spines=16, unit=64))
    try:
        lab.up(with_manager=False)
        judge = Judge(lab)
        for layer in LAYERS:
            now, before = judge.envelopes(layer, "now"), judge.envelopes(layer, "before")
            verdicts, gates = judge.judged(layer, now, before)
            assert len(closed(gates)) == 32
        found = {one.host: len(one.findings) for one in verdicts if one.check == "subnet_manager_up"}
        assert len(found) == 48 and set(found.values()) == {1}
    finally:
        lab.down()
