# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""discover.yml on simulated and real fabrics: the draft is the pod's own plan, is accepted, and a second run changes nothing."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import PLACE
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.names import port_name
from ansible_collections.gpufabric.pyramid.tests.labs.frr import life, neighbors
from ansible_collections.gpufabric.pyramid.tests.labs.frr.shape import Shape as FrrShape
from ansible_collections.gpufabric.pyramid.tests.labs.infiniband import inventory
from ansible_collections.gpufabric.pyramid.tests.labs.infiniband.lab import Lab, lacking
from ansible_collections.gpufabric.pyramid.tests.labs.infiniband.shape import Shape, healthy
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import plan_of

from .conftest import ROOT, alike

Cables = set[frozenset[tuple[str, str]]]


def discover(source: Path, into: Path, *arguments: str) -> tuple[str, bool]:
    """The output of discover.yml, and whether it changed the draft."""
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/discover.yml", "-i", str(source), "-e", f"discover_into={into}", *arguments]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "ANSIBLE_NOCOLOR": "1"}, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr, bool(re.search(r"changed=[1-9]", done.stdout))


def cables(path: Path) -> Cables:
    """The cables of a plan, whichever end is first and however a port is spelt."""
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    return {frozenset(((row["a_node"], port_name(row["a_port"])), (row["b_node"], port_name(row["b_port"])))) for row in rows}


def sessions(path: Path) -> dict[tuple[str, str], str]:
    """The address of each end of a cable between switches that has one; hosts, whose names begin with gpu, have no session."""
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    rows = [row for row in rows if not row["a_node"].startswith("gpu") and not row["b_node"].startswith("gpu")]
    return {(row[f"{end}_node"], port_name(row[f"{end}_port"])): row[f"{end}_address"] for row in rows for end in "ab" if row.get(f"{end}_address")}


@pytest.mark.exhaustive
@pytest.mark.parametrize("fabric", ["roce", "infiniband"])
def test_a_simulated_pod_is_drafted_as_it_was_built(fabric: str, tmp_path: Path) -> None:
    readers = {"pod_fabric_reader": ["gpu01", "gpu05"]} if fabric == "infiniband" else {}
    source, into = tmp_path / "source", tmp_path / "draft"
    layout.write(source, racks=2, hosts_per_rack=4, spines=4, fabric=fabric, expectations={"pod_name": "small", **readers})
    built = plan_of(source)
    planned = cables(source / PLACE)

    _output, changed = discover(source, into)

    assert changed and planned and cables(into / PLACE) == planned
    assert sessions(into / PLACE) == sessions(source / PLACE) and bool(sessions(into / PLACE)) is (fabric == "roce")
    drafted = plan_of(into)
    for name, node in built.nodes.items():
        keys = ("device", "netdev", "pci", "gpu", "leaf", "address")
        wanted, found = ([{key: rail.get(key) for key in keys} for rail in one.values["pod_rails"]] for one in (node, drafted.nodes[name]))
        assert found == wanted
        assert (drafted.nodes[name].asn, drafted.nodes[name].role) == (node.asn, node.role)
        same = ("pod_fabric", "pod_topology", "pod_gate_groups", "pod_link_gbit_s")
        assert [drafted.nodes[name].values[key] for key in same] == [node.values[key] for key in same]
    before = {path: path.read_text() for path in into.rglob("*") if path.is_file()}
    _output, changed = discover(source, into)
    assert not changed and {path: path.read_text() for path in before} == before


@pytest.mark.exhaustive
def test_check_mode_shows_and_writes_nothing(tmp_path: Path) -> None:
    source = layout.write(tmp_path / "source", racks=1, hosts_per_rack=2, spines=2, expectations={"pod_name": "small"})
    output, changed = discover(source, tmp_path / "draft", "--check", "--diff")
    assert changed and not (tmp_path / "draft").exists() and "+gpu01,enp24s0np0,leaf01,Ethernet1/1," in output


