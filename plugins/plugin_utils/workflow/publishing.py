# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a run's report is published: a directory, a bucket of S3, or an address that takes HTTP PUT; and whether a job keeps its runs."""

from __future__ import annotations

import os
import re
import typing as t
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from ..run.slicing import FILE

FILES = ("report.html", "report.md", "report.json", "report.xml")
BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
# Filesystems of a container that end with it.
PASSING = ("overlay", "tmpfs", "ramfs")
# ansible-runner's private directory in a container: a mount, and removed after the job.
RUNNER = Path("/runner")


class PublishError(ValueError):
    """A ``pod_publish`` that names no place; its text is the whole message."""


@dataclass(frozen=True)
class Target:
    """Where the files of one run go, as the role ``publish`` takes it.

    kind: directory, s3 or put; place: the directory, or the address that a file's name is put behind; bucket and prefix: of S3;
    endpoint: of an S3-compatible service, empty for AWS; url: where people open the report; source: the run's directory.
    """

    kind: str
    source: str
    place: str = ""
    bucket: str = ""
    prefix: str = ""
    endpoint: str = ""
    url: str = ""
    files: tuple[str, ...] = FILES

    def dump(self) -> dict[str, t.Any]:
        """As plain values."""
        return {**asdict(self), "files": list(self.files)}


def publish_target(publish: str, link: str, endpoint: str, run: Path, files: tuple[str, ...] = FILES) -> Target | None:
    """Where the report of ``<runs_dir>/<pod>/<run_id>`` goes; None where it is not published.

    files: their names in the directory of the run; the first one is what people open.
    Raises PublishError where ``publish`` is no absolute directory, ``s3://bucket[/prefix]`` or ``http(s)://`` address.
    """
    if not publish:
        return None
    inside = f"{run.parent.name}/{run.name}{_part(run)}"
    below = "/".join(quote(word, safe="") for word in inside.split("/"))
    url = f"{link.rstrip('/')}/{below}/{files[0]}" if link else ""
    if publish.startswith("/"):
        place = f"{publish.rstrip('/')}/{inside}"
        return Target("directory", str(run), place=place, url=url or f"{place}/{files[0]}", files=files)
    parts = urlsplit(publish)
    if parts.scheme == "s3" and BUCKET.fullmatch(parts.netloc):
        prefix = "/".join(word for word in (parts.path.strip("/"), inside) if word)
        url = url or f"s3://{parts.netloc}/{prefix}/{files[0]}"
        return Target("s3", str(run), bucket=parts.netloc, prefix=prefix, endpoint=endpoint, url=url, files=files)
    if parts.scheme in ("http", "https") and parts.hostname and not (parts.username or parts.query or parts.fragment):
        place = f"{publish.rstrip('/')}/{below}"
        return Target("put", str(run), place=place, url=url or f"{place}/{files[0]}", files=files)
    raise PublishError(
        "argument 'pod_publish': expected an absolute directory, s3://bucket/prefix or http(s)://host/path without user and query, "
        f"got {_without_user(publish)!r}"
    )


def link_between(url: str, page: str) -> str:
    """An address as a page links it: relative where both are at one place, so that the tree can be copied or served elsewhere."""
    to, own = urlsplit(url), urlsplit(page)
    if to[:2] != own[:2]:
        return url
    path = os.path.relpath(to.path, Path(own.path).parent)
    # An address has its own quoting; a directory has none.
    return urlunsplit(("", "", path if to.scheme in ("http", "https") else quote(path), "", ""))


def _part(run: Path) -> str:
    """What tells a run of a planned slice from the others, which run side by side and may have been opened in the same second; nothing for another run."""
    runs_dir = run.parent.parent
    return f"-{runs_dir.name}" if (runs_dir.parent / FILE).is_file() else ""


def _without_user(address: str) -> str:
    """An address as it may be printed: what stands before an @ may be a password."""
    return re.sub(r"//[^/]*@", "//***@", address)


def not_kept(path: Path, mounts: str) -> str | None:
    """Why a directory ends with the container of a job; None where it stays.

    mounts: the text of ``/proc/self/mountinfo``.
    """
    found, kind = Path("/"), ""
    for line in mounts.splitlines():
        before, separator, after = line.partition(" - ")
        fields = before.split()
        if not separator or len(fields) < 5 or not after.split():
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4]))
        # Of two mounts at one point the later one is seen.
        if path.is_relative_to(point) and len(point.parts) >= len(found.parts):
            found, kind = point, after.split()[0]
    if found == Path("/") or kind in PASSING or found.is_relative_to(RUNNER):
        return f"it is on {found} ({kind or 'unknown'}), which ends with the job's container"
    return None
