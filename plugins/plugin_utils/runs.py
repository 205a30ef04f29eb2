# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs: one climb in one directory, and the one climb at a time that a pod allows.

``<runs_dir>/<pod>/<run_id>/`` holds ``plan/``, ``evidence/<layer>/<node>/<reading>.txt`` (raw text),
``readings/<layer>/<node>.json`` (rows), ``report.json``, ``report.md``, ``report.xml`` and, at its end, ``report.html``; ``latest``
beside it leads to the newest. Directories are 0700 and files 0600.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import tempfile
import time
import typing as t
from datetime import UTC, datetime
from pathlib import Path

HOLDER = "holder.json"
# A holder on another machine cannot be looked at; it touches its record at every task.
SILENT_SECONDS = 2 * 3600


class RunError(Exception):
    """A run that cannot be opened or found; its text is the whole message."""


def identity(pid: int) -> dict[str, t.Any]:
    """Which process this is, on which machine since which boot; comparable, and never the same for two processes."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return {
        "host": socket.gethostname(),
        "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip(),
        "pid_namespace": os.readlink(f"/proc/{pid}/ns/pid"),  # noqa: PTH115
        "pid": pid,
        "started": int(stat.rpartition(")")[2].split()[19]),
    }


def _alive(holder: dict[str, t.Any], path: Path) -> bool:
    mine = identity(os.getpid())
    if holder.get("host") == mine["host"] and holder.get("boot_id") != mine["boot_id"]:
        return False
    if (holder.get("boot_id"), holder.get("pid_namespace")) != (mine["boot_id"], mine["pid_namespace"]):
        return time.time() - path.stat().st_mtime < SILENT_SECONDS
    try:
        return identity(int(holder["pid"])) == {key: holder.get(key) for key in mine}
    except (OSError, ValueError, KeyError):
        return False


def _is(holder: dict[str, t.Any], pid: int) -> bool:
    """Whether a record is of the process; a container may have changed its host's name."""
    return all(holder.get(key) == value for key, value in identity(pid).items() if key != "host")


@contextlib.contextmanager
def _locked(directory: Path) -> t.Iterator[None]:
    with (directory / ".lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write(path: Path, text: str) -> None:
    """Write a private file whole or not at all."""
    write_all({path: text})


def write_all(texts: t.Mapping[Path, str]) -> None:
    """Write private files, each of them whole or none of them at all: what is said twice must not be said once on a disk that fills up."""
    fresh: dict[Path, Path] = {}
    try:
        for path, text in texts.items():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            fresh[Path(name)] = path
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
    except OSError:
        for one in fresh:
            one.unlink()
        raise
    for one, path in fresh.items():
        one.replace(path)


def publish(path: Path, to: Path) -> None:
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
    write(path, json_text(document))


def json_text(document: t.Any) -> str:
    """The text of a JSON file."""
    return json.dumps(document, ensure_ascii=True) + "\n"


def read_json(path: Path) -> t.Any:
    """The document in a JSON file."""
    return json.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))


def open_run(pod_dir: Path, pid: int) -> Path:
    """Take the pod's place and make the directory of a new run, held by the process ``pid`` while it lives.

    Raises RunError where another process's living run holds the pod. A dead run's place is taken over, and so is that of
    an earlier run of the same process; nothing needs releasing.
    """
    pod_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    record = pod_dir / HOLDER
    with _locked(pod_dir):
        with contextlib.suppress(FileNotFoundError, ValueError):
            holder = read_json(record)
            if _alive(holder, record) and not _is(holder, pid):
                raise RunError(
                    f"run {holder.get('run_id')} of this pod is under way: process {holder.get('pid')} on {holder.get('host')}, "
                    f"since {holder.get('opened')}; wait for it, or end that process"
                )
        run = _new_directory(pod_dir)
        write_json(record, {**identity(pid), "run_id": run.name, "opened": now()})
        _point(pod_dir / "latest", run.name)
    return run


def _new_directory(pod_dir: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for number in range(1000):
        run = pod_dir / (stamp if number == 0 else f"{stamp}-{number}")
        with contextlib.suppress(FileExistsError):
            run.mkdir(mode=0o700)
            return run
    raise RunError(f"no free run directory in {pod_dir}")


def _point(link: Path, name: str) -> None:
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(name)
    fresh.replace(link)


def held(run: Path, pid: int) -> None:
    """Make sure that this run still holds its pod, for the process ``pid``.

    Raises RunError where another run, or another process, does.
    """
    record = run.parent / HOLDER
    try:
        holder = read_json(record)
    except (OSError, ValueError):
        holder = {}
    if holder.get("run_id") != run.name or not _is(holder, pid):
        raise RunError(f"run {run.name} does not hold its pod any more; start playbooks/validate.yml again")
    os.utime(record)


def latest(pod_dir: Path, other_than: str = "") -> Path | None:
    """The newest run of a pod that has a report, other than the one of that id."""
    runs = sorted((path for path in pod_dir.glob("*/report.json") if path.parent.name != other_than and not path.parent.is_symlink()), reverse=True)
    return runs[0].parent if runs else None


def now() -> str:
    """The time as ISO 8601 in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def abandon(run: Path) -> None:
    """Undo ``open_run`` for a run that was refused before it began."""
    with _locked(run.parent):
        (run.parent / HOLDER).unlink(missing_ok=True)
        run.rmdir()
        newest = sorted((path.name for path in run.parent.iterdir() if path.is_dir() and not path.is_symlink()), reverse=True)
        if newest:
            _point(run.parent / "latest", newest[0])
        else:
            (run.parent / "latest").unlink(missing_ok=True)
