# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run directories: one validation in one directory. The lock that allows one run of a pod at a time is ``lock.py``'s.

``<runs_dir>/<pod>/<run_id>/`` holds ``plan.json``, ``state.json``, ``evidence/<layer>/<node>/<reading>.txt`` (raw text),
``readings/<layer>/<node>.json`` (rows), ``verdicts/<layer>.json``, ``report.json``, ``report.md``, ``report.xml`` and, at its end, ``report.html``; ``latest``
beside it leads to the newest. Directories are 0700 and files 0600, by ``files.private_directory`` and
``files.write_private``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from .errors import RunError
from .files import private_directory
from .lock import LOCK, _mutex, _refuse_locked, _take_lock, lock_owner, release_lock


def open_run_directory(pod_dir: Path, pid: int, who: str = "") -> Path:
    """Lock the pod's runs directory for as long as the process ``pid`` lives, and make the directory of a new run.

    who: the user or job that a refused run is asked to turn to.
    Raises RunError where the lock is another living run's, and OSError, which names the path, where nothing can be written. The
    lock of a run that has ended is taken over, and so is that of an earlier run of the same process.
    """
    # The runs directory is the site's own; what is below it is a run's.
    pod_dir.parent.mkdir(parents=True, exist_ok=True)
    private_directory(pod_dir)
    with _mutex(pod_dir) as mutex:
        _refuse_locked(pod_dir / LOCK, pid, mutex)
        run = new_directory(pod_dir)
        try:
            _take_lock(run, pid, who)
            lock_owner(run)
        except BaseException:
            run.rmdir()
            raise
    return run


def new_directory(pod_dir: Path) -> Path:
    """Make a directory that is named by the time, and by a number where two are made in one second."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for number in range(1000):
        run = pod_dir / (stamp if number == 0 else f"{stamp}-{number}")
        with contextlib.suppress(FileExistsError):
            run.mkdir(mode=0o700)
            run.chmod(0o700)
            return run
    raise RunError(f"no free run directory in {pod_dir}")


def _point(link: Path, name: str) -> None:
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(name)
    fresh.replace(link)


def point_latest(run: Path) -> None:
    """Let ``latest`` lead to a run whose documents are written."""
    _point(run.parent / "latest", run.name)


def latest_run(pod_dir: Path, other_than: str = "") -> Path | None:
    """The newest run of a pod that has a report, other than the one of that id."""
    runs = sorted((path for path in pod_dir.glob("*/report.json") if path.parent.name != other_than and not path.parent.is_symlink()), reverse=True)
    return runs[0].parent if runs else None


def abandon_run(run: Path) -> None:
    """Undo ``open_run_directory`` for a run that could not begin: it leaves neither a lock nor a directory, and ``latest`` is as it was."""
    release_lock(run)
    shutil.rmtree(run, ignore_errors=True)
