# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a terminal puts around a switch's text is no part of it; what shows that the text is not whole is an error."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import ParseError, parse

JSON = '{"TABLE_interface": {"ROW_interface": {"interface": "Ethernet1/1", "state": "connected", "speed": "400G"}}}'
TABLE = """Port               InDiscards       OutDiscards
Et1/1                       5                 0
Et2/1                       0                17
"""
OTHER_FAMILY = """show bgp ipv6 unicast summary
=============================
BGP router identifier 10.0.0.1, local AS number 65000 vrf-id 0

Neighbor        V         AS   MsgRcvd   MsgSent   TblVer  InQ OutQ  Up/Down State/PfxRcd
10.1.0.1        4      65001       100       100        0    0    0 01:00:00            7

Total number of neighbors 1
"""


@pytest.mark.parametrize("before", ["", "leaf01# show interface status | json\n", "show interface status | json\n\n", "leaf01# show inventory | json\r\r\n"])
@pytest.mark.parametrize("after", ["", "\n", "\nleaf01# ", "\nleaf01#\n", "\nleaf01# exit\n"])
def test_an_echoed_command_and_a_prompt_are_no_part_of_a_document(before: str, after: str) -> None:
    assert [row["speed_gbit_s"] for row in parse("interface_status", "nxos", before + JSON + after)] == [400.0]


@pytest.mark.parametrize("after", ["", "leaf01#", "leaf01(config)# exit\n", "admin@leaf01:~$ \n"])
def test_a_prompt_ends_any_table(after: str) -> None:
    assert len(parse("queue_drops", "eos", "leaf01#show interfaces counters discards\n" + TABLE + after)) == 2


def test_the_name_of_a_command_that_heads_a_table_stays() -> None:
    with pytest.raises(ParseError):
        parse("bgp_summary", "cumulus", OTHER_FAMILY)


def test_a_command_above_lines_that_are_all_indented_is_no_part_of_a_text() -> None:
    text = "show interfaces counters discards\n\n" + "".join(f"      {line}\n" for line in TABLE.splitlines())
    assert parse("queue_drops", "eos", text) == parse("queue_drops", "eos", TABLE)


@pytest.mark.parametrize("pager", [" --More-- ", "--More--(50%)", "---(more 12%)---", "\x1b[7m--More--\x1b[27m"])
def test_a_text_that_a_pager_stopped_is_an_error(pager: str) -> None:
    with pytest.raises(ParseError, match="a pager stopped the text"):
        parse("queue_drops", "eos", TABLE + pager + "\n")


def test_a_text_that_comes_twice_is_an_error() -> None:
    with pytest.raises(ParseError, match="two rows of Et1/1") as caught:
        parse("queue_drops", "eos", TABLE + TABLE.partition("\n")[2])
    assert len(caught.value.rows) == 4


@pytest.mark.parametrize("before", ["", "leaf01#show interfaces counters discards\n", "    leaf01#show interfaces counters discards\n"])
@pytest.mark.parametrize("indent", ["    ", "\t\t"])
def test_what_indents_all_lines_alike_is_no_part_of_a_text(before: str, indent: str) -> None:
    assert parse("queue_drops", "eos", before + "".join(f"{indent}{line}\n" for line in TABLE.splitlines())) == parse("queue_drops", "eos", TABLE)


@pytest.mark.parametrize("character", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_what_no_tool_ends_a_line_with_ends_none(character: str) -> None:
    """A module whose memory is damaged has any bytes in its names; the other ports of the switch are read all the same."""
    modules = "Ethernet1/1\n    transceiver is present\n    type is Unknown\n    name is &K>L{}(\n\nEthernet1/2\n    transceiver is present\n    name is ACME\n"
    rows = parse("transceivers", "nxos", modules.format(character))
    assert [(row["port"], row["vendor"]) for row in rows] == [("Ethernet1/1", "&K>L?("), ("Ethernet1/2", "ACME")]


def test_a_page_may_begin_a_line() -> None:
    assert len(parse("queue_drops", "eos", TABLE.replace("\nEt2", "\n\x0cEt2"))) == 2
