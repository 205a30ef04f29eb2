# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evaluation of one layer: every check over every node's rows."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace

from ..checks import CannotTell, Check, Finding, NotApplicable, NotProved
from ..checks.needed_readings import needed_readings
from ..checks.place import at_node
from ..collect.types import reading_of
from ..loads.incast_expectations import incast_expectations
from .layer_input import ANSWERED, Layer, NotRead, rows_of_check
from .shared_nodes import by_group
from .unread import unparsed_readings
from .verdicts import Verdict, settle, undecided

OWN_OF_RAIL = ("address", "pci", "leaf")


def verdicts_of_checks(layer: Layer) -> list[Verdict]:
    """Every verdict of a layer, for the nodes that take part in it."""
    peers = _of_peers(layer)
    verdicts = []
    evaluated = []
    # Switches of which nothing is read are judged by what others report of them.
    unasked = set()
    for node in layer.members:
        answered = _answered(layer, node)
        verdicts.append(answered)
        # A host of which nothing was asked, or nothing came, is judged too: what was left out is named, and what is missing is unknown.
        if answered.verdict in ("pass", "skip"):
            evaluated.append(node)
        if answered.verdict == "skip" and layer.plan.nodes[node].kind == "switch":
            unasked.add(node)
    asked = {name for check in layer.checks() for name in check.expectations}
    meshes = layer.plan.meshes(layer.partners, layer.members) if asked & {"pod_pings", "pod_path_probes"} else {}
    incasts = incast_expectations(layer.plan, _loading(layer)) if "pod_incasts" in asked else {}
    not_asked = [node for node in layer.plan.nodes if node not in layer.members and node not in layer.now] if "pod_not_asked" in asked else []
    apart = {"pod_not_asked": not_asked, "pod_closed_switches": _closed_switches(layer) if "pod_closed_switches" in asked else []}
    for node in evaluated:
        values = {**layer.plan.nodes[node].values, **layer.plan.planned(node), **incasts.get(node, {}), **apart}
        values |= {"pod_pings": meshes[node]["ping"], "pod_path_probes": meshes[node]["path_probe"]} if node in meshes else {}
        own = [one for one in layer.checks() if one.scope == "node" and layer.plan.nodes[node].kind in one.kinds and not (node in unasked and one.asked)]
        verdicts += [_of_node(layer, check, node, values, peers) for check in own]
    for group, hosts in layer.plan.groups.items():
        members = [host for host in hosts if host in evaluated]
        if members:
            beside = [host for host in hosts if host not in members and host in layer.helpers]
            verdicts += [_of_group(layer, check, group, members, beside, peers) for check in layer.checks() if check.scope == "group"]
    return verdicts


def _closed_switches(layer: Layer) -> list[str]:
    """The switches behind which no gate group takes part; where ``pod_only`` names nodes, the groups of their partners do."""
    groups = {layer.plan.nodes[node].group for node in (*layer.members, *layer.partners)}
    return [node.name for node in layer.plan.nodes.values() if node.kind == "switch" and not layer.plan.affects(node.name) & groups]


def _loading(layer: Layer) -> list[str]:
    """The nodes that the loads were planned for: not those that may not be loaded; and where pod_only names some hosts, others that help."""
    load_status = {node: envelope["readings"]["load_jobs"]["status"] for node, envelope in layer.now.items() if "load_jobs" in envelope["readings"]}
    members = [node for node in layer.members if load_status.get(node, "ok") == "ok" or "ok" not in load_status.values()]
    return [*members, *(node for node, status in load_status.items() if status == "ok" and node not in members)]


def _too_few(layer: Layer, check: Check, groups: frozenset[str]) -> str:
    """Why fewer hosts take part than a check needs, or nothing; one that is silent or may not be loaded takes part: that is unknown."""
    if check.hosts is None:
        return ""
    least, where = check.hosts
    taking_part = {node for node in (*layer.members, *layer.partners, *layer.helpers) if layer.plan.nodes[node].kind == "host"}
    if where == "group":
        most = max((len(taking_part.intersection(layer.plan.groups[group])) for group in groups), default=0)
        return f"it takes {least} hosts of a gate group, and {most} took part" if most < least else ""
    return f"it takes {least} hosts, and {len(taking_part)} took part" if len(taking_part) < least else ""


