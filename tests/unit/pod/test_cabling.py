# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wiring plan: one message with its line number for each line that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import NUMBERS, OLD, PLACE, decode, located, read_cabling

HEAD = "a_node,a_port,b_node,b_port,medium,length_m\n"
NODES = {"gpu01", "gpu02", "leaf01"}


def test_a_plan_is_read_with_its_lengths_and_addresses() -> None:
    rows = "gpu01,ens1,leaf01,Ethernet1,dac,2.5,,\nleaf01,Ethernet9,gpu02,ens1,optic,,10.0.0.0/31,10.0.0.1/31\n"
    cables, wrong = read_cabling(HEAD.rstrip() + ",a_address,b_address\n" + rows, NODES)
    assert wrong == []
    assert (cables[0].a.node, cables[0].b.port, cables[0].length_m, cables[0].line) == ("gpu01", "Ethernet1", 2.5, 2)
    near, far = cables[1].seen_from("gpu02")
    assert (near.port, near.address, far.address, cables[1].length_m) == ("ens1", "10.0.0.1", "10.0.0.0", None)


@pytest.mark.parametrize(
    ("rows", "messages"),
    [
        ("gpu01,ens1,leaf01,Ethernet1,dac,2\ngpu02,ens1,leaf01,Ethernet1,dac,2\n", ["line 3: port leaf01:Ethernet1 is already used in line 2"]),
        ("gpu09,ens1,leaf01,Ethernet1,dac,2\n", ["line 2: node gpu09 is not in the inventory"]),
        ("GPU01,ens1,leaf01,Ethernet1,dac,2\n", ["line 2: node GPU01 is not in the inventory, which has gpu01: capital letters count"]),
        ("gpu01,,leaf01,Ethernet1,dac,2\n", ["line 2: a_port is empty"]),
        ("gpu01,ens1,leaf01,Ethernet1,dac,two\n", ["line 2: length_m must be a number of metres, not 'two'"]),
        ("gpu01,ens1,leaf01,Ethernet1,dac,2\nleaf01,Ethernet1,gpu01,ens1,dac,2\n", ["line 3: the cable of line 2 again: leaf01:Ethernet1 to gpu01:ens1"]),
        ("gpu01,ens1,leaf01,Ethernet1,dac,2\n" + HEAD, ["line 3: the header is repeated"]),
        ('gpu01,"ens1,leaf01,Ethernet1,dac,2\n', ["line 2: not CSV from here on (unexpected end of data); a quote is not closed, or stands inside a cell"]),
        ("gpu01,ens1,gpu01,ens1,dac,2\n", ["line 2: both ends are the same port"]),
        ("gpu01,ens1,leaf01,Ethernet1,dac,2,x,y,z\n", ["line 2: there are more cells than columns"]),
        ("", ["line 1: the plan has no cable"]),
        (
            "gpu09,ens1,leaf01,Ethernet1,dac,2\ngpu01,ens1,leaf01,Ethernet2,dac,x\n",
            ["line 2: node gpu09 is not in the inventory", "line 3: length_m must be a number of metres, not 'x'"],
        ),
    ],
)  # fmt: skip
def test_each_wrong_line_has_its_message(rows: str, messages: list[str]) -> None:
    assert read_cabling(HEAD + rows, NODES)[1] == messages


def test_a_cable_may_have_a_speed_of_its_own() -> None:
    head = HEAD.rstrip() + ",gbit_s\n"
    cables, wrong = read_cabling(head + "gpu01,ens1,leaf01,Ethernet1,dac,2,\ngpu02,ens1,leaf01,Ethernet2,dac,2,800\n", NODES)
    assert ([cable.gbit_s for cable in cables], wrong) == ([None, 800.0], [])
    assert read_cabling(head + "gpu01,ens1,leaf01,Ethernet1,dac,2,fast\n", NODES)[1] == ["line 2: gbit_s must be a number of Gb/s, not 'fast'"]


@pytest.mark.parametrize("column", NUMBERS)
@pytest.mark.parametrize("cell", ["-1", "0", "nan", "inf", "-inf", "1e9"])
def test_a_number_of_a_cable_is_inside_its_bounds(column: str, cell: str) -> None:
    unit, bounds = NUMBERS[column]
    row = {"length_m": "2", "gbit_s": "400", column: cell}
    _cables, wrong = read_cabling(HEAD.rstrip() + f",gbit_s\ngpu01,ens1,leaf01,Ethernet1,dac,{row['length_m']},{row['gbit_s']}\n", NODES)
    assert wrong == [f"line 2: {column} must be {bounds.words} {unit}, not {cell!r}"]


def test_a_missing_column_is_named() -> None:
    assert read_cabling("a_node,a_port,b_node,b_port\n", NODES) == (
        [],
        ["line 1: the columns medium, length_m are missing; needed are a_node, a_port, b_node, b_port, medium, length_m; got 'a_node,a_port,b_node,b_port'"],
    )


@pytest.mark.parametrize("prefix", ["", "/runner/project/inventories/mypod/"])
def test_the_plan_is_where_ansible_does_not_read_it_or_where_it_was(tmp_path: Path, prefix: str) -> None:
    directory = tmp_path / "inventory"
    (directory / "group_vars").mkdir(parents=True)
    named = str(tmp_path / "inventory" / PLACE) if prefix else PLACE
    assert located(directory, named) == named
    (directory / OLD).write_text(HEAD)
    assert directory / located(directory, named) == directory / OLD
    assert located(directory, "plans/cabling.csv") == "plans/cabling.csv"
    (directory / PLACE).write_text(HEAD)
    with pytest.raises(ValueError, match="there are two wiring plans"):
        located(directory, named)


def test_a_column_that_is_there_twice_is_named() -> None:
    assert read_cabling("a_node," + HEAD, NODES) == ([], ["line 1: the column a_node is there more than once"])


def test_one_mistake_in_every_line_is_a_few_messages() -> None:
    rows = "".join(f"gpu01,ens{port},leaf01,Ethernet{port},dac,2 m\n" for port in range(4096))
    assert read_cabling(HEAD + rows, NODES)[1] == [
        *(f"line {line}: length_m must be a number of metres, not '2 m'" for line in (2, 3, 4)),
        "lines 5, 6, 7 and 4090 more have the same error",
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (HEAD.encode("utf-16"), "line 1: the file is UTF-16; save it as UTF-8"),
        (HEAD.encode("utf-32"), "line 1: the file is UTF-32; save it as UTF-8"),
        (HEAD.encode("utf-16-le"), "line 1: a NUL byte; the file is not UTF-8 text, save it as UTF-8"),
        (HEAD.encode() + "gpu01,ens1,größe\n".encode("latin-1"), "line 2: byte 0xf6 is not UTF-8; save the file as UTF-8"),
    ],
)
def test_another_encoding_is_one_message_with_its_line(data: bytes, message: str) -> None:
    assert decode(data) == (None, [message])


def test_a_byte_order_mark_is_no_part_of_the_plan() -> None:
    assert decode(HEAD.encode("utf-8-sig")) == (HEAD, []) == decode(HEAD.encode())
