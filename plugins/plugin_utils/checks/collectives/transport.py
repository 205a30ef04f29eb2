# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 5, collectives: which way the data went, by NCCL's own log."""

from __future__ import annotations

import re
import typing as t

from ...loads.named_parts import named_nic
from ...loads.rank_errors import known_error
from ...loads.types import RankError
from ...loads.unknown_errors import ExtentWords, alike, cut, explain_unknown, extent_of, has_a_class
from ...pod.types import Rail
from ...readings.rows import Peers, Rows
from ...text.ranges import ranges
from ...text.shortened import shortened
from .. import CannotTell, Finding, NotApplicable, check
from .._grouping import planned_rails
from .._once import once_for_all_nodes
from ..place import Place, at_device
from ._nccl_transport import NO_RDMA_CAUSE, NO_RDMA_FIX, by_socket, devices, network_channels, place_of_warning, staged, unlisted, used

NUMBER = re.compile(r"\d+")
# What RCCL warns of by words of the kernel's command line, and layer 0 judges by what is in force (iommu_as_expected, numa_balancing_off).
OF_PREFLIGHT = r'Missing "(?:amd_)?iommu=|NUMA auto ?-?b\w*ancing enabled'

OF_SHARP = r"SHARP|[Ss]harp_|CollNet"
# What ends nothing, with cause and fix: events that a fabric sends all of its hosts (UCX logs them as diagnostics), and what costs a rate at most, which the
# rates show by themselves.
INFORMS = (
    (
        r"Got async event ?: (?:client re-?registration|SM change|subnet manager change)",
        "The subnet manager asked the hosts to register again, as it does when it starts or hands over; connections go on.",
        "See subnet_manager_up where it comes often; otherwise nothing has to be done.",
    ),
    (
        r"HSA_NO_SCRATCH_RECLAIM",
        "RCCL takes the ROCm of the host for one in which small and middle sizes are slow without HSA_NO_SCRATCH_RECLAIM=1; some releases mistake the version.",
        "Where the rates of this layer are as expected nothing has to be done; else set it in pod_nccl_environment, or update ROCm to 6.4 or later.",
    ),
)
# Of warnings that no table knows.
OF_WARNINGS = ExtentWords(
    "{host} alone of {all} hosts warns of this: look at its own image, driver, device and settings first. ",
    "{number} of {all} hosts warn of this and the others do not: look for what these have in common. ",
    "All {all} hosts alike warn of this, so it is what they share (the image, NCCL's version, a service that all of them use), and no single host. ",
)
WARNED = "NCCL warned with the line that is printed, which no table of this collection knows."
OVER_NVLINK = "The GPUs of several hosts are in one NVLink domain (NVL72), and the runs that measure the NICs were not kept off it."
OVER_NVLINK_FIX = "Set pod_nvlink_domain to gate_group, which gives these runs NCCL_MNNVL_ENABLE=0; look for what sets it otherwise (image, nccl.conf)."
FOREIGN = (
    "NCCL uses {names}, which is no rail of the plan (a NIC of storage or management): NCCL_IB_HCA is not set, names it, or names a prefix of it, as mlx5_1 is "
    "of mlx5_10."
)
FOREIGN_FIX = "Set NCCL_IB_HCA to the rails' devices with = before them (=mlx5_0,mlx5_3 matches whole names, not prefixes), in the image and in nccl.conf."
# From this release on NCCL looks for the module itself, and not only for memory_peers, which newer kernels and RDMA drivers do not make.
PROBES_MODULE = (2, 23)
OLD_LIBRARY = (
    "The host's nvidia_peermem is loaded, and NCCL {version} cannot find it: it looks for /sys/kernel/mm/memory_peers alone, which this kernel's RDMA drivers "
    "do not make. The library is too old for the host; the host is in order where gpu_write_bw passes."
)
OLD_LIBRARY_FIX = "Use NCCL 2.23 or later in the image of the jobs, or DMA-BUF (the open GPU kernel driver)."

