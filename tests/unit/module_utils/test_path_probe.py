# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Full-size path probes, over real sockets of the loopback."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import path_probe
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse
from ansible_collections.gpufabric.pyramid.tests.ports import claimed

PROGRAM = Path(path_probe.__file__)
LOOPBACK_MTU = 65536


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a host does."""
    return subprocess.run([sys.executable, "-SE", str(PROGRAM), *arguments], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)


def probe(port: int, target: str = "127.0.0.1", source: str = "127.0.0.1", size: int = 9000, flows: int = 8) -> subprocess.CompletedProcess[str]:
    """Probe the loopback."""
    return program("probe", "--source", source, "--target", target, "--size", str(size), "--flows", str(flows), "--netdev", "lo", "--port", str(port))


def answering(answers: t.Callable[[bytes, int], bytes | None]) -> t.ContextManager[int]:
    """A port where every datagram is answered by a function of it and of how many its sender has sent; None is no answer."""
    return answering_to(lambda data, number, _sender: answers(data, number))


@contextlib.contextmanager
def answering_to(answers: t.Callable[[bytes, int, object], bytes | None]) -> t.Iterator[int]:
    """As ``answering``, by a function also of the sender."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.1)
        over, seen = threading.Event(), {}

        def serve() -> None:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    data, sender = server.recvfrom(70000)
                    seen[sender] = seen.get(sender, 0) + 1
                    if (output := answers(data, seen[sender], sender)) is not None:
                        server.sendto(output, sender)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield int(server.getsockname()[1])
        finally:
            over.set()
            thread.join()


@pytest.fixture
def served() -> t.Iterator[int]:
    """A port with the program's own responder, in the background."""
    port = claimed()
    done = program("serve", "--daemon", "--port", str(port), "--deadline", "300")
    assert done.returncode == 0, done.stderr
    [row] = parse("path_responder", "linux", done.stdout)
    yield port
    with contextlib.suppress(ProcessLookupError):
        os.kill(row["pid"], signal.SIGKILL)


def test_every_flow_is_answered(served: int) -> None:
    done = probe(served, flows=16)
    assert (done.returncode, done.stderr) == (0, "")
    assert parse("path_probes", "linux", done.stdout) == [{"source": "127.0.0.1", "target": "127.0.0.1", "size_bytes": 9000, "flows": 16, "answered": 16}]


def test_the_answer_comes_from_the_address_that_was_asked(served: int) -> None:
    """A connected socket takes no answer from another; by the main route 127.0.0.1 would answer for 127.0.0.7."""
    assert json.loads(probe(served, target="127.0.0.7", source="127.0.0.5").stdout)["answered"] == 8


def test_every_flow_of_ipv6_is_answered_from_the_address_that_was_asked(served: int) -> None:
    done = probe(served, target="::1", source="::1", flows=16)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"source": "::1", "target": "::1", "size_bytes": 9000, "flows": 16, "answered": 16}


