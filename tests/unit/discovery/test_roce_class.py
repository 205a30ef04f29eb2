# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The class of RoCE is proposed where all roles agree on it; what the nodes do not decide is said in words."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.access import access_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.draft import draft_pod
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.inventory_files import inventory_files
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.roce_class import RoceClass, roce_class

from .test_draft import ROLES as DRAFTED
from .test_draft import WHOLE

HOSTS = [f"gpu{number}" for number in range(1, 5)]
LEAVES = [f"leaf{number}" for number in range(1, 5)]
ROLES = {**dict.fromkeys(HOSTS, "host"), **dict.fromkeys(LEAVES, "leaf")}
CABLES = [((host, "eth0"), (leaf, "Ethernet1")) for host, leaf in zip(HOSTS, LEAVES)]
RAILS = {host: [{"netdev": "eth0"}] for host in HOSTS}
Rows = list[dict[str, t.Any]]


def pfc(port: str, *lossless: int) -> Rows:
    return [{"port": port, "priority": number, "pfc": number in lossless} for number in range(8)]


def host(mapped: dict[int, list[int]], *lossless: int) -> dict[str, Rows]:
    return {"pfc_priorities": pfc("eth0", *lossless), "dscp_map": [{"netdev": "eth0", "priority": key, "dscp": own} for key, own in mapped.items()]}


def leaf(mapped: dict[int, list[int]], *lossless: int) -> dict[str, Rows]:
    maps = [{"port": None, "map": "M", "traffic_class": key, "dscp": own} for key, own in mapped.items()]
    # A port that no cable is on is not compared.
    return {"pfc_priorities": [*pfc("Ethernet1", *lossless), *pfc("Ethernet9")], "dscp_classes": maps}


def found(of_host: dict[str, Rows], of_leaf: dict[str, Rows], **others: dict[str, Rows]) -> RoceClass:
    return roce_class(ROLES, {**dict.fromkeys(HOSTS, of_host), **dict.fromkeys(LEAVES, of_leaf), **others}, CABLES, RAILS)


def values(of: RoceClass) -> dict[str, t.Any]:
    return {one.name: one.value for one in of.proposals}


def test_what_hosts_and_leaves_share_is_proposed() -> None:
    result = found(host({4: list(range(32, 40))}, 4), leaf({4: [34], 0: [0]}, 3, 4))
    assert values(result) == {"pod_roce_priority": 4, "pod_other_lossless_priorities": [3], "pod_roce_dscp": 34, "pod_traffic_class": 138}
    assert result.outliers == [] and [words.partition(":")[0] for words in result.undecided] == ["pod_cnp_dscp"]


def test_one_of_several_dscps_is_not_guessed() -> None:
    result = found(host({3: [24, 25, 26]}, 3), leaf({3: [24, 26]}, 3))
    assert values(result) == {"pod_roce_priority": 3}
    assert result.undecided[0] == (
        "pod_roce_dscp: priority 3 is not that of one DSCP at hosts and switches (DSCP 24, 26 lead to it); write the one that jobs use"
    )


def test_where_no_priority_is_lossless_none_is_proposed() -> None:
    result = found(host({3: [26]}), leaf({3: [26]}))
    assert values(result) == {} and "hosts: none; leaves: none); where RoCE is meant to be lossy, write pod_pfc: false" in result.undecided[0]
    result = found(host({3: [26]}, 3), leaf({3: [26]}, 4))
    assert values(result) == {} and "(hosts: 3; leaves: 4)" in result.undecided[0] and "pod_pfc" not in result.undecided[0]


def test_without_a_majority_nobody_is_odd_and_nothing_is_proposed() -> None:
    other = leaf({5: [26], 0: [0]}, 5)
    result = found(host({3: [26]}, 3), leaf({3: [26], 0: [0]}, 3), leaf3=other, leaf4=other)
    assert result.outliers == [] and "PFC: leaves differ, and no value is that of most" in result.undecided
    assert values(result) == {}


def test_a_rail_that_maps_nothing_is_odd() -> None:
    result = found(host({3: [26]}, 3), leaf({3: [26]}, 3), gpu2={**host({}, 3)})
    assert [(one.place, one.words) for one in result.outliers] == [("gpu2", "DSCP map of 0 DSCPs, and of 1 DSCP on 3 of 4 hosts")]
    assert values(result) == {"pod_roce_priority": 3, "pod_roce_dscp": 26}


def test_a_draft_says_in_words_that_nothing_tells_the_class() -> None:
    draft = draft_pod(DRAFTED, WHOLE, "roce")
    text = inventory_files(draft, {}, "pod", access_of({}, {}))["group_vars/all/pod.yml"]
    assert "# - pod_roce_priority, pod_roce_dscp, pod_cnp_dscp: no host or switch reports PFC" in text


def test_what_the_inventory_decided_stands_once_and_is_compared_with_what_was_read() -> None:
    readings = {**WHOLE, "gpu01": {**WHOLE["gpu01"], "dcqcn": [{"netdev": "eth0", "setting": "cnp_dscp", "value": "46"}]}}
    draft = draft_pod(DRAFTED, readings, "roce")
    access = access_of(DRAFTED, {node: {"pod_cnp_dscp": 48} for node in DRAFTED})
    text = inventory_files(draft, {}, "pod", access, ["all"])["group_vars/all/pod.yml"]
    assert text.count("\npod_cnp_dscp:") == 1 and "\npod_cnp_dscp: 48  #" in text
    assert "# - pod_cnp_dscp: the inventory has 48, and 46 was read (of the rails of 1 of 1 host)" in text
