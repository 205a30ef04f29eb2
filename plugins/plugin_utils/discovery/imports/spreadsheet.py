# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cabling spreadsheet: CSV or XLSX, with whatever its columns are called."""

from __future__ import annotations

import csv
import io
import re
import typing as t
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...pod.cabling import decode
from ...text.shortened import shortened
from .listing import ImportFailed, ListedCable, Listing, gbit_s_of, medium_of, metres_of

Table = list[list[str]]
# What people call the ends of a cable, without case, blanks and punctuation. A site's own words are given with import_columns.
SIDES = {
    "a": ("a", "aend", "aside", "sidea", "enda", "from", "source", "src", "local"),
    "b": ("b", "z", "bend", "zend", "bside", "zside", "sideb", "sidez", "endb", "endz", "to", "destination", "dest", "dst", "target", "remote", "peer"),
}
NODE = ("", "node", "device", "devicename", "host", "hostname", "name", "switch", "system", "server")
ADDRESS = ("address", "ip", "ipaddress", "ipv4", "bgpaddress")
PORT = ("port", "portname", "interface", "interfacename", "intf", "if", "nic", "portid")
ALONE = {
    "gbit_s": ("gbits", "speed", "speedgbits", "linkspeed", "rate"),
    "medium": ("medium", "media", "type", "cabletype", "cablemedium", "mediatype", "cable"),
    "length_m": ("lengthm", "length", "cablelength", "lengthmetres", "lengthmeters", "lengthinm"),
}
NEEDED = ("a_node", "a_port", "b_node", "b_port")
# A title, a date and a legend may stand above the header.
HEADER_WITHIN = 20


def read_spreadsheet(path: Path, columns: Mapping[str, str], sheet: str = "") -> Listing:
    """The cables of a spreadsheet.

    columns: by column of the wiring plan (``a_node``), what the spreadsheet calls it; sheet: of a workbook, the first by default.
    Raises ImportFailed with every line that cannot be read.
    """
    table = _workbook(path, sheet) if path.suffix.lower() in (".xlsx", ".xlsm") else _text(path)
    at, places = _header(table, columns)
    found, wrong = Listing(), []
    for number, cells in enumerate(table[at + 1 :], at + 2):
        row = {name: cells[place].strip() if place < len(cells) else "" for name, place in places.items()}
        if not any(row.values()):
            continue
        empty = [name for name in NEEDED if not row[name]]
        try:
            if empty:
                raise ImportFailed(f"{', '.join(empty)} is empty")
            found.cables.append(_cable(row))
        except ImportFailed as failed:
            wrong.append(f"line {number}: {failed}")
    if wrong:
        raise ImportFailed("; ".join(wrong[:5]) + (f"; and {len(wrong) - 5} more lines" if len(wrong) > 5 else ""))
    if not found.cables:
        raise ImportFailed("no cable stands below the header")
    found.named()
    return found


def _cable(row: Mapping[str, str]) -> ListedCable:
    a, b = ((row[f"{side}_node"], row[f"{side}_port"]) for side in "ab")
    addresses = (row.get("a_address", ""), row.get("b_address", ""))
    return ListedCable(a, b, medium_of(row.get("medium")), metres_of(row.get("length_m")), addresses, gbit_s_of(row.get("gbit_s")))


def _text(path: Path) -> Table:
    text, wrong = decode(path.read_bytes())
    if text is None:
        raise ImportFailed("; ".join(wrong))
    try:
        dialect: t.Any = csv.Sniffer().sniff(text[:8192], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
    return [list(row) for row in csv.reader(io.StringIO(text), dialect)]


def _workbook(path: Path, sheet: str) -> Table:
    try:
        import openpyxl
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise ImportFailed("reading a workbook needs openpyxl on the controller: pip install openpyxl; or save the sheet as CSV") from None
    try:
        # Values only: what a formula gave when the file was saved.
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ImportFailed(f"it is no workbook: {str(error)!a:.120}") from None
    if sheet and sheet not in book.sheetnames:
        raise ImportFailed(f"the workbook has no sheet {sheet!r}; it has {shortened(', '.join(book.sheetnames), 200)}")
    page = book[sheet] if sheet else book[book.sheetnames[0]]
    return [["" if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row] for row in page.iter_rows(values_only=True)]


def _header(table: Table, columns: Mapping[str, str]) -> tuple[int, dict[str, int]]:
    """The number of the header's row, and where each column of the wiring plan is."""
    best: dict[str, int] = {}
    for at, cells in enumerate(table[:HEADER_WITHIN]):
        places = _places(cells, columns)
        if all(name in places for name in NEEDED):
            return at, places
        best = places if len(places) > len(best) else best
    missing = [name for name in NEEDED if name not in best]
    first = next((cells for cells in table if any(cells)), [])
    raise ImportFailed(
        f"no row is a header with {', '.join(missing)}; the first row is {shortened(', '.join(first), 200)!a}. "
        f'Say what the columns are called, for example -e \'{{"import_columns": {{"{missing[0]}": "Device A"}}}}\''
    )


def _places(cells: Sequence[str], columns: Mapping[str, str]) -> dict[str, int]:
    given = {_plain(called): name for name, called in columns.items()}
    places: dict[str, int] = {}
    for place, cell in enumerate(cells):
        name = given.get(_plain(cell)) or _column(_plain(cell))
        if name is not None and (name not in columns or _plain(columns[name]) == _plain(cell)):
            places.setdefault(name, place)
    return places


def _plain(words: str) -> str:
    return re.sub(r"[^a-z0-9]", "", words.lower())


def _column(word: str) -> str | None:
    """The column of the wiring plan that a header's word means."""
    for side, sides in SIDES.items():
        for what, things in (("node", NODE), ("port", PORT), ("address", ADDRESS)):
            if any(word in (one + thing, thing + one) for one in sides for thing in things):
                return f"{side}_{what}"
    return next((name for name, words in ALONE.items() if word in words), None)
