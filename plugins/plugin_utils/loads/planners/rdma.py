# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loads of layer 4: every rail of every host in rounds of pairs; then the ends of what failed, each alone with a partner that passed;
then what remains of it: the pairs alone, and their rounds again as they were.
"""

from __future__ import annotations

import typing as t

from ...pod.types import PodRail
from ...readings.rows import Rows
from ..pair_tests import HOST_MEMORY, REPEAT, REPEATS, RETEST, ROUND, HostMemoryRates, MinimumOf, PairEnd, PairTest, ends_of, pair_tests
from ..pairing import Pair, as_fast_rounds, rail_rounds, reversed_rounds
from ..perftest import PerftestOptions, gpu_memory, perftest_options
from ..perftest_errors import UNSUPPORTED_OPTION
from ..schedule import JOBS_READING, NOT_INSTALLED, Schedule, StepInput, Values
from ..thresholds import minimum_gbit_s
from ._pairs import Slots, rails

# Failing pairs are retested in so many slots at most; a pod in which more fails has another problem than a pair.
MOST_RETESTS = 12
# So many rounds at most are repeated.
MOST_ROUNDS = 3
SENDS, RECEIVES = "sends", "receives"
EndInRole = tuple[str, PairEnd]


def plan_rdma(situation: StepInput) -> Schedule | None:
    """The rounds first; then the ends of what failed in them; then the pairs whose ends are not the reason."""
    if situation.step == 0:
        return _rounds(situation)
    ends = _ends_again(situation)
    if situation.step == 1:
        return ends or _pairs_again(situation)
    # Without an end to test the pairs were tested in the step before.
    return _pairs_again(situation) if situation.step == 2 and ends is not None else None


def _rounds(situation: StepInput) -> Schedule:
    values, own = situation.values, rails(situation)
    rounds = rail_rounds(own, values["pod_pairing"], values["pod_topology"])
    rounds += reversed_rounds(rounds)
    rounds += as_fast_rounds(own, rounds, situation.plan.rail_gbit_s(), values["pod_topology"])
    crossed = rail_rounds(own, "sampled", values["pod_topology"], cross_rail=True)[:2] if values["pod_topology"] == "rail_optimised" else []
    slots = Slots(situation)
    if rounds:
        # First, and the first round in time: latency is measured while nothing else sends.
        slots.add("latency", 0, rounds[0], "write_lat", _of_latency(values))
    for number, pairs in enumerate([*rounds, *crossed]):
        slots.add(f"round {number + 1}", number, pairs, "write_bw", perftest_options(values), early=number > 0)
    of_gpus = [pair for pair in rounds[0] if all(rail["gpu"] is not None for rail in pair)] if rounds else []
    if of_gpus and values["pod_gpu_write_bw"] != "never":
        for name, number, pairs in (("gpu memory", 0, of_gpus), ("gpu memory, other way", 1, [(receiver, sender) for sender, receiver in of_gpus])):
            slots.add(name, number, pairs, "write_bw", perftest_options(values, memory=gpu_memory(values)), early=True)
    if rounds:
        slots.add("sizes", 0, rounds[0], "write_bw", perftest_options(values, bytes=None, seconds=None, qps=1), kind="sizes", early=True)
    words = [
        f"{len(rounds)} rounds of pairs over {len(situation.hosts)} hosts, {values['pod_pairing']}, all rails of a pair at once"
        + (f"; {len(crossed)} rounds across rails" if crossed else ""),
        f"each {values['pod_write_bw_seconds']} s of ib_write_bw at traffic class {values['pod_traffic_class']}, at least {_in_words(situation, rounds)}",
    ]
    return slots.schedule(words)


def _of_latency(values: Values) -> PerftestOptions:
    return perftest_options(values, tool="ib_write_lat", bytes=8, seconds=None)


def _of_link(situation: StepInput, *ends: PairEnd) -> float:
    """What a test between two rails must carry from host memory, in Gb/s."""
    values = situation.values
    return minimum_gbit_s(ends, situation.plan.rail_gbit_s(), values["pod_write_bw_min_percent"], values["pod_write_bw_bidirectional"])


def _in_words(situation: StepInput, rounds: t.Sequence[t.Sequence[Pair]]) -> str:
    """``350 Gb/s a rail``; of rails whose links differ all that their tests must reach."""
    all_of = {_of_link(situation, *(PairEnd(rail["host"], rail["device"]) for rail in pair)) for pairs in rounds for pair in pairs}
    return f"{' or '.join(f'{one:g}' for one in sorted(all_of))} Gb/s a rail{', by its slower end' if len(all_of) > 1 else ''}"


def _ends_again(situation: StepInput) -> Schedule | None:
    """Each end of a failing pair that has not passed with another host, once, alone, with a partner that passed; and GPU memory by DMA-BUF."""
    values, known = situation.values, _known(situation)
    slots, words, well = Slots(situation), [], _well(situation)
    if lost := _lost_latencies(situation):
        slots.add("latency again", 1, _pairs(known, lost), "write_lat", _of_latency(values))
        words.append(f"{len(lost)} latency tests that gave no number again")
    for memory in _memories(values):
        waiting: dict[tuple[PairEnd, bool], tuple[PairEnd, PairEnd]] = {}
        failed, passed = _sorted_out(situation, memory)
        reached = _reached(situation, passed)
        for one in failed:
            link = _link(situation, one)
            for end, other, sends in ((one.sender, one.receiver, True), (one.receiver, one.sender, False)):
                if end.host not in well or (end, sends) in waiting or reached.get((SENDS if sends else RECEIVES, end), 0.0) >= link:
                    continue
                able = [two.receiver if sends else two.sender for two in passed if _link(situation, two) >= link]
                partner = _partner(known, able, known[other], {end.host, other.host})
                if partner is not None:
                    waiting[end, sends] = (end, partner) if sends else (partner, end)
        # A host that is slow on all of its rails, both ways, has each of them tested.
        most = max(MOST_RETESTS, 2 * max((len(situation.plan.nodes[host].values["pod_rails"]) for host in situation.hosts), default=0))
        for number, pairs in enumerate(_apart(dict.fromkeys(waiting.values()), most)):
            name = "retest" if memory == HOST_MEMORY else "retest of gpu memory"
            slots.add(f"{name} {number + 1}", number, _pairs(known, pairs), "write_bw", perftest_options(values, memory=memory), kind=RETEST, early=True)
        if waiting:
            words.append(f"{len(waiting)} ends of failing pairs again, from {memory} memory: each alone with a partner that passed")
    by_dmabuf = _by_dmabuf(situation, known)
    if by_dmabuf:
        options = perftest_options(values, memory=gpu_memory(values), dmabuf=True)
        slots.add("gpu memory by DMA-BUF", 0, by_dmabuf, "write_bw", options, early=True)
        words.append(f"{len(by_dmabuf)} tests from GPU memory again, by DMA-BUF")
    return slots.schedule(words) if words else None


def _pairs_again(situation: StepInput) -> Schedule | None:
    """The failing pairs whose ends did not fail with others too: each alone, and the rounds that they failed in, as they were."""
    values, known = situation.values, _known(situation)
    slots, words, well = Slots(situation), [], _well(situation)
    for memory in _memories(values):
        failed, passed = _sorted_out(situation, memory)
        failed = [one for one in failed if {one.sender.host, one.receiver.host} <= well]
        minimum = _minimum(situation, memory)
        alone = [one for host in situation.hosts for one in pair_tests(host, *_done(situation), (RETEST,), memory, sent=True)]
        slow = [one for one in alone if (one.gbit_s or 0.0) < minimum(one)]
        reached = _reached(situation, passed)
        # The partner of a retest had passed before: what fails with it is the other end.
        bad = {end for one in slow for end in _roles(one) if reached.get(end, 0.0) < _link(situation, one)}
        # An end that fails with several hosts in the rounds and passes alone is known to be slow beside others only.
        bad |= _slow_beside(situation, failed, reached, [one for one in alone if one not in slow])
        left = [one for one in failed if bad.isdisjoint(_roles(one))]
        if not left or (not passed and memory != HOST_MEMORY):
            continue
        pairs = dict.fromkeys((one.sender, one.receiver) for one in left)
        for number, some in enumerate(_apart(pairs, MOST_RETESTS)):
            slots.add(
                f"pair {number + 1}, {memory} memory", number, _pairs(known, some), "write_bw", perftest_options(values, memory=memory), kind=RETEST, early=True
            )
        rounds = list(dict.fromkeys(one.job["round"] for one in left))[: MOST_ROUNDS if passed else 0]
        for number, which in enumerate(which for which in rounds for _time in range(REPEATS)):
            whole = dict.fromkeys((one.sender, one.receiver) for one in _of_rounds(situation, memory) if one.job["round"] == which)
            slots.add(
                f"repeat {number + 1} of {memory} memory, round {which + 1}",
                number,
                _pairs(known, whole),
                "write_bw",
                perftest_options(values, memory=memory),
                kind=REPEAT,
                early=True,
            )
        words.append(f"{len(pairs)} failing pairs alone, and {len(rounds)} rounds {REPEATS} times more as they were, from {memory} memory")
    return slots.schedule(words) if words else None


def _slow_beside(situation: StepInput, failed: t.Sequence[PairTest], reached: t.Mapping[EndInRole, float], alone: t.Sequence[PairTest]) -> set[EndInRole]:
    """The ends that passed alone, and in the rounds with none of several hosts."""
    partners: dict[EndInRole, set[str]] = {}
    for one in failed:
        for (role, end), other in zip(_roles(one), reversed(one.ends)):
            if reached.get((role, end), 0.0) < _link(situation, one):
                partners.setdefault((role, end), set()).add(other.host)
    return {two for one in alone for two in _roles(one) if len(partners.get(two, ())) > 1}


def _roles(test: PairTest) -> tuple[EndInRole, EndInRole]:
    return (SENDS, test.sender), (RECEIVES, test.receiver)


def _link(situation: StepInput, test: PairTest) -> float:
    """The link rate of a test's slower end, in Gb/s."""
    return minimum_gbit_s(test.ends, situation.plan.rail_gbit_s(), 100, False)


