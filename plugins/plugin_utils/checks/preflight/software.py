# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: versions of drivers, firmware and libraries."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.types import Rail
from ...readings.rows import Peers, Rows
from .. import CannotTell, Finding, NotApplicable, check
from .._across_groups import counted, of_other_groups, unlike_other_groups
from .._grouping import several
from .._odd_ones import odd_ones, undecided
from .._once import NO_PEERS, once_for_all_nodes
from ..place import Place

NOT_REPORTED = "not reported"
# One object, so that what is made of it is made once.
LIBRARIES = ("nccl", "rccl")


def _versions(rows: dict[str, t.Any]) -> dict[str, list[str]]:
    """Every version of each item that one host has; several where its parts differ, or where some of them report none."""
    items: dict[str, set[str]] = {}
    devices = {rail["device"] for rail in rows["pod_rails"]}
    for reading, column, item in (("gpu_driver", "version", "driver"), ("gpus", "runtime", "runtime"), ("ibstat", "firmware", "firmware")):
        found = {row[column] or NOT_REPORTED for row in rows.get(reading) or () if reading != "ibstat" or row["device"] in devices}
        if found - {NOT_REPORTED}:
            items.setdefault(item, set()).update(found)
    inside = rows.get("container_image") or []
    for row in inside:
        # What runs in containers has the libraries of their image, and none that is known where no container starts.
        items |= {row["library"]: set(row["nccl"])} if row["nccl"] else {}
    for row in rows.get("software") or ():
        if inside and row["item"] in LIBRARIES:
            continue
        items.setdefault({"mlx5_core": "ofed"}.get(row["item"], row["item"]), set()).add(row["version"])
    return {item: sorted(versions) for item, versions in items.items()}


@check(
    cause="A host was reimaged or updated with another stack than the pinned one.",
    fix="Install the pinned version of the named item; mixed stacks fail in ways that look like training instability.",
)
def software_pinned(
    gpu_driver: Rows, gpus: Rows, ibstat: Rows, software: Rows, pod_rails: list[Rail], pod_software: dict[str, t.Any], container_image: Rows | None = None
) -> t.Iterator[Finding]:
    """Every pinned version is the one in use."""
    if not pod_software:
        raise NotApplicable("pod_software pins nothing")
    rows = {"gpu_driver": gpu_driver, "gpus": gpus, "ibstat": ibstat, "software": software, "container_image": container_image, "pod_rails": pod_rails}
    versions = _versions(rows)
    for item, wanted in pod_software.items():
        have = versions.get(item, [])
        if not have:
            yield Finding(Place(item, of=item), str(wanted), "not reported", "unknown")
        elif have != [str(wanted)]:
            unknown = set(have) == {str(wanted), NOT_REPORTED}
            where, actual = _of_parts(item, str(wanted), ", ".join(have), ibstat, pod_rails)
            yield Finding(where, str(wanted), actual, "unknown" if unknown else None)


def _of_parts(item: str, wanted: str, have: str, ibstat: Rows, rails: list[Rail]) -> tuple[Place, str]:
    """Where a host has another version than the wanted one, and which: of firmware the NICs alone that have it, where others of the host have the right one."""
    odd = _nics_apart(wanted, ibstat, rails) if item == "firmware" else {}
    return Place(f"{item} of {', '.join(odd)}" if odd else item, of=item), ", ".join(sorted(set(odd.values()))) if odd else have


def _nics_apart(wanted: str, ibstat: Rows, rails: list[Rail]) -> dict[str, str]:
    """The version of each rail's NIC that has another one, where some of the host's have the right one: these are not to be touched."""
    reported = {row["device"]: str(row["firmware"] or NOT_REPORTED) for row in ibstat}
    of_rails = {rail["device"]: reported[rail["device"]] for rail in rails if rail["device"] in reported}
    odd = {device: version for device, version in of_rails.items() if version != wanted}
    return odd if len(odd) < len(of_rails) else {}


