# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Soak: the documentation is in plugins/modules/soak.py."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction, RunOnce
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.countdown import Countdown

EVERY_SECONDS = 1.0


class ActionModule(RunOnce, PyramidAction):
    """Waits once for the whole play, and prints the time that is left."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "seconds": {"type": "int"},
        "until": {"type": "float"},
        "ends": {"type": "float"},
        "doing": {"type": "str", "default": "soaking"},
        "quiet": {"type": "bool", "default": False},
    }
    RULES: t.ClassVar[dict[str, t.Any]] = {"required_one_of": [("seconds", "until")], "mutually_exclusive": [("seconds", "until")]}

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Wait; counters are watched while nothing else happens."""
        seconds = given["seconds"] if given["until"] is None else max(0.0, given["until"] - time.time())
        until, more = time.monotonic() + seconds, max(0.0, (given["ends"] or 0.0) - time.time() - seconds)
        countdown = Countdown(given["doing"], given["quiet"])
        while (left := until - time.monotonic()) > 0:
            countdown.update(left + more)
            time.sleep(min(left, EVERY_SECONDS))
        countdown.end()
        return {"seconds": round(seconds)}
