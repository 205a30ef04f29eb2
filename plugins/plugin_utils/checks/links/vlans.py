# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: the VLANs of the ports to hosts."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.names import by_port
from ...pod.types import NearCable
from ...readings.rows import Rows
from .. import Finding, NotApplicable, check
from .._planned import cables_of
from ..place import at_port

# Of how many ports one VLAN is the usual one, and for what share of them; where other switches have one VLAN at these ports, more than half is enough.
LEAST_PORTS, MOST_PORTS_SHARE, HALF = 3, 2 / 3, 1 / 2
Vlans = list[tuple[NearCable, t.Optional[str]]]  # noqa: UP045


@check(
    cause="The port was set up for other servers, or from another template: the host is in another broadcast domain than the hosts beside it.",
    fix="Compare the port's configuration with that of a port in the usual VLAN (switchport mode, access VLAN, no switchport), and set it alike.",
    fabric="roce",
    kind="switch",
    severity="warn",
)
def host_vlans_alike(
    interface_status: Rows, interface_status_of_peers: dict[str, Rows], pod_cables: list[NearCable], pod_same_role: list[str]
) -> t.Iterator[Finding]:  # fmt: skip
    """The ports of a switch to the same rail of its hosts are in one VLAN, or all are routed."""
    rows = by_port(interface_status)
    of_rail: dict[str, Vlans] = {}
    for cable in cables_of(pod_cables):
        if cable["peer_role"] == "host":
            # The VLAN of a member is that of its port-channel.
            of_rail.setdefault(cable["peer_port"], []).append((cable, (rows.get(cable.get("channel") or cable["port"]) or {}).get("vlan")))
    rails = [ports for ports in of_rail.values() if len(ports) >= LEAST_PORTS]
    if not rails:
        raise NotApplicable(f"the plan has no rail of {LEAST_PORTS} or more hosts on this switch")
    if not any(vlan for ports in rails for _cable, vlan in ports):
        raise NotApplicable("this switch does not report the VLANs of its ports to hosts")
    of_peers = [by_port(interface_status_of_peers[node]) for node in pod_same_role if node in interface_status_of_peers]
    usual = [_usual(ports, _one_elsewhere(ports, of_peers)) for ports in rails]
    if not any(usual):
        raise NotApplicable("the ports to hosts are divided among several VLANs, of which none is the usual one")
    for vlan, ports in zip(usual, rails):
        yield from _of_rail(vlan, ports) if vlan else ()


def _usual(ports: Vlans, one_elsewhere: bool) -> str | None:
    """The VLAN of most ports; None where none is."""
    [(vlan, number)] = Counter(vlan for _cable, vlan in ports).most_common(1)
    return vlan if number >= MOST_PORTS_SHARE * len(ports) or (one_elsewhere and number > HALF * len(ports)) else None


def _one_elsewhere(ports: Vlans, of_peers: t.Sequence[t.Mapping[str, dict[str, t.Any]]]) -> bool:
    """Whether most other switches of the role have all of these ports in one VLAN, so that none is divided on purpose."""
    names = [cable.get("channel") or cable["port"] for cable, _vlan in ports]
    vlans = [[row["vlan"] for name in names if (row := rows.get(name)) is not None] for rows in of_peers]
    told = [its for its in vlans if len(its) == len(ports) and None not in its]
    return len(told) >= LEAST_PORTS and 2 * sum(len(set(its)) == 1 for its in told) > len(told)


def _of_rail(usual: str, ports: Vlans) -> t.Iterator[Finding]:
    for cable, vlan in ports:
        expected = f"{_words(usual)}, as most ports to {cable['peer_port']} of hosts"
        if vlan is None:
            yield Finding(at_port(cable["port"]), expected, f"not reported for the port to {cable['peer']}", "unknown")
        elif vlan != usual:
            yield Finding(at_port(cable["port"]), expected, f"{_words(vlan)} (to {cable['peer']} {cable['peer_port']})")


def _words(vlan: str) -> str:
    return f"VLAN {vlan}" if vlan.isdigit() else vlan
