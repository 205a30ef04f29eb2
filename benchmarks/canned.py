# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every node of a healthy pod says in a climb, as files that the connection ``canned`` reads.

The collection's own transports ask: what they send is noted, and answered with the simulated pod's texts.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import types
import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.needed_readings import needed_readings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.transports import query_node
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.types import CommandResult
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import answers, inprocess

CONNECTION = Path(__file__).parent / "connection"


class Node:
    """Stands where a task's action and its connection stand; notes what goes to the node and what comes back."""

    transport, has_pipelining, connected = "canned", True, True

    def __init__(self, place: Path, output: dict[str, CommandResult]) -> None:
        self.place, self.output, self._connection = place, output, self
        # Nothing that is asked of it is a template.
        self._templar = types.SimpleNamespace(template=lambda value: value)

    def _low_level_execute_command(self, _command: str, in_data: bytes) -> dict[str, t.Any]:
        output = {name: {**vars(one), "chosen": 0} for name, one in self.output.items()}
        for one in output.values():
            del one["source"]
        text = json.dumps({"boot_id": "1", "uptime_seconds": 1.0, "answers": output})
        return {"stdout": self._kept(in_data, text), "stderr": "", "rc": 0}

    def exec_command(self, command: str, in_data: None = None, sudoable: bool = False) -> tuple[int, str, str]:
        """A switch's answer to one command; one that it lacks is refused, as the switch would."""
        text = next((one.stdout for one in self.output.values() if " ".join(one.argv) == command), "% Invalid input\n")
        return 0, self._kept(command.encode(), text), ""

    def _kept(self, asked: bytes, text: str) -> str:
        (self.place / hashlib.sha256(asked).hexdigest()[:24]).write_text(text, encoding="utf-8")
        return text


def keep(pods: inprocess.Pods, layers: t.Sequence[str], into: Path, hosts: t.Collection[str] | None = None) -> None:
    """Write all answers of a healthy pod to some layers, beside those that are there; hosts: those that take part, all where it is None."""
    plan, pod = pods.plan, pods.pod()
    taking_part = {name for name, node in plan.nodes.items() if node.role == "host" and (hosts is None or name in hosts)}
    meshes = plan.meshes([name for name in plan.nodes if name in taking_part])
    for name, node in plan.nodes.items():
        if node.role == "host" and name not in taking_part:
            continue
        (into / name).mkdir(parents=True, exist_ok=True)
        items = {**plan.items(name), **meshes.get(name, {"ping": [], "path_probe": []})}
        document = {"platform": node.platform, "kind": node.kind, "values": node.values, "items": items}
        for layer, phase in itertools.product(layers, ("before", "now")):
            names = needed_readings(layer, node.kind, node.values, phase)
            asks, _apart = queries_for(names, document)
            # Read through its Python, a switch reports the boot id of its kernel.
            boots = queries_for(["uptime"], document)[0] if node.platform == "eos" else []
            printed = answers.of_node(pod, plan, name, [*names, *(one.reading.name for one in boots)])
            output = {one.reading.name: inprocess.answered(pod, name, one, printed, layer, phase) for one in (*asks, *boots)}
            flat = {f"{reading} {number}": answer for reading, own in output.items() for number, answer in enumerate(own)}
            query_node(Node(into / name, flat), document, asks, {"ansible_python_interpreter": "python3"}, boot=bool(asks) or phase == "now")
