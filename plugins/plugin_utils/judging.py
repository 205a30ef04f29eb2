# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judgement of one layer: every check over every node's rows."""

from __future__ import annotations

import datetime
import json
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .busy import TOLD
from .checks import CannotTell, Check, Finding, NotApplicable
from .checks.every import REGISTRY
from .plan import Plan
from .readings import catalogue
from .verdicts import Verdict, Waiver, settle, worst

Envelope = dict[str, t.Any]
ANSWERED = "answered"


class _Unread(Exception):
    """A check cannot be judged because of a reading; verdict and words say why."""

    def __init__(self, verdict: str, words: str, left_out: bool = False) -> None:
        self.verdict, self.words, self.left_out = verdict, words, left_out
        super().__init__(words)


@dataclass
class Layer:
    """All that judges one layer.

    now, before: the envelopes of ``read`` by node; a node without one was never read.
    members: the nodes that climb to this layer.
    partners: the hosts that members ping; more than the members where ``pod_only`` names some.
    silent: why a node did not answer, in the words of whoever tried.
    only: a check, or None for all of them.
    idle, during: what was read just before the loads, and all samples that were taken during them, as envelopes.
    unloaded: why nothing is loaded in this run, or nothing.
    helpers: hosts that are loaded with the members and not judged; group checks hold the members against them.
    """

    name: str
    plan: Plan
    members: t.Sequence[str]
    partners: t.Sequence[str]
    now: t.Mapping[str, Envelope]
    before: t.Mapping[str, Envelope]
    silent: t.Mapping[str, str]
    waivers: t.Sequence[Waiver]
    today: datetime.date
    only: str | None = None
    idle: t.Mapping[str, Envelope] = field(default_factory=dict)
    during: t.Mapping[str, Envelope] = field(default_factory=dict)
    unloaded: str = ""
    helpers: t.Sequence[str] = ()

    @property
    def fabric(self) -> str:
        """The pod's fabric; every node has the same."""
        return next(iter(self.plan.nodes.values())).values["pod_fabric"]

    def in_phase(self, phase: str) -> t.Mapping[str, Envelope]:
        """The envelopes of a phase."""
        return {"before": self.before, "idle": self.idle, "during": self.during, "now": self.now}[phase]

    def checks(self) -> list[Check]:
        """The layer's checks that fit the pod's fabric."""
        return [one for one in REGISTRY[self.name].values() if one.fabric in (None, self.fabric) and self.only in (None, one.id)]


def wanted(layer: str, kind: str, fabric: str, phase: str) -> list[str]:
    """The readings that a layer's checks need of a kind of node in a phase: ``before``, ``idle``, ``during`` or ``now``."""
    names: dict[str, None] = {}
    for check in REGISTRY[layer].values():
        if check.fabric not in (None, fabric):
            continue
        own = check.in_phase(phase)
        names |= dict.fromkeys(own if kind in check.kinds else ())
        names |= dict.fromkeys(check.of_peers if phase == "now" else ())
        if fabric == "infiniband" and kind == "host":
            names |= dict.fromkeys(of_the_fabric(own))
    if any(check.needs == "load" and check.fabric in (None, fabric) for check in REGISTRY[layer].values()):
        names |= dict.fromkeys(TOLD[fabric].get(phase, ()))
    return [name for name in names if kind in catalogue()[name].kinds and not catalogue()[name].load]


def of_the_fabric(names: t.Iterable[str]) -> list[str]:
    """What readers of an InfiniBand fabric are asked for some readings, and what tells whose the adapters are."""
    bases = dict.fromkeys(base for name in names for of_platform in catalogue()[name].of_fabric.values() for base in of_platform)
    return [*bases, "ibstat"] if bases else []


def judge(layer: Layer) -> list[Verdict]:
    """Every verdict of a layer, for the nodes that climb to it."""
    peers = _of_peers(layer)
    verdicts = []
    speaking = []
    for node in layer.members:
        answered = _answered(layer, node)
        verdicts.append(answered)
        if answered.verdict == "pass":
            speaking.append(node)
    asked = {name for check in layer.checks() for name in check.expectations}
    meshes = layer.plan.meshes(layer.partners, layer.members) if asked & {"pod_pings", "pod_path_probes"} else {}
    incasts = layer.plan.planned_incasts(_loading(layer)) if "pod_incasts" in asked else {}
    for node in speaking:
        values = {**layer.plan.nodes[node].values, **layer.plan.planned(node), **incasts.get(node, {})}
        values |= {"pod_pings": meshes[node]["ping"], "pod_path_probes": meshes[node]["path_probe"]} if node in meshes else {}
        verdicts += [_of_node(layer, check, node, values, peers) for check in layer.checks() if check.scope == "node" and _fits(layer, check, node)]
    for group, hosts in layer.plan.groups.items():
        members = [host for host in hosts if host in speaking]
        if members:
            beside = [host for host in hosts if host not in members and host in layer.helpers]
            verdicts += [_of_group(layer, check, group, members, beside) for check in layer.checks() if check.scope == "group"]
    return verdicts


