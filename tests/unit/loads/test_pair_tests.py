# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests between two rails, from the rows of both hosts."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.pair_tests import (
    Blame,
    HostMemoryRates,
    PairEnd,
    PairTest,
    blame_end,
    median,
    pair_tests,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.perftest_errors import KNOWN, PARTNER, UNNAMED

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


def test_a_receiver_that_ended_by_itself_says_why_no_one_answered() -> None:
    lost = client(status="unknown", words="could not be reached", error=PARTNER)
    own = {kind: server(status="unknown", words="boom", error=kind) for kind in (KNOWN, UNNAMED, PARTNER, None)}
    found = {kind: pair_tests("a", {"a": [lost], "b": [job]}, {})[0] for kind, job in own.items()}
    assert {kind: (one.words, one.unnamed, one.by) for kind, one in found.items()} == {
        KNOWN: ("b: boom", None, "b"),
        UNNAMED: ("b: boom", "boom", "b"),
        PARTNER: ("could not be reached", None, "a"),
        None: ("could not be reached", None, "a"),
    }
    # An error of the sender's own is no follower of the receiver's.
    (both,) = pair_tests("a", {"a": [client(status="unknown", words="bang", error=UNNAMED)], "b": [own[UNNAMED]]}, {})
    assert (both.words, both.by) == ("bang", "a")


def test_a_client_that_reported_a_rate_passed_whatever_its_server_printed_at_its_end() -> None:
    ended = server(status="fail", words="boom", error=KNOWN)
    assert result("a", {"a": [client()], "b": [ended]}, {"a": [rate(380.0)]}) == [(380.0, "ok", "no rate was reported")]


def test_a_servers_test_is_that_of_its_own_two_rails() -> None:
    other = client("another rail", device="mlx5_1", peer_device="mlx5_1")
    third = client("another host", peer="c")
    jobs, rates = {"b": [server()], "a": [other, third, client()]}, {"a": [rate(100.0, "another rail"), rate(200.0, "another host"), rate(380.0)]}
    assert result("b", jobs, rates) == [(380.0, "ok", "no rate was reported")]


def of_rate(gbit_s: float | None, sender: str = "a", receiver: str = "b", kind: str = "write_bw") -> PairTest:
    return PairTest({"kind": kind}, PairEnd(sender, "mlx5_0"), PairEnd(receiver, "mlx5_0"), gbit_s, "ok", "no rate was reported")


def every(gbit_s: float) -> t.Callable[[PairTest], float]:
    """A minimum that is the same for all tests."""
    return lambda _test: gbit_s


def test_a_rate_at_the_limit_is_good_and_the_best_one_is_named() -> None:
    failing = of_rate(100.0)
    at_end = [failing, of_rate(None, receiver="e"), of_rate(350.0, receiver="c"), of_rate(380.0, receiver="d")]
    assert blame_end(SENDER, failing, at_end, [failing], every(350.0)).why == "mlx5_0 reaches 380 Gb/s with d mlx5_0"
    assert blame_end(SENDER, failing, at_end[:3], [failing], every(350.0)).why == "mlx5_0 reaches 350 Gb/s with c mlx5_0"
    assert blame_end(SENDER, failing, at_end[:3], [failing], every(350.1)).kind == "rail"


def test_the_median_is_of_what_was_reported() -> None:
    assert median([None, 3.0, 1.0, None, 2.0]) == 2.0 and median([None]) is None


def of(words: str, gbit_s: float | None, kind: str = "write_bw") -> PairTest:
    """One test, as ``a>b`` or with a rail ``a.mlx5_1>b.mlx5_1``."""
    sender, receiver = (PairEnd(host, device or "mlx5_0") for host, _dot, device in (end.partition(".") for end in words.split(">")))
    return PairTest({"kind": kind}, sender, receiver, gbit_s, "ok", "no rate was reported")


def alone(words: str, gbit_s: float) -> PairTest:
    return of(words, gbit_s, "retest")


FAILING, WELL, SLOW = of("a>b", 100.0), 380.0, 100.0
WELL_WITH_C = Blame(None, "mlx5_0 reaches 380 Gb/s with c mlx5_0")
FAILS_WITH_MORE = Blame(None, "b fails with other hosts too, a with fewer")
NEVER_PASSED = Blame("rail", "b mlx5_0 has not passed with anyone either")
# b fails with c and d too.
MORE = [of("c>b", SLOW), of("d>b", SLOW)]