def _reached(situation: StepInput, passed: t.Iterable[PairTest]) -> dict[EndInRole, float]:
    """For each end that passed, the highest link rate at which it did: a test with a slower partner proves no more than that one's."""
    reached: dict[EndInRole, float] = {}
    for one in passed:
        for end in _roles(one):
            reached[end] = max(reached.get(end, 0.0), _link(situation, one))
    return reached


def _known(situation: StepInput) -> dict[PairEnd, PodRail]:
    return {PairEnd(rail["host"], rail["device"]): rail for rail in rails(situation)}


def _lost_latencies(situation: StepInput) -> list[tuple[PairEnd, PairEnd]]:
    """The ends of the latency tests that ended without a number, where a bandwidth test of the same ends had a rate: they are the first of all tests."""
    jobs, _rates = _done(situation)
    able = {one.ends for one in _of_rounds(situation, HOST_MEMORY) if one.gbit_s is not None}
    tests = [one for host in jobs for one in pair_tests(host, jobs, {}, ("write_lat",), sent=True)]
    return [one.ends for one in tests if one.job["status"] != "ok" and one.job["error"] not in (UNSUPPORTED_OPTION, NOT_INSTALLED) and one.ends in able]


def _memories(values: Values) -> tuple[str, str]:
    return HOST_MEMORY, gpu_memory(values)


