# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ports of a node are judged."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.judged_ports import further_lanes, judged_ports


def test_the_further_lanes_of_a_port_are_those_that_are_inactive_after_it() -> None:
    inactive = {"Ethernet3/17/2", "Ethernet3/17/3", "Ethernet3/17/5", "Ethernet3/18/2"}
    assert list(further_lanes("Ethernet3/17/1", inactive)) == [(2, "Ethernet3/17/2"), (3, "Ethernet3/17/3")]
    assert list(further_lanes("Ethernet8", {"Ethernet9"})) == list(further_lanes("mlx5/up", {"mlx5/up"})) == []


def test_judged_are_the_ports_of_the_plan_and_their_further_lanes(plan: t.Any) -> None:
    assert judged_ports(plan, "gpu01") == {"ens0", "ens1"}
    ports = judged_ports(plan, "leaf01")
    assert "Ethernet1" in ports and "Ethernet99" not in ports
    status = [{"port": "Et1", "state": "connected"}, {"port": "Et99", "state": "inactive"}]
    assert judged_ports(plan, "leaf01", status) == ports
