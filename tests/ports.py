# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports for servers that cannot be given port 0, so that nobody takes one between its choice and its use.

The kernel gives any connection a port of its own range, so these are below that; a claim is a socket in the abstract namespace, which ends
with the process that holds it, and which two workers of the tests cannot both have.
"""

from __future__ import annotations

import errno
import os
import socket

# Above the ports that the collection's own loads use, and below the ones that the kernel gives away and the default of torch.
PORTS = range(20000, 29000)
_claims: list[socket.socket] = []


def claimed() -> int:
    """A port that nobody has, TCP nor UDP, and that no other test gets before this process has ended.

    Raises OSError where none is left.
    """
    for step in range(len(PORTS)):
        port = PORTS[(os.getpid() * 16 + step) % len(PORTS)]
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0gpufabric-test-port-{port}")
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                with socket.socket(socket.AF_INET, kind) as tried:
                    tried.bind(("", port))
        except OSError:
            claim.close()
        else:
            _claims.append(claim)
            return port
    raise OSError(errno.EADDRINUSE, f"no port of {PORTS.start} to {PORTS.stop - 1} is free")
