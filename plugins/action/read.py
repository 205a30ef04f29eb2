# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a node: the documentation is in plugins/modules/read.py."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.needed_readings import needed_readings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.responses import reading_result
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.transports import query_node
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.parsing import preload
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import RunAction

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
        store, name = RunStore(run), str(task_vars["inventory_hostname"])
        node = store.node(name)
        names = needed_readings(given["layer"], node["kind"], node["values"], given["phase"])
        asks, apart = queries_for(names, node)
        asked = time.time()
        # Of what gates below proved of it, a node reports in each layer whether it has booted since, if it is asked nothing else there.
        boot = bool(asks) or (given["phase"] == "now" and node["boot_known"])
        response = query_node(self, node, asks, task_vars, boot=boot)
        replies = {ask.reading.name: reading_result(ask, node["platform"], response.answers[ask.reading.name]) for ask in asks} if response.answered else {}
        envelope = {"answered": response.answered, "words": response.words, "boot_id": response.boot_id, "uptime_seconds": response.uptime_seconds}
        envelope |= {"asked_at": response.asked_at, "contacted": response.contacted}
        phase = given["phase"]
        if phase == "during":
            phase, envelope["seconds"] = f"during-{given['sample']}", round(asked - given["since"], 3)
        store.keep_answers(given["layer"], name, phase, {**replies, **apart}, envelope, response.commands)
        unread = {reading: reply.words for reading, reply in replies.items() if reply.status != "ok"}
        return {"answered": response.answered, "msg": response.words, "readings": len(replies), "unread": unread}
