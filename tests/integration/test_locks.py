# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a pod at a time, and nothing left locked by a run that has ended, in whatever way."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.lock import LOCK
from ansible_collections.gpufabric.pyramid.tests.chaos import processes
from ansible_collections.gpufabric.pyramid.tests.processes import environments
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.connection.simulated_pod import pod as answers_of

from .conftest import RACKS, ROOT, SMALLEST, Pod, alike

PLAYBOOK = str(Path(sys.executable).with_name("ansible-playbook"))
# A run that is still there when another one is opened beside it.
LONG = ("-e", '{"pod_to_layer": "links", "pod_soak_seconds": 90}')
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk or make a pid namespace")


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path, **SMALLEST, pod_to_layer="preflight")


def command(pod: Pod, *arguments: str) -> list[str]:
    return [PLAYBOOK, "playbooks/validate.yml", "-i", str(pod.inventory), *arguments]


@contextlib.contextmanager
def started(argv: list[str], **how: t.Any) -> t.Iterator[subprocess.Popen[bytes]]:
    """A command in a session of its own, which does not outlive the test."""
    quiet: dict[str, t.Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **how}
    with subprocess.Popen(argv, cwd=ROOT, start_new_session=True, env={**os.environ, "ANSIBLE_NOCOLOR": "1"}, **quiet) as running:
        try:
            yield running
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


def lock(pod: Pod) -> Path:
    return pod.runs / "small" / LOCK


def kept(pod: Pod) -> list[str]:
    """What a pod's runs directory has besides runs."""
    return sorted(path.name for path in (pod.runs / "small").iterdir() if path.is_symlink() or not path.is_dir())


def await_that(holds: t.Callable[[], t.Any], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.05)


@pytest.mark.exhaustive
@pytest.mark.long
def test_a_run_that_ended_with_a_verdict_or_was_refused_leaves_no_lock(pod: Pod) -> None:
    assert pod.climb().rc == 0
    assert kept(pod) == [".id", ".lock", "latest"]
    latest = pod.latest()
    refused = pod.climb(pod_from_layer="routing", pod_to_layer="routing")
    assert refused.rc != 0 and "the run was not opened" in refused.output
    assert kept(pod) == [".id", ".lock", "latest"] and pod.latest() == latest
    assert [path.name for path in (pod.runs / "small").iterdir() if path.is_dir() and not path.is_symlink()] == [latest.name if latest else ""]


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [alike(signal.SIGINT), signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_lock(pod: Pod, number: signal.Signals) -> None:
    with started(command(pod, *LONG)) as running:
        await_that(lock(pod).exists)
        during = pod.climb()
        assert during.rc != 0 and f"is in progress: user {runs_as()}, process {running.pid} on" in during.output
        assert f"kill -INT {running.pid}" in during.output.replace("\n", " ")
        os.kill(running.pid, number)
        running.wait(60)
        await_that(lambda: not lock(pod).exists())
    assert pod.climb().rc == 0


def runs_as() -> str:
    return subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.exhaustive
@NEEDS_ROOT
def test_a_run_of_a_container_that_ended_is_taken_over_at_once(pod: Pod) -> None:
    """Each container has process ids of its own, and all of its processes are killed at one moment."""
    contained = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *command(pod, *LONG)]
    with started(contained) as running:
        await_that(lock(pod).exists)
        during = pod.climb()
        assert during.rc != 0 and "is in progress" in during.output and "cancel its job, or stop process 1 on" in during.output
        running.kill()
        running.wait(60)
    assert pod.climb().rc == 0


@pytest.mark.exhaustive
@NEEDS_ROOT
@pytest.mark.parametrize("kilobytes", [alike(16), 64, alike(96)])
def test_a_full_disk_while_a_run_is_opened_leaves_nothing_and_is_named(pod: Pod, kilobytes: int) -> None:
    pod.runs.mkdir()
    with processes.disk(pod.runs, kilobytes / 1024) as grow:
        refused = pod.climb()
        assert refused.rc != 0 and "No space left on device" in refused.output, refused.output
        assert f"the run was not opened: {pod.runs}" in refused.output.replace("\n", "")
        assert not [path for path in pod.runs.glob("small/*") if path.name not in (".lock", ".id")]
        grow()
        assert pod.climb().rc == 0


@pytest.mark.exhaustive
def test_a_run_whose_output_nobody_reads_releases_its_pod(pod: Pod) -> None:
    """Ansible itself hangs for good once it cannot print."""
    with started(["bash", "-c", f"{shlex.join(command(pod))} | head -1"]):
        await_that(lock(pod).exists)
        await_that(lambda: not lock(pod).exists())
        assert pod.climb().rc == 0


@pytest.mark.exhaustive
def test_a_run_whose_terminal_is_gone_releases_its_pod(pod: Pod) -> None:
    """As a container's first process, which the signal of a lost terminal does not end: Ansible hangs for good, here in the soak."""
    near, far = os.openpty()
    with started(["sh", "-c", f"trap '' HUP; exec {shlex.join(command(pod, *LONG))}"], stdin=far, stdout=far, stderr=far) as running:
        os.close(far)
        printed = b""
        while b"soaking" not in printed:
            printed += os.read(near, 65536)
        assert lock(pod).exists()
        os.close(near)
        await_that(lambda: not lock(pod).exists())
        assert running.poll() is None, "it has ended, and its lock with it"


