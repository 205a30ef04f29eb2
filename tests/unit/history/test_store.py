# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of a history: private, append-only, and whole whoever else writes."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.entries import RUN, Entry, Number, Outcome, Part, worst_by_node
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.schema import TABLES
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.store import History
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import RunError


def entry(name: str, time: int = 1000, pod: str = "pod", **rows: list) -> Entry:
    return Entry(pod, RUN, name, "", time, "1.0.0", "go", "digest", **rows)


def parts(version: str) -> list[Part]:
    return [Part("gpu01", "software", "kernel", version), Part("gpu01", "gpu", "0000:1b:00.0", "GPU-1")]


def count(path: Path, table: str) -> int:
    return sqlite3.connect(path).execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]


def test_what_was_added_is_read_back_whole(tmp_path: Path) -> None:
    number = Number("light_received", "gpu01", "ens0", "gpu01 ens0 1", -2.5, "dBm", -10.0, 4.0)
    with History(tmp_path / "history.db") as history:
        assert history.add(entry("a", outcomes=[Outcome("links", "gpu01", "pass")], numbers=[number], parts=parts("6.1")))
        (row,) = history.rows("SELECT * FROM number")
        assert tuple(row.values())[1:] == tuple(number)
        assert history.pods() == ["pod"]


def test_the_file_and_its_directory_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with History(tmp_path / "new/history.db") as history:
            history.add(entry("a"))
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new", tmp_path / "new/history.db")] == [0o700, 0o600]


def test_an_entry_is_added_once(tmp_path: Path) -> None:
    with History(tmp_path / "h") as history:
        assert history.add(entry("a", outcomes=[Outcome("links", "gpu01", "pass")]))
        assert not history.add(entry("a", outcomes=[Outcome("links", "gpu01", "fail")]))
        assert history.add(entry("a", pod="other"))
        assert [row["verdict"] for row in history.rows("SELECT verdict FROM outcome")] == ["pass"]


def test_a_part_is_written_when_it_differs(tmp_path: Path) -> None:
    with History(tmp_path / "h") as history:
        for number, version in enumerate(("6.1", "6.1", "6.2", "6.1")):
            history.add(entry(str(number), 1000 + number, parts=parts(version)))
        found = [(row["time"], row["value"]) for row in history.rows("SELECT time, value FROM part JOIN entry ON entry.id = entry ORDER BY time, value")]
    assert found == [(1000, "6.1"), (1000, "GPU-1"), (1002, "6.2"), (1003, "6.1")]


@pytest.mark.parametrize("table", TABLES)
def test_no_row_is_changed_or_deleted(tmp_path: Path, table: str) -> None:
    with History(tmp_path / "h") as history:
        history.add(
            entry("a", outcomes=[Outcome("links", "gpu01", "pass")], numbers=[Number("m", "gpu01", "", "gpu01", 1.0, "s")], parts=parts("6.1"),
                  findings=[("links", "port_speed", "gpu01", "ens0", "fail", "400", "100")])
        )  # fmt: skip
    raw = sqlite3.connect(tmp_path / "h")
    assert raw.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
    for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET rowid = rowid + 1"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            raw.execute(statement)


def test_an_entry_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with History(tmp_path / "h") as history:
        with pytest.raises(RunError, match="cannot be used"):
            history.add(entry("a", outcomes=[Outcome("links", "gpu01", "pass"), ("links", "gpu02", None)]))
        assert history.add(entry("b"))
    assert (count(tmp_path / "h", "entry"), count(tmp_path / "h", "outcome")) == (1, 0)


def write(path: Path, writer: int) -> None:
    for number in range(20):
        with History(path) as history:
            history.add(entry(f"{writer}-{number}", outcomes=[Outcome("links", f"gpu{one}", "pass") for one in range(20)]))


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each opens the file anew, the first of them makes it."""
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write, args=(tmp_path / "h", number)) for number in range(4)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert [one.exitcode for one in writers] == [0] * 4
    assert (count(tmp_path / "h", "entry"), count(tmp_path / "h", "outcome")) == (80, 1600)


def test_what_is_no_history_is_refused_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database, and longer than the header of one" * 20, encoding="ascii")
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("CREATE TABLE kept (a)").connection.commit()
    newer = tmp_path / "newer.db"
    with History(newer):
        sqlite3.connect(newer).execute("PRAGMA user_version = 99").connection.commit()
    (tmp_path / "link").symlink_to(newer)
    for path, words in ((text, "not a database"), (other, "something else"), (newer, "schema 99"), (tmp_path / "link", "link"), (tmp_path, "directory")):
        was = path.read_bytes() if path.is_file() else b""
        with pytest.raises(RunError, match=f"(?i){path.name}.*{words}"):
            History(path)
        assert (path.read_bytes() if path.is_file() else b"") == was
    with pytest.raises(RunError, match="no such file"):
        History(tmp_path / "absent", create=False)


def test_the_worst_verdict_of_a_layer_counts_and_a_skip_judges_nothing() -> None:
    found = worst_by_node([("links", "a", "pass"), ("links", "a", "fail"), ("links", "a", "unknown"), ("rdma", "a", "skip"), ("rdma", "b", "warn")])
    assert found == [Outcome("links", "a", "fail"), Outcome("rdma", "b", "warn")]
