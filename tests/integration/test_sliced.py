# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod in slices by ``sliced.yml``: shown, run side by side, tested between them, and merged; with a fault, and with a slice that is killed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import threading
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore

from .conftest import SMALLEST, Climb, Pod, alike

pytestmark = pytest.mark.exhaustive


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path, **SMALLEST, pod_to_layer="routing")


def sliced(pod: Pod, *arguments: str, **variables: t.Any) -> tuple[Climb, dict[str, t.Any]]:
    """Run sliced.yml with two slices; its end and merge.json."""
    into = pod.runs.parent / "merged"
    ended = pod.playbook(*arguments, playbook="playbooks/sliced.yml", slices=2, merge_report_dir=str(into), **variables)
    written = sorted(into.glob("small/*/merge.json"))
    return ended, json.loads(written[-1].read_text(encoding="utf-8")) if written else {}


def test_slices_are_shown_before_anything_runs(pod: Pod) -> None:
    ended, record = sliced(pod, "--check")
    assert ended.rc == 0 and record == {} and "slice_2: 3 hosts of rack_02; owns 0 leaves and 0 spines" in ended.output, ended.output
    assert "seam_1: 6 hosts of rack_01, rack_02" in ended.output and not pod.runs.exists()


def test_below_routing_slices_are_merged_without_a_seam(pod: Pod) -> None:
    ended, record = sliced(pod, pod_to_layer="preflight")
    assert ended.rc == 0 and (record["verdict"], record["reasons"], record["up_to_layer"]) == ("go", [], "preflight"), ended.output
    assert list(record["coverage"]["pairs"]) == [0, 0] and "largest run: hosts 3 of 6" in ended.output


def test_a_healthy_pod_in_slices_is_a_go(pod: Pod) -> None:
    ended, record = sliced(pod)
    assert ended.rc == 0 and (record["verdict"], record["reasons"], record["up_to_layer"]) == ("go", [], "routing"), ended.output
    assert "seams between slices tested 1 of 1, spines crossed 2 of 2, largest run: hosts 6 of 6" in ended.output
    assert set(record["owners"]) == {*(f"leaf{number:02}" for number in range(1, 9)), "spine01", "spine02"}
    assert sources(pod, "slice_2", "links") == sources(pod, "slice_2", "routing") == {"slice_1"}, ended.output
    assert sources(pod, "slice_1", "links") == sources(pod, "seam_1", "routing") == {None}
    again = merged_at_once(pod, next(pod.runs.glob("small/sliced/*/slices.json")), 2)
    assert len(again) == 2 and all({**one, "time": record["time"]} == record for one in again)


def merged_at_once(pod: Pod, plan: Path, number: int) -> list[dict[str, t.Any]]:
    """What so many merges of one plan at once came to, each in a directory of its own."""
    into = pod.runs.parent / "at_once"
    with ThreadPoolExecutor(number) as pool:
        merges = [pool.submit(pod.playbook, playbook="playbooks/merge.yml", merge_plan=str(plan), merge_report_dir=str(into)) for _place in range(number)]
    assert [one.result().rc for one in merges] == [0] * number, merges[0].result().output
    return [json.loads(path.read_text(encoding="utf-8")) for path in into.glob("small/*/merge.json")]


def sources(pod: Pod, part: str, layer: str) -> set[str | None]:
    """Which slices read the switches of a run for it; None where it did itself."""
    kept = [RunStore(run).answers(layer, "now") for run in pod.runs.glob(f"small/sliced/*/{part}/small/latest")][-1]
    return {envelope["shared"]["slice"] if "shared" in envelope else None for name, envelope in kept.items() if not name.startswith("gpu")}


@pytest.mark.long
def test_a_fault_in_one_slice_is_its_own(pod: Pod, tmp_path: Path) -> None:
    ended, record = sliced(pod, simulated_faults="gpu_lost", pod_publish=str(tmp_path / "published"))
    assert ended.rc == 2 and record["verdict"] == "no_go", ended.output
    closed = {group for group, gates in record["gates"].items() if "closed" in gates.values()}
    assert closed == {"rack_01"} and not any("rack_02" in reason for reason in record["reasons"]), record["reasons"]
    for pages in (tmp_path / "published", pod.runs.parent / "merged"):
        (page,) = pages.glob("small/*/merge.html")
        linked = {(page.parent / unquote(link)).resolve() for link in re.findall(r'href="([^"]+report\.html)"', page.read_text(encoding="utf-8"))}
        assert len(linked) == len(record["slices"]) and all(path.is_file() for path in linked), linked


@pytest.mark.parametrize(("name", "closed"), [("slice_1", "rack_01"), alike("slice_2", "rack_02")])
def test_a_slice_that_is_killed_is_no_go_and_the_next_run_is_clean(name: str, closed: str, pod: Pod) -> None:
    """Without the owner of its switches, which is the first slice, the other one reads them itself."""
    killed: list[int] = []
    thread = threading.Thread(target=kill_slice, args=(pod.runs, name, killed))
    thread.start()
    ended, record = sliced(pod, pod_shared_readings_wait_seconds=2)
    thread.join()
    assert killed and ended.rc == 2 and record["verdict"] == "no_go", ended.output
    assert any(f"run {name}/" in reason and "has not ended" in reason for reason in record["reasons"]), record["reasons"]
    assert {group for group, gates in record["gates"].items() if set(gates.values()) != {"open"}} == {closed}
    assert name == "slice_2" or sources(pod, "slice_2", "routing") == {None}
    ended, record = sliced(pod)
    assert ended.rc == 0 and record["verdict"] == "go", ended.output


def kill_slice(runs: Path, name: str, killed: list[int]) -> None:
    """Kill the process of a slice once its run is open."""
    until = time.monotonic() + 120
    while not killed and time.monotonic() < until:
        for lock in runs.glob(f"small/sliced/*/{name}/small/lock.json"):
            with contextlib.suppress(OSError, ValueError):
                pid = json.loads(lock.read_text(encoding="utf-8"))["pid"]
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
        time.sleep(0.1)


@pytest.mark.long
def test_a_second_run_is_refused_while_slices_run(pod: Pod) -> None:
    first: list[tuple[Climb, dict[str, t.Any]]] = []
    thread = threading.Thread(target=lambda: first.append(sliced(pod)))
    thread.start()
    until = time.monotonic() + 120
    while not (lock := pod.runs / "small" / "lock.json").exists():
        assert time.monotonic() < until and thread.is_alive(), "the pod was never locked"
        time.sleep(0.1)
    held = json.loads(lock.read_text(encoding="utf-8"))["run_id"]
    second = pod.playbook(playbook="playbooks/sliced.yml", slices=2)
    single = pod.playbook()
    thread.join()
    for refused in (second, single):
        assert refused.rc == 2 and f"run {held} of this pod is in progress" in refused.output, refused.output
    assert first[0][1]["verdict"] == "go" and len(list((pod.runs / "small" / "sliced").iterdir())) == 1, first[0][0].output


def test_what_is_no_whole_run_is_refused(pod: Pod) -> None:
    for name, value in (("pod_only", "gpu01"), ("pod_from_layer", "routing")):
        ended, record = sliced(pod, **{name: value})
        assert ended.rc == 2 and record == {} and f"argument '{name}' must" in ended.output, ended.output
    ended = pod.playbook(playbook="playbooks/sliced.yml", slices=3)
    assert ended.rc == 2 and "argument 'number' must be from 1 to the number of gate groups, which is 2, not 3" in ended.output, ended.output
