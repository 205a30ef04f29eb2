# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 5, collectives: which way the data went, by NCCL's own log."""

from __future__ import annotations

import re
import typing as t

from ...rungs import NODE_NICS
from .. import CannotTell, Finding, NotApplicable, check
from .._rows import Rows, planned
from ._why import by_socket, devices, network_channels, staged, used

# What the runs themselves set; any other variable that the pod does not list makes a run measure something else.
OWN = {"NCCL_COLLNET_ENABLE", "NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS", "NCCL_IB_TC"}
# And those of a host's run over its own NICs, which are nobody's business in any other run.
OWN_OVER_NICS = {"NCCL_NVLS_ENABLE", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"}


def _between_hosts(log: Rows, jobs: Rows) -> Rows:
    """The log of the runs over several hosts.

    Raises NotApplicable where there was none, and CannotTell where its log says nothing.
    """
    several = {row["item"] for row in jobs if row["hosts"] and len(row["hosts"]) > 1}
    if not several:
        raise NotApplicable("no run had several hosts")
    rows = [row for row in log if row["item"] in several]
    if not rows:
        raise CannotTell("NCCL's log of the runs over several hosts says nothing")
    return rows


@check(
    cause="NCCL found fewer NICs than the host has rails, or put two GPUs on one: a NIC is down, named wrongly, or too far from its GPU.",
    fix="Compare NCCL's list of NICs with pod_rails; look at NCCL_IB_HCA, NCCL_TOPO_FILE, and inside pods at which rails are mounted.",
    needs="load",
)
def all_rails_used(nccl_log: Rows, load_jobs: Rows, pod_rails: Rows) -> t.Iterator[Finding]:
    """Every rail carries channels of a run over several hosts."""
    log = _between_hosts(nccl_log, load_jobs)
    if by_socket(log):
        raise NotApplicable("NCCL used TCP sockets, which no_nccl_warnings tells")
    listed, carrying = devices(log), used(log)
    if not network_channels(log):
        raise CannotTell("NCCL's log has no channel that leaves the host")
    for rail in planned(pod_rails):
        name = rail["device"]
        if name not in listed:
            yield Finding(name, "a NIC that NCCL uses", f"it uses {', '.join(listed) or 'none'}")
        elif name not in carrying:
            yield Finding(name, "channels over it", "none; its GPU goes over another rail")


@check(
    cause="GPUDirect is off: nvidia-peermem or DMA-BUF is missing, NCCL_NET_GDR_LEVEL forbids it, or GPU and NIC are too far apart.",
    fix="Load nvidia-peermem (or use the open GPU module), then look at nvidia-smi topo -m, ACS and NCCL_NET_GDR_LEVEL.",
    remedy="kernel_module",
    needs="load",
)
def gpudirect_used(nccl_log: Rows, load_jobs: Rows, pod_gpudirect: str) -> t.Iterator[Finding]:
    """Every channel between hosts goes from GPU to NIC directly."""
    if pod_gpudirect == "none":
        raise NotApplicable("pod_gpudirect is none")
    log = _between_hosts(nccl_log, load_jobs)
    channels = network_channels(log)
    if not channels:
        raise CannotTell("NCCL's log has no channel that leaves the host")
    if staged(log) and not by_socket(log):
        off = sorted({f"GPU {row['gpu']}" for row in staged(log)})
        yield Finding("channels", "GDRDMA on all", f"{len(staged(log))} of {len(channels)} without it, of {', '.join(off)}")


@check(
    cause="A variable of the site, of an image or of a configuration file changes what NCCL does, so that the rates are those of something else.",
    fix="Remove it from the environment and from nccl.conf, or list it in pod_nccl_environment where it is meant.",
    severity="unknown",
    needs="load",
)
def nccl_runtime(nccl_log: Rows, pod_nccl_environment: dict[str, t.Any], pod_software: dict[str, t.Any]) -> t.Iterator[Finding]:
    """NCCL ran in the pinned version and with no variable that the pod does not list."""
    versions = {row["value"] for row in nccl_log if row["event"] == "version"}
    if not versions:
        raise CannotTell("NCCL's log tells no version")
    pinned = pod_software.get("nccl")
    for version in sorted(versions):
        if pinned is not None and not version.startswith(str(pinned)):
            yield Finding("NCCL", str(pinned), version, "fail")
    said = {(row["name"], row["value"]) for row in nccl_log if row["event"] == "variable" and not (row["item"] == NODE_NICS and row["name"] in OWN_OVER_NICS)}
    for name, value in sorted(said):
        if name not in OWN and str(pod_nccl_environment.get(name)) != str(value):
            yield Finding(str(name), str(pod_nccl_environment.get(name, "not set")), str(value))


@check(
    cause="NCCL met errors of the network, or found no RDMA device and went over TCP.",
    fix="Of completions with error 12: a path or a peer is dead. Of sockets: RDMA devices, their GIDs and memory limits of the job.",
    needs="load",
)
def no_nccl_warnings(nccl_log: Rows, load_jobs: Rows, pod_nccl_warnings_allowed: list[str], pod_collective_backend: str) -> t.Iterator[Finding]:
    """NCCL warns of nothing, and does not fall back to TCP between hosts."""
    if pod_collective_backend == "gloo":
        raise NotApplicable("gloo writes no such log")
    if not nccl_log:
        raise CannotTell("NCCL's log says nothing")
    told: dict[str, int] = {}
    for row in nccl_log:
        if row["event"] in ("warning", "sharp_error") and not any(re.search(allowed, str(row["text"])) for allowed in pod_nccl_warnings_allowed):
            told[re.sub(r"\d+", "N", str(row["text"]))] = told.get(re.sub(r"\d+", "N", str(row["text"])), 0) + 1
    for text, times in told.items():
        yield Finding("NCCL", "no warning", f"{text[:200]}" + (f" ({times} times)" if times > 1 else ""))
    between = {row["item"] for row in load_jobs if row["hosts"] and len(row["hosts"]) > 1}
    if by_socket([row for row in nccl_log if row["item"] in between]):
        yield Finding("network", "RDMA", "TCP sockets")


@check(
    cause="The SHARP plugin is not loaded, the aggregation manager has no resource left, or NCCL_COLLNET_ENABLE is off.",
    fix="Look at the aggregation manager (sharp_am), at the plugin's path in the job's environment, and at NCCL_COLLNET_ENABLE=1.",
    fabric="infiniband",
    needs="load",
)
def sharp_used(nccl_log: Rows, load_jobs: Rows, pod_sharp: bool) -> t.Iterator[Finding]:
    """Where the pod wants SHARP, collectives between hosts are aggregated in the switches, and nowhere else."""
    if not pod_sharp:
        if not any(row["event"] == "sharp" for row in nccl_log):
            raise NotApplicable("pod_sharp is false")
        yield Finding("SHARP", "none, as pod_sharp is false", "channels over CollNet: the rates are those of another algorithm", "warn")
        return
    log = _between_hosts(nccl_log, load_jobs)
    refused = [row for row in log if row["event"] == "sharp_error" or (row["event"] == "warning" and "CollNet" in str(row["text"]))]
    if refused:
        yield Finding("SHARP", "channels over CollNet", str(refused[0]["text"])[:200])
    elif not any(row["event"] == "sharp" for row in log):
        yield Finding("SHARP", "channels over CollNet", "none in NCCL's log")
