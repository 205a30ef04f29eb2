# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host judges itself as a climb judges it: the same verdicts, findings and words, for every fault of a host."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.types import Envelope
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.layer import verdicts_of_checks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.layer_input import ANSWERED, Layer
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.nic_platforms import NicPlatforms
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.verdicts import Verdict
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check import judging
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.node_plan import load_node_plan, node_plan_text
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.yaml_text import from_yaml
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Pod

FAULTS = Path(__file__).parents[2] / "simulated_pod" / "faults"
ID = "0123456789abcdef0123456789abcdef"
# A host that nobody reaches can still judge itself; and what two hosts have in common is found by a run.
NOT_ITS_OWN = {"host_unreachable", "mac_twice"}


def of_hosts() -> list[str]:
    """The faults of a host in the two layers."""
    found = []
    for path in sorted(FAULTS.glob("*.yml")):
        if path.stem in NOT_ITS_OWN:
            continue
        fault = from_yaml(path.read_text(encoding="utf-8"))
        if fault["expect"]["layer"] in judging.LAYERS and any("host" in change for change in fault["changes"]) and not fault.get("expectations"):
            found.append(path.stem)
    return found


def of_infiniband() -> list[str]:
    """The faults of a host of an InfiniBand fabric in the two layers."""
    found = []
    for path in sorted((FAULTS.parent / "faults_infiniband").glob("*.yml")):
        fault = from_yaml(path.read_text(encoding="utf-8"))
        if fault["expect"]["layer"] in judging.LAYERS and any("host" in change for change in fault["changes"]) and not fault.get("expectations"):
            found.append(path.stem)
    return found


def own(pods: inprocess.Pods, said: list[Layer], node: str, well: Pod | None = None) -> list[Verdict]:
    """A host's verdicts of itself, from what its commands print in each layer; well: the pod when the plan was written."""
    usual = NicPlatforms(pods.plan, inprocess.outcome(pods.plan, well or pods.healthy, "preflight").now).usual_of(str(pods.plan.nodes[node].group))
    mine = load_node_plan(node_plan_text(pods.plan, node, ID, "0.0.0", (), usual), ID)
    now, before = {}, {}
    for layer in said:
        for phase, into in ((layer.now, now), (layer.before, before)):
            into.update(phase[node]["readings"] if node in phase else {})
    envelopes: list[Envelope] = [t.cast("Envelope", {**inprocess.ANSWERED, "readings": readings}) for readings in (now, before)]
    return judging.own_verdicts(mine, *envelopes, inprocess.TODAY)


def climbed(said: list[Layer], node: str) -> list[Verdict]:
    """The verdicts of a climb on one host, but of checks that are about other nodes too."""
    judged = [one for layer in said for one in verdicts_of_checks(layer) if one.host == node]
    return [one for one in judged if one.check == ANSWERED or not REGISTRY[one.layer][one.check].of_pod]


def must_agree(pods: inprocess.Pods, pod: Pod, node: str, well: Pod | None = None) -> list[Verdict]:
    """A host's own verdicts, which are those of a climb."""
    said = [inprocess.outcome(pods.plan, pod, layer) for layer in judging.LAYERS]
    verdicts = own(pods, said, node, well)
    assert compared(verdicts) == compared(climbed(said, node))
    return verdicts


def compared(verdicts: list[Verdict]) -> list[tuple[object, ...]]:
    """What must be equal: all but a cause and a fix that name another node."""
    return [
        (one.layer, one.check, one.verdict, one.words, one.statement, [(str(found.where), found.expected, found.severity) for found in one.findings])
        for one in verdicts
    ]  # fmt: skip


def test_every_host_of_a_healthy_pod_is_well(pods: inprocess.Pods) -> None:
    said = [inprocess.outcome(pods.plan, pods.healthy, layer) for layer in judging.LAYERS]
    for node in pods.plan.groups["rack_01"]:
        verdicts = own(pods, said, node)
        assert [one for one in verdicts if one.verdict not in ("pass", "skip")] == []
        assert sum(one.verdict == "pass" for one in verdicts) > 25


@pytest.mark.parametrize("name", of_hosts())
def test_a_host_judges_a_fault_as_a_climb_does(name: str, pods: inprocess.Pods) -> None:
    pod = pods.pod([name])
    fault = from_yaml((FAULTS / f"{name}.yml").read_text(encoding="utf-8"))
    node = next(change["host"] for change in fault["changes"] if "host" in change)
    must_agree(pods, pod, node if node in pods.plan.nodes else "gpu03")


@pytest.fixture(scope="module")
def fabric(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """A pod of InfiniBand, whose switches are read through its hosts."""
    place = tmp_path_factory.mktemp("fabric")
    expectations = {"pod_name": "small", "pod_fabric_reader": ["gpu01", "gpu05"]}
    return inprocess.Pods(layout.write(place, racks=2, hosts_per_rack=4, spines=4, fabric="infiniband", expectations=expectations))


@pytest.fixture(scope="module")
def ionic(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """A pod whose NICs cannot report all that checks ask for."""
    expectations = from_yaml((FAULTS.parent / "variants" / "ionic.yml").read_text(encoding="utf-8"))["expectations"]
    place = tmp_path_factory.mktemp("ionic")
    return inprocess.Pods(layout.write(place, racks=2, hosts_per_rack=4, spines=4, expectations={"pod_name": "small", **expectations}))


@pytest.mark.parametrize("node", ["gpu01", "gpu02"])
def test_a_host_of_a_fabric_judges_itself_and_not_the_fabric(fabric: inprocess.Pods, node: str) -> None:
    """The first host reads the fabric for all in a climb, and does not here."""
    verdicts = must_agree(fabric, fabric.pod(), node)
    assert [one for one in verdicts if one.verdict not in ("pass", "skip")] == []
    assert sum(one.verdict == "pass" for one in verdicts) > 20


@pytest.mark.parametrize("name", of_infiniband())
def test_a_host_of_a_fabric_judges_a_fault_as_a_climb_does(name: str, fabric: inprocess.Pods) -> None:
    fault = from_yaml((FAULTS.parent / "faults_infiniband" / f"{name}.yml").read_text(encoding="utf-8"))
    must_agree(fabric, fabric.pod([name]), next(change["host"] for change in fault["changes"] if "host" in change))


def test_a_driver_that_cannot_report_all_is_excused_as_in_a_climb(ionic: inprocess.Pods) -> None:
    verdicts = must_agree(ionic, ionic.pod(["ionic"]), "gpu02", ionic.pod(["ionic"]))
    assert [one for one in verdicts if one.verdict not in ("pass", "skip")] == []
    assert [one.check for one in verdicts if one.unavailable]
