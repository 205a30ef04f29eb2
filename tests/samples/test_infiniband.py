# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What genuine outputs of InfiniBand tools must come to; the facts are those of the samples' indexes."""

from __future__ import annotations

import collections
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import ParseError, parse

Rows = list[dict[str, t.Any]]

ROWS = [
    ("fabric_topology", "ibnetdiscover/p_format_edr_mixed.txt", 9),
    ("fabric_topology", "ibnetdiscover/gb200_ndr_topology_head.txt", 16 + 567),
    ("fabric_topology", "ibnetdiscover/only_self.txt", 1),
    ("fabric_topology", "ibsim/healthy32/ibnetdiscover.txt", 268 + 1024),
    ("fabric_topology", "ibsim/healthy32/ibnetdiscover_p.txt", 1024),
    ("fabric_topology", "ibsim/fault_degraded/ibnetdiscover.txt", 76 + 256),
    ("fabric_topology", "ibsim/fault_degraded/ibnetdiscover_p.txt", 304),
    ("fabric_topology", "ibsim/fault_no_sm/ibnetdiscover.txt", 76 + 256),
    ("fabric_topology", "ibsim/fault_unlink/ibnetdiscover.txt", 75 + 252),
    ("fabric_topology", "ibsim/ndr_ibsim012/ibnetdiscover.txt", 76 + 256),
    ("fabric_links", "iblinkinfo/ddr_back_to_back.txt", 2),
    ("fabric_links", "iblinkinfo/hdr_quantum_cas.txt", 4),
    ("fabric_links", "ibsim/healthy32/iblinkinfo.txt", 1024),
    ("fabric_links", "ibsim/healthy32/iblinkinfo_line.txt", 1024),
    ("fabric_links", "ibsim/healthy32/iblinkinfo_switches_only.txt", 768),
    ("fabric_links", "ibsim/fault_unlink/iblinkinfo.txt", 303),
    ("fabric_links", "ibsim/fault_unlink/iblinkinfo_down.txt", 51),
    ("fabric_links", "ibsim/fault_sma_dead/iblinkinfo.txt", 275),
    ("fabric_errors", "ibsim/healthy32/ibqueryerrors.txt", 2),
    ("fabric_errors", "ibsim/fault_counters/ibqueryerrors.txt", 9 + 2),
    ("fabric_errors", "ibsim/fault_counters/ibqueryerrors_report_port.txt", 9 + 2),
    ("fabric_errors", "ibqueryerrors/sx6036_many_errors.txt", 38 + 2),
    ("port_counters", "perfquery/edr_switch_2ports.txt", 2 * 22),
    ("port_counters", "perfquery/edr_switch_port35.txt", 22),
    ("port_counters", "perfquery/rcv_error_details.txt", 6),
    ("port_counters", "ibsim/healthy32/perfquery_self.txt", 18),
    ("port_counters", "ibsim/healthy32/perfquery_x_self.txt", 8),
    ("port_counters", "ibsim/healthy32/perfquery_a_lid15.txt", 18),
    ("sminfo", "sminfo/master.txt", 1),
    ("sminfo", "ibsim/fault_no_sm/sminfo.txt", 0),
    ("sminfo", "ibsim/fault_sm_died/sminfo.txt", 0),
    ("fabric_diagnosis", "ibdiagnet/v1_ddr_stage_report.txt", 8),
    ("fabric_diagnosis", "ibdiagnet/v2_summary_3_warnings.txt", 3),
]
REFUSED = [
    ("fabric_topology", "ibnetdiscover/p_format_bad_line.txt", "no rule knows"),
    ("fabric_errors", "ibsim/fault_no_sm/ibqueryerrors.txt", "printed nothing"),
    ("fabric_errors", "ibsim/fault_counters/ibqueryerrors_threshold_file.txt", "thresholds hide"),
    ("fabric_errors", "ibsim/fault_counters/ibqueryerrors_suppress_common.txt", "suppressed counters"),
    ("port_counters", "ibsim/fault_no_sm/perfquery.txt", "no rule knows"),
    ("subnet_managers", "ibsim/fault_no_sm/saquery.txt", "printed nothing"),
]


def read(samples: Path, reading: str, sample: str) -> Rows:
    return parse(reading, "linux", (samples / sample).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("reading", "sample", "count"), ROWS)
def test_every_row_is_there(samples: Path, reading: str, sample: str, count: int) -> None:
    assert len(read(samples, reading, sample)) == count


@pytest.mark.parametrize(("reading", "sample", "words"), REFUSED)
def test_what_is_no_answer_is_refused(samples: Path, reading: str, sample: str, words: str) -> None:
    with pytest.raises(ParseError, match=words):
        read(samples, reading, sample)


