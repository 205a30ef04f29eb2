# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue of readings, loaded from the YAML files of ``definitions``."""

from __future__ import annotations

import fnmatch
import functools
import re
import shlex
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ..text.yaml_text import from_yaml
from .nic_drivers import counter_patterns, names_of

HERE = Path(__file__).parent
KINDS = {"linux": "host", "eos": "switch", "nxos": "switch", "sonic": "switch", "cumulus": "switch", "frr": "switch", "infiniband": "switch"}
COLUMN = re.compile(r"^(str|int|float|bool|list|ints|speed|pci|asn|ipv4|duration|size)([?~])?$")


@dataclass(frozen=True)
class Column:
    """One column of a reading: its name carries the unit, its type is what a row holds.

    Types: ``str``, ``int`` (also hexadecimal and with thousands separators), ``float``, ``bool``,
    ``list`` (of str), ``ints`` (list of int), ``speed`` (any spelling of a link speed, as Gb/s),
    ``pci`` (any spelling of a PCI address, as ``0000:9b:00.0``),
    ``asn`` (an autonomous system as an int, also of ``65001.1``), ``ipv4`` (an IPv4 address, also of a mapped IPv6 one;
    None of any other IPv6 address, so that the column is optional), ``duration`` (any spelling of a length of time, in seconds),
    ``size`` (a number of bytes, also of ``1.43 MB``).
    An optional column (``?`` in the YAML) is None where the tool did not say: absent is not zero.
    Where it must be stated (``~``), it is None where the tool says so (``N/A``), and a row without it is an error.
    """

    name: str
    type: str
    optional: bool
    stated: bool = False


@dataclass(frozen=True)
class Source:
    """One way to get a reading on a platform; alternatives are tried in order.

    command: words with placeholders (``{device}``, ``{netdev}``, ``{pci}`` of a rail, or of a probe of the plan); the word ``{*settings}`` is as many
        words as the item's list ``settings`` has, those left out that the command has already; ``{pod_torch_python}`` and ``{*pod_job_services}`` are
        the node's expectations.
    foreach: None, or what the command is repeated for (``rail``, ``rail_port``, a port of a rail, ``bond``, a rail that is one, ``ping``, ``path_probe``).
    item: the column that holds which item a row is of, filled where the text does not state it; ``source>target`` is two.
    template, jmespath: how its text becomes rows; exactly one of the two. A text that ends in a template's state ``Until...`` is cut off.
    none: a regular expression; text it matches (``^$``: no text at all) says that there is nothing, so no rows is an answer.
    rc: the exit statuses with which its text is an answer.
    stderr: a regular expression: the lines that it finds on the tool's standard error are part of its text, behind the rest.
    when: expectations and the values they need for this source to apply; ``{not: VALUE}`` is any other value.
    needs: a program that the command starts by itself, without which it is not tried.
    exclusive: commands of one node with the same value after substitution never run side by side.
    pivot: rows of (name, value) become one row with a column per name: ``{name: NAME, value: VALUE, by: [..], columns: {tool's name: column}}``,
        or by what NIC drivers' tables call a counter, ``meanings: {column: meaning}``: other names are left out then.
    merge: rows with the same values of these columns are one row that comes in pieces.
    spread: a row becomes one a number (of a priority, a group): ``cells`` are columns of values in turn, ``listed`` and ``bits`` (hexadecimal) columns of
        the numbers from 0 to 7 that are on; ``{number: column, cells: {column: column}, listed: {..}, bits: {..}}``. The cells are of the numbers in
        the heading that the column ``numbers`` holds, or of those from 0 on (with the column ``tens``: from ten times that on). What is listed is on where the
        column ``where`` holds a word.
    lines: a regular expression; each piece of the text that it matches becomes a line of its own for the template.
    strings: the text may be a document whose lines are strings of JSON: pieces of ``lines`` lose the escapes of quotation marks, slashes and backslashes.
    matrix: rows (LINE, COLUMNS, CELLS) of a square table become one row a pair, ``{row: column, column: column, value: column, itself: WORD}``,
        with WORD on the diagonal; rows (ALIAS, NAME) of its legend give the names, and ``alias`` is a kind of word that stands for a name.
    totals: list column to ``sum`` (of its numbers) or ``count`` (of its values); None where nothing was stated.
    number: the column that holds the row's own number from 0.
    count: the column of the text that states how many rows there must be, as a number or as a list of words;
        ``{column: .., by: [..], where: {column: value}}`` of each group of rows those that have some values,
        and with ``unless_silent: true`` only where the text reports it; with ``at_least: true`` there may be more.
    omit: a column of the text; a row that has it counts where ``count`` is checked, and is none of the reading's rows.
    reported: columns that some row of a whole text reports, if only as N/A; where none does, the text is cut off before their table.
    scale: columns of numbers whose unit is the word of another column: ``{by: column, columns: [..], factors: {word: factor}}``.
    map: column to {the tool's word: our word}.
    constant: columns with a value that the text does not state because the command itself does.
    copy: column to another one whose text it takes, in its own type, where it has none.
    basis: what its form rests on (documentation, source code, tests of others) where no output of a device was seen; empty where one was.
    """

    command: str
    foreach: str | None = None
    item: str | None = None
    template: str | None = None
    jmespath: str | None = None
    none: str | None = None
    rc: tuple[int, ...] = (0,)
    stderr: str | None = None
    when: dict[str, t.Any] = field(default_factory=dict)
    needs: str | None = None
    exclusive: str | None = None
    pivot: dict[str, t.Any] | None = None
    spread: dict[str, t.Any] | None = None
    merge: list[str] | None = None
    lines: str | None = None
    strings: bool = False
    matrix: dict[str, str] | None = None
    totals: dict[str, str] = field(default_factory=dict)
    number: str | None = None
    count: str | dict[str, t.Any] | None = None
    omit: str | None = None
    reported: tuple[str, ...] = ()
    scale: dict[str, t.Any] | None = None
    map: dict[str, dict[str, str]] = field(default_factory=dict)
    constant: dict[str, t.Any] = field(default_factory=dict)
    copy: dict[str, str] = field(default_factory=dict)
    timeout_seconds: int = 20
    basis: str = ""

    @property
    def by_netdev(self) -> bool:
        """Whether its command or its rows name a netdev, which a rail of InfiniBand need not have."""
        return self.item == "netdev" or "{netdev}" in self.command

    def argv(self, values: t.Mapping[str, t.Any]) -> list[str]:
        """The argument list with its placeholders filled; every value stays one argument."""
        argv: list[str] = []
        for word in _words(self.command):
            if word.startswith("{*"):
                argv += [str(one) for one in values.get(word[2:-1], ()) if str(one) not in argv]
            else:
                argv.append(word.format_map(values) if "{" in word else word)
        return argv

    @property
    def tool(self) -> str:
        """The program the command starts, or which that one starts."""
        return self.needs or self.command.split()[0]