def _answered(layer: Layer, node: str) -> Verdict:
    """The built-in check: one unknown for a silent node instead of one for each reading."""
    place = layer.plan.nodes[node]
    blank = Verdict(
        layer.name, ANSWERED, place.group, node, "pass", tuple(sorted(layer.plan.affects(node))), "The node answers.",
        cause="The node is down or unreachable, its login or its Python does not work, or it answers too slowly.",
        fix="Log in by hand as the run does (same user, same key), then run the layer again.",
    )  # fmt: skip
    if node in layer.left_out:
        blank = replace(
            blank,
            cause="The run was started without this node (outside --limit), and the gate groups in scope need it.",
            fix="Start the run with --limit of whole gate groups and the switches that serve them, or without --limit.",
        )
    envelope = layer.now.get(node)
    if node in layer.silent or envelope is None or not envelope["answered"]:
        words = layer.silent.get(node) or (envelope["words"] if envelope else "") or "never read"
        return replace(blank, verdict="unknown", words=words, findings=(Finding(at_node(node), "an answer", words, "unknown"),))
    # What does not apply to a node was not read from it; a reader of the fabric reports it among its own readings.
    if any(reading["status"] != "not_applicable" for reading in envelope["readings"].values()):
        return blank
    words = f"nothing is read from {place.platform} in this layer"
    if needed_readings(layer.name, place.kind, place.values, "now"):
        return replace(blank, verdict="unknown", words=words, findings=(Finding(at_node(node), "a reading", words, "unknown"),))
    return replace(blank, verdict="skip", words=words)


def _of_peers(layer: Layer) -> dict[str, dict[str, list[dict[str, t.Any]]]]:
    """The rows of every node that reported them, by the parameter that names reading and phase, and by node."""
    named = {one for check in layer.checks() for one in check.of_peers}
    return {
        parameter: {
            node: reading["rows"]
            for node, envelope in layer.in_phase(phase).items()
            if (reading := envelope["readings"].get(name)) is not None and reading["status"] == "ok"
        }
        for phase, name, parameter in named
    }


def _of_node(layer: Layer, check: Check, node: str, values: t.Mapping[str, t.Any], peers: t.Mapping[str, t.Any]) -> Verdict:
    blank = _blank(layer, check, layer.plan.nodes[node].group, node, layer.plan.affects(node), values)
    if (words := check.out_of_place(values)) is not None:
        return replace(blank, verdict="skip", words=words)
    if words := _too_few(layer, check, layer.plan.affects(node)):
        return replace(blank, verdict="skip", words=words, too_few=True)
    try:
        given = rows_of_check(layer, check, node, values)
    except NotRead as unread:
        if unread.of_rails:
            return settle(blank, check, list(unread.of_rails), layer.waivers, layer.today)
        return replace(blank, verdict=unread.verdict, words=unread.words, **unread.marks)
    given |= {parameter: peers[parameter] for _phase, _name, parameter in check.of_peers}
    given |= {name: values[name] for name in check.expectations}
    settled = _judged(layer, check, blank, given, beside=(), unparsed=unparsed_readings(layer.in_phase, check, node))
    return replace(settled, by_group=by_group(layer.plan, node, settled))


