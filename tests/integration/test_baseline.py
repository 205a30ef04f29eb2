# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod remembers what it measured when it was good."""

from __future__ import annotations

import json

import pytest
import yaml

from .conftest import SMALLEST, Pod

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("baseline")]


@pytest.fixture(scope="module")
def remembered(tmp_path_factory):
    """A pod with a captured baseline, and that baseline."""
    pod = Pod(tmp_path_factory.mktemp("remembered"), **SMALLEST)
    climb = pod.climb(pod_baseline="capture")
    assert climb.rc == 0, climb.output
    return pod, yaml.safe_load((pod.inventory / "baseline.txt").read_text())


@pytest.fixture(scope="module")
def worn(remembered):
    """A climb of that pod after one of its optics has worn."""
    return remembered[0].climb(pod_baseline="compare", simulated_faults="optic_worn")


def test_a_go_becomes_the_reference(remembered) -> None:
    _pod, baseline = remembered
    light, trips = (baseline["measures"][name]["numbers"] for name in ("light_received", "round_trip"))
    assert "gpu06 enp79s0np0 1" in light and all(one["nvidia"] for name, one in light.items() if name.startswith("gpu"))
    assert len(trips) == 6 * 8 and all(one["value"] > 0 for one in trips.values())


def test_an_optic_that_wears_is_named_before_it_fails(worn) -> None:
    assert worn.rc == 0 and worn.not_well() == {"baseline_held": "warn"}, worn.output
    (warned,) = [one for one in worn.report["verdicts"] if one["verdict"] == "warn"]
    assert warned["host"] == "gpu06" and all("gpu06 enp79s0np0" in finding["where"] for finding in warned["findings"]), warned["findings"]
    assert {one["host"] for one in worn.report["verdicts"] if one["check"] == "baseline_held" and one["verdict"] == "pass"} > {"gpu01", "leaf01"}


def test_another_driver_cannot_be_compared(remembered) -> None:
    pod, baseline = remembered
    text = json.dumps(baseline).replace("550.90.07", "535.1")
    (pod.inventory / "older.txt").write_text(text)
    climb = pod.climb("-e", "pod_to_layer=links", pod_baseline="compare", pod_baseline_file="older.txt")
    assert climb.rc == 2 and climb.not_well() == {"baseline_held": "unknown"} and "nvidia 535.1 then and 550.90.07 now" in climb.output


def test_what_is_no_go_becomes_no_reference(remembered) -> None:
    pod, _baseline = remembered
    climb = pod.climb("-e", "pod_to_layer=preflight", pod_baseline="capture", pod_baseline_file="never.txt", pod_gpus_per_host=9)
    assert climb.rc == 2 and "only a go is a reference" in " ".join(climb.output.split()) and not (pod.inventory / "never.txt").exists()


def test_two_runs_are_compared(remembered, worn) -> None:
    pod, baseline = remembered
    old = pod.runs / "small" / baseline["run"]
    result = pod.playbook(playbook="playbooks/compare.yml", compare_old=str(old), compare_new=str(worn.run))
    assert result.rc == 0 and "The lowest layer that got worse is links" in result.output and "light_received of gpu06 enp79s0np0" in result.output, (
        result.output
    )
    refused = pod.playbook(playbook="playbooks/compare.yml", compare_old=str(pod.inventory), compare_new=str(old))
    assert refused.rc == 2 and "argument 'old' must be a run's directory" in refused.output
