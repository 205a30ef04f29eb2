# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: NVLink over the trays of a rack (NVL72): one clique of GPUs, and the IMEX domain that lends their memory to each other."""

from __future__ import annotations

import re
import typing as t
from collections import Counter

from ...readings.rows import Peers
from .. import CannotTell, Finding, NotApplicable, check
from .._odd_ones import odd_ones, undecided
from ..place import Place, at_gpu

# GPUs of which NVLink may reach beyond the host; a GB200 NVL4 has the same name and does not.
IN_RACKS = re.compile(r"\bGB[23]00\b")
NO_CLUSTER = "00000000-0000-0000-0000-000000000000"
UNDECIDED = "GPUs of this name stand alone (NVL4) or in a rack of one NVLink cluster (NVL72), and what is healthy differs."
SET_DOMAIN = "Set pod_nvlink_domain to gate_group (each gate group is one NVL72 rack, or one partition of it) or to host."
ONE_WITHOUT = "The domain as a whole is not up although its nodes are: a node of its list has not joined, or lists differ between trays."


@check(
    cause="The tray is in another partition of the rack's NVLink fabric than its gate group, or the fabric manager of the switch trays has not admitted it.",
    fix="Compare CliqueId and ClusterUUID of nvidia-smi -q with the group's other trays, then the partitions in the rack's fabric manager (NMX-C); "
    "where the partition is meant, make it a gate group of its own.",
    scope="group",
    when=("pod_nvlink_domain", ("auto", "gate_group")),
)
def nvlink_clique(gpus: Peers, pod_nvlink_domain: str) -> t.Iterator[Finding]:
    """All GPUs of a gate group are in one NVLink clique of one cluster, where NVLink reaches over several hosts."""
    if pod_nvlink_domain == "auto":
        names = sorted({str(gpu["name"]) for rows in gpus.values() for gpu in rows if IN_RACKS.search(str(gpu["name"]))})
        if not names:
            raise NotApplicable("NVLink ends within the host")
        raise CannotTell(f"whether NVLink of {', '.join(names)} reaches over several hosts: not stated", UNDECIDED, SET_DOMAIN)
    placed: dict[tuple[str, int], str] = {}
    for host, rows in gpus.items():
        if not rows:
            yield Finding(Place("GPUs"), "a clique of each", "no GPU is reported", "unknown", host=host)
        for gpu in rows:
            clique, cluster = gpu["fabric_clique"], gpu["fabric_uuid"]
            if clique is None or cluster is None:
                yield Finding(at_gpu(gpu["gpu"]), "CliqueId and ClusterUUID", "not reported", "unknown", host=host)
            elif cluster == NO_CLUSTER:
                yield Finding(at_gpu(gpu["gpu"]), "a ClusterUUID", "all zero: the GPU is in no cluster of several hosts", host=host)
            else:
                placed[host, gpu["gpu"]] = f"clique {clique} of {cluster.lower()}"
    yield from _other_cliques(placed)


def _other_cliques(placed: dict[tuple[str, int], str]) -> t.Iterator[Finding]:
    yield from undecided(placed, Place("GPUs of the group"), "one clique")
    odd: dict[tuple[str, str, str], list[int]] = {}
    for (host, gpu), own, usual in odd_ones(placed):
        odd.setdefault((host, own, usual), []).append(gpu)
    for (host, own, usual), numbers in odd.items():
        yield Finding(Place(f"GPU {', '.join(map(str, numbers))}"), f"{usual}, as most of the group's GPUs", own, host=host)


@check(
    cause="The IMEX daemon of a tray is down, has another version or list of nodes, or lost a connection: a job over several trays cannot map the memory "
    "of GPUs of other trays.",
    fix="Look at nvidia-imex-ctl -N and /var/log/nvidia-imex.log of the tray, compare nodes_config.cfg and version with another tray, then restart "
    "nvidia-imex.service on all trays of the domain.",
    scope="group",
    when=("pod_nvlink_domain", ("gate_group",)),
)
def imex_ready(imex_domain: Peers, imex_links: Peers, ip_address: Peers) -> t.Iterator[Finding]:
    """Every tray of a gate group is READY in one IMEX domain that is UP, and is connected with every other."""
    if not any(imex_domain.values()):
        raise CannotTell("IMEX domain: not reported")
    owners = _owners(ip_address)
    found = [*_not_ready(imex_domain, owners), *_of_other_lists(imex_domain, ip_address), *_of_other_versions(imex_domain, owners)]
    # Whoever is not well otherwise has lost its connections by that.
    ill = {address for address, host in owners.items() if host in {one.host for one in found if one.severity is None}}
    ill |= {str(row["address"]) for rows in imex_domain.values() for row in rows if row["state"] != "READY"}
    found += _unconnected(imex_domain, imex_links, owners, ill)
    yield from found
    if not any(one.severity is None for one in found):
        yield from _domains(imex_domain)