def _of_group(layer: Layer, check: Check, group: str, hosts: list[str], beside: t.Sequence[str], peers: t.Mapping[str, t.Any]) -> Verdict:
    """What a check says of a group's members; beside: hosts that they are compared with, which are not judged."""
    values = {**layer.plan.nodes[hosts[0]].values, **layer.plan.of_all()}
    blank = _blank(layer, check, group, None, frozenset({group}), values)
    if (words := check.out_of_place(values)) is not None:
        return replace(blank, verdict="skip", words=words)
    if words := _too_few(layer, check, frozenset({group})):
        return replace(blank, verdict="skip", words=words, too_few=True)
    differing = [name for name in check.expectations if len({_comparable(layer.plan.nodes[host].values.get(name)) for host in hosts}) > 1]
    if differing:
        return replace(blank, verdict="unknown", words=f"members of {group} have different {', '.join(differing)}")
    given: dict[str, t.Any] = {parameter: {} for _phase, _name, parameter in check.asked}
    unread: dict[str, NotRead] = {}
    for host in (*hosts, *beside):
        try:
            for parameter, rows in rows_of_check(layer, check, host, layer.plan.nodes[host].values).items():
                given[parameter][host] = rows
        except NotRead as reason:
            unread |= {host: reason} if host in hosts else {}
    skipped = [why for why in unread.values() if why.verdict == "skip"]
    if len(skipped) == len(hosts):
        return replace(blank, verdict="skip", words=skipped[0].words, **skipped[0].marks)
    given |= {parameter: peers[parameter] for _phase, _name, parameter in check.of_peers} | {name: values[name] for name in check.expectations}
    lost = [one for host, why in unread.items() if why.verdict != "skip" for one in _lost_of(host, why)]
    unparsed = [one for host in hosts if host not in unread for one in unparsed_readings(layer.in_phase, check, host)]
    return _judged(layer, check, blank, given, lost, beside, unparsed)


def _lost_of(host: str, why: NotRead) -> list[Finding]:
    """What a group's check says of a host of which a reading is missing."""
    if why.of_rails:
        return [replace(one, host=host) for one in why.of_rails]
    return [Finding(at_node(host), "a reading", why.words, "unknown", host=host, **why.marks)]


def _comparable(value: t.Any) -> str:
    """What members of a group must agree on; rails have an address and a slot of their own, and a far end that other words compare."""
    if isinstance(value, list):
        value = [{key: one for key, one in rail.items() if key not in OWN_OF_RAIL} if isinstance(rail, dict) else rail for rail in value]
    return json.dumps(value, sort_keys=True, default=str)


def _blank(layer: Layer, check: Check, group: str | None, host: str | None, affects: frozenset[str], values: t.Mapping[str, t.Any]) -> Verdict:
    hosts = [host] if host is not None else []
    kept = (reading_of(layer.now, node, name) for node in hosts for name in sorted(check.reads))
    evidence = tuple(text for reading in kept if reading and (text := reading.get("evidence")))
    return Verdict(
        layer.name, check.id, group, host, "unknown", tuple(sorted(affects)), check.stated(values),
        cause=check.cause, fix=check.fix, remedy=check.remedy, evidence=evidence, required=check.is_required(values),
    )  # fmt: skip


def _judged(
    layer: Layer, check: Check, blank: Verdict, given: dict[str, t.Any], lost: t.Sequence[Finding] = (), beside: t.Container[str] = (),
    unparsed: t.Sequence[Finding] = (),
) -> Verdict:  # fmt: skip
    findings = list(lost)  # One by one: what is found before the check cannot tell stays found.
    try:
        for one in check.judge(**given):
            findings += [one] if one.host is None or one.host not in beside else []
    except NotApplicable as reason:
        blank = replace(blank, words=str(reason))
        return settle(blank, check, findings, layer.waivers, layer.today) if findings else replace(blank, verdict="skip", too_few=isinstance(reason, NotProved))
    except CannotTell as reason:
        return undecided(blank, check, [*findings, *unparsed], reason, layer.waivers, layer.today)
    except Exception as broken:
        # Only here an exception of a check becomes a verdict: a crash must not take the layer down, nor pass.
        crash = CannotTell(f"check {check.id} broke: {type(broken).__name__}: {broken}")
        return undecided(blank, check, [*findings, *unparsed], crash, layer.waivers, layer.today)
    return settle(blank, check, [*findings, *unparsed], layer.waivers, layer.today)
