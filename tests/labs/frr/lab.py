# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab that is up: where it is, and how its nodes are asked from outside, past sshd and Ansible."""

from __future__ import annotations

import json
import subprocess
import tempfile
import typing as t
from pathlib import Path

from ..standing import LabError, poll
from . import configs
from .shape import Plan, Shape, plan


def directory_of(name: str) -> Path:
    """The private directory of the lab of that name."""
    return Path(tempfile.gettempdir()) / f"gpufabric-frr-lab-{name}"


class Lab:
    """A lab that is up."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.directory = directory_of(name)
        try:
            kept = json.loads((self.directory / "lab.json").read_text())
        except FileNotFoundError:
            raise LabError(f"no lab {name!r} is up: {self.directory}/lab.json does not exist") from None
        self.plan: Plan = plan(Shape(**kept["shape"]), kept["management"])
        self.processes: dict[str, int] = kept["processes"]
        self.inventory = self.directory / "inventory"

    def enter(self, node: str) -> list[str]:
        """The start of a command line that runs within a node."""
        return ["nsenter", "--target", str(self.processes[node]), "--net", "--mount", "--uts", "--ipc", "--pid", "--"]

    def run(self, node: str, *command: str, check: bool = True, stdin: str | None = None, timeout: float = 30) -> subprocess.CompletedProcess[str]:
        """Run a command within a node.

        Raises LabError where it fails, unless ``check`` is false.
        """
        done = subprocess.run(
            [*self.enter(node), *command], input=stdin if stdin is not None else "", capture_output=True, text=True, timeout=timeout, cwd="/", check=False
        )
        if check and done.returncode:
            raise LabError(f"{' '.join(command)} on {node} ended with status {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
        return done

    def vtysh(self, node: str, *commands: str) -> str:
        """Say commands to a switch's vtysh; it ends with status 0 also for some that it refuses, so its words are read.

        Raises LabError for a refused command.
        """
        output = self.run(node, "vtysh", *(word for command in commands for word in ("-c", command))).stdout
        if output.lstrip().startswith("%"):
            raise LabError(f"{node} refuses {commands[-1]!r}: {output.strip()}")
        return output

    def configure(self, switch: str, *lines: str) -> None:
        """Configure a switch's BGP."""
        self.vtysh(switch, "configure terminal", f"router bgp {self.plan.nodes[switch].asn}", *lines)

    def json(self, node: str, *command: str) -> t.Any:
        """What a command within a node prints, as JSON."""
        return json.loads(self.run(node, *command).stdout or "null")

    def neighbor(self, switch: str, name: str) -> dict[str, t.Any]:
        """One line of a switch's BGP summary; name: the neighbor's address, or the port where it is unnumbered."""
        return self.summary(switch)[name]

    def summary(self, switch: str) -> dict[str, dict[str, t.Any]]:
        """A switch's neighbors of the fabric's family, by name."""
        family = configs.family(self.plan)
        return json.loads(self.vtysh(switch, f"show bgp {family} unicast summary json")).get("peers", {})

    def wait(self, seconds: float = 60) -> None:
        """Until every session is Established and every leaf spreads to each remote rail over all spines.

        Raises LabError at the deadline.
        """
        for switch in self.plan.switches():
            self._wait_for_sessions(switch.name, seconds)
        for leaf in self.plan.with_role("leaf") if self.plan.shape.spines else ():
            poll(seconds, lambda name=leaf: self.routes(name), f"{leaf}: all routes over every spine")

    def _wait_for_sessions(self, switch: str, seconds: float) -> None:
        """Until a switch's sessions are Established.

        FRR 8.4 can miss its neighbor on a port without addresses that has just come up: that session stays Idle until the port goes down and up.
        """
        words = f"{switch}: all sessions Established"
        try:
            poll(seconds, lambda: self.sessions(switch), words)
        except LabError:
            idle = [name for name, peer in self.summary(switch).items() if peer["state"] == "Idle"] if self.plan.shape.ipv6 else []
            if not idle:
                raise
            for way in ("down", "up"):
                for port in idle:
                    self.run(switch, "ip", "link", "set", port, way)
            poll(seconds, lambda: self.sessions(switch), words)

    def sessions(self, switch: str) -> str | None:
        """Which sessions of a switch are not Established, or adjacencies not Full; None where all are."""
        if self.plan.shape.ospf:
            return self.adjacencies(switch)
        planned = {configs.neighbor(own, far) for own, far, _asn in self.plan.peers(switch)}
        if not planned:
            return None
        try:
            peers = self.summary(switch)
        except (LabError, ValueError) as error:
            return str(error)
        down = [
            f"{address} {peers.get(address, {}).get('state', 'unknown')}" for address in sorted(planned) if peers.get(address, {}).get("state") != "Established"
        ]
        return ", ".join(down) or None

    def adjacencies(self, switch: str) -> str | None:
        """Which ports of a switch to others have no OSPF neighbor in Full; None where all have."""
        try:
            routers = json.loads(self.vtysh(switch, "show ip ospf neighbor json")).get("neighbors", {})
        except (LabError, ValueError) as error:
            return str(error)
        full = {one["ifaceName"].partition(":")[0] for its in routers.values() for one in its if one["nbrState"].startswith("Full/")}
        return ", ".join(own.name for own, _far, _asn in self.plan.peers(switch) if own.name not in full) or None

    @property
    def version(self) -> str:
        """The option of ``ip`` for the fabric's family, which it does not tell from a prefix."""
        return "-6" if self.plan.shape.ipv6 else "-4"

    def learned(self, switch: str) -> list[dict[str, t.Any]]:
        """The routes that a switch's kernel has of BGP, or of OSPF."""
        return self.json(switch, "ip", "-json", self.version, "route", "show", "proto", "ospf" if self.plan.shape.ospf else "bgp")

    def routes(self, leaf: str) -> str | None:
        """Which remote rails a leaf's kernel does not spread over every spine; None where all are."""
        routes = {route["dst"]: len(route.get("nexthops", [None])) for route in self.learned(leaf)}
        wrong = []
        for host in self.plan.with_role("host"):
            for own, far in self.plan.rails(host):
                hops = routes.get(self.plan.network(far), 0)
                if far.node != leaf and hops != self.plan.shape.spines:
                    wrong.append(f"{hops} next hops to {host}:{own.name}")
        return ", ".join(wrong) or None
