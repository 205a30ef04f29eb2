# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod's monitoring: Debian's Prometheus, its node_exporter on a made sysfs, an exporter for what node_exporter does not know, and a Grafana's API.

There is no Grafana here: ``Pages`` answers as its HTTP API is documented, and nothing more is claimed.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
import typing as t
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ..ports import claimed

READY_SECONDS = 60


class Pages:
    """An HTTP server of texts by path; a path that it lacks is a 404."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        pages = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                text = pages.texts.get(self.path)
                self.send_response(200 if text is not None else 404)
                self.end_headers()
                self.wfile.write((text or "").encode())

            def log_message(self, format: str, *args: t.Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """End the server."""
        self.server.shutdown()
        self.server.server_close()


def sysfs(root: Path, devices: t.Iterable[str]) -> Path:
    """A sysfs with some RDMA devices, as node_exporter reads it."""
    for device in devices:
        port = root / "class" / "infiniband" / device / "ports" / "1"
        (port / "counters").mkdir(parents=True)
        for name, text in {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)"}.items():
            (port / name).write_text(text + "\n")
        for name in ("port_rcv_errors", "port_xmit_discards", "port_rcv_data", "port_xmit_data", "symbol_error"):
            (port / "counters" / name).write_text("5\n")
        for name, text in {"board_id": "MT_0000000838", "fw_ver": "28.39.1002", "hca_type": "MT4129"}.items():
            (port.parents[1] / name).write_text(text + "\n")
    return root


@contextlib.contextmanager
def started(command: list[str], ready: str, log: Path) -> t.Iterator[subprocess.Popen[bytes]]:
    """A server, from its first answer until the end of the block."""
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process:
        try:
            awaited(lambda: process.poll() is not None or _answers(ready), f"{command[0]} to answer")
            assert process.poll() is None, log.read_text()
            yield process
        finally:
            process.terminate()
            process.wait(READY_SECONDS)


def _answers(url: str) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:
        return bool(answer.status == 200)
    return False


def awaited(holds: t.Callable[[], bool], what: str) -> None:
    """Wait until something holds; AssertionError after a minute."""
    until = time.monotonic() + READY_SECONDS
    while not holds():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.1)


class Prometheus:
    """A running Prometheus with the pod's targets; an entry of ``targets`` is instance, address and path."""

    def __init__(self, directory: Path, targets: t.Iterable[tuple[str, str, str]]) -> None:
        self.address, self.directory = f"127.0.0.1:{claimed()}", directory
        own = [{"targets": [address], "labels": {"instance": instance, "__metrics_path__": path}} for instance, address, path in targets]
        # It is also the time that a target has to respond, and processors of tests are busy.
        config = {"global": {"scrape_interval": "3s"}, "scrape_configs": [{"job_name": "pod", "static_configs": own}]}
        # JSON is YAML.
        (directory / "prometheus.yml").write_text(json.dumps(config))

    def command(self) -> list[str]:
        """How it is started."""
        return [
            "prometheus", f"--config.file={self.directory / 'prometheus.yml'}", f"--storage.tsdb.path={self.directory / 'data'}",
            f"--web.listen-address={self.address}",
        ]  # fmt: skip

    def query(self, expression: str) -> t.Any:
        """The answer to an instant query; AssertionError where it is no success."""
        with urllib.request.urlopen(f"http://{self.address}/api/v1/query?{urllib.parse.urlencode({'query': expression})}", timeout=20) as answer:
            response = json.load(answer)
        assert response["status"] == "success", response
        return response["data"]["result"]