ONLY_DMABUF = (
    "nvidia_peermem is not loaded here, so that DMA-BUF is the only way to GPU memory, and {library} did not take it: it takes NCCL 2.13 or later, the open "
    "GPU kernel driver, a kernel from 5.12 on with RDMA drivers that have it, and NCCL_DMABUF_ENABLE that is not 0."
)
ONLY_DMABUF_FIX = (
    "Load nvidia_peermem (modprobe, and modules-load.d), which every library can take; or give the jobs an NCCL, UCX or MPI that takes DMA-BUF, and look for "
    "NCCL_DMABUF_ENABLE=0 in their environment and nccl.conf."
)


def _between_hosts(log: Rows, jobs: Rows) -> Rows:
    """The log of the runs over several hosts.

    Raises NotApplicable where there was none, and CannotTell where its log says nothing.
    """
    several = {row["item"] for row in jobs if row["hosts"] and len(row["hosts"]) > 1}
    if not several:
        raise NotApplicable("no run had several hosts")
    rows = [row for row in log if row["item"] in several]
    if not rows:
        raise CannotTell(
            "NCCL's log of the runs over several hosts is empty",
            "The runs did not start or ended at once, which other findings of this layer then name; else a variable of the site sends NCCL's log elsewhere.",
            "Fix the errors named there; else look for NCCL_DEBUG and NCCL_DEBUG_FILE in nccl.conf and the job's environment; then run the layer again.",
        )
    return rows


@check(
    cause="NCCL found fewer NICs than the host has rails, or put two GPUs on one: a NIC is down, named wrongly, or too far from its GPU.",
    fix="Compare NCCL's list of NICs with pod_rails; look at NCCL_IB_HCA, NCCL_TOPO_FILE, and inside containers at which rails are mounted.",
    needs="load",
)
def all_rails_used(nccl_log: Rows, load_jobs: Rows, pod_rails: list[Rail]) -> t.Iterator[Finding]:
    """Every rail carries channels of a run over several hosts."""
    log = _between_hosts(nccl_log, load_jobs)
    if by_socket(log):
        raise NotApplicable("NCCL used TCP sockets: see no_nccl_warnings")
    listed, carrying = devices(log), used(log)
    if any(str(row["name"]).startswith("P2P/MNNVL") for row in log if row["event"] == "channel"):
        words = "NVLink over several hosts (P2P/MNNVL), so that the rates of these runs prove no NIC"
        yield Finding(Place("channels of the runs over several hosts"), "over NICs", words, "unknown", cause=OVER_NVLINK, fix=OVER_NVLINK_FIX)
        return
    if not network_channels(log):
        raise CannotTell("NCCL's log has no channel that leaves the host")
    rails = planned_rails(pod_rails)
    foreign = [name for name in listed if name not in {rail["device"] for rail in rails}]
    own = (FOREIGN.format(names=", ".join(foreign)), FOREIGN_FIX) if foreign else (None, None)
    for rail in rails:
        name = rail["device"]
        if name not in listed:
            yield Finding(at_device(name), "a NIC that NCCL uses", f"it uses {', '.join(listed) or 'none'}", cause=own[0], fix=own[1])
        elif name not in carrying:
            also = f"; NCCL also uses {', '.join(foreign)}, no rail" if foreign else ""
            yield Finding(at_device(name), "channels over it", f"none; its GPU goes over another NIC{also}", cause=own[0], fix=own[1])


@check(
    cause="GPUDirect is off: nvidia-peermem or DMA-BUF is missing, NCCL_NET_GDR_LEVEL forbids it, or GPU and NIC are too far apart.",
    fix="Load nvidia-peermem (or use the open GPU module), then look at nvidia-smi topo -m, ACS and NCCL_NET_GDR_LEVEL.",
    remedy="kernel_module",
    needs="load",
)
def gpudirect_used(
    nccl_log: Rows, load_jobs: Rows, pod_gpudirect: str, lsmod: Rows | None = None, memory_peers: Rows | None = None, pod_gpu_vendor: str = "nvidia"
) -> t.Iterator[Finding]:  # fmt: skip
    """Every channel between hosts goes from GPU to NIC directly."""
    if pod_gpudirect == "none":
        raise NotApplicable("pod_gpudirect is none")
    log = _between_hosts(nccl_log, load_jobs)
    channels = network_channels(log)
    if not channels:
        raise CannotTell("NCCL's log has no channel that leaves the host")
    if staged(log) and not by_socket(log):
        off = sorted({f"GPU {row['gpu']}" for row in staged(log)})
        words = f"{len(staged(log))} of {len(channels)} without it, of {', '.join(off)}"
        versions = sorted({str(row["value"]) for row in nccl_log if row["event"] == "version"})
        words += f", by NCCL {', '.join(versions)}" if versions else ""
        old = _cannot_probe(nccl_log, lsmod or [], memory_peers) if len(staged(log)) == len(channels) else None
        cause, fix = (OLD_LIBRARY.format(version=old), OLD_LIBRARY_FIX) if old else (None, None)
        if not old and lsmod and pod_gpu_vendor == "nvidia" and not any(row["module"] in ("nvidia_peermem", "nv_peer_mem") for row in lsmod):
            cause, fix = ONLY_DMABUF.format(library=f"NCCL {', '.join(versions)}" if versions else "NCCL"), ONLY_DMABUF_FIX
        yield Finding(Place("channels"), "GDRDMA on all", words, cause=cause, fix=fix)


