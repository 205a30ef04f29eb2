# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of one host: what it holds, and whom it refuses."""

from __future__ import annotations

import datetime
import json

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.waivers import Waiver
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.node_plan import Refused, drain_max, load_node_plan, node_plan_text
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.usual_drivers import UsualDrivers
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused as RunRefused
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess

ID = "0123456789abcdef0123456789abcdef"
OTHER = "fedcba9876543210fedcba9876543210"


def text_of(pods: inprocess.Pods, *accepted: Waiver) -> str:
    """The plan of gpu03."""
    return node_plan_text(pods.plan, "gpu03", ID, "1.2.3", accepted, "mlx5_core")


def test_a_plan_is_about_its_host_alone(pods: inprocess.Pods) -> None:
    own = Waiver("mtu", "gpu03", "enp24s0np0", "new switch", datetime.date(2030, 1, 2))
    other = Waiver("mtu", "gpu04", "enp24s0np0", "new switch", datetime.date(2030, 1, 2))
    mine = load_node_plan(text_of(pods, own, other), ID)
    assert (mine.node, mine.pod, mine.version, mine.usual_driver, mine.drain_max) == ("gpu03", "small", "1.2.3", "mlx5_core", 1)
    assert mine.waivers == (own,)
    assert mine.values == pods.plan.nodes["gpu03"].values
    assert mine.plan.groups == {"rack_01": ["gpu03"]}
    assert mine.plan.at["gpu03"] == pods.plan.at["gpu03"]
    assert {node.name for node in mine.plan.nodes.values() if node.kind == "host"} == {"gpu03"}


def test_the_same_plan_is_the_same_text(pods: inprocess.Pods) -> None:
    assert text_of(pods) == text_of(pods)


@pytest.mark.parametrize("machine_id", [OTHER, ""])
def test_another_hosts_plan_is_refused(pods: inprocess.Pods, machine_id: str) -> None:
    with pytest.raises(Refused, match=f"the plan is of gpu03 with machine id {ID}, and this host has {machine_id or 'none'}"):
        load_node_plan(text_of(pods), machine_id)


def test_a_plan_that_was_changed_is_refused(pods: inprocess.Pods) -> None:
    document = json.loads(text_of(pods))
    document["host"][3]["pod_mtu"] = 1500
    with pytest.raises(Refused, match="was changed since it was written"):
        load_node_plan(json.dumps(document), ID)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"digest": "a"}', "no JSON"])
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="the plan cannot be read"):
        load_node_plan(text, ID)


def test_a_plan_of_another_format_is_refused(pods: inprocess.Pods) -> None:
    with pytest.raises(Refused, match="the plan has format 3, and this program reads 2"):
        load_node_plan(json.dumps({**json.loads(text_of(pods)), "format": 3}), ID)


@pytest.mark.parametrize(("hosts", "percent", "most"), [(1, 2, 1), (49, 2, 1), (99, 2, 1), (100, 2, 2), (2048, 2, 40), (8, 100, 8), (1000, 0.05, 1)])
def test_a_share_of_the_hosts_may_be_drained_and_one_in_any_case(hosts: int, percent: float, most: int) -> None:
    assert drain_max(hosts, percent) == most


def rows(pods: inprocess.Pods, host: str, driver: str, version: str) -> list[dict[str, str]]:
    """The drivers of a host's rails, all alike."""
    return [{"netdev": rail["netdev"], "driver": driver, "version": version} for rail in pods.plan.nodes[host].values["pod_rails"]]


def test_the_driver_of_most_hosts_is_usual(pods: inprocess.Pods) -> None:
    found = {host: rows(pods, host, *(("ionic", "1.0") if host != "gpu04" else ("mlx5_core", "24.10-1.1.4"))) for host in pods.plan.groups["rack_01"]}
    assert UsualDrivers(pods.plan, found).of("gpu04") == "ionic"


def test_a_driver_that_cannot_report_all_is_not_usual_by_one_host(pods: inprocess.Pods) -> None:
    with pytest.raises(RunRefused) as refused:
        UsualDrivers(pods.plan, {"gpu03": rows(pods, "gpu03", "ionic", "1.0")}).of("gpu03")
    assert refused.value.reasons == [
        "the driver of most rails of rack_01 is not known: 1 of its 4 hosts were read; name all of the group with --limit"
    ]  # fmt: skip


def test_a_driver_that_reports_all_needs_no_other_host(pods: inprocess.Pods) -> None:
    assert UsualDrivers(pods.plan, {"gpu03": rows(pods, "gpu03", "mlx5_core", "24.10-1.1.4")}).of("gpu03") == "mlx5_core"