def blame(of_sender: list[PairTest], of_receiver: list[PairTest], test: PairTest = FAILING) -> Blame:
    """Whose fault the failing test is as its sender sees it; what both ends' hosts did besides."""
    return blame_end(SENDER, test, [test, *of_sender], [test, *of_receiver], every(350.0))


@pytest.mark.parametrize(
    ("rates", "kind"), [((WELL, WELL), "transient"), ((WELL,), "rail"), ((WELL, SLOW), "rail"), ((), "rail")],
)  # fmt: skip
def test_a_round_that_passes_twice_when_it_is_repeated_was_a_transient(rates: tuple[float, ...], kind: str) -> None:
    again = [of("a>b", one, "repeat") for one in rates]
    found = blame(again, again)
    assert found.kind == kind and not found.concurrent
    assert kind != "transient" or found.why == "380 Gb/s, 380 Gb/s when the same round was repeated under the same load"


def test_a_repeated_round_of_another_pair_excuses_nothing() -> None:
    again = [of("a>c", WELL, "repeat"), of("a>c", WELL, "repeat")]
    assert blame(again, []) == WELL_WITH_C


def test_an_end_that_is_well_with_another_is_not_at_fault() -> None:
    beside = of("a>c", WELL)
    assert blame([beside], []) == WELL_WITH_C
    assert blame([beside], MORE) == WELL_WITH_C
    assert blame([beside, alone("a>b", SLOW)], [*MORE, alone("a>b", SLOW)]) == WELL_WITH_C
    # The other end is well alone with d, and nothing tells that the pair is slow alone.
    assert blame([beside], [alone("d>b", WELL)]) == WELL_WITH_C
    assert blame([beside, alone("a>b", WELL)], [alone("d>b", WELL)]) == WELL_WITH_C


def test_a_pair_that_is_slow_alone_and_whose_ends_are_well_with_others_is_a_path() -> None:
    reach = "mlx5_0 reaches 380 Gb/s with c mlx5_0, and b mlx5_0 380 Gb/s with d mlx5_0"
    assert blame([of("a>c", WELL), alone("a>b", SLOW)], [alone("d>b", WELL)]) == Blame("path", reach)
    assert blame([of("a>c", WELL)], [of("d>b", WELL)]) == Blame("path", reach)
    found = blame([of("a>c", WELL), alone("a>b", 370.0)], [of("d>b", WELL)])
    assert found == Blame("path", f"{reach}; 370 Gb/s when tested alone", concurrent=True)
    # Here the end is well only alone, and so is the pair not.
    assert blame([alone("a>c", WELL), alone("a>b", SLOW)], [of("d>b", WELL)]) == Blame("path", reach)


def test_the_other_end_fails_with_more_hosts() -> None:
    assert blame([], MORE) == FAILS_WITH_MORE
    assert blame([of("a>c", SLOW)], MORE) == FAILS_WITH_MORE, "a round with other rails beside it is no test alone"
    assert blame([alone("a>c", WELL)], MORE) == FAILS_WITH_MORE
    assert blame([alone("a>c", SLOW), alone("a>e", WELL)], MORE) == FAILS_WITH_MORE, "it passed alone with another one"
    for untested in (alone("c>a", SLOW), alone("a.mlx5_1>c", SLOW), alone("a>b", SLOW)):
        assert blame([untested], MORE) == FAILS_WITH_MORE, untested
    assert blame([], MORE[:1]) == FAILS_WITH_MORE
    assert blame([], [alone("c>b", SLOW), alone("d>b", SLOW)]) == NEVER_PASSED, "only rounds count"
    assert blame([of("a>c", SLOW)], MORE[:1]) == NEVER_PASSED, "as many as the other"
    assert blame_end(SENDER, FAILING, [], [FAILING], every(350.0)).kind == "rail", "one host is not several"


