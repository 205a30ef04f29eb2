# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loads of layer 4: every rail of every host in rounds of pairs; then what failed, again and alone, with partners that passed."""

from __future__ import annotations

import typing as t

from ..loads import JOBS, Rows, Situation, Timetable, Values
from ..perftest import REFUSES
from ..perftest_commands import asked, gpu_memory
from ..rounds import Pair, Rail, rail_rounds, turned
from ._pairs import Slots, rails

# Failing pairs are told apart in so many slots at most; a pod in which more fails has another problem than a pair.
MOST_RETESTS = 12
End = tuple[str, str]


def plan(situation: Situation) -> Timetable | None:
    """The rounds first; then one retest of what failed in them."""
    if situation.step == 0:
        return _rounds(situation)
    if situation.step == 1:
        return _retests(situation)
    return None


def _rounds(situation: Situation) -> Timetable:
    values, own = situation.values, rails(situation)
    rounds = rail_rounds(own, values["pod_pairing"], values["pod_topology"])
    rounds += turned(rounds)
    crossed = rail_rounds(own, "sampled", values["pod_topology"], cross_rail=True)[:2] if values["pod_topology"] == "rail_optimised" else []
    slots = Slots(situation)
    if rounds:
        # First, and the first round in time: latency is measured while nobody else sends.
        slots.add("latency", 0, rounds[0], "write_lat", asked(values, tool="ib_write_lat", bytes=8, seconds=None))
    for number, pairs in enumerate([*rounds, *crossed]):
        slots.add(f"round {number + 1}", number, pairs, "write_bw", asked(values), early=number > 0)
    of_gpus = [pair for pair in rounds[0] if all(rail["gpu"] is not None for rail in pair)] if rounds else []
    if of_gpus and values["pod_gpu_write_bw"] != "never":
        slots.add("gpu memory", 0, of_gpus, "write_bw", asked(values, **gpu_memory(values)), early=True)
    if rounds:
        slots.add("sizes", 0, rounds[0], "write_bw", asked(values, bytes=None, seconds=None, qps=1), kind="sizes", early=True)
    words = [
        f"{len(rounds)} rounds of pairs over {len(situation.hosts)} hosts, {values['pod_pairing']}, all rails of a pair at once"
        + (f"; {len(crossed)} rounds across rails" if crossed else ""),
        f"each {values['pod_write_bw_seconds']} s of ib_write_bw at traffic class {values['pod_traffic_class']}, at least {least(values):g} Gb/s a rail",
    ]
    return slots.timetable(words)


def least(values: Values, percent: str = "pod_write_bw_min_percent") -> float:
    """What a rail must carry, in Gb/s; both directions together where they are tested together."""
    return values["pod_link_gbit_s"] * values[percent] / 100 * (2 if values["pod_write_bw_bidirectional"] else 1)


def _retests(situation: Situation) -> Timetable | None:
    """Each failing pair alone, and each of its ends alone with a partner that passed on that rail."""
    known = {(rail["host"], rail["device"]): rail for rail in rails(situation)}
    jobs, rates = situation.done.get(JOBS, {}), situation.done.get("write_bw", {})
    failed, passed = sort_out(jobs, rates, least(situation.values))
    waiting: list[tuple[str, Pair]] = []
    for sender, receiver in failed:
        waiting.append(("alone", (known[sender], known[receiver])))
        other = _partner(known, passed, 1, known[receiver], {sender[0], receiver[0]})
        if other is not None:
            waiting.append(("sender", (known[sender], other)))
        other = _partner(known, passed, 0, known[sender], {sender[0], receiver[0]})
        if other is not None:
            waiting.append(("receiver", (other, known[receiver])))
    by_dmabuf = _by_dmabuf(situation.values, known, jobs, rates)
    if not (waiting or by_dmabuf):
        return None
    slots = Slots(situation)
    for number, pairs in enumerate(_apart(waiting)):
        slots.add(f"retest {number + 1}", number, pairs, "write_bw", asked(situation.values), kind="retest", early=True)
    words = [f"{len(failed)} failing pairs again: each alone, and each end with a partner that passed"] if waiting else []
    if by_dmabuf:
        slots.add("gpu memory by DMA-BUF", 0, by_dmabuf, "write_bw", asked(situation.values, **{**gpu_memory(situation.values), "dmabuf": True}), early=True)
        words.append(f"{len(by_dmabuf)} tests from GPU memory again, by DMA-BUF")
    return slots.timetable(words)


