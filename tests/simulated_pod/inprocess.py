# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A climb of the simulated pod in one process: its answers parsed and judged as a run does it, without Ansible and without processes."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import functools
import pickle
import time
import typing as t
from dataclasses import replace
from pathlib import Path

from ...plugins.plugin_utils.checks.needed_readings import needed_readings
from ...plugins.plugin_utils.checks.registry import REGISTRY
from ...plugins.plugin_utils.collect.fabric import spread_to_nodes
from ...plugins.plugin_utils.collect.queries import queries_for, query_commands
from ...plugins.plugin_utils.collect.responses import reading_result
from ...plugins.plugin_utils.collect.types import CommandResult, Query, ReadingResult
from ...plugins.plugin_utils.evaluate.gates import decide_gates
from ...plugins.plugin_utils.evaluate.layer import verdicts_of_checks
from ...plugins.plugin_utils.evaluate.layer_input import Envelope, Layer
from ...plugins.plugin_utils.evaluate.verdicts import Verdict
from ...plugins.plugin_utils.loads.planners import plan_step
from ...plugins.plugin_utils.loads.schedule import Rows, StepInput
from ...plugins.plugin_utils.pod.cabling import PLACE, located
from ...plugins.plugin_utils.pod.plan import Plan
from ...plugins.plugin_utils.run.files import utc_now
from ...plugins.plugin_utils.run.planned_pod import expectations_digest
from ...plugins.plugin_utils.run.pod_only import parse_pod_only
from ...plugins.plugin_utils.run.shared_readings import shared_phase
from ...plugins.plugin_utils.run.state import State
from ...plugins.plugin_utils.run.store import RunStore, collection_version
from ...plugins.plugin_utils.workflow.evaluate_layer import hold_gates
from ...plugins.plugin_utils.workflow.report_files import write_report
from ...plugins.plugin_utils.workflow.resuming import enter_run
from . import answers, changes, failing_over, healthy, loaded, performing, wiring
from .model import Host, Pod
from .planned import plan_of

LAYERS = ("preflight", "links", "routing", "congestion")
# When a layer is read: one that loads the pod also just before its loads.
PHASES = {"congestion": ("before", "idle", "now")}
# The layers above, with loads that are planned step by step from what the steps before gave.
LOADED = ("rdma", "collectives", "training")
PHASES_OF_LOADED = ("before", "idle", "now")
MOST_STEPS = 40
SOAKED = ("before", "now")
TODAY = datetime.date(2026, 6, 15)
ANSWERED: t.Final = {"answered": True, "words": "", "boot_id": "1", "uptime_seconds": 1.0, "asked_at": None, "contacted": True}
# When a switch last booted (seconds since the epoch), and its uptime where that was in this run.
LONG_AGO, FRESH_SECONDS = 1_700_000_000.0, 5.0
Replies = dict[str, ReadingResult]
Hold = t.Callable[[Path, str, t.Callable[[str], str | None]], object]
Kept = dict[tuple[str, ...], Replies]
# What nodes of the latest plans said that were judged without a climb.
_JUDGED: collections.deque[tuple[Plan, Kept]] = collections.deque(maxlen=8)


def _hold(run: Path, layer: str, silent_words: t.Callable[[str], str | None]) -> dict[str, str]:
    """Hold a gate; the report of a run under way is for who watches it, and the last one is written anyway."""
    book = RunStore(run)
    return hold_gates(book, book.plan(), book.state(), layer, silent_words)


def pod_of(directory: Path, names: t.Sequence[str] = (), seed: int = 1) -> tuple[Plan, Pod]:
    """The plan of an inventory, and its pod with some faults and variants in force."""
    pod = healthy.pod(wiring.load(directory), seed)
    changes.apply(pod, names)
    return plan_of(directory), pod