@once_for_all_nodes
def _of_hosts(gpu_driver: Peers, gpus: Peers, ibstat: Peers, software: Peers, images: Peers) -> dict[str, dict[str, str]]:
    """The version of each item on every host of the pod that reports one and the same of all its parts."""
    found = {}
    for host in {*gpu_driver, *gpus, *ibstat, *software}:
        rails = [{"device": row["device"]} for row in ibstat.get(host) or ()]
        tables = {"gpu_driver": gpu_driver, "gpus": gpus, "ibstat": ibstat, "software": software, "container_image": images}
        rows = {**{name: table.get(host) for name, table in tables.items()}, "pod_rails": rails}
        found[host] = {item: versions[0] for item, versions in _versions(rows).items() if len(versions) == 1 and versions[0] != NOT_REPORTED}
    return found


@once_for_all_nodes
def _counted(gpu_driver: Peers, gpus: Peers, ibstat: Peers, software: Peers, images: Peers) -> dict[str, Counter[str]]:
    """How many hosts of the pod have each version of each item."""
    return counted(_of_hosts(gpu_driver, gpus, ibstat, software, images))


@check(
    cause="One host runs another version than the rest of its group.",
    fix="Bring the odd host to the version of the others.",
    scope="group",
)
def software_uniform(
    gpu_driver: dict[str, Rows],
    gpus: dict[str, Rows],
    ibstat: dict[str, Rows],
    software: dict[str, Rows],
    pod_rails: list[Rail],
    container_image: dict[str, Rows] | None = None,
    *,
    gpu_driver_of_peers: Peers = NO_PEERS,
    gpus_of_peers: Peers = NO_PEERS,
    ibstat_of_peers: Peers = NO_PEERS,
    software_of_peers: Peers = NO_PEERS,
    container_image_of_peers: Peers = NO_PEERS,
) -> t.Iterator[Finding]:
    """Drivers, firmware and libraries have one version over a gate group."""
    several(software)
    hosts = sorted(set(gpu_driver) | set(gpus) | set(ibstat) | set(software))
    tables = {"gpu_driver": gpu_driver, "gpus": gpus, "ibstat": ibstat, "software": software, "container_image": container_image or {}}
    of_host = {host: _versions({**{name: rows.get(host) for name, rows in tables.items()}, "pod_rails": pod_rails}) for host in hosts}
    items = sorted({item for versions in of_host.values() for item in versions})
    if not items:
        raise CannotTell("versions of the group's hosts: not reported")
    peers = (gpu_driver_of_peers, gpus_of_peers, ibstat_of_peers, software_of_peers, container_image_of_peers)
    of_hosts, counts = _of_hosts(*peers), _counted(*peers)
    # Of these it is found why no container starts.
    apart = {host for host, rows in (container_image or {}).items() if rows and rows[0]["start"] != "ok"}
    for item in items:
        values = {host: ", ".join(one for one in versions.get(item, ["none"]) if one != NOT_REPORTED) for host, versions in of_host.items()}
        for host, versions in of_host.items():
            if NOT_REPORTED in versions.get(item, ()):
                yield Finding(Place(item, of=item), "the version of every part", f"{values[host]}, and some not reported", "unknown", host=host)
        compared = {host: value for host, value in values.items() if item not in LIBRARIES or host not in apart}
        elsewhere = of_other_groups(of_hosts, counts, item, hosts)
        yield from undecided(compared, Place(item, of=item), "one version", elsewhere)
        for host, value, usual in odd_ones(compared, elsewhere):
            where, actual = _of_parts(item, usual, value, ibstat.get(host) or [], pod_rails)
            yield Finding(where, f"{usual}, as its group", actual, host=host)


@check(
    cause="An update reached only some gate groups, or was rolled back in some: jobs that span them run a mix that nobody tests.",
    fix="Finish the update; where groups differ on purpose, such as in their GPUs, pin each group's versions in pod_software of its group_vars.",
    kind="host",
    severity="warn",
    of_pod=True,
)
def software_alike(
    gpu_driver_of_peers: Peers, gpus_of_peers: Peers, ibstat_of_peers: Peers, software_of_peers: Peers, pod_node: str, pod_same_group: list[str],
    pod_software: dict[str, t.Any], container_image_of_peers: Peers = NO_PEERS,
) -> t.Iterator[Finding]:  # fmt: skip
    """What is not pinned has the version of most hosts of other gate groups."""
    tables = (gpu_driver_of_peers, gpus_of_peers, ibstat_of_peers, software_of_peers, container_image_of_peers)
    of_hosts, counts = _of_hosts(*tables), _counted(*tables)
    yield from unlike_other_groups(of_hosts, counts, pod_node, pod_same_group, pod_software, "versions")