@pytest.mark.exhaustive
def test_a_node_that_is_not_reached_is_named_once_with_its_error(tmp_path: Path) -> None:
    source = layout.write(tmp_path / "source", racks=1, hosts_per_rack=4, spines=2, expectations={"pod_name": "small"})
    output, _changed = discover(source, tmp_path / "draft", "-e", "simulated_faults=host_unreachable,leaf_unreachable")
    errors = {"gpu03": "ssh: connect to host gpu03 port 22: No route to host", "leaf03": "Connection timed out"}
    for node, error in errors.items():
        lines = [line for line in output.splitlines() if error in line]
        assert lines == [f"not reported: {node}: did not answer: Failed to connect to the host via ssh: {error}"], output
    assert "UNREACHABLE" not in output and "unreachable=1" not in output and "nothing changed, failed or was unreachable" not in output


def reached(source: Path) -> list[str]:
    """What a draft needs besides to reach simulated nodes: where they are simulated."""
    return ["-e", f"simulated_inventory={source}"]


@pytest.mark.exhaustive
def test_a_draft_with_its_proposals_accepted_is_validated_to_a_go(tmp_path: Path) -> None:
    source, into = tmp_path / "source", tmp_path / "draft"
    layout.write(source, racks=2, hosts_per_rack=4, spines=2, expectations={"pod_name": "small"})
    output, _changed = discover(source, into)
    assert "proposed, not adopted: pod_link_gbit_s: 400" in output and "\npod_link_gbit_s" not in (into / "group_vars" / "all" / "pod.yml").read_text()
    discover(source, into, "-e", "discover_accept=all", "-e", "pod_name=small")
    steering = ["-e", "pod_to_layer=routing", "-e", "pod_soak_seconds=1", "-e", f"pod_runs_dir={tmp_path / 'runs'}"]
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/validate.yml", "-i", str(into), *reached(source), *steering]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "ANSIBLE_NOCOLOR": "1"}, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0 and re.search(r"^GO\b", done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert not [line for line in done.stdout.splitlines() if line.startswith(("Warnings:", "FAIL", "UNKNOWN"))], done.stdout


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("fault", "places"),
    [
        alike("cables_swapped", ["gpu03:enp79s0np0", "gpu04:enp79s0np0"]),
        ("rails_miscabled", ["gpu03:enp79s0np0", "gpu03:enp94s0np0"]),
        alike("address_wrong", ["gpu03:enp79s0np0"]),
    ],
)
def test_what_breaks_the_pattern_is_not_adopted(fault: str, places: list[str], tmp_path: Path) -> None:
    source, into = tmp_path / "source", tmp_path / "draft"
    layout.write(source, racks=2, hosts_per_rack=4, spines=2, expectations={"pod_name": "small"})
    output, _changed = discover(source, into, "-e", "discover_accept=all", "-e", f"simulated_faults={fault}")
    assert re.findall(r"^out of the plan: (\S+):", output, re.MULTILINE) == places, output
    text = (into / "group_vars" / "all" / "pod.yml").read_text()
    assert all(f"if it is meant so, -e discover_accept={place}" in text for place in places)


