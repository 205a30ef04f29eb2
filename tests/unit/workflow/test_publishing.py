# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a report is published, and which directories end with a job's container."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.publishing import PublishError, link_between, not_kept, publish_target

RUN = Path("/runs/my pod/20260101T000000Z")
# As a job's container shows it: the image's layers, the runner's directory, and an exposed path.
MOUNTS = """\
600 500 0:58 / / rw,relatime - overlay overlay rw,lowerdir=/a
601 600 0:60 / /proc rw - proc proc rw
602 600 0:61 / /dev/shm rw - tmpfs shm rw
603 600 254:1 /tmp/awx_5 /runner rw,relatime - ext4 /dev/vda1 rw
604 600 254:1 /var/lib/pyramid /var/lib/pyramid rw,relatime - ext4 /dev/vda1 rw
605 600 0:70 / /mnt/with\\040space rw - nfs4 server:/x rw
"""


def test_nothing_is_published_unless_asked() -> None:
    assert publish_target("", "https://x.example.com", "", RUN) is None


@pytest.mark.parametrize(
    ("publish", "link", "kind", "url"),
    [
        ("/srv/reports/", "", "directory", "/srv/reports/my pod/20260101T000000Z/report.html"),
        ("/srv/reports", "https://www.example.com/r/", "directory", "https://www.example.com/r/my%20pod/20260101T000000Z/report.html"),
        ("s3://fabric-reports/pods", "", "s3", "s3://fabric-reports/pods/my pod/20260101T000000Z/report.html"),
        ("https://put.example.com/r", "", "put", "https://put.example.com/r/my%20pod/20260101T000000Z/report.html"),
    ],
)
def test_a_place_has_a_link_of_the_run(publish: str, link: str, kind: str, url: str) -> None:
    target = publish_target(publish, link, "https://s3.example.com", RUN)
    assert target is not None and (target.kind, target.url, target.source) == (kind, url, str(RUN))
    assert target.endpoint == ("https://s3.example.com" if kind == "s3" else "")


@pytest.mark.parametrize("publish", ["reports", "s3://Bad_Bucket/x", "ftp://x/y", "https://", "https://me:secret@host/x", "https://host/x?key=1", "s3://"])
def test_what_is_no_place_is_refused_without_a_password(publish: str) -> None:
    with pytest.raises(PublishError, match="pod_publish") as refused:
        publish_target(publish, "", "", RUN)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/var/lib/pyramid", True), ("/var/lib/pyramid/deeper", True), ("/mnt/with space/runs", True), ("/var/lib", False), ("/runner/project/runs", False),
        ("/dev/shm/runs", False), ("/home/runner", False),
    ],
)  # fmt: skip
def test_a_directory_of_the_container_is_not_kept(path: str, kept: bool) -> None:
    assert (not_kept(Path(path), MOUNTS) is None) is kept


def test_without_a_list_of_mounts_nothing_is_known_to_be_kept() -> None:
    assert not_kept(Path("/var/lib/pyramid"), "") is not None


def test_slices_that_were_opened_in_one_second_are_published_apart(tmp_path: Path) -> None:
    (tmp_path / "slices.json").write_text("{}", encoding="utf-8")
    runs = [tmp_path / part / "mypod" / "20260101T000000Z" for part in ("slice_1", "slice_2")]
    found = [publish_target("https://reports.example.com", "", "", run) for run in runs]
    assert [one.url for one in found if one] == [f"https://reports.example.com/mypod/20260101T000000Z-slice_{number}/report.html" for number in (1, 2)]
    alone = publish_target("/srv/reports", "", "", tmp_path / "runs" / "elsewhere" / "mypod" / "20260101T000000Z")
    assert alone is not None and alone.place == "/srv/reports/mypod/20260101T000000Z"


@pytest.mark.parametrize(
    ("url", "page", "link"),
    [
        ("/srv/r/my pod/1-slice_1/report.html", "/srv/r/my pod/2/merge.html", "../1-slice_1/report.html"),
        ("/srv/r/x/my pod/report.html", "/srv/r/merge.html", "x/my%20pod/report.html"),
        ("https://a.example.com/r/my%20pod/1/report.html", "https://a.example.com/r/my%20pod/2/merge.html", "../1/report.html"),
        ("https://b.example.com/r/1/report.html", "https://a.example.com/r/2/merge.html", "https://b.example.com/r/1/report.html"),
        ("s3://one/pod/1/report.html", "s3://one/pod/2/merge.html", "../1/report.html"),
    ],
)
def test_a_page_links_another_by_their_places(url: str, page: str, link: str) -> None:
    assert link_between(url, page) == link
