# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What breaks the pattern of a pod is an outlier; what only differs by design, or of too few hosts, is none."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.draft import draft_pod
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.outliers import outliers_of

from .test_draft import ROLES, WHOLE

Ends = tuple[tuple[str, str], tuple[str, str]]


def pod(hosts: int = 6, rails: int = 2) -> tuple[dict[str, list[dict[str, t.Any]]], list[Ends]]:
    """Rails and cables of a rail-optimised pod: host N on port N of each leaf."""
    of_hosts, cables = {}, []
    for host in range(1, hosts + 1):
        of_hosts[f"gpu{host}"] = [{"netdev": f"eth{rail}", "leaf": f"leaf{rail}", "address": f"10.{rail}.0.{host}/24"} for rail in range(rails)]
        cables += [((f"gpu{host}", f"eth{rail}"), (f"leaf{rail}", f"Ethernet{host}")) for rail in range(rails)]
    return of_hosts, cables


def plug(cables: list[Ends], host: str, netdev: str, leaf: str, port: str) -> None:
    """Put a host's cable into another port."""
    cables[:] = [((host, netdev), (leaf, port)) if near == (host, netdev) else (near, far) for near, far in cables]


def found(rails: dict[str, list[dict[str, t.Any]]], cables: list[Ends]) -> list[tuple[str, str]]:
    return [(one.place, one.what) for one in outliers_of(rails, cables)]


def test_a_pod_by_its_pattern_has_none() -> None:
    assert found(*pod()) == found(*pod(hosts=12)) == []


def test_swapped_cables_are_both_named_with_their_ports() -> None:
    rails, cables = pod()
    plug(cables, "gpu3", "eth1", "leaf1", "Ethernet4")
    plug(cables, "gpu4", "eth1", "leaf1", "Ethernet3")
    assert found(rails, cables) == [("gpu3:eth1", "port"), ("gpu4:eth1", "port")]
    assert outliers_of(rails, cables)[0].words == "is on leaf1 Ethernet4, where the row of hosts has Ethernet3"


def test_a_host_at_the_end_of_the_row_is_named_alone() -> None:
    rails, cables = pod()
    plug(cables, "gpu2", "eth0", "leaf0", "Ethernet30")
    assert found(rails, cables) == [("gpu2:eth0", "port")]


def test_rails_on_each_others_leaf_are_named_and_no_port_besides() -> None:
    rails, cables = pod()
    for netdev, leaf in (("eth0", "leaf1"), ("eth1", "leaf0")):
        next(rail for rail in rails["gpu5"] if rail["netdev"] == netdev)["leaf"] = leaf
        plug(cables, "gpu5", netdev, leaf, "Ethernet5")
    assert found(rails, cables) == [("gpu5:eth0", "leaf"), ("gpu5:eth1", "leaf")]
    assert outliers_of(rails, cables)[0].words == "rail 0 is on leaf1, and on leaf0 of 5 of 6 hosts"


def test_an_address_of_another_network_is_named() -> None:
    rails, cables = pod()
    rails["gpu2"][1]["address"] = "10.9.0.2/24"
    assert found(rails, cables) == [("gpu2:eth1", "address")]


def test_what_differs_by_design_is_no_outlier() -> None:
    rails, cables = pod()
    for number, (host, own) in enumerate(rails.items()):
        for rail in own:
            # A network of its own for each link, and two racks with leaves of their own.
            rail["address"] = f"10.1.{number}.{int(rail['netdev'][3:]) * 2}/31"
            rail["leaf"] = f"{rail['leaf']}{'ab'[number % 2]}"
            plug(cables, host, rail["netdev"], rail["leaf"], f"Ethernet{number + 1}")
    assert found(rails, cables) == []
    assert found(*pod(hosts=2)) == []


def test_an_order_of_ports_that_no_host_keeps_is_no_pattern() -> None:
    rails, cables = pod()
    for number in range(1, 7):
        plug(cables, f"gpu{number}", "eth0", "leaf0", f"Ethernet{7 - number}")
    assert found(rails, cables) == []


def lldp(host: int, rail: int, port: int) -> dict[str, str]:
    return {"port": f"Et{port}", "neighbor": f"gpu{host:02}", "neighbor_port": f"eth{rail}"}


def test_an_outlier_stays_out_of_the_plan_until_it_is_accepted() -> None:
    names = [f"gpu{number:02}" for number in range(1, 6)]
    roles = {**dict.fromkeys(names, "host"), "leaf01": "leaf", "leaf02": "leaf"}
    readings = {name: {key: rows for key, rows in WHOLE["gpu01"].items() if key != "ip_link"} for name in names}
    ports = {1: 1, 2: 2, 3: 4, 4: 3, 5: 5}
    readings["leaf01"] = {"lldp_neighbors": [lldp(host, 0, port) for host, port in ports.items()]}
    readings["leaf02"] = {"lldp_neighbors": [lldp(host, 1, host) for host in ports]}
    draft = draft_pod(roles, readings, "roce")
    assert [one.place for one in draft.outliers] == ["gpu03:eth0", "gpu04:eth0"] and len(draft.cables) == 8
    assert [draft.rails[name][0]["leaf"] for name in names] == ["leaf01", "leaf01", None, None, "leaf01"]
    assert any(one.endswith("if it is meant so, -e discover_accept=gpu03:eth0") for one in draft.blanks)
    draft = draft_pod(roles, readings, "roce", ("gpu03:eth0", "gpu04:eth0"))
    assert draft.outliers == [] and len(draft.cables) == 10 and draft.rails["gpu03"][0]["leaf"] == "leaf01"
    assert draft_pod(ROLES, WHOLE, "roce").outliers == []
