# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of the clients of a task, such as ssh: by its time limit, by an interrupt, or because their output is over its limit."""

from __future__ import annotations

import contextlib
import os
import signal
import typing as t
from pathlib import Path


@contextlib.contextmanager
def end_clients_on_exit() -> t.Iterator[None]:
    """End the clients of a task that its timeout, or an interrupt, ends: a node that hangs would keep each of them for good."""
    try:
        yield
    except Exception:
        raise
    except BaseException:
        end_children()
        raise


def end_children() -> None:
    """End the clients of this worker that still wait for a host or a switch, with all that they started: it has no other descendants."""
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                waiting += [int(child) for child in path.read_text(encoding="ascii").split()]
        if pid != os.getpid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
