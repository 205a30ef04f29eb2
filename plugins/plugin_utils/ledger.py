# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents of a run: its plan, its state, what nodes said and what was judged of it."""

from __future__ import annotations

import functools
import json
import typing as t
from pathlib import Path

import yaml

from . import baselines, climb, runs
from .cabling import Cable, End
from .collecting import Reply, kept
from .measures import Number, measures, numbers
from .places import Places
from .plan import Node, Plan
from .readings import reading
from .reports import document, html, junit, markdown, textfile
from .reports.kept import Kept

BASELINE = "baseline.txt"
Values = dict[str, t.Any]
Envelope = dict[str, t.Any]
ROOT = Path(__file__).resolve().parents[2]
# What `when` of a source and the transports need of a node's expectations.
OF_READING = ("pod_fabric", "pod_gpu_vendor", "pod_switch_transport", "pod_depth", "pod_mode", "pod_virtualization")


def _add(readings: dict[str, Values], name: str, said: Values) -> None:
    """Join what a node said of one reading several times; what was told once is told, and checks look for what is missing."""
    known = readings.get(name)
    if known is None or (known["status"] != "ok" and said["status"] == "ok"):
        readings[name] = {**said, "rows": list(said["rows"])}
    elif said["status"] == "ok":
        known["rows"] += said["rows"]


@functools.cache
def version() -> str:
    """The collection's version."""
    manifest = ROOT / "MANIFEST.json"
    if manifest.is_file():
        return str(json.loads(manifest.read_text(encoding="utf-8"))["collection_info"]["version"])
    return str(yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["version"])


def load_state(run: Path) -> climb.State | None:
    """The state of an earlier run; None where it kept none."""
    path = run / "state.json"
    return climb.load(runs.read_json(path)) if path.is_file() else None


