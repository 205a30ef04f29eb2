# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run directory keeps of its nodes, for those who show it. Nothing in it is trusted: only planned names are opened, no link is followed."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

from ..checks import LAYERS
from ..plan import Plan

Row = dict[str, t.Any]
Text = dict[str, t.Any]
# A phase as the run keeps it, and as whoever shows it calls it: what loads printed is as final as the last reading.
PHASE = re.compile(r"^(?P<kind>now|before|idle|during|load)(-(?P<number>[0-9]+))?$")


class Kept:
    """The rows, texts and commands of a run's nodes."""

    def __init__(self, run: Path, plan: Plan) -> None:
        self.run, self.plan = run, plan

    def rows(self, readings: t.Container[str]) -> t.Iterator[tuple[str, str, str, str, list[Row]]]:
        """Layer, node, phase (``""`` for the last reading), reading and its rows, of some readings that were told."""
        for layer in LAYERS:
            phases = self.phases(layer)
            for node in self.plan.nodes:
                for kept, phase in phases.items():
                    said = self._json(Path("readings") / layer / kept / f"{node}.json") or {}
                    for name, reading in said.get("readings", {}).items():
                        if name in readings and reading["status"] == "ok":
                            when = {"seconds": said["seconds"]} if phase == "during" else {}
                            yield layer, node, phase, name, [{**row, **when} for row in reading["rows"]] if when else reading["rows"]

    def phases(self, layer: str) -> dict[str, str]:
        """The phases of a layer that are kept, in their order, and each one's kind (``""`` for the last reading and for what loads printed)."""
        place = self.run / "readings" / layer
        found = [match for path in (place.iterdir() if place.is_dir() else ()) if (match := PHASE.match(path.name))]
        found.sort(key=lambda match: (match["kind"], int(match["number"] or 0)))
        return {match[0]: "" if match["kind"] in ("now", "load") else match["kind"] for match in found}

    def told(self, readings: t.Container[str]) -> dict[str, dict[str, dict[str, list[Row]]]]:
        """The last rows of some readings, by layer, node and reading."""
        found: dict[str, dict[str, dict[str, list[Row]]]] = {}
        for layer, node, phase, name, rows in self.rows(readings):
            if not phase:
                # A step's loads are a phase each.
                found.setdefault(layer, {}).setdefault(node, {}).setdefault(name, []).extend(rows)
        return found

    def readings(self, layer: str) -> dict[str, list[str]]:
        """The readings of a layer that left a text, and the nodes that they are of."""
        found: dict[str, list[str]] = {}
        for node in self.plan.nodes:
            place = self.run / "evidence" / layer / node
            if place.is_dir() and not place.is_symlink():
                for name in sorted({path.name.partition(".")[0] for path in place.glob("*.txt")}):
                    found.setdefault(name, []).append(node)
        return found

    def texts(self, layer: str, node: str, reading: str) -> dict[str, str]:
        """What a node printed for a reading, by phase (``""`` for the last)."""
        place = Path("evidence") / layer / node
        names = {"" if kept == "now" else kept: f"{reading}.txt" if kept == "now" else f"{reading}.{kept}.txt" for kept in self.phases(layer)}
        return {phase: text for phase, name in names.items() if (text := self._text(place / name)) is not None}

    def commands(self, layer: str, node: str) -> list[Row]:
        """The commands that a node was asked in a layer, and the loads that it carried, as they ended."""
        names = ["commands.json", *(f"commands.{kept}.json" for kept in self.phases(layer) if kept.startswith("load"))]
        return [one for name in names for one in self._json(Path("evidence") / layer / node / name) or []]

    def _text(self, name: Path) -> str | None:
        path = self.run / name
        if not path.is_file() or path.is_symlink() or not path.resolve().is_relative_to(self.run.resolve()):
            return None
        return path.read_text(encoding="utf-8", errors="replace")

    def _json(self, name: Path) -> t.Any:
        text = self._text(name)
        return None if text is None else json.loads(text)
