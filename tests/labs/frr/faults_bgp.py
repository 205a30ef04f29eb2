# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the routing daemons and of their sessions. All of them concern spine02, and its session with leaf01."""

from __future__ import annotations

from .configs import family, neighbor
from .faults import Fault
from .lab import Lab

LEAF, SPINE = "leaf01", "spine02"
FILTER = """table inet fault {
 chain in {
  type filter hook input priority 0
  iifname "{port}" tcp dport 179 counter drop
  iifname "{port}" tcp sport 179 counter drop
 }
}
"""


def ends(lab: Lab) -> tuple[str, str]:
    """What LEAF and SPINE are called by each other, the leaf's name first: their addresses, or the ports of unnumbered sessions."""
    of_leaf, of_spine = lab.plan.between(LEAF, SPINE)
    return neighbor(of_spine, of_leaf), neighbor(of_leaf, of_spine)


def state(lab: Lab) -> str:
    """The state of the session as the leaf has it."""
    return str(lab.neighbor(LEAF, ends(lab)[1])["state"])


def unless(seen: str, wanted: bool) -> str | None:
    """The words of what was seen, unless it is what was wanted."""
    return None if wanted else seen


class SpineDaemonDead(Fault):
    name = "spine_daemon_dead"

    def words(self, lab: Lab) -> str:
        return f"the routing daemons of {SPINE} are dead, its links are up"

    def inject(self, lab: Lab) -> None:
        for daemon in ("bgpd", "zebra"):
            process = lab.run(SPINE, "cat", f"/run/frr/{daemon}.pid").stdout.strip()
            lab.run(SPINE, "kill", "-KILL", process)

    def heal(self, lab: Lab) -> None:
        if lab.run(SPINE, "test", "-S", "/run/frr/bgpd.vty", check=False).returncode or "bgpd" not in self._names(lab):
            lab.run(SPINE, "sh", str(lab.directory / "daemons.sh"))

    def missing(self, lab: Lab) -> str | None:
        living = self._names(lab) & {"bgpd", "zebra"}
        if living:
            return f"{', '.join(sorted(living))} of {SPINE} live"
        return unless(f"{LEAF} has the session {state(lab)}", state(lab) != "Established")

    @staticmethod
    def _names(lab: Lab) -> set[str]:
        return set(lab.run(SPINE, "ps", "-e", "-o", "comm=").stdout.split())


class MaximumPaths1(Fault):
    name = "maximum_paths_1"

    def words(self, lab: Lab) -> str:
        return f"{LEAF} uses one of its equal paths"

    def inject(self, lab: Lab) -> None:
        lab.configure(LEAF, f"address-family {family(lab.plan)} unicast", "maximum-paths 1")

    def heal(self, lab: Lab) -> None:
        lab.configure(LEAF, f"address-family {family(lab.plan)} unicast", "maximum-paths 64")

    def missing(self, lab: Lab) -> str | None:
        spread = [route["dst"] for route in lab.learned(LEAF) if "nexthops" in route]
        return unless(f"{LEAF} still spreads {', '.join(spread)}", not spread)


class NeighborShutDown(Fault):
    name = "neighbor_shut_down"

    def words(self, lab: Lab) -> str:
        return f"{LEAF} shut its neighbor {ends(lab)[1]} down"

    def inject(self, lab: Lab) -> None:
        lab.configure(LEAF, f"neighbor {ends(lab)[1]} shutdown")

    def heal(self, lab: Lab) -> None:
        lab.configure(LEAF, f"no neighbor {ends(lab)[1]} shutdown")

    def missing(self, lab: Lab) -> str | None:
        return unless(f"the session is {state(lab)}", state(lab) == "Idle (Admin)")


class Tcp179Blocked(Fault):
    name = "tcp_179_blocked"

    def words(self, lab: Lab) -> str:
        return f"{SPINE} drops BGP on its port to {LEAF}"

    def inject(self, lab: Lab) -> None:
        port = lab.plan.between(SPINE, LEAF)[0].name
        lab.run(SPINE, "nft", "-f", "-", stdin=FILTER.replace("{port}", port))
        # Else the session lives on until its hold time is over.
        leaf, spine = ends(lab)
        lab.vtysh(SPINE, f"clear bgp {leaf}")
        lab.vtysh(LEAF, f"clear bgp {spine}")

    def heal(self, lab: Lab) -> None:
        lab.run(SPINE, "nft", "delete", "table", "inet", "fault", check=False)

    def missing(self, lab: Lab) -> str | None:
        rules = lab.json(SPINE, "nft", "--json", "list", "table", "inet", "fault")["nftables"]
        dropped = sum(word["counter"]["packets"] for rule in rules for word in rule.get("rule", {}).get("expr", ()) if "counter" in word)
        far = str(lab.neighbor(SPINE, ends(lab)[0])["state"])
        down = {state(lab), far} <= {"Idle", "Connect", "Active"}
        return unless(f"{dropped} packets dropped, the session is {state(lab)} on {LEAF} and {far} on {SPINE}", dropped > 0 and down)


class StuckActive(Fault):
    name = "stuck_active"

    def words(self, lab: Lab) -> str:
        return f"both ends of the session of {LEAF} and {SPINE} wait for the other's call"

    def inject(self, lab: Lab) -> None:
        leaf, spine = ends(lab)
        lab.configure(LEAF, f"neighbor {spine} passive")
        lab.configure(SPINE, f"neighbor {leaf} passive")
        lab.vtysh(LEAF, f"clear bgp {spine}")

    def heal(self, lab: Lab) -> None:
        leaf, spine = ends(lab)
        lab.configure(LEAF, f"no neighbor {spine} passive")
        lab.configure(SPINE, f"no neighbor {leaf} passive")

    def missing(self, lab: Lab) -> str | None:
        return unless(f"the session is {state(lab)}", state(lab) == "Active")


class WrongAs(Fault):
    name = "wrong_as"
    asn = 65999

    def words(self, lab: Lab) -> str:
        return f"{LEAF} expects AS {self.asn} of {ends(lab)[1]}"

    def inject(self, lab: Lab) -> None:
        lab.configure(LEAF, f"neighbor {ends(lab)[1]} remote-as {self.asn}")

    def heal(self, lab: Lab) -> None:
        lab.configure(LEAF, f"neighbor {ends(lab)[1]} remote-as {lab.plan.nodes[SPINE].asn}")

    def missing(self, lab: Lab) -> str | None:
        session = lab.neighbor(LEAF, ends(lab)[1])
        return unless(f"AS {session['remoteAs']}, {session['state']}", session["remoteAs"] == self.asn and session["state"] != "Established")