def _cannot_probe(log: Rows, modules: Rows, peers: Rows | None) -> str | None:
    """The version of NCCL where the module is loaded in a way that this version does not look for, or None."""
    if peers is None or not any(row["module"] == "nvidia_peermem" for row in modules) or any(str(row["peer"]).startswith("nv") for row in peers):
        return None
    for row in log:
        found = re.match(r"(\d+)\.(\d+)", str(row["value"])) if row["event"] == "version" else None
        if found and (int(found[1]), int(found[2])) < PROBES_MODULE:
            return str(row["value"])
    return None


@check(
    cause="A variable of the site, of an image or of a configuration file changes what NCCL does, so that the rates are those of something else.",
    fix="Remove it from the environment and from nccl.conf, or list it in pod_nccl_environment where it is meant.",
    severity="unknown",
    needs="load",
)
def nccl_runtime(nccl_log: Rows, load_jobs: Rows, pod_nccl_environment: dict[str, t.Any], pod_software: dict[str, t.Any]) -> t.Iterator[Finding]:
    """NCCL ran in the pinned version and with no variable that the pod does not list."""
    versions = {row["value"] for row in nccl_log if row["event"] == "version"}
    if not versions:
        raise CannotTell("NCCL version: not reported")
    pinned = pod_software.get("nccl")
    for version in sorted(versions):
        if pinned is not None and not version.startswith(str(pinned)):
            yield Finding(Place("NCCL"), str(pinned), version, "fail")
    for name, value in unlisted(nccl_log, load_jobs, pod_nccl_environment):
        yield Finding(Place(name), str(pod_nccl_environment.get(name, "not set")), value)


@once_for_all_nodes
def _who_warns(logs: Peers) -> tuple[dict[str, set[str]], set[str]]:
    """The hosts by what they warn of, by its text as of ``alike``, and the hosts with a log at all; logs: the rows of nccl_log by host."""
    found: dict[str, set[str]] = {}
    for host, rows in logs.items():
        for row in rows:
            if row["event"] == "warning":
                found.setdefault(alike(str(row["text"])), set()).add(host)
    return found, {host for host, rows in logs.items() if rows}


def _unknown(host: str, text: str, logs: Peers) -> tuple[str, str]:
    """Cause and fix of a warning that no table knows, by which hosts have it."""
    having, with_log = _who_warns(logs)
    extent = extent_of(host, having.get(alike(text), ()), with_log, True, OF_WARNINGS)
    cause, fix = explain_unknown(text, extent.words)
    return (cause if has_a_class(text) else f"{extent.words}{WARNED}"), fix


