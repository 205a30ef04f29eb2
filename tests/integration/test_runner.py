# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-runner runs the pyramid from a private data directory, as an AWX job does."""

from __future__ import annotations

import json
import os
import re
import sys
import typing as t
from pathlib import Path

import ansible_runner
import pytest

from tests.simulated_pod import layout

ROOT = Path(__file__).parents[2]


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A private data directory: this checkout as the project, an inventory of its own."""
    directory = tmp_path / "job"
    (directory / "inventory").mkdir(parents=True)
    (directory / "project").symlink_to(ROOT)
    layout.write(directory / "inventory", racks=2, hosts_per_rack=2, spines=2)
    return directory


def climb(private: Path, **extravars: t.Any) -> tuple[ansible_runner.Runner, dict[str, t.Any]]:
    """The finished job, and the artifacts that its last event carries, which AWX shows and hands to a workflow."""
    run = ansible_runner.run(
        private_data_dir=str(private),
        playbook="playbooks/validate.yml",
        extravars={"pod_to_layer": "preflight", "pod_runs_dir": str(private / "runs"), **extravars},
        envvars={"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        quiet=True,
    )
    events = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(run.config.artifact_dir, "job_events").glob("*.json"))]
    stats = [event["event_data"] for event in events if event["event"] == "playbook_on_stats"]
    assert len(stats) == 1, Path(run.config.artifact_dir, "stdout").read_text(encoding="utf-8")
    return run, stats[0].get("artifact_data", {})


@pytest.mark.exhaustive
def test_a_healthy_pod_is_a_successful_job(private: Path) -> None:
    run, artifacts = climb(private)
    assert (run.status, run.rc) == ("successful", 0)
    assert artifacts["pyramid_verdict"] == "go"
    assert artifacts["pyramid_up_to_layer"] == "preflight"
    assert artifacts["pyramid_closed_gates"] == {}


def test_a_no_go_is_a_failed_job_that_says_why(private: Path) -> None:
    run, artifacts = climb(private, pod_gpus_per_host=9)
    assert (run.status, run.rc) == ("failed", 2)
    assert artifacts["pyramid_verdict"] == "no_go"
    assert artifacts["pyramid_closed_gates"] == {"preflight": ["rack_01", "rack_02"]}
    report = json.loads(Path(artifacts["pyramid_report"]).read_text(encoding="utf-8"))
    assert report["verdict"] == "no_go"
    # Each host that fails says of which checks, where on itself and in which report; what it is about stands there once.
    failed = {event["event_data"]["host"]: event["event_data"]["res"]["msg"] for event in run.events if event["event"] == "runner_on_failed"}
    place = re.escape(report["run_id"])
    assert set(failed) == {"gpu01", "gpu02", "gpu03", "gpu04"}
    assert all(re.fullmatch(rf"NO-GO for \w+: preflight/gpus_present at [^;]+; .*see report {place}", words) for words in failed.values()), failed
    assert {one["host"] for one in report["verdicts"] if one["check"] == "gpus_present" and one["verdict"] == "fail"} == {"gpu01", "gpu02", "gpu03", "gpu04"}


@pytest.mark.exhaustive
def test_a_refused_run_is_a_failed_job_without_a_verdict(private: Path) -> None:
    run, artifacts = climb(private, pod_gate_groups=["rack_01", "rack_99"])
    assert (run.status, run.rc) == ("failed", 2)
    assert "pyramid_verdict" not in artifacts