@pytest.mark.exhaustive
def test_a_pod_is_held_to_its_plan_later_on(tmp_path: Path) -> None:
    """The plan that stands in a spreadsheet becomes an inventory's, and discovery says where the pod is otherwise, and writes nothing."""
    source, sheet = tmp_path / "source", tmp_path / "cabling.csv"
    layout.write(source, racks=2, hosts_per_rack=4, spines=2, expectations={"pod_name": "small"})
    plan = source / PLACE
    sheet.write_text(plan.read_text().replace("a_node,a_port,b_node,b_port", "Device A,Port A,Device B,Port B"), encoding="utf-8")
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/import_plan.yml", "-e", "import_from=spreadsheet"]
    command += ["-e", f"import_path={sheet}", "-e", f"import_into={tmp_path / 'imported'}"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "ANSIBLE_NOCOLOR": "1"}, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0 and cables(tmp_path / "imported" / PLACE) == cables(plan), done.stdout + done.stderr
    shutil.copy(tmp_path / "imported" / PLACE, plan)

    output, _changed = discover(source, tmp_path / "draft", "--check", "-e", "discover_strict=true")
    assert "as planned in " in output and not (tmp_path / "draft").exists(), output
    output, _changed = discover(source, tmp_path / "draft", "--check", "-e", "simulated_faults=cables_swapped,address_wrong")
    told = set(re.findall(r"^differs from the plan: (\S+): planned", output, re.MULTILINE))
    assert {"gpu03:enp79s0np0", "gpu04:enp79s0np0"} <= told and not (tmp_path / "draft").exists(), output


@pytest.mark.exhaustive
def test_a_fabric_of_ibsim_is_drafted_by_real_tools(tmp_path: Path) -> None:
    words = lacking()
    if words is not None:
        leave_out(words)
    lab = Lab(tmp_path / "lab", healthy(Shape(hosts=4, rails=2, spines=2, unit=4)), f"d{os.getpid()}")
    inventory.write(lab)
    source = lab.directory / "inventory"
    planned = cables(source / PLACE)
    try:
        lab.up()
        _output, changed = discover(source, tmp_path / "draft")
        assert changed and planned and cables(tmp_path / "draft" / PLACE) == planned
        _output, changed = discover(source, tmp_path / "draft")
        assert not changed
        lab.console('Unlink "gpu03 mlx5_1"')
        _output, changed = discover(source, tmp_path / "draft")
        left = cables(tmp_path / "draft" / PLACE)
        assert changed and planned - left == {frozenset({("gpu03", "mlx5_1"), ("leaf02", "3")})} and left < planned
    finally:
        lab.down()


@pytest.mark.exhaustive
def test_real_lldpd_and_real_arp_tables_tell_the_same_cables(tmp_path: Path) -> None:
    """Routers of FRR that speak LLDP: first with hosts that do, then with hosts that are only found behind their addresses."""
    words = life.lacking() or (None if shutil.which("lldpd") else "needs Debian's lldpd")
    if words is not None:
        leave_out(words)
    name = f"d{os.getpid()}"
    for speakers in ("all", "switches"):
        lab = life.up(f"{name}{speakers[0]}", FrrShape.parse("2x2x4"), owner=os.getpid())
        try:
            lab.wait()
            hosts = lab.plan.with_role("host")
            switches = [*lab.plan.with_role("leaf"), *lab.plan.with_role("spine")]
            neighbors.speak(lab, [*switches, *hosts] if speakers == "all" else switches)
            neighbors.silence(lab, hosts)
            into = tmp_path / speakers
            _output, changed = discover(lab.inventory, into)
            planned = cables(lab.inventory / PLACE)
            assert changed and planned and cables(into / PLACE) == planned
            assert sessions(into / PLACE) == sessions(lab.inventory / PLACE) and sessions(into / PLACE)
            drafted = yaml.safe_load((into / "hosts.yml").read_text())["all"]["children"]
            result = {node: own["bgp_asn"] for group in ("leaves", "spines") for node, own in drafted[group]["hosts"].items()}
            assert result == {node: lab.plan.nodes[node].asn for node in switches}
            # The lab's hosts have no RDMA device: what nobody told is null.
            rails = drafted["rails_01"]["vars"]["pod_rails"]
            assert [(rail["netdev"], rail["leaf"], rail["device"]) for rail in rails] == [("rail0", "leaf01", None), ("rail1", "leaf02", None)]
            assert drafted["gpu_hosts"]["children"].keys() == {"rack_01", "rack_02"}
            output, changed = discover(lab.inventory, into, "--diff")
            assert not changed, output
        finally:
            life.down(f"{name}{speakers[0]}")