class Pods:
    """The pods of one inventory, which differ in their faults: its plan, its wiring, and what nodes come to say that say it in every climb."""

    def __init__(self, directory: Path, kept: Kept | None = None) -> None:
        """kept: what nodes said in climbs of an inventory that differs in no more than how far it is climbed."""
        self.directory = directory
        self.plan, self.wiring = plan_of(directory), wiring.load(directory)
        self._kept: Kept = {} if kept is None else kept
        # The healthy pod of each seed: a copy costs a fifth of making it.
        self._healthy: dict[int, bytes] = {}
        # How often each node was asked in a phase of a layer, in all climbs.
        self.asked: collections.Counter[tuple[str, str, str]] = collections.Counter()

    def pod(self, names: t.Sequence[str] = (), seed: int = 1) -> Pod:
        """The pod with some faults and variants in force."""
        if seed not in self._healthy:
            self._healthy[seed] = pickle.dumps(healthy.pod(self.wiring, seed))
        pod: Pod = pickle.loads(self._healthy[seed])
        changes.apply(pod, names)
        return pod

    @functools.cached_property
    def healthy(self) -> Pod:
        """The pod without any fault, which nobody climbs or changes."""
        return self.pod()

    def climb(
        self, pod: Pod, into: Path, hold: Hold = _hold, groups: t.Sequence[str] = (), earlier: Path | None = None, from_layer: str = "",
        only: str = "", **steering: t.Any,
    ) -> dict[str, t.Any]:  # fmt: skip
        """The report of a whole climb: answers kept, gates held and all of it written by the code of a run.

        into: the run directory; hold: what holds a gate; groups: the gate groups in scope, all where there is none; earlier: the latest
        run before this one; steering: expectations that only steer a run, such as ``pod_from_layer``;
        from_layer: where it begins, as if the gates below were open; only: as ``pod_only``.
        Raises Refused where a run would not be opened.
        """
        book, plan = RunStore(into), _steered(self.plan, steering)
        responses: dict[str, int] = {}
        _open(book, plan, (self.directory / located(self.directory, PLACE)).read_text(encoding="utf-8"), groups or list(self.plan.groups), earlier, only)
        if from_layer:
            state = book.state()
            state.members[from_layer] = state.members.pop(state.layers[0])
            state.layers = state.layers[state.layers.index(from_layer) :]
            book.keep_state(state)
        tested: performing.Tested = set()
        for layer in (one for one in (*LAYERS, *LOADED) if one in book.state().layers):
            if layer in PHASES:
                # The incasts are among those that take part: not hosts of a closed gate group, or outside --limit.
                pod.loaded, pod.moved = [name for name in book.state().members.get(layer, ()) if name in pod.hosts], None
            silent = _silent(plan, pod, layer)
            speaking = [name for name in book.state().members.get(layer, ()) if name not in silent]
            items = functools.cache(lambda name: book.node(name)["items"])
            for phase in PHASES_OF_LOADED if layer in LOADED else PHASES.get(layer, SOAKED):
                read, shared = functools.partial(self._read, book, plan, pod, layer, phase, responses, items), shared_phase(into, layer, phase)
                for _node in read(speaking) if shared is None else shared.results(speaking, read, lambda _words: None):
                    pass
            if layer in PHASES:
                for name, replies in loaded.incasts(pod, plan, book.state().members[layer]).items():
                    book.keep_answers(layer, name, "load-0", replies, _booted(pod, name, replies, responses), [])
            if layer == "routing" and next(iter(plan.nodes.values())).values["pod_failover"]:
                self._fail_over(book, plan, pod, responses)
            if layer in LOADED:
                self._load(book, plan, pod, layer, responses, tested)
            hold(into, layer, silent.get)
        state = book.state()
        state.finished, state.ended = True, utc_now()
        book.keep_state(state)
        return write_report(book, plan, state)

    def _read(
        self,
        book: RunStore,
        plan: Plan,
        pod: Pod,
        layer: str,
        phase: str,
        responses: dict[str, int],
        items: t.Callable[[str], dict[str, t.Any]],
        nodes: t.Sequence[str],
    ) -> t.Iterator[tuple[str, dict[str, t.Any]]]:
        """Each of some nodes, once what it says in a phase is kept."""
        for name in nodes:
            replies = _output(plan, pod, layer, name, phase, items(name), self._kept)
            self.asked[layer, phase, name] += any(reply.status != "not_applicable" for reply in replies.values())
            book.keep_answers(layer, name, phase, replies, _booted(pod, name, replies, responses), [])
            yield name, {}

    def _fail_over(self, book: RunStore, plan: Plan, pod: Pod, responses: dict[str, int]) -> None:
        """The probes of layer 2 while an uplink is shut, and what switches report meanwhile."""
        members = book.state().members["routing"]
        for name, replies in failing_over.results(pod, plan, [name for name in members if name in pod.hosts]).items():
            book.keep_answers("routing", name, "load-0", replies, _booted(pod, name, replies, responses), [])
        for number, (seconds, at) in enumerate(failing_over.samples(pod, plan)):
            for name in members:
                replies = _output(plan, at, "routing", name, "during", book.node(name)["items"], self._kept)
                book.keep_answers("routing", name, f"during-{number}", replies, {**_booted(pod, name, replies, responses), "seconds": seconds}, [])

    def _load(self, book: RunStore, plan: Plan, pod: Pod, layer: str, responses: dict[str, int], tested: performing.Tested) -> None:
        """Every step of a layer's loads, each planned from what the steps before gave."""
        hosts, not_loaded = loaded.loadable(pod, book.state().members.get(layer, ()))
        for name, replies in not_loaded.items():
            book.keep_answers(layer, name, "load-0", replies, _booted(pod, name, replies, responses), [])
        idle = {node: {name: one["rows"] for name, one in envelope["readings"].items()} for node, envelope in book.answers(layer, "idle").items()}
        for step in range(MOST_STEPS):
            done: dict[str, dict[str, Rows]] = {}
            for host, readings in book.loaded(layer).items():
                for name, one in readings.items():
                    done.setdefault(name, {})[host] = one["rows"]
            schedule = plan_step(layer, StepInput(plan, hosts, step, idle, done))
            if schedule is None or not schedule.jobs:
                return
            for host, replies in performing.results(pod, schedule, tested).items():
                book.keep_answers(layer, host, f"load-{step}", replies, _booted(pod, host, replies, responses), [])
        raise AssertionError(f"the loads of {layer} do not end")


