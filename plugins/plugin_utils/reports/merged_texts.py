# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts of findings that are one entry, as one text."""

from __future__ import annotations

import re
import typing as t

from ..text.ranges import ranges

NUMBER = re.compile(r"\d+(?:\.\d+)*(?:e[-+]?\d+)?")
# A number that is a word of its own, with what is written before and behind it.
AMOUNT = re.compile(r"(?P<before>\(?\+?)(?P<number>-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?P<after>%?[,;:.)]*)")
# What stands behind a name in a sentence.
BEHIND_NAMES = "),;:."
# Behind one of these a number is a name.
NAMED = frozenset(
    ("as", "class", "dscp", "err", "errno", "gid", "gpu", "index", "lid", "node", "port", "priority", "queue", "rank", "round", "slot", "step", "xid")
)
MOST_LISTED = 4
MOST_FORMS = 3


def merged(texts: t.Iterable[str]) -> str:
    """Texts as one: of those that differ in numbers and names, ``388 to 391 Gb/s with gpu11-gpu13``; of others the first few."""
    alike: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        alike.setdefault(NUMBER.sub("#", text), []).append(text)
    forms = [_merged_words([text.split() for text in same]) if len(same) > 1 else same[0] for same in alike.values()]
    return "; ".join([*forms[:MOST_FORMS], *([f"and {len(forms) - MOST_FORMS} more"] if len(forms) > MOST_FORMS else [])])


def differ_in_names(texts: t.Iterable[str]) -> bool:
    """Whether texts that differ only in digits differ in a word that is no amount, such as a port's name."""
    several = [text.split() for text in dict.fromkeys(texts)]
    columns = [set(column) for column in zip(*several)]
    alike = len({NUMBER.sub("#", " ".join(words)) for words in several}) == 1
    return alike and any(len(column) > 1 and not all(map(AMOUNT.fullmatch, column)) for column in columns)


def _merged_words(texts: list[list[str]]) -> str:
    """Texts, by word, that differ only in numbers."""
    columns = [list(dict.fromkeys(column)) for column in zip(*texts)]
    words, at = [], 0
    while at < len(columns):
        column, end = columns[at], _end_of_list(columns, at)
        if end > at + 1:
            # The names of a list come in another order in each text.
            names = dict.fromkeys(word.rstrip(BEHIND_NAMES) for one in columns[at:end] for word in one)
            words.append(ranges(list(names)) + _tail(columns[end - 1][0]))
        else:
            words.append(column[0] if len(column) == 1 else _merged_word(column, columns[at - 1][0] if at else "", end < len(columns)))
        at = end
    return " ".join(words)


def _tail(word: str) -> str:
    """What is written behind a name."""
    return word[len(word.rstrip(BEHIND_NAMES)) :]


def _end_of_list(columns: list[list[str]], at: int) -> int:
    """Where a list of names with commas ends that begins at a column, and of which some differ; the next column where there is none."""
    end = at
    while end < len(columns) and all(_is_name(word) for word in columns[end]):
        end += 1
        if not all(word.endswith(",") for word in columns[end - 1]):
            break
    return end if end > at + 1 and any(len(column) > 1 for column in columns[at:end]) else at + 1


def _is_name(word: str) -> bool:
    return bool(NUMBER.search(word)) and word[0].isalpha() and not AMOUNT.fullmatch(word)


def _merged_word(words: list[str], before: str, more: bool) -> str:
    """A word that differs: an amount as its range, other numbers and names as a list; before: the word before it; more: whether one follows."""
    amounts = [found for word in words if (found := AMOUNT.fullmatch(word))]
    if len(amounts) < len(words):
        names = [word.lstrip("(").rstrip(BEHIND_NAMES) for word in words]
        lead, tail = words[0].split(names[0], 1)
        return lead + ranges(names) + tail
    numbers = sorted((one["number"] for one in amounts), key=float)
    first = amounts[0]
    written = first["after"].startswith("%") or "+" in first["before"] or any("." in one or "e" in one for one in numbers)
    if before.lower() not in NAMED and (more or written or len(numbers) > MOST_LISTED):
        return f"{first['before']}{numbers[0]} to {first['before'].lstrip('(')}{numbers[-1]}{first['after']}"
    return first["before"] + ranges(numbers) + first["after"]