def test_a_host_without_ipv6_answers_by_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    own = socket.socket

    def without(family: int = socket.AF_INET, *arguments: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        return own(family, *arguments)

    monkeypatch.setattr(path_probe.socket, "socket", without)
    (one,) = path_probe.responders(claimed(), 1)
    with one:
        assert one.family == socket.AF_INET


def test_a_second_responder_answers_beside_the_first(served: int) -> None:
    second = program("serve", "--daemon", "--port", str(served), "--deadline", "1")
    assert second.returncode == 0, second.stderr
    assert json.loads(probe(served, flows=32).stdout)["answered"] == 32


def test_somebody_elses_port_is_named() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("", 0))
        port = other.getsockname()[1]
        done = program("serve", "--port", str(port), "--deadline", "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"cannot answer on UDP port {port}: Address already in use\n"


def test_a_responder_ends_itself_at_its_deadline() -> None:
    began = time.monotonic()
    assert program("serve", "--port", str(claimed()), "--deadline", "1").returncode == 0
    assert 0.9 < time.monotonic() - began < 60


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> t.Callable[..., int]:
    """How many flows of a probe are answered; seconds: for which an answer is waited for, few where none comes."""

    def measure(port: int, flows: int, seconds: float = 0.3) -> int:
        monkeypatch.setattr(path_probe, "TRY_SECONDS", seconds)
        command = ["probe", "--source", "127.0.0.1", "--target", "127.0.0.1", "--size", "9000", "--flows", str(flows), "--netdev", "lo", "--port", str(port)]
        assert path_probe.main(command) == 0
        return int(json.loads(capsys.readouterr().out)["answered"])

    return measure


def test_nobody_answers(answered: t.Callable[..., int]) -> None:
    assert answered(claimed(), 3) == 0


def test_a_flow_that_is_lost_twice_is_not_lost(answered: t.Callable[..., int]) -> None:
    with answering(lambda data, number: data if number == 3 else None) as port:
        assert answered(port, 4, 1.5) == 4


def test_a_flow_that_is_always_lost_is_counted(answered: t.Callable[..., int]) -> None:
    """The first sender is the flow whose uplink is bad."""
    bad: list[object] = []

    def all_but_the_first(data: bytes, number: int, sender: object) -> bytes | None:
        bad[:] = bad or [sender]
        return None if sender == bad[0] else data

    with answering_to(all_but_the_first) as port:
        assert answered(port, 4, 1.5) == 3


def test_an_answer_of_another_size_is_none(answered: t.Callable[..., int]) -> None:
    with answering(lambda data, _number: data[:-1]) as port:
        assert answered(port, 2) == 0


def test_the_datagram_is_as_large_as_reported() -> None:
    sizes = []
    with answering(lambda data, _number: sizes.append(len(data)) or data) as port:
        assert probe(port, size=4200, flows=2).returncode == 0
    assert sizes == [4200 - path_probe.HEADER_BYTES[socket.AF_INET]] * 2


def test_the_header_of_ipv6_is_longer() -> None:
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as server:
        server.bind(("::1", 0))
        server.settimeout(20)
        assert probe(server.getsockname()[1], target="::1", source="::1", size=4200, flows=1).returncode == 0
        assert len(server.recv(70000)) == 4200 - 40 - 8


def test_the_local_mtu_is_the_size_where_none_is_reported(served: int) -> None:
    """The loopback's is 65536, and an IP packet a byte less at most."""
    assert json.loads(probe(served, size=0, flows=1).stdout)["size_bytes"] == LOOPBACK_MTU - 1


LEARNED = "ip link set lo mtu 9000 up && ip route replace local 127.0.0.0/8 dev lo table local mtu 1500 && exec "


def test_what_a_route_has_learned_of_a_bad_path_makes_no_probe_smaller() -> None:
    """Routers tell hosts the MTU of the port that is too small; a probe of that size would pass on the path that fails."""
    words = [sys.executable, "-SE", str(PROGRAM), "probe", "--source", "127.0.0.1", "--target", "127.5.0.1", "--size", "0", "--flows", "1", "--netdev", "lo"]
    alone = ["unshare", "--map-root-user", "--net", "sh", "-c", LEARNED + shlex.join([*words, "--port", "4792"])]
    done = subprocess.run(alone, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
    if "unshare failed" in done.stderr and os.environ.get("CI") != "true":
        pytest.skip(f"a network namespace of its own is needed: {done.stderr.strip()}")
    assert json.loads(done.stdout) == {"source": "127.0.0.1", "target": "127.5.0.1", "size_bytes": 9000, "flows": 1, "answered": 0}, done.stderr


def test_more_than_the_local_mtu_is_no_measurement() -> None:
    done = probe(claimed(), size=LOOPBACK_MTU + 100)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{LOOPBACK_MTU + 100} bytes are more than the local MTU of 127.0.0.1 takes\n"


def test_less_than_its_own_headers_is_no_measurement() -> None:
    done = probe(claimed(), size=28)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "a datagram of 28 bytes has no room for more than its headers\n")


def test_an_address_that_is_not_here_is_no_measurement() -> None:
    done = probe(claimed(), source="192.0.2.1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "cannot probe from 192.0.2.1 to 127.0.0.1: Cannot assign requested address\n"


def test_a_probe_leaves_by_its_netdev_or_not_at_all(served: int) -> None:
    asked = ("probe", "--source", "127.0.0.1", "--target", "127.0.0.1", "--size", "1000", "--flows", "4", "--port", str(served), "--netdev")
    assert json.loads(program(*asked, "lo").stdout)["answered"] == 4
    nowhere = program(*asked, "rail9")
    assert (nowhere.returncode, nowhere.stdout) == (1, "") and "cannot probe from 127.0.0.1 to 127.0.0.1: No such device" in nowhere.stderr