def _steered(plan: Plan, steering: t.Mapping[str, t.Any]) -> Plan:
    """A plan whose nodes have other values of some expectations."""
    nodes = {name: replace(node, values={**node.values, **steering}) for name, node in plan.nodes.items()}
    return Plan(nodes, plan.groups, plan.cables) if steering else plan


def _open(book: RunStore, plan: Plan, cabling: str, groups: t.Sequence[str], earlier: Path | None, only: str) -> None:
    """As the action ``open_run`` opens a run, without its lock."""
    values = next(iter(plan.nodes.values())).values
    state = State(
        pod=values["pod_name"], run_id=book.run.name, depth=values["pod_depth"], mode=values["pod_mode"], opened=utc_now(),
        digest=expectations_digest(plan, cabling, collection_version()), version=collection_version(),
        scope={group: "in" if group in groups else "out" for group in plan.groups}, only=only, focus=parse_pod_only(plan, only),
    )  # fmt: skip
    enter_run(plan, state, values, earlier)
    book.keep_plan(plan, state)
    book.keep_state(state)


def _booted(pod: Pod, name: str, replies: Replies, responses: dict[str, int]) -> dict[str, t.Any]:
    """What a response tells of the node's boot; responses: how many each node has given."""
    if all(reply.status == "not_applicable" for reply in replies.values()):
        return {**ANSWERED, "contacted": False}
    responses[name] = responses.get(name, 0) + 1
    if name in pod.switches and pod.switches[name].platform in ("eos", "nxos") and not any(reply.status == "ok" for reply in replies.values()):
        # A switch without Python that refuses all commands refuses the one for its uptime too.
        return {**ANSWERED, "boot_id": None, "uptime_seconds": None}
    after, now = pod.nodes[name].boots_after, time.time()
    booted = after is not None and responses[name] > after
    if name in pod.switches and pod.switches[name].platform in ("eos", "nxos"):
        # Without Python a switch reports its uptime.
        return {**ANSWERED, "boot_id": None, "uptime_seconds": FRESH_SECONDS if booted else now - LONG_AGO, "asked_at": now}
    return {**ANSWERED, "boot_id": "2" if booted else "1"}


