# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check over tensor cores, by what real GPUs said: H200s that train in bf16, and one of them in float32 while the other waits for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.training.efficiency import tensor_core_active
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse

RECORDINGS = Path(__file__).parents[2] / "recordings/linux/tensor_activity"
LEAST = 10.0
Rows = list[dict[str, object]]


def result(name: str) -> tuple[Rows, Rows]:
    """The ranks and the samples of a recorded run."""
    text = (RECORDINGS / f"{name}.txt").read_text(encoding="utf-8")
    return parse("training_ranks", "linux", text), parse("tensor_activity", "linux", text)


def found(ranks: Rows, samples: Rows) -> list[tuple[str, str, str | None]]:
    return [(str(one.where), one.actual, one.severity) for one in tensor_core_active(ranks, samples, LEAST)]


def test_gpus_that_train_in_bf16_pass() -> None:
    ranks, samples = result("h200_x2")
    assert len(ranks) == 2 and {row["gpu"] for row in samples} == {0, 1}
    assert found(ranks, samples) == []


def test_float32_is_found_at_full_utilisation() -> None:
    assert found(*result("h200_x2_float32")) == [("GPU 0", "3 % at a utilisation of 100 %", None), ("GPU 1", "4 % at a utilisation of 98.5 %", None)]


def test_of_more_gpus_than_ranks_the_busiest_are_theirs() -> None:
    ranks, samples = result("h200_x2")
    idle = [{**row, "tensor_percent": 0.0} if row["gpu"] == 1 else row for row in samples]
    assert found(ranks[:1], idle) == []
    assert [where for where, _actual, _severity in found(ranks, idle)] == ["GPU 1"]


def test_a_gpu_of_which_nothing_is_reported_is_unknown() -> None:
    ranks, samples = result("h200_x2")
    assert found(ranks, [row for row in samples if row["gpu"] == 0]) == [("tensor cores", "those of 1", "unknown")]


def test_dcgm_tells_of_every_gpu() -> None:
    ranks, samples = result("dcgm")
    assert {row["monitor"] for row in samples} == {"dcgmi"} and found([*ranks, *ranks], samples) == []


def test_where_nobody_tells_it_is_not_judged() -> None:
    ranks, samples = result("h200_x2_too_short")
    assert samples == []
    with pytest.raises(NotApplicable, match="tensor core activity: not reported"):
        found(ranks, samples)
    with pytest.raises(NotApplicable, match="tensor core activity: not reported"):
        found([{**row, "backend": "gloo"} for row in ranks], result("h200_x2")[1])
    with pytest.raises(CannotTell, match="no rank was started"):
        found([], result("h200_x2")[1])
