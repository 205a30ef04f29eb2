# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The switch that several links share which are down."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import SLOW, WAITS, at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.shared_ends import name_shared_ends
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import Cable, CableEnd
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Node, Plan

HOSTS = ("gpu01", "gpu02", "gpu03")
LEAVES, SPINES = ("leaf01", "leaf02", "leaf03", "leaf04"), ("spine01", "spine02")


def pod() -> Plan:
    """Four leaves, each with a cable to each of two spines, and three hosts, each with a cable to each of two leaves."""
    nodes = {name: Node(name, "leaf" if name in LEAVES else "spine", "eos", None, {"pod_rails": [], "pod_fabric": "roce"}) for name in (*LEAVES, *SPINES)}
    cables = [
        Cable(CableEnd(leaf, f"Ethernet3{up}/1"), CableEnd(spine, f"Ethernet{down}"), "optic", 30, 0)
        for down, leaf in enumerate(LEAVES, 1) for up, spine in enumerate(SPINES, 1)
    ]  # fmt: skip
    nodes |= {name: Node(name, "host", "linux", "rack_01", {"pod_rails": [], "pod_fabric": "roce"}) for name in HOSTS}
    rails = [Cable(CableEnd(leaf, f"Ethernet{host[-1]}/1"), CableEnd(host, f"ens{leaf[-1]}"), "copper", 2, 0) for host in HOSTS for leaf in LEAVES[:2]]
    return Plan(nodes, {"rack_01": list(HOSTS)}, [*cables, *rails])


def blamed(*down: tuple[str, str], state: str = WAITS, **actual: str) -> dict[str, t.Any]:
    """Where the finding of each node began and whether it has a cause of its own; down: leaf and spine of links; actual: what a node says of its port."""
    found: dict[str, list[dict[str, t.Any]]] = {}
    for leaf, spine in down:
        for node, port in ((leaf, f"Ethernet3{spine[-1]}/1"), (spine, f"Ethernet{leaf[-1]}")):
            finding = {"host": node, "severity": "fail", "actual": actual.get(node, "notconnect"), "place": at_port(port, state=state).record(), "where": port}
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


def test_the_switch_whose_links_are_all_slow() -> None:
    found = blamed(*((leaf, "spine01") for leaf in LEAVES[:3]), state=SLOW, **dict.fromkeys(LEAVES, "connected at 200 Gb/s (to spine01)"))
    assert found.pop("spine01") is True and found["leaf02"] == ("spine01", "Ethernet2")
    # One that is down at one end and slow at the other is not the same at both; two may be bad at once.
    assert set(blamed((LEAVES[0], "spine01"), (LEAVES[1], "spine01"), state=SLOW).values()) == {False}


def of_hosts(*down: tuple[str, str], **actual: str) -> list[tuple[str, bool]]:
    """The leaf's ports to hosts that are down, and whether its finding there has a cause of its own."""
    found: dict[str, list[dict[str, t.Any]]] = {}
    for leaf, host in down:
        place = at_port(f"Ethernet{host[-1]}/1", state="" if leaf in actual else WAITS)
        finding = {"host": leaf, "severity": "fail", "actual": actual.get(leaf, "notconnect"), "place": place.record(), "where": str(place)}
        found.setdefault(leaf, []).append(finding)
    name_shared_ends(pod(), [{"check": "port_speed", "host": leaf, "findings": its} for leaf, its in found.items()])  # type: ignore[typeddict-item]
    return [(leaf, "3 of 3 links of leaf01 to hosts" in str(one.get("cause"))) for leaf, its in found.items() for one in its]


def test_the_leaf_that_links_of_several_hosts_share() -> None:
    three = [("leaf01", host) for host in HOSTS]
    assert of_hosts(*three) == [("leaf01", True)] * 3
    assert of_hosts(*three[:2]) == [("leaf01", False)] * 2, "two cables may be bad at once"
    assert of_hosts(*three, leaf01="disabled") == [("leaf01", False)] * 3, "the port says so itself"
    assert of_hosts(*three, ("leaf02", "gpu01"))[:3] == [("leaf01", False)] * 3, "a host of which all links are down may be off"
