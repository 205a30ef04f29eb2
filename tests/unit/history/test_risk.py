# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes to validate next."""

from __future__ import annotations

import math
import random

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.past import Episode, Past
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.risk import Risk, any_bad, fitted_prior, risks, to_validate
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.times import HOUR_SECONDS

NOW = 1000 * HOUR_SECONDS


def past(node: str, well: float | None, times: int = 0, bad: bool = False) -> Past:
    """A node that was well at an hour, and became bad some times before."""
    ended = [Episode("links", int((10 + 20 * number) * HOUR_SECONDS), None, int((11 + 20 * number) * HOUR_SECONDS)) for number in range(times)]
    now = [Episode("links", int(999 * HOUR_SECONDS), None, None)] if bad else []
    return Past(node, 0, int(NOW), None if well is None else int(well * HOUR_SECONDS), [*ended, *now])


def ordered(*known: Past, **use_hours: float) -> list[str]:
    return [one.node for one in risks([one.node for one in known], {one.node: one for one in known}, NOW, use_hours)]


def test_never_judged_and_bad_come_first_then_those_often_bad_then_those_long_unjudged() -> None:
    others = [past(f"other{number}", 990) for number in range(20)]
    known = [past("fresh", 999), past("old", 500), past("lemon", 900, times=8), past("bad", 900, bad=True), past("new", None), *others]
    assert ordered(*known)[:4] == ["new", "bad", "lemon", "old"]
    assert ordered(*known)[-1] == "fresh"


def test_a_node_nobody_knows_is_a_risk_of_one() -> None:
    (one,) = risks(["gpu01"], {}, NOW)
    assert (one.probability, one.words) == (1.0, "never judged well")


def test_hours_of_use_count_where_they_are_known() -> None:
    known = [past("idle", 100), past("used", 500), *(past(f"other{number}", 999, times=1) for number in range(5))]
    assert ordered(*known)[0] == "idle"
    assert ordered(*known, idle=1.0)[0] == "used"


def test_rates_of_nodes_are_told_apart_only_where_their_counts_differ_by_more_than_chance() -> None:
    chance = random.Random(1)

    def poisson(mean: float) -> int:
        count, product = 0, chance.random()
        while product > math.exp(-mean):
            count, product = count + 1, product * chance.random()
        return count

    alike = fitted_prior([(poisson(0.5), 1000.0) for _node in range(2000)])
    assert alike.rate(5, 1000.0) < 1.5 * alike.mean
    mixed = fitted_prior([(poisson(5.0 if node % 20 == 0 else 0.3), 1000.0) for node in range(2000)])
    assert mixed.rate(5, 1000.0) > 4 * mixed.mean
    assert mixed.rate(0, 1000.0) < mixed.mean


def test_a_pod_that_never_was_bad_has_a_small_rate_and_not_none() -> None:
    prior = fitted_prior([(0, 1000.0)] * 100)
    assert 0 < prior.rate(0, 1000.0) < 1e-4
    assert fitted_prior([]).rate(0, 0.0) == 0


def test_as_few_are_validated_as_leave_an_accepted_risk() -> None:
    known = [past("lemon", 900, times=8), *(past(f"gpu{number:02}", 950) for number in range(30))]
    found = risks([one.node for one in known], {one.node: one for one in known}, NOW)
    assert to_validate(found, 1.0) == []
    for accepted in (0.5, 0.2, 0.05, 0.01):
        chosen = to_validate(found, accepted)
        assert any_bad(found[len(chosen) :]) <= accepted
        assert not chosen or any_bad(found[len(chosen) - 1 :]) > accepted
    assert any_bad(found) == pytest.approx(1 - math.prod(1 - one.probability for one in found))


def pod_with_errors(turns: int, marked: int = 20, at: float = 300.0) -> tuple[dict[str, Past], dict[str, list[float]]]:
    """A hundred nodes, some of which had errors 300 hours after they were first seen; so many of these became bad ten hours after it."""
    known = {}
    for number in range(100):
        node, bad = f"gpu{number:02}", number < turns or number % 10 == 5
        began = (at + 10) if number < turns else 700
        known[node] = Past(
            node, 0, int(NOW), int(999 * HOUR_SECONDS), [Episode("links", int(began * HOUR_SECONDS), None, int((began + 20) * HOUR_SECONDS))] * bad
        )
    return known, {f"gpu{number:02}": [300 * HOUR_SECONDS] for number in range(marked)}


def raised(known: dict[str, Past], errors: dict[str, list[float]]) -> Risk:
    """The risk of a node that never was bad and has errors now."""
    return next(one for one in risks(known, known, NOW, errors={**errors, "gpu99": [NOW - HOUR_SECONDS]}) if one.node == "gpu99")


def test_errors_raise_a_rate_by_as_much_as_nodes_with_errors_became_bad_more_often() -> None:
    known, errors = pod_with_errors(turns=15)
    found, without = raised(known, errors), next(one for one in risks(known, known, NOW) if one.node == "gpu99")
    # 15 turned bad in 20 weeks in which less than one was to be expected.
    assert 4 < found.raised < 16 and found.rate == without.rate
    assert found.probability == pytest.approx(-math.expm1(-found.raised * found.rate))
    assert without.raised == 1 and "errors grew" not in without.words and f"errors grew: rate {found.raised:.1f} times as high" in found.words
    assert risks(known, known, NOW, errors={**errors, "gpu99": [NOW - HOUR_SECONDS]})[0].node == "gpu99"


def test_errors_that_told_nothing_raise_no_rate_and_lower_none() -> None:
    known, errors = pod_with_errors(turns=0)
    assert raised(known, errors).raised == 1
    # One node more than none is not enough to conclude much from.
    known, errors = pod_with_errors(turns=1, marked=1)
    assert raised(known, errors).raised < 2


@pytest.mark.parametrize("at", [290.0, 290.0 - 100, 300 + 168.0])
def test_a_node_that_was_bad_with_its_errors_or_before_or_long_after_counts_not(at: float) -> None:
    known, errors = pod_with_errors(turns=15, at=at)
    assert raised(known, errors).raised == 1


def test_errors_of_a_week_ago_raise_nothing_any_more() -> None:
    known, errors = pod_with_errors(turns=15)
    found = {one.node: one for one in risks(known, known, NOW, errors=errors)}
    assert found["gpu00"].raised == 1


def test_a_node_that_was_bad_already_did_not_turn_bad() -> None:
    first = Episode("links", 100, None, 500)
    assert Past("gpu01", 0, 0, episodes=[first, Episode("rdma", 200, None, 600), Episode("rdma", 700, None, None)]).turned() == [100, 700]
