# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What findings of many rails share that is no node."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.shared_ways import name_shared_ways
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import Cable, CableEnd
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Node, Plan

HOSTS = ("gpu01", "gpu02", "gpu03", "gpu04")
LEAVES = ("leaf01", "leaf02", "leaf03")


def pod() -> Plan:
    """Four hosts of one rack, each with an optic to each of three leaves, but for the last one, which has copper to the first."""
    nodes = {name: Node(name, "leaf", "eos", None, {"pod_rails": []}) for name in LEAVES}
    nodes |= {name: Node(name, "host", "linux", "rack_01", {"pod_rails": []}) for name in HOSTS}
    cables = [
        Cable(CableEnd(host, f"ens{leaf[-1]}"), CableEnd(leaf, f"Ethernet{host[-1]}/1"), "dac" if (host, leaf) == ("gpu04", "leaf01") else "optic", 30, 0)
        for host in HOSTS for leaf in LEAVES
    ]  # fmt: skip
    return Plan(nodes, {"rack_01": list(HOSTS)}, cables)


def judged(check: str, *findings: tuple[str, str]) -> list[t.Any]:
    """Of each host a verdict with a finding at each port that is named; ports are named after leaves."""
    return [
        {
            "check": check, "host": host, "verdict": "fail" if host in dict(findings) else "pass",
            "findings": [
                {"host": host, "severity": "fail", "leaf": f"leaf0{port[-1]}", "where": port, "place": at_port(port).record()}
                for name, port in findings if name == host
            ],
        }
        for host in HOSTS
    ]  # fmt: skip


def caused(records: t.Iterable[t.Any]) -> set[bool]:
    return {bool(one.get("cause")) for record in records for one in record["findings"]}


@pytest.mark.parametrize(
    ("dark", "named"),
    [
        # The fourth has copper there.
        ([("gpu01", "ens1"), ("gpu02", "ens1"), ("gpu03", "ens1")], True),
        ([("gpu01", "ens1"), ("gpu02", "ens1")], False),
        ([("gpu01", "ens2"), ("gpu02", "ens2"), ("gpu03", "ens2")], False),
        ([("gpu01", "ens1"), ("gpu02", "ens1"), ("gpu03", "ens1"), ("gpu01", "ens2")], False),
    ],
)
def test_fibres_of_a_rack_at_one_leaf(dark: list[tuple[str, str]], named: bool) -> None:
    records = judged("optic_rx_power", *dark)
    name_shared_ways(pod(), records)
    assert caused(records) == {named}


def test_losses_of_all_hosts_on_all_leaves() -> None:
    everywhere = [(host, f"ens{number}") for host in HOSTS for number in (1, 2, 3)]
    for found, drops, named in ((everywhere, [], True), (everywhere[3:], [], False), (everywhere, [{"host": "leaf01", "severity": "fail"}], False)):
        records = judged("losses_under_load", *found)
        of_leaf = {"check": "switch_drops_under_load", "host": "leaf01", "verdict": "pass", "findings": drops}
        name_shared_ways(pod(), [*records, of_leaf])  # type: ignore[list-item]
        assert caused(records) == {named}


def test_the_node_from_which_several_receive_badly() -> None:
    for found, named in (
        ([("leaf01", "Ethernet1/1"), ("leaf02", "Ethernet1/1"), ("leaf03", "Ethernet1/1")], True),
        ([("leaf01", "Ethernet1/1"), ("leaf02", "Ethernet1/1")], False),
        ([("leaf01", "Ethernet1/1"), ("leaf02", "Ethernet1/1"), ("leaf03", "Ethernet1/1"), ("leaf03", "Ethernet2/1")], False),
    ):
        records = [
            {
                "check": "ib_errors_clean",
                "host": node,
                "verdict": "fail",
                "findings": [{"host": node, "severity": "fail", "where": port, "place": at_port(port).record()}],
            }
            for node, port in found
        ]
        name_shared_ways(pod(), records)  # type: ignore[arg-type]
        assert caused(records) == {named}
