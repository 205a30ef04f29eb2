# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A switch's API over HTTP(S): eAPI of EOS or NX-API of NX-OS, as their guides describe them. No switch was at hand: what it says is genuine, how is not."""

from __future__ import annotations

import base64
import hmac
import http.server
import json
import re
import ssl
import threading
import time
import typing as t
from pathlib import Path

Values = dict[str, t.Any]
NO_PRIVILEGE = "privileged mode required"


class ApiSwitch:
    """A switch's API on a port of the loopback for as long as the context lasts.

    answers: what the command line prints for each command, with ``| json`` where it prints a document; any other command is refused.
    enable_password: what the privileged mode wants, without which no command is run (EOS); hangs: commands that do not end while it lives;
    endless: commands whose response does not end; certificate: a file with key and certificate, which makes it HTTPS.
    requests: the commands of every request that came, in their order. logins: how many were refused.
    """

    def __init__(self, dialect: str, answers: t.Mapping[str, str], certificate: Path | None = None) -> None:
        self.dialect, self.answers, self.certificate = dialect, answers, certificate
        self.user, self.password = "admin", "correct horse"
        self.enable_password: str | None = None
        self.hangs: set[str] = set()
        self.endless: set[str] = set()
        self.requests: list[list[str]] = []
        self.logins = 0
        self.over = threading.Event()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    def __enter__(self) -> ApiSwitch:
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def respond(self, path: str, asked: Values) -> Values:
        """The response to a request; KeyError where it is none of this API."""
        return {"eos": self._eapi, "nxos": self._nxapi}[self.dialect](path, asked)

    def _eapi(self, path: str, asked: Values) -> Values:
        if path != "/command-api":
            raise KeyError(path)
        params = asked["params"]
        results: list[Values] = []
        privileged = self.enable_password is None
        self.requests.append([one["cmd"] if isinstance(one, dict) else one for one in params["cmds"]])
        for number, one in enumerate(params["cmds"], 1):
            command = one["cmd"] if isinstance(one, dict) else one
            if command == "enable":
                privileged = privileged or one["input"] == self.enable_password
                text: str | None = "" if privileged else None
            else:
                text = self._text(command, params["format"]) if privileged else None
            if text is None:
                why = "Invalid input (at token 1)" if privileged else NO_PRIVILEGE
                words = f"CLI command {number} of {len(params['cmds'])} '{command}' failed: invalid command"
                return {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": 1002, "message": words, "data": [*results, {"errors": [why]}]}}
            results.append({"output": text} if params["format"] == "text" else json.loads(text or "{}"))
        return {"jsonrpc": "2.0", "id": asked["id"], "result": results}

    def _nxapi(self, path: str, asked: Values) -> Values:
        if path != "/ins":
            raise KeyError(path)
        asked, outputs = asked["ins_api"], list[Values]()
        form = {"cli_show_ascii": "text", "cli_show": "json"}[asked["type"]]
        commands = re.split(r" *; *", asked["input"])
        self.requests.append(commands)
        for command in commands:
            text = self._text(command, form)
            if text is None:
                outputs.append({"input": command, "code": "400", "msg": "Input CLI command error", "clierror": "% Invalid command\n"})
            else:
                outputs.append({"input": command, "code": "200", "msg": "Success", "body": text if form == "text" else json.loads(text)})
        return {"ins_api": {"type": asked["type"], "version": "1.0", "sid": "eoc", "outputs": {"output": outputs[0] if len(outputs) == 1 else outputs}}}

    def _text(self, command: str, form: str) -> str | None:
        if command in self.hangs:
            self.over.wait()
        if command in self.endless:
            raise EOFError
        try:
            return self.answers[command if form == "text" else f"{command} | json"]
        except KeyError:
            return None


def _handler(switch: ApiSwitch) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            given = self.headers.get("Authorization", "")
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not hmac.compare_digest(given, "Basic " + base64.b64encode(f"{switch.user}:{switch.password}".encode()).decode()):
                switch.logins += 1
                self.send_error(401)
                return
            try:
                body = json.dumps(switch.respond(self.path, asked)).encode()
            except KeyError:
                self.send_error(404)
            except EOFError:
                self._endless()
            else:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def _endless(self) -> None:
            self.send_response(200)
            self.end_headers()
            while not switch.over.is_set():
                try:
                    self.wfile.write(b" " * (1 << 20))
                except OSError:
                    return
                time.sleep(0)

        def log_message(self, *_words: object) -> None:
            """Nothing is said of a request."""

    return Handler
