# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods without a switch: hosts cabled straight to each other, rail by rail."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.opening import Inventory, Refused, prepare

PEER = {"gpu01": "gpu02", "gpu02": "gpu01"}
HEAD = "a_node,a_port,b_node,b_port,medium,length_m\n"


def straight(leaf_of: dict[str, str], leaves: tuple[str, ...] = ()) -> Inventory:
    """Two hosts of one rail each, in one gate group."""
    common = {**DEFAULTS, "pod_topology": "rail_only", "pod_gate_groups": ["rack_01"]}
    hosts = {host: {**common, "pod_rails": [{"device": "mlx5_0", "netdev": "rail0", "gpu": 0, "leaf": leaf_of[host]}]} for host in PEER}
    switches = {leaf: {**common, "pod_platform": "eos"} for leaf in leaves}
    return Inventory({"gpu_hosts": list(PEER), "rack_01": list(PEER), "leaves": list(leaves)}, {**hosts, **switches})


def test_hosts_may_be_cabled_straight_to_each_other() -> None:
    plan, _waivers = prepare(straight(PEER), HEAD + "gpu01,rail0,gpu02,rail0,dac,1\n")
    assert plan.behind("gpu01") == {"rack_01"}
    assert [cable["peer"] for cable in plan.planned("gpu01")["pod_cables"]] == ["gpu02"]


def test_rails_of_one_number_on_two_leaves_are_refused() -> None:
    inventory = straight({"gpu01": "leaf01", "gpu02": "leaf02"}, ("leaf01", "leaf02"))
    with pytest.raises(Refused) as refused:
        prepare(inventory, HEAD + "gpu01,rail0,leaf01,Ethernet1,dac,1\ngpu02,rail0,leaf02,Ethernet1,dac,1\n")
    assert refused.value.reasons == ["rail 0 of rack_01 lands on two leaves: leaf01 (gpu01) and leaf02 (gpu02)"]


@pytest.mark.parametrize(("pod", "host"), [("../elsewhere", "gpu01"), ("", "gpu01"), ("pod", "../gpu01"), ("pod", ".ssh"), ("pod", "gpu01\n")])
def test_a_name_that_leads_elsewhere_is_refused(pod: str, host: str) -> None:
    given = Inventory({"gpu_hosts": [host], "rack_01": [host]}, {host: {"pod_name": pod, "pod_gate_groups": ["rack_01"]}})
    with pytest.raises(Refused, match="letters, digits and"):
        prepare(given, "")
