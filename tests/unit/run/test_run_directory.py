# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a pod at a time, under a lock that ends with its process; files that are private and whole."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
import types
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run import files
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import read_json, write_json, write_private, write_private_files
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.lock import LOCK, STALE_SECONDS, process_identity, release_lock, require_lock
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.lock_keeper import BEAT_SECONDS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.reader import RunReader
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.run_directory import abandon_run, latest_run, open_run_directory, point_latest
from ansible_collections.gpufabric.pyramid.tests.processes import started_with


@pytest.fixture
def other() -> t.Iterator[subprocess.Popen]:
    """Another living process."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def pod(tmp_path: Path) -> t.Iterator[Path]:
    """A pod's runs directory; what keeps its lock ends with the test."""
    yield tmp_path / "pod"
    (tmp_path / "pod" / LOCK).unlink(missing_ok=True)
    await_that(lambda: not keepers(tmp_path / "pod"))


def await_that(holds: t.Callable[[], t.Any], seconds: float = 60) -> t.Any:
    until = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.02)
    return found


def keepers(pod: Path) -> list[int]:
    """The processes that keep a pod's lock."""
    return started_with(str(pod / LOCK))


def kill_keepers(pod: Path) -> None:
    """Kill what keeps a pod's lock. A process that begins has no command line yet, and one that ends has none before its files are closed."""
    killed = await_that(lambda: keepers(pod))
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    await_that(lambda: not any(runs(pid) for pid in killed))


def runs(pid: int) -> bool:
    """Whether a process has not ended: a zombie, which only its parent is to read, has closed its files."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in ("Z", "X")
    return False


def test_a_living_run_has_its_pod_locked(pod: Path, other) -> None:
    run = open_run_directory(pod, other.pid, "user mary")
    require_lock(run, other.pid)
    output = f"run {run.name} of this pod is in progress: user mary, process {other.pid} on .* since 20.*; wait until it ends, .*: kill -INT {other.pid};"
    with pytest.raises(RunError, match=output):
        open_run_directory(pod, os.getpid())
    with pytest.raises(RunError, match="has lost the lock"):
        require_lock(run, os.getpid())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_lock_is_released_however_its_run_ends(pod: Path, other, number: signal.Signals) -> None:
    first = open_run_directory(pod, other.pid)
    other.send_signal(number)
    other.wait()
    await_that(lambda: not (pod / LOCK).exists() and not keepers(pod))
    second = open_run_directory(pod, os.getpid())
    assert second != first
    with pytest.raises(RunError):
        require_lock(first, os.getpid())


def test_a_lock_whose_keeper_was_killed_with_its_run_is_taken_over_at_once(pod: Path, other) -> None:
    first = open_run_directory(pod, other.pid)
    kill_keepers(pod)
    with pytest.raises(RunError, match="has lost the lock"):
        require_lock(first, other.pid)
    assert open_run_directory(pod, os.getpid()) != first


def test_the_lock_is_released_at_the_verdict_while_the_process_lives(pod: Path, other) -> None:
    run = open_run_directory(pod, other.pid)
    release_lock(run)
    assert not (pod / LOCK).exists() and not keepers(pod)
    later = open_run_directory(pod, os.getpid())
    release_lock(run)
    require_lock(later, os.getpid())


def test_the_lock_is_released_where_nobody_reads_the_output_any_more(pod: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as piped:
        assert piped.stdout is not None
        run = open_run_directory(pod, piped.pid)
        require_lock(run, piped.pid)
        piped.stdout.close()
        await_that(lambda: not (pod / LOCK).exists())
        assert piped.poll() is None
        piped.kill()


def test_a_process_may_open_another_run_which_ends_its_first(pod: Path, other) -> None:
    first = open_run_directory(pod, other.pid)
    second = open_run_directory(pod, other.pid)
    require_lock(second, other.pid)
    with pytest.raises(RunError, match="has lost the lock"):
        require_lock(first, other.pid)
    with pytest.raises(RunError, match="is in progress"):
        open_run_directory(pod, os.getpid())


ELSEWHERE = {"boot_id": "another", "pid_namespace": "pid:[1]", "host": "eb2256eac6c0", "pid": 1}


@pytest.mark.parametrize(("age", "taken"), [(0, False), (STALE_SECONDS - 20, False), (STALE_SECONDS + 1, True), (-3600, False)])
def test_the_lock_of_another_machine_is_judged_by_when_it_was_renewed(tmp_path: Path, age: float, taken: bool) -> None:
    """Locks of files need not reach over a shared mount; its time does, by the file system's own clock."""
    record = tmp_path / "pod" / LOCK
    write_json(record, {**process_identity(os.getpid()), **ELSEWHERE, "run_id": "r1", "opened": "2026-01-01T00:00:00Z", "who": "AWX job 17 of mary"})
    os.utime(record, (time.time() - age, time.time() - age))
    if taken:
        assert open_run_directory(tmp_path / "pod", os.getpid()).is_dir()
        release_lock((tmp_path / "pod" / "x").with_name(json.loads(record.read_text())["run_id"]))
        return
    with pytest.raises(RunError, match=r"AWX job 17 of mary, process 1 on eb2256eac6c0, .*cancel its job, or stop process 1 on eb2256eac6c0"):
        open_run_directory(tmp_path / "pod", os.getpid())


