# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cliques of GPUs and IMEX domains, by plain calls: which tray is named, and what is unknown."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, Finding, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight import nvlink_domain as checks

Peers = dict[str, list[dict[str, t.Any]]]
RACK, OTHER, ZERO = "A44167D1-5423-d758-7d6b-24c07d32e7b3", "b44167d1-5423-d758-7d6b-24c07d32e7b3", checks.NO_CLUSTER


def found(findings: t.Iterable[Finding]) -> list[tuple[str | None, str, str, str | None]]:
    return [(one.host, str(one.where), one.actual, one.severity) for one in findings]


def gpus(*cliques: tuple[int | None, str | None], name: str = "NVIDIA GB200") -> Peers:
    """One host a clique, of two GPUs."""
    return {
        f"gpu{number:02}": [{"gpu": gpu, "name": name, "fabric_clique": clique, "fabric_uuid": cluster} for gpu in range(2)]
        for number, (clique, cluster) in enumerate(cliques, 1)
    }


def test_the_tray_of_another_clique_is_named() -> None:
    assert found(checks.nvlink_clique(gpus((7, RACK), (7, RACK.lower()), (7, RACK)), "gate_group")) == []
    assert found(checks.nvlink_clique(gpus((7, RACK), (7, RACK), (8, RACK)), "gate_group")) == [("gpu03", "GPU 0, 1", f"clique 8 of {RACK.lower()}", None)]
    assert found(checks.nvlink_clique(gpus((7, OTHER), (7, RACK), (7, RACK)), "gate_group")) == [("gpu01", "GPU 0, 1", f"clique 7 of {OTHER}", None)]


def test_of_two_halves_neither_is_accused() -> None:
    ((host, where, actual, _severity),) = found(checks.nvlink_clique(gpus((7, RACK), (8, RACK)), "gate_group"))
    assert (host, where) == (None, "GPUs of the group") and actual.count("clique") == 2 and "gpu01" in actual and "gpu02" in actual


def test_no_cluster_fails_and_nothing_reported_is_unknown() -> None:
    assert [one[0::3] for one in found(checks.nvlink_clique(gpus((7, RACK), (0, ZERO)), "gate_group"))] == [("gpu02", None)] * 2
    assert [one[0::3] for one in found(checks.nvlink_clique(gpus((7, RACK), (None, RACK), (7, None)), "gate_group"))] == [
        ("gpu02", "unknown"), ("gpu02", "unknown"), ("gpu03", "unknown"), ("gpu03", "unknown"),
    ]  # fmt: skip
    assert found(checks.nvlink_clique({"gpu01": []}, "gate_group")) == [("gpu01", "GPUs", "no GPU is reported", "unknown")]


def test_clique_0_without_a_cluster_is_normal_within_a_host() -> None:
    with pytest.raises(NotApplicable):
        list(checks.nvlink_clique(gpus((0, ZERO), name="NVIDIA H200"), "auto"))
    with pytest.raises(CannotTell, match="NVIDIA GB300"):
        list(checks.nvlink_clique(gpus((0, ZERO), name="NVIDIA GB300"), "auto"))


def domain(trays: int = 3, state: str = "UP", **of_node: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    rows = [{"domain": state, "node": number, "address": f"10.0.0.{number}", "host_name": None, "state": "READY", "version": "1"} for number in range(trays)]
    for key, values in of_node.items():
        rows[int(key.removeprefix("node"))].update(values)
    return rows


def links(trays: int = 3, lost: t.Iterable[tuple[int, int]] = ()) -> list[dict[str, t.Any]]:
    gone = {frozenset(pair) for pair in lost}
    return [
        {"node": one, "peer": other, "state": "DISCONNECTED" if frozenset((one, other)) in gone else "CONNECTED"}
        for one in range(trays)
        for other in range(trays)
    ]


def ready(view: list[dict[str, t.Any]], connections: list[dict[str, t.Any]], trays: int = 3) -> list[tuple[str | None, str, str, str | None]]:
    """What a group comes to of which all trays see the same."""
    hosts = {f"gpu{number}": [{"address": f"10.0.0.{number}"}, {"address": "127.0.0.1"}] for number in range(trays)}
    return found(checks.imex_ready(dict.fromkeys(hosts, view), dict.fromkeys(hosts, connections), hosts))


def test_a_domain_that_is_up_is_one() -> None:
    assert ready(domain(), links()) == []


def test_a_node_that_is_not_ready_is_named_once_and_excuses_its_connections() -> None:
    view = domain(state="DEGRADED", node1={"state": "UNAVAILABLE"})
    assert ready(view, links(lost=[(0, 1), (1, 2)])) == [("gpu1", "IMEX node 10.0.0.1", "UNAVAILABLE, as 3 of 3 trays report", None)]


def test_a_degraded_domain_of_ready_nodes_is_the_groups() -> None:
    assert ready(domain(state="DEGRADED"), links()) == [(None, "IMEX domain", "DEGRADED, with every node READY", None)]


def test_who_lost_several_connections_is_named_and_of_one_both_ends_are() -> None:
    assert ready(domain(state="DEGRADED"), links(lost=[(0, 1), (0, 2)])) == [("gpu0", "IMEX node 10.0.0.0", "DISCONNECTED with 2 nodes", None)]
    assert ready(domain(state="DEGRADED"), links(lost=[(0, 1)])) == [(None, "IMEX connection of gpu0 and gpu1", "DISCONNECTED", None)]


def test_another_version_is_named() -> None:
    assert ready(domain(node2={"version": "2"}), links()) == [("gpu2", "IMEX node 10.0.0.2", "2", None)]


def test_a_tray_that_the_domain_lacks_is_named() -> None:
    assert ready(domain(2), links(2)) == [("gpu2", "nodes of the IMEX domain", "none among 2 nodes", None)]


def test_connections_that_are_not_reported_are_unknown() -> None:
    assert {one[3] for one in ready(domain(), links(2))} == {"unknown"}
    assert {one[3] for one in ready(domain(), [])} == {"unknown"}
    with pytest.raises(CannotTell):
        ready([], [])
