# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection to a node that has said everything already: no process is started, so that only the controller is measured."""

from __future__ import annotations

DOCUMENTATION = """
    name: canned
    short_description: read a node's answers from files
    description:
        - Answers each request with the file that C(benchmarks/canned.py) wrote for it.
    author: The gpufabric.pyramid authors
    options:
        answers:
            description: The directory with the answers.
            required: true
            vars: [{name: canned_answers}]
    extends_documentation_fragment:
        - connection_pipelining
"""

import hashlib
import time
from pathlib import Path

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase


class Connection(ConnectionBase):
    """Files instead of a node."""

    transport = "canned"
    has_pipelining = True

    def _connect(self) -> Connection:
        self._connected = True
        return self

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        """What was kept for these very words."""
        name = hashlib.sha256(in_data or cmd.encode()).hexdigest()[:24]
        path = Path(self.get_option("answers")) / self._play_context.remote_addr / name
        if not path.exists():
            raise AnsibleConnectionFailure(f"no answer is kept for {cmd[:80]!r}")
        # A switch that has run for the same time in every response has booted between them.
        return 0, path.read_bytes().replace(b'"uptime": 0.0', f'"uptime": {time.monotonic():.1f}'.encode()), b""

    def put_file(self, in_path: str, out_path: str) -> None:
        """Nothing is ever copied to a node."""
        raise NotImplementedError

    def fetch_file(self, in_path: str, out_path: str) -> None:
        """Nor from it."""
        raise NotImplementedError

    def close(self) -> None:
        """There is nothing to close."""
        self._connected = False
