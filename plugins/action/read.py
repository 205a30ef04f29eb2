# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a node: the documentation is in plugins/modules/read.py."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import collecting, judging, ledger, transports
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.acting import RunAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.parsing import preload

# Paid once, before linear forks its workers.
preload()


class ActionModule(RunAction):
    """One task a node: all commands of a layer, parsed here, kept in the run directory."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "layer": {"type": "str", "required": True, "choices": list(LAYERS)},
        "phase": {"type": "str", "choices": ["before", "idle", "during", "now"], "default": "now"},
        "sample": {"type": "int"},
        "since": {"type": "float"},
    }
    RULES: t.ClassVar[dict[str, t.Any]] = {"required_if": [("phase", "during", ("sample", "since"))]}

    def act_in(self, run: Path, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Ask, parse, keep; the result is only an index."""
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
        return {"answered": told.answered, "msg": told.words, "readings": len(replies), "unread": unread}
