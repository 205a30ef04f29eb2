# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a history says of each node: when it was judged, when it was bad, and what changed between."""

from __future__ import annotations

import itertools
import typing as t
from dataclasses import dataclass, field

from .store import History

BAD, GOOD = "fail", ("pass", "warn")
# A fault that is proved gone and comes back within a window is another one.
REPEATED = 2


@dataclass(frozen=True)
class Episode:
    """A time in which a node was bad; after: when it was last good, None where it never was; until: when it was good again, None while it is not."""

    layer: str
    began: int
    after: int | None
    until: int | None


@dataclass
class Past:
    """What is known of a node; judged: when it was judged last, well: when it was last good with none of its layers bad."""

    node: str
    first: int
    judged: int
    well: int | None = None
    episodes: list[Episode] = field(default_factory=list)
    checks: dict[str, int] = field(default_factory=dict)

    @property
    def bad(self) -> bool:
        """Whether a layer of it is bad now."""
        return any(one.until is None for one in self.episodes)

    def begun(self, since: float = 0.0) -> list[int]:
        """When it became bad, once each time however many layers said so."""
        return sorted({one.began for one in self.episodes if one.began >= since})

    def turned(self) -> list[int]:
        """When it became bad and was not bad already."""
        return [time for time in self.begun() if not any(one.began < time and (one.until is None or one.until >= time) for one in self.episodes)]


def pasts(history: History, pod: str, proof: t.Container[str] | None = None) -> dict[str, Past]:
    """What is known of every node of a pod.

    proof: the layers of which one at least must have been judged where a node is well; all count where there is none.
    A layer is bad from a fail until it is judged good; what could not be determined begins nothing and ends nothing.
    """
    found: dict[str, Past] = {}
    states: dict[str, _States] = {}
    rows = history.rows(
        "SELECT entry.id, entry.time, outcome.layer, outcome.node, outcome.verdict FROM outcome JOIN entry ON entry.id = outcome.entry"
        " WHERE entry.pod = ? ORDER BY entry.time, entry.id, outcome.node", pod,
    )  # fmt: skip
    for (_entry, time, node), own in itertools.groupby(rows, lambda row: (row["id"], row["time"], row["node"])):
        past, state = found.setdefault(node, Past(node, time, time)), states.setdefault(node, _States())
        judged = {row["layer"]: row["verdict"] for row in own}
        past.judged = time
        past.episodes += state.take(time, judged)
        if not state.bad and any(verdict in GOOD and (proof is None or layer in proof) for layer, verdict in judged.items()):
            past.well = time
    for node, state in states.items():
        found[node].episodes += [Episode(layer, began, after, None) for layer, (began, after) in state.bad.items()]
    _count_checks(history, pod, found)
    return found


class _States:
    """The layers of one node; good: when each was last good; bad: since when each is, and when it was last good before."""

    def __init__(self) -> None:
        self.good: dict[str, int] = {}
        self.bad: dict[str, tuple[int, int | None]] = {}

    def take(self, time: int, judged: t.Mapping[str, str]) -> list[Episode]:
        """Take the verdicts of one time; returns the episodes that they end."""
        ended = []
        for layer, verdict in judged.items():
            if verdict == BAD:
                self.bad.setdefault(layer, (time, self.good.get(layer)))
            elif verdict in GOOD:
                self.good[layer] = time
                if layer in self.bad:
                    ended.append(Episode(layer, *self.bad.pop(layer), time))
        return ended


def _count_checks(history: History, pod: str, found: dict[str, Past]) -> None:
    rows = history.rows(
        'SELECT finding.node, finding."check", COUNT(DISTINCT entry.id) AS times FROM finding JOIN entry ON entry.id = finding.entry'
        ' WHERE entry.pod = ? AND finding.verdict = ? GROUP BY finding.node, finding."check" ORDER BY times DESC, finding."check"', pod, BAD,
    )  # fmt: skip
    for row in rows:
        if row["node"] in found:
            found[row["node"]].checks[row["check"]] = row["times"]


def offenders(found: t.Mapping[str, Past], since: float) -> list[Past]:
    """The nodes that became bad more than once since a time, the most frequent first."""
    repeated = [one for one in found.values() if len(one.begun(since)) >= REPEATED]
    return sorted(repeated, key=lambda one: (-len(one.begun(since)), one.node))


@dataclass(frozen=True)
class Change:
    """A part of a node that was another one before; was: empty where it was not there; time: when the new one was first seen."""

    node: str
    kind: str
    place: str
    was: str
    value: str
    time: int


def changes(history: History, pod: str) -> list[Change]:
    """Every change of a part, oldest first."""
    last: dict[tuple[str, str, str], str] = {}
    found = []
    rows = history.rows(
        "SELECT entry.time, part.node, part.kind, part.place, part.value FROM part JOIN entry ON entry.id = part.entry WHERE entry.pod = ?"
        " ORDER BY entry.time, entry.id", pod,
    )  # fmt: skip
    for row in rows:
        key = (row["node"], row["kind"], row["place"])
        if key in last and last[key] != row["value"]:
            found.append(Change(*key, last[key], row["value"], row["time"]))
        last[key] = row["value"]
    return found


class Turn(t.NamedTuple):
    """A node that turned bad, and what changed on it since it was last good."""

    node: str
    episode: Episode
    changed: list[Change]


def turns(found: t.Mapping[str, Past], changed: t.Sequence[Change], since: float) -> list[Turn]:
    """Every time since a time at which a node turned bad, the newest first; one that never was good has no changes to name."""
    of_node: dict[str, list[Change]] = {}
    for one in changed:
        of_node.setdefault(one.node, []).append(one)
    turned = [
        Turn(past.node, episode, [one for one in of_node.get(past.node, ()) if episode.after is not None and episode.after < one.time <= episode.began])
        for past in found.values() for episode in past.episodes if episode.began >= since
    ]  # fmt: skip
    return sorted(turned, key=lambda one: (-one.episode.began, one.node))


class Suspect(t.NamedTuple):
    """A change that several nodes had: how many had it, and how many of them turned bad with it."""

    kind: str
    was: str
    value: str
    nodes: int
    bad: int


def suspects(changed: t.Iterable[Change], turned: t.Iterable[Turn]) -> list[Suspect]:
    """Changes that came with a turn, the one with the largest share of bad nodes first. It is a coincidence in time, and no proof."""
    had: dict[tuple[str, str, str], set[str]] = {}
    bad: dict[tuple[str, str, str], set[str]] = {}
    for one in changed:
        had.setdefault(_what(one), set()).add(one.node)
    for turn in turned:
        for one in turn.changed:
            bad.setdefault(_what(one), set()).add(turn.node)
    found = [Suspect(*what, len(had[what]), len(nodes)) for what, nodes in bad.items()]
    return sorted(found, key=lambda one: (-one.bad / one.nodes, -one.bad, one[:3]))


def _what(one: Change) -> tuple[str, str, str]:
    """What changed, without whose it is: identities of GPUs and far ends differ on every node."""
    if one.kind in ("gpu", "cable"):
        return one.kind, "", "another one"
    return f"{one.kind} {one.place}" if one.kind == "software" else one.kind, one.was, one.value
