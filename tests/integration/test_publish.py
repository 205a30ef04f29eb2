# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role ``publish`` into a directory, to a server that takes PUT, and into a bucket of moto's S3 server."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
import typing as t
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import boto3
import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.publishing import FILES, publish_target
from moto.server import ThreadedMotoServer

pytestmark = pytest.mark.exhaustive

ROOT = Path(__file__).resolve().parents[2]
PLAY = [
    {
        # The host is unreachable: nothing of the publishing may contact it.
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {"ansible.builtin.import_role": {"name": "gpufabric.pyramid.publish"}},
            {"ansible.builtin.debug": {"msg": "the play goes on"}, "delegate_to": "localhost", "run_once": True},
        ],
    }
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    directory = tmp_path / "runs/mypod/20260101T000000Z"
    directory.mkdir(parents=True)
    for name in FILES:
        (directory / name).write_text(f"{name}: {{{{ lookup('pipe', 'id') }}}}\n")
        (directory / name).chmod(0o600)
    return directory


def publish(run: Path, where: str, endpoint: str = "", **environment: str) -> dict[str, t.Any]:
    """Run the role; the stats that AWX gets as artifacts."""
    target = publish_target(where, "", endpoint, run)
    assert target is not None
    (run / "play.yml").write_text(json.dumps(PLAY))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), str(run / "play.yml"), "-i", "unreachable.invalid,"]
    environ = {**os.environ, "ANSIBLE_SHOW_CUSTOM_STATS": "1", "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json", "ANSIBLE_NOCOLOR": "1", **environment}
    done = subprocess.run(
        [*command, "-e", json.dumps({"publish_to": target.dump()})], cwd=ROOT, env=environ, text=True, capture_output=True, timeout=300, check=False
    )
    assert done.returncode == 0 and "the play goes on" in done.stdout, done.stdout + done.stderr
    stats: dict[str, t.Any] = json.loads(done.stdout[done.stdout.index("{") :])["global_custom_stats"]
    return stats


def test_a_directory_gets_files_that_others_may_read(run: Path, tmp_path: Path) -> None:
    place = tmp_path / "web"
    place.mkdir()
    stats = publish(run, str(place))
    published = place / "mypod" / run.name
    assert stats == {"pyramid_report_url": str(published / "report.html")}
    for name in FILES:
        assert (published / name).read_text() == (run / name).read_text() and (published / name).stat().st_mode & 0o777 == 0o644


def test_a_directory_that_cannot_be_written_fails_nothing_and_is_named(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    stats = publish(run, str(tmp_path / "file"))
    assert "pyramid_report_url" not in stats and f"{tmp_path}/file" in stats["pyramid_publish_error"] and str(run) in stats["pyramid_publish_error"]


class Taking(BaseHTTPRequestHandler):
    """Keeps what is put with the right user, and refuses anything else."""

    kept: t.ClassVar[dict[str, bytes]] = {}

    def do_PUT(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"]))
        allowed = self.headers.get("Authorization") == f"Basic {base64.b64encode(b'me:secret').decode()}"
        if allowed:
            self.kept[self.path] = text
        self.send_response(201 if allowed else 403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: t.Any) -> None:
        """Not needed."""


def test_an_address_gets_the_files_by_put(run: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        where = f"http://127.0.0.1:{server.server_port}/reports"
        refused = publish(run, where, POD_PUBLISH_USER="me", POD_PUBLISH_PASSWORD="wrong")
        assert "403" in refused["pyramid_publish_error"] and "wrong" not in refused["pyramid_publish_error"] and Taking.kept == {}
        stats = publish(run, where, POD_PUBLISH_USER="me", POD_PUBLISH_PASSWORD="secret")
    finally:
        server.shutdown()
        server.server_close()
    assert stats == {"pyramid_report_url": f"{where}/mypod/{run.name}/report.html"}
    assert Taking.kept == {f"/reports/mypod/{run.name}/{name}": (run / name).read_bytes() for name in FILES}


def test_a_bucket_gets_the_files(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        endpoint = f"http://127.0.0.1:{server.get_host_and_port()[1]}"
        client = boto3.client("s3", endpoint_url=endpoint)
        missing = publish(run, "s3://fabric-reports/pods", endpoint)
        assert "fabric-reports" in missing["pyramid_publish_error"]
        client.create_bucket(Bucket="fabric-reports")
        stats = publish(run, "s3://fabric-reports/pods", endpoint)
        assert stats == {"pyramid_report_url": f"s3://fabric-reports/pods/mypod/{run.name}/report.html"}
        for name in FILES:
            kept = client.get_object(Bucket="fabric-reports", Key=f"pods/mypod/{run.name}/{name}")
            assert kept["Body"].read() == (run / name).read_bytes()
            # OpenStack Swift without keys refuses a request that asks for encryption.
            assert "ServerSideEncryption" not in kept
        assert client.get_object(Bucket="fabric-reports", Key=f"pods/mypod/{run.name}/report.html")["ContentType"] == "text/html"
    finally:
        server.stop()
