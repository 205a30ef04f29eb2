# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The properties of rounds, over pods of any size."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.pairing import as_fast_rounds, rail_rounds, reversed_rounds
from hypothesis import given
from hypothesis import strategies as st


def rails(counts: list[int]) -> list[dict]:
    return [
        {"host": f"gpu{host:03}", "index": index, "device": f"mlx5_{index}", "leaf": f"leaf{index}"}
        for host, count in enumerate(counts)
        for index in range(count)
    ]


def met(rounds: list) -> list[frozenset[str]]:
    return [frozenset({sender["host"], receiver["host"]}) for one in rounds for sender, receiver in one if sender["index"] == 0]


any_pod = st.lists(st.integers(1, 8), min_size=0, max_size=40)


@given(any_pod, st.sampled_from(["sampled", "exhaustive"]), st.booleans())
def test_no_nic_is_used_twice_in_a_round(counts, pairing, cross_rail):
    for one in rail_rounds(rails(counts), pairing, cross_rail=cross_rail):
        used = [(rail["host"], rail["index"]) for pair in one for rail in pair]
        assert len(used) == len(set(used))
        assert all(sender["host"] != receiver["host"] for sender, receiver in one)


@given(st.integers(2, 64))
def test_exhaustive_rounds_let_every_two_hosts_meet_once(hosts):
    rounds = rail_rounds(rails([1] * hosts), "exhaustive")
    assert len(rounds) == (hosts - 1 if hosts % 2 == 0 else hosts)
    assert sorted(map(sorted, met(rounds))) == sorted(map(list, combinations([f"gpu{host:03}" for host in range(hosts)], 2)))


@given(st.integers(2, 300))
def test_sampled_rounds_are_few_and_cover_every_host_at_both_ends(hosts):
    rounds = rail_rounds(rails([1] * hosts))
    assert len(rounds) <= math.ceil(math.log2(hosts)) + 2
    together = [{rail["host"] for pair in one for rail in pair} for one in rounds]
    assert set().union(*together) == {f"gpu{host:03}" for host in range(hosts)}


@given(any_pod)
def test_turned_rounds_let_every_rail_that_is_met_send_and_receive(counts):
    rounds = rail_rounds(rails(counts))
    more = reversed_rounds(rounds)
    sent, received = ({(pair[end]["host"], pair[end]["index"]) for one in rounds + more for pair in one} for end in (0, 1))
    assert sent == received
    for one in more:
        used = [(rail["host"], rail["index"]) for pair in one for rail in pair]
        assert len(used) == len(set(used))


@given(any_pod)
def test_every_rail_that_another_host_has_too_is_met(counts):
    rounds = rail_rounds(rails(counts), "exhaustive")
    used = {(rail["host"], rail["index"]) for one in rounds for pair in one for rail in pair}
    assert used == {(rail["host"], rail["index"]) for rail in rails(counts) if sum(count > rail["index"] for count in counts) > 1}


@given(st.integers(2, 40), st.integers(2, 8))
def test_cross_rail_pairs_are_never_of_one_rail(hosts, count):
    rounds = rail_rounds(rails([count] * hosts), cross_rail=True)
    assert rounds and all(pair[0]["leaf"] != pair[1]["leaf"] and pair[0]["index"] != pair[1]["index"] for one in rounds for pair in one)
    assert len(rounds[0]) == hosts // 2 * count


def test_same_rail_pairs_of_one_leaf_stay_on_it():
    assert all(pair[0]["leaf"] == pair[1]["leaf"] for one in rail_rounds(rails([8, 8])) for pair in one)


def test_rail_only_pods_have_no_way_across():
    assert rail_rounds(rails([8, 8]), topology="rail_only", cross_rail=True) == []


def test_a_pod_of_512_hosts_is_planned():
    rounds = rail_rounds(rails([8] * 512))
    assert len(rounds) == 11 and all(len(one) == 256 * 8 for one in rounds)


def test_wrong_words_and_rails_are_refused():
    with pytest.raises(ValueError, match="pairing must be one of sampled, exhaustive"):
        rail_rounds([], "all")
    with pytest.raises(ValueError, match="rail 0 of gpu000 is given twice"):
        rail_rounds([*rails([1]), *rails([1])])


def test_the_step_from_rail_to_rail_changes_from_round_to_round():
    rounds = rail_rounds(rails([4] * 16), cross_rail=True)
    steps = [{(pair[1]["index"] - pair[0]["index"]) % 4 for pair in one} for one in rounds]
    assert steps == [{1 + number % 3} for number in range(6)]


def test_a_rail_only_pod_has_rounds_of_the_same_rail():
    assert rail_rounds(rails([8, 8]), topology="rail_only") == rail_rounds(rails([8, 8])) != []


