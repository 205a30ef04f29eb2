# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A switch that runs BGP with another AS than the plan has of it: what it and its neighbors say of its sessions follows from that."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...pod.types import Neighbor
from ...readings.rows import Peers, Rows
from ...text.ranges import ranges
from .. import Finding
from ..place import Place

OWN_AS = "{switch} runs BGP with AS {got}, and the plan has AS {asn} for it: it was given the configuration of another switch, or the plan is wrong."
SAME_AS = (
    "{switch} runs BGP with AS {got}, which is that of {others} too, and the plan has AS {asn} for it: each of them drops the routes of the others, in whose "
    "path it sees its own AS, though sessions with neighbors that take any AS are up."
)
OWN_AS_FIX = (
    "Set AS {asn} on {switch} (router bgp {asn}; the configuration below it is entered again, and remote-as of its neighbors follows), and compare router ID, "
    "loopback and names with the plan, which such a copy has from the other switch as well; or correct bgp_asn of {switch} in the inventory."
)
OF_PEER = "{switch} runs BGP with AS {got}, and the plan has AS {asn} for it."
OF_PEER_FIX = "Mend what is found of the AS of {switch}; this end needs no change."


def ases_of(rows: Rows) -> set[int]:
    """The ASes with which a switch runs BGP, as far as it reports them."""
    return {row["local_asn"] for row in rows if row.get("local_asn") is not None}


def own_as(switch: str, asn: int | None, rows: Rows, of_peers: Peers) -> t.Iterator[Finding]:
    """A finding of a switch whose own AS, in every VRF, is another one than the plan's."""
    got = ases_of(rows)
    if asn is None or not got or asn in got:
        return
    others = [peer for peer, its in of_peers.items() if peer != switch and ases_of(its) & got]
    words = {"switch": switch, "asn": asn, "got": ", ".join(map(str, sorted(got))), "others": ranges(others)}
    yield Finding(Place("its own AS"), f"AS {asn}", f"AS {words['got']}", cause=(SAME_AS if others else OWN_AS).format(**words), fix=OWN_AS_FIX.format(**words))


def behind_wrong_as(switch: str, asn: int | None, planned: Neighbor, own: Rows, of_peers: Peers) -> t.Callable[[Finding], Finding] | None:
    """What counts a finding of a session to the end of it that runs with another AS than the plan's; None where neither does."""
    for node, wanted, rows in ((planned["peer"], planned["asn"], of_peers.get(planned["peer"], [])), (switch, asn, own)):
        if wanted is not None and (got := ases_of(rows)) and wanted not in got:
            words = {"switch": node, "asn": wanted, "got": ", ".join(map(str, sorted(got)))}
            cause, fix = OF_PEER.format(**words), OF_PEER_FIX.format(**words)
            return lambda finding: replace(finding, cause=cause, fix=fix, began_at=(node, ""))
    return None
