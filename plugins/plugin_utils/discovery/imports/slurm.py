# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's topology.yaml and topology.conf: which hosts are beneath which switch or in which block. They name no port and so no cable.

Sources: the manual pages topology.yaml(5) and topology.conf(5).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from ...text.shortened import shortened
from .listing import ImportFailed, ListedNode, Listing

# A host list of Slurm: names with numbers in brackets, and commas between.
PIECES = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
BRACKETS = re.compile(r"\[([^\[\]]*)\]")
# More names than any cluster has: a list as nodes[0-999999999] must not fill the memory.
MOST = 100_000


def read_slurm(path: Path) -> Listing:
    """The hosts, each in the lowest switch or the block that has it.

    Raises ImportFailed where the file is none of the two, or where a host is in two.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    groups = list(_of_yaml(text) if path.suffix in (".yaml", ".yml") else _of_conf(text))
    found = Listing()
    for group, hosts in groups:
        for host in expanded(hosts):
            if host in found.nodes and found.nodes[host].rack != group:
                raise ImportFailed(f"{host} is in {found.nodes[host].rack} and in {group}")
            found.nodes[host] = ListedNode(host, role="host", rack=group)
    if not found.nodes:
        raise ImportFailed("it names no host beneath a switch or in a block")
    return found


def _of_yaml(text: str) -> Iterator[tuple[str, str]]:
    """The default topology's, or the only one's, lowest switches or blocks."""
    try:
        read = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ImportFailed(f"it is not YAML: {shortened(' '.join(str(error).split()), 200)}") from None
    topologies = [one for one in read if isinstance(one, dict)] if isinstance(read, list) else []
    shaped = [one for one in topologies if "tree" in one or "block" in one]
    chosen = next((one for one in shaped if one.get("cluster_default")), shaped[0] if shaped else None)
    if chosen is None:
        raise ImportFailed("it has no topology of the kind tree or block")
    kind, each, name = ("tree", "switches", "switch") if "tree" in chosen else ("block", "blocks", "block")
    for one in (chosen[kind] or {}).get(each) or ():
        if one.get("nodes"):
            yield str(one[name]), str(one["nodes"])


def _of_conf(text: str) -> Iterator[tuple[str, str]]:
    for line in text.replace("\\\n", " ").splitlines():
        words = {key.lower(): value for key, _is, value in (word.partition("=") for word in line.partition("#")[0].split())}
        name = words.get("switchname") or words.get("blockname")
        if name and words.get("nodes"):
            yield name, words["nodes"]


def expanded(words: str) -> list[str]:
    """A host list's names: ``gpu[01-03,7],login`` is gpu01, gpu02, gpu03, gpu7 and login.

    Raises ImportFailed where it is none, or longer than any cluster.
    """
    names: list[str] = []
    for piece in PIECES.findall(words.replace(" ", "")):
        names += _one(piece)
        if len(names) > MOST:
            raise ImportFailed(f"{words!a:.80} has more than {MOST} names")
    return names


def _one(piece: str) -> list[str]:
    found = BRACKETS.search(piece)
    if found is None:
        return [piece]
    names = []
    for part in found[1].split(","):
        first, _to, last = part.partition("-")
        last = last or first
        if not (first.isdigit() and last.isdigit() and int(first) <= int(last) and int(last) - int(first) < MOST):
            raise ImportFailed(f"{piece!a:.80} is no list of hosts")
        for number in range(int(first), int(last) + 1):
            names += _one(f"{piece[: found.start()]}{number:0{len(first)}d}{piece[found.end() :]}")
    return names
