# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The class of RoCE as most nodes have it: lossless priorities, DSCPs and ECN; proposed, and nodes that differ from the majority of their role named."""

from __future__ import annotations

import typing as t
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from ..pod.expectations import DEFAULTS
from ..pod.names import port_name
from ..pod.tiers import TIERS, WORDS
from ..readings.rows import Rows
from ..text.counting import counted
from .outliers import Outlier
from .proposals import Proposal
from .usual import End, Usual, odd_ones, usual_of

Readings = Mapping[str, Mapping[str, Rows]]
# What each reading tells, in words; values of one subject and role are compared.
PFC, MAP, CNP, ECN = "PFC", "DSCP map", "DSCP of CNPs", "ECN"
OF_ECN = ("queue", "traffic_classes", "marking", "min_bytes", "max_bytes", "probability_percent")
# More DSCPs than this of two maps are counted.
MOST = 3


@dataclass
class RoceClass:
    """proposals: what all roles agree on; outliers: ends that differ from most of their role; undecided: expectations that no reading decides, and why."""

    proposals: list[Proposal] = field(default_factory=list)
    outliers: list[Outlier] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)


def roce_class(
    roles: Mapping[str, str], readings: Readings, cables: Sequence[tuple[End, End]], rails: Mapping[str, Rows]
) -> RoceClass:  # fmt: skip
    """The class of a RoCE pod.

    roles: the nodes with ``host``, ``leaf``, ``spine`` or ``super_spine``; rails: of each host; ports that no cable is on are not compared.
    """
    found = RoceClass()
    usual: dict[str, dict[str, t.Any]] = {}
    of_subjects = {
        PFC: _lossless(roles, readings, {end for cable in cables for end in cable}, rails),
        MAP: _maps(roles, readings, rails),
        CNP: _notifications(roles, readings),
        ECN: _marking(roles, readings),
    }
    for subject, values in of_subjects.items():
        for role in TIERS:
            own = {end: value for end, value in values.items() if roles.get(end[0]) == role}
            if not own:
                continue
            most = usual_of(own)
            if most is None:
                found.undecided.append(f"{subject}: {WORDS[role][1]} differ, and no value is that of most")
                usual.setdefault(subject, {})[role] = None
                continue
            usual.setdefault(subject, {})[role] = most
            found.outliers += _odd(subject, role, own, most)
    _propose(found, usual)
    return found


def _lossless(roles: Mapping[str, str], readings: Readings, cabled: set[End], rails: Mapping[str, Rows]) -> dict[End, Hashable]:
    """The priorities with PFC, by rail of a host and cabled port of a switch."""
    found: dict[End, set[int]] = {}
    ports = {(host, port) for host, own in rails.items() for port in _ports(own)} | {(node, port_name(port)) for node, port in cabled}
    for node, own in readings.items():
        for row in own.get("pfc_priorities", ()):
            end = (node, row["port"] if roles.get(node) == "host" else port_name(row["port"]))
            if end in ports:
                found.setdefault(end, set()).update([row["priority"]] if row["pfc"] else [])
    return {end: frozenset(values) for end, values in found.items()}


def _maps(roles: Mapping[str, str], readings: Readings, rails: Mapping[str, Rows]) -> dict[End, Hashable]:
    """The priorities of each DSCP, by rail of a host; of a switch by all of its maps together."""
    found: dict[End, dict[int, set[int]]] = {}
    for node, own in readings.items():
        of_host = roles.get(node) == "host"
        rows = own.get("dscp_map" if of_host else "dscp_classes")
        if rows is None:
            continue
        # A rail without a row maps no DSCP.
        found |= {(node, port): {} for port in (_ports(rails.get(node, [])) if of_host else [""])}
        for row in rows:
            end = (node, row["netdev"]) if of_host else (node, "")
            for dscp in row["dscp"] if end in found else ():
                found[end].setdefault(dscp, set()).add(row["priority" if of_host else "traffic_class"])
    return {end: frozenset((dscp, tuple(sorted(given))) for dscp, given in own.items()) for end, own in found.items()}


def _notifications(roles: Mapping[str, str], readings: Readings) -> dict[End, Hashable]:
    """The DSCP of CNPs by rail, where the driver reports it."""
    rows = ((node, row) for node, own in readings.items() if roles.get(node) == "host" for row in own.get("dcqcn", ()))
    return {(node, row["netdev"]): int(row["value"]) for node, row in rows if row["setting"] == "cnp_dscp" and str(row["value"]).isdigit()}


def _marking(roles: Mapping[str, str], readings: Readings) -> dict[End, Hashable]:
    """Which classes each switch marks, and from how many bytes on; profiles and ports together."""
    found: dict[End, Hashable] = {}
    for node, own in readings.items():
        if roles.get(node) != "host" and "ecn_settings" in own:
            rows = [[row[key] for key in OF_ECN] for row in own["ecn_settings"]]
            found[(node, "")] = frozenset(tuple(tuple(one) if isinstance(one, list) else one for one in row) for row in rows)
    return found


def _ports(rails: Sequence[Mapping[str, t.Any]]) -> list[str]:
    return [str(port) for rail in rails for port in (rail.get("members") or [rail["netdev"]])]


