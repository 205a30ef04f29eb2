# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The partition of every InfiniBand rail, by plain calls."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.routing.partitions import other_partitions_apart, rails_in_partition

Rows = list[dict[str, t.Any]]
RAILS = [{"device": "mlx5_0"}, {"device": "mlx5_1"}]
DEFAULT, TENANT = "0xffff", "0x8005"


def table(device: str, *keys: str, index: int = 0) -> dict[str, t.Any]:
    return {"device": device, "index": index, "pkeys": list(keys)}


def host(*firsts: str) -> Rows:
    return [table(f"mlx5_{number}", first) for number, first in enumerate(firsts)]


def judged(rows: Rows, wanted: int | None = None, peers: dict[str, Rows] | None = None) -> list[tuple[str, str, str | None]]:
    of_peers = {"gpu01": rows, **(peers if peers is not None else {"gpu02": host(DEFAULT, DEFAULT), "gpu03": host(DEFAULT, DEFAULT)})}
    return [(str(one.where).split()[0], f"{one.expected}: {one.actual}", one.severity) for one in rails_in_partition(rows, of_peers, RAILS, wanted)]


def test_rails_of_one_partition_are_well() -> None:
    assert judged(host(DEFAULT, DEFAULT)) == []
    assert judged(host(TENANT, TENANT), 0x8005) == []
    assert judged(host(TENANT, TENANT), 0x0005) == [], "the bit of membership is not the partition's"
    assert judged(host(TENANT, TENANT), None, {"gpu02": host(TENANT, TENANT)}) == []


@pytest.mark.parametrize(
    ("keys", "words", "severity", "cause"),
    [
        (["0x0000"], "one of a full member: none", None, "gave the port no partition key"),
        (["0x8000"], "one of a full member: none", None, "gave the port no partition key"),
        (["0x7fff"], "0xffff: 0x7fff", None, "limited member"),
        ([TENANT], "0xffff: 0x8005", None, None),
        ([TENANT, "0x7fff"], "0xffff: 0x8005", None, None),
        ([TENANT, DEFAULT], "0xffff: 0x8005; 0xffff is entry 1", "warn", "not its first entry"),
    ],
)
def test_the_rail_out_of_its_partition_is_named(keys: list[str], words: str, severity: str | None, cause: str | None) -> None:
    rows = [table("mlx5_0", DEFAULT), table("mlx5_1", *keys)]
    assert judged(rows) == [("mlx5_1", words, severity)]
    (finding,) = rails_in_partition(rows, {"gpu01": rows, "gpu02": host(DEFAULT, DEFAULT)}, RAILS, None)
    assert (cause in finding.cause) if cause and finding.cause else finding.cause is cause


def test_entries_of_sysfs_and_of_smpquery_are_one_table() -> None:
    entries = [table("mlx5_0", DEFAULT), table("mlx5_1", TENANT), table("mlx5_1", DEFAULT, index=9)]
    line = [table("mlx5_0", DEFAULT), table("mlx5_1", TENANT), table("mlx5_1", "0x0000", DEFAULT, index=8)]
    assert judged(entries) == judged(line) == [("mlx5_1", "0xffff: 0x8005; 0xffff is entry 9", "warn")]


def test_what_is_not_reported_is_unknown() -> None:
    assert judged(host(DEFAULT)) == [("mlx5_1", "one of a full member: not reported", "unknown")]
    assert judged([table("mlx5_0", DEFAULT), table("mlx5_1", DEFAULT, index=8)]) == [("mlx5_1", "one of a full member: not reported", "unknown")]
    with pytest.raises(CannotTell):
        list(rails_in_partition([], {}, [], None))


def test_two_halves_of_a_pod_accuse_neither() -> None:
    halves = judged(host(TENANT, TENANT), None, {"gpu02": host(DEFAULT, DEFAULT)})
    assert halves == [(f"mlx5_{rail}", "the partition of most rails: 0x8005, and no partition has most", "unknown") for rail in (0, 1)]
    assert judged(host(TENANT, TENANT), 0x8005, {"gpu02": host(DEFAULT, DEFAULT)}) == [], "the plan says which is right"


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ([DEFAULT, "0x7fff"], None),
        ([DEFAULT, "0x8005"], "0x8005 is entry 1: a full member"),
        ([DEFAULT, "0x0000", "0x0005"], "0x0005 is entry 2: a limited member, which reaches the full ones"),
        (["0x8005"], "0x8005 is entry 0: a full member"),
    ],
)
def test_a_rail_in_the_partition_of_another_tenant_is_named(keys: list[str], found: str | None) -> None:
    judged_now = other_partitions_apart([table("mlx5_0", *keys), table("mlx5_1", DEFAULT)], RAILS, [0x0005, 0x8007])
    assert [(str(one.where), one.actual, one.severity) for one in judged_now] == ([("mlx5_0 partition keys", found, None)] if found else [])


def test_a_table_that_is_not_reported_proves_nothing_about_other_tenants() -> None:
    assert [(str(one.where), one.severity) for one in other_partitions_apart([table("mlx5_0", DEFAULT)], RAILS, [5])] == [("mlx5_1 partition keys", "unknown")]
