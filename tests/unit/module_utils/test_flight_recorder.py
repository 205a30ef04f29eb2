# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What PyTorch's flight recorder tells of a rank that hangs, and where it tells nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import types
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import flight_recorder
from ansible_collections.gpufabric.pyramid.tests.labs.ranks.python import with_torch


def dump(enqueued: str = "5", completed: str = "4", group: str = "0") -> bytes:
    """As torch 2.11 answers on an H100."""
    status = {"last_enqueued_collective": enqueued, "last_started_collective": "-1", "last_completed_collective": completed}
    return json.dumps({"version": "2.10", "pg_status": {group: status}, "entries": []}).encode()


def test_the_last_collectives_of_the_group_of_all_ranks_are_told() -> None:
    assert flight_recorder.of_all(dump()) == {"enqueued": 5, "completed": 4}
    assert flight_recorder.of_all(dump("-1", "-1")) == {"enqueued": 0, "completed": 0}


TOO_LONG = b" " * (flight_recorder.MOST_BYTES + 1)


@pytest.mark.parametrize("text", [None, "", b"{}", "[]", b'{"pg_status": []}', dump(group="3"), dump("many"), dump()[:40], TOO_LONG])
def test_another_form_tells_nothing(text: t.Any) -> None:
    assert flight_recorder.of_all(text) == {}


def recorder(monkeypatch: pytest.MonkeyPatch, answer: t.Callable[..., t.Any]) -> None:
    module = types.SimpleNamespace(_distributed_c10d=types.SimpleNamespace(_dump_nccl_trace_json=answer))
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(_C=module))
    monkeypatch.setitem(sys.modules, "torch._C", module)


def test_it_is_asked_for_the_numbers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, bool]] = []
    recorder(monkeypatch, lambda **options: [asked.append(options), dump()][1])
    assert flight_recorder.positions(5.0) == {"enqueued": 5, "completed": 4}
    assert asked == [{"includeCollectives": False, "onlyActive": True}]


def test_one_that_raises_or_does_not_answer_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(**options: bool) -> bytes:
        raise TypeError(f"incompatible arguments {options}")

    recorder(monkeypatch, refuses)
    assert flight_recorder.positions(5.0) == {}
    answers = threading.Event()
    recorder(monkeypatch, lambda **_options: [answers.wait(), dump()][1])
    assert flight_recorder.positions(0.05) == {}
    answers.set()


def test_a_torch_without_nccl_tells_nothing() -> None:
    ask = "import torch, flight_recorder; print(flight_recorder.positions(20.0))"
    place = Path(flight_recorder.__file__).parent
    response = subprocess.run([with_torch(), "-W", "ignore", "-c", ask], cwd=place, capture_output=True, text=True, timeout=120, check=True)
    assert response.stdout == "{}\n"
