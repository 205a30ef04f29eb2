# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work for many nodes from one task: a process for each core, and in each of them a thread for each node that is waited for.

Every node gets a result: that of its work, or words that say why there is none.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import queue
import resource
import selectors
import signal
import threading
import time
import typing as t
from dataclasses import dataclass

from ..collect.end_clients import end_clients
from ..collect.turns import has_turn, working
from ..run.lock_keeper import started
from ..text.counting import counted
from .node_executor import controller

Values = dict[str, t.Any]
# prctl(2): the signal that a process gets when its parent ends.
PR_SET_PDEATHSIG = 1
LOOK_SECONDS = 0.25
# A node whose time is over has its clients ended, and so long to notice; then it is left behind.
GRACE_SECONDS = 5.0
# So many nodes are begun with at once by a process, and for each that is done one more than ends: connections that are still to be made cost the
# controller most, and time out where all are made at once.
FIRST_NODES = 40
# Descriptors of a thread that waits: its client's pipes, and what its result is written to.
DESCRIPTORS_A_NODE, DESCRIPTORS_BESIDE = 8, 128


@dataclass(frozen=True)
class Width:
    """How many processes work, how many nodes are waited for at a time by all of them, and for how many seconds each at most."""

    processes: int
    nodes: int
    seconds: float


@dataclass
class _Process:
    """A process that works, the nodes that it was given and has no result of yet, and what it has written of a line."""

    pid: int
    nodes: set[str]
    line: bytes = b""

    def results(self, data: bytes) -> t.Iterator[tuple[str, Values]]:
        """The results that are whole with what it wrote now."""
        *lines, self.line = (self.line + data).split(b"\n")
        for node, result in map(json.loads, lines):
            self.nodes.discard(node)
            yield node, result

    def lost(self) -> t.Iterator[tuple[str, Values]]:
        """Its nodes without a result, once it has ended."""
        _pid, status = os.waitpid(self.pid, 0)
        ended = f"ended with status {os.waitstatus_to_exitcode(status)} and no result of {counted(len(self.nodes), 'node')}"
        for node in sorted(self.nodes):
            yield node, _failed(f"the process that worked for it {ended}; it ran on the controller, whose kernel log names it where memory ran out")


def results_of_nodes(nodes: t.Sequence[str], work: t.Callable[[str], Values], width: Width) -> t.Iterator[tuple[str, Values]]:
    """Each node with the result of its work, as they come.

    What fails, ends or is not over in time gives ``failed`` with ``msg``. Nothing is left running, also where the caller gives up.
    """
    processes = max(1, min(width.processes, width.nodes, len(nodes)))
    each = Width(1, width.nodes // processes, width.seconds)
    pipes = selectors.DefaultSelector()
    running: list[_Process] = []
    try:
        for number in range(processes):
            _start(list(nodes[number::processes]), work, each, pipes, running)
        while pipes.get_map():
            for key, _events in pipes.select():
                process = t.cast(_Process, key.data)
                if data := os.read(key.fd, 1 << 16):
                    yield from process.results(data)
                else:
                    pipes.unregister(key.fileobj)
                    os.close(key.fd)
                    running.remove(process)
                    yield from process.lost()
    finally:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGTERM)
            os.waitpid(process.pid, 0)
        for key in list(pipes.get_map().values()):
            os.close(key.fd)
        pipes.close()


def _start(nodes: list[str], work: t.Callable[[str], Values], width: Width, pipes: selectors.BaseSelector, running: list[_Process]) -> None:
    """Fork a process for some nodes, and listen to it."""
    reads, writes = os.pipe()
    parent, main = os.getpid(), controller()
    pid = os.fork()
    if pid == 0:
        try:
            for key in pipes.get_map().values():
                os.close(key.fd)
            os.close(reads)
            _become_worker(parent, main)
            _Lanes(nodes, work, width).serve(writes)
        except BaseException:
            _end()
        os._exit(0)
    os.close(writes)
    running.append(_Process(pid, set(nodes)))
    pipes.register(reads, selectors.EVENT_READ, running[-1])


def _become_worker(parent: int, main: int) -> None:
    """End with the parent, and with all clients; be able to hold many of them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, _end)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        _end()
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # Plugins take the parent of the process that runs a task for ansible-playbook.
    os.getppid = functools.partial(_parent, main, started(main))


def _parent(main: int, since: int | None) -> int:
    """The process ``main`` that started then; 1, which takes what has lost its parent, where it has ended."""
    return main if started(main) == since else 1


def _end(*_signal: object) -> t.NoReturn:
    end_clients()
    os._exit(1)


@dataclass
class _Wait:
    """A node that a thread works for: until when, whether its clients have been ended, and whether it was left behind."""

    node: str
    thread: int
    until: float
    ended: bool = False
    left: bool = False


class _Lanes:
    """The threads of a process; each works for one node after the other."""

    def __init__(self, nodes: list[str], work: t.Callable[[str], Values], width: Width) -> None:
        self.work, self.seconds = work, width.seconds
        self.left, self.waiting = set(nodes), queue.SimpleQueue[str]()
        for node in nodes:
            self.waiting.put(node)
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        able = len(nodes) if most == resource.RLIM_INFINITY else max(1, (most - DESCRIPTORS_BESIDE) // DESCRIPTORS_A_NODE)
        self.most = min(width.nodes, able, len(nodes))
        self.threads = 0
        self.busy: dict[str, _Wait] = {}
        self.results: queue.SimpleQueue[tuple[str, Values]] = queue.SimpleQueue()

    def serve(self, writes: int) -> None:
        """Work for all nodes, and write each result as a line."""
        for _number in range(FIRST_NODES):
            self._one_more()
        while self.left:
            with contextlib.suppress(queue.Empty):
                node, result = self.results.get(timeout=LOOK_SECONDS)
                # One that was left behind has a result already.
                if node in self.left:
                    self.left.discard(node)
                    _write(writes, json.dumps([node, result], default=str).encode() + b"\n")
                    self._one_more()
            self._end_late()

    def _one_more(self) -> None:
        if self.threads < self.most and not self.waiting.empty():
            self.threads += 1
            threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                node = self.waiting.get_nowait()
            except queue.Empty:
                return
            with working():
                self.busy[node] = wait = _Wait(node, threading.get_native_id(), time.monotonic() + self.seconds)
                try:
                    result = self.work(node)
                except Exception as error:
                    # What is wrong with a node's variables, say, concerns this node alone.
                    result = _failed(str(error) or type(error).__name__)
                self.busy.pop(node, None)
            if wait.left:
                # Another thread has taken its place.
                return
            self.results.put((node, self._late() if wait.ended else result))

    def _end_late(self) -> None:
        """End the clients of the nodes whose time is over, and leave those behind that do not notice."""
        now = time.monotonic()
        for wait in list(self.busy.values()):
            if now > wait.until and not wait.ended:
                wait.ended = True
                end_clients(wait.thread)
            elif now > wait.until + GRACE_SECONDS:
                self.busy.pop(wait.node, None)
                wait.left = True
                self.threads -= 1
                self.results.put((wait.node, self._late()))
                if has_turn(wait.thread):
                    # Without it no other node can be worked for; whoever waits for this process reports each of them.
                    _end()

    def _late(self) -> Values:
        return _failed(f"no response within {self.seconds:g} s (pod_read_timeout_seconds)")


def _failed(words: str) -> Values:
    return {"failed": True, "msg": words}


def _write(handle: int, line: bytes) -> None:
    while line:
        line = line[os.write(handle, line) :]
