# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Soak: the documentation is in plugins/modules/soak.py."""

from __future__ import annotations

import time
import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

EVERY_SECONDS = 30


class ActionModule(ActionBase):
    """Waits once for the whole play, and says how long it still takes."""

    BYPASS_HOST_LOOP = True
    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Wait; counters are watched while nothing else happens."""
        result = super().run(tmp, task_vars)
        _validation, given = self.validate_argument_spec(
            {"seconds": {"type": "int"}, "until": {"type": "float"}, "doing": {"type": "str", "default": "soaking"}},
            required_one_of=[("seconds", "until")], mutually_exclusive=[("seconds", "until")],
        )  # fmt: skip
        seconds = given["seconds"] if given["until"] is None else max(0.0, given["until"] - time.time())
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            Display().display(f"{given['doing']}, {left:.0f} s left")
            time.sleep(min(left, EVERY_SECONDS))
        return {**result, "changed": False, "seconds": round(seconds)}