def _pairs(known: t.Mapping[PairEnd, PodRail], ends: t.Iterable[tuple[PairEnd, PairEnd]]) -> list[Pair]:
    return [(known[sender], known[receiver]) for sender, receiver in ends]


def _done(situation: StepInput) -> tuple[t.Mapping[str, Rows], t.Mapping[str, Rows]]:
    return situation.done.get(JOBS_READING, {}), situation.done.get("write_bw", {})


def _of_rounds(situation: StepInput, memory: str) -> list[PairTest]:
    """The tests of the rounds, each once, of rails that may still be loaded."""
    known = _known(situation)
    return [
        one
        for host in situation.done.get(JOBS_READING, {})
        for one in pair_tests(host, *_done(situation), (ROUND,), memory, sent=True)
        if one.sender in known and one.receiver in known
    ]


def _minimum(situation: StepInput, memory: str) -> MinimumOf:
    """What a test must reach, in Gb/s: a part of the link, or from GPU memory a part of what its two ends reach from host memory."""
    if memory == HOST_MEMORY:
        return lambda test: _of_link(situation, *test.ends)
    rates, percent = HostMemoryRates(_of_rounds(situation, HOST_MEMORY)), situation.values["pod_gpu_write_bw_percent"]
    return lambda test: (rates.of(test) or 0.0) * percent / 100


