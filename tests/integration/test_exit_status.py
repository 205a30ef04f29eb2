# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exit status 0 is a verdict: options of Ansible that leave tasks out are refused, and so are names that are no GPU host's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT, SMALLEST, Pod, alike

PLAYBOOK = str(Path(sys.executable).with_name("ansible-playbook"))


@pytest.fixture(scope="module")
def pod(tmp_path_factory: pytest.TempPathFactory) -> Pod:
    """A healthy pod that the tests share: no test leaves a run that another stands on."""
    return Pod(tmp_path_factory.mktemp("exit_status"), **SMALLEST)


LEFT_OUT = {
    "start": (["--start-at-task", "No task has this name"], "--start-at-task 'No task has this name' leaves out tasks"),
    "start late": (["--start-at-task", "Fail on a no-go"], "--start-at-task 'Fail on a no-go' leaves out tasks"),
    "step": (["--step"], "--step leaves out tasks"),
    "skip": (["--skip-tags", "always"], "--skip-tags always leaves out tasks"),
    "tags and skip": (["--tags", "nothing", "--skip-tags", "always"], "--skip-tags always leaves out tasks"),
    "skip all": (["--skip-tags", "tagged,untagged"], "--skip-tags tagged,untagged leaves out tasks"),
}
# Both playbooks ask the same lookup, which sees the options of the command.
ONCE = {("validate", "start"), ("validate", "skip"), ("remediate", "step")}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("playbook", "arguments", "words"),
    [
        pytest.param(playbook, *case, id=f"{playbook}-{name}", marks=[] if (playbook, name) in ONCE else [pytest.mark.long])
        for playbook in ("validate", "remediate") for name, case in LEFT_OUT.items()
    ],
)  # fmt: skip
def test_leaving_out_tasks_is_refused(pod: Pod, playbook: str, arguments: list[str], words: str) -> None:
    command = [PLAYBOOK, f"playbooks/{playbook}.yml", "-i", str(pod.inventory), *arguments]
    done = subprocess.run(command, cwd=ROOT, input="n\n" * 200, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 4 and words in " ".join(done.stderr.split()), done.stdout + done.stderr
    assert not pod.runs.exists()


@pytest.mark.parametrize("arguments", [["--list-tasks"], ["--list-hosts"], ["--syntax-check"]])
def test_listings_run_nothing_and_are_no_error(pod: Pod, arguments: list[str]) -> None:
    for playbook in ("validate", "remediate"):
        done = pod.playbook(*arguments, playbook=f"playbooks/{playbook}.yml")
        assert done.rc == 0 and done.run is None, done.output


@pytest.mark.exhaustive
def test_check_mode_ends_0_and_says_that_nothing_was_judged(tmp_path: Path) -> None:
    pod = Pod(tmp_path, **SMALLEST, pod_textfile_dir=str(tmp_path))
    shown = pod.climb("--check")
    assert shown.rc == 0 and shown.report is not None, shown.output
    assert (shown.report["verdict"], shown.report["up_to_layer"]) == ("not_judged", None)
    assert "NOT JUDGED: pod small" in shown.output and "because check mode evaluates nothing" in shown.output
    assert "GO" not in shown.output and not list(tmp_path.glob("*.prom"))
    resumed = pod.climb(pod_from_layer="routing")
    assert resumed.rc == 2 and "was in check mode, which evaluates nothing" in " ".join(resumed.output.split())


@pytest.mark.exhaustive
def test_a_workflow_refuses_a_job_that_judged_nothing(pod: Pod) -> None:
    """AWX gives each job of a workflow the number of the workflow."""
    for number in ("awx_workflow_job_id", "tower_workflow_job_id"):
        done = pod.climb("--check", pod_to_layer="preflight", **{number: 7})
        assert done.rc == 2 and "Nothing was judged, because the job ran in check mode" in " ".join(done.output.split()), done.output


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("named", "wrong"),
    [
        ("gpu03,gpu99", "gpu99"),
        alike("gpu03:gpu98:gpu99", "gpu98, gpu99"),
        alike("gpu99", "gpu99"),
        alike("leaf01", "leaf01"),
        alike("gpu03,leaves", "leaves"),
        ("rack_01,!gpu99", "!gpu99"),
        alike("gpu0*,gpu9*", "gpu9*"),
        (["gpu03", "gpu99"], "gpu99"),
    ],
)
def test_a_name_that_is_no_gpu_host_is_refused_by_name(pod: Pod, named: str | list[str], wrong: str) -> None:
    done = pod.playbook(playbook="playbooks/remediate.yml", remediate_hosts=named)
    assert done.rc == 4 and done.run is None, done.output
    assert f"no GPU host (group gpu_hosts) is called {wrong}; correct remediate_hosts" in " ".join(done.output.split())


@pytest.mark.exhaustive
def test_a_limit_with_a_name_that_no_node_has_is_refused(pod: Pod) -> None:
    done = pod.playbook("--limit", "gpu03,gpu99", playbook="playbooks/remediate.yml")
    assert done.rc == 4 and "no node of the inventory is called gpu99; correct --limit" in " ".join(done.output.split()), done.output


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("named", "hosts"),
    [
        alike("gpu03", {"gpu03"}),
        alike(["gpu03", "gpu04"], {"gpu03", "gpu04"}),
        ("rack_01,!gpu02", {"gpu01", "gpu03"}),
        alike("rack_0?:&rack_02", {"gpu04", "gpu05", "gpu06"}),
        ("rack_02[0]", {"gpu04"}),
        alike("~gpu0(1|5)", {"gpu01", "gpu05"}),
        alike("all", {f"gpu0{number}" for number in range(1, 7)}),
        ("", {f"gpu0{number}" for number in range(1, 7)}),
    ],
)
def test_patterns_of_gpu_hosts_are_as_ansibles(pod: Pod, named: str | list[str], hosts: set[str]) -> None:
    command = [PLAYBOOK, "playbooks/remediate.yml", "-i", str(pod.inventory), "-e", json.dumps({"remediate_hosts": named}), "--list-hosts"]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=300, check=False)
    refusing = next(play for play in done.stdout.split("play #") if "Refuse hosts that must not be drained" in play)
    assert done.returncode == 0 and set(refusing.partition("hosts (")[2].split()[1:]) == hosts, done.stdout + done.stderr
