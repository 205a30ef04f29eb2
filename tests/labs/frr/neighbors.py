# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real lldpd in nodes of the lab; it ends with its node."""

from __future__ import annotations

import json
import typing as t

from ..standing import LabError, poll
from .lab import Lab

# lldpd starts paused until its own lldpcli has read its files; another one beside it writes the pause back, so all is said in a file.
SETTINGS = """configure lldp tx-interval 2
configure lldp tx-hold 30
configure lldp portidsubtype ifname
configure system hostname {node}
"""
START = 'mkdir -p /run/lldpd && chown _lldpd /run/lldpd && printf "%s" "$0" > /run/lldpd/lab.conf && exec lldpd -O /run/lldpd/lab.conf -I "swp*,rail*"'


def speak(lab: Lab, nodes: t.Collection[str]) -> None:
    """Start lldpd in some nodes, and wait until each hears those of its neighbors that speak."""
    for node in nodes:
        lab.run(node, "sh", "-c", START, SETTINGS.format(node=node))
    poll(120, lambda: _unheard(lab, nodes), "LLDP")


def _unheard(lab: Lab, nodes: t.Collection[str]) -> str | None:
    """A cable between two speaking nodes that one of them does not hear of."""
    for cable in lab.plan.cables:
        for near, far in ((cable.a, cable.b), (cable.b, cable.a)):
            if near.node in nodes and far.node in nodes and far.node not in _heard(lab, near.node).get(near.name, ""):
                return f"{near.node} {near.name} hears {_heard(lab, near.node)}, not {far.node}"
    return None


def _heard(lab: Lab, node: str) -> dict[str, str]:
    output = json.loads(lab.run(node, "lldpctl", "-f", "json").stdout)["lldp"].get("interface", [])
    return {name: json.dumps(one[name]["chassis"]) for one in (output if isinstance(output, list) else [output]) for name in one}


def silence(lab: Lab, nodes: t.Collection[str]) -> None:
    """Let hosts be heard of by traffic alone: they speak no LLDP, and each pings its leaves once.

    Raises LabError where a leaf does not answer.
    """
    for host in nodes:
        for own, leaf in lab.plan.rails(host):
            done = lab.run(host, "ping", "-n", "-q", "-c", "1", "-W", "2", "-I", own.name, leaf.address, check=False)
            if done.returncode:
                raise LabError(f"{leaf.node} does not answer {host} {own.name}")