def _loading(layer: Layer) -> list[str]:
    """The nodes that the loads were planned for: not those that may not be loaded; and where pod_only names some hosts, others that help."""
    told = {node: envelope["readings"]["load_jobs"]["status"] for node, envelope in layer.now.items() if "load_jobs" in envelope["readings"]}
    members = [node for node in layer.members if told.get(node, "ok") == "ok" or "ok" not in told.values()]
    return [*members, *(node for node, status in told.items() if status == "ok" and node not in members)]


def _fits(layer: Layer, check: Check, node: str) -> bool:
    return layer.plan.nodes[node].kind in check.kinds


def _answered(layer: Layer, node: str) -> Verdict:
    """The built-in check: one unknown for a silent node instead of one for each reading."""
    place = layer.plan.nodes[node]
    blank = Verdict(
        layer.name, ANSWERED, place.group, node, "pass", tuple(sorted(layer.plan.affects(node))), "The node answers.",
        cause="The node is down or unreachable, its login or its Python does not work, or it answers too slowly.",
        fix="Log in by hand as the run does (same user, same key), then run the layer again.",
    )  # fmt: skip
    envelope = layer.now.get(node)
    if node in layer.silent or envelope is None or not envelope["answered"]:
        words = layer.silent.get(node) or (envelope or {}).get("words") or "never read"
        return replace(blank, verdict="unknown", words=words, findings=(Finding(node, "an answer", words, "unknown"),))
    if not envelope["readings"]:
        return replace(blank, verdict="skip", words=f"nothing is read from {place.platform} in this layer")
    return blank


def _of_peers(layer: Layer) -> dict[str, dict[str, list[dict[str, t.Any]]]]:
    named = {name for check in layer.checks() for name in check.of_peers}
    return {
        name: {node: said["rows"] for node, envelope in layer.now.items() if (said := envelope["readings"].get(name)) is not None and said["status"] == "ok"}
        for name in named
    }


def _of_node(layer: Layer, check: Check, node: str, values: Mapping[str, t.Any], peers: Mapping[str, t.Any]) -> Verdict:
    blank = _blank(layer, check, layer.plan.nodes[node].group, node, layer.plan.affects(node), check.is_required(values))
    if (words := check.out_of_place(values)) is not None:
        return replace(blank, verdict="skip", words=words)
    try:
        given = _rows(layer, check, node, values)
    except _Unread as unread:
        return replace(blank, verdict=unread.verdict, words=unread.words, left_out=unread.left_out)
    given |= {f"{name}_of_peers": peers[name] for name in check.of_peers}
    given |= {name: values[name] for name in check.expectations}
    settled = _settled(layer, check, blank, given)
    return replace(settled, by_group=_by_group(layer.plan, node, settled))


def _of_group(layer: Layer, check: Check, group: str, hosts: list[str], beside: t.Sequence[str]) -> Verdict:
    """What a check says of a group's members; beside: hosts that they are held against, of which nothing is said."""
    values = layer.plan.nodes[hosts[0]].values
    blank = _blank(layer, check, group, None, frozenset({group}), check.is_required(values))
    if (words := check.out_of_place(values)) is not None:
        return replace(blank, verdict="skip", words=words)
    differing = [name for name in check.expectations if len({_comparable(layer.plan.nodes[host].values.get(name)) for host in hosts}) > 1]
    if differing:
        return replace(blank, verdict="unknown", words=f"members of {group} have different {', '.join(differing)}")
    given: dict[str, t.Any] = {parameter: {} for _phase, _name, parameter in check.asked}
    unread: dict[str, _Unread] = {}
    for host in (*hosts, *beside):
        try:
            for parameter, rows in _rows(layer, check, host, layer.plan.nodes[host].values).items():
                given[parameter][host] = rows
        except _Unread as reason:
            unread |= {host: reason} if host in hosts else {}
    skipped = [why for why in unread.values() if why.verdict == "skip"]
    if len(skipped) == len(hosts):
        return replace(blank, verdict="skip", words=skipped[0].words, left_out=skipped[0].left_out)
    given |= {name: values[name] for name in check.expectations}
    lost = [Finding(host, "a reading", why.words, "unknown", host=host) for host, why in unread.items() if why.verdict != "skip"]
    return _settled(layer, check, blank, given, lost, beside)