class Ledger:
    """The documents of one run directory."""

    def __init__(self, run: Path) -> None:
        self.run = run

    def keep_plan(self, plan: Plan, state: climb.State) -> None:
        """Write the plan: once for the gates, and a small document for each node's reader."""
        common = next(iter(plan.nodes.values())).values
        nodes = {
            name: [node.role, node.platform, node.group, node.asn, {key: value for key, value in node.values.items() if value != common[key]}]
            for name, node in plan.nodes.items()
        }
        cables = [
            [cable.a.node, cable.a.port, cable.a.address, cable.b.node, cable.b.port, cable.b.address, cable.medium, cable.length_m, cable.line, cable.gbit_s]
            for cable in plan.cables
        ]
        runs.write_json(self.run / "plan.json", {"common": common, "nodes": nodes, "groups": plan.groups, "cables": cables})
        self.keep_items(plan, state, next(iter(state.members)))

    def keep_items(self, plan: Plan, state: climb.State, layer: str) -> None:
        """Write what each member's commands are repeated for: its rails, and the pings and probes to those that climb with it."""
        members = state.members[layer]
        meshes = plan.meshes(climb.partners(plan, state, members), members)
        asked = climb.taking_part(plan, state, layer)
        for name in asked:
            node = plan.nodes[name]
            items = {**plan.items(name, asked), **meshes.get(node.name, {"ping": [], "path_probe": []})}
            values = {key: node.values[key] for key in OF_READING}
            runs.write_json(self.run / "plan" / f"{node.name}.json", {"platform": node.platform, "kind": node.kind, "values": values, "items": items})

    def plan(self) -> Plan:
        """The plan that ``keep_plan`` wrote."""
        said = runs.read_json(self.run / "plan.json")
        nodes = {name: Node(name, role, platform, group, {**said["common"], **own}, asn) for name, (role, platform, group, asn, own) in said["nodes"].items()}
        cables = [Cable(End(an, ap, aa), End(bn, bp, ba), *told) for an, ap, aa, bn, bp, ba, *told in said["cables"]]
        return Plan(nodes, said["groups"], cables)

    def node(self, name: str) -> dict[str, t.Any]:
        """What a node's reader needs.

        Raises FileNotFoundError where the node does not climb.
        """
        return t.cast(dict[str, t.Any], runs.read_json(self.run / "plan" / f"{name}.json"))

    def keep_baseline(self, text: str) -> None:
        """Keep the baseline that this run is held against."""
        runs.write(self.run / BASELINE, text)

    def baseline(self) -> dict[str, t.Any] | None:
        """The baseline that this run is held against; None where it is held against none."""
        path = self.run / BASELINE
        return baselines.load(path.read_text(encoding="utf-8"), self.state().pod) if path.is_file() else None

    def captured(self, plan: Plan, state: climb.State) -> str:
        """This run's numbers as the text of a baseline."""
        return baselines.capture(state.pod, state.run_id, runs.now(), *self.numbers(plan, state))

    def numbers(self, plan: Plan, state: climb.State) -> tuple[list[Number], dict[str, dict[str, str]]]:
        """This run's numbers, and each node's software."""
        told = Kept(self.source(state.replay), plan).told({measure.reading for measure in measures().values()} | {"software"})
        found = [number for layer in state.layers for number in numbers(Places(plan), layer, told.get(layer, {}))]
        return found, baselines.software(told.get("preflight", {}))

    def keep_state(self, state: climb.State) -> None:
        """Write where the climb stands."""
        runs.write_json(self.run / "state.json", state.dump())

    def state(self) -> climb.State:
        """Where the climb stands."""
        return climb.load(runs.read_json(self.run / "state.json"))

    def keep_answers(self, layer: str, node: str, phase: str, replies: dict[str, Reply], said: dict[str, t.Any], commands: list[dict[str, t.Any]]) -> None:
        """Write a node's evidence and rows of one phase; said: answered, words, boot_id, uptime_seconds.

        phase: ``before``, ``idle``, ``now``, ``during-003`` (a sample under load) or ``load-1`` (what a step's loads printed).
        """
        ending = "" if phase == "now" else f".{phase}"
        place = Path("evidence") / layer / node
        readings = {}
        for name, reply in replies.items():
            evidence = str(place / f"{name}{ending}.txt") if reply.text else None
            if evidence:
                runs.write(self.run / evidence, reply.text)
            rows = kept(reading(name), reply.rows) if reply.status == "ok" else []
            readings[name] = {"status": reply.status, "words": reply.words, "rows": rows, "lost": reply.lost, "evidence": evidence}
        if commands:
            runs.write_json(self.run / place / f"commands{ending}.json", commands)
        runs.write_json(self.run / "readings" / layer / phase / f"{node}.json", {**said, "node": node, "time": runs.now(), "readings": readings})

    def answers(self, layer: str, phase: str) -> dict[str, Envelope]:
        """What every node said in one phase of a layer, by node."""
        return {path.stem: runs.read_json(path) for path in (self.run / "readings" / layer / phase).glob("*.json")}

    def phases(self, layer: str, kind: str) -> list[str]:
        """The kept phases of a kind (``during``, ``load``), in their order."""
        return sorted((path.name for path in (self.run / "readings" / layer).glob(f"{kind}-*")), key=lambda name: int(name.rpartition("-")[2]))

    def during(self, layer: str) -> dict[str, Envelope]:
        """All samples that were taken under load as one envelope a node; their rows have ``sample`` and ``seconds`` since the loads began."""
        merged: dict[str, Envelope] = {}
        for number, phase in enumerate(self.phases(layer, "during")):
            for node, envelope in self.answers(layer, phase).items():
                into = merged.setdefault(node, {**envelope, "readings": {}})
                into["boot_id"] = envelope["boot_id"] if into["boot_id"] == envelope["boot_id"] else "several"
                for name, said in envelope["readings"].items():
                    rows = [{**row, "sample": number, "seconds": envelope["seconds"]} for row in said["rows"]]
                    _add(into["readings"], name, {**said, "rows": rows})
        return merged

    def loaded(self, layer: str) -> dict[str, dict[str, Values]]:
        """What the loads of all steps printed, by host and reading."""
        merged: dict[str, dict[str, Values]] = {}
        for phase in self.phases(layer, "load"):
            for node, envelope in self.answers(layer, phase).items():
                for name, said in envelope["readings"].items():
                    _add(merged.setdefault(node, {}), name, said)
        return merged

    def keep_timetable(self, layer: str, step: int, document: Values) -> None:
        """Write what a step of a layer's loads does."""
        runs.write_json(self.run / "loads" / layer / f"{step}.json", document)

    def timetable(self, layer: str, step: int) -> Values:
        """What ``keep_timetable`` wrote."""
        return t.cast(Values, runs.read_json(self.run / "loads" / layer / f"{step}.json"))

    def keep_verdicts(self, layer: str, records: list[dict[str, t.Any]], counts: dict[str, dict[str, int]], explained: dict[str, list[str]]) -> None:
        """Write a layer's verdicts, the count of every node, and what silent nodes explain."""
        runs.write_json(self.run / "verdicts" / f"{layer}.json", {"verdicts": records, "counts": counts, "explained": explained})

    def verdicts(self) -> dict[str, dict[str, t.Any]]:
        """The verdicts and counts of every judged layer."""
        return {path.stem: runs.read_json(path) for path in (self.run / "verdicts").glob("*.json")}

    def report(self, plan: Plan, state: climb.State, page: bool = False) -> dict[str, t.Any]:
        """Write report.json and what is rendered from it, at a run's end also the page; returns the report."""
        report = document.build(plan, state, self.verdicts())
        texts = {"report.md": markdown.render(report), "report.xml": junit.render(report), "report.prom": textfile.render(report)}
        if page:
            texts["report.html"] = html.render(report, plan, self.source(state.replay))
        runs.write_all({self.run / name: text for name, text in {**texts, "report.json": runs.json_text(report)}.items()})
        self._publish(plan, state)
        return report

    def _publish(self, plan: Plan, state: climb.State) -> None:
        """Hand the pod's metrics to node_exporter; a run of a part or of kept evidence says nothing of the pod."""
        directory = next(iter(plan.nodes.values())).values["pod_textfile_dir"]
        if directory and not state.only and not state.replay:
            runs.publish(self.run / "report.prom", Path(directory).expanduser() / f"gpufabric_pyramid_{state.pod}.prom")

    def source(self, replay: str) -> Path:
        """The directory with what nodes said: this run's, or that of the run which is judged again."""
        return Path(replay) if replay else self.run

    def standing(self, plan: Plan, state: climb.State) -> dict[str, t.Any]:
        """What the plays need to know: the run directory, who takes part where, how long to soak."""
        values = next(iter(plan.nodes.values())).values
        idle = 0 if climb.unloaded(values, state.check_mode) else values["pod_idle_seconds"]
        soak = {"quick": 0, "standard": values["pod_soak_seconds"], "go_live": values["pod_go_live_soak_seconds"]}[state.depth]
        return {
            "run_dir": str(self.run),
            "pod": state.pod,
            "replay": bool(state.replay),
            "taking_part": {layer: dict.fromkeys(climb.taking_part(plan, state, layer), True) for layer in state.members},
            "soak_seconds": 0 if state.replay else min(soak, climb.ONLY_SOAK_SECONDS) if state.only else soak,
            "idle_seconds": 0 if state.replay else idle,
            "read_timeout_seconds": values["pod_read_timeout_seconds"],
        }