def _warnings(log: Rows, allowed: t.Iterable[str], host: str, logs: Peers) -> t.Iterator[Finding]:
    """A finding for each kind of warning: first what is known of, last what only follows from an error before it."""
    ignored = [re.compile(pattern) for pattern in (OF_PREFLIGHT, *allowed)]
    kinds: dict[tuple[RankError | None, str], list[str]] = {}
    for row in log:
        text = str(row["text"])
        if row["event"] in ("warning", "sharp_error") and not any(pattern.search(text) for pattern in ignored):
            kinds.setdefault((known_error(text), NUMBER.sub("N", text)), []).append(text)
    for (known, _form), lines in sorted(kinds.items(), key=lambda one: (one[0][0] is None, one[0][0] is not None and one[0][0].follows)):
        # Warnings that differ in numbers alone are one; the numbers of one of them (status, vendor error, errno, address) are the diagnosis.
        places = {place_of_warning(line, log) for line in lines}
        at = ranges(sorted({place.device for place in places if place.device})) if len(places) > 1 else ""
        got = cut(lines[0]) + (f" ({len(lines)} times{f', of {at}' if at else ''}, this is the first)" if len(lines) > 1 else "")
        informs = next(((why, remedy) for pattern, why, remedy in INFORMS if re.search(pattern, lines[0])), None)
        own = informs or ((known.cause, known.fix) if known else None)
        cause, fix = own or _unknown(host, lines[0], logs)
        yield Finding(places.pop() if len(places) == 1 else Place("NCCL"), "no warning", got, "warn" if informs else None, cause=cause, fix=fix)


@check(
    cause="NCCL met network errors, or found no RDMA device and went over TCP.",
    fix="For completions with error 12: a path or a peer is down. For sockets: check RDMA devices, their GIDs and the job's memory limits.",
    needs="load",
)
def no_nccl_warnings(
    nccl_log: Rows, load_jobs: Rows, pod_nccl_warnings_allowed: list[str], pod_collective_backend: str, pod_sharp: bool, pod_node: str,
    nccl_log_of_peers: Peers | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """NCCL logs no warning and does not fall back to TCP between hosts."""
    if pod_collective_backend == "gloo":
        raise NotApplicable("gloo writes no such log")
    if not nccl_log:
        raise CannotTell("NCCL's log is empty")
    # Where switches should aggregate, sharp_used judges what is said of it.
    yield from _warnings(nccl_log, [*pod_nccl_warnings_allowed, *([OF_SHARP] if pod_sharp else [])], pod_node, nccl_log_of_peers or {})
    between = {row["item"] for row in load_jobs if row["hosts"] and len(row["hosts"]) > 1}
    if by_socket([row for row in nccl_log if row["item"] in between]):
        yield Finding(Place("network"), "RDMA", "TCP sockets", cause=NO_RDMA_CAUSE, fix=NO_RDMA_FIX)


@check(
    cause="The SHARP plugin is not loaded, the aggregation manager has no resource left, or NCCL_COLLNET_ENABLE is off.",
    fix="Look at the aggregation manager (sharp_am), at the plugin's path in the job's environment, and at NCCL_COLLNET_ENABLE=1.",
    fabric="infiniband",
    needs="load",
)
def sharp_used(nccl_log: Rows, load_jobs: Rows, pod_sharp: bool, pod_node: str, nccl_log_of_peers: Peers | None = None) -> t.Iterator[Finding]:
    """Collectives between hosts are aggregated in the switches where pod_sharp is true, and only there."""
    if not pod_sharp:
        if not any(row["event"] == "sharp" for row in nccl_log):
            raise NotApplicable("pod_sharp is false")
        yield Finding(Place("SHARP"), "none, as pod_sharp is false", "channels over CollNet: the rates are those of another algorithm", "warn")
        return
    log = _between_hosts(nccl_log, load_jobs)
    own = _refused(log)
    # A host whose own part is refused turns SHARP off for all hosts of its runs.
    culprit = None if own else next((host for host, rows in (nccl_log_of_peers or {}).items() if host != pod_node and any(map(_is_own, _refused(rows)))), None)
    if own:
        text = next((one for one in own if _is_own(one)), own[0])
        known, nic = known_error(text), named_nic(text)
        where = at_device(nic, "for SHARP") if nic else Place("SHARP")
        yield Finding(where, "channels over CollNet", shortened(text, 200), cause=known.cause if known else None, fix=known.fix if known else None)
    elif not any(row["event"] == "sharp" for row in log):
        yield Finding(Place("SHARP"), "channels over CollNet", "none in NCCL's log", began_at=(culprit, "") if culprit else None)


def _refused(log: Rows) -> list[str]:
    """What the log says of SHARP that was refused."""
    return [str(row["text"]) for row in log if row["event"] == "sharp_error" or (row["event"] == "warning" and re.search(OF_SHARP, str(row["text"])))]


def _is_own(text: str) -> bool:
    known = known_error(text)
    return known is not None and known.own
