# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The switch that several links share which are down at both ends."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.shared_ends import name_shared_ends
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import Cable, CableEnd
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Node, Plan

LEAVES, SPINES = ("leaf01", "leaf02", "leaf03", "leaf04"), ("spine01", "spine02")


def pod() -> Plan:
    """Four leaves, each with a cable to each of two spines."""
    nodes = {name: Node(name, "leaf" if name in LEAVES else "spine", "eos", None, {"pod_rails": [], "pod_fabric": "roce"}) for name in (*LEAVES, *SPINES)}
    cables = [
        Cable(CableEnd(leaf, f"Ethernet3{up}/1"), CableEnd(spine, f"Ethernet{down}"), "optic", 30, 0)
        for down, leaf in enumerate(LEAVES, 1) for up, spine in enumerate(SPINES, 1)
    ]  # fmt: skip
    return Plan(nodes, {}, cables)


def blamed(*down: tuple[str, str], **actual: str) -> dict[str, t.Any]:
    """Where the finding of each node began and whether it has a cause of its own; down: leaf and spine of links; actual: what a node says of its port."""
    found: dict[str, list[dict[str, t.Any]]] = {}
    for leaf, spine in down:
        for node, port in ((leaf, f"Ethernet3{spine[-1]}/1"), (spine, f"Ethernet{leaf[-1]}")):
            finding = {"host": node, "severity": "fail", "actual": actual.get(node, "notconnect"), "place": at_port(port).record(), "where": port}
            found.setdefault(node, []).append(finding)
    name_shared_ends(pod(), [{"check": "port_speed", "host": node, "findings": findings} for node, findings in found.items()])  # type: ignore[typeddict-item]
    return {node: its[0].get("began_at") or bool(its[0].get("cause")) for node, its in found.items()}


def test_the_switch_that_several_links_share() -> None:
    three = [(leaf, "spine01") for leaf in LEAVES[:3]]
    found = blamed(*three)
    assert found.pop("spine01") is True
    assert found == {leaf: ("spine01", f"Ethernet{number}") for number, leaf in enumerate(LEAVES[:3], 1)}


def test_what_is_not_shared_by_one_switch() -> None:
    three = [(leaf, "spine01") for leaf in LEAVES[:3]]
    # Two cables may be bad at once; a leaf of which both uplinks are down may be at fault itself; a port that is shut says so at its own end.
    assert set(blamed(*three[:2]).values()) == {False}
    assert set(blamed(*three, ("leaf01", "spine02")).values()) == {False}
    assert set(blamed(*three, spine01="disabled").values()) == {False}
