# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A climb of the simulated pod in one process: its answers parsed and judged as a run does it, without Ansible and without processes."""

from __future__ import annotations

import datetime
import typing as t
from pathlib import Path

from ...plugins.plugin_utils import climb as climbing
from ...plugins.plugin_utils import collecting, fabric, gates, holding, judging, ledger, opening, runs
from ...plugins.plugin_utils.plan import Plan
from ...plugins.plugin_utils.verdicts import Verdict
from . import answers, changes, healthy, loaded, wiring
from .model import Pod
from .planned import plan_of

LAYERS = ("preflight", "links", "routing", "congestion")
# When a layer is read: one that loads the pod also just before its loads.
PHASES = {"congestion": ("before", "idle", "now")}
SOAKED = ("before", "now")
TODAY = datetime.date(2026, 6, 15)
ANSWERED: t.Final = {"answered": True, "words": "", "boot_id": "1", "uptime_seconds": 1.0}
Replies = dict[str, collecting.Reply]
Hold = t.Callable[[Path, str, t.Callable[[str], str | None]], object]
Kept = dict[tuple[str, ...], Replies]


def pod_of(directory: Path, names: t.Sequence[str] = (), seed: int = 1) -> tuple[Plan, Pod]:
    """The plan of an inventory, and its pod with some faults and variants in force."""
    pod = healthy.pod(wiring.load(directory), seed)
    changes.apply(pod, names)
    return plan_of(directory), pod


class Pods:
    """The pods of one inventory, which differ in their faults: its plan, its wiring, and what nodes come to say that say it in every climb."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.plan, self.wiring = plan_of(directory), wiring.load(directory)
        self._kept: Kept = {}

    def pod(self, names: t.Sequence[str] = (), seed: int = 1) -> Pod:
        """The pod with some faults and variants in force."""
        pod = healthy.pod(self.wiring, seed)
        changes.apply(pod, names)
        return pod

    def climb(self, pod: Pod, into: Path, hold: Hold = holding.hold) -> dict[str, t.Any]:
        """The report of a whole climb: answers kept, gates held and all of it written by the code of a run.

        into: the run directory; hold: what holds a gate.
        """
        book = ledger.Ledger(into)
        _open(book, self.plan, (self.directory / "cabling.csv").read_text(encoding="utf-8"))
        for layer in (one for one in LAYERS if one in book.state().layers):
            silent = _silent(self.plan, pod, layer)
            for name in book.state().members[layer]:
                for phase in PHASES.get(layer, SOAKED) if name not in silent else ():
                    replies = _said(self.plan, pod, layer, name, phase, book.node(name)["items"], self._kept)
                    book.keep_answers(layer, name, phase, replies, ANSWERED, [])
            if layer in PHASES:
                for name, replies in loaded.incasts(pod, self.plan, book.state().members[layer]).items():
                    book.keep_answers(layer, name, "load-0", replies, ANSWERED, [])
            hold(into, layer, silent.get)
        state = book.state()
        state.finished = True
        book.keep_state(state)
        return book.report(self.plan, state)


def _open(book: ledger.Ledger, plan: Plan, cabling: str) -> None:
    """As the action ``open_run`` opens a run, without its lock."""
    values = next(iter(plan.nodes.values())).values
    state = climbing.State(
        pod=values["pod_name"], run_id=book.run.name, depth=values["pod_depth"], mode=values["pod_mode"], opened=runs.now(),
        digest=opening.digest(plan, cabling, ledger.version()), version=ledger.version(), scope=dict.fromkeys(plan.groups, "in"),
    )  # fmt: skip
    climbing.start(plan, state, values, None)
    book.keep_plan(plan, state)
    book.keep_state(state)


def _silent(plan: Plan, pod: Pod, layer: str) -> dict[str, str]:
    """The nodes that nobody reaches and that are asked something in a layer, in a run's words."""
    return {
        name: f"unreachable: {node.unreachable}"
        for name, node in pod.nodes.items()
        # Nobody logs in to an InfiniBand switch.
        if node.unreachable
        and plan.nodes[name].platform != "infiniband"
        and judging.wanted(layer, plan.nodes[name].kind, plan.nodes[name].values["pod_fabric"], "now")
    }


def judge(plan: Plan, pod: Pod, layer: str, members: t.Sequence[str] | None = None) -> list[Verdict]:
    """Every verdict of a layer for some nodes (all of them), as if the gates below were open."""
    return judging.judge(told(plan, pod, layer, members))


