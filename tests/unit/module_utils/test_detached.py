# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads on a node, as the program that is piped to its Python."""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils import detached

SOURCE = (Path(__file__).parents[3] / "plugins" / "module_utils" / "detached.py").read_text()
FUTURE = "from __future__ import annotations\n"


class Node:
    """A node with a place of its own for loads."""

    def __init__(self, place: Path, without: str = "") -> None:
        self.place, self.without = place, f"del {without}\n" if without else ""

    def piped(self, **request: t.Any) -> subprocess.CompletedProcess[str]:
        program = SOURCE.replace(FUTURE, f"{FUTURE}import os\n{self.without}REQUEST = {json.dumps(request)!r}\n", 1)
        environment = {**os.environ, "TMPDIR": str(self.place)}
        return subprocess.run([sys.executable, "-SE", "-"], input=program, text=True, capture_output=True, timeout=60, check=False, env=environment)

    def say(self, do: str, load: str = "one", **more: t.Any) -> dict[str, t.Any]:
        done = self.piped(do=do, load=load, **more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["detached"]

    def start(self, *jobs: dict[str, t.Any], load: str = "one", owner: str = "here", **more: t.Any) -> dict[str, t.Any]:
        return self.say("start", load, **{"owner": owner, "run_id": "r1", "start_in": 0, "lease": 30, "jobs": jobs, **more})

    def collect(self, load: str = "one", wait: float = 60) -> dict[str, t.Any]:
        return self.say("collect", load, wait=wait)

    def supervisor(self, load: str = "one") -> int:
        return self.record(load)["supervisor"]["pid"]

    def record(self, load: str = "one") -> dict[str, t.Any]:
        return json.loads((self.directory / load / "record.json").read_text())

    @property
    def directory(self) -> Path:
        return self.place / f"gpufabric.pyramid-{os.getuid()}" / "loads"


def job(name: str, *argv: str, at: float = 0, until: float = 20, again: t.Sequence[str] = (), turn: int | None = None) -> dict[str, t.Any]:
    return {"id": name, "argv": list(argv), "at": at, "until": until, "again": list(again), "near": None, "turn": turn}


def wait_for(holds: t.Callable[[], t.Any], seconds: float = 60) -> t.Any:
    until = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.02)
    return found


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def sleeper(mark: Path) -> list[str]:
    """A job that says its process id, and that of a child of its own, and then does nothing."""
    return ["sh", "-c", f"sleep 600 & echo $$ $! > {mark}.part; mv {mark}.part {mark}; wait"]


def pids(mark: Path) -> list[int]:
    wait_for(mark.exists)
    return [int(word) for word in mark.read_text().split()]


@pytest.fixture
def node(tmp_path: Path) -> t.Iterator[Node]:
    one = Node(tmp_path)
    yield one
    for name in list(one.directory.iterdir()) if one.directory.is_dir() else []:
        one.say("end", name.name)


def test_jobs_run_by_the_schedule_and_their_output_is_collected(node: Node) -> None:
    assert node.start(job("a", "sh", "-c", "echo out; echo err >&2; exit 3"), job("b", "echo", "later", at=1)) == {"refused": None, "ended_leftovers": []}
    output = node.collect()
    assert (output["ended"], output["jobs"], output["done"]) == ("done", 2, 2)
    first, second = output["answers"]["a"], output["answers"]["b"]
    assert (first["status"], first["rc"], first["stdout"], first["stderr"], first["attempts"]) == ("ran", 3, "out\n", "err\n", 1)
    assert second["stdout"] == "later\n" and second["began"] >= 1 > first["began"]
    assert not (node.directory / "one").exists()


def test_a_turn_begins_early_once_all_before_it_has_ended(node: Node) -> None:
    jobs = [job("long", "sleep", "1"), job("short", "true"), job("next", "true", at=600, until=900, turn=1), job("after", "true", at=601, until=900, turn=1)]
    node.start(*jobs, job("last", "true", at=2.5))
    output = node.collect()
    began = {name: result["began"] for name, result in output["answers"].items()}
    # Both come as much earlier as the turn does, a second apart; what is late in starting makes no difference to the other.
    assert output["ended"] == "done" and 1 <= began["next"] < began["after"] < 600 and began["after"] >= 2


