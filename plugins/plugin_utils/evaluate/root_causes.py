# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roots: which findings of a lower layer, or of the same one, explain others."""

from __future__ import annotations

import typing as t

from ..checks import LAYERS
from .absent_rails import name_absent_rails
from .explaining_checks import (
    EXPLAINING,
    FOLLOWS,
    FOLLOWS_ON_HOST,
    IN_LOAD,
    OF_DEVICES,
    OF_HOSTS,
    OF_PAIRS,
    OF_PART,
    OF_PATHS,
    OF_SAME_PAIR,
    OF_SETTINGS,
    OF_SOFTWARE,
    OF_WHOLE_HOST,
    ON_THE_LEAF,
    RATES,
)
from .origins import SPREADING, name_beginning, name_end_of_run, name_origins, name_shared_origins
from .verdicts import ExplainingRecord, FindingRecord, VerdictRecord, place_of, touched_groups

FOUND = ("fail", "warn")
NOT_USED = (
    "gpu_write_bw passes on {host}: its NICs reach GPU memory at their rate, so module, driver and PCIe are in order, and NCCL does not use them: "
    "a variable or topology file forbids it, its container does not see the module, or its version cannot detect it."
)
NOT_USED_FIX = (
    "Look at NCCL_NET_GDR_LEVEL, NCCL_DMABUF_ENABLE and NCCL_TOPO_FILE of the job, at what its container mounts of /sys, and at the NCCL version (2.23 or "
    "later finds nvidia_peermem without memory_peers); leave the host's modules as they are."
)
_Explaining = tuple[ExplainingRecord, FindingRecord]
MOST_EXPLAINING = 5


def add_explanations(records: t.Sequence[VerdictRecord]) -> None:
    """Name in each recorded finding of a rate or a time what a lower layer found on the same host, or on a switch that serves its group,
    and in what follows from a check of the same layer that check's findings in the same groups or on the same host. Blame the library where a lower
    layer proves that it is not the host.

    ``explained_by`` of a finding: at most ``MOST_EXPLAINING`` of these, those of its own layer first and then from the lowest layer up, each as
    ``layer``, ``check``, ``host``, ``where``, ``severity`` and ``actual``.
    """
    _blame_library(records)
    name_origins(records)
    of_host: dict[str, list[_Explaining]] = {}
    of_group: dict[str, list[_Explaining]] = {}
    in_layer: dict[tuple[str, str], list[_Explaining]] = {}
    on_host: dict[tuple[str, str | None], list[_Explaining]] = {}
    for record in records:
        for finding in record["findings"] if record["check"] in EXPLAINING else ():
            stated: ExplainingRecord = {
                "layer": record["layer"], "check": record["check"], "host": finding["host"], "where": finding["where"],
                "severity": finding["severity"], "actual": finding["actual"],
            }  # fmt: skip
            if finding["severity"] in FOUND or finding.get("judged"):
                for group in touched_groups(record):
                    in_layer.setdefault((record["layer"], group), []).append((stated, finding))
            if finding["severity"] in FOUND:
                for group in touched_groups(record):
                    of_group.setdefault(group, []).extend([(stated, finding)] if record["group"] is None and record["check"] in OF_PATHS else [])
                of_host.setdefault(finding["host"] or "", []).extend([(stated, finding)] if record["check"] in OF_PATHS | OF_HOSTS else [])
            if finding["severity"] in FOUND or finding.get("judged"):
                on_host.setdefault((record["layer"], finding["host"]), []).append((stated, finding))
    in_layer_groups = [group for _layer, group in in_layer]
    behind: list[tuple[FindingRecord, list[tuple[str, FindingRecord]]]] = []
    beginning: list[tuple[str, FindingRecord, list[tuple[str, FindingRecord]]]] = []
    spreading: list[tuple[str, FindingRecord, list[tuple[str, FindingRecord]]]] = []
    for record in records:
        for finding in record["findings"] if record["check"] in RATES else ():
            near = [*of_host.get(finding["host"] or "", ()), *(one for group in record["affects"] for one in of_group.get(group, ()))]
            below = [one for one, its in near if LAYERS.index(one["layer"]) < LAYERS.index(record["layer"]) and _on_its_way(record["check"], finding, its)]
            finding["explained_by"] = _first(sorted(below, key=lambda one: LAYERS.index(one["layer"])))
        follows, follows_on_host = FOLLOWS.get(record["check"], ()), FOLLOWS_ON_HOST.get(record["check"], ())
        for finding in record["findings"] if follows or follows_on_host else ():
            # What spreads over spines is of groups that have no part in what it comes from.
            groups = dict.fromkeys([*record["affects"], *(in_layer_groups if record["check"] in SPREADING else ())])
            beside = [pair for group in groups for pair in in_layer.get((record["layer"], group), ()) if pair[0]["check"] in follows]
            beside = [(one, its) for one, its in beside if one["severity"] in FOUND or finding.get("judged")]
            beside = [(one, its) for one, its in beside if record["check"] not in ON_THE_LEAF or _is_of_leaf(its, finding)]
            known = [(one, its) for one, its in on_host.get((record["layer"], finding["host"]), ()) if one["check"] in follows_on_host]
            known = [(one, its) for one, its in known if _at_its_place(record["check"], one["check"], its, finding)]
            same = [*beside, *((one, its) for one, its in known if _may_explain(one, its, finding))]
            below = finding.get("explained_by", [])
            of_its_nodes = _of_its_nodes(finding, same)
            finding["follows"] = _explains_all(finding, of_its_nodes)
            same = of_its_nodes if finding["follows"] else same
            if finding["follows"] or (same and record["check"] in SPREADING):
                behind.append((finding, [(one["check"], its) for one, its in same]))
                # Where what spreads began is known once it is of all others.
                (spreading if record["check"] in SPREADING else beginning).append((record["check"], *behind[-1]))
            finding["explained_by"] = _first([*below[: MOST_EXPLAINING - bool(same)], *(one for one, _its in same)])
    for check, finding, explaining in (*beginning, *spreading):
        name_beginning(check, finding, explaining)
    name_shared_origins(behind)
    name_absent_rails(records)
    name_end_of_run(records)


