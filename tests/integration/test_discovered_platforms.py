# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod of each platform is discovered from addresses and platforms alone, its proposals are accepted, and the draft is validated to a go."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.draft import Draft
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.measured import measured
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.reader import RunReader
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import changes, inprocess, layout, surveyed, wiring

from .conftest import alike, more, not_well

pytestmark = pytest.mark.exhaustive

CONTAINERS = {"pod_container_runtime": "docker", "pod_container_image": "nvcr.io/nvidia/pytorch:25.10-py3", "pod_nccl_tests_dir": "/opt/nccl-tests/build"}
# What the inventory that discovers has besides addresses and platforms.
DECIDED: dict[str, dict[str, t.Any]] = {"containers": CONTAINERS}
# Arguments of ``layout.write``, and the variants in force; a variant's own expectations are those of the pod as it was built.
PLATFORMS: dict[str, tuple[dict[str, t.Any], list[str]]] = {
    "connectx": ({}, []),
    "sonic_leaves": ({"leaf_platform": "sonic"}, []),
    "leaves_of_racks": ({"leaves_of_racks": True}, []),
    "ipv6": ({"ipv6": True}, []),
    "channels": ({"members": 2}, []),
    "bonds": ({"bonds": True}, []),
    "bonds_under_sonic": ({"bonds": True, "leaf_platform": "sonic"}, []),
    "bonds_of_one_leaf": ({"bonds": True, "one_leaf": True}, []),
    "two_nic_planes": ({"nic_planes": 2}, []),
    "four_nic_planes": ({"nic_planes": 4, "spines": 4}, []),
    "ospf": ({"expectations": {"pod_underlay": "ospf"}}, []),
    "infiniband": ({"fabric": "infiniband", "expectations": {"pod_fabric_reader": ["gpu01", "gpu04"]}}, []),
    "inbox_mlx5": ({}, ["inbox_mlx5"]),
    "thor2": ({}, ["thor2"]),
    "ionic": ({}, ["ionic"]),
    "nvl72": ({}, ["gb200_trays"]),
    "containers": ({}, ["containers"]),
    "pcie_boards": ({}, ["pcie_boards"]),
    "mtu_9216": ({}, ["mtu_9216"]),
    "mtu_4200": ({}, ["mtu_4200"]),
    "dmabuf": ({}, ["dmabuf"]),
    "arp_alone_tells": ({}, ["arp_alone_tells"]),
    "rails_renamed": ({}, ["rails_renamed"]),
    "guests": ({}, ["guests"]),
    "vrf": ({}, ["rails_in_vrf"]),
    "evpn_eos": ({}, ["rails_in_evpn"]),
    "evpn_sonic": ({"leaf_platform": "sonic"}, ["rails_in_evpn"]),
    "without_spines": ({"spines": 0, "expectations": {"pod_topology": "rail_only", "pod_underlay": "none"}}, []),
}


# The class of RoCE of every pod of Ethernet; the drivers of these report no DSCP of CNPs.
CLASS = {"pod_roce_priority": 3, "pod_roce_dscp": 26, "pod_cnp_dscp": 48}
MUTE_ABOUT_CNP = ("thor2", "ionic")


def _class_proposed(draft: Draft) -> dict[str, t.Any]:
    return {one.name: one.value for one in draft.proposals if one.name in (*CLASS, "pod_other_lossless_priorities", "pod_traffic_class")}


# What differs in kind: leaves, links, fabric, GPUs. The others are these with one more value.
OFTEN, MORE = ("connectx", "sonic_leaves", "infiniband"), ("bonds", "nvl72")
OTHERS = [*map(more, MORE), *(alike(name) for name in PLATFORMS if name not in OFTEN + MORE)]


@pytest.mark.parametrize("name", [*OFTEN, *OTHERS])
def test_a_discovered_pod_is_a_go(name: str, tmp_path: Path) -> None:
    shape, variants = PLATFORMS[name]
    of_variants = {key: value for one in variants for key, value in changes.known()[one].get("expectations", {}).items()}
    values = {"pod_name": "built", "pod_to_layer": "training", **of_variants, **shape.get("expectations", {})}
    built = layout.write(tmp_path / "built", **{"racks": 2, "hosts_per_rack": 3, "spines": 2, **shape, "expectations": values})
    plan, pod = inprocess.pod_of(built, variants)

    draft = surveyed.discover(pod, plan, tmp_path / "draft", shape.get("fabric", "roce"), ["all"], DECIDED.get(name, {}))
    assert not draft.outliers, draft.outliers
    told = CLASS if name not in MUTE_ABOUT_CNP else {key: value for key, value in CLASS.items() if key != "pod_cnp_dscp"}
    assert _class_proposed(draft) == ({} if name == "infiniband" else told)
    assert [words.partition(":")[0] for words in draft.undecided] == (["pod_cnp_dscp"] if name in MUTE_ABOUT_CNP else [])
    pods = inprocess.Pods(tmp_path / "draft")
    drafted = next(iter(pods.plan.nodes.values())).values
    assert {key: drafted[key] for key in DECIDED.get(name, {})} == DECIDED.get(name, {})
    pods.wiring = wiring.load(built)
    report = pods.climb(pods.pod(variants), tmp_path / "run")
    # No step time is expected of a pod that was just discovered; whatever else was measured is shown beside what it is held to.
    assert [check for check, own in measured(RunReader(tmp_path / "run")).items() if own["limit"] is None and check != "training/step_time_expected"] == []
    assert report["verdict"] == "go" and not_well(report) == {}, (report["reasons"], not_well(report), draft.blanks)


@pytest.mark.parametrize(
    ("fault", "places"),
    [
        ("eos_maps_dscp_elsewhere", {"leaf03": "DSCP map DSCP 26 to priority 1, and DSCP 26 to priority 3 on 7 of 8 leaves"}),
        ("pfc_on_two_priorities", {"gpu03:enp79s0np0": "PFC on priority 3, 4, and on priority 3 on 7 of 8 hosts"}),
    ],
)
def test_a_node_of_another_class_is_odd_and_its_value_is_not_proposed(fault: str, places: dict[str, str], tmp_path: Path) -> None:
    built = layout.write(tmp_path / "built", racks=2, hosts_per_rack=4, spines=4, expectations={"pod_name": "built"})
    plan, pod = inprocess.pod_of(built, [fault])
    draft = surveyed.discover(pod, plan, tmp_path / "draft", "roce")
    assert {one.place: one.words for one in draft.outliers} == places and _class_proposed(draft) == CLASS
    text = (tmp_path / "draft" / "group_vars" / "all" / "pod.yml").read_text(encoding="utf-8")
    assert "\n# pod_roce_dscp: 26  # " in text and "\npod_roce_dscp" not in text
    assert all(f"# - {place}: {words}; if it is meant so, -e discover_accept={place}" in text for place, words in places.items())
    # No cable and no rail is left out with it, and all that is proposed stays proposed, whoever accepts the place.
    assert len(draft.cables) == len(plan.cables) and all(rail["leaf"] for rails in draft.rails.values() for rail in rails)
    draft = surveyed.discover(pod, plan, tmp_path / "accepted", "roce", list(places))
    assert draft.outliers == [] and _class_proposed(draft) == CLASS
