# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that were asked and could not be read at all: the words of whoever tried."""

from __future__ import annotations

import re
import typing as t

from ..text.shortened import shortened

Values = t.Mapping[str, t.Any]
MOST_CHARACTERS = 300
# What ssh says of a host key that it keeps is no reason, and Ansible's words for a client that ended at once stand before ssh's own.
SSH = "Failed to connect to the host via ssh: "
NO_REASON = (
    (re.compile(r"Warning: Permanently added \S+ \([^)]*\) to the list of known hosts\.\s*"), ""),
    (re.compile(r'Data could not be sent to remote host "[^"]*"\. Make sure this host can be reached over ssh: (?=\S)'), SSH),
)


def reason_of(words: str) -> str:
    """Why a node was not reached, in one line."""
    line = " ".join(words.split()).removeprefix("Task failed: ")
    for pattern, instead in NO_REASON:
        line = pattern.sub(instead, line)
    return line


def words_of(result: Values) -> str | None:
    """Why a task got nothing from its node; None where it did."""
    if not (result.get("failed") or result.get("unreachable")):
        return None
    return ("unreachable: " if result.get("unreachable") else "") + shortened(reason_of(str(result.get("msg", ""))), MOST_CHARACTERS)


def silent_of(registered: object, node: str) -> str | None:
    """Of what the task that read all nodes registered, why a node was not read; None where nothing says so."""
    if not isinstance(registered, dict):
        return None
    return t.cast("dict[str, str]", registered.get("silent", {})).get(node) or words_of(registered)