@pytest.mark.parametrize(("cpus", "pinned"), [("0-1023", True), ("4096-4099,5000", False), ("", False)])
def test_a_job_is_pinned_where_one_of_the_cpus_is_its_own(cpus: str, pinned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.open", lambda *_place, **_how: io.StringIO(f"{cpus}\n"))
    assert detached._pinned(["true"], "mlx5_0") == (["taskset", "-c", cpus, "true"] if pinned else ["true"])


def test_an_end_that_the_kernel_does_not_report_is_looked_for(tmp_path: Path) -> None:
    node = Node(tmp_path, without="os.pidfd_open")
    node.start(job("ends", "sleep", "0.5"), job("lasts", "sleep", "600", until=1))
    answers = node.collect()["answers"]
    assert {name: answers[name]["status"] for name in answers} == {"ends": "ran", "lasts": "timeout"}
    assert 0.5 <= answers["ends"]["seconds"] < answers["lasts"]["seconds"]


def test_a_job_without_a_turn_begins_at_its_time(node: Node) -> None:
    node.start(job("first", "true"), job("in time", "true", at=2), job("early", "true", at=600, until=900, turn=1))
    began = {name: result["began"] for name, result in node.collect()["answers"].items()}
    assert 2 <= began["in time"] <= began["early"] < 600


def test_a_job_past_its_time_is_ended_with_its_children(node: Node, tmp_path: Path) -> None:
    node.start(job("a", *sleeper(tmp_path / "mark"), until=5))
    # What says its id lives then; whether it does when this test comes to look is the machine's matter.
    mine = pids(tmp_path / "mark")
    assert node.collect()["answers"]["a"]["status"] == "timeout"
    assert not any(map(lives, mine))


def in_its_own_session(mark: Path, after: str) -> list[str]:
    """A job whose child leaves its session, as the workers of torchrun do."""
    return ["sh", "-c", f"setsid sh -c 'echo $$ > {mark}.part; mv {mark}.part {mark}; exec sleep 600' & until test -e {mark}; do sleep 0.05; done; {after}"]


def test_what_a_job_leaves_in_a_session_of_its_own_ends_with_the_load(node: Node, tmp_path: Path) -> None:
    node.start(job("a", *in_its_own_session(tmp_path / "pids", "exit 0")))
    assert node.collect()["answers"]["a"]["status"] == "ran"
    assert not any(lives(pid) for pid in pids(tmp_path / "pids"))


def test_a_job_past_its_time_is_ended_with_what_left_its_session_and_its_neighbour_lives(node: Node, tmp_path: Path) -> None:
    late, other = tmp_path / "late", tmp_path / "other"
    node.start(job("a", *in_its_own_session(late, "sleep 600"), until=5), job("b", *in_its_own_session(other, "sleep 600"), until=600))
    wait_for(lambda: node.say("watch")["done"] == 1)
    assert [lives(pid) for mark in (late, other) for pid in pids(mark)] == [False, True]


def test_a_client_awaits_its_server_and_is_not_tried_again_for_other_words(node: Node, tmp_path: Path) -> None:
    up = tmp_path / "up"
    client = f'test -e {up} && echo 42 || {{ echo "Couldn\'t connect to gpu02:18515" >&2; exit 1; }}'
    node.start(
        job("server", "touch", str(up), at=1.5),
        job("client", "sh", "-c", client, again=["Couldn't connect"]),
        job("wrong", "sh", "-c", "echo IB device not found >&2; exit 1", again=["Couldn't connect"]),
    )
    output = node.collect()["answers"]
    assert output["client"]["stdout"] == "42\n" and output["client"]["attempts"] > 1
    assert (output["wrong"]["attempts"], output["wrong"]["rc"]) == (1, 1)


def test_a_client_whose_last_attempt_says_nothing_is_reported_by_the_one_before(node: Node, tmp_path: Path) -> None:
    client = f'if [ -e {tmp_path}/second ]; then sleep 60; fi; touch {tmp_path}/second; echo "Couldn\'t connect" >&2; exit 1'
    node.start(job("client", "sh", "-c", client, until=6, again=["Couldn't connect"]))
    result = node.collect()["answers"]["client"]
    assert (result["status"], result["attempts"], result["stderr"]) == ("timeout", 2, "Couldn't connect\n")


def test_a_server_that_never_comes_leaves_the_last_words(node: Node) -> None:
    node.start(job("client", "sh", "-c", 'echo "Couldn\'t connect" >&2; exit 1', until=5, again=["Couldn't connect"]))
    output = node.collect()["answers"]["client"]
    assert output["status"] == "ran" and output["rc"] == 1 and output["stderr"] == "Couldn't connect\n" and output["attempts"] > 1


def test_a_missing_tool_says_so(node: Node) -> None:
    node.start(job("a", "no-such-tool"))
    output = node.collect()["answers"]["a"]
    assert (output["status"], output["stderr"]) == ("missing", "no-such-tool: not found on PATH")


def test_a_load_that_nobody_watches_ends_by_itself(node: Node, tmp_path: Path) -> None:
    node.start(job("a", *sleeper(tmp_path / "mark")), job("b", "true", at=40), lease=8)
    mine = [*pids(tmp_path / "mark"), node.supervisor()]
    assert all(map(lives, mine))
    wait_for(lambda: not any(map(lives, mine)))
    output = node.collect()
    assert output["ended"] == "not watched for 8 s"
    assert {name: one["status"] for name, one in output["answers"].items()} == {"a": "stopped", "b": "never"}


def test_a_watched_load_lives_beyond_its_lease(node: Node) -> None:
    node.start(job("a", "sleep", "10"), lease=7)
    watched = [node.say("watch")]
    while watched[-1]["ended"] is None:
        watched.append(node.say("watch"))
    assert watched[-1]["ended"] == "done" and watched[0] == {"ended": None, "jobs": 1, "done": 0}
    assert node.collect()["answers"]["a"]["status"] == "ran"


def test_a_collector_does_not_wait_for_ever(node: Node, tmp_path: Path) -> None:
    node.start(job("a", *sleeper(tmp_path / "mark"), until=500))
    mine = pids(tmp_path / "mark")
    output = node.collect(wait=0.5)
    assert output["ended"] == "it did not end in time" and output["answers"]["a"]["status"] == "stopped" and not any(map(lives, mine))


def test_the_next_run_of_the_same_pod_ends_what_a_dead_one_left(node: Node, tmp_path: Path) -> None:
    node.start(job("a", *sleeper(tmp_path / "mark"), until=500), load="r1-rdma")
    mine = [*pids(tmp_path / "mark"), node.supervisor("r1-rdma")]
    assert all(map(lives, mine))
    assert node.start(job("b", "true"), load="r2-rdma")["ended_leftovers"] == ["r1-rdma of run r1"]
    assert not any(map(lives, mine))
    assert node.collect("r2-rdma")["answers"]["b"]["rc"] == 0


def test_jobs_of_a_killed_supervisor_are_ended_by_their_record_and_nothing_else_is(node: Node, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as other:
        node.start(job("a", *sleeper(tmp_path / "mark"), until=500), load="r1-rdma")
        mine = pids(tmp_path / "mark")
        os.kill(node.supervisor("r1-rdma"), signal.SIGKILL)
        wait_for(lambda: not lives(node.supervisor("r1-rdma")))
        assert all(map(lives, mine)), "what is to be ended must live first"
        assert node.say("watch", "r1-rdma")["ended"] == "its supervisor has died"
        assert node.start(job("b", "true"), load="r2-rdma")["ended_leftovers"] == ["r1-rdma of run r1"]
        wait_for(lambda: not any(map(lives, mine)))
        assert lives(other.pid)
        other.kill()


def test_a_process_that_took_over_an_id_is_left_alone(node: Node, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as other:
        node.start(job("a", *sleeper(tmp_path / "mark"), until=500), load="r1-rdma")
        pids(tmp_path / "mark")
        os.kill(node.supervisor("r1-rdma"), signal.SIGKILL)
        wait_for(lambda: not lives(node.supervisor("r1-rdma")))
        running = node.directory / "r1-rdma" / "running" / "9.json"
        running.write_text(json.dumps({**node.record("r1-rdma")["supervisor"], "pid": other.pid}))
        node.start(job("b", "true"), load="r2-rdma")
        assert lives(other.pid)
        other.kill()


def test_a_load_of_another_controller_refuses(node: Node) -> None:
    node.start(job("a", "sleep", "600", until=500), load="theirs", owner="there")
    assert "run r1 from there is under way" in node.start(job("b", "true"), load="ours")["refused"]
    assert lives(node.supervisor("theirs"))
    node.say("end", "theirs")


def test_a_load_that_another_program_is_starting_is_left_alone(node: Node) -> None:
    """Its directory has no record yet; one that stays without is removed."""
    node.start(job("first", "true"), owner="there")
    node.collect()
    starting = node.directory / "starting"
    starting.mkdir()
    node.start(job("first", "true"))
    node.collect()
    assert starting.is_dir()
    past = time.time() - detached.STARTING_SECONDS - 1
    os.utime(starting, (past, past))
    (node.directory / "two").mkdir()
    node.start(job("first", "true"), load="two")
    node.collect("two")
    assert not starting.exists()


def test_an_unknown_load_is_reported_as_unknown(node: Node) -> None:
    output = node.collect("nothing")
    assert {key: output[key] for key in ("ended", "jobs", "done", "answers")} == {"ended": "it is not known here", "jobs": 0, "done": 0, "answers": {}}
    # What is not known here may have been lost in a boot.
    assert output["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip() and output["uptime_seconds"] > 0


def test_a_place_that_is_a_link_is_refused(node: Node, tmp_path: Path) -> None:
    (tmp_path / f"gpufabric.pyramid-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    done = node.piped(do="start", load="one", owner="here", run_id="r1", start_in=0, lease=30, jobs=[])
    assert done.returncode != 0 and "is not a directory of this user" in done.stderr
    (tmp_path / f"gpufabric.pyramid-{os.getuid()}").unlink()


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_left_by_runs_that_are_interrupted_at_any_moment(node: Node, tmp_path: Path, seed: int) -> None:
    """The starting program, the supervisor, or neither is killed at some moment; the next run finds nothing running after it has begun."""
    dice = random.Random(seed)
    marks = [tmp_path / f"mark{number}" for number in range(3)]
    jobs = [job(str(number), *sleeper(mark), at=number * 0.1, until=500) for number, mark in enumerate(marks)]
    request = {"do": "start", "load": "r1-rdma", "owner": "here", "run_id": "r1", "start_in": 0, "lease": 30, "jobs": jobs}
    program = SOURCE.replace(FUTURE, f"{FUTURE}REQUEST = {json.dumps(request)!r}\n", 1)
    with subprocess.Popen([sys.executable, "-SE", "-"], stdin=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}) as starting:
        assert starting.stdin is not None
        starting.stdin.write(program)
        starting.stdin.close()
        time.sleep(dice.uniform(0, 0.5))
        starting.kill()
    if dice.random() < 0.5 and (node.directory / "r1-rdma" / "record.json").exists():
        os.kill(node.supervisor("r1-rdma"), signal.SIGKILL)
    node.start(job("b", "true"), load="r2-rdma")
    assert node.collect("r2-rdma")["answers"]["b"]["rc"] == 0
    born = [int(word) for mark in marks if mark.exists() for word in mark.read_text().split()]
    wait_for(lambda: not any(map(lives, born)))


def reservation(run: str = "r1", owner: str = "/runs/a (1)", seconds: float = 60) -> dict[str, t.Any]:
    return {"owner": owner, "who": "user mary on ctl01", "run_id": run, "seconds": seconds}


def test_a_host_is_reserved_for_one_run_until_it_is_released(node: Node) -> None:
    assert node.say("reserve", reservation=reservation())["refused"] is None
    assert node.say("reserve", reservation=reservation())["refused"] is None, "a run may renew its own"
    words = node.say("reserve", reservation=reservation("r2", "/runs/b (2)"))["refused"]
    assert words.startswith("this host is reserved for the loads of run r1 of user mary on ctl01, whose runs are in /runs/a (1); wait until that run ends")
    for refused in (node.start(job("a", "true"), load="by-hand", owner="elsewhere", beside=True), node.start(job("a", "true"), owner="other")):
        assert refused["refused"].startswith("this host is reserved for the loads of run r1")
    node.say("release", reservation=reservation("r2", "/runs/b (2)"))
    assert node.say("reserve", reservation=reservation("r2", "/runs/b (2)"))["refused"] is not None, "another run cannot release it"
    node.say("release", reservation=reservation())
    assert node.say("reserve", reservation=reservation("r2", "/runs/b (2)"))["refused"] is None


def test_the_next_run_of_the_same_runs_directory_takes_the_reservation_of_a_dead_one_over(node: Node) -> None:
    node.say("reserve", reservation=reservation("r1"))
    assert node.say("reserve", reservation=reservation("r2"))["refused"] is None
    node.say("release", reservation=reservation("r1"))
    assert node.say("reserve", reservation=reservation("r3", "/runs/b (2)"))["refused"] is not None, "the dead run's release came too late"


def test_what_an_owner_left_is_cleared_and_nothing_of_another_one(node: Node, tmp_path: Path) -> None:
    ours, theirs = reservation(), reservation("r2", "/runs/b (2)")
    node.start(job("b", *sleeper(tmp_path / "other"), until=600), load="two", owner=theirs["owner"])
    node.start(job("a", *sleeper(tmp_path / "mark"), until=600), owner=ours["owner"], reservation=ours, beside=True)
    mine, others = pids(tmp_path / "mark"), pids(tmp_path / "other")
    assert node.say("clear", load="", owner="/runs/c (3)") == {"ended": []} and all(map(lives, mine))
    assert node.say("clear", load="", owner=ours["owner"]) == {"ended": ["one of run r1: ended on request"]}
    assert not any(map(lives, mine)) and all(map(lives, others)) and [path.name for path in node.directory.iterdir()] == ["two"]
    assert node.say("reserve", reservation=theirs)["refused"] is None, "the host is free again"
    assert node.say("clear", load="", owner=ours["owner"]) == {"ended": []}
    assert node.say("reserve", reservation=ours)["refused"] is not None, "it left the other one's reservation"


def test_a_reservation_expires_by_the_hosts_clock_and_is_renewed_by_every_look(node: Node) -> None:
    seconds = 6
    ours, theirs = reservation(seconds=seconds), reservation("r2", "/runs/b (2)")
    assert node.start(job("a", "sleep", "60", until=90), owner=ours["owner"], reservation=ours)["refused"] is None
    reserved = time.monotonic()
    while time.monotonic() < reserved + 1.5 * seconds:
        node.say("watch", reservation=ours)
        assert node.say("reserve", reservation=theirs)["refused"] is not None
    node.say("end")
    wait_for(lambda: node.say("reserve", reservation=theirs)["refused"] is None)


@pytest.mark.parametrize("output", ["", "[]", "{}", '{"owner": 1}', "\x00" * 8000])
def test_what_another_login_wrote_may_be_anything(node: Node, output: str) -> None:
    place = node.place / f"{detached.PLACE}another"
    place.mkdir()
    (place / detached.RESERVED).write_text(output)
    assert node.say("reserve", reservation=reservation())["refused"] is None


def test_a_reservation_of_another_login_is_respected(node: Node) -> None:
    there = {**reservation("r7", "/home/joe/runs\x1b[31m (3)"), "boot_id": detached._boot_id(), "until": time.monotonic() + 60}
    place = node.place / f"{detached.PLACE}another"
    place.mkdir()
    (place / detached.RESERVED).write_text(json.dumps(there))
    words = node.say("reserve", reservation=reservation())["refused"]
    assert "run r7 of user mary on ctl01" in words and "\x1b" not in words
    assert not (node.directory.parent / detached.RESERVED).exists(), "who is refused leaves nothing"
    assert "run r7" in node.start(job("a", "true"))["refused"]
    for other in ({"boot_id": "another"}, {"until": time.monotonic() - 1}):
        (place / detached.RESERVED).write_text(json.dumps({**there, **other}))
        assert node.say("reserve", reservation=reservation())["refused"] is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may be another login")
def test_another_login_sees_the_reservation_and_nothing_else(tmp_path: Path) -> None:
    shared = Path(f"/tmp/pyramid-{os.getpid()}")
    shared.mkdir(mode=0o1777)
    shared.chmod(0o1777)
    try:
        ours = Node(shared)
        assert ours.say("reserve", reservation=reservation())["refused"] is None
        program = SOURCE.replace(FUTURE, f"{FUTURE}REQUEST = {json.dumps({'do': 'reserve', 'load': '', 'reservation': reservation('r2', 'b')})!r}\n", 1)
        argv = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "/usr/bin/python3", "-SE", "-"]
        done = subprocess.run(
            argv, input=program, text=True, capture_output=True, timeout=60, check=True, env={"PATH": "/usr/bin", "TMPDIR": str(shared)}, cwd="/"
        )
        assert "run r1 of user mary" in json.loads(done.stdout)["detached"]["refused"]
        assert (ours.directory.stat().st_mode & 0o777, ours.directory.parent.stat().st_mode & 0o777) == (0o700, 0o711)
    finally:
        shutil.rmtree(shared)


def test_two_runs_that_reserve_at_one_moment_are_never_both_granted(node: Node) -> None:
    with ThreadPoolExecutor(8) as pool:
        output = list(pool.map(lambda number: node.say("reserve", reservation=reservation(f"r{number}", f"/runs/{number}"))["refused"], range(8)))
    assert output.count(None) == 1


def test_no_job_starts_once_the_controller_has_not_looked(node: Node, tmp_path: Path) -> None:
    first = ["sh", "-c", f"until test -e {tmp_path}/go; do sleep 0.1; done"]
    node.start(job("first", *first, until=90), job("later", "touch", str(tmp_path / "later"), at=4), fresh=2)
    answer = node.directory / "one" / "answers" / "1.json"
    wait_for(answer.exists)
    result = json.loads(answer.read_text())
    assert result["status"] == "never"
    assert re.search(r"the controller had not looked at this load for \d+ s when it was to start, and 2 s are allowed", result["stderr"])
    assert not (tmp_path / "later").exists() and lives(node.supervisor())
    (tmp_path / "go").touch()
    assert node.collect()["answers"]["first"]["status"] == "ran", "what runs is ended by its deadline, or by the lease"


def test_jobs_start_while_the_controller_looks(node: Node) -> None:
    node.start(job("first", "true"), job("later", "true", at=9), fresh=8)
    while (state := node.say("watch", wait=1, fresh=8))["ended"] is None:
        assert state["done"] <= 2
    assert node.collect()["answers"]["later"]["status"] == "ran"


def test_a_look_that_waits_renews_once(node: Node, tmp_path: Path) -> None:
    """The controller may be gone while the host still waits for it."""
    node.start(job("first", "sleep", "12"), job("later", "touch", str(tmp_path / "later"), at=8), fresh=30)
    node.say("watch", wait=10, fresh=1)
    assert json.loads((node.directory / "one" / "answers" / "1.json").read_text())["status"] == "never" and not (tmp_path / "later").exists()
