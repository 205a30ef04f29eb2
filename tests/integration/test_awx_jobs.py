# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs as AWX starts them: with the answers of the surveys, handed from one to the next, cancelled at any moment, and sliced."""

from __future__ import annotations

import json
import os
import random
import re
import sys
import time
import typing as t
from pathlib import Path

import ansible_runner
import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.modules import verdict
from ansible_collections.gpufabric.pyramid.tests.processes import carrying
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout

from .conftest import ROOT, alike

pytestmark = pytest.mark.exhaustive

# As soon as a job is cancelled its container goes; without one a tool ends at its own timeout at the latest.
GONE_SECONDS = 60


def answers(kind: str) -> dict[str, t.Any]:
    """The defaults of a survey, as AWX hands them to a job: an empty answer as null."""
    survey = yaml.safe_load((ROOT / "roles/awx/vars/main.yml").read_text())[f"awx_{kind}_survey"]
    return {one["variable"]: None if one["default"] == "" else one["default"] for one in survey if one["variable"] != "pod_name"}


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A private data directory: this checkout as the project, an inventory of its own, and a pod that keeps its state."""
    directory = tmp_path / "job"
    directory.mkdir()
    (directory / "project").symlink_to(ROOT)
    state = {"simulated_state": str(tmp_path / "state")}
    layout.write(directory / "inventory", racks=2, hosts_per_rack=2, spines=2, expectations={"pod_name": "mypod", "pod_soak_seconds": 1, **state})
    return directory


def job(private: Path, playbook: str, extravars: dict[str, t.Any], **more: t.Any) -> ansible_runner.Runner:
    """A finished job."""
    return ansible_runner.run(
        private_data_dir=str(private),
        playbook=f"playbooks/{playbook}.yml",
        extravars={"pod_runs_dir": str(private / "runs"), **extravars},
        envvars={"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        quiet=True,
        **more,
    )


def artifacts(run: ansible_runner.Runner) -> dict[str, t.Any]:
    """What a job hands to the next."""
    events = [json.loads(path.read_text()) for path in Path(run.config.artifact_dir, "job_events").glob("*.json")]
    return next(event["event_data"].get("artifact_data", {}) for event in events if event["event"] == "playbook_on_stats")


def output(run: ansible_runner.Runner) -> str:
    """What an operator sees."""
    return Path(run.config.artifact_dir, "stdout").read_text()


def test_a_workflow_validates_remediates_and_validates_again(private: Path) -> None:
    faults = {"simulated_faults": "dcqcn_off"}
    asked = {**answers("validate"), "pod_to_layer": "preflight"}
    first = job(private, "validate", {**asked, **faults})
    handed = artifacts(first)
    assert (first.status, first.rc, handed["pyramid_verdict"]) == ("failed", 2, "no_go") and handed["remediate_hosts"] == "gpu03"

    alone = {"pod_remediate_to_layer": "routing"}
    second = job(private, "remediate", {**answers("remediate"), **handed, **faults, **alone})
    assert (second.status, second.rc) == ("successful", 0), output(second)
    assert artifacts(second)["pyramid_proved"] == ["gpu03"] and artifacts(second)["pyramid_not_proved"] == {}
    assert "\r" not in output(second).replace("\r\n", "\n") and "\x1b[2K" not in output(second)

    # AWX hands the artifacts of every earlier job on as extra variables, above what a task registers.
    third = job(private, "validate", {**handed, **artifacts(second), **asked, **faults})
    assert third.rc == 0, output(third)
    assert artifacts(third)["pyramid_verdict"] == "go" and "remediate_hosts" not in artifacts(third)


def counted(run: ansible_runner.Runner, kind: str) -> dict[str, int]:
    """How many tasks of a kind (``failures``, ``ok``) each host had, as AWX counts its status."""
    events = [json.loads(path.read_text()) for path in Path(run.config.artifact_dir, "job_events").glob("*.json")]
    return next(event["event_data"].get(kind, {}) for event in events if event["event"] == "playbook_on_stats")


def test_a_no_go_is_booked_on_the_nodes_with_findings_and_no_artifact_hides_a_variable(private: Path) -> None:
    run = job(private, "validate", {**answers("validate"), "pod_to_layer": "preflight", "simulated_faults": "dcqcn_off"})
    assert (run.status, run.rc) == ("failed", 2) and counted(run, "failures") == {"gpu03": 1}, output(run)
    handed = artifacts(run)
    assert handed["pyramid_summary"].startswith("# mypod: no-go") and "gpu03" in handed["pyramid_summary"]
    # Whoever reads them finds each described.
    assert set(handed) <= set(re.findall(r"`(\w+)`", (ROOT / "docs/awx.md").read_text()))
    assert set(handed) - {"pyramid_summary", "remediate_hosts"} <= set(yaml.safe_load(verdict.RETURN))
    # The last play comes after the report; its words are on the host.
    assert "NO-GO for mypod: preflight/" in output(run)
    # Artifacts come back as extra variables, which hide what a task registers.
    texts = [path.read_text() for place in ("playbooks", "roles") for path in (ROOT / place).rglob("*.yml")]
    registered = {name for text in texts for name in re.findall(r"^\s*register: (\w+)", text, re.MULTILINE)}
    named = set(handed) | {"pyramid_proved", "pyramid_not_proved", "pyramid_report_url", "pyramid_publish_error"}
    assert "pyramid_verdict" in named and "pyramid_outcome" in registered and not registered & named


def test_a_no_go_without_a_culprit_still_fails(private: Path) -> None:
    """The whole run's evidence is gone: nothing is judged, and no node is at fault."""
    empty = private.parent / "kept"
    (empty / "evidence").mkdir(parents=True)
    run = job(private, "validate", {**answers("validate"), "pod_to_layer": "preflight", "pod_replay_from": str(empty)})
    assert (run.status, run.rc) == ("failed", 2) and artifacts(run)["pyramid_verdict"] == "no_go", output(run)


