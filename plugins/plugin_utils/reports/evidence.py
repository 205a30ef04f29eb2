# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence inside the page: compressed by reading, since many nodes print much the same, and unpacked where someone looks."""

from __future__ import annotations

import base64
import json
import typing as t
import zlib
from dataclasses import dataclass

from ..checks import LAYERS
from ..collect.types import KeptCommand
from ..run.reader import RunReader
from ..text.control_characters import visible

RAW_BYTES = 1_000_000


@dataclass
class Chunk:
    """What some nodes printed for one reading of a layer; packed is raw deflate in base64, None where there was no room for it."""

    layer: str
    reading: str
    nodes: list[str]
    packed: str | None


def chunks(kept: RunReader, wanted: t.Container[tuple[str, str]], room: int) -> list[Chunk]:
    """The evidence of a run, within a number of bytes.

    wanted: layer and node of verdicts that are not well: theirs goes in first where there is no room for all.
    """
    packed = [chunk for layer in LAYERS for chunk in _layer(kept, layer)]
    for chunk in sorted(packed, key=lambda one: not any((one.layer, node) in wanted for node in one.nodes)):
        size = len(chunk.packed or "")
        if size > room:
            chunk.packed = None
        else:
            room -= size
    return packed


def _layer(kept: RunReader, layer: str) -> t.Iterator[Chunk]:
    asked: dict[str, dict[str, list[dict[str, t.Any]]]] = {}
    for reading, nodes in kept.readings(layer).items():
        texts_of: dict[str, t.Any] = {}
        size = 0
        for node in nodes:
            if node not in asked:
                asked[node] = _by_reading(kept.commands(layer, node))
            texts = kept.texts(layer, node, reading)
            texts_of[node] = {"texts": texts, "commands": asked[node].get(reading, [])}
            size += sum(map(len, texts.values()))
            if size > RAW_BYTES:
                yield _chunk(layer, reading, texts_of)
                texts_of, size = {}, 0
        if texts_of:
            yield _chunk(layer, reading, texts_of)


def _by_reading(commands: list[KeptCommand]) -> dict[str, list[dict[str, t.Any]]]:
    found: dict[str, list[dict[str, t.Any]]] = {}
    for one in commands:
        short: dict[str, t.Any] = {key: one[key] for key in ("argv", "rc", "status", "seconds") if key in one}
        found.setdefault(one.get("reading", ""), []).append({**short, "stderr": str(one.get("stderr", ""))[:2000]})
    return found


def _chunk(layer: str, reading: str, texts_of: dict[str, t.Any]) -> Chunk:
    squeezed = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    raw = json.dumps(visible(texts_of), ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return Chunk(layer, reading, list(texts_of), base64.b64encode(squeezed.compress(raw) + squeezed.flush()).decode("ascii"))