def _sorted_out(situation: StepInput, memory: str) -> tuple[list[PairTest], list[PairTest]]:
    """The tests of the rounds that failed, and those that passed.

    Neither a test that this build of perftest refuses, nor one from GPU memory that passed by DMA-BUF, is among the failed ones.
    """
    tests, minimum = _of_rounds(situation, memory), _minimum(situation, memory)
    passed = [one for one in tests if one.gbit_s is not None and one.gbit_s >= minimum(one)]
    ends = {(one.sender, one.receiver) for one in passed if memory != HOST_MEMORY}
    failed = [one for one in tests if (one.sender, one.receiver) not in ends and (one.gbit_s is None or one.gbit_s < minimum(one))]
    return [one for one in failed if one.job["error"] != UNSUPPORTED_OPTION], passed


def _well(situation: StepInput) -> set[str]:
    """The hosts of which a test from host memory gave a rate: of another one its own words say why, and a partner would say no more."""
    return {name for one in _of_rounds(situation, HOST_MEMORY) if one.gbit_s is not None for name in (one.sender.host, one.receiver.host)}


def _by_dmabuf(situation: StepInput, known: t.Mapping[PairEnd, PodRail]) -> list[Pair]:
    """The pairs whose memory of GPUs gave no rate by the module of peer memory, where DMA-BUF will do as well at both ends."""
    jobs, rates = _done(situation)
    either = {host for host in situation.hosts if situation.plan.nodes[host].values["pod_gpudirect"] == "either"}
    pairs = []
    for host, rows in jobs.items():
        rate_of = {row["item"] for row in rates.get(host, ())}
        sent = [row for row in rows if row["kind"] == "write_bw" and row["role"] == "client"]
        ends = {row["item"]: ends_of(host, row) for row in sent}
        # From host memory the two are well: what failed is the GPU's memory.
        well = {ends[row["item"]] for row in sent if row["memory"] == "host" and row["item"] in rate_of}
        for row in sent:
            own = ends[row["item"]]
            if (
                row["memory"] != "host"
                and row["item"] not in rate_of
                and row["error"] != UNSUPPORTED_OPTION
                and own in well
                and set(own) <= known.keys()
                and {end.host for end in own} <= either
            ):
                pairs.append((known[own[0]], known[own[1]]))
    return pairs


def _partner(rails: t.Mapping[PairEnd, PodRail], passed: t.Sequence[PairEnd], like: PodRail, but: t.Container[str]) -> PairEnd | None:
    """A rail that passed in the other's role, of another host, on the same rail and leaf where there is one."""
    found = [end for end in passed if end in rails and end.host not in but]
    same = [end for end in found if rails[end]["index"] == like["index"]]
    return next((end for end in same if rails[end]["leaf"] == like["leaf"]), next(iter(same), next(iter(found), None)))


def _apart(waiting: t.Iterable[tuple[PairEnd, PairEnd]], most: int) -> list[list[tuple[PairEnd, PairEnd]]]:
    """Slots in which no host has more than one test: what is tested alone is alone on its host."""
    slots: list[tuple[set[str], list[tuple[PairEnd, PairEnd]]]] = []
    for ends in waiting:
        hosts = {end.host for end in ends}
        slot = next((slot for slot in slots if not slot[0] & hosts), None)
        if slot is None:
            if len(slots) == most:
                continue
            slots.append(slot := (set(), []))
        slot[0].update(hosts)
        slot[1].append(ends)
    return [pairs for _hosts, pairs in slots]
