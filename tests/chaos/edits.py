# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random edits of a run directory: of single values, of words everywhere, and of whole files."""

from __future__ import annotations

import json
import random
import typing as t
from dataclasses import dataclass
from pathlib import Path

# What an edit that hides a fault would write, and what a program that is out of date, or a disk, might.
BETTER = {
    "fail": "pass", "unknown": "pass", "warn": "pass", "skip": "pass", "closed": "open", "not_proved": "open", "not_reached": "open", "not_run": "open",
    "no_go": "go", "no_fault_seen": "go", "out": "in",
}  # fmt: skip
ODD: tuple[t.Any, ...] = (None, "", "x", 0, -1, 1e300, True, [], {}, [None], "open", "pass", "2126-01-01T00:00:00Z", "\x1b[2J")
DOCUMENTS = ("report.json", "state.json", "plan.json", "verdicts/*.json")
EVIDENCE = ("readings/*/*/*.json",)


@dataclass
class Edit:
    """What was edited; removes_proof: verdicts, or the run's state or plan, are no longer there as a whole."""

    words: str
    removes_proof: bool = False


def edit(run: Path, noise: random.Random, evidence: bool = False) -> Edit:
    """Make one edit in a run directory whose files may be shared with another: a file is replaced, not written to.

    evidence: whether an edit may be of what nodes responded, too.
    """
    names = DOCUMENTS + EVIDENCE * (evidence and noise.random() < 0.3)
    paths = sorted(path for name in names for path in run.glob(name))
    path = noise.choice(paths)
    how = noise.choice(("better", "better", "better", "everywhere", "value", "value", "deleted", "shortened"))
    name = str(path.relative_to(run))
    if how == "everywhere":
        return _everywhere(run, paths, noise)
    if how in ("deleted", "shortened"):
        text = path.read_bytes()
        path.unlink()
        if how == "shortened":
            path.write_bytes(text[: noise.randrange(len(text))])
        return Edit(f"{name} {how}", name != "report.json" and name.partition("/")[0] != "readings")
    document = json.loads(path.read_bytes())
    words = (_improved if how == "better" else _changed)(document, noise)
    _replace(path, json.dumps(document))
    return Edit(f"{name}: {words}")


def _replace(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text, encoding="utf-8")


def _everywhere(run: Path, paths: t.Sequence[Path], noise: random.Random) -> Edit:
    """One word as its better one, in all files or in those of one name."""
    bad = noise.choice(sorted(BETTER))
    some = noise.choice([paths, [path for path in paths if path.name in ("state.json", "report.json")]])
    for path in some:
        text = path.read_text(encoding="utf-8")
        if f'"{bad}"' in text:
            _replace(path, text.replace(f'"{bad}"', f'"{BETTER[bad]}"'))
    return Edit(f"{bad} as {BETTER[bad]} in {len(some)} files of {run.name}")


def _places(value: t.Any, path: str = "") -> t.Iterator[tuple[t.Any, t.Any, str]]:
    """Every place of a document: its container, its key there, and its path in words."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, own in pairs:
        yield value, key, f"{path}.{key}"
        yield from _places(own, f"{path}.{key}")


def _improved(document: t.Any, noise: random.Random) -> str:
    """One bad word as a good one, or a list of what is wrong as an empty one; any value where nothing is bad."""
    found = [(where, key, path) for where, key, path in _places(document) if isinstance(where[key], str) and where[key] in BETTER]
    found += [(where, key, path) for where, key, path in _places(document) if key in ("findings", "reasons", "unproved", "verdicts") and where[key]]
    if not found:
        return _changed(document, noise)
    where, key, path = noise.choice(found)
    where[key] = BETTER[where[key]] if isinstance(where[key], str) else []
    return f"{path[1:]} as {json.dumps(where[key])}"


def _changed(document: t.Any, noise: random.Random) -> str:
    """Any value as another one, removed, or twice."""
    where, key, path = noise.choice(list(_places(document)))
    how = noise.choice(("odd", "removed", "twice", "other"))
    if how == "removed":
        del where[key]
    elif how == "twice" and isinstance(where, list):
        where.append(where[key])
    elif how == "other":
        elsewhere, its, _path = noise.choice(list(_places(document)))
        where[key] = json.loads(json.dumps(elsewhere[its]))
    else:
        where[key] = noise.choice(ODD)
    return f"{path[1:]} {how}"
