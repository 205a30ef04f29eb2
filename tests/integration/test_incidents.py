# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documented incidents: the first finding names the culprit in words that a fix follows from, and no healthy node is accused.

Each alone in process, and some as whole playbooks. One of which the answer is known to be wrong must fail until it is mended.
"""

from __future__ import annotations

import typing as t
from collections import Counter
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import answers, incidents, inprocess, model, stack

from .conftest import Climb, Pod, more

EVERY = incidents.every()
# Whole playbooks: this one is of `make exhaustive`, the others are long.
ALWAYS = ("acs_redirects_halve_nccl",)
SHORT = {
    "pod_idle_seconds": 1, "pod_incast_seconds": 1, "pod_write_bw_seconds": 1, "pod_load_setup_seconds": 8, "pod_load_lead_seconds": 1,
    "pod_load_tick_seconds": 5,
}  # fmt: skip


# Of so many of each layer, and of those that are no fault, `make test` shows that they still end as they should, and `make exhaustive`.
OF_A_LAYER, MORE_OF_A_LAYER = 1, 4


def some_of_each_layer(number: int) -> set[str]:
    """The first few documented incidents by name of each layer at which one is found, and of those at which nothing is."""
    found: dict[str | None, list[str]] = {}
    for name, one in sorted(EVERY.items()):
        if not one.long and not one.constructed:
            found.setdefault(one.expect.first.layer if one.expect.first else None, []).append(name)
    return {name for names in found.values() for name in names[:number]}


FEW, MORE = some_of_each_layer(OF_A_LAYER), some_of_each_layer(MORE_OF_A_LAYER)


def cases(names: t.Iterable[str], always: t.Container[str], often: t.Container[str]) -> t.Iterator[t.Any]:
    """Incidents as cases of a test: which of them `make test` and `make exhaustive` run; one with a known gap must fail."""
    for name in names:
        gap = EVERY[name].known_gap
        marks = [pytest.mark.xfail(strict=True, reason=gap, raises=AssertionError)] if gap else []
        marks += [] if name in always else [pytest.mark.exhaustive] if name in often else [pytest.mark.exhaustive, pytest.mark.long]
        yield pytest.param(name, marks=marks)


@pytest.fixture(scope="module")
def climber(tmp_path_factory: pytest.TempPathFactory) -> incidents.Climber:
    return incidents.Climber(tmp_path_factory.mktemp("incidents"))


@pytest.mark.parametrize("name", cases(EVERY, FEW, MORE))
def test_an_incident_ends_with_its_culprit(name: str, climber: incidents.Climber) -> None:
    assert climber.deviations(EVERY[name]) == []


@pytest.mark.parametrize("name", cases((name for name, one in EVERY.items() if one.playbook), (), ALWAYS))
def test_a_whole_playbook_ends_with_the_culprit(name: str, tmp_path: Path) -> None:
    incident = EVERY[name]
    pod = Pod(tmp_path / "unused")
    pod.inventory, pod.runs = tmp_path / "inventory", tmp_path / "runs"
    incident.inventory(pod.inventory, pod_runs_dir=str(pod.runs), **SHORT)
    climb: Climb = pod.climb("-e", f"simulated_faults={name}")
    assert climb.report is not None, climb.output
    assert incidents.deviations(incident, climb.report, inprocess.Pods(pod.inventory).plan.nodes) == [], climb.output
    if incident.expect.first is not None:
        assert incident.expect.first.node in climb.output


def test_the_suite_covers_every_layer_and_what_must_stay_green() -> None:
    layers = Counter(one.expect.first.layer for one in EVERY.values() if one.expect.first is not None)
    assert {layer for layer in LAYERS if layers[layer] < 5} == set()
    assert len(EVERY) >= 40 and sum(one.expect.first is None for one in EVERY.values()) >= 8
    assert sum(one.playbook for one in EVERY.values()) >= 12 and set(ALWAYS) <= {name for name, one in EVERY.items() if one.playbook}
    assert [name for name, one in EVERY.items() if not (one.source.startswith("https://") and one.title and one.story and one.environment)] == []
    assert [name for name, one in EVERY.items() if one.expect.first and one.expect.first.node not in one.expect.accused] == []


@pytest.mark.parametrize("name", [name if name in FEW else more(name) for name, one in EVERY.items() if one.expect.first is None])
def test_a_look_alike_is_in_force(name: str, climber: incidents.Climber) -> None:
    incident = EVERY[name]
    pods = climber.pods_of(incident)
    healthy, changed = pods.pod(), pods.pod([name])
    differ = [node for node in pods.plan.nodes if tells(pods, healthy, node) != tells(pods, changed, node)]
    assert differ or incident.expectations, "nothing tells it from the healthy pod, so that it proves nothing"


def tells(pods: inprocess.Pods, pod: model.Pod, node: str) -> list[object]:
    """What a node prints, and how its ranks run."""
    of_host = [answers.scripts(pod.hosts[node]), stack.state(pod.hosts[node])] if node in pod.hosts else []
    return [answers.of_node(pod, pods.plan, node), *of_host]