@functools.cache
def _words(command: str) -> tuple[str, ...]:
    """The words of a command; splitting is most of what asking a node costs the controller."""
    return tuple(shlex.split(command))


@dataclass(frozen=True)
class Reading:
    """One table: its columns and who can say it.

    keep: patterns of the column ``name``; a run keeps only the rows they match, the evidence keeps all. In the YAML
        ``counters_of: netdev`` (or ``device``) adds every counter that a NIC driver's table names.
    partial: an item of ``foreach`` that does not answer is a missing row, which a check must look for, not an unread table.
    where_installed: a node that has none of its tools lacks the reading, which is no fault of the node.
    of_fabric: by platform, the readings of a whole InfiniBand subnet that this one is made of for each node; see fabric.py.
    load: it is what the jobs of a load printed, which ``read`` never asks for.
    key: the columns that distinguish its rows; two rows with the same values of them are an error.
    """

    name: str
    description: str
    columns: tuple[Column, ...]
    platforms: dict[str, tuple[Source, ...]]
    keep: tuple[str, ...] = ()
    partial: bool = False
    where_installed: bool = False
    of_fabric: dict[str, tuple[str, ...]] = field(default_factory=dict)
    load: bool = False
    key: tuple[str, ...] = ()

    @property
    def kinds(self) -> frozenset[str]:
        """``host``, ``switch`` or both: the kinds of node that have a platform row."""
        return frozenset(KINDS[platform] for platform in self.platforms_that_report)

    @property
    def platforms_that_report(self) -> tuple[str, ...]:
        """The platforms of which it is reported: by a command of their own, or by a reader of the fabric."""
        return tuple(dict.fromkeys((*self.platforms, *self.of_fabric)))


def _sources(name: str, platform: str, raw: t.Any) -> tuple[Source, ...]:
    if platform not in KINDS:
        raise ValueError(f"reading {name}: unknown platform {platform!r}, known are {', '.join(KINDS)}")
    sources = []
    for row in raw if isinstance(raw, list) else [raw]:
        fields: dict[str, t.Any] = {key: tuple(value) if key == "rc" else value for key, value in row.items()}
        if meanings := (fields.get("pivot") or {}).get("meanings"):
            fields["pivot"] = {**fields["pivot"], "columns": {counter: column for column, meaning in meanings.items() for counter in names_of(meaning)}}
        source = Source(**fields)
        if (source.template is None) == (source.jmespath is None):
            raise ValueError(f"reading {name}, platform {platform}: exactly one of template and jmespath is needed")
        sources.append(source)
    return tuple(sources)


def _load(path: Path) -> Reading:
    raw = from_yaml(path.read_text(encoding="utf-8"))
    columns = []
    for column, kind in raw["columns"].items():
        match = COLUMN.match(kind)
        if match is None:
            raise ValueError(f"reading {path.stem}: column {column} has the unknown type {kind!r}")
        columns.append(Column(column, match[1], bool(match[2]), match[2] == "~"))
    keep = tuple(raw.get("keep", ()))
    if raw.get("counters_of"):
        keep += tuple(name for name in counter_patterns(raw["counters_of"]) if not any(fnmatch.fnmatchcase(name, one) for one in keep))
    platforms = {platform: _sources(path.stem, platform, row) for platform, row in raw.get("platforms", {}).items()}
    return Reading(
        path.stem,
        raw["description"],
        tuple(columns),
        platforms,
        keep,
        raw.get("partial", False),
        where_installed=raw.get("where_installed", False),
        of_fabric={platform: tuple(names) for platform, names in raw.get("of_fabric", {}).items()},
        load=raw.get("load", False),
        key=tuple(raw.get("key", ())),
    )


@functools.cache
def catalogue() -> dict[str, Reading]:
    """Every reading by name."""
    return {path.stem: _load(path) for path in sorted((HERE / "definitions").glob("*.yml"))}


def reading(name: str) -> Reading:
    """The reading of that name.

    Raises KeyError with the known names.
    """
    try:
        return catalogue()[name]
    except KeyError:
        raise KeyError(f"no reading is called {name!r}; known are {', '.join(catalogue())}") from None
