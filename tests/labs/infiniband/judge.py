# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A layer of the lab judged in this process: what a run pipes to a host is piped to it, and judged by the code of a run.

Only Ansible is left out, so that a dozen faults of a whole fabric are judged in the time of one climb.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import typing as t

from ....plugins.plugin_utils.checks.needed_readings import needed_readings
from ....plugins.plugin_utils.collect.fabric import spread_to_nodes
from ....plugins.plugin_utils.collect.programs import program_with_request
from ....plugins.plugin_utils.collect.queries import queries_for, query_commands
from ....plugins.plugin_utils.collect.responses import reading_result
from ....plugins.plugin_utils.collect.transports import _node_response
from ....plugins.plugin_utils.evaluate.gates import decide_gates
from ....plugins.plugin_utils.evaluate.layer import verdicts_of_checks
from ....plugins.plugin_utils.evaluate.layer_input import Envelope, Layer
from ....plugins.plugin_utils.evaluate.verdicts import Verdict
from ....plugins.plugin_utils.pod.plan import Plan
from ...simulated_pod.planned import plan_of
from .lab import Lab

Envelopes = dict[str, Envelope]
OWN_ADAPTERS = "ibstat"


class Judge:
    """Judges a lab by its inventory.

    Hosts that do not read the fabric are asked as the readers are, once, and for all but their adapters: 256 calls of ibstat say
    nothing that their names do not.
    """

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.plan: Plan = plan_of(lab.directory / "inventory")
        self._asked: dict[tuple[str, ...], Envelopes] = {}

    def layer(self, name: str, between: t.Callable[[], None] | None = None) -> tuple[list[Verdict], dict[str, str]]:
        """The verdicts and gates of a layer; between: what happens to the fabric during the soak."""
        before = self.envelopes(name, "before")
        if between is not None:
            between()
        now = self.envelopes(name, "now")
        return self.judged(name, now, before)

    def judged(self, name: str, now: Envelopes, before: Envelopes) -> tuple[list[Verdict], dict[str, str]]:
        """The verdicts and gates of what was read."""
        nodes = list(self.plan.nodes)
        hosts = [node.name for node in self.plan.nodes.values() if node.role == "host"]
        spread = [spread_to_nodes(self.plan, envelopes, nodes) for envelopes in (now, before)]
        layer = Layer(name, self.plan, nodes, hosts, *spread, {}, (), datetime.date(2026, 6, 15))
        verdicts = verdicts_of_checks(layer)
        return verdicts, {group: gate.state for group, gate in decide_gates(self.plan, verdicts, self.plan.groups, layer.checks(), {}).items()}

    def envelopes(self, layer: str, phase: str) -> Envelopes:
        """What every node says in one phase of a layer."""
        readers = self.plan.readers(list(self.plan.nodes))
        names = needed_readings(layer, "host", next(iter(self.plan.nodes.values())).values, phase)
        found: Envelopes = {node: _empty() for node in self.plan.nodes}
        found |= {reader: self.read(reader, names) for reader in readers}
        others = [host for hosts in self.plan.groups.values() for host in hosts if host not in readers]
        if others:
            own = [name for name in names if name != OWN_ADAPTERS]
            once = self.read(others[0], own)
            found |= dict.fromkeys(others, once)
        return found

    def read(self, host: str, names: t.Sequence[str]) -> Envelope:
        """One host, asked by its own Python."""
        place = self.plan.nodes[host]
        items = self.plan.items(host)
        asks, apart = queries_for(names, {"platform": place.platform, "values": place.values, "items": items})
        request = {"commands": query_commands(asks), "programs": {}, "devices": [rail["device"] for rail in items["rail"]]}
        python = self.lab.directory / "hosts" / host / "python3"
        done = subprocess.run(
            [python, "-SE", "-"], input=program_with_request("side_by_side", request).decode(), capture_output=True, text=True, timeout=180, check=False
        )
        result = _node_response(asks, done.stdout, done.stderr, done.returncode, str(python))
        replies = {ask.reading.name: reading_result(ask, place.platform, result.answers[ask.reading.name]) for ask in asks} if result.answered else {}
        readings = {one: {"status": reply.status, "words": reply.words, "rows": reply.rows, "evidence": None} for one, reply in {**replies, **apart}.items()}
        return {"answered": result.answered, "words": result.words, "boot_id": "1", "uptime_seconds": 1.0, "readings": json.loads(json.dumps(readings))}


def _empty() -> Envelope:
    return {"answered": True, "words": "", "boot_id": None, "uptime_seconds": None, "readings": {}}