def _by_dmabuf(values: Values, known: t.Mapping[End, Rail], jobs: t.Mapping[str, Rows], rates: t.Mapping[str, Rows]) -> list[Pair]:
    """The pairs whose memory of GPUs gave no rate by the module of peer memory, where DMA-BUF will do as well."""
    if values["pod_gpudirect"] != "either":
        return []
    pairs = []
    for host, rows in jobs.items():
        told = {row["item"] for row in rates.get(host, ())}
        sent = [row for row in rows if row["kind"] == "write_bw" and row["role"] == "client"]
        ends = {row["item"]: ((host, row["device"]), (row["peer"], row["peer_device"])) for row in sent}
        # From host memory the two are well: what failed is the GPU's memory.
        well = {ends[row["item"]] for row in sent if row["memory"] == "host" and row["item"] in told}
        for row in sent:
            own = ends[row["item"]]
            if row["memory"] != "host" and row["item"] not in told and REFUSES not in str(row["words"]) and own in well and set(own) <= known.keys():
                pairs.append((known[own[0]], known[own[1]]))
    return pairs


def sort_out(jobs: t.Mapping[str, Rows], rates: t.Mapping[str, Rows], minimum: float) -> tuple[list[tuple[End, End]], list[tuple[End, End]]]:
    """The pairs (sender's and receiver's host and device) of the rounds that failed, and those that passed, each once.

    A host of which no test of bandwidth ended well is in neither: its own words tell why, and another partner would tell no more.
    """
    told_well = {host for host, rows in jobs.items() if any(row["status"] == "ok" and row["kind"] == "write_bw" for row in rows)}
    failed: dict[tuple[End, End], None] = {}
    passed: dict[tuple[End, End], None] = {}
    for host, rows in jobs.items():
        told = {row["item"]: row["gbit_s"] for row in rates.get(host, ())}
        for row in rows:
            if row["kind"] == "write_bw" and row["role"] == "client" and row["memory"] == "host":
                pair = ((host, row["device"]), (row["peer"], row["peer_device"]))
                good = row["status"] == "ok" and (told.get(row["item"]) or 0.0) >= minimum
                (passed if good else failed)[pair] = None
    tells = [pair for pair in failed if pair[0][0] in told_well and pair[1][0] in told_well]
    return tells, [pair for pair in passed if pair not in failed]


def _partner(rails: t.Mapping[End, Rail], passed: t.Sequence[tuple[End, End]], place: int, like: Rail, but: t.Container[str]) -> Rail | None:
    """A rail that passed as receiver (place 1) or sender (0), of another host, on the same rail and leaf where there is one."""
    found = [rails[pair[place]] for pair in passed if pair[place] in rails and pair[place][0] not in but]
    same = [rail for rail in found if rail["index"] == like["index"]]
    return next((rail for rail in same if rail["leaf"] == like["leaf"]), next(iter(same), next(iter(found), None)))


def _apart(waiting: t.Sequence[tuple[str, Pair]]) -> list[list[Pair]]:
    """Slots in which no host has more than one test: what is tested alone is alone on its host."""
    slots: list[tuple[set[str], list[Pair]]] = []
    seen = set()
    for _why, (sender, receiver) in waiting:
        ends = (sender["host"], sender["device"], receiver["host"], receiver["device"])
        if ends in seen:
            continue
        seen.add(ends)
        hosts = {sender["host"], receiver["host"]}
        slot = next((slot for slot in slots if not slot[0] & hosts), None)
        if slot is None:
            if len(slots) == MOST_RETESTS:
                continue
            slots.append(slot := (set(), []))
        slot[0].update(hosts)
        slot[1].append((sender, receiver))
    return [pairs for _hosts, pairs in slots]