def told(plan: Plan, pod: Pod, layer: str, members: t.Sequence[str] | None = None) -> judging.Layer:
    """What some nodes (all of them) say in a layer, to be judged."""
    members = list(plan.nodes) if members is None else members
    partners = [name for name in members if plan.nodes[name].role == "host"]
    meshes = plan.meshes(partners)
    silent = _silent(plan, pod, layer)
    phases = PHASES.get(layer, SOAKED)
    said: dict[str, dict[str, judging.Envelope]] = {phase: {} for phase in (*phases, "idle")}
    for name in members:
        items = {**plan.items(name), **meshes.get(name, {})}
        for phase in phases if name not in silent else ():
            said[phase][name] = {**ANSWERED, "readings": _told(_said(plan, pod, layer, name, phase, items, {}))}
    for name, replies in (loaded.incasts(pod, plan, partners) if layer in PHASES else {}).items():
        said["now"].get(name, {"readings": {}})["readings"].update(_told(replies))
    spread = {phase: fabric.spread(plan, told, members) for phase, told in said.items()}
    return judging.Layer(layer, plan, members, partners, spread["now"], spread["before"], silent, (), TODAY, idle=spread["idle"])


def _told(replies: Replies) -> dict[str, t.Any]:
    return {one: {"status": reply.status, "words": reply.words, "rows": reply.rows, "evidence": None} for one, reply in replies.items()}


def decide(plan: Plan, verdicts: list[Verdict], layer: str) -> dict[str, str]:
    """The gates of every group at a layer."""
    fits = (None, next(iter(plan.nodes.values())).values["pod_fabric"])
    checks = [one for one in judging.REGISTRY[layer].values() if one.fabric in fits]
    return {group: gate.state for group, gate in gates.decide(plan, verdicts, plan.groups, checks, {}).items()}


def _said(plan: Plan, pod: Pod, layer: str, name: str, phase: str, items: dict[str, t.Any], kept: Kept) -> Replies:
    """What a node comes to say in one phase of a layer."""
    # Who reads a fabric says what all of it is; what a load moves on a node depends on the others.
    others = answers.moved(pod, plan).of(name) if layer in PHASES and phase == "now" else ""
    key = (layer, name, phase, repr(pod if "fabric" in items else pod.nodes[name]), repr(items), others)
    if key not in kept:
        place = plan.nodes[name]
        names = judging.wanted(layer, place.kind, place.values["pod_fabric"], phase)
        asks, apart = collecting.asks(names, {"platform": place.platform, "values": place.values, "items": items})
        printed = answers.of_node(pod, plan, name, names)
        kept[key] = {one.reading.name: collecting.reply(one, place.platform, answered(pod, name, one, printed, layer, phase)) for one in asks} | apart
    return kept[key]


def answered(pod: Pod, name: str, one: collecting.Ask, printed: dict[tuple[str, ...], answers.Printed], layer: str, phase: str) -> list[collecting.Answer]:
    """What a node's commands for one reading say, in the order of its items."""
    result = []
    missing = {tool.name for tool in pod.nodes[name].tools if tool.how == "missing"}
    for command, item in zip(collecting.commands([one]), one.items):
        argv = command["alternatives"][0]["argv"]
        answer = collecting.Answer("ran", one.sources[0], argv)
        if argv[0] in missing:
            answer.status, answer.stderr = "missing", f"{argv[0]}: not found on PATH"
        elif one.reading.name in answers.SCRIPTED:
            answer.stdout, answer.rc = _scripted(pod, name, one.reading.name, item)
        else:
            said = printed[tuple(argv)]
            later = said.later if said.later is not None else said.stdout
            if phase == "now" and layer in PHASES and said.incast is not None:
                later = said.incast
            answer.stdout, answer.stderr, answer.rc = said.stdout if phase == "before" else later, said.stderr, said.rc
            if said.how:
                answer.status, answer.rc = ("timeout", None) if "sleep" in said.how else ("ran", -11)
        result.append(answer)
    return result


def _scripted(pod: Pod, name: str, reading: str, item: dict[str, t.Any]) -> tuple[str, int]:
    """As the shell texts of ``answers.scripts`` say it."""
    rail = next((one for one in pod.hosts[name].rails if one.address == item["source"]), None)
    if rail is None:
        return "", 2
    if reading == "path_probes":
        size = item["size"] or rail.mtu
        said = {"source": item["source"], "target": item["target"], "size_bytes": size, "flows": item["flows"], "answered": item["flows"] - rail.flows_lost}
        return str(said).replace("'", '"') + "\n", 0
    count, loss = item["count"], rail.loss_to.get(item["target"], rail.loss_percent)
    received = count - count * loss // 100
    text = f"PING {item['target']} ({item['target']}) from {item['source']} {item['netdev']}: 56(84) bytes of data.\n\n"
    text += f"--- {item['target']} ping statistics ---\n"
    text += f"{count} packets transmitted, {received} received, {loss}% packet loss, time {count * 20}ms\n"
    return text + (f"rtt min/avg/max/mdev = {rail.rtt_ms:.3f}/{rail.rtt_ms:.3f}/{rail.rtt_ms:.3f}/0.004 ms\n\n" if received else "\n"), 0 if received else 1