def test_who_sends_alternates_from_round_to_round():
    four = [[(sender["host"], receiver["host"]) for sender, receiver in one] for one in rail_rounds(rails([1] * 4), "exhaustive")]
    assert four == [[("gpu000", "gpu003"), ("gpu002", "gpu001")], [("gpu002", "gpu000"), ("gpu003", "gpu001")], [("gpu000", "gpu001"), ("gpu002", "gpu003")]]
    assert [one["host"] for one, _other in (rounds[0] for rounds in rail_rounds(rails([1] * 2), "exhaustive"))] == ["gpu000"]


def test_one_host_or_hosts_without_a_common_rail_have_no_rounds():
    assert rail_rounds([]) == rail_rounds(rails([8])) == rail_rounds(rails([8]), "exhaustive") == []
    apart = [{"host": f"gpu{host}", "index": host, "device": "mlx5_0", "leaf": "leaf0"} for host in range(2)]
    assert rail_rounds(apart) == rail_rounds(rails([1, 1]), cross_rail=True) == []


def test_only_rails_that_lack_a_direction_are_turned():
    def pair(sender: int, receiver: int) -> tuple[dict, dict]:
        first, second = rails([1] * 5)[sender], rails([1] * 5)[receiver]
        return first, second

    def turned(*rounds: list) -> list:
        return [[(sender["host"][-1], receiver["host"][-1]) for sender, receiver in one] for one in reversed_rounds(list(rounds))]

    assert turned([pair(0, 1)], [pair(1, 0)]) == []
    assert turned([pair(0, 1)]) == [[("1", "0")]]
    # 1 has sent and received by the second pair, so that the first is turned for 0 alone, and the third for nobody.
    assert turned([pair(0, 1)], [pair(1, 2)], [pair(2, 0)]) == []
    assert turned([pair(0, 1)], [pair(1, 2)]) == [[("1", "0")], [("2", "1")]]
    assert turned([pair(0, 1)], [pair(0, 2)], [pair(1, 2)]) == [[("1", "0")], [("2", "0")]]
    assert turned([pair(0, 1)], [pair(0, 1)], [pair(2, 1)]) == [[("1", "0")], [("1", "2")]]


@given(any_pod, st.lists(st.sampled_from([100.0, 200.0, 400.0]), min_size=40, max_size=40))
def test_every_rail_meets_two_that_are_as_fast_both_ways(counts, speeds):
    own = rails(counts)
    rates = {f"gpu{host:03}": {f"mlx5_{index}": speed for index in range(8)} for host, speed in enumerate(speeds)}
    rounds = rail_rounds(own)
    rounds += reversed_rounds(rounds)
    more = as_fast_rounds(own, rounds, rates, "rail_optimised")
    for one in more:
        used = [(rail["host"], rail["index"]) for pair in one for rail in pair]
        assert one and len(used) == len(set(used))
    met: dict[tuple[str, int, int], set[str]] = {}

    def rate(rail: dict) -> float:
        return rates[rail["host"]][rail["device"]]

    def useful(pair: tuple) -> bool:
        """Whether the pair gives an end one of the two partners that it needs."""
        return any(len(met.get((pair[role]["host"], pair[role]["index"], role), ())) < 2 for role in (0, 1) if rate(pair[1 - role]) >= rate(pair[role]))

    for turn, one in enumerate([*rounds, *more], -len(rounds)):
        if turn >= 0 and turn % 2 == 0:
            assert more[turn + 1] == [(receiver, sender) for sender, receiver in one]
            assert all(useful(pair) or useful(pair[::-1]) for pair in one)
        for pair in one:
            for role in (0, 1):
                if rate(pair[1 - role]) >= rate(pair[role]):
                    met.setdefault((pair[role]["host"], pair[role]["index"], role), set()).add(pair[1 - role]["host"])
    slowest = min(map(rate, own), default=0.0)
    for rail in (one for one in own if rate(one) > slowest):
        able = {one["host"] for one in own if (one["host"] != rail["host"], one["index"]) == (True, rail["index"]) and rate(one) >= rate(rail)}
        for role in (0, 1):
            assert len(met.get((rail["host"], rail["index"], role), ())) >= min(2, len(able))


def test_rails_that_are_all_alike_need_no_further_rounds():
    own = rails([2] * 6)
    alike = {f"gpu{host:03}": {"mlx5_0": 400.0, "mlx5_1": 400.0} for host in range(6)}
    assert as_fast_rounds(own, rail_rounds(own), alike, "rail_optimised") == []
    # Rounds in which all met whom they need are not repeated.
    mixed = {**alike, "gpu000": {"mlx5_0": 200.0, "mlx5_1": 200.0}}
    rounds = rail_rounds(own, "exhaustive")
    assert as_fast_rounds(own, [*rounds, *[[(two, one) for one, two in pairs] for pairs in rounds]], mixed, "rail_optimised") == []
