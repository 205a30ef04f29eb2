# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A NetBox with two devices of a pod and one that is not, as its REST API answers: fields and refusals are those that a NetBox 4.6.8 gave.

The host's first port leads straight to the leaf, its second through a patch panel, its third to a device that nobody selects; two more share a split cable.
"""

from __future__ import annotations

import contextlib
import json
import threading
import typing as t
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TOKEN = "0123456789abcdef0123456789abcdef01234567"


def brief(number: int, name: str, **more: t.Any) -> dict[str, t.Any]:
    return {"id": number, "display": name, "name": name, "slug": name.lower().replace(" ", "-"), **more}


def device(number: int, name: str, role: str, **more: t.Any) -> dict[str, t.Any]:
    own = {"role": brief(number, role), "rack": brief(7, "R 07"), "site": brief(1, "dc1"), "platform": None, "primary_ip": None, **more}
    return {"id": number, "url": f"http://netbox/api/dcim/devices/{number}/", "display": name, "name": name, **own}


def interface(number: int, of: tuple[int, str], name: str, cable: int, *far: tuple[int, str, str]) -> dict[str, t.Any]:
    ends = [
        {"id": far_id, "name": port, "display": port, "device": brief(far_id, node), "cable": {"id": cable, "label": ""}, "_occupied": True}
        for far_id, node, port in far
    ]
    traced = {"connected_endpoints": ends or None, "connected_endpoints_type": "dcim.interface" if ends else None, "connected_endpoints_reachable": bool(ends)}
    return {**brief(number, name), "url": f"http://netbox/api/dcim/interfaces/{number}/", "device": brief(*of), "cable": {"id": cable, "label": ""}, **traced}


def cable(number: int, kind: str, length: float | None = None, unit: str = "m") -> dict[str, t.Any]:
    return {"id": number, "type": kind, "length": length, "length_unit": {"value": unit, "label": unit} if length else None, "label": ""}


ANSWERS: dict[str, list[dict[str, t.Any]]] = {
    "devices": [
        device(1, "gpu01", "GPU server", primary_ip={"id": 1, "address": "10.0.0.11/24", "family": 4}),
        device(2, "leaf01", "Leaf switch", primary_ip={"id": 2, "address": "10.0.0.1/24", "family": 4}, platform=brief(3, "Arista EOS")),
        device(3, "pdu01", "PDU"),
    ],
    "interfaces": [
        interface(11, (1, "gpu01"), "enp24s0np0", 101, (21, "leaf01", "Ethernet1/1")),
        interface(12, (1, "gpu01"), "enp41s0np0", 102, (22, "leaf01", "Ethernet1/2")),
        interface(13, (1, "gpu01"), "eno1", 104, (31, "mgmt01", "Ethernet1")),
        interface(14, (1, "gpu01"), "eno2", 105),
        interface(15, (1, "gpu01"), "ens1", 106, (23, "leaf01", "Ethernet9/1")),
        interface(16, (1, "gpu01"), "ens2", 106, (23, "leaf01", "Ethernet9/1")),
        interface(23, (2, "leaf01"), "Ethernet9/1", 106, (15, "gpu01", "ens1"), (16, "gpu01", "ens2")),
        interface(21, (2, "leaf01"), "Ethernet1/1", 101, (11, "gpu01", "enp24s0np0")),
        interface(22, (2, "leaf01"), "Ethernet1/2", 103, (12, "gpu01", "enp41s0np0")),
    ],
    "cables": [
        cable(101, "dac-passive", 250, "cm"),
        cable(102, "smf-os2", 3),
        cable(103, "smf-os2", 20),
        cable(104, "cat6"),
        cable(105, "cat6"),
        cable(106, "dac-passive"),
    ],
}
# What selects a row, by the parameter that is asked with.
FIELDS: dict[str, t.Callable[[dict[str, t.Any]], str]] = {
    "id": lambda row: str(row["id"]),
    "site": lambda row: str(row["site"]["slug"]),
    "device_id": lambda row: str(row["device"]["id"]),
}


class Answering(BaseHTTPRequestHandler):
    """GET of the three lists, with their filters; anything without the token is refused as NetBox does."""

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        rows = ANSWERS.get(asked.path.rstrip("/").rpartition("/")[2])
        if self.headers.get("Authorization") != f"Token {TOKEN}":
            return self._answer(403, {"detail": "Invalid v1 token"})
        if rows is None:
            return self._answer(404, {"detail": "Not found."})
        if any(site not in ("dc1", "dc2") for site in parse_qs(asked.query).get("site", ())):
            return self._answer(400, {"site": ["Select a valid choice. nowhere is not one of the available choices."]})
        for name, values in parse_qs(asked.query).items():
            if name in FIELDS:
                rows = [row for row in rows if FIELDS[name](row) in values]
        return self._answer(200, {"count": len(rows), "next": None, "previous": None, "results": rows})

    def _answer(self, status: int, body: dict[str, t.Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("API-Version", "4.1")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_args: t.Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def netbox() -> Iterator[str]:
    """A served NetBox; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
