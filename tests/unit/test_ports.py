# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports of tests: no two processes have the same."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from ansible_collections.gpufabric.pyramid.tests.ports import claimed

ROOT = Path(__file__).resolve().parents[2]
# Another process that would choose the same ports, since it takes itself for this one.
OTHER = "import os; os.getpid = lambda: {pid}; from tests.ports import claimed; print(claimed())"


def test_a_port_is_claimed_by_one_process() -> None:
    ports = [claimed(), claimed()]
    done = subprocess.run([sys.executable, "-c", OTHER.format(pid=os.getpid())], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert len({*ports, int(done.stdout)}) == 3


def test_a_port_that_somebody_listens_at_is_not_claimed() -> None:
    following = claimed() + 1
    with socket.socket() as other:
        other.bind(("127.0.0.1", following))
        assert claimed() != following
