# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of a history as Parquet or in PostgreSQL, for a site that keeps such data elsewhere."""

from __future__ import annotations

import importlib
import re
import typing as t
from pathlib import Path

from ..run.errors import RunError
from ..run.files import private_directory
from .schema import APPLICATION_ID, INDEXES, TABLES
from .store import ENTRY, KEY, History

# The schema of PostgreSQL in which the tables are, as their names are those of others too.
SCHEMA = "gpufabric_history"
TYPES = {"INTEGER PRIMARY KEY": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION"}


def export_parquet(history: History, directory: Path) -> list[Path]:
    """Write each table of a history as a private file ``TABLE.parquet``, with the columns that ``schema.py`` documents.

    Raises RunError where pyarrow is not installed or a file cannot be written.
    """
    try:
        # No dependency of the collection: only who exports needs it.
        arrow: t.Any = importlib.import_module("pyarrow")
        parquet: t.Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise RunError("Parquet needs the Python package pyarrow, which is not installed beside Ansible") from None
    private_directory(directory)
    written = []
    try:
        for table in TABLES:
            path = directory / f"{table}.parquet"
            path.touch(mode=0o600)
            parquet.write_table(arrow.Table.from_pylist(list(history.rows(f"SELECT * FROM {table}"))), path)
            written.append(path)
    except (OSError, arrow.ArrowException) as error:
        raise RunError(f"{directory} cannot be written: {error}") from error
    return written


def export_postgresql(history: History, target: str) -> int:
    """Add the entries of a history that a database of PostgreSQL does not have yet, all or none; how many those were.

    target: a connection string of libpq without a password. The tables are those that ``schema.py`` documents, in the schema SCHEMA; an entry has an id of
    its own there, so that several histories may share a database.
    Raises RunError where psycopg is not installed or the database refuses something.
    """
    try:
        psycopg: t.Any = importlib.import_module("psycopg")
    except ImportError:
        raise RunError("PostgreSQL needs the Python package psycopg, which is not installed beside Ansible") from None
    try:
        if psycopg.conninfo.conninfo_to_dict(target).get("password"):
            raise RunError("the connection string of PostgreSQL must have no password: it belongs into the file that PGPASSFILE names")
        with psycopg.connect(target, connect_timeout=20) as connection, connection.cursor() as cursor:
            for statement in _prepared():
                cursor.execute(statement)
            return _added(history, cursor)
    except psycopg.Error as error:
        raise RunError(f"PostgreSQL: {str(error).strip()}") from error


def _prepared() -> t.Iterator[str]:
    """What makes the tables where they are missing; two exports at once wait for each other, to the end of the transaction."""
    yield f"SELECT pg_advisory_xact_lock({APPLICATION_ID})"
    yield f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"
    yield f"SET LOCAL search_path TO {SCHEMA}"
    words = re.compile("|".join(TYPES))
    for name, columns in TABLES.items():
        yield f"CREATE TABLE IF NOT EXISTS {name} ({words.sub(lambda found: TYPES[found[0]], columns)}\n)"
    for name, place in INDEXES.items():
        yield f"CREATE INDEX IF NOT EXISTS {name} ON {place}"


def _added(history: History, cursor: t.Any) -> int:
    cursor.execute(f"SELECT {', '.join(KEY)} FROM entry")
    there = set(cursor.fetchall())
    ids: dict[int, int] = {}
    for row in history.rows("SELECT * FROM entry ORDER BY id"):
        if tuple(row[name] for name in KEY) not in there:
            marks = ", ".join(["%s"] * len(ENTRY))
            cursor.execute(f"INSERT INTO entry ({', '.join(ENTRY)}) VALUES ({marks}) RETURNING id", [row[name] for name in ENTRY])
            (ids[row["id"]],) = cursor.fetchone()
    for table in TABLES:
        if table != "entry":
            # The entry is the first column of each.
            fresh = ((ids[row["entry"]], *list(row.values())[1:]) for row in history.rows(f"SELECT * FROM {table}") if row["entry"] in ids)
            with cursor.copy(f"COPY {table} FROM STDIN") as copied:
                for one in fresh:
                    copied.write_row(one)
    return len(ids)
