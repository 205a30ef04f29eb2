# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock of a pod's runs directory: one run of a pod at a time.

Another controller has another directory: what it loads is reserved on the hosts themselves, by ``module_utils/detached.py``.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

from . import lock_keeper
from .errors import RunError
from .files import _naming, json_text, read_json, utc_now, write_private
from .lock_keeper import LOOK_SECONDS, started

# The lock of a pod's runs directory: who runs, kept open and locked by the run's keeper, which renews its time.
LOCK = "lock.json"
# On another machine locks of files may not be seen; there a run is dead whose keeper has not renewed its lock for so long.
STALE_SECONDS = 60
RELEASE_SECONDS = 5


def process_identity(pid: int) -> dict[str, t.Any]:
    """Which process this is, on which machine since which boot; comparable, and never the same for two processes."""
    return {
        "host": socket.gethostname(),
        "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip(),
        "pid_namespace": os.readlink(f"/proc/{pid}/ns/pid"),  # noqa: PTH115
        "pid": pid,
        "started": started(pid),
    }


def _is_process(owner: dict[str, t.Any], pid: int) -> bool:
    """Whether a record is of the process; a container may have changed its host's name."""
    return all(owner.get(key) == value for key, value in process_identity(pid).items() if key != "host")


@contextlib.contextmanager
def _mutex(directory: Path) -> t.Iterator[t.TextIO]:
    handle = os.open(directory / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        os.fchmod(handle, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _refuse_locked(record: Path, pid: int, mutex: t.TextIO) -> None:
    try:
        with record.open("rb") as file:
            owner, locked, renewed = json.load(file), _locked(file), os.fstat(file.fileno()).st_mtime
    except (FileNotFoundError, ValueError):
        return
    # The file system's own clock gives the age: machines that share it may differ in theirs.
    os.utime(mutex.fileno())
    age = max(0.0, os.fstat(mutex.fileno()).st_mtime - renewed)
    mine = process_identity(os.getpid())
    lives = locked if owner.get("boot_id") == mine["boot_id"] and locked is not None else age < STALE_SECONDS
    if not lives or _is_process(owner, pid):
        return
    near = owner.get("pid_namespace") == mine["pid_namespace"] and owner.get("boot_id") == mine["boot_id"]
    where = f"process {owner.get('pid')} on {owner.get('host')}"
    how = f"kill -INT {owner.get('pid')}" if near else f"cancel its job, or stop {where} (or the container or Kubernetes pod of that name)"
    raise RunError(
        f"run {owner.get('run_id')} of this pod is in progress: {owner.get('who') or 'unknown user'}, {where}, since {owner.get('opened')}, "
        f"last renewed {age:.0f} s ago; wait until it ends, or interrupt it: {how}; its lock {record} is released when it ends, "
        f"or {STALE_SECONDS} s after its machine is lost"
    )


def _locked(file: t.IO[bytes]) -> bool | None:
    """Whether a process has locked a file; None where the file system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False


def _take_lock(run: Path, pid: int, who: str) -> None:
    """Write the lock of a run, locked, and hand it to its keeper."""
    path, owner = run.parent / LOCK, process_identity(pid)
    handle, name = tempfile.mkstemp(dir=run.parent, prefix=f".{LOCK}.")
    os.fchmod(handle, 0o600)
    try:
        with _naming(path), os.fdopen(handle, "w", encoding="utf-8") as file:
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.write(json_text({**owner, "who": who, "run_id": run.name, "opened": utc_now()}))
            file.flush()
            Path(name).replace(path)
            try:
                _start_keeper(path, file.fileno(), owner)
            except OSError:
                path.unlink()
                raise
    finally:
        Path(name).unlink(missing_ok=True)


def take_lock(run: Path, pid: int, who: str) -> None:
    """Lock the pod's runs directory, in which ``run`` need not exist, for as long as the process ``pid`` lives.

    Raises RunError where the lock is another living run's.
    """
    with _mutex(run.parent) as mutex:
        _refuse_locked(run.parent / LOCK, pid, mutex)
        _take_lock(run, pid, who)


def refuse_locked(pod_dir: Path, pid: int) -> None:
    """Make sure that no run of a pod is in progress, other than one of the process ``pid``.

    Raises RunError where one is.
    """
    with _mutex(pod_dir) as mutex:
        _refuse_locked(pod_dir / LOCK, pid, mutex)


def _start_keeper(path: Path, lock: int, owner: dict[str, t.Any]) -> None:
    """Start the process that keeps the lock; it is in a session of its own, so that an interrupt of the run does not end it first."""
    argv = [sys.executable, "-ISE", str(Path(lock_keeper.__file__)), str(path), str(lock), str(owner["pid"]), str(owner["started"])]
    nothing = subprocess.DEVNULL
    subprocess.Popen(argv, stdin=nothing, stdout=nothing, stderr=nothing, pass_fds=(lock,), start_new_session=True, cwd="/")


def lock_owner(run: Path) -> str:
    """What the loads of a pod's runs are known by on its hosts: the runs directory, wherever it is mounted, and no other one of the same path."""
    path = run.parent / ".id"
    if not path.is_file():
        write_private(path, secrets.token_hex(4))
    return f"{run.parent} ({path.read_text(encoding='ascii')})"


def lock_holder(run: Path) -> str:
    """Who runs, and where, for those who are refused because of it."""
    try:
        owner = read_json(run.parent / LOCK)
    except (OSError, ValueError):
        return "unknown"
    return f"{owner['who'] or 'unknown user'} on {owner['host']} since {owner['opened']}"


def require_lock(run: Path, pid: int) -> None:
    """Make sure that the lock is still this run's and kept, for the process ``pid``.

    Raises RunError where it is another run's, another process's, or its keeper has ended.
    """
    try:
        with (run.parent / LOCK).open("rb") as file:
            owner, locked = json.load(file), _locked(file)
    except (OSError, ValueError):
        owner, locked = {}, False
    if owner.get("run_id") != run.name or not _is_process(owner, pid) or locked is False:
        raise RunError(f"run {run.name} has lost the lock {run.parent / LOCK} of its pod; start playbooks/validate.yml again")


def release_lock(run: Path) -> None:
    """Release the lock at the end of its run, and wait until its keeper has ended; a lock of another run is left alone."""
    path = run.parent / LOCK
    with contextlib.suppress(FileNotFoundError, ValueError), path.open("rb") as file:
        with _mutex(run.parent):
            if json.load(file)["run_id"] != run.name or not path.exists() or not os.path.samestat(path.stat(), os.fstat(file.fileno())):
                return
            path.unlink()
        until = time.monotonic() + RELEASE_SECONDS
        while _locked(file) and time.monotonic() < until:
            time.sleep(LOOK_SECONDS / 5)