LOADED = {
    "pod_only": "rdma", "pod_to_layer": "rdma", "pod_idle_seconds": 1, "pod_write_bw_seconds": 4, "pod_load_setup_seconds": 10, "pod_load_lead_seconds": 1,
    "pod_load_tick_seconds": 4,
}  # fmt: skip


def answers(pod: Pod) -> Path:
    return answers_of(pod.inventory, "", 1)


def reserved(pod: Pod) -> list[str]:
    """The hosts that are reserved for loads."""
    return sorted(path.parents[2].name for path in reservations(pod))


def reservations(pod: Pod) -> list[Path]:
    return list(answers(pod).glob("*/tmp/gpufabric.pyramid-*/reserved.json"))


def owners(pod: Pod) -> set[str]:
    """The places of the pods for whose runs hosts are reserved; a reservation that ends meanwhile is none."""
    found = set()
    for path in reservations(pod):
        with contextlib.suppress(FileNotFoundError):
            found.add(json.loads(path.read_text())["owner"])
    return found


@pytest.fixture
def loaded(tmp_path: Path) -> Pod:
    return Pod(tmp_path, racks=2, hosts_per_rack=2, spines=2, **LOADED)


@pytest.mark.exhaustive
def test_a_host_is_loaded_by_one_of_two_controllers(loaded: Pod, tmp_path: Path) -> None:
    """Their runs directories know nothing of each other; the hosts do."""
    with started(command(loaded)) as running:
        await_that(lambda: len(reserved(loaded)) == 4, 120)
        first = owners(loaded)
        other = loaded.climb("--limit", "all", pod_runs_dir=str(tmp_path / "other"))
        assert "is not loaded: this host is reserved for the loads of run" in other.output, other.output
        assert f"of user {runs_as()} on" in other.output and str(loaded.runs) in other.output and other.rc != 0
        # The loads of the first run may have ended meanwhile.
        assert owners(loaded) in (first, set()), "a run that is refused takes nothing"
        assert running.wait(200) == 0, "a run that is refused takes nothing away"
    assert reserved(loaded) == []
    there = json.loads((tmp_path / "other" / "small" / "latest" / "report.json").read_text())
    assert {layer["groups"][rack]["gate"] for layer in there["layers"] if layer["layer"] == "rdma" for rack in RACKS} == {"closed"}
    assert {one["verdict"] for one in there["verdicts"] if one["check"] == "write_bw_per_rail"} == {"unknown"}
    assert loaded.climb(pod_runs_dir=str(tmp_path / "other")).rc == 0


@pytest.mark.exhaustive
@pytest.mark.long
def test_all_hosts_or_none_and_none_in_check_mode(loaded: Pod, tmp_path: Path) -> None:
    place = answers(loaded) / "gpu04" / "tmp" / "gpufabric.pyramid-another"
    place.mkdir(parents=True)
    there = {"owner": "/runs/b (2)", "who": "user joe on ctl02", "run_id": "r7", "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip()}
    (place / "reserved.json").write_text(json.dumps({**there, "until": time.monotonic() + 600}))
    assert loaded.climb("--check").rc == 0 and reserved(loaded) == ["gpu04"]
    refused = loaded.climb()
    assert refused.rc != 0 and "rdma: gpu04 is not loaded: this host is reserved for the loads of run r7 of user joe on ctl02" in refused.output
    assert "no host is loaded, since 1 host of 4 could not be reserved" in refused.output
    assert reserved(loaded) == ["gpu04"] and not list(answers(loaded).glob("*/tmp/gpufabric.pyramid-0/loads/*"))
    (place / "reserved.json").unlink()
    assert loaded.climb().rc == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [alike(signal.SIGINT), signal.SIGKILL])
def test_no_load_starts_after_the_controller_was_killed(loaded: Pod, number: signal.Signals) -> None:
    """Ansible's workers outlive its main process; a look that one of them waits for must not keep the load going."""
    with started(command(loaded)) as running:
        await_that(lambda: loads(answers(loaded)), 120)
        running.send_signal(number)
        running.wait(60)
        ended = ticks()
        # Two ticks and the slack; the load itself takes longer by far, and so does its lease.
        late, until = [], time.monotonic() + 30
        while time.monotonic() < until:
            late += [born for born in loads(answers(loaded)).values() if born > ended + 16 * HERTZ]
            time.sleep(0.2)
    assert late == []


HERTZ = os.sysconf("SC_CLK_TCK")


def ticks() -> float:
    return float(Path("/proc/uptime").read_text().split()[0]) * HERTZ


def loads(place: Path) -> dict[int, int]:
    """The jobs of a pod's loads that run, and when each of them started."""
    found = {}
    for pid, words in environments():
        with contextlib.suppress(OSError, IndexError):
            if any(word.startswith("GPUFABRIC_PYRAMID_JOB=") for word in words) and f"SIMULATED_POD={place}" in words:
                found[pid] = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return found
