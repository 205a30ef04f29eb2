# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One task for many nodes: real processes, threads and clients; only what a node would do is a function here."""

from __future__ import annotations

import os
import queue
import resource
import signal
import subprocess
import threading
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.end_clients import end_clients
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.limits import TooLong, clients_write_too_much, within_limits
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.turns import wait_outside_turn, waiting, working
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow import node_workers
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.node_workers import Width, results_of_nodes

Values = dict[str, t.Any]
NODES = [f"gpu{number:02}" for number in range(1, 13)]
SECONDS = 60.0


def results(work: t.Callable[[str], Values], processes: int = 2, nodes: int = 256, seconds: float = SECONDS) -> dict[str, Values]:
    found = list(results_of_nodes(NODES, work, Width(processes, nodes, seconds)))
    assert sorted(name for name, _result in found) == NODES, "each node has one result"
    return dict(found)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def awaited(condition: t.Callable[[], bool]) -> bool:
    until = time.monotonic() + 60
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    return condition()


@pytest.mark.parametrize("processes", [1, 2, 5, 40])
def test_every_node_has_its_result(processes: int) -> None:
    found = results(lambda node: {"node": node, "process": os.getpid()}, processes)
    assert all(found[node]["node"] == node for node in NODES)
    assert len({one["process"] for one in found.values()}) == min(processes, len(NODES))
    assert os.getpid() not in {one["process"] for one in found.values()}


def test_no_node_is_no_result() -> None:
    assert list(results_of_nodes([], lambda _node: {}, Width(2, 4, SECONDS))) == []


def test_nodes_are_waited_for_together_and_worked_for_one_at_a_time() -> None:
    together, busy = threading.Barrier(len(NODES), timeout=30), threading.Lock()

    def work(node: str) -> Values:
        alone = busy.acquire(blocking=False)
        with waiting():
            busy.release()
            together.wait()
        alone &= busy.acquire(blocking=False)
        busy.release()
        return {"alone": alone}

    assert all(one == {"alone": True} for one in results(work, 1).values())


def test_so_many_are_waited_for_as_is_allowed() -> None:
    now, most = set[str](), list[int]()

    def work(node: str) -> Values:
        now.add(node)
        with waiting():
            awaited(lambda: len(now) >= 3 or len(most) > 8)
        most.append(len(now))
        now.discard(node)
        return {"beside": max(most)}

    assert max(one["beside"] for one in results(work, 1, nodes=3).values()) == 3


def test_more_are_begun_for_each_that_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_workers, "FIRST_NODES", 2)
    begun = list[str]()

    def work(node: str) -> Values:
        begun.append(node)
        first, number = len(begun) <= 2, len(begun)
        with waiting():
            # The first two wait for each other; the others until so many are there as may be.
            awaited(lambda: len(begun) >= (2 if first else 4))
        return {"at": number}

    assert sorted(one["at"] for one in results(work, 1).values()) == list(range(1, len(NODES) + 1))


def test_what_fails_concerns_one_node() -> None:
    def work(node: str) -> Values:
        if node == "gpu03":
            raise ValueError("'site' is undefined")
        return {}

    found = results(work)
    assert found.pop("gpu03") == {"failed": True, "msg": "'site' is undefined"} and not any(found.values())


def test_nodes_of_a_process_that_ends_are_named() -> None:
    def work(node: str) -> Values:
        if node == "gpu03":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"ok": True}

    found = results(work, 2)
    assert all(found[node] == {"ok": True} for node in NODES[1::2]), "the other process goes on"
    assert found["gpu03"]["failed"] and "ended with status -9 and no result of" in found["gpu03"]["msg"]


