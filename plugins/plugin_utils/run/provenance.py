# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a verdict comes from: who started the run, on which controller, with which versions and with which of Ansible's own switches."""

from __future__ import annotations

import getpass
import os
import platform
import socket
import typing as t

from .documents import Origin, Report
from .state import State

# AWX and its forerunner name the person in the variables of the job; the process runs as a service user.
STARTERS = ("awx_user_name", "tower_user_name")


def run_origin(task_vars: t.Mapping[str, t.Any], given: t.Mapping[str, t.Any], ansible_core: str, check_mode: bool) -> dict[str, t.Any]:
    """What the state of a run keeps of its start, as JSON; given: the arguments that Ansible was started with."""
    return {
        "started_by": starter(task_vars),
        "controller": socket.gethostname(),
        "ansible_core": ansible_core,
        "python": platform.python_version(),
        "limit": str(given.get("subset") or ""),
        "check": check_mode,
        "tags": [tag for tag in map(str, given.get("tags") or ()) if tag != "all"],
        "skip_tags": [str(tag) for tag in given.get("skip_tags") or ()],
    }


def starter(task_vars: t.Mapping[str, t.Any]) -> str:
    """The person, and the job of AWX that was started: another run that is refused because of this one names both."""
    person = next((str(task_vars[name]) for name in STARTERS if task_vars.get(name)), "")
    if job := task_vars.get("awx_job_id"):
        return f"{person or 'a schedule or webhook'} (AWX job {job})"
    return person or f"user {_user()}"


def _user() -> str:
    try:
        own = getpass.getuser()
    except (KeyError, OSError):
        # A container may run as a user that no file names.
        own = f"uid {os.getuid()}"
    real = os.environ.get("SUDO_USER")
    return f"{real} (as {own})" if real and real != own else own


def origin_fields(state: State) -> Origin:
    """The same as fields of ``report.json``."""
    started = state.origin
    return {
        "started_by": started.get("started_by", ""),
        "controller": started.get("controller", ""),
        "versions": {"collection": state.version, "ansible_core": started.get("ansible_core", ""), "python": started.get("python", "")},
        "limit": started.get("limit", ""),
        "check": state.check_mode,
        "tags": started.get("tags", []),
        "skip_tags": started.get("skip_tags", []),
    }


def origin_lines(report: Report) -> list[str]:
    """The same in words, for those who render a report: one line of when and where, one of how it was started."""
    versions = report["versions"]
    tools = ", ".join(f"{name} {version}" for name, version in (("ansible-core", versions["ansible_core"]), ("Python", versions["python"])) if version)
    when = f"Opened {report['opened']}, " + (f"ended {report['ended']}" if report["ended"] else "not ended")
    by = (f", started by {report['started_by']}" if report["started_by"] else "") + (f" on {report['controller']}" if report["controller"] else "")
    switches = [f"--limit {report['limit']}"] * bool(report["limit"]) + ["--check"] * bool(report["check"])
    switches += [f"--{name.replace('_', '-')} {','.join(some)}" for name, some in (("tags", report["tags"]), ("skip_tags", report["skip_tags"])) if some]
    return [f"{when}{by}{'; ' + tools if tools else ''}.", *([f"Started with {' '.join(switches)}."] if switches else [])]