def _silent(plan: Plan, pod: Pod, layer: str) -> dict[str, str]:
    """The nodes that nobody reaches and that are asked something in a layer, in a run's words."""
    return {
        name: f"unreachable: {node.unreachable}"
        for name, node in pod.nodes.items()
        # Nobody logs in to an InfiniBand switch.
        if node.unreachable and plan.nodes[name].platform != "infiniband" and needed_readings(layer, plan.nodes[name].kind, plan.nodes[name].values, "now")
    }


def judge(plan: Plan, pod: Pod, layer: str, members: t.Sequence[str] | None = None) -> list[Verdict]:
    """Every verdict of a layer for some nodes (all of them), as if the gates below were open."""
    return verdicts_of_checks(outcome(plan, pod, layer, members))


def findings_by_place(plan: Plan, pod: Pod, layer: str) -> dict[tuple[str, str, str], tuple[str, str]]:
    """The findings of a layer by check, node and place: what was got, and the cause."""
    return {
        (one.check, str(finding.host or one.host), str(finding.where)): (finding.actual, finding.cause or "")
        for one in judge(plan, pod, layer)
        if one.verdict not in ("pass", "skip")
        for finding in one.findings
    }


def outcome(plan: Plan, pod: Pod, layer: str, members: t.Sequence[str] | None = None) -> Layer:
    """What some nodes (all of them) say in a layer, to be judged."""
    members = list(plan.nodes) if members is None else members
    partners = [name for name in members if plan.nodes[name].role == "host"]
    meshes = plan.meshes(partners)
    silent = _silent(plan, pod, layer)
    phases = PHASES.get(layer, SOAKED)
    kept = _kept_of(plan)
    output: dict[str, dict[str, Envelope]] = {phase: {} for phase in (*phases, "idle")}
    for name in members:
        items = {**plan.items(name), **meshes.get(name, {})}
        for phase in phases if name not in silent else ():
            output[phase][name] = {**ANSWERED, "readings": _outcome(_output(plan, pod, layer, name, phase, items, kept))}
    for name, replies in (loaded.incasts(pod, plan, partners) if layer in PHASES else {}).items():
        output["now"].get(name, {"readings": {}})["readings"].update(_outcome(replies))
    spread = {phase: spread_to_nodes(plan, outcome, members) for phase, outcome in output.items()}
    return Layer(layer, plan, members, partners, spread["now"], spread["before"], silent, (), TODAY, idle=spread["idle"])


def _kept_of(plan: Plan) -> Kept:
    """What nodes of a plan have said."""
    for one, kept in _JUDGED:
        if one is plan:
            return kept
    _JUDGED.append((plan, {}))
    return _JUDGED[-1][1]


def _outcome(replies: Replies) -> dict[str, t.Any]:
    return {
        one: {"status": reply.status, "words": reply.words, "rows": reply.rows, "evidence": None, "unparsed": reply.unparsed} for one, reply in replies.items()
    }


def decide(plan: Plan, verdicts: list[Verdict], layer: str) -> dict[str, str]:
    """The gates of every group at a layer."""
    fits = (None, next(iter(plan.nodes.values())).values["pod_fabric"])
    checks = [one for one in REGISTRY[layer].values() if one.fabric in fits]
    return {group: gate.state for group, gate in decide_gates(plan, verdicts, plan.groups, checks, {}).items()}


def _output(plan: Plan, pod: Pod, layer: str, name: str, phase: str, items: dict[str, t.Any], kept: Kept) -> Replies:
    """What a node comes to say in one phase of a layer."""
    # Who reads a fabric says what all of it is; what a load moves on a node depends on the others.
    others = answers.moved(pod, plan).of(name) if (layer in PHASES and phase == "now") or layer in LOADED else ""
    others += pod.seen_by_imex(name)
    key = (layer, name, phase, repr(pod) if "fabric" in items else _read_of(pod.nodes[name]), repr(items), others)
    if key not in kept:
        place = plan.nodes[name]
        names = needed_readings(layer, place.kind, place.values, phase)
        asks, apart = queries_for(names, {"platform": place.platform, "values": place.values, "items": items})
        printed = answers.of_node(pod, plan, name, names)
        kept[key] = {one.reading.name: _result(_Asked.of(one, place.platform, answered(pod, name, one, printed, layer, phase))) for one in asks} | apart
    return kept[key]


