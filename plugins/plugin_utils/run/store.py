# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the documents of a run: its plan, its state, what nodes reported and how it was evaluated."""

from __future__ import annotations

import functools
import hashlib
import json
import typing as t
from pathlib import Path

from ..collect.responses import kept_rows
from ..collect.types import KeptCommand, KeptEnvelope, KeptReading, NodeStatus, ReadingResult
from ..evaluate.verdicts import EvaluatedLayer
from ..pod.plan import Plan
from ..readings import reading
from ..text.yaml_text import from_yaml
from .files import json_text, utc_now, write_json, write_private
from .membership import POD_ONLY_SOAK_SECONDS, no_load_reason, participants, ping_partners
from .reader import BASELINE, RunReader
from .state import State

Values = dict[str, t.Any]
ROOT = Path(__file__).resolve().parents[3]
# What `when` and the command of a source and the transports need of a node's expectations.
OF_READING = (
    "pod_fabric", "pod_gpu_vendor", "pod_switch_transport", "pod_depth", "pod_mode", "pod_virtualization", "pod_failover", "pod_address_family", "pod_underlay",
    "pod_rail_vrf", "pod_overlay",
    "pod_nvlink_domain", "pod_imex_domain", "pod_cumulus_phy_health", "pod_job_services", "pod_container_runtime",
    "pod_container_image", "pod_torch_python", "pod_collective_backend", "pod_nccl_tests_dir",
)  # fmt: skip


@functools.cache
def collection_version(root: Path = ROOT) -> str:
    """The version of the collection in a directory, this one by default."""
    return str(collection_info(root)["version"])


def collection_info(root: Path) -> Values:
    """What the collection in a directory says of itself, installed or as a clone; nothing where there is none."""
    installed, clone = root / "MANIFEST.json", root / "galaxy.yml"
    if installed.is_file():
        return t.cast(Values, json.loads(installed.read_text(encoding="utf-8"))["collection_info"])
    return t.cast(Values, from_yaml(clone.read_text(encoding="utf-8"))) if clone.is_file() else {}


def plan_digest(text: str) -> str:
    """The digest of the text of ``plan.json``, by which a plan that was changed after the run was opened is found."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


class RunStore(RunReader):
    """Writes the documents of one run directory, and reads what it wrote."""

    def keep_plan(self, plan: Plan, state: State) -> None:
        """Write the plan: once for the gates, and a small document for each node's reader; the state takes its digest."""
        common = next(iter(plan.nodes.values())).values
        nodes = {
            name: [node.role, node.platform, node.group, node.asn, {key: value for key, value in node.values.items() if value != common[key]}]
            for name, node in plan.nodes.items()
        }
        cables, addresses = [cable.cells for cable in plan.cables], {name: node.address for name, node in plan.nodes.items() if node.address}
        text = json_text({"common": common, "nodes": nodes, "groups": plan.groups, "cables": cables, "addresses": addresses})
        write_private(self.run / "plan.json", text)
        state.plan_digest = plan_digest(text)
        self.keep_items(plan, state, next(iter(state.members)))

    def keep_items(self, plan: Plan, state: State, layer: str) -> None:
        """Write what each member's commands are repeated for: its rails, and the pings and probes to those that take part with it."""
        members = state.members[layer]
        meshes = plan.meshes(ping_partners(plan, state, members), members)
        asked = participants(plan, state, layer)
        for name in asked:
            node = plan.nodes[name]
            items = {**plan.items(name, asked), **meshes.get(node.name, {"ping": [], "path_probe": []})}
            values = {key: node.values[key] for key in OF_READING}
            document = {"platform": node.platform, "kind": node.kind, "values": values, "items": items, "boot_known": name in state.boots}
            write_json(self.run / "plan" / f"{node.name}.json", document)

    def keep_baseline(self, text: str) -> None:
        """Keep the baseline that this run is compared with."""
        write_private(self.run / BASELINE, text)

    def keep_state(self, state: State) -> None:
        """Write how far the run is."""
        write_json(self.run / "state.json", state.dump())

    def keep_answers(
        self, layer: str, node: str, phase: str, replies: t.Mapping[str, ReadingResult], stated: NodeStatus, commands: t.Sequence[KeptCommand]
    ) -> None:
        """Write a node's evidence and rows of one phase.

        phase: ``before``, ``idle``, ``now``, ``during-003`` (a sample under load) or ``load-1`` (what a step's loads printed).
        """
        ending = "" if phase == "now" else f".{phase}"
        place = Path("evidence") / layer / node
        readings: dict[str, KeptReading] = {}
        for name, reply in replies.items():
            evidence = str(place / f"{name}{ending}.txt") if reply.text else None
            if evidence:
                write_private(self.run / evidence, reply.text)
            rows = kept_rows(reading(name), reply.rows) if reply.status == "ok" else []
            readings[name] = {
                "status": reply.status, "words": reply.words, "rows": rows, "lost": reply.lost, "evidence": evidence, "unparsed": reply.unparsed,
                "error": reply.error,
            }  # fmt: skip
        if commands:
            write_json(self.run / place / f"commands{ending}.json", commands)
        envelope: KeptEnvelope = {**stated, "node": node, "time": utc_now(), "readings": readings}
        write_json(self.run / "readings" / layer / phase / f"{node}.json", envelope)

    def keep_reservation(self, layer: str, host: str, refused: str | None) -> None:
        """Write whether a host was reserved for the loads of a layer, or why not."""
        write_json(self.run / "reserved" / layer / f"{host}.json", refused)

    def keep_schedule(self, layer: str, step: int, document: Values) -> None:
        """Write what a step of a layer's loads does."""
        write_json(self.run / "loads" / layer / f"{step}.json", document)

    def keep_verdicts(self, layer: str, evaluated: EvaluatedLayer) -> None:
        """Write a layer's verdicts, the count of every node, and what silent nodes explain."""
        write_json(self.run / "verdicts" / f"{layer}.json", evaluated)

    def facts_for_plays(self, plan: Plan, state: State) -> dict[str, t.Any]:
        """What the plays need to know: the run directory, who takes part where, how long to soak."""
        values = next(iter(plan.nodes.values())).values
        idle = 0 if no_load_reason(values, state.check_mode) else values["pod_idle_seconds"]
        soak = {"quick": 0, "standard": values["pod_soak_seconds"], "go_live": values["pod_go_live_soak_seconds"]}[state.depth]
        return {
            "run_dir": str(self.run),
            "pod": state.pod,
            "replay": bool(state.replay),
            "reads": not (state.replay or state.plans_only),
            "taking_part": {layer: dict.fromkeys(participants(plan, state, layer), True) for layer in state.members},
            "reserved": {host: True for host, refused in self.reservations().items() if refused is None},
            "soak_seconds": 0 if state.replay or state.plans_only else min(soak, POD_ONLY_SOAK_SECONDS) if state.only else soak,
            "failover": bool(values["pod_failover"]) and not (state.replay or no_load_reason(values, state.check_mode)),
            "idle_seconds": 0 if state.replay else idle,
            "read_timeout_seconds": values["pod_read_timeout_seconds"],
            "connections_max": values["pod_connections_max"],
        }
