# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of links and of what they carry."""

from __future__ import annotations

from .faults import Fault
from .faults_bgp import LEAF, SPINE, state, unless
from .lab import Lab

SOURCE, TARGET = "gpu01", "gpu02"
# Echo requests and replies are counted apart: whichever of the two pings, one of five of its packets is lost.
LOSS = """table netdev fault {
 chain in {
  type filter hook ingress device "{port}" priority 0
  ip saddr {source} icmp type echo-request numgen inc mod 5 0 counter drop
  ip saddr {source} icmp type echo-reply numgen inc mod 5 0 counter drop
 }
}
"""


class SpineLinksDown(Fault):
    name = "spine_links_down"

    def words(self, lab: Lab) -> str:
        return f"every port of {SPINE} is down"

    def inject(self, lab: Lab) -> None:
        self._set(lab, "down")

    def heal(self, lab: Lab) -> None:
        self._set(lab, "up")

    @staticmethod
    def _set(lab: Lab, way: str) -> None:
        for own, _far, _mtu in lab.plan.ports(SPINE):
            lab.run(SPINE, "ip", "link", "set", own.name, way)

    def missing(self, lab: Lab) -> str | None:
        for _own, far, _mtu in lab.plan.ports(SPINE):
            if (words := carrier(lab, far.node, far.name)) is not None:
                return words
        return unless(f"the session is {state(lab)}", state(lab) != "Established")


class UplinkMtu(Fault):
    name = "uplink_mtu"
    mtu = 1500

    def words(self, lab: Lab) -> str:
        return f"the port of {SPINE} to {LEAF} has MTU {self.mtu}, the other end has more"

    def inject(self, lab: Lab) -> None:
        lab.run(SPINE, "ip", "link", "set", lab.plan.between(SPINE, LEAF)[0].name, "mtu", str(self.mtu))

    def heal(self, lab: Lab) -> None:
        port = lab.plan.between(SPINE, LEAF)[0].name
        mtu = next(mtu for own, _far, mtu in lab.plan.ports(SPINE) if own.name == port)
        lab.run(SPINE, "ip", "link", "set", port, "mtu", str(mtu))

    def missing(self, lab: Lab) -> str | None:
        address = lab.plan.between(LEAF, SPINE)[1].address
        small = lab.run(LEAF, "ping", "-n", "-q", "-c", "1", "-W", "1", "-M", "do", "-s", "1400", address, check=False).returncode
        large = lab.run(LEAF, "ping", "-n", "-q", "-c", "1", "-W", "1", "-M", "do", "-s", "8000", address, check=False).returncode
        return unless(f"ping of 1400 bytes ends with {small}, of 8000 bytes with {large}", small == 0 and large != 0)


class Loss20Percent(Fault):
    name = "loss_20_percent"

    def words(self, lab: Lab) -> str:
        return f"{TARGET} loses every fifth echo packet of {SOURCE} on their first rail"

    def inject(self, lab: Lab) -> None:
        source, target = lab.plan.rails(SOURCE)[0][0], lab.plan.rails(TARGET)[0][0]
        lab.run(TARGET, "nft", "-f", "-", stdin=LOSS.replace("{port}", target.name).replace("{source}", source.address))

    def heal(self, lab: Lab) -> None:
        lab.run(TARGET, "nft", "delete", "table", "netdev", "fault", check=False)

    def missing(self, lab: Lab) -> str | None:
        source, target = lab.plan.rails(SOURCE)[0][0], lab.plan.rails(TARGET)[0][0]
        command = ["ping", "-n", "-q", "-c", "20", "-i", "0.02", "-W", "1", "-I", source.address, target.address]
        output = lab.run(SOURCE, *command, check=False).stdout
        return unless(output, "20 packets transmitted, 16 received" in output)