def test_a_node_that_does_not_respond_is_given_up_alone(tmp_path: Path) -> None:
    def work(node: str) -> Values:
        with waiting(), subprocess.Popen(["sleep", "600" if node == "gpu03" else "0"]) as client:
            (tmp_path / node).write_text(str(client.pid), encoding="ascii")
            return {"status": client.wait()}

    found = results(work, 1, seconds=6.0)
    assert found.pop("gpu03") == {"failed": True, "msg": "no response within 6 s (pod_read_timeout_seconds)"}
    assert all(one == {"status": 0} for one in found.values())
    assert gone(int((tmp_path / "gpu03").read_text(encoding="ascii")))


def test_a_node_that_keeps_its_turn_ends_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_workers, "GRACE_SECONDS", 0.2)

    def work(node: str) -> Values:
        while node == "gpu03":
            pass
        return {"ok": True}

    found = results(work, 2, seconds=4.0)
    assert found["gpu03"]["failed"] and all(found[node] == {"ok": True} for node in NODES[1::2])


def test_nodes_that_are_left_behind_keep_no_one_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection without a client of its own, which nothing can end."""
    monkeypatch.setattr(node_workers, "GRACE_SECONDS", 0.2)

    def work(node: str) -> Values:
        with waiting():
            if node in ("gpu01", "gpu02"):
                threading.Event().wait()
        return {"ok": True}

    found = results(work, 1, nodes=2, seconds=0.5)
    assert [node for node in NODES if found[node] != {"ok": True}] == ["gpu01", "gpu02"]


def test_processes_wait_for_no_more_nodes_than_are_allowed() -> None:
    assert len({one["process"] for one in results(lambda _node: {"process": os.getpid()}, processes=8, nodes=3).values()}) == 3


def test_nothing_is_left_running_where_the_caller_gives_up(tmp_path: Path) -> None:
    def work(node: str) -> Values:
        if node == "gpu01":
            awaited((tmp_path / "gpu03").exists)
            return {}
        with waiting(), subprocess.Popen(["sleep", "600"]) as client:
            (tmp_path / node).write_text(str(client.pid), encoding="ascii")
            client.wait()
        return {}

    found = results_of_nodes(["gpu03", "gpu02", "gpu01"], work, Width(2, 8, SECONDS))
    assert next(found)[0] == "gpu01" or awaited((tmp_path / "gpu02").exists)
    pid = int((tmp_path / "gpu03").read_text(encoding="ascii"))
    assert not gone(pid)
    t.cast("t.Generator[tuple[str, Values], None, None]", found).close()
    assert awaited(lambda: gone(pid))


def test_plugins_find_the_playbooks_process_as_their_parent() -> None:
    assert {one["parent"] for one in results(lambda _node: {"parent": os.getppid()}).values()} == {os.getppid()}


def test_only_the_client_that_writes_too_much_is_ended() -> None:
    def work(node: str) -> Values:
        command = ["cat", "/dev/zero" if node == "gpu03" else "/dev/null"]

        def read() -> bytes:
            with subprocess.Popen(command, stdout=subprocess.PIPE) as client:
                while client.stdout and client.stdout.read(1 << 20):
                    pass
                return b"whole"

        try:
            return {"answer": within_limits(read, SECONDS, clients_write_too_much, end_clients).decode()}
        except TooLong:
            return {"answer": "too long"}

    found = results(work, 1)
    assert found.pop("gpu03") == {"answer": "too long"} and {one["answer"] for one in found.values()} == {"whole"}


def test_a_connection_waits_outside_its_turn() -> None:
    class Connection:
        def exec_command(self, command: str) -> str:
            # Another thread gets the turn meanwhile, else this would wait for good.
            other = threading.Thread(target=_take_turn)
            other.start()
            other.join(30)
            return "" if other.is_alive() else command

    def _take_turn() -> None:
        with working():
            pass

    connection = Connection()
    wait_outside_turn(connection)
    with working():
        assert connection.exec_command("show version") == "show version"


def test_a_client_that_starts_while_others_are_ended_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    clients: list[subprocess.Popen[bytes]] = []
    kill = os.kill

    def start() -> None:
        clients.append(subprocess.Popen(["sleep", "600"]))

    def start_and_kill(pid: int, number: int) -> None:
        if len(clients) < 2:
            start()
        kill(pid, number)

    def run() -> None:
        start()
        monkeypatch.setattr(os, "kill", start_and_kill)
        end_clients(threading.get_native_id())

    # Only what this thread has started is ended.
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(30)
    assert [client.wait(30) for client in clients] == [-signal.SIGKILL] * 2


def lanes(nodes: int, most: int, work: t.Callable[[str], Values] = lambda _node: {}) -> node_workers._Lanes:
    """The threads of a process for some nodes, of which none has begun."""
    return node_workers._Lanes(NODES[:nodes], work, Width(1, most, SECONDS))


def test_an_error_without_words_is_named_by_its_kind() -> None:
    def work(_node: str) -> Values:
        raise ValueError

    assert all(one == {"failed": True, "msg": "ValueError"} for one in results(work).values())


@pytest.mark.parametrize(("limit", "most"), [(184, 7), (183, 6), (100, 1), (resource.RLIM_INFINITY, 8)])
def test_no_more_nodes_are_waited_for_than_there_are_descriptors(limit: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_workers.resource, "getrlimit", lambda _what: (10**6, limit))
    assert lanes(8, 8).most == most


def test_processes_share_the_nodes_that_may_be_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Seen(node_workers._Lanes):
        """Its nodes result in what it may do."""

        def __init__(self, nodes: list[str], _work: object, width: Width) -> None:
            super().__init__(nodes, lambda _node: {"processes": width.processes, "nodes": width.nodes}, width)

    monkeypatch.setattr(node_workers, "_Lanes", Seen)
    assert all(one == {"processes": 1, "nodes": 2} for one in results(lambda _node: {}, processes=2, nodes=4).values())


def test_a_thread_is_begun_for_each_node_up_to_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[dict[str, t.Any]]()

    class Thread:
        """A thread that does not run."""

        def __init__(self, **given: t.Any) -> None:
            self.given = given

        def start(self) -> None:
            begun.append(self.given)

    monkeypatch.setattr(node_workers.threading, "Thread", Thread)
    for nodes, most, wanted in ((8, 3, 3), (2, 3, 2)):
        begun.clear()
        one = lanes(nodes, most)
        for _number in range(5):
            one._one_more()
        assert (len(begun), one.threads) == (wanted, wanted) and all(given["daemon"] for given in begun)
    one.waiting.get_nowait()
    one.waiting.get_nowait()
    one.threads = 0
    one._one_more()
    assert one.threads == 0, "no node waits"


def test_a_node_that_is_left_behind_has_one_result_and_its_thread_no_other_node() -> None:
    one = lanes(3, 3)
    one.busy["gpu01"] = wait = node_workers._Wait("gpu01", threading.get_native_id() + 10**6, time.monotonic() - 600, ended=True)
    one.threads = 3
    one._end_late()
    assert wait.left and one.threads == 2 and not one.busy and one.results.get_nowait()[0] == "gpu01"

    def work(node: str) -> Values:
        two.busy[node].left = True
        return {}

    two = lanes(2, 2, work)
    two._run()
    assert two.results.empty() and two.waiting.qsize() == 1


def test_a_result_that_comes_after_its_node_was_left_behind_is_not_written() -> None:
    one = lanes(2, 2)
    one.waiting, one.left = queue.SimpleQueue(), {NODES[1]}
    for node in NODES[:2]:
        one.results.put((node, {"ok": True}))
    reads, writes = os.pipe()
    one.serve(writes)
    os.close(writes)
    with os.fdopen(reads) as lines:
        assert lines.read() == f'["{NODES[1]}", {{"ok": true}}]\n'


def test_the_playbooks_process_is_known_by_when_it_started() -> None:
    own = os.getpid()
    assert (node_workers._parent(own, node_workers.started(own)), node_workers._parent(own, -1)) == (own, 1)