def test_a_lock_in_another_pid_namespace_of_this_machine_dies_with_its_run(pod: Path, other) -> None:
    """The kernel is the same, so that the lock of the file says whether its run lives, whatever its process ids mean here."""
    run = open_run_directory(pod, other.pid)
    record = pod / LOCK
    with record.open("r+") as file:
        result = {**json.load(file), "pid_namespace": "pid:[1]", "pid": 1, "host": "eb2256eac6c0"}
        file.seek(0)
        file.write(json.dumps(result))
        file.truncate()
    with pytest.raises(RunError, match="process 1 on eb2256eac6c0"):
        open_run_directory(pod, os.getpid())
    kill_keepers(pod)
    assert open_run_directory(pod, os.getpid()) != run


def test_the_keeper_renews_the_lock(pod: Path, other) -> None:
    open_run_directory(pod, other.pid)
    os.utime(pod / LOCK, (0, 0))
    await_that(lambda: (pod / LOCK).stat().st_mtime > 0, BEAT_SECONDS * 2 + 60)


def test_an_abandoned_run_leaves_nothing(pod: Path, other) -> None:
    kept = open_run_directory(pod, other.pid)
    point_latest(kept)
    release_lock(kept)
    abandon_run(open_run_directory(pod, os.getpid()))
    assert (pod / "latest").resolve() == kept and sorted(path.name for path in pod.iterdir()) == sorted([".id", ".lock", kept.name, "latest"])
    assert not keepers(pod)


def test_files_are_private_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.json"
    write_json(path, {"text": "\udcff \x00 é"})
    assert read_json(path) == {"text": "\udcff \x00 é"}
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [one.name for one in path.parent.iterdir()] == ["report.json"]


@pytest.mark.parametrize("umask", [0, 0o022, 0o077, 0o777])
def test_all_of_a_run_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        run = open_run_directory(tmp_path / "pod", os.getpid())
        for name in ("evidence/links/leaf01/port_status.txt", "readings/links/now/leaf01.json", "report.md"):
            write_private(run / name, "text")
    finally:
        os.umask(before)
    paths = [tmp_path / "pod", *(path for path in (tmp_path / "pod").rglob("*") if not path.is_symlink())]
    modes = {str(path.relative_to(tmp_path)): (path.stat().st_mode & 0o777) for path in paths}
    assert len(modes) == 14 and {name: oct(mode) for name, mode in modes.items() if mode != (0o700 if (tmp_path / name).is_dir() else 0o600)} == {}


def test_files_that_say_the_same_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    """A report that says go beside a page that never came would be believed."""
    write_private_files({tmp_path / "report.json": "no_go", tmp_path / "report.md": "no_go"})
    _soft, hard = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_private_files({tmp_path / "report.json": "go", tmp_path / "report.md": "go" * 4096})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"report.json": "no_go", "report.md": "no_go"}


def test_what_a_killed_process_left_is_not_written_over(tmp_path: Path) -> None:
    """A process of a container has the number of an earlier one."""
    number = next(files._NUMBERS)
    left = {tmp_path / f".report.json.{os.getpid()}.{number + ahead}" for ahead in range(1, 4)}
    for path in left:
        path.write_text("half of")
    write_private(tmp_path / "report.json", "no_go")
    assert {path: path.read_text() for path in tmp_path.iterdir()} == {tmp_path / "report.json": "no_go", **dict.fromkeys(left, "half of")}