class HostLinkDown(Fault):
    name = "host_link_down"

    def words(self, lab: Lab) -> str:
        return f"the port of {LEAF} to {SOURCE} is down"

    def inject(self, lab: Lab) -> None:
        lab.run(LEAF, "ip", "link", "set", self._port(lab), "down")

    def heal(self, lab: Lab) -> None:
        lab.run(LEAF, "ip", "link", "set", self._port(lab), "up")

    @staticmethod
    def _port(lab: Lab) -> str:
        return lab.plan.between(LEAF, SOURCE)[0].name

    def missing(self, lab: Lab) -> str | None:
        other = lab.plan.with_role("leaf")[-1]
        gone = lab.plan.network(lab.plan.between(LEAF, SOURCE)[0])
        routes = [route["dst"] for route in lab.learned(other)]
        return carrier(lab, SOURCE, lab.plan.rails(SOURCE)[0][0].name) or unless(f"{other} still has {gone}", gone not in routes)


class RailByAnother(Fault):
    name = "rail_by_another"

    def words(self, lab: Lab) -> str:
        return f"what the first rail of {SOURCE} sends leaves by its second"

    def inject(self, lab: Lab) -> None:
        self._set(lab, 1)

    def heal(self, lab: Lab) -> None:
        self._set(lab, 0)

    @staticmethod
    def _set(lab: Lab, rail: int) -> None:
        own, far = lab.plan.rails(SOURCE)[rail]
        lab.run(SOURCE, "ip", "route", "replace", "10.0.0.0/8", "via", far.address, "dev", own.name, "table", "100")

    def missing(self, lab: Lab) -> str | None:
        """Everything arrives and comes back all the same: only by which port it left is another."""
        (own, _far), (other, _leaf) = lab.plan.rails(SOURCE)[:2]
        target = lab.plan.rails(TARGET)[0][0].address
        (route,) = lab.json(SOURCE, "ip", "-json", "route", "get", target, "from", own.address)
        pinged = lab.run(SOURCE, "ping", "-n", "-q", "-c", "1", "-W", "1", "-I", own.address, target, check=False).returncode
        return unless(f"it leaves by {route['dev']}, and a ping ends with {pinged}", (route["dev"], pinged) == (other.name, 0))


class KernelKeepsFewer(Fault):
    name = "kernel_keeps_fewer"

    def words(self, lab: Lab) -> str:
        return f"the kernel of {LEAF} lacks one next hop to {self.prefix(lab)}, and zebra shows all of them"

    def inject(self, lab: Lab) -> None:
        self._set(lab, self._installed(lab)[:-1])

    def heal(self, lab: Lab) -> None:
        self._set(lab, self._installed(lab))

    @staticmethod
    def prefix(lab: Lab) -> str:
        """The network of the other host's second rail."""
        return lab.plan.network(lab.plan.rails(TARGET)[1][1])

    def _installed(self, lab: Lab) -> list[tuple[str, str]]:
        route = lab.json(LEAF, "vtysh", "-c", f"show {'ipv6' if lab.plan.shape.ipv6 else 'ip'} route {self.prefix(lab)} json")[self.prefix(lab)][0]
        return [(hop["ip"], hop["interfaceName"]) for hop in route["nexthops"] if hop.get("fib")]

    def _set(self, lab: Lab, hops: list[tuple[str, str]]) -> None:
        words = [word for address, port in hops for word in ("nexthop", "via", address, "dev", port)]
        lab.run(LEAF, "ip", lab.version, "route", "replace", self.prefix(lab), "proto", "bgp", "metric", "20", *words)

    def missing(self, lab: Lab) -> str | None:
        (route,) = lab.json(LEAF, "ip", "-json", lab.version, "route", "show", self.prefix(lab))
        kernel, zebra, spines = len(route.get("nexthops", [route])), len(self._installed(lab)), lab.plan.shape.spines
        return unless(f"the kernel has {kernel} next hops, zebra {zebra}", (kernel, zebra) == (spines - 1, spines))


def carrier(lab: Lab, node: str, port: str) -> str | None:
    """The words that a port still has its carrier; None where it has none."""
    flags = lab.json(node, "ip", "-json", "link", "show", "dev", port)[0]["flags"]
    return unless(f"{node}:{port} has its carrier", "NO-CARRIER" in flags)
