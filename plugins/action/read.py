# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a node: the documentation is in plugins/modules/read.py."""

from __future__ import annotations

import os
import time
import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import collecting, judging, ledger, runs, transports
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.parsing import preload

# Paid once, before linear forks its workers.
preload()


class ActionModule(ActionBase):
    """One task a node: all commands of a layer, parsed here, kept in the run directory."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Ask, parse, keep; the result is only an index."""
        result = super().run(tmp, task_vars)
        _validation, given = self.validate_argument_spec(
            {
                "run_dir": {"type": "path", "required": True},
                "layer": {"type": "str", "required": True, "choices": list(LAYERS)},
                "phase": {"type": "str", "choices": ["before", "idle", "during", "now"], "default": "now"},
                "sample": {"type": "int"},
                "since": {"type": "float"},
            },
            required_if=[("phase", "during", ("sample", "since"))],
        )
        task_vars = task_vars or {}
        run = Path(given["run_dir"])
        try:
            runs.held(run, os.getppid())
        except runs.RunError as error:
            raise AnsibleActionFail(str(error)) from None
        book, name = ledger.Ledger(run), str(task_vars["inventory_hostname"])
        node = book.node(name)
        names = judging.wanted(given["layer"], node["kind"], node["values"]["pod_fabric"], given["phase"])
        asks, apart = collecting.asks(names, node)
        asked = time.time()
        told = transports.ask(self, node, asks, task_vars)
        replies = {ask.reading.name: collecting.reply(ask, node["platform"], told.answers[ask.reading.name]) for ask in asks} if told.answered else {}
        said = {"answered": told.answered, "words": told.words, "boot_id": told.boot_id, "uptime_seconds": told.uptime_seconds}
        phase = given["phase"]
        if phase == "during":
            phase, said["seconds"] = f"during-{given['sample']}", round(asked - given["since"], 3)
        book.keep_answers(given["layer"], name, phase, {**replies, **apart}, said, told.commands)
        unread = {reading: reply.words for reading, reply in replies.items() if reply.status != "ok"}
        return {**result, "changed": False, "answered": told.answered, "msg": told.words, "readings": len(replies), "unread": unread}