def _is_of_leaf(its: FindingRecord, finding: FindingRecord) -> bool:
    """Whether a finding is of the leaf of another one's rail, or of the leaf itself; where it names hosts, of this host or port."""
    if its["host"] == finding["host"]:
        return place_of(its).port == place_of(finding).port
    peers = place_of(its).peers
    return its["host"] == finding.get("leaf") and (not peers or finding["host"] in peers)


def _at_its_place(check: str, explaining_check: str, its: FindingRecord, finding: FindingRecord) -> bool:
    """Whether a finding on the same host, of another check, is where it may explain one of a check."""
    explaining, place = place_of(its), place_of(finding)
    if any(name in OF_PART and one.of != OF_PART[name] for name, one in ((check, place), (explaining_check, explaining))):
        return False
    if check in OF_SAME_PAIR:
        return explaining == place
    if check in OF_SETTINGS:
        return (explaining.interface, explaining.of) == (place.interface, place.of)
    if check in OF_SOFTWARE:
        return place.of in OF_SOFTWARE[check]
    # A rail has a device and a netdev, and checks name it by either.
    same_rail = finding.get("rail") is not None and finding.get("rail") == its.get("rail")
    return check not in OF_DEVICES or same_rail or explaining.interface == place.interface


def _nodes(finding: FindingRecord) -> set[str]:
    """The nodes that a finding is about: its own, its rail's leaf, and those that it names."""
    return {node for node in (finding["host"], finding.get("leaf"), *place_of(finding).peers) if node}


def _of_its_nodes(finding: FindingRecord, explaining: t.Sequence[_Explaining]) -> list[_Explaining]:
    """Of the findings that may explain another one of their layer those about the same nodes, which weigh as much."""
    own = _nodes(finding)
    return [(one, its) for one, its in explaining if one["severity"] in ("fail", finding["severity"]) and own & _nodes(its)]


def _explains_all(finding: FindingRecord, explaining: t.Sequence[_Explaining]) -> bool:
    """Whether findings about the same nodes leave nothing of another one unexplained: each node that is missing in it is in one of them."""
    return bool(explaining) and set(place_of(finding).missing) <= {node for _one, its in explaining for node in _nodes(its)}


def _blame_library(records: t.Sequence[VerdictRecord]) -> None:
    """Name the library in a finding of GPUDirect that a job does not use, on a host whose NICs reach GPU memory at their rate without it."""
    fast = {record["host"] for record in records if record["check"] == "gpu_write_bw" and record["verdict"] == "pass"}
    for record in records:
        for finding in record["findings"] if record["check"] == "gpudirect_used" else ():
            if finding["host"] in fast and finding["severity"] == "fail" and not finding.get("cause"):
                finding["cause"], finding["fix"] = NOT_USED.format(host=finding["host"]), NOT_USED_FIX


def _on_its_way(check: str, finding: FindingRecord, below: FindingRecord) -> bool:
    """Whether what a rail sent passes where a lower layer found something: on the same rail, at its leaf's port or between switches.

    A run over many hosts passes everywhere.
    """
    rail = finding.get("rail")
    if check not in OF_PAIRS or rail is None:
        return True
    if below["host"] == finding["host"]:
        return below.get("rail") in (None, rail)
    at_host = below.get("peer")
    # The port to a spine, or a setting of the whole switch, is on the way of many.
    return at_host is None or at_host in place_of(finding).peers or (at_host == finding["host"] and below["host"] == finding.get("leaf"))


def _first(found: t.Iterable[ExplainingRecord]) -> list[ExplainingRecord]:
    """The first few of them, each once."""
    return list({tuple(one.values()): one for one in found}.values())[:MOST_EXPLAINING]


def _may_explain(one: ExplainingRecord, its: FindingRecord, finding: FindingRecord) -> bool:
    """Whether one of the same host may: what is unknown explains no failure, and a failure with another cause of its own needs no explanation."""
    if one["check"] in OF_WHOLE_HOST and not place_of(its).whole:
        return False
    if one["check"] in IN_LOAD | {"hardware_log"}:
        # The finding's own cause says which part of a step was late, and this why.
        return one["severity"] in FOUND
    if finding["severity"] == "unknown":
        return one["severity"] in FOUND or bool(finding.get("judged"))
    return one["severity"] in FOUND and finding.get("cause") in (None, "", its.get("cause"))