@dataclasses.dataclass(frozen=True)
class _Asked:
    """A reading's commands and what they print, alike where both are alike."""

    alike: tuple[object, ...]
    query: Query = dataclasses.field(compare=False)
    platform: str = dataclasses.field(compare=False)
    answers: list[CommandResult] = dataclasses.field(compare=False)

    @classmethod
    def of(cls, query: Query, platform: str, results: list[CommandResult]) -> _Asked:
        printed = tuple((one.status, one.rc, one.stdout, one.stderr) for one in results)
        return cls((query.reading.name, platform, repr(query.items), printed), query, platform, results)


@functools.lru_cache(maxsize=6000)
def _result(one: _Asked) -> ReadingResult:
    """What nodes print alike in several pods is parsed once: of a hundred climbs in a process most nodes are healthy."""
    return reading_result(one.query, one.platform, one.answers)


def answered(pod: Pod, name: str, one: Query, printed: dict[tuple[str, ...], answers.Printed], layer: str, phase: str) -> list[CommandResult]:
    """What a node's commands for one reading say, in the order of its items."""
    result = []
    missing = {tool.name for tool in pod.nodes[name].tools if tool.how == "missing"}
    for command, item in zip(query_commands([one]), one.items):
        form = answers.form_asked(pod, name, command)
        argv = command["alternatives"][form]["argv"]
        answer = CommandResult("ran", one.sources[form], argv)
        if argv[0] in missing:
            answer.status, answer.stderr = "missing", f"{argv[0]}: not found on PATH"
        elif one.reading.name in answers.SCRIPTED:
            answer.stdout, answer.stderr, answer.rc = _scripted(pod, name, one.reading.name, item)
        else:
            output = printed[tuple(argv)]
            answer.stdout, answer.stderr, answer.rc = _stdout(output, layer, phase), output.stderr, output.rc
            if output.how:
                answer.status, answer.rc = ("timeout", None) if "sleep" in output.how else ("ran", -11)
        result.append(answer)
    return result


def _read_of(node: t.Any) -> str:
    """All of a node that a reading may show: how its ranks run is none of it."""
    return repr(dataclasses.replace(node, stack={}) if isinstance(node, Host) else node)


def _stdout(output: answers.Printed, layer: str, phase: str) -> str:
    """What a command prints in a phase of a layer: above loads, counters are where these left them."""
    loads = list(answers.LOADS)
    done = loads[: loads.index(layer) + (phase == "now")] if layer in loads else []
    if (text := output.after(done)) is not None:
        return text
    return output.stdout if output.later is None or (phase == "before" and layer not in LOADED) else output.later


def _scripted(pod: Pod, name: str, reading: str, item: dict[str, t.Any]) -> tuple[str, str, int]:
    """As the shell texts of ``answers.scripts`` say it."""
    rail = next((one for one in pod.hosts[name].rails if one.address == item["source"]), None)
    if rail is None:
        return "", "", 2
    if words := next((words for begin, words in rail.ping_errors.items() if item["target"].startswith(begin)), None):
        cannot = f"cannot probe from {item['source']} to {item['target']}: {words.rpartition(': ')[2]}\n"
        return ("", cannot, 1) if reading == "path_probes" else ("", f"{words}\n", 2)
    if reading == "path_probes":
        size = item["size"] or rail.mtu
        output = {"source": item["source"], "target": item["target"], "size_bytes": size, "flows": item["flows"], "answered": item["flows"] - rail.flows_lost}
        return str(output).replace("'", '"') + "\n", "", 0
    count, loss = item["count"], rail.loss_to.get(item["target"], rail.loss_percent)
    received = count - count * loss // 100
    text = f"PING {item['target']} ({item['target']}) from {item['source']} {item['netdev']}: 56(84) bytes of data.\n\n"
    text += f"--- {item['target']} ping statistics ---\n"
    text += f"{count} packets transmitted, {received} received, {loss}% packet loss, time {count * 20}ms\n"
    text += f"rtt min/avg/max/mdev = {rail.rtt_ms:.3f}/{rail.rtt_ms:.3f}/{rail.rtt_ms:.3f}/0.004 ms\n\n" if received else "\n"
    return text, "", 0 if received else 1
