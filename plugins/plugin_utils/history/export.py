# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of a history as Parquet, for a site that keeps such data elsewhere."""

from __future__ import annotations

import importlib
import typing as t
from pathlib import Path

from ..run.errors import RunError
from ..run.files import private_directory
from .schema import TABLES
from .store import History


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
