# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests between two rails, from the rows of both hosts."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.pair_tests import PairEnd, PairTest, blame_end, median, pair_tests

SENDER, RECEIVER = PairEnd("a", "mlx5_0"), PairEnd("b", "mlx5_0")


def client(item: str = "round 1", **values: t.Any) -> dict[str, t.Any]:
    job = {
        "kind": "write_bw",
        "memory": "host",
        "step": 0,
        "round": 0,
        "error": None,
        "role": "client",
        "device": "mlx5_0",
        "peer": "b",
        "peer_device": "mlx5_0",
    }
    return {**job, "item": f"{item}: mlx5_0 to b mlx5_0", "status": "ok", "words": None, **values}


def server(item: str = "round 1", **values: t.Any) -> dict[str, t.Any]:
    return {**client(), "item": f"{item}: mlx5_0 from a mlx5_0", "device": "mlx5_0", "role": "server", "peer": "a", **values}


def rate(gbit_s: float, item: str = "round 1") -> dict[str, t.Any]:
    return {"item": f"{item}: mlx5_0 to b mlx5_0", "gbit_s": gbit_s}


def result(host: str, jobs: dict[str, list], rates: dict[str, list], **asked: t.Any) -> list[tuple[float | None, str, str]]:
    found = pair_tests(host, jobs, rates, **asked)
    assert {(one.sender, one.receiver) for one in found} <= {(SENDER, RECEIVER)}
    return [(one.gbit_s, one.status, one.words) for one in found]


def test_both_ends_report_the_senders_rate() -> None:
    jobs, rates = {"a": [client()], "b": [server()]}, {"a": [rate(380.0)]}
    assert result("a", jobs, rates) == result("b", jobs, rates) == [(380.0, "ok", "no rate was reported")]


def test_tests_of_another_kind_or_memory_are_left_out_and_those_after_them_are_not() -> None:
    rows = [client("latency", kind="write_lat"), client("gpu", memory="cuda"), client("alone", kind="retest"), client()]
    jobs, rates = {"a": rows}, {"a": [rate(1.0, "latency"), rate(2.0, "gpu"), rate(3.0, "alone"), rate(4.0)]}
    assert [one for one, _status, _words in result("a", jobs, rates)] == [4.0]
    assert [one for one, _status, _words in result("a", jobs, rates, kinds=("write_bw", "retest"))] == [3.0, 4.0]
    assert [one for one, _status, _words in result("a", jobs, rates, memory="cuda")] == [2.0]
    assert [one for one, _status, _words in result("a", {"a": [client(memory="a-first")]}, rates)] == []


def test_a_test_without_a_rate_is_not_ok() -> None:
    assert result("a", {"a": [client()]}, {}) == [(None, "unknown", "no rate was reported")]
    assert result("a", {"a": [client(status="fail", words="no route")]}, {"a": [rate(380.0)]}) == [(None, "fail", "no route")], (
        "a rate of a failed test is none"
    )
    assert result("b", {"b": [server()]}, {}) == [(None, "unknown", "a did not report its side")]
    assert result("b", {"b": [server()], "a": [client("round 2", round=1)]}, {"a": [rate(380.0)]}) == [(None, "unknown", "a did not report its side")]


def of_rate(gbit_s: float | None, sender: str = "a", receiver: str = "b", kind: str = "write_bw") -> PairTest:
    return PairTest({"kind": kind}, PairEnd(sender, "mlx5_0"), PairEnd(receiver, "mlx5_0"), gbit_s, "ok", "no rate was reported")


def test_a_rate_at_the_limit_is_good_and_the_best_one_is_named() -> None:
    failing = of_rate(100.0)
    at_end = [failing, of_rate(None, receiver="e"), of_rate(350.0, receiver="c"), of_rate(380.0, receiver="d")]
    assert blame_end(SENDER, failing, at_end, [failing], 350.0).why == "mlx5_0 reaches 380 Gb/s with d mlx5_0"
    assert blame_end(SENDER, failing, at_end[:3], [failing], 350.0).why == "mlx5_0 reaches 350 Gb/s with c mlx5_0"
    assert blame_end(SENDER, failing, at_end[:3], [failing], 350.1).kind == "rail"


def test_the_median_is_of_what_was_reported() -> None:
    assert median([None, 3.0, 1.0, None, 2.0]) == 2.0 and median([None]) is None