def test_each_test_is_held_to_its_own_minimum() -> None:
    """c and d are linked at 200 Gb/s: 190 is good with them, and shows nothing of an end at 400."""

    def minimum(one: PairTest) -> float:
        return 175.0 if {one.sender.host, one.receiver.host} & {"c", "d"} else 350.0

    with_slower = [of("c>b", 190.0), of("d>b", 190.0)]
    assert blame_end(SENDER, FAILING, [FAILING], [FAILING, *with_slower], minimum) == NEVER_PASSED, "b fails with a alone"
    assert blame_end(SENDER, FAILING, [FAILING], [FAILING, of("c>b", 170.0), of("d>b", 190.0)], minimum) == FAILS_WITH_MORE
    assert blame_end(SENDER, FAILING, [FAILING, alone("a>c", 190.0)], [FAILING, *MORE], minimum) == FAILS_WITH_MORE, "no retest of a as fast as it"
    assert blame_end(SENDER, FAILING, [FAILING, alone("a>c", 170.0)], [FAILING, *MORE], minimum) == NEVER_PASSED
    beside = of("a>c", 190.0)
    assert blame_end(SENDER, of("a>d", 100.0), [of("a>d", 100.0), beside], [], minimum) == Blame(None, "mlx5_0 reaches 190 Gb/s with c mlx5_0")


def test_an_end_that_failed_alone_is_not_excused_by_the_other_ends_failures() -> None:
    assert blame([alone("a>c", SLOW)], MORE) == NEVER_PASSED
    of_receiver = blame_end(RECEIVER, FAILING, [FAILING, alone("c>b", SLOW)], [FAILING, of("a>c", SLOW), of("a>d", SLOW)], every(350.0))
    assert of_receiver == Blame("rail", "a mlx5_0 has not passed with anyone either")
    excused = blame_end(RECEIVER, FAILING, [FAILING, alone("b>c", SLOW)], [FAILING, of("a>c", SLOW), of("a>d", SLOW)], every(350.0))
    pair = alone("a>b", SLOW)
    with_a_alone = blame_end(RECEIVER, FAILING, [FAILING, pair], [FAILING, pair, of("a>c", SLOW), of("a>d", SLOW)], every(350.0))
    assert with_a_alone == excused, "the pair alone tells nothing of one end"
    assert excused == Blame(None, "a fails with other hosts too, b with fewer")


def test_the_rail_is_at_fault_where_the_other_end_is_well_with_others() -> None:
    its = Blame("rail", "b mlx5_0 reaches 380 Gb/s with e mlx5_0")
    assert blame([], [of("e>b", WELL)]) == blame([], [of("e>b", WELL), *MORE]) == its
    assert blame([], [alone("e>b", WELL)]) == its


def test_a_host_whose_rail_is_well_alone_is_at_fault_under_load() -> None:
    with_c = Blame("host", "380 Gb/s when tested alone, without the other rails", concurrent=True)
    fails_more = [alone("a>c", WELL), of("a>d", SLOW), of("a>e", SLOW)]
    assert blame(fails_more, [alone("d>b", WELL)]) == with_c
    assert blame([alone("a>c", WELL)], [of("d>b", WELL)]) == with_c
    assert blame([alone("a>b", WELL)], [alone("a>b", WELL)]) == with_c
    assert blame(fails_more, []) == WELL_WITH_C, "the other end has not passed"
    as_many = blame([alone("a>c", WELL)], [alone("d>b", WELL)])
    assert as_many == Blame("path", "mlx5_0 reaches 380 Gb/s with c mlx5_0, and b mlx5_0 380 Gb/s with d mlx5_0")


def test_another_round_of_the_same_pair_is_none_with_others() -> None:
    assert blame([of("a>b", WELL)], [of("a>b", WELL)]) == Blame("rail", "neither end was tested with anyone else")


def test_gpu_memory_is_compared_with_the_same_pair_or_the_slower_of_both_ends() -> None:
    rates = HostMemoryRates([of("a>b", 300.0), of("a>b", 310.0), of("a>c", WELL), of("d>b", 390.0), of("c>d", None), of("e>f", 0.5)])
    assert [rates.of(of(words, None)) for words in ("a>b", "d>c", "e>f")] == [310.0, WELL, 0.5]
    assert [rates.of(of(words, None)) for words in ("a>x", "x>b", "c>d", "x>y")] == [None] * 4
    assert rates.of(of("a>f", None)) == rates.of(of("e>b", None)) == 0.5
