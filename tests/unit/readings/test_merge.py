# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A row that several tables tell in pieces, and AS numbers in both spellings."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.cells import CONVERT
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.row_transforms import merged


def piece(port: str, **result: str | int) -> dict:
    return {"port": port, "runts": "", "giants": ""} | result


def test_pieces_of_a_port_become_one_row() -> None:
    raw = [piece("Eth1/1", runts="0"), piece("Eth1/2", runts="7"), piece("Eth1/1", giants="1"), piece("Eth1/2", giants="--")]
    assert merged(raw, ["port"]) == [piece("Eth1/1", runts="0", giants="1"), piece("Eth1/2", runts="7", giants="--")]


def test_a_number_of_nothing_is_a_number() -> None:
    assert merged([piece("Eth1/1", runts=0), piece("Eth1/1", giants=0)], ["port"]) == [piece("Eth1/1", runts=0, giants=0)]


def test_ports_of_another_kind_may_tell_less() -> None:
    assert len(merged([piece("mgmt0", runts="0"), piece("Eth1/1", runts="0"), piece("Eth1/1", giants="0")], ["port"])) == 2


def test_a_port_that_is_missing_from_a_table_is_an_error() -> None:
    with pytest.raises(ValueError, match="Eth1/1 and Eth1/2 differ in giants"):
        merged([piece("Eth1/1", runts="0"), piece("Eth1/2", runts="0"), piece("Eth1/1", giants="0")], ["port"])


def test_two_values_of_a_column_are_an_error() -> None:
    with pytest.raises(ValueError, match="Eth1/1 has two values of runts, 0 and 5"):
        merged([piece("Eth1/1", runts="0"), piece("Eth1/1", runts="5")], ["port"])


def test_a_piece_of_no_port_is_an_error() -> None:
    with pytest.raises(ValueError, match="a row lacks its port"):
        merged([piece("Eth1/1", runts="0"), {"port": None, "runts": "0", "giants": ""}], ["port"])


@pytest.mark.parametrize(("text", "number"), [("65001", 65001), ("4200000001", 4200000001), ("65001.1", 4259905537), ("0.65001", 65001), (65001, 65001)])
def test_as_numbers_are_plain_integers(text: str | int, number: int) -> None:
    assert CONVERT["asn"](text) == number


@pytest.mark.parametrize("text", ["65001.65536", "4294967296", "-1", "65001.", "1.2.3", "AS1"])
def test_what_is_no_as_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        CONVERT["asn"](text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:01:14", 74),
        ("3d02h", 266400),
        ("1d02h03m", 93780),
        ("01y02w3d", 33004800),
        ("P17DT7H42M42S", 1496562),
        ("PT9S", 9),
        ("1week(s) 2day(s)", 777600),
        ("9week(s) 0day(s)", 5443200),
        ("0:00:00", 0),
    ],
)
def test_lengths_of_time_are_seconds(text: str, seconds: float) -> None:
    assert CONVERT["duration"](text) == seconds


@pytest.mark.parametrize("text", ["never", "P", "PT", "3 days", "00:99:00", "12", "1h2d", ""])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        CONVERT["duration"](text)


@pytest.mark.parametrize(("text", "count"), [(156672, 156672), ("1,048,576", 1048576), ("153.00 KB", 156672), ("1.5 MB", 1572864), ("150 kbytes", 150000)])
def test_sizes_are_bytes(text: str | int, count: float) -> None:
    assert CONVERT["size"](text) == count


@pytest.mark.parametrize("text", ["12 cells", "KB", "", "1.2.3 KB", "-1"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        CONVERT["size"](text)