def _comparable(value: t.Any) -> str:
    """What members of a group must agree on; rails have an address and a slot of their own, and a far end that other words compare."""
    own = ("address", "pci", "leaf")
    rails = (
        [{key: one for key, one in rail.items() if key not in own} if isinstance(rail, dict) else rail for rail in value] if isinstance(value, list) else value
    )
    return json.dumps(rails, sort_keys=True, default=str)


def _blank(layer: Layer, check: Check, group: str | None, host: str | None, affects: frozenset[str], required: bool) -> Verdict:
    names = sorted(check.reads)
    hosts = [host] if host is not None else []
    evidence = tuple(
        said["evidence"] for node in hosts for name in names if (said := layer.now.get(node, {}).get("readings", {}).get(name)) and said.get("evidence")
    )
    return Verdict(
        layer.name, check.id, group, host, "unknown", tuple(sorted(affects)), check.statement,
        cause=check.cause, fix=check.fix, remedy=check.remedy, evidence=evidence, required=required,
    )  # fmt: skip


def _rows(layer: Layer, check: Check, node: str, values: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The rows of a check's parameters as one node told them.

    Raises _Unread where a needed one is missing.
    """
    if check.needs == "load" and layer.unloaded:
        raise _Unread("skip", layer.unloaded, left_out=True)
    if check.needs == "soak" and values["pod_depth"] == "quick":
        raise _Unread("skip", "no soak at depth quick", left_out=True)
    platform = layer.plan.nodes[node].platform
    if untold := [name for _phase, name, parameter in check.asked if parameter not in check.optional and platform not in catalogue()[name].tellers]:
        # What is needed of a group is needed of each of its switches: what the others tell does not stand for this one.
        raise _Unread("unknown" if check.is_required(values) else "skip", f"platform {platform} has no reading {untold[0]}")
    given: dict[str, t.Any] = {}
    boots = set()
    for phase, name, parameter in check.asked:
        envelopes = layer.in_phase(phase)
        given[parameter] = _said(envelopes, layer, node, name, parameter in check.optional)
        if given[parameter] is not None and not catalogue()[name].load:
            boots.add(envelopes[node].get("boot_id"))
    if len(boots) > 1:
        raise _Unread("unknown", "counters were reset: the node has booted between two readings")
    return given


def _said(envelopes: t.Mapping[str, Envelope], layer: Layer, node: str, name: str, optional: bool) -> list[dict[str, t.Any]] | None:
    said = envelopes.get(node, {}).get("readings", {}).get(name)
    if said is not None and said["status"] == "ok":
        return said["rows"]
    if optional:
        return None
    if said is None:
        raise _Unread("unknown", f"{name} was never read")
    raise _Unread("skip" if said["status"] == "not_applicable" else "unknown", said["words"])


def _settled(
    layer: Layer, check: Check, blank: Verdict, given: dict[str, t.Any], lost: t.Sequence[Finding] = (), beside: t.Container[str] = ()
) -> Verdict:  # fmt: skip
    try:
        findings = [one for one in check.judge(**given) if one.host is None or one.host not in beside]
    except NotApplicable as reason:
        return (
            settle(replace(blank, words=str(reason)), check, list(lost), layer.waivers, layer.today)
            if lost
            else replace(blank, verdict="skip", words=str(reason))
        )
    except CannotTell as reason:
        return replace(blank, verdict="unknown", words=str(reason), findings=tuple(lost))
    except Exception as broken:
        # The one place where an exception of a check becomes a verdict: a crash must not take the layer down, nor pass.
        return replace(blank, verdict="unknown", words=f"check {check.id} broke: {type(broken).__name__}: {broken}")
    return settle(blank, check, [*lost, *findings], layer.waivers, layer.today)


def _by_group(plan: Plan, node: str, verdict: Verdict) -> dict[str, str]:
    """For a shared node, what its verdict is for each group it affects, by the ports its findings are on."""
    if verdict.group is not None or not verdict.findings:
        return {}
    touched: dict[str, list[str]] = {group: ["pass"] for group in verdict.affects}
    for finding in verdict.findings:
        for group in plan.affects(node, finding.port or finding.where):
            touched.setdefault(group, ["pass"]).append(finding.severity or "fail")
    return {group: worst(severities) for group, severities in touched.items()}
