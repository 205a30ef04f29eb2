# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod's history as one page that needs no network and runs nothing, and as text for a terminal."""

from __future__ import annotations

import base64
import functools
import hashlib
import typing as t
from pathlib import Path

import jinja2

from ..history.findings import Findings
from ..history.growth import Growth, Repeated
from ..history.past import Change, Turn
from ..history.risk import Risk
from ..history.times import day_of, minute_of
from ..history.trends import MIN_DAYS, MIN_SPAN_DAYS, Trend
from ..text.control_characters import printable, visible
from ..text.counting import counted

PAGE = Path(__file__).with_name("page")
MOST = 200
MOST_IN_TEXT = 10


def render_history_page(found: Findings) -> str:
    """The page."""
    style = (PAGE / "page.css").read_text(encoding="utf-8")
    digest = "'sha256-" + base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii") + "'"
    return _template().render(
        found=found,
        style=style,
        policy=f"default-src 'none'; style-src {digest}; img-src data:",
        sections=_sections(found),
        at=minute_of(found.now),
        since=day_of(found.since),
        first=day_of(found.first) if found.first is not None else "",
        bad=sorted(one.node for one in found.nodes.values() if one.bad),
        most=MOST,
    )


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["visible"] = lambda value: visible(str(value))
    return environment.get_template("history.html.j2")


class Section(t.NamedTuple):
    """A table of the page: its id, heading, what it shows, what stands where it has no row, its columns, and its rows as text."""

    id: str
    title: str
    words: str
    none: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def _sections(found: Findings) -> list[Section]:
    return [
        Section(
            "next", "What to validate next", "The probability that a node has become bad since it was last well, from its own past and the others'.",
            "No node is known.", ("node", "risk", "why"), [(one.node, f"{one.probability:.1%}", one.words) for one in found.risks],
        ),
        Section(
            "offenders", "Repeat offenders",
            "Nodes that became bad, were proved well, and became bad again; and places whose counter of errors grew, stood still on a day, and grew again.",
            "No node became bad twice, and no counter of errors began to grow twice.", ("node or place", "times", "last", "what"),
            [*((one.node, str(len(one.begun(found.since))), day_of(one.begun()[-1]), ", ".join(list(one.checks)[:4])) for one in found.offenders),
             *map(_repeated, found.repeated)],
        ),
        Section(
            "trends", "Trends and limits",
            f"Lines that are better than chance, over at least {MIN_DAYS} days in {MIN_SPAN_DAYS:g} since the parts of the place were last exchanged, and "
            "numbers beyond a limit, whether they move or not. A day is an interval of 95 %, and none is named that is farther ahead than the numbers reach "
            "back.",
            "No number moves by more than chance, and none is beyond a limit.", ("number", "place", "days", "last", "change a day", "limit", "reached"),
            [_trend(one) for one in found.trends],
        ),
        Section(
            "growth", "Growth in the last week",
            "Counters that grew between two readings of the last week, where they did not go back and the node did not boot.", "No counter grew.",
            ("counter", "place", "grown", "an hour"), [_growth(one) for one in found.grown],
        ),
        Section(
            "turns", "What changed before a node turned bad", "Between the last time that it was good and the first time that it was bad.",
            "No node turned bad.", ("node", "layer", "good", "bad", "changed"), [_turn(one) for one in found.turns],
        ),
        Section(
            "suspects", "Changes that came with it",
            "How many nodes had a change, and how many of them turned bad with it: together in time, which proves nothing.",
            "No change came with a node that turned bad.", ("what", "from", "to", "nodes", "turned bad"),
            [(one.kind, one.was, one.value, str(one.nodes), str(one.bad)) for one in found.suspects],
        ),
        Section(
            "changes", "All changes", "Software, GPUs, optics and cables.", "Nothing changed.", ("when", "node", "what", "from", "to"),
            [(minute_of(one.time), one.node, f"{one.kind} {one.place}", one.was, one.value) for one in reversed(found.changes)],
        ),
    ]  # fmt: skip


def _trend(one: Trend) -> tuple[str, ...]:
    slope = f"{one.slope.per_day:+.3g} ({one.slope.least:+.3g} to {one.slope.most:+.3g})" if one.slope else "no more than chance"
    limits = [f"{ends.limit:g}" for ends in (one.crossed, one.crossing) if ends]
    limit = limits[0] if limits else ""
    return one.metric.replace("_", " "), one.place, str(one.days), f"{one.last:.4g}", slope, limit, reached(one)


def reached(one: Trend) -> str:
    """When a trend reaches its limit, or since when it is beyond it, in words; empty where nothing can be said."""
    if one.crossed is not None:
        return f"crossed {day_of(one.crossed.since)}"
    if one.crossing is None:
        return ""
    latest = "no latest day" if one.crossing.latest is None else day_of(one.crossing.latest)
    return f"{day_of(one.crossing.expected)} ({day_of(one.crossing.earliest)} to {latest})"


def _growth(one: Growth) -> tuple[str, ...]:
    return one.metric.replace("_", " "), one.place, f"{one.grown:g}", f"{one.per_hour:.3g}"


def _repeated(one: Repeated) -> tuple[str, ...]:
    return one.place, str(one.times), day_of(one.last), one.metric.replace("_", " ")


def _turn(one: Turn) -> tuple[str, ...]:
    good = "never" if one.episode.after is None else minute_of(one.episode.after)
    return one.node, one.episode.layer, good, minute_of(one.episode.began), "; ".join(_change(change) for change in one.changed) or "nothing that is known"


def _change(one: Change) -> str:
    return f"{one.kind} {one.place}: {one.was} became {one.value}"


def render_history_text(found: Findings, following: t.Sequence[Risk]) -> str:
    """The first rows of each table, as plain text; following: the nodes to validate next."""
    lines = [f"pod {found.pod}: {counted(found.entries, 'record')}, {counted(len(found.nodes), 'node')}"]
    lines += [f"  bad now: {one.node}" for one in found.nodes.values() if one.bad]
    for section in _sections(found):
        if section.rows and section.id in ("offenders", "trends", "growth", "turns", "suspects"):
            lines.append(f"{section.title}:")
            lines += ["  " + ", ".join(cell for cell in row if cell) for row in section.rows[:MOST_IN_TEXT]]
            lines += [f"  and {len(section.rows) - MOST_IN_TEXT} more"] if len(section.rows) > MOST_IN_TEXT else []
    if following:
        lines.append("validate next: -e pod_only=" + ",".join(one.node for one in following))
        lines += [f"  {one.node}: {one.probability:.1%}, {one.words}" for one in following[:MOST_IN_TEXT]]
    return "\n".join(printable(line) for line in lines) + "\n"
