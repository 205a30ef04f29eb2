# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""EOS switches that answer ``runCmds`` over HTTPS on 127.0.0.1 as a simulated leaf: ``python -m benchmarks.eapi INVENTORY PORT LEAF…``.

The inventory is that of ``sshd_nodes``, with what the leaves print beside it.
"""

from __future__ import annotations

import http.server
import json
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Switch

ERRORS = ("inErrors", "frameTooLongs", "outErrors", "frameTooShorts", "fcsErrors", "alignmentErrors", "symbolErrors")


def answers(switch: Switch) -> dict[str, t.Any]:
    """What the switch says to each command, as far as the tests of ``benchmarks.switches`` look at it."""
    interfaces = {
        port.name: {
            "name": port.name,
            "forwardingModel": "routed" if port.address else "bridged",
            "mtu": 9000,
            "bandwidth": 400 * 10**9,
            "duplex": "duplexFull",
        }
        for port in switch.ports
    }
    peer = {"state": "Established", "inMsgQueue": 0, "outMsgQueue": 0, "peerTcpInfo": {"outputQueueLength": 0, "inputQueueLength": 0}}
    peer["neighborCapabilities"] = {"multiprotocolCaps": {"ipv4Unicast": {"advertised": True, "received": True, "enabled": True}}}
    described = {port.name: {"interfaceStatus": "up", "lineProtocolStatus": "up", "description": port.peer} for port in switch.ports}
    neighbors = {
        port.name: {"lldpNeighborInfo": [{"systemName": port.peer, "neighborInterfaceInfo": {"interfaceId_v2": port.peer_port}}]} for port in switch.ports
    }
    return {
        "show version": {"modelName": "DCS-7060DX5-64S", "version": "4.33.1F"},
        "show interfaces description": {"interfaceDescriptions": described},
        "show interfaces counters errors": {"interfaceErrorCounters": {port.name: dict.fromkeys(ERRORS, 0) for port in switch.ports}},
        "show interfaces": {"interfaces": interfaces},
        "show lldp neighbors detail": {"lldpNeighbors": neighbors},
        "show bgp neighbors vrf all": {"vrfs": {"default": {"peerList": [{**peer, "peerAddress": one.address} for one in switch.sessions]}}},
    }


def printed(place: Path) -> dict[str, str]:
    """What a leaf's command line prints, by command."""
    return {" ".join(path.parent.relative_to(place).parts): path.read_text(encoding="utf-8") for path in place.rglob("=out")}


def result(output: dict[str, t.Any], texts: dict[str, str], command: str, form: str) -> dict[str, t.Any]:
    """What the switch says to one command: a text, or a document, of which ANTA and the collection look at different parts."""
    if form == "text":
        return {"output": texts.get(command, "% Invalid input\n")}
    document = {**json.loads(texts.get(f"{command} | json", "{}")), **output.get(command, {})}
    if "bootupTimestamp" in document:
        document["uptime"] = time.time() - document["bootupTimestamp"]
    return document


def handler(output: dict[str, t.Any], texts: dict[str, str]) -> type[http.server.BaseHTTPRequestHandler]:
    """A switch's end of eAPI."""

    class Eapi(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            words = [one["cmd"] if isinstance(one, dict) else one for one in asked["params"]["cmds"]]
            results = [result(output, texts, one, asked["params"].get("format", "json")) for one in words]
            body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": results}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            """It would be among the figures."""

    return Eapi


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """A thread a connection."""

    daemon_threads = True


def main(inventory: str, port: str, *leaves: str) -> None:
    """Serve each leaf at a port of its own until standard input ends."""
    _plan, pod = inprocess.pod_of(Path(inventory))
    with tempfile.TemporaryDirectory() as place:
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        subprocess.run([*command, "-keyout", f"{place}/key", "-out", f"{place}/cert"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{place}/cert", f"{place}/key")
    for number, name in enumerate(leaves):
        texts = printed(Path(inventory).parent / "answers" / name)
        server = Server(("127.0.0.1", int(port) + number), handler(answers(pod.switches[name]), texts))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
