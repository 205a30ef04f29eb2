# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Histories of two controllers in one real PostgreSQL: each row once, with its own entry, however often it is added."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
import typing as t
from pathlib import Path

import psycopg
import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.entries import NODE_CHECK, RUN, Entry, FindingRow, Number, Outcome, Part
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.export import export_postgresql
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.store import History
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import RunError
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out

# Whom a server of Debian runs as; it refuses to be root.
USER = "postgres"
UP_SECONDS = 60


@pytest.fixture(scope="module")
def database() -> t.Iterator[str]:
    """A server of its own, reached by a socket in its directory; what connects to it."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not programs or os.geteuid() != 0:
        leave_out("Debian's package postgresql and root are needed")
    # Not in pytest's own directory, which no other user may enter.
    with tempfile.TemporaryDirectory(prefix="gpf-pg-") as place:
        shutil.chown(place, USER, pwd.getpwnam(USER).pw_gid)
        as_user: dict[str, t.Any] = {"user": USER, "group": pwd.getpwnam(USER).pw_gid, "extra_groups": [], "cwd": place, "stdout": subprocess.DEVNULL}
        initdb = [
            str(programs[-1].with_name("initdb")),
            "--auth=trust",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
            f"--pgdata={place}/data",
            "--username=pod",
        ]
        subprocess.run(initdb, check=True, timeout=UP_SECONDS, **as_user)
        server = subprocess.Popen(
            [str(programs[-1]), "-D", f"{place}/data", "-k", place, "-c", "listen_addresses=", "-c", "fsync=off"], stderr=subprocess.DEVNULL, **as_user
        )
        try:
            until = time.monotonic() + UP_SECONDS
            while not answers(target := f"host={place} dbname=postgres user=pod"):
                assert server.poll() is None and time.monotonic() < until
                time.sleep(0.1)
            yield target
        finally:
            server.terminate()
            server.wait()


def answers(target: str) -> bool:
    try:
        psycopg.connect(target).close()
    except psycopg.OperationalError:
        return False
    return True


def kept(path: Path, pod: str, *names: str) -> None:
    """Add entries to a history; each has a row in every table, and a limit that is not known."""
    with History(path) as history:
        for number, name in enumerate(names):
            source, node = (NODE_CHECK, "gpu01") if name.startswith("check") else (RUN, "")
            rows = [Outcome("links", "gpu01", "fail")], [FindingRow("links", "port_errors", "gpu01", "ens0\tport 1\\", "fail", "0", "7 \u03bcW")]
            numbers = [Number("light_received", "gpu01", "ens0", "gpu01 ens0 1", -0.1 - number, "dBm", -8.4)]
            assert history.add(Entry(pod, source, name, node, 1000 + number, "1", "no_go", "d", *rows, numbers, [Part("gpu01", "optic", "ens0", name)]))


def rows(target: str, question: str) -> list[tuple[t.Any, ...]]:
    with psycopg.connect(target) as connection:
        return connection.execute(question).fetchall()


def test_each_row_is_there_once_with_its_own_entry(database: str, tmp_path: Path) -> None:
    one, other = tmp_path / "one.db", tmp_path / "other.db"
    kept(one, "small", "run 1", "check 1")
    # Its entries have the same numbers in their own file.
    kept(other, "large", "run 1")
    with History(one) as history:
        assert (export_postgresql(history, database), export_postgresql(history, database)) == (2, 0)
    with History(other) as history:
        assert export_postgresql(history, database) == 1
    kept(one, "small", "run 2")
    with History(one) as history:
        assert export_postgresql(history, database) == 1
        own = [tuple(row.values()) for row in history.rows("SELECT pod, source, name, node, time, version, verdict, digest FROM entry ORDER BY id")]
    columns = "pod, source, name, node, time, version, verdict, digest"
    assert rows(database, f"SELECT {columns} FROM gpufabric_history.entry WHERE pod = 'small' ORDER BY id") == own
    for table in ("outcome", "finding", "number", "part"):
        found = rows(database, f"SELECT pod, name FROM gpufabric_history.{table} JOIN gpufabric_history.entry ON entry.id = entry ORDER BY 1, 2")
        assert found == [("large", "run 1"), ("small", "check 1"), ("small", "run 1"), ("small", "run 2")], table
    (finding,) = rows(database, 'SELECT DISTINCT "check", place, expected, actual FROM gpufabric_history.finding')
    assert finding == ("port_errors", "ens0\tport 1\\", "0", "7 \u03bcW")
    numbers = rows(
        database, "SELECT pod, entry.name, value, low, high FROM gpufabric_history.number JOIN gpufabric_history.entry ON entry.id = entry ORDER BY 1, 2"
    )
    assert numbers == [("large", "run 1", -0.1, -8.4, None), ("small", "check 1", -1.1, -8.4, None), ("small", "run 1", -0.1, -8.4, None),
                       ("small", "run 2", -0.1, -8.4, None)]  # fmt: skip


def test_an_export_that_breaks_off_adds_nothing(database: str, tmp_path: Path) -> None:
    kept(tmp_path / "history.db", "broken", "first", "second")
    kept(tmp_path / "before.db", "before", "run 1")
    with History(tmp_path / "before.db") as history:
        export_postgresql(history, database)
    with psycopg.connect(database) as connection:
        connection.execute("ALTER TABLE gpufabric_history.part ADD CONSTRAINT refused CHECK (value <> 'second')")
    with History(tmp_path / "history.db") as history:
        with pytest.raises(RunError, match=r"^PostgreSQL: .*refused"):
            export_postgresql(history, database)
        with psycopg.connect(database) as connection:
            connection.execute("ALTER TABLE gpufabric_history.part DROP CONSTRAINT refused")
        assert rows(database, "SELECT name FROM gpufabric_history.entry WHERE pod = 'broken'") == []
        assert export_postgresql(history, database) == 2


@pytest.mark.parametrize(
    ("target", "words"),
    [("host=/nowhere dbname=pods", "PostgreSQL: "), ("host=db01 password=secret", "must have no password"), ("=", "PostgreSQL: ")],
)
def test_a_database_that_is_not_to_be_had_is_named(target: str, words: str, tmp_path: Path) -> None:
    kept(tmp_path / "history.db", "small", "run 1")
    with History(tmp_path / "history.db") as history, pytest.raises(RunError, match=words) as refused:
        export_postgresql(history, target)
    assert "secret" not in str(refused.value)
