# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private files of a run, each written whole or not at all."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import typing as t
from datetime import UTC, datetime
from pathlib import Path

from .errors import RunError

# Halves of characters that stand for no byte: JSON of a node can have them, and UTF-8 cannot.
UNWRITABLE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_NUMBERS = itertools.count()


def private_directory(path: Path) -> None:
    """Make a directory and each parent that does not exist, each of them 0700 whatever the umask; what exists stays as it is.

    ``mkdir(parents=True)`` gives its mode to the last directory only.
    """
    if path.is_dir():
        return
    private_directory(path.parent)
    # Another node's worker may make the same directory now.
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
        path.chmod(0o700)


@contextlib.contextmanager
def _naming(path: Path) -> t.Iterator[None]:
    """Let an error of the operating system name the file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(error.filename or path)) from error


def write_private(path: Path, text: str) -> None:
    """Write a private file whole or not at all."""
    write_private_files({path: text})


def write_private_files(texts: t.Mapping[Path, str]) -> None:
    """Write private files, each of them whole or none of them at all: what belongs to two files must not be in one on a disk that fills up."""
    fresh: dict[Path, Path] = {}
    try:
        for path, text in texts.items():
            handle, beside = _beside(path)
            fresh[beside] = path
            with _naming(path):
                _fill(handle, _encoded(text))
    except OSError:
        for one in fresh:
            one.unlink()
        raise
    for one, path in fresh.items():
        one.replace(path)


def _beside(path: Path) -> tuple[int, Path]:
    """A new private file in the directory of a path, which is made where it is missing: open, and its path.

    As ``tempfile.mkstemp``, in half of its time: a run over layers 0 to 3 writes a hundred files for each node.
    """
    directory = path.parent
    private_directory(directory)
    while True:
        fresh = directory / f".{path.name}.{os.getpid()}.{next(_NUMBERS)}"
        # The name may be that of a process that was killed, or of another controller where the directory is shared.
        with contextlib.suppress(FileExistsError):
            handle = os.open(fresh, NEW, 0o600)
            os.fchmod(handle, 0o600)
            return handle, fresh


def _fill(handle: int, content: bytes) -> None:
    """Write all of a file and close it."""
    left = memoryview(content)
    try:
        while left:
            left = left[os.write(handle, left) :]
    finally:
        os.close(handle)


def _encoded(text: str) -> bytes:
    """A text as UTF-8, with the bytes that were none as they were; what stands for no byte at all becomes U+FFFD."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return UNWRITABLE.sub("\ufffd", text).encode("utf-8", "surrogateescape")


def publish_file(path: Path, to: Path) -> None:
    """Copy a file to where others read it, whole or not at all; the directory is theirs to make.

    Raises RunError where it cannot be written: what others go by would stay at an older word.
    """
    fresh = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        fresh.write_bytes(path.read_bytes())
        fresh.chmod(0o644)
        fresh.replace(to)
    except OSError as error:
        raise RunError(f"{to} cannot be written: {error}") from error


def write_json(path: Path, document: t.Any) -> None:
    """Write a private JSON file whole or not at all."""
    write_private(path, json_text(document))


def json_text(document: t.Any) -> str:
    """The text of a JSON file."""
    return json.dumps(document, ensure_ascii=True) + "\n"


def read_json(path: Path) -> t.Any:
    """The document in a JSON file."""
    return json.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))


def utc_now() -> str:
    """The time as ISO 8601 in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
