# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a run directory as text from outside: each field has its type, or the error names file and field."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from ..checks import LAYERS
from ..evaluate.gates import DECIDED, STATES
from ..evaluate.verdicts import ORDER
from ..pod.tiers import TIERS
from ..text.schema import Cells, Each, Maybe, MayLack, OneOf, shape_error
from .errors import RunError
from .planned_pod import NAME

Document = dict[str, t.Any]
LAYER = OneOf(tuple(LAYERS))
LIST_OF_TEXT = Each(str)
# The fields of a finding's place, each where it says something; reports of older versions lack them.
PLACE = {
    **dict.fromkeys(("device", "port", "of", "pci"), MayLack(str)),
    **dict.fromkeys(("gpu", "rank"), MayLack(int)),
    "peers": MayLack(LIST_OF_TEXT),
    "missing": MayLack(LIST_OF_TEXT),
    "whole": MayLack(bool),
    "state": MayLack(str),
}
FINDING = {
    **dict.fromkeys(("where", "expected", "actual"), str),
    "severity": OneOf(ORDER),
    "port": Maybe(str),
    "host": Maybe(str),
    "place": MayLack(PLACE),
}
RECORD = {
    "layer": LAYER,
    "check": str,
    "group": Maybe(str),
    "host": Maybe(str),
    "verdict": OneOf(ORDER),
    "affects": LIST_OF_TEXT,
    "words": str,
    "findings": Each(FINDING),
    "waived": Each({"host": str, "finding": str, "reason": str, "until": str}),
    "required": bool,
    "left_out": bool,
    "by_group": Each(OneOf(ORDER), dict),
}
REPORT = {
    **dict.fromkeys(("pod", "run_id", "opened", "version", "digest", "depth", "mode", "only", "replayed_from", "verdict"), str),
    "complete": bool,
    "reasons": LIST_OF_TEXT,
    "up_to_layer": Maybe(LAYER),
    "layers": Each(
        {
            "layer": LAYER,
            "asked": bool,
            "groups": Each({"gate": OneOf(STATES), "reasons": LIST_OF_TEXT, "counts": Each(int, dict)}, dict),
        }
    ),
    "quarantined": Each(dict, dict),
    "resumed": Each({"run": str, "layers": Each(LAYER), "minutes": int}),
    "shared_readings": Each({"slice": str, "run": str, "switches": int, "age_seconds": float}),
    "changed_expectations": Each({"default": object, "value": object, "nodes": int}, dict),
    "verdicts": Each(RECORD),
}
GATE = {
    "state": OneOf(DECIDED), "reasons": LIST_OF_TEXT, "found": MayLack(Each(Cells((str, str)), dict)), "unproved": LIST_OF_TEXT,
    "too_few": Each(Cells((str, str))), "time": str, "run": str,
}  # fmt: skip
# Where another slice read a switch: ``SharedSource``.
SOURCE = {"slice": str, "run": str, "read": str, "age_seconds": float}
STATE = {
    **dict.fromkeys(("pod", "run_id", "depth", "mode", "opened", "digest", "version", "only", "replay", "plan_digest"), str),
    "layers": Each(LAYER),
    "scope": Each(OneOf(("in", "out", "partly")), dict),
    "silent": Each(str, dict),
    "helpers": LIST_OF_TEXT,
    "members": Each(LIST_OF_TEXT, dict),
    "gates": Each(Each(GATE, dict), dict),
    "quarantined": Each({"group": str, "layer": LAYER, "check": str}, dict),
    "boots": Each({"boot_id": Maybe(str), "uptime_seconds": Maybe(float), "asked_at": Maybe(float), "layer": LAYER}, dict),
    "finished": bool,
    "check_mode": bool,
    "origin": dict,
    "shared": Each(SOURCE, dict),
}
PLAN = {
    "common": dict,
    "nodes": Each(Cells((OneOf(TIERS), str, Maybe(str), Maybe(int), dict)), dict, NAME.pattern),
    "groups": Each(LIST_OF_TEXT, dict),
    # Runs of version 0.4.0 have none.
    "addresses": MayLack(Each(str, dict, NAME.pattern)),
    "cables": Each(Cells((str, str, Maybe(str), str, str, Maybe(str), str, Maybe(float), int, Maybe(float), Maybe(str), Maybe(str)))),
}
READING = {"status": str, "words": str, "rows": Each(dict)}
ENVELOPE = {"answered": bool, "words": str, "boot_id": Maybe(str), "uptime_seconds": Maybe(float), "readings": Each(READING, dict)}
JUDGED = {"verdicts": Each(RECORD), "counts": Each(Each(int, dict), dict), "explained": Each(LIST_OF_TEXT, dict)}


def read_text(path: Path) -> str:
    """The text of a file; raises RunError where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from None


def read_document(path: Path, shape: t.Any) -> Document:
    """The JSON of a file; raises RunError, which names the file and the field, where it is not of the shape."""
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} is not JSON: {error}") from None
    if (words := shape_error(value, shape)) is not None:
        raise RunError(f"{path}: {words}")
    return t.cast(Document, value)
