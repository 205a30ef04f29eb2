# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of a site's own training with the host and rank that each is of: labels of launchers are read here, and nowhere again."""

from __future__ import annotations

import re
import typing as t
from collections import Counter

from ..text.control_characters import ANSI
from ..text.sorting import NUMBERS
from .host_names import HostNames
from .line_labels import BEFORE_A_RANK, BY_NAME, IS_ADDRESS, OF_A_RANK, Labelled, labelled

NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
HAS_A_NUMBER = re.compile(r"[A-Za-z][\w.-]*\d")
# On which host tasks were, where srun says how they ended.
ENDED = re.compile(r"(?m)^srun: error: (?P<host>[A-Za-z][\w.-]*): tasks? (?P<tasks>[\d,-]+): ")
# PyTorch's checkpoints hand the error of a rank to all others, which print it with its number.
QUOTED = re.compile(r"Traceback \(most recent call last\): \(RANK (?P<rank>\d+)\)")


class Said(t.NamedTuple):
    """A line without the labels of launchers; host: the one that they name, by its name in the inventory where that is known.

    rank: that of a label, or of PyTorch, whose number before the line is kept there; before: what else stood before it, such as a time.
    """

    host: str | None
    rank: int | None
    line: str
    before: str = ""


def said_lines(texts: t.Sequence[str], names: HostNames) -> list[list[Said]]:
    """The lines of what a training printed, stream by stream; names: of the hosts of its job.

    Tasks of no more than these are one a host, and start the ranks.
    """
    texts = [ANSI.sub("", text) for text in texts]
    before = names_before_lines(texts, names)
    streams = [labelled(text, before) for text in texts]
    of_tasks = {task: found["host"] for text in texts for found in ENDED.finditer(text) for task in _numbers(found["tasks"])}
    are_ranks = max((one.task for lines in streams for one in lines if one.task is not None), default=-1) >= max(1, len(names.hosts))
    return [[_said(one, of_tasks, are_ranks, names) for one in lines] for lines in streams]


def names_before_lines(texts: t.Iterable[str], names: HostNames) -> frozenset[str]:
    """The names of hosts that are put before lines: those of the job and addresses, and any that differ by a number alone where most lines begin with one."""
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    counted = Counter(found["host"] for line in lines if (found := BY_NAME.match(line)))
    sure = {name for name in counted if names.host(name) or IS_ADDRESS.fullmatch(name)}
    sure |= {found["host"] for line in lines if (found := BEFORE_A_RANK.match(line))}
    forms: dict[str, set[str]] = {}
    for name in filter(HAS_A_NUMBER.match, counted):
        forms.setdefault(NUMBERS.sub("#", name), set()).add(name)
    most = (some for some in forms.values() if len(some) > 1 and 2 * sum(counted[name] for name in some) > len(lines))
    return frozenset(sure.union(*most))


def as_text(lines: t.Iterable[Said], times: bool = False) -> str:
    """The lines as one text, each behind the name of its host and the number of its rank as far as they are known (``gpu03: [rank18]: ``).

    times: whether what else stood before a rank stands before its line.
    """
    heads = ((f"{one.host}: " if one.host else "", f"{one.before} " if times and one.before else "", one.line) for one in lines)
    return "".join(f"{host}{before}{line}\n" for host, before, line in heads)


def of_quoted_ranks(lines: t.Iterable[Said]) -> list[Said]:
    """Lines of which those of an error that ranks hand to each other are of the rank that met it, and not of the one that prints it."""
    found: list[Said] = []
    rank = None
    for one in lines:
        quoted = QUOTED.search(one.line)
        if quoted or rank is None:
            found.append(one)
            rank = int(quoted["rank"]) if quoted else None
            continue
        own = OF_A_RANK.sub("", one.line)
        found.append(Said(None, rank, f"[rank{rank}]: {own}"))
        # What is not indented is the error itself, after which others follow.
        rank = rank if own[:1].isspace() else None
    return found


def _said(one: Labelled, of_tasks: t.Mapping[int, str], are_ranks: bool, names: HostNames) -> Said:
    printed = OF_A_RANK.match(one.line)
    rank = int(printed["rank"]) if printed else one.task if are_ranks and one.line.strip() else None
    named = (found for word in NAME.findall(one.before) if (found := names.host(word)))
    host = one.host or (of_tasks.get(one.task) if one.task is not None else None) or next(named, None)
    line = one.line if printed or rank is None else f"[rank{rank}]: {one.line}"
    return Said((names.host(host) or host) if host else None, rank, line, one.before)


def _numbers(ranges: str) -> t.Iterator[int]:
    """The numbers of ranges such as ``16-18,23``."""
    for part in filter(None, ranges.split(",")):
        first, _dash, last = part.partition("-")
        yield from range(int(first or 0), int(last or first or 0) + 1)
