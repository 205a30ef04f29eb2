# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the incasts of a run are for each host and each switch port: what it sends, receives or carries in each round."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..pod.plan import Plan
from ..pod.rail_ports import leaves_of
from ..pod.types import NearCable, PodRail
from .across import NO_CORE
from .incasts import Incasts, incasts_among
from .types import Incast
from .uplinks import Core, core_of, flows_over_core

Values = dict[str, t.Any]
# Of a leaf, spine or super-spine in a round.
InRound = tuple[int, str]


def incast_expectations(plan: Plan, members: t.Collection[str]) -> dict[str, Values]:
    """``pod_incasts`` and ``pod_incast_refused`` of every node, from the incasts among the members."""
    found = incasts_among(plan, plan.rails(members))
    cables = {name: [plan.near(name, cable) for cable in plan.at[name]] for name, node in plan.nodes.items() if node.kind == "switch"}
    rows = {**incasts_by_host(found), **incasts_by_switch(found, cables, core_of(plan))}
    refused = "" if found.pairs else "; ".join(found.refused.values()) or "no host takes part"
    result = {}
    for name, node in plan.nodes.items():
        reason = found.refused.get(node.group, "") if node.group is not None else refused
        result[name] = {"pod_incasts": rows.get(name, []), "pod_incast_refused": reason}
    return result


def incasts_by_host(planned: Incasts) -> dict[str, list[Values]]:
    """What each host does: a row for each test it takes part in, by round."""
    rows: dict[str, list[Values]] = {}
    for pair in planned.pairs:
        for role, own, peer in (("sender", pair["sender"], pair["receiver"]), ("receiver", pair["receiver"], pair["sender"])):
            ends = {"device": own["device"], "peer": peer["host"], "peer_device": peer["device"], "peer_leaves": leaves_of(peer)}
            row = {"round": pair["round"], "role": role, **ends, "cross": pair["cross"], "qps": pair["qps"], "seconds": pair["seconds"]}
            row |= {"across": pair["across"], "beside": pair.get("beside") if role == "receiver" else None}
            rows.setdefault(own["host"], []).append(row)
    return {host: sorted(its, key=lambda row: (row["round"], row["device"], row["peer"])) for host, its in rows.items()}


def incasts_by_switch(planned: Incasts, ends: t.Mapping[str, t.Sequence[NearCable]], core: Core = NO_CORE) -> dict[str, list[Values]]:
    """What each port of each switch faces in each round, a row each: ``round``, ``across``, ``port``, ``peer``, ``seconds`` and these:

    ends: the cables of each switch, as of ``Plan.planned``. Roles: ``receiver`` or ``sender`` (the host's rail there), ``uplink`` and
    ``downlink`` (a switch at the other end, and traffic that crosses), ``idle``. device: the host's at that port, or None.
    flows: of an uplink, how many the switch sends over all of them; of a downlink, how many are sent to the switch at its end over all spines, or super-spines.
    offered: of a downlink in a round across gate groups, what is sent to the leaf as a multiple of what its uplinks carry; else 0.
    beside: of a downlink in such a round, all receivers at the leaf, as host and device; else None.
    share: of a receiver in such a round, its part of what the uplinks carry (Gb/s); else None.
    parts: where rails are bonds, of a receiver among how many ports what it gets is divided, of a downlink among how many leaves.
    """
    traffic = _traffic(planned, core)
    across = {pair["round"] for pair in planned.pairs if pair["across"]}
    lasting = {number: max((pair["seconds"] for pair in planned.pairs if pair["round"] == number), default=0) for number in range(1, planned.rounds + 1)}
    return {
        switch: [
            {**traffic.at(number, switch, cable, core), "across": number in across, "seconds": lasting[number]}
            for number in range(1, planned.rounds + 1)
            for cable in cables
        ]
        for switch, cables in ends.items()
    }


@dataclass
class _Traffic:
    """What the pairs of all rounds send.

    rails: by round, host and name of the interface the rail's role, device and number of ports; out, into: how many flows leave a switch upwards, and are sent
    to it from above; crossed: the switches over whose uplinks anything goes; parts: of a leaf with bonds, among how many leaves what is sent is divided.
    offered, beside, shares: of rounds across gate groups, as in the rows.
    """

    rails: dict[tuple[int, str, t.Any], tuple[str, str | None, int]] = field(default_factory=dict)
    out: dict[InRound, int] = field(default_factory=dict)
    into: dict[InRound, int] = field(default_factory=dict)
    crossed: set[InRound] = field(default_factory=set)
    parts: dict[InRound, int] = field(default_factory=dict)
    offered: dict[InRound, float] = field(default_factory=dict)
    beside: dict[InRound, list[tuple[str, str]]] = field(default_factory=dict)
    shares: dict[tuple[int, str, str | None], float] = field(default_factory=dict)

    def add(self, pair: Incast, role: str, rail: PodRail, flows: dict[InRound, int]) -> None:
        """Count what one end of a test sends or receives."""
        number = pair["round"]
        # The wiring plan may call a rail by its netdev or by its device, and a bond by its members.
        names = (rail["netdev"], rail["device"], *rail.get("members", ()))
        self.rails |= {(number, rail["host"], name): (role, rail["device"], len(rail.get("members", ())) or 1) for name in names}
        leaves = leaves_of(rail)
        for key in [(number, leaf) for leaf in leaves]:
            self.crossed |= {key} if pair["cross"] else set()
            flows[key] = flows.get(key, 0) + (pair["qps"] // len(leaves) if pair["cross"] else 0)
            self.parts |= {key: len(leaves)} if len(leaves) > 1 else {}

    def at(self, number: int, switch: str, cable: NearCable, core: Core) -> Values:
        """What one port faces in one round."""
        far = (number, cable["peer"])
        role, device, ports = self.rails.get((number, cable["peer"], cable["peer_port"]), ("idle", None, 1))
        if cable["peer_role"] == "super_spine" or (cable["peer_role"] == "spine" and switch not in core.super_spines):
            role = "uplink" if (number, switch) in self.crossed else "idle"
        elif cable["peer_role"] in ("leaf", "spine"):
            role = "downlink" if far in self.crossed else "idle"
        down = role == "downlink"
        flows = {"uplink": self.out.get((number, switch), 0), "downlink": self.into.get(far, 0)}.get(role, 0)
        divided = {"receiver": ports, "downlink": self.parts.get(far, 1)}.get(role, 1)
        return {
            "round": number, "port": cable["port"], "role": role, "peer": cable["peer"], "device": device, "flows": flows,
            **({"parts": divided} if divided > 1 else {}),
            "offered": self.offered.get(far, 0.0) if down else 0.0,
            "beside": self.beside.get(far) if down else None,
            "share": self.shares.get((number, cable["peer"], device)) if role == "receiver" else None,
        }  # fmt: skip


def _traffic(planned: Incasts, core: Core) -> _Traffic:
    """What all pairs send, counted at the switches that they cross."""
    found = _Traffic()
    for pair in planned.pairs:
        found.add(pair, "sender", pair["sender"], found.out)
        found.add(pair, "receiver", pair["receiver"], found.into)
        if pair["across"]:
            for leaf in leaves_of(pair["receiver"]):
                found.offered[pair["round"], leaf] = pair["offered"]
                found.beside[pair["round"], leaf] = pair["beside"]
            found.shares[pair["round"], pair["receiver"]["host"], pair["receiver"]["device"]] = pair["share"]
    for counts, over_core in zip((found.out, found.into), flows_over_core(planned.pairs, core)):
        counts |= {key: round(flows) for key, flows in over_core.items()}
        found.crossed |= set(over_core)
    return found
