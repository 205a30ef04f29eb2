# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports: what NetBox, spreadsheets, Slurm and NVIDIA Air have of a pod becomes an inventory, and what is no pod is refused with the reason."""

from __future__ import annotations

import builtins
import json
from pathlib import Path

import openpyxl
import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.imports.air import read_air
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.imports.inventory import imported_files
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.imports.listing import (
    ImportFailed,
    ListedCable,
    ListedNode,
    Listing,
    medium_of,
    metres_of,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.imports.netbox import read_netbox
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.imports.slurm import expanded, read_slurm
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.imports.spreadsheet import read_spreadsheet
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import PLACE
from ansible_collections.gpufabric.pyramid.tests.unit.discovery.netbox_answers import TOKEN, netbox

ROWS = [["gpu01", "enp24s0np0", "leaf01", "Ethernet1/1", "DAC", "3m"], ["gpu01", "enp41s0np0", "leaf02", "Ethernet1/1", "MPO SMF", "12.5"]]
CABLES = [
    ListedCable(("gpu01", "enp24s0np0"), ("leaf01", "Ethernet1/1"), "dac", 3.0),
    ListedCable(("gpu01", "enp41s0np0"), ("leaf02", "Ethernet1/1"), "optic", 12.5),
]
PLAN = """a_node,a_port,b_node,b_port,medium,length_m
gpu01,enp24s0np0,leaf01,Ethernet1/1,dac,3
gpu01,enp41s0np0,leaf02,Ethernet1/1,optic,12.5
"""


def sheet(path: Path, header: list[str], separator: str = ",") -> Path:
    path.write_text("\n".join(separator.join(row) for row in [header, *ROWS]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("header", "separator"),
    [
        (["a_node", "a_port", "b_node", "b_port", "medium", "length_m"], ","),
        (["Source Device", "Source Port", "Destination Device", "Destination Port", "Cable Type", "Length (m)"], ","),
        (["Host A", "Interface A", "Host Z", "Interface Z", "Media", "Cable Length"], ";"),
        (["From", "From Port", "To", "To Port", "Type", "Length"], "\t"),
    ],
)
def test_a_spreadsheet_of_any_usual_columns_is_read(header: list[str], separator: str, tmp_path: Path) -> None:
    found = read_spreadsheet(sheet(tmp_path / "cabling.csv", header, separator), {})
    assert found.cables == CABLES
    assert imported_files(found, {}, "spreadsheet")[PLACE] == PLAN


def test_a_sites_own_columns_are_named(tmp_path: Path) -> None:
    path = sheet(tmp_path / "cabling.csv", ["Server", "HCA", "ToR", "Switchport", "Kind", "Metres"])
    with pytest.raises(ImportFailed, match=r"no row is a header with a_node, .*the first row is 'Server, HCA, .*import_columns"):
        read_spreadsheet(path, {})
    columns = {"a_node": "server", "a_port": "HCA", "b_node": "ToR", "b_port": "switchport", "medium": "kind", "length_m": "metres"}
    assert read_spreadsheet(path, columns).cables == CABLES


def test_a_workbook_is_read_below_its_title(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["Cabling of pod 1"])
    book.active.append([])
    book.active.append(["A Device", "A Port", "B Device", "B Port", "Cable", "Length"])
    for row in ROWS:
        book.active.append([*row[:5], 3 if row[5] == "3m" else 12.5])
    book.create_sheet("notes").append(["nothing"])
    book.save(tmp_path / "cabling.xlsx")
    assert read_spreadsheet(tmp_path / "cabling.xlsx", {}).cables == CABLES
    with pytest.raises(ImportFailed, match="no sheet 'Plan'; it has Sheet, notes"):
        read_spreadsheet(tmp_path / "cabling.xlsx", {}, "Plan")
    (tmp_path / "text.xlsx").write_text("no workbook")
    with pytest.raises(ImportFailed):
        read_spreadsheet(tmp_path / "text.xlsx", {})


def test_wrong_rows_are_named_by_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "cabling.csv"
    path.write_text("a_node,a_port,b_node,b_port,length\ngpu01,eth0,leaf01,,3\n\ngpu02,eth0,leaf01,Et2,long\n")
    with pytest.raises(ImportFailed, match=r"^line 2: b_port is empty; line 4: 'long' is no length"):
        read_spreadsheet(path, {})


def test_addresses_and_speeds_are_kept_where_a_sheet_has_them(tmp_path: Path) -> None:
    path = tmp_path / "cabling.csv"
    path.write_text("From,From Port,From IP,To,To Port,To IP,Speed\nleaf01,Et1,10.1.0.0/31,spine01,Et9,10.1.0.1/31,800G\ngpu01,eth0,,leaf01,Et2,,\n")
    assert imported_files(read_spreadsheet(path, {}), {}, "spreadsheet")[PLACE].splitlines() == [
        "a_node,a_port,b_node,b_port,medium,length_m,a_address,b_address,gbit_s",
        "leaf01,Et1,spine01,Et9,,,10.1.0.0/31,10.1.0.1/31,800",
        "gpu01,eth0,leaf01,Et2,,,,,",
    ]


@pytest.mark.parametrize("library", ["openpyxl", "pynetbox"])
def test_a_missing_library_is_named(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: object, **more: object) -> object:
        if name.split(".")[0] == library:
            raise ImportError(name)
        return real(name, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportFailed, match=f"pip install {library}"):
        read_spreadsheet(tmp_path / "cabling.xlsx", {}) if library == "openpyxl" else read_netbox("http://127.0.0.1:1", TOKEN, {})


def test_netbox_gives_nodes_and_cables_through_panels() -> None:
    with netbox() as url:
        found = read_netbox(url, TOKEN, {"site": "dc1"})
    assert found.cables == [
        ListedCable(("gpu01", "enp24s0np0"), ("leaf01", "Ethernet1/1"), "dac", 2.5),
        # Two cables and a panel between: of one medium, and nobody has the whole length.
        ListedCable(("gpu01", "enp41s0np0"), ("leaf01", "Ethernet1/2"), "optic", None),
    ]
    split = "its cable leads to leaf01 Ethernet9/1, as those of 2 interfaces do: a split cable needs an interface for each of its ends"
    assert found.left_out == [
        "gpu01 eno2: its cable does not lead to one interface",
        "leaf01 Ethernet9/1: its cable does not lead to one interface but to 2",
        "gpu01 eno1: leads to mgmt01 Ethernet1, which was not selected",
        f"gpu01 ens1: {split}",
        f"gpu01 ens2: {split}",
    ]
    texts = imported_files(found, {}, "netbox")
    children = yaml.safe_load(texts["hosts.yml"])["all"]["children"]
    assert children == {
        "gpu_hosts": {"children": {"r_07": {"hosts": {"gpu01": {"ansible_host": "10.0.0.11"}}}}},
        "leaves": {"hosts": {"leaf01": {"ansible_host": "10.0.0.1", "pod_platform": "eos"}}},
    }
    assert "pdu01 (pdu): neither a GPU host nor a switch by its role" in found.left_out


def test_netbox_that_refuses_or_is_away_is_said() -> None:
    with netbox() as url:
        with pytest.raises(ImportFailed, match=r"NetBox refused: .*Invalid v1 token"):
            read_netbox(url, "wrong", {})
        with pytest.raises(ImportFailed, match=r"no device with {'site': 'dc2'}"):
            read_netbox(url, TOKEN, {"site": "dc2"})
        with pytest.raises(ImportFailed, match=r"NetBox refused: .*not one of the available choices"):
            read_netbox(url, TOKEN, {"site": "nowhere"})
    with pytest.raises(ImportFailed, match="was not reached"):
        read_netbox(url, TOKEN, {})


TREE = """
- topology: flat
  flat: true
- topology: other
  tree: {switches: [{switch: none, nodes: "x[1-2]"}]}
- topology: pod
  cluster_default: true
  tree:
    switches:
      - {switch: spine, children: "leaf[1-2]"}
      - {switch: leaf1, nodes: "gpu[01-02]"}
      - {switch: leaf2, nodes: "gpu03,gpu04"}
"""
BLOCK = "- topology: b\n  block: {block_sizes: [2], blocks: [{block: leaf1, nodes: 'gpu[01-02]'}, {block: leaf2, nodes: 'gpu[03-04]'}]}\n"
CONF = "# tree\nSwitchName=leaf1 Nodes=gpu[01-02] # row 1\nswitchname=leaf2 \\\n  nodes=gpu03,gpu04\nSwitchName=spine Switches=leaf[1-2]\n"


@pytest.mark.parametrize(("name", "text"), [("topology.yaml", TREE), ("topology.yml", BLOCK), ("topology.conf", CONF)])
def test_slurm_gives_hosts_and_gate_groups_and_no_cable(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    found = read_slurm(tmp_path / name)
    texts = imported_files(found, {}, "slurm")
    assert texts.keys() == {"hosts.yml"}
    assert yaml.safe_load(texts["hosts.yml"])["all"]["children"] == {
        "gpu_hosts": {"children": {"leaf1": {"hosts": {"gpu01": None, "gpu02": None}}, "leaf2": {"hosts": {"gpu03": None, "gpu04": None}}}}
    }


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("topology.yaml", "- topology: a\n  flat: true\n", "no topology of the kind tree or block"),
        ("topology.yaml", "a: [", "not YAML"),
        ("topology.conf", "NodeName=gpu01\n", "names no host"),
        ("topology.conf", "SwitchName=a Nodes=gpu01\nSwitchName=b Nodes=gpu01\n", "gpu01 is in a and in b"),
        ("topology.conf", "SwitchName=a Nodes=gpu[1-999999999]\n", "no list of hosts"),
        ("topology.conf", "SwitchName=a Nodes=gpu[2-1]\n", "no list of hosts"),
    ],
)
def test_what_is_no_topology_of_slurm_is_refused(name: str, text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ImportFailed, match=words):
        read_slurm(tmp_path / name)


def test_host_lists_of_slurm() -> None:
    assert expanded("gpu[01-03,7],login,r[1-2]n[08-09]") == ["gpu01", "gpu02", "gpu03", "gpu7", "login", "r1n08", "r1n09", "r2n08", "r2n09"]


def test_air_gives_nodes_platforms_and_cables(tmp_path: Path) -> None:
    link = [{"node": "leaf01", "interface": "swp1"}, {"node": "gpu01", "interface": "eth1"}]
    nodes = {"leaf01": {"os": "cumulus-vx-5.9.1"}, "gpu01": {"os": "generic/ubuntu2204"}, "oob-mgmt-switch": {"os": "cumulus-vx-5.9.1"}}
    topology = {"format": "JSON", "content": {"nodes": nodes, "links": [link, [{"node": "leaf01", "interface": "eth0"}, "exit"]]}}
    (tmp_path / "air.json").write_text(json.dumps(topology))
    found = read_air(tmp_path / "air.json")
    assert found.cables == [ListedCable(("leaf01", "swp1"), ("gpu01", "eth1"))]
    children = yaml.safe_load(imported_files(found, {}, "air")["hosts.yml"])["all"]["children"]
    assert children == {"gpu_hosts": {"hosts": {"gpu01": None}}, "leaves": {"hosts": {"leaf01": {"pod_platform": "cumulus"}}}}
    assert len(found.left_out) == 2 and found.left_out[1].startswith("oob-mgmt-switch: neither")
    (tmp_path / "air.json").write_text("graph {}")
    with pytest.raises(ImportFailed, match="not JSON"):
        read_air(tmp_path / "air.json")


def test_groups_are_by_the_sites_own_patterns_and_names_are_no_markup(tmp_path: Path) -> None:
    found = Listing(cables=[ListedCable(("worker-1", "eth0"), ("sw1", "Et1")), ListedCable(("=cmd()", "eth0"), ("sw1", "Et2"))])
    found.named()
    with pytest.raises(ImportFailed, match="no node is a GPU host by its role or name: worker-1"):
        imported_files(found, {}, "spreadsheet")
    found.left_out.clear()
    texts = imported_files(found, {"gpu_hosts": ["worker-*"], "leaves": ["sw*"]}, "spreadsheet")
    assert texts[PLACE].splitlines()[1:] == ["worker-1,eth0,sw1,Et1,,"]
    assert found.left_out == ["'=cmd()': no name that an inventory can have", "1 cable to nodes that are left out or not in the source"]


def test_a_port_that_is_used_twice_is_no_plan() -> None:
    found = Listing(cables=[ListedCable(("gpu01", "eth0"), ("leaf01", "Et1")), ListedCable(("gpu02", "eth0"), ("leaf01", "Et1"))])
    found.named()
    with pytest.raises(ImportFailed, match="port leaf01:Et1 is already used in line 2"):
        imported_files(found, {}, "spreadsheet")


def test_words_of_media_and_lengths() -> None:
    words = {
        "DAC": "dac",
        "dac-active": "aec",
        "AEC 400G": "aec",
        "aoc": "aoc",
        "smf-os2": "optic",
        "400GBASE-DR4": "optic",
        "mmf-om4": "optic",
        "": "",
        "tape": "",
    }
    assert {word: medium_of(word) for word in words} == words
    assert [metres_of(*one) for one in (("3",), ("10 ft",), (250, "cm"), ("",), (None,), ("0",))] == [3.0, 3.048, 2.5, None, None, None]


def test_super_spines_become_a_group_of_the_spines() -> None:
    ends = [(("gpu01", "eth0"), ("leaf01", "swp1")), (("leaf01", "swp33"), ("spine01", "swp1")), (("spine01", "swp33"), ("dc1-super-spine-01", "swp1"))]
    listing = Listing()
    listing.cables = [ListedCable(a, b, "optic", 30.0) for a, b in ends]
    for name in dict.fromkeys(end[0] for pair in ends for end in pair):
        listing.nodes[name] = ListedNode(name)
    children = yaml.safe_load(imported_files(listing, {}, "spreadsheet")["hosts.yml"])["all"]["children"]
    assert children["spines"] == {"hosts": {"spine01": None}, "children": {"super_spines": {"hosts": {"dc1-super-spine-01": None}}}}