def _owners(ip_address: Peers) -> dict[str, str]:
    """The host of each address that one host alone has."""
    every = [(str(row["address"]), host) for host, rows in ip_address.items() for row in rows]
    hosts: dict[str, set[str]] = {}
    for address, host in every:
        hosts.setdefault(address, set()).add(host)
    return {address: next(iter(names)) for address, names in hosts.items() if len(names) == 1}


def _not_ready(views: Peers, owners: dict[str, str]) -> t.Iterator[Finding]:
    reported: dict[tuple[str, str], int] = Counter((row["address"], row["state"]) for rows in views.values() for row in rows if row["state"] != "READY")
    for (address, state), count in sorted(reported.items()):
        yield Finding(Place(f"IMEX node {address}", peers=(address,)), "READY", f"{state}, as {count} of {len(views)} trays report", host=owners.get(address))


def _of_other_lists(views: Peers, ip_address: Peers) -> t.Iterator[Finding]:
    lists = {host: tuple(sorted(str(row["address"]) for row in rows)) for host, rows in views.items()}
    usual = max(Counter(lists.values()).items(), key=lambda item: (item[1], len(item[0])))[0]
    for host, own in lists.items():
        addresses = {str(row["address"]) for row in ip_address.get(host, ())}
        if not addresses:
            yield Finding(
                Place("nodes of the IMEX domain"), "an address of this host among them", "the host's addresses are not reported", "unknown", host=host
            )
        elif not addresses.intersection(usual):
            yield Finding(Place("nodes of the IMEX domain"), "an address of this host among them", f"none among {len(usual)} nodes", host=host)
        elif own != usual:
            yield Finding(
                Place("nodes of the IMEX domain"), f"the {len(usual)} nodes that most of the group's trays list", f"{len(own)} nodes, or others", host=host
            )


def _of_other_versions(views: Peers, owners: dict[str, str]) -> t.Iterator[Finding]:
    versions = {str(row["address"]): row["version"] for rows in views.values() for row in rows if row["version"] is not None}
    yield from undecided(versions, Place("nodes of the IMEX domain"), "one version")
    for address, own, usual in odd_ones(versions):
        yield Finding(Place(f"IMEX node {address}", peers=(address,)), f"version {usual}, as most of the domain's nodes", own, host=owners.get(address))


def _unconnected(views: Peers, links: Peers, owners: dict[str, str], ill: set[str]) -> t.Iterator[Finding]:
    """The connections between nodes that are well; a node that lost several is named, and of a single lost one both ends are."""
    lost: dict[tuple[str, str], str] = {}
    for viewer, rows in views.items():
        address = {row["node"]: str(row["address"]) for row in rows}
        states = {(row["node"], row["peer"]): row["state"] for row in links.get(viewer, ())}
        unlisted = [node for node in address if any((node, peer) not in states and (peer, node) not in states for peer in address)]
        if unlisted:
            names = ", ".join(address[node] for node in unlisted)
            yield Finding(Place("connections of the IMEX domain"), "one between every two nodes", f"not reported of all of {names}", "unknown", host=viewer)
        for (node, peer), state in states.items():
            ends = sorted((address.get(node, f"node {node}"), address.get(peer, f"node {peer}")))
            if state != "CONNECTED" and not ill.intersection(ends):
                lost.setdefault((ends[0], ends[1]), state)
    yield from _named(lost, owners)


def _named(lost: dict[tuple[str, str], str], owners: dict[str, str]) -> t.Iterator[Finding]:
    while lost:
        counts = Counter(end for ends in lost for end in set(ends))
        worst, count = max(sorted(counts.items()), key=lambda item: item[1])
        own = {ends: state for ends, state in lost.items() if worst in ends}
        if count > 1:
            words = ", ".join(sorted(set(own.values())))
            yield Finding(Place(f"IMEX node {worst}", peers=(worst,)), "CONNECTED with every node", f"{words} with {count} nodes", host=owners.get(worst))
        else:
            for (one, other), state in own.items():
                names = [owners.get(end, end) for end in (one, other)]
                yield Finding(Place(f"IMEX connection of {names[0]} and {names[1]}", peers=(names[0], names[1])), "CONNECTED", state)
        lost = {ends: state for ends, state in lost.items() if ends not in own}


def _domains(views: Peers) -> t.Iterator[Finding]:
    states = {host: str(rows[0]["domain"]) for host, rows in views.items() if rows}
    wrong = {host: state for host, state in states.items() if state != "UP"}
    alike = set(wrong.values())
    if len(wrong) == len(states) and len(alike) == 1:
        yield Finding(Place("IMEX domain"), "UP", f"{alike.pop()}, with every node READY", cause=ONE_WITHOUT)
        return
    for host, state in wrong.items():
        yield Finding(Place("IMEX domain"), "UP", f"{state}, with every node READY", host=host, cause=ONE_WITHOUT)