def test_the_latest_run_is_one_that_reported(pod: Path, other) -> None:
    first = open_run_directory(pod, other.pid)
    write_json(first / "report.json", {})
    assert latest_run(pod) == first and latest_run(pod, other_than=first.name) is None


def test_rows_of_an_older_version_have_the_columns_of_today(tmp_path: Path) -> None:
    """A run that is evaluated again may lack a column that a check reads; it is then not reported, and no check breaks."""
    row = {"item": "round 1", "step": 0, "kind": "write_bw", "role": "client", "status": "ok"}
    reported = {"status": "ok", "words": "", "rows": [row], "lost": {}, "evidence": None}
    write_json(tmp_path / "readings" / "rdma" / "load-0" / "gpu01.json", {"node": "gpu01", "answered": True, "readings": {"load_jobs": reported}})
    (loaded,) = RunReader(tmp_path).loaded("rdma")["gpu01"]["load_jobs"]["rows"]
    assert row.items() <= loaded.items() and loaded["error"] is loaded["probe"] is None
    assert set(loaded) == {column.name for column in catalogue()["load_jobs"].columns}


def test_rows_that_are_held_are_those_that_are_read(tmp_path: Path) -> None:
    """What is held is not read again, serves whoever asks for less, and says nothing of other readings."""

    def reported(**rows: list[dict[str, t.Any]]) -> dict[str, t.Any]:
        readings = {name: {"status": "ok", "words": "", "rows": own, "lost": {}, "evidence": None} for name, own in rows.items()}
        return {"node": "gpu01", "answered": True, "readings": readings}

    plan = t.cast("t.Any", types.SimpleNamespace(nodes={"gpu01": None}))
    write_json(tmp_path / "readings" / "preflight" / "now" / "gpu01.json", reported(gpus=[{"pci": "1"}], software=[{"item": "a"}], ip_link=[{"netdev": "b"}]))
    fresh, held = RunReader(tmp_path, plan), RunReader(tmp_path, plan)
    held.hold({"gpus", "software"})
    for readings in ({"gpus", "software"}, {"gpus"}, {"ip_link"}, {"gpus", "ip_link"}):
        assert list(held.rows(readings)) == list(fresh.rows(readings)) != []
    (tmp_path / "readings" / "preflight" / "now" / "gpu01.json").unlink()
    assert list(held.rows({"gpus"})) == [("preflight", "gpu01", "", "gpus", [{"pci": "1"}])] and not list(held.rows({"ip_link"}))


def test_rows_that_many_nodes_report_are_kept_once(tmp_path: Path) -> None:
    """A table of neighbors has a row for each rail of the pod: without this, memory grows with the square of the hosts."""
    row, own = ({"address": f"10.0.0.{number}", "mac": f"02:00:00:00:00:0{number}", "netdev": "ens0"} for number in (1, 2))
    tables = {"gpu01": [row], "gpu02": [row, own]}
    for node, rows in tables.items():
        kept = {"neighbor_table": {"status": "ok", "words": "", "rows": rows, "lost": {}, "evidence": None}}
        write_json(tmp_path / "readings" / "routing" / "now" / f"{node}.json", {"node": node, "answered": True, "readings": kept})
    answers = RunReader(tmp_path).answers("routing", "now")
    read = {node: answers[node]["readings"]["neighbor_table"]["rows"] for node in tables}
    assert read == tables and read["gpu01"][0] is read["gpu02"][0]


def test_evidence_behind_a_link_is_not_read(tmp_path: Path) -> None:
    """Neither a file that is a link nor one in a directory that leads out of the run."""
    write_private(tmp_path / "secret" / "gpus.txt", "secret")
    run = tmp_path / "run"
    write_json(run / "readings" / "preflight" / "now" / "gpu01.json", {})
    write_private(run / "evidence" / "preflight" / "gpu01" / "ip_link.txt", "printed")
    (run / "evidence" / "preflight" / "gpu01" / "gpus.txt").symlink_to(tmp_path / "secret" / "gpus.txt")
    (run / "evidence" / "preflight" / "gpu02").symlink_to(tmp_path / "secret")
    reader = RunReader(run)
    assert [reader.texts("preflight", node, name) for node, name in (("gpu01", "ip_link"), ("gpu01", "gpus"), ("gpu02", "gpus"))] == [{"": "printed"}, {}, {}]
