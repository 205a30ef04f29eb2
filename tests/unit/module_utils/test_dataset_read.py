# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reading of a dataset: real files, by fio where it is installed and by the program's own threads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import dataset_read
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def dataset() -> t.Iterator[Path]:
    """Five files of 3 MiB on a disk, two that are too small to be read, and a link out."""
    # Where tests have their folders may be a file system in memory, of which nothing is read directly.
    place = ROOT / ".build" / f"dataset-{os.getpid()}"
    (place / "shards").mkdir(parents=True)
    try:
        for number in range(5):
            (place / "shards" / f"shard:{number}.bin").write_bytes(os.urandom(3 << 20))
        for name in ("index.json", "shards/short.bin"):
            (place / name).write_bytes(b"x" * 1000)
        (place / "shards" / "link.bin").symlink_to(place / "shards" / "shard:0.bin")
        yield place
    finally:
        shutil.rmtree(place)


def result(path: Path | str, environment: dict[str, str] | None = None) -> tuple[int, dict[str, t.Any]]:
    """The exit status of the program, and the one row that it is read as."""
    command = [sys.executable, "-SE", dataset_read.__file__, "--path", str(path), "--seconds", "1", "--readers", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **(environment or {})})
    assert done.stderr == ""
    (row,) = parse("dataset_reads", "linux", done.stdout)
    return done.returncode, row


def test_large_files_are_found_and_links_are_not_followed(dataset: Path) -> None:
    assert [Path(name).name for name in dataset_read.files_below(str(dataset))] == [f"shard:{number}.bin" for number in range(5)]


def test_threads_read_past_the_page_cache(dataset: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in dataset.rglob("*")}
    status, row = result(dataset, {"PATH": "/nowhere"})
    assert (status, row["by"], row["files"], row["error"]) == (0, "direct reads", 5, None)
    assert row["gbyte_s"] > 0 and row["free_gbyte"] == pytest.approx(shutil.disk_usage(dataset).free / 1e9, rel=0.05)
    assert {path: path.stat().st_mtime_ns for path in dataset.rglob("*")} == before


def test_fio_reads_where_it_is_installed(dataset: Path) -> None:
    if shutil.which("fio") is None:
        leave_out("fio is not installed")
    status, row = result(dataset)
    assert (status, row["by"], row["files"], row["error"]) == (0, "fio", 5, None) and row["gbyte_s"] > 0


def test_an_fio_that_fails_is_reported_in_its_words(dataset: Path, tmp_path: Path) -> None:
    fio = tmp_path / "fio"
    fio.write_text("#!/bin/sh\necho 'fio: engine psync not loadable' >&2\nexit 1\n")
    fio.chmod(0o755)
    status, row = result(dataset, {"PATH": str(tmp_path)})
    assert (status, row["by"], row["gbyte_s"], row["error"]) == (1, None, None, "fio: engine psync not loadable")


def test_a_file_system_in_memory_is_reported_as_one() -> None:
    place = Path("/dev/shm") / f"dataset-{os.getpid()}"
    place.mkdir()
    try:
        (place / "shard.bin").write_bytes(os.urandom(2 << 20))
        try:
            os.close(os.open(place / "shard.bin", os.O_RDONLY | os.O_DIRECT))
        except OSError:
            by = "the page cache"
        else:
            by = "direct reads"
        assert result(place, {"PATH": "/nowhere"})[1]["by"] == by
    finally:
        shutil.rmtree(place)


@pytest.mark.parametrize(("below", "words"), [("no/such/place", "No such file or directory"), ("empty", "no file of 1048576 bytes or more is below")])
def test_what_cannot_be_read_is_reported(below: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    status, row = result(tmp_path / below)
    assert status == 1 and row["gbyte_s"] is None and words in row["error"]


def test_the_document_is_one_line_of_json(tmp_path: Path) -> None:
    assert json.loads(json.dumps(dataset_read.document(str(tmp_path), 1, 1)))["program"] == "dataset_read"