def test_a_workflow_repairs_nothing_where_validation_ended_without_a_verdict(private: Path) -> None:
    refused = job(private, "validate", {**answers("validate"), "pod_gate_groups": ["rack_01", "rack_99"]})
    assert refused.rc == 2 and "pyramid_verdict" not in artifacts(refused)
    at_once = {"pod_remediate_max": 4, "awx_workflow_job_id": 7}
    run = job(private, "remediate", {**answers("remediate"), **artifacts(refused), **at_once})
    assert run.rc == 2 and "the validation ended without a verdict" in output(run) and not (private / "runs").exists(), output(run)
    healthy = {"pyramid_verdict": "no_go", "pyramid_report": "/runs/report.json"}
    run = job(private, "remediate", {**answers("remediate"), **healthy, **at_once})
    assert run.rc == 2 and "no finding of the validation has a remedy" in output(run) and not (private / "runs").exists(), output(run)


def test_the_output_has_only_what_the_callback_of_the_image_prints(private: Path) -> None:
    """AWX takes no callback of ansible.cfg, only that of the environment, which the execution environment sets.

    ansible-runner wraps Display in a worker too, and Ansible warns of what the wrapper writes there.
    """
    image = yaml.safe_load((ROOT / "execution-environment.yml").read_text())
    lines = [line.removeprefix("ENV ").split("=", 1) for line in image["additional_build_steps"]["append_final"] if line.startswith("ENV ")]
    with pytest.MonkeyPatch.context() as patched:
        for name, value in lines:
            patched.setenv(name, value)
        run = job(private, "validate", {**answers("validate"), "pod_to_layer": "congestion", "pod_idle_seconds": 1})
    assert "watching the pod idle" in output(run) and "soaking" in output(run) and "pyramid_verdict" in artifacts(run), output(run)
    assert "included:" not in output(run) and "errantly" not in output(run)


def test_a_remediation_that_nobody_gave_hosts_touches_nothing(private: Path) -> None:
    run = job(private, "remediate", answers("remediate"))
    assert run.rc == 2 and "4 hosts are named" in output(run) and not (private / "runs").exists()


def test_a_sliced_job_is_refused_with_its_reason(private: Path) -> None:
    """AWX gives every slice each n-th host of the inventory; the wiring plan has them all."""
    inventory = yaml.safe_load((private / "inventory" / "hosts.yml").read_text())
    del inventory["all"]["children"]["spines"]["hosts"]["spine02"]
    (private / "inventory" / "hosts.yml").write_text(yaml.safe_dump(inventory))
    run = job(private, "validate", answers("validate"))
    assert run.rc == 2 and "the run was not opened" in output(run) and "spine02" in output(run)
    assert not list((private / "runs").glob("mypod/*/report.json"))


def left(private: Path) -> list[int]:
    """The processes that work for the job's hosts, by what is in their environment."""
    return list(carrying(f"SIMULATED_POD={private.parent / 'state'}"))


@pytest.mark.parametrize("playbook", [alike("validate"), "remediate"])
def test_a_cancelled_job_leaves_nothing_running(playbook: str, private: Path) -> None:
    """Cancelled at a moment that differs from run to run, while a tool hangs; the next job is not held up by it."""
    remediated = {"remediate_hosts": "gpu03", "pod_remediate_to_layer": "routing"}
    extravars = {**answers(playbook), "simulated_faults": "ibstat_hangs", **(remediated if playbook == "remediate" else {})}
    began, moment = time.monotonic(), random.uniform(3, 12)
    seen: list[int] = []

    def cancel() -> bool:
        seen[:] = left(private) or seen
        return time.monotonic() - began > moment and bool(seen)

    run = job(private, playbook, extravars, cancel_callback=cancel)
    assert run.status == "canceled" and seen, f"cancelled after {moment:.1f} s: {run.status}"
    until = time.monotonic() + GONE_SECONDS
    while left(private):
        assert time.monotonic() < until, f"cancelled after {moment:.1f} s, still there: {left(private)}"
        time.sleep(0.2)
    again = job(private, "validate", {**answers("validate"), "pod_only": "gpu04", "pod_to_layer": "preflight"})
    assert artifacts(again)["pyramid_verdict"] == "no_fault_seen", output(again)