def test_links_tell_both_ends_in_both_formats(samples: Path) -> None:
    lines = read(samples, "fabric_links", "ibsim/healthy32/iblinkinfo_line.txt")
    assert collections.Counter((row["lanes"], row["lane_gbit_s"], row["state"]) for row in lines) == {(4, 53.125, "Active"): 1024}
    by_guid = {(int(row["guid"], 16), row["port"]): row for row in lines}
    for row in lines:
        back = by_guid[int(row["peer_guid"], 16), row["peer_port"]]
        assert (back["peer"], back["peer_port"]) == (row["node"], row["port"])
    blocks = read(samples, "fabric_links", "ibsim/healthy32/iblinkinfo.txt")
    ends = [(row["node"], row["port"], row["peer"], row["peer_port"], row["lane_gbit_s"]) for row in lines]
    assert sorted(ends) == sorted((row["node"], row["port"], row["peer"], row["peer_port"], row["lane_gbit_s"]) for row in blocks)


def test_degraded_links_tell_width_and_speed(samples: Path) -> None:
    rows = read(samples, "fabric_links", "ibsim/fault_degraded/iblinkinfo.txt")
    odd = {(row["node"], row["port"]): (row["lanes"], row["lane_gbit_s"]) for row in rows if (row["lanes"], row["lane_gbit_s"]) != (4, 53.125)}
    assert odd["leaf01", 3] == (1, 53.125)
    assert odd["node005 mlx5_4", 1] == (4, 14.0625)
    assert odd["leaf03", 12] == (4, 10.0)


def test_ndr_lanes_and_states_without_a_manager(samples: Path) -> None:
    assert {row["lane_gbit_s"] for row in read(samples, "fabric_links", "ibsim/ndr_ibsim012/iblinkinfo.txt") if row["lanes"]} == {106.25}
    silent = read(samples, "fabric_links", "ibsim/fault_no_sm/iblinkinfo.txt")
    assert {row["state"] for row in silent if row["physical_state"] == "LinkUp"} == {"Init"}


def test_a_silent_switch_leaves_ports_without_a_peer(samples: Path) -> None:
    rows = read(samples, "fabric_links", "ibsim/fault_sma_dead/iblinkinfo.txt")
    assert "leaf07" not in {row["node"] for row in rows}
    assert sum(row["peer"] is None and row["state"] == "Active" for row in rows) == 8


def test_sharp_nodes_and_unset_names_are_names(samples: Path) -> None:
    rows = read(samples, "fabric_topology", "ibnetdiscover/gb200_ndr_topology_head.txt")
    assert {row["speed"] for row in rows if row["port"]} == {"NDR"}
    peers = {row["peer"] for row in rows if row["port"]}
    assert {"Mellanox Technologies Aggregation Node", "MT4129 ConnectX7   Mellanox Technologies"} <= peers
    assert not any(row["node"].startswith('"') for row in rows)


def test_dangling_ports_have_no_peer(samples: Path) -> None:
    rows = read(samples, "fabric_topology", "ibnetdiscover/p_format_edr_mixed.txt")
    assert [(row["port"], row["speed"]) for row in rows if row["peer"] is None] == [(37, None), (80, "SDR")]


def test_saturated_counters_are_their_limits_and_no_row_is_of_all_ports(samples: Path) -> None:
    rows = read(samples, "fabric_errors", "ibqueryerrors/sx6036_many_errors.txt")
    result = {(row["guid"], row["port"], row["counter"]): row["value"] for row in rows}
    switch = "0x2c903006e29b0"
    assert result[switch, 5, "SymbolErrorCounter"] == result[switch, 7, "SymbolErrorCounter"] == 65535
    assert result[switch, 6, "PortXmitDiscards"] == 14176
    assert (switch, 5, "LinkErrorRecoveryCounter") in result and result[None, None, "ports_checked"] == 43


def test_extended_counters_exceed_32_bits(samples: Path) -> None:
    rows = read(samples, "port_counters", "perfquery/edr_switch_2ports.txt")
    waits = {(row["lid"], row["port"]): row["value"] for row in rows if row["counter"] == "PortXmitWait"}
    assert waits == {(1719, 1): 22730501, (1719, 2): 36510964} and all(row["extended"] for row in rows)
    result = {row["counter"]: row["value"] for row in read(samples, "port_counters", "perfquery/edr_switch_port35.txt")}
    assert (result["LinkDownedCounter"], result["PortRcvSwitchRelayErrors"], result["PortXmitDiscards"]) == (1, 7, 20046)


def test_the_columns_of_ibdiagnet_are_distinguished(samples: Path) -> None:
    first = {row["stage"]: (row["warnings"], row["errors"]) for row in read(samples, "fabric_diagnosis", "ibdiagnet/v1_ddr_stage_report.txt")}
    assert first["IPoIB Subnets Check"] == (1, 0)
    second = {row["stage"]: (row["warnings"], row["errors"]) for row in read(samples, "fabric_diagnosis", "ibdiagnet/v2_summary_3_warnings.txt")}
    assert second == {"Discovery": (3, 0), "Virtualization": (0, 0), "Routing": (0, 0)}


def test_the_master_tells_its_state(samples: Path) -> None:
    assert read(samples, "sminfo", "sminfo/master.txt") == [
        {"via": None, "lid": 37, "guid": "0x7cfe90030016aef1", "activity": 4484381, "priority": 14, "state": "master"}
    ]
