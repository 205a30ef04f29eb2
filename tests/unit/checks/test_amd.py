# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD GPUs by what amd-smi counts: errors since the driver was loaded, and what grows under load."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight.hardware import amd_gpu_errors
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.watched.amd import amd_gpus_under_load, amd_slowdown_under_load

GOOD: dict[str, t.Any] = {
    "gpu": 0, "corrected": 3, "uncorrected": 0, "deferred": 0, "samples": 1000, "socket_hot": 4, "memory_hot": 0, "regulator_hot": 0, "prochot": 0,
}  # fmt: skip
AFTER = {**GOOD, "samples": 2000}


@pytest.mark.parametrize(
    ("change", "judged"),
    [
        ({}, []),
        ({"uncorrected": 2}, [("2", None)]),
        ({"deferred": 1}, [("1", None)]),
        ({"uncorrected": None}, [("not reported", "unknown")]),
    ],
)
def test_errors_since_the_driver_was_loaded(change: dict[str, t.Any], judged: list[tuple[str, str | None]]) -> None:
    assert [(one.actual, one.severity) for one in amd_gpu_errors(1, [{**GOOD, **change}])] == judged


@pytest.mark.parametrize("untold", [None, 0])
def test_errors_of_gpus_that_are_split_into_partitions_are_those_of_their_first_ones(untold: int | None) -> None:
    gpus = [{"gpu": number, "pci": f"0000:0{number // 4}:00.{number % 4}"} for number in range(8)]
    health = [{**GOOD, "gpu": number, "uncorrected": untold if number % 4 else 0} for number in range(8)]
    assert list(amd_gpu_errors(2, health, gpus)) == []
    assert [str(one) for one in amd_gpu_errors(2, [*health[:5], {**health[5], "uncorrected": 3}], gpus)] == ["GPU 5: expected no uncorrected error, got 3"]
    assert [str(one) for one in amd_gpu_errors(2, health[:4], gpus)] == ["GPUs: expected error counters of 2, got of 1"]
    assert [one.severity for one in amd_gpu_errors(2, [{**health[0], "uncorrected": None}, *health[1:]], gpus)] == ["unknown"]


@pytest.mark.parametrize(
    ("change", "judged"),
    [
        ({}, []),
        ({"uncorrected": 1}, [("+1", None)]),
        ({"corrected": 13}, []),
        ({"corrected": 14}, [("+11", "warn")]),
        ({"uncorrected": None}, [("not reported", "unknown")]),
        ({"corrected": 0}, [("counters were reset: the driver was loaded or the GPU reset", "unknown")]),
    ],
)
def test_what_grows_under_load(change: dict[str, t.Any], judged: list[tuple[str, str | None]]) -> None:
    assert [(one.actual, one.severity) for one in amd_gpus_under_load(10, [GOOD], [{**AFTER, **change}])] == judged


@pytest.mark.parametrize(
    ("change", "judged"),
    [
        ({}, []),
        ({"socket_hot": 5}, [("0.1 % of its samples", "warn")]),
        ({"prochot": 10}, [("1 % of its samples", None)]),
        ({"memory_hot": None}, [("not reported", "unknown")]),
        ({"samples": 1000}, [("not reported", "unknown")] * 4),
        ({"prochot": -1}, [("counters were reset: the driver was loaded or the GPU reset", "unknown")]),
    ],
)
def test_what_slows_a_gpu_down_under_load(change: dict[str, t.Any], judged: list[tuple[str, str | None]]) -> None:
    assert [(one.actual, one.severity) for one in amd_slowdown_under_load([GOOD], [{**AFTER, **change}])] == judged


def test_an_older_tool_that_counts_no_slowdown_is_no_pass() -> None:
    silent = [{**GOOD, "socket_hot": None, "memory_hot": None, "regulator_hot": None, "prochot": None}]
    with pytest.raises(NotApplicable, match="not reported by this amd-smi"):
        list(amd_slowdown_under_load(silent, silent))


def test_a_gpu_that_is_reported_once_is_unknown_and_none_at_all_is_no_pass() -> None:
    assert [(str(one.where), one.severity) for one in amd_gpus_under_load(10, [GOOD], [])] == [("GPU 0", "unknown")]
    assert [one.severity for one in amd_gpu_errors(8, [GOOD])] == ["unknown"]
    for judged in (amd_gpus_under_load(10), amd_gpu_errors(8), amd_slowdown_under_load()):
        with pytest.raises(NotApplicable, match="amd-smi"):
            list(judged)
