# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Probes of some minutes, over real sockets of the loopback, and the events that they make of what was not answered."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import path_watch
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse
from ansible_collections.gpufabric.pyramid.tests.ports import claimed

PROGRAM = Path(path_watch.__file__)
INTERVAL_MS = 20


def watched(answers: t.Callable[[int, int], bool], flows: int = 4) -> list[dict[str, t.Any]]:
    """The rows of a probe of the loopback; answers: whether a datagram is, by its number and its sender's, both from 0."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.1)
        over = threading.Event()
        thread = threading.Thread(target=_serve, args=(server, answers, over))
        thread.start()
        try:
            argv = [sys.executable, "-SE", str(PROGRAM), "--source", "127.0.0.1", "--target", "127.0.0.1", "--netdev", "lo", "--at", "3"]
            argv += ["--port", str(server.getsockname()[1]), "--flows", str(flows), "--interval", str(INTERVAL_MS), "--seconds", "2"]
            done = subprocess.run(argv, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=True)
        finally:
            over.set()
            thread.join()
    return parse("failover_probes", "linux", done.stdout)


def _serve(server: socket.socket, answers: t.Callable[[int, int], bool], over: threading.Event) -> None:
    ports: list[int] = []
    while not over.is_set():
        try:
            data, sender = server.recvfrom(1000)
        except TimeoutError:
            continue
        if sender[1] not in ports:
            ports.append(sender[1])
        if answers(path_watch.NUMBER.unpack_from(data)[0], ports.index(sender[1])):
            server.sendto(data, sender)


def test_what_is_answered_is_one_row() -> None:
    (row,) = watched(lambda _number, _flow: True)
    assert row["answered"] == row["sent"] > 40 and row["flows"] == 4 and row["from_s"] is None


def test_flows_without_an_answer_for_a_time_are_one_event() -> None:
    (row,) = watched(lambda number, flow: flow > 1 or not 5 <= number < 15)
    assert (row["flows_lost"], row["flows_not_back"]) == (2, 0)
    # A busy processor sends later, never earlier: five intervals until it begins, ten until it ends.
    assert row["from_s"] >= 3 + 5 * INTERVAL_MS / 1000 and row["longest_ms"] >= 10 * INTERVAL_MS
    assert row["until_s"] - row["from_s"] == pytest.approx(row["longest_ms"] / 1000, abs=0.002)


def test_flows_that_do_not_come_back() -> None:
    (row,) = watched(lambda number, flow: flow > 0 or number < 15)
    assert (row["flows_lost"], row["flows_not_back"], row["until_s"]) == (1, 1, None)


def test_nobody_listens() -> None:
    argv = [sys.executable, "-SE", str(PROGRAM), "--source", "127.0.0.1", "--target", "127.0.0.1", "--netdev", "lo", "--port", str(claimed())]
    done = subprocess.run([*argv, "--flows", "2", "--interval", "10", "--seconds", "0.2"], capture_output=True, text=True, timeout=60, check=True)
    (row,) = parse("failover_probes", "linux", done.stdout)
    assert row["answered"] == 0 and (row["flows_lost"], row["flows_not_back"]) == (2, 2)


def test_an_address_that_is_not_here_is_reported() -> None:
    argv = [sys.executable, "-SE", str(PROGRAM), "--source", "192.0.2.1", "--target", "127.0.0.1", "--netdev", "lo", "--port", "9"]
    done = subprocess.run([*argv, "--flows", "2", "--interval", "10", "--seconds", "0.2"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and done.stderr.startswith("cannot probe from 192.0.2.1 to 127.0.0.1:")


@pytest.mark.parametrize(
    ("outages", "expected"),
    [
        ([], []),
        ([(1.0, 1.2), (1.1, 1.5)], [(1.0, 1.5, 400, 2, 0)]),
        ([(1.0, 1.2), (2.1, 2.2)], [(1.0, 2.2, 200, 2, 0)]),
        ([(1.0, 1.2), (2.5, 2.6)], [(1.0, 1.2, 200, 1, 0), (2.5, 2.6, 100, 1, 0)]),
        ([(1.0, None), (9.0, 9.5)], [(1.0, None, 500, 2, 1)]),
    ],
)
def test_outages_close_to_each_other_are_one_event(outages: list[tuple[float, float | None]], expected: list[tuple[object, ...]]) -> None:
    assert [tuple(one.values()) for one in path_watch.events(outages, 0.0)] == expected


def test_an_outage_ends_with_the_next_answer() -> None:
    times = [0.0, 0.02, 0.04, 0.06, 0.08]
    assert path_watch.outages_of(bytearray([1, 0, 0, 1, 0]), times) == [(0.02, 0.06), (0.08, None)]
