# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of a history: SQLite, private, append-only, and safe for several writers at once.

A writer holds the file's own lock while it adds one entry, whole or not at all. There is no write-ahead log, which needs memory that all writers
share: the file may lie on a filesystem of the network if that has locks.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import typing as t
from pathlib import Path

from ..run.errors import RunError
from ..run.files import private_directory
from .entries import Entry, Part
from .schema import APPLICATION_ID, VERSION, statements

# How long a writer waits for the others.
WAIT_SECONDS = 60.0
ENTRY = ("pod", "source", "name", "node", "time", "version", "verdict", "digest")
# What no two entries have alike.
KEY = ENTRY[:4]


class History:
    """One history; a context manager.

    Raises RunError, which names the file, where it is none, is of a newer version or cannot be used.
    """

    def __init__(self, path: Path, create: bool = True) -> None:
        self.path = path
        with self._naming():
            if create:
                private_directory(path.parent)
                # SQLite gives its journal the mode of the file.
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            elif not path.is_file():
                raise RunError(f"{path} is no history: there is no such file")
            self._connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
            try:
                self._prepare(create)
            except BaseException:
                self._connection.close()
                raise

    def __enter__(self) -> History:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def _naming(self) -> t.Iterator[None]:
        """Let an error of SQLite or of the operating system name the file."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise RunError(f"{self.path} cannot be used as a history: {getattr(error, 'strerror', None) or error}") from error

    def _prepare(self, create: bool) -> None:
        self._connection.execute("PRAGMA foreign_keys = ON")
        self._connection.execute("PRAGMA synchronous = FULL")
        if create and self._is_empty():
            with self._alone():
                # Another writer may have made it meanwhile.
                for statement in statements() if self._is_empty() else ():
                    self._connection.execute(statement)
        if self._pragma("application_id") != APPLICATION_ID:
            raise RunError(f"{self.path} is a file of something else, not a history")
        if self._pragma("user_version") > VERSION:
            raise RunError(f"{self.path} has schema {self._pragma('user_version')}, and this version of the collection knows {VERSION}")

    def _is_empty(self) -> bool:
        return not self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    @contextlib.contextmanager
    def _alone(self) -> t.Iterator[None]:
        """A transaction that no other writer's overlaps."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def add(self, entry: Entry) -> bool:
        """Add an entry, whole or not at all; False where it is there already."""
        with self._naming(), self._alone():
            marks = ", ".join("?" * len(ENTRY))
            cursor = self._connection.execute(f"INSERT OR IGNORE INTO entry ({', '.join(ENTRY)}) VALUES ({marks})", [getattr(entry, name) for name in ENTRY])
            if not cursor.rowcount:
                return False
            number = cursor.lastrowid
            for table, rows in (("outcome", entry.outcomes), ("finding", entry.findings), ("number", entry.numbers), ("part", self._new_parts(entry))):
                for row in rows:
                    self._connection.execute(f"INSERT INTO {table} VALUES (?, {', '.join('?' * len(row))})", [number, *row])
        return True

    def _new_parts(self, entry: Entry) -> list[Part]:
        """The parts that differ from what was there last at the time of the entry."""
        known: dict[str, dict[tuple[str, str], str]] = {}
        for node in {part.node for part in entry.parts}:
            found = self.rows(
                "SELECT part.kind, part.place, part.value FROM part JOIN entry ON entry.id = part.entry WHERE part.node = ? AND entry.pod = ?"
                " AND entry.time <= ? ORDER BY entry.time, entry.id", node, entry.pod, entry.time,
            )  # fmt: skip
            known[node] = {(row["kind"], row["place"]): row["value"] for row in found}
        return [part for part in entry.parts if known[part.node].get((part.kind, part.place)) != part.value]

    def rows(self, question: str, *values: t.Any) -> t.Iterator[dict[str, t.Any]]:
        """The rows of a SELECT, as mappings."""
        with self._naming():
            cursor = self._connection.execute(question, values)
            names = [column[0] for column in cursor.description]
            for row in cursor:
                yield dict(zip(names, row))

    def pods(self) -> list[str]:
        """The pods that it knows."""
        return [row["pod"] for row in self.rows("SELECT DISTINCT pod FROM entry ORDER BY pod")]
