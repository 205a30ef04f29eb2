# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many pods judged in process: healthy ones with other noise, healthy variants, and faults together."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.yaml_text import from_yaml
from ansible_collections.gpufabric.pyramid.tests.chaos import noise
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout, model

from .conftest import ROOT, Pod, alike, more

HERE = ROOT / "tests" / "simulated_pod"
EVERY = {path.stem: from_yaml(path.read_text()) for path in sorted((HERE / "faults").glob("*.yml"))}
# What needs real loads is not judged in process.
FAULTS = {name: fault for name, fault in EVERY.items() if not fault.get("loads")}
VARIANTS = {path.stem: from_yaml(path.read_text()) for path in sorted((HERE / "variants").glob("*.yml"))}
# What needs real processes, other expectations, or hides a whole node is not mixed.
# A boot is found by what keeps the responses of a run, which is not part of judging a layer.
MIXED = [
    name
    for name, fault in FAULTS.items()
    if not (
        {"processes", "expectations"} & set(fault)
        or "unreachable" in str(fault["changes"])
        or "'*'" in str(fault["changes"])
        or "boots_after" in str(fault["changes"])
    )
]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pod of two racks of four hosts."""
    return layout.write(tmp_path_factory.mktemp("small"), racks=2, hosts_per_rack=4, spines=4, expectations={"pod_name": "small"})


def findings(directory: Path, names: list[str], seed: int = 1) -> dict[str, set[str]]:
    """Checks that are not well, by layer; every layer is judged, as if its gates were open."""
    plan, pod = inprocess.pod_of(directory, names, seed)
    return {
        layer: {one.check for one in inprocess.judge(plan, pod, layer) if one.verdict not in ("pass", "skip")} for layer in inprocess.LAYERS
    }  # fmt: skip


@pytest.mark.parametrize("seed", [2, more(5), *map(alike, (0, 1, 3, 4, 6))])
def test_a_healthy_pod_with_noise_has_no_finding(seed: int, tmp_path: Path) -> None:
    """One of each shape; ``python -m tests.chaos.noise 200`` climbs as many as it is given."""
    words, found = noise.Climber(tmp_path).findings(seed)
    assert found == [], words


@pytest.mark.exhaustive
def test_noise_is_in_force_and_a_fault_in_it_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    climber = noise.Climber(tmp_path)
    add = noise.add_noise

    def add_a_fault(pod: model.Pod, random_: random.Random) -> None:
        before = repr(pod)
        add(pod, random_)
        assert repr(pod) != before
        pod.hosts["gpu06"].rails[0].rx_power_dbm = [-9.0, 0.1, 0.2, 0.1]

    monkeypatch.setattr(noise, "add_noise", add_a_fault)
    _words, found = climber.findings(2)
    assert [one for one in found if "optic_rx_power fail on gpu06" in one], found


@pytest.mark.parametrize("name", VARIANTS)
def test_a_healthy_variant_stays_green(name: str, tmp_path) -> None:
    expectations = VARIANTS[name].get("expectations", {})
    directory = layout.write(tmp_path, racks=2, hosts_per_rack=4, spines=4, expectations={"pod_name": "variant", **expectations})
    plan, pod = inprocess.pod_of(directory, [name])
    _same, healthy = inprocess.pod_of(directory)
    assert pod != healthy or {rail.device for rail in pod.hosts["gpu01"].rails}.isdisjoint({"mlx5_0"}), "the variant is not in force"
    for layer in inprocess.LAYERS:
        verdicts = inprocess.judge(plan, pod, layer)
        assert not [(one.check, one.words, one.findings) for one in verdicts if one.verdict not in ("pass", "skip")]
        assert set(inprocess.decide(plan, verdicts, layer).values()) == {"open"}


def test_a_limit_of_a_sites_own_job_service_is_found(tmp_path: Path) -> None:
    """One that is on no host is not told from none at all."""
    expectations = VARIANTS["jobs_of_pbs"]["expectations"]
    plan, pod = inprocess.pod_of(layout.write(tmp_path, racks=1, hosts_per_rack=3, spines=1, expectations={"pod_name": "pbs", **expectations}), ["jobs_of_pbs"])
    pod.hosts["gpu02"].memlock = "8388608"
    pod.hosts["gpu03"].job_services = ["slurmd.service"]
    found = {
        (one.host, one.verdict): (one.words, [str(two.where) for two in one.findings])
        for one in inprocess.judge(plan, pod, "preflight")
        if one.check == "job_limits"
    }
    assert found["gpu02", "fail"][1] == ["pbs.service"] and ("gpu01", "pass") in found and ("gpu03", "unknown") in found


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [*range(2), *map(alike, range(2, 12))])
def test_faults_together_are_reported_whole(seed: int, small: Path) -> None:
    chosen = random.Random(seed).sample(MIXED, 4)
    found = findings(small, chosen)
    for name in chosen:
        expected = FAULTS[name]["expect"]
        if overridden(name, chosen):
            continue
        assert set(expected["checks"]) <= found[expected["layer"]], (name, chosen)


def overridden(name: str, chosen: list[str]) -> bool:
    """Whether a later fault of the choice sets or silences the same thing."""
    later = chosen[chosen.index(name) + 1 :]
    mine = FAULTS[name]["changes"]
    theirs = [change for one in later for change in FAULTS[one]["changes"]]
    tools = [change for one in chosen if one != name for change in FAULTS[one]["changes"] if "tool" in change]
    same = any(set(a.get("set", {})) & set(b.get("set", {})) or "present" in b.get("set", {}) or "listed" in b.get("set", {}) for a in mine for b in theirs)
    return same or bool(tools)


def test_a_fault_that_does_not_exist_opens_no_run_and_accuses_no_node(tmp_path: Path) -> None:
    climb = Pod(tmp_path, racks=1, hosts_per_rack=1, spines=1).climb(simulated_faults="port_at_10g,xid_79@gpu01")
    assert climb.rc and climb.run is None
    assert "no fault, variant or incident is called 'port_at_10g'; near it are port_at_100g" in climb.output
    assert "Log in by hand" not in climb.output and "'xid_79'" not in climb.output
