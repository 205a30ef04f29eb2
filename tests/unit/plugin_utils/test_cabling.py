# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wiring plan: one message with its line number for each line that is wrong."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.cabling import read

HEAD = "a_node,a_port,b_node,b_port,medium,length_m\n"
NODES = {"gpu01", "gpu02", "leaf01"}


def test_a_plan_is_read_with_its_lengths_and_addresses() -> None:
    rows = "gpu01,ens1,leaf01,Ethernet1,dac,2.5,,\nleaf01,Ethernet9,gpu02,ens1,optic,,10.0.0.0/31,10.0.0.1/31\n"
    cables, wrong = read(HEAD.rstrip() + ",a_address,b_address\n" + rows, NODES)
    assert wrong == []
    assert (cables[0].a.node, cables[0].b.port, cables[0].length_m, cables[0].line) == ("gpu01", "Ethernet1", 2.5, 2)
    near, far = cables[1].seen_from("gpu02")
    assert (near.port, near.address, far.address, cables[1].length_m) == ("ens1", "10.0.0.1", "10.0.0.0", None)


@pytest.mark.parametrize(
    ("rows", "messages"),
    [
        ("gpu01,ens1,leaf01,Ethernet1,dac,2\ngpu02,ens1,leaf01,Ethernet1,dac,2\n", ["line 3: port leaf01:Ethernet1 is already used in line 2"]),
        ("gpu09,ens1,leaf01,Ethernet1,dac,2\n", ["line 2: node gpu09 is not in the inventory"]),
        ("gpu01,,leaf01,Ethernet1,dac,2\n", ["line 2: a_port is empty"]),
        ("gpu01,ens1,leaf01,Ethernet1,dac,two\n", ["line 2: length_m must be a number of metres, not 'two'"]),
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
    assert read(HEAD + rows, NODES)[1] == messages


def test_a_cable_may_have_a_speed_of_its_own() -> None:
    head = HEAD.rstrip() + ",gbit_s\n"
    cables, wrong = read(head + "gpu01,ens1,leaf01,Ethernet1,dac,2,\ngpu02,ens1,leaf01,Ethernet2,dac,2,800\n", NODES)
    assert ([cable.gbit_s for cable in cables], wrong) == ([None, 800.0], [])
    assert read(head + "gpu01,ens1,leaf01,Ethernet1,dac,2,fast\n", NODES)[1] == ["line 2: gbit_s must be a number of Gb/s, not 'fast'"]


def test_a_missing_column_is_named() -> None:
    assert read("a_node,a_port,b_node,b_port\n", NODES) == (
        [],
        ["line 1: the columns medium, length_m are missing; needed are a_node, a_port, b_node, b_port, medium, length_m"],
    )
