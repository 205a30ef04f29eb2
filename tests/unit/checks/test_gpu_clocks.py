# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clocks of GPUs while they compute: whom heat slows down, whom a limit, and of whom nothing is known."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.gpu_clocks import gpu_clocks_in_collectives
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.training.gpu_clocks import gpu_clocks_in_training

Row = dict[str, t.Any]


def samples(gpu: int, clock: int | None, times: int = 8, **other: t.Any) -> list[Row]:
    row = {"gpu": gpu, "pci": "0000:18:00.0", "sm_clock_mhz": clock, "max_sm_clock_mhz": 1980, "temperature_c": 64, "power_w": 690.0}
    return [{**row, "utilisation_percent": 98, "reasons": "0x0000000000000004", **other} for _number in range(times)]


def found(clocks: dict[str, list[Row] | None] | None, ranks: int = 2) -> list[tuple[str | None, str, str, str | None]]:
    """What is found of two hosts with some ranks each."""
    of_hosts = {host: [{"rank": rank, "backend": "nccl"} for rank in range(ranks)] for host in ("a", "b")}
    return [(one.host, str(one.where), one.actual, one.severity) for one in gpu_clocks_in_training(of_hosts, 90, clocks)]


GOOD = [*samples(0, 1545), *samples(1, 1500)]


def test_gpus_that_differ_a_little_pass() -> None:
    assert found({"a": GOOD, "b": GOOD}) == []


def test_a_hot_gpu_fails_with_its_temperature_and_reason() -> None:
    hot = [*samples(0, 1545), *samples(1, 900, reasons="0x0000000000000048", temperature_c=91)]
    assert found({"a": GOOD, "b": hot}) == [("b", "GPU 1", "900 MHz at 91 C, 690 W: slowed down by the hardware, too hot", None)]


@pytest.mark.parametrize(
    ("reasons", "words"), [("0x0000000000000004", "power cap"), ("0x0000000000000000", "no reason reported"), (None, "reasons: not reported")]
)
def test_a_gpu_that_no_fault_slows_down_is_a_warning(reasons: str | None, words: str) -> None:
    capped = [*samples(0, 1545), *samples(1, 1200, reasons=reasons)]
    assert found({"a": GOOD, "b": capped}) == [("b", "GPU 1", f"1200 MHz at 64 C, 690 W: {words}", "warn")]


@pytest.mark.parametrize(("reasons", "brake"), [("0x0000000000000088", True), ("0x0000000000000080", True), ("0x00000000000000c8", False)])
def test_a_brake_without_heat_is_a_lack_of_power(reasons: str, brake: bool) -> None:
    braked = {"a": GOOD, "b": [*samples(0, 1545), *samples(1, 900, reasons=reasons)]}
    (one,) = gpu_clocks_in_training({host: [{"rank": 0, "backend": "nccl"}] for host in "ab"}, 90, braked)
    assert ("power supply of the host failed" in (one.cause or "")) is brake


def test_a_reason_of_few_samples_is_none() -> None:
    brief = [*samples(0, 1545), *samples(1, 1200, 2, reasons="0x0000000000000040"), *samples(1, 1200, 6)]
    assert [severity for *_place, severity in found({"a": GOOD, "b": brief})] == ["warn"]


def test_idle_samples_are_not_judged() -> None:
    begins = [*samples(0, 345, 20, utilisation_percent=0), *GOOD]
    assert found({"a": GOOD, "b": begins}) == []


def test_a_sample_of_a_gpu_that_reports_to_be_idle_is_not_judged() -> None:
    between = [*GOOD, *samples(0, 345, 20, reasons="0x0000000000000001")]
    assert found({"a": GOOD, "b": between}) == []


def test_in_collectives_a_braked_gpu_fails_and_one_that_is_not_sampled_is_unknown() -> None:
    """The ranks of several runs of a host are the same GPUs."""
    ranks = [{"local_rank": gpu, "backend": "nccl"} for _run in range(2) for gpu in range(2)]
    braked = [*samples(0, 1980), *samples(1, 990, reasons="0x0000000000000088")]
    good = [*samples(0, 1980), *samples(1, 1980)]
    judged = gpu_clocks_in_collectives({"a": ranks, "b": ranks, "c": ranks}, 90, {"a": good, "b": braked, "c": samples(0, 1980)})
    assert [(one.host, str(one.where), one.actual, one.severity) for one in judged] == [
        ("c", "GPU clocks", "those of 1", "unknown"),
        ("b", "GPU 1", "990 MHz at 64 C, 690 W: slowed down by the hardware, slowed down by power brake", None),
    ]


def test_gpus_of_another_kind_have_a_median_of_their_own() -> None:
    assert found({"a": GOOD, "b": [*samples(0, 1200, max_sm_clock_mhz=1410), *samples(1, 1190, max_sm_clock_mhz=1410)]}) == []


def test_a_gpu_or_host_of_which_nothing_is_reported_is_unknown_beside_others() -> None:
    assert found({"a": GOOD, "b": samples(0, 1545)}) == [("b", "GPU clocks", "those of 1", "unknown")]
    assert found({"a": GOOD, "b": None}) == [("b", "GPU clocks", "those of 0", "unknown")]
    assert found({"a": GOOD, "b": [*samples(0, 1545), *samples(1, None)]}) == [("b", "GPU 1", "not reported", "unknown")]
    assert found({"a": GOOD, "b": [*samples(0, 1545), *samples(1, 345, utilisation_percent=None)]}) == [("b", "GPU clocks", "those of 1", "unknown")]


def test_a_short_run_is_not_judged() -> None:
    assert found({"a": [*samples(0, 1545, 3), *samples(1, 1500, 3)], "b": samples(0, 1545, 3)}) == []
    for nothing in ({"a": samples(0, 1545, 2), "b": []}, {"a": None, "b": None}, None):
        with pytest.raises(NotApplicable, match="clocks under load: not reported"):
            found(nothing)
