# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One POST to a switch, with the options of the connection ``ansible.netcommon.httpapi``, within a limit of time and of size.

The connection's own request has no limit of size, and opens its URLs by a handler that all threads of a process share.
"""

from __future__ import annotations

import base64
import json
import time
import typing as t
import urllib.error
import urllib.request
from http.client import HTTPException

from ansible.errors import AnsibleConnectionFailure
from ansible.module_utils.urls import make_context

from .limits import TooLong
from .turns import waiting

CHUNK_BYTES = 1 << 16


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A password goes to the switch and nowhere else."""

    def redirect_request(self, *_given: t.Any) -> None:
        """An error, then."""


def post_json(connection: t.Any, path: str, content_type: str, document: t.Any, seconds: float, most_bytes: int) -> t.Any:
    """The JSON document that a switch returns.

    Raises TimeoutError, TooLong, ValueError where it is no JSON, and AnsibleConnectionFailure where the switch cannot be reached or refuses the login.
    """
    option = connection.get_option
    headers = {"Content-Type": content_type, "User-Agent": str(option("http_agent") or "ansible-httpapi"), **_login(option)}
    request = urllib.request.Request(_url(option) + path, json.dumps(document).encode(), headers, method="POST")
    # The context reads files and is made within the thread's turn; everything behind it waits.
    opener = _opener(option)
    with waiting():
        try:
            return json.loads(_within(opener, request, seconds, most_bytes))
        except TimeoutError:
            raise
        except urllib.error.HTTPError as error:
            words = "refuses the login" if error.code in (401, 403) else "responds"
            raise AnsibleConnectionFailure(f"{request.full_url} {words} with HTTP status {error.code}") from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, TimeoutError):
                raise TimeoutError(path) from None
            raise AnsibleConnectionFailure(f"{request.full_url}: {reason}") from None


def _within(opener: urllib.request.OpenerDirector, request: urllib.request.Request, seconds: float, most_bytes: int) -> bytes:
    until, found = time.monotonic() + seconds, bytearray()
    with opener.open(request, timeout=seconds) as response:
        while data := response.read1(CHUNK_BYTES):
            found += data
            if len(found) > most_bytes:
                raise TooLong
            if time.monotonic() > until:
                raise TimeoutError
    return bytes(found)


def _url(option: t.Callable[[str], t.Any]) -> str:
    host, scheme = str(option("host")), "https" if option("use_ssl") else "http"
    port = option("port") or (443 if scheme == "https" else 80)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _login(option: t.Callable[[str], t.Any]) -> dict[str, str]:
    if key := option("session_key"):
        return {str(name): str(value) for name, value in key.items()}
    pair = f"{option('remote_user') or ''}:{option('password') or ''}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode("ascii")}


def _opener(option: t.Callable[[str], t.Any]) -> urllib.request.OpenerDirector:
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect(), urllib.request.ProxyHandler(None if option("use_proxy") else {})]
    if option("use_ssl"):
        context = make_context(
            cafile=option("ca_path"), ciphers=option("ciphers"), validate_certs=option("validate_certs"),
            client_cert=option("client_cert"), client_key=option("client_key"),
        )  # fmt: skip
        handlers.append(urllib.request.HTTPSHandler(context=context))
    return urllib.request.build_opener(*handlers)