def _odd(subject: str, role: str, values: Mapping[End, Hashable], most: Usual) -> list[Outlier]:
    of_most = f"of {most.reporting} {WORDS[role][1]}"
    return odd_ones(
        values, most, lambda value: f"{subject} {_words(subject, value, most.value)}, and {_words(subject, most.value, value)} on {most.nodes} {of_most}"
    )


def _words(subject: str, value: t.Any, other: t.Any) -> str:
    """A value in words; of maps where it differs from another."""
    if subject == PFC:
        return f"on priority {_listed(value)}" if value else "on no priority"
    if subject == CNP:
        return str(value)
    if subject == ECN:
        return "; ".join(sorted(_of_ecn(one) for one in value - other)) or ("as of the others but for profiles that they have" if value else "not set")
    own, theirs = dict(value), dict(other)
    if not own or not theirs:
        return f"of {counted(len(own), 'DSCP')}"
    differing = sorted(dscp for dscp in own.keys() | theirs.keys() if own.get(dscp) != theirs.get(dscp))
    given = [f"DSCP {dscp} to {f'priority {_listed(own[dscp])}' if dscp in own else 'none'}" for dscp in differing[:MOST]]
    return ", ".join(given) + (f" and {len(differing) - MOST} more" if len(differing) > MOST else "")


def _of_ecn(profile: tuple[t.Any, ...]) -> str:
    of = dict(zip(OF_ECN, profile))
    classes = [of["queue"]] if of["queue"] is not None else of["traffic_classes"] or ()
    least, most = ("?" if of[key] is None else f"{of[key]:.0f}" for key in ("min_bytes", "max_bytes"))
    return f"{'marks' if of['marking'] else 'does not mark'}{f' class {_listed(classes)}' if classes else ''} from {least} to {most} bytes"


def _listed(numbers: t.Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _propose(found: RoceClass, usual: Mapping[str, Mapping[str, t.Any]]) -> None:
    """Priorities first, then the DSCPs that lead to them."""
    if not usual.keys() - {ECN}:
        found.undecided.append("pod_roce_priority, pod_roce_dscp, pod_cnp_dscp: no host or switch reports PFC, a map of DSCPs or the DSCP of CNPs")
        return
    priority = _priority(found, usual.get(PFC, {}))
    if priority is not None:
        _dscp(found, usual.get(MAP, {}), priority)
    else:
        found.undecided.append("pod_roce_dscp: it follows from the lossless priority, which is not known")
    most = usual.get(CNP, {}).get("host")
    if most is None:
        found.undecided.append("pod_cnp_dscp: the drivers of the rails do not report the DSCP of CNPs, or hosts differ")
    else:
        found.proposals.append(Proposal("pod_cnp_dscp", most.value, f"of the rails of {most.nodes} of {counted(most.reporting, 'host')}"))


def _priority(found: RoceClass, usual: Mapping[str, Usual | None]) -> int | None:
    """The one priority that is lossless at hosts and at switches; others that are so at some are proposed beside it."""
    by_role = {role: one for role, one in usual.items() if one is not None}
    common = frozenset[int].intersection(*(one.value for one in by_role.values())) if by_role else frozenset()
    if len(common) != 1 or len(by_role) < len(usual):
        read = "; ".join(f"{WORDS[role][1]}: {_listed(one.value) or 'none'}" for role, one in by_role.items()) or "not reported"
        lossy = "; where RoCE is meant to be lossy, write pod_pfc: false" if by_role and not any(one.value for one in by_role.values()) else ""
        found.undecided.append(f"pod_roce_priority: not one priority is lossless at all of them ({read}){lossy}")
        return None
    priority = next(iter(common))
    found.proposals.append(Proposal("pod_roce_priority", priority, f"PFC is on for it on {_where(by_role)}"))
    if others := sorted({one for own in by_role.values() for one in own.value} - common):
        found.proposals.append(Proposal("pod_other_lossless_priorities", others, f"PFC is on for {_listed(others)} too, on some or all of them"))
    return priority


def _dscp(found: RoceClass, usual: Mapping[str, Usual | None], priority: int) -> None:
    """The one DSCP that hosts and switches map to the priority of RoCE."""
    by_role = {role: one for role, one in usual.items() if one is not None}
    leading = [{dscp for dscp, given in one.value if given == (priority,)} for one in by_role.values()]
    common = set.intersection(*leading) if leading else set()
    if len(common) != 1 or len(by_role) < len(usual):
        read = f"DSCP {_listed(common)} lead to it" if len(common) > 1 else "none leads to it" if by_role else "no map is reported"
        found.undecided.append(f"pod_roce_dscp: priority {priority} is not that of one DSCP at hosts and switches ({read}); write the one that jobs use")
        return
    dscp = next(iter(common))
    found.proposals.append(Proposal("pod_roce_dscp", dscp, f"the one DSCP of priority {priority} on {_where(by_role)}"))
    if 4 * dscp + 2 != DEFAULTS["pod_traffic_class"]:
        found.proposals.append(Proposal("pod_traffic_class", 4 * dscp + 2, f"DSCP {dscp}, with ECN"))


def _where(by_role: Mapping[str, Usual]) -> str:
    words = [f"{one.nodes} of {one.reporting} {WORDS[role][one.reporting > 1]}" for role, one in by_role.items()]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
