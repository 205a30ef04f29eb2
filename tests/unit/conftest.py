# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small plan for tests of the engine: two racks of two hosts, two leaves of one rail each, two spines."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import Cable, CableEnd
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Node, Plan

GROUPS = {"rack_01": ["gpu01", "gpu02"], "rack_02": ["gpu03", "gpu04"]}


def _rail(host: int, rail: int) -> dict[str, t.Any]:
    return {"device": f"mlx5_{rail}", "netdev": f"ens{rail}", "gpu": rail, "leaf": f"leaf0{rail + 1}", "address": f"10.5{rail}.0.{host}/24"}


def _leaf_end(leaf: int, spine: int) -> CableEnd:
    return CableEnd(f"leaf0{leaf}", f"Ethernet{32 + spine}", f"10.0.{spine}.{2 * leaf}")


def small_plan(**values: t.Any) -> Plan:
    """The plan, with some expectations."""
    nodes, cables = {}, []
    for number in range(1, 5):
        rails = [_rail(number, rail) for rail in range(2)]
        group = "rack_01" if number < 3 else "rack_02"
        nodes[f"gpu0{number}"] = Node(f"gpu0{number}", "host", "linux", group, {**DEFAULTS, "pod_gate_groups": list(GROUPS), **values, "pod_rails": rails})
        cables += [Cable(CableEnd(f"gpu0{number}", f"ens{rail}"), CableEnd(f"leaf0{rail + 1}", f"Ethernet{number}"), "dac", 2, 0) for rail in range(2)]
    for leaf in (1, 2):
        nodes[f"leaf0{leaf}"] = Node(f"leaf0{leaf}", "leaf", "eos", None, {**DEFAULTS, **values, "pod_rails": []}, 65100 + leaf)
        cables += [
            Cable(_leaf_end(leaf, spine), CableEnd(f"spine0{spine}", f"Ethernet{leaf}", f"10.0.{spine}.{2 * leaf + 1}"), "optic", 30, 0)
            for spine in (1, 2)
        ]  # fmt: skip
    for spine in (1, 2):
        nodes[f"spine0{spine}"] = Node(f"spine0{spine}", "spine", "sonic", None, {**DEFAULTS, **values, "pod_rails": []}, 65000)
    return Plan(nodes, {name: list(hosts) for name, hosts in GROUPS.items()}, cables)


@pytest.fixture
def plan() -> Plan:
    """The small plan with its defaults."""
    return small_plan()
