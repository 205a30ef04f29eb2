# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NCCL's RAS tells of a rank that hangs, in the form of NCCL 2.28.9, and where it tells nothing."""

from __future__ import annotations

import json
import socket
import threading
import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import nccl_ras

MISSING = '{"rank": 1, "host": "192.0.2.2", "pid": 589, "cuda_dev": 1, "nvml_dev": 1\n "status": {"unresponsive": true, "considered_dead": false}}'


def rank(number: int, called: int = 6) -> dict[str, t.Any]:
    counts = {"Broadcast": 0, "AllReduce": called}
    return {"rank": number, "host": "192.0.2.2", "pid": 588 + number, "cuda_dev": number, "nvml_dev": number, "collective_counts": counts}


def status(ranks: list[dict[str, t.Any]], missing: str = "", size: int = 2) -> str:
    """As RAS prints it: a communicator, with what is left out of a missing rank."""
    text = f'{{"hash": "0x10e4", "size": {size}, "ranks": {json.dumps(ranks)}, "missing_ranks": [\n{missing}\n]}}'
    return f'{{"nccl_version": "2.28.9", "communicators_count": 1, "communicators": [{text}], "ras": {{"timeouts_count": 0}}}}'


def test_a_rank_that_does_not_respond_is_named_with_host_and_gpu() -> None:
    assert nccl_ras.odd_ranks(status([rank(0)], MISSING), 588, 2) == {
        "ras": "rank 1 on 192.0.2.2 GPU 1: does not respond",
        "ras_missing": [1],
        "ras_behind": [],
    }
    whole = MISSING.replace('1\n "status"', '1, "status"').replace("false", "true")
    assert nccl_ras.odd_ranks(status([rank(0)], whole), 588, 2)["ras"] == "rank 1 on 192.0.2.2 GPU 1: considered dead"


def test_a_rank_that_called_fewer_collectives_is_behind() -> None:
    assert nccl_ras.odd_ranks(status([rank(0), rank(1, 5)]), 588, 2) == {
        "ras": "rank 1 on 192.0.2.2 GPU 1: 5 of 6 collectives",
        "ras_missing": [],
        "ras_behind": [1],
    }


def test_ranks_that_are_alike_are_nothing_to_tell() -> None:
    assert nccl_ras.odd_ranks(status([rank(0), rank(1)]), 588, 2) == {"ras": None, "ras_missing": [], "ras_behind": []}


def test_many_ranks_are_counted() -> None:
    found = nccl_ras.odd_ranks(status([rank(0), *(rank(number, 5) for number in range(1, 16))], size=16), 588, 16)
    assert found["ras"].count("GPU") == nccl_ras.MOST_NAMED and found["ras"].endswith("; and 7 more") and found["ras_behind"] == list(range(1, 16))


@pytest.mark.parametrize(
    "text", [None, "", "NCCL version 2.24.3\nJob summary", "{}", '{"communicators": [{}]}', status([rank(0)], size=3), status([rank(5)]), status([])[:90]]
)
def test_another_form_and_another_job_tell_nothing(text: str | None) -> None:
    assert nccl_ras.odd_ranks(text, 588, 2) == {}


def served(*answers: bytes) -> tuple[str, int]:
    """Where a server listens that gives one answer for each line, and then ends."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        client, _address = server.accept()
        with client, server:
            for answer in answers:
                if not client.recv(4096):
                    return
                client.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return server.getsockname()


def test_it_is_asked_as_its_own_client_asks() -> None:
    assert nccl_ras.ask(5.0, served(b"SERVER PROTOCOL 2\n", b"OK\n", b"OK\n", b"{}\n")) == "{}\n"


@pytest.mark.parametrize("answers", [(b"HTTP/1.1 400\n",), (b"SERVER PROTOCOL 2\n", b"OK\n", b"ERROR: Unknown command\n")])
def test_what_is_no_ras_or_knows_no_json_is_not_heard(answers: tuple[bytes, ...]) -> None:
    assert nccl_ras.ask(5.0, served(*answers)) is None


def test_where_none_listens_nothing_is_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
    assert nccl_ras.ask(1.0, address) is None
