# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""As much of AWX's API as its set-up needs, in memory: it keeps what it is given and refuses what AWX would refuse."""

from __future__ import annotations

import json
import threading
import typing as t
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from .fields import APPROVED, EDGES, FIELDS, LINKS, NOTIFIED, needed, wrong, wrong_survey

Document = dict[str, t.Any]
TEMPLATES = {"job_templates": "job_template", "workflow_job_templates": "workflow_job_template", "projects": "project"}


class Awx:
    """The server; ``objects`` by collection and id, ``changes`` every request that changed one."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[int, Document]] = {name: {} for name in (*FIELDS, "tokens")}
        self.linked: dict[tuple[str, int, str], list[int]] = {}
        self.surveys: dict[int, Document] = {}
        self.requests: list[tuple[str, str, Document]] = []
        self.refused: list[Document] = []
        self.lock = threading.Lock()
        self.number = 0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self) -> None:
        """Stop serving."""
        self.server.shutdown()
        self.server.server_close()

    @property
    def changes(self) -> list[tuple[str, str, Document]]:
        """Every request that changed something, tokens apart."""
        return [one for one in self.requests if one[0] != "GET" and "/tokens/" not in one[1]]

    def named(self, collection: str, name: str) -> Document:
        """The object of a name."""
        return next(one for one in self.objects[collection].values() if one["name"] == name)

    def answer(self, method: str, path: str, query: list[tuple[str, str]], body: Document) -> tuple[int, Document | None]:
        """Status and document of a request."""
        with self.lock:
            self.requests.append((method, path, body))
            words = path.strip("/").split("/")[2:]
            status, document = self._answer(method, words, query, body)
            if status >= 400:
                self.refused.append({"method": method, "path": path, "body": body, "said": document})
            return status, document

    def _answer(self, method: str, words: list[str], query: list[tuple[str, str]], body: Document) -> tuple[int, Document | None]:
        if len(words) == 1:
            return self._collection(method, words[0], query, body)
        collection, number = words[0], int(words[1])
        if number not in self.objects.get(collection, {}):
            return 404, {"detail": "Not found."}
        if len(words) == 3:
            return self._sub(method, collection, number, words[2], body)
        if method == "DELETE":
            del self.objects[collection][number]
            return 204, None
        if method == "PATCH":
            refused = wrong(collection, body, partial=True)
            if refused:
                return 400, refused
            self.objects[collection][number].update(_kept(collection, body))
        return 200, self._shown(collection, number)

    def _collection(self, method: str, collection: str, query: list[tuple[str, str]], body: Document) -> tuple[int, Document | None]:
        if method == "POST":
            refused = wrong(collection, body) if collection in FIELDS else {}
            if not refused and collection == "schedules":
                refused = self._not_launched(body["unified_job_template"], body.get("extra_data") or {})
            if refused:
                return 400, refused
            if collection in FIELDS and "name" in body and self._found(collection, [(key, str(body[key])) for key in ("name",)]):
                return 400, {"name": ["already exists."]}
            return 201, self._created(collection, body)
        names = TEMPLATES if collection == "unified_job_templates" else [collection]
        results = [self._shown(name, number) for name in names for number in self._found(name, query)]
        return 200, {"count": len(results), "next": None, "previous": None, "results": results}

    def _not_launched(self, template: int, answers: Document) -> dict[str, list[str]]:
        """Why AWX would not launch a template with these answers; nothing where it would."""
        survey = self.surveys.get(template, {})
        output: dict[str, list[str]] = {"variables_needed_to_start": missing} if (missing := needed(survey, answers)) else {}
        known = {one["variable"] for one in survey.get("spec", ())}
        owner = next((one[template] for name in TEMPLATES if template in (one := self.objects[name])), {})
        if (others := sorted(set(answers) - known)) and not owner.get("ask_variables_on_launch"):
            output["extra_data"] = [f"Variables {', '.join(others)} are not allowed on launch."]
        return output

    def _created(self, collection: str, body: Document) -> Document:
        self.number += 1
        defaults = {name: field.default for name, field in FIELDS.get(collection, {}).items()}
        extra = {"token": f"token{self.number}"} if collection == "tokens" else {"scm_revision": "0" * 40, "status": "successful"}
        self.objects[collection][self.number] = {**defaults, **_kept(collection, body), "id": self.number, **extra}
        return self._shown(collection, self.number)

    def _found(self, collection: str, query: list[tuple[str, str]]) -> list[int]:
        """The objects that every filter fits; those of paging and of alternatives are none."""
        wanted = [(key, value) for key, value in query if key not in ("page_size", "type") and not key.startswith("or__")]
        either = [(key.removeprefix("or__"), value) for key, value in query if key.startswith("or__")]

        def fits(one: Document, key: str, value: str) -> bool:
            return str(one.get(key.removesuffix("__exact").removesuffix("__iexact"))) == value

        return [
            number
            for number, one in self.objects[collection].items()
            if all(fits(one, key, value) or (key == "organization" and key not in one) for key, value in wanted)
            and (not either or any(fits(one, key, value) for key, value in either))
        ]

    def _shown(self, collection: str, number: int) -> Document:
        place = f"/api/v2/{collection}/{number}/"
        related = {name: f"{place}{name}/" for name in LINKS.get(collection, ())}
        one = {**self.objects[collection][number], **({"managed": False} if collection == "credential_types" else {})}
        if collection == "job_templates":
            # A job template's organization is its project's.
            one["organization"] = self.objects["projects"][one["project"]]["organization"]
        if collection == "workflow_job_template_nodes" and one["unified_job_template"] is not None:
            owner = next(name for name in (*TEMPLATES, "workflow_approval_templates") if one["unified_job_template"] in self.objects[name])
            related["unified_job_template"] = f"/api/v2/{owner}/{one['unified_job_template']}/"
        return {**one, "type": TEMPLATES.get(collection, collection[:-1]), "url": place, "related": related, "summary_fields": {}}

    def _sub(self, method: str, collection: str, number: int, name: str, body: Document) -> tuple[int, Document | None]:
        if name not in LINKS.get(collection, ()):
            return 404, {"detail": "The requested resource could not be found."}
        if name == "launch":
            refused = self._not_launched(number, body.get("extra_vars") or {})
            # At a launch other variables are ignored, and named in the answer.
            ignored = refused.pop("extra_data", [])
            return (400, refused) if refused else (201, {"job": number, "ignored_fields": ignored})
        if name == "survey_spec":
            if method == "POST":
                refused = wrong_survey(body)
                if refused:
                    return 400, {"error": refused}
                self.surveys[number] = body
            return 200, self.surveys.get(number, {})
        if name == "create_approval_template":
            refused = wrong("workflow_approval_templates", body)
            if refused:
                return 400, refused
            made = self._created("workflow_approval_templates", body)
            self.objects[collection][number]["unified_job_template"] = made["id"]
            return 201, made
        linked = self.linked.setdefault((collection, number, name), [])
        if method == "GET":
            target = "workflow_job_template_nodes" if name in EDGES else "notification_templates" if name in (*NOTIFIED, APPROVED) else name
            return 200, {"count": len(linked), "next": None, "results": [self._shown(target, one) for one in linked]}
        if body.get("disassociate"):
            linked.remove(body["id"])
        elif body["id"] not in linked:
            linked.append(body["id"])
        return 204, None


def _kept(collection: str, body: Document) -> Document:
    """What AWX keeps of a body: known fields; null is the default where a field is never null."""
    known = FIELDS.get(collection, {})
    return {key: known[key].default if value is None else value for key, value in body.items() if key in known}


def _handler(awx: Awx) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, document = awx.answer(self.command, parts.path, parse_qsl(parts.query), json.loads(text) if text else {})
            body = b"" if document is None else json.dumps(document).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.send_header("X-API-Product-Name", "AWX")
            self.send_header("X-API-Product-Version", "24.6.1")
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PATCH = do_DELETE = _serve

        def log_message(self, format: str, *args: t.Any) -> None:
            """Nobody reads it."""

    return Handler
