# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Classes of errors by what failed before anything was sent: a loader's library, or one call of verbs, of the connection manager or of UCX."""

from __future__ import annotations

from .types import ErrorClass

# Of whichever program's completion it is.
RETRIES = r"[Tt]ransport retry count(?:er)?"
RETRIES_CAUSE = "Packets of a queue pair, or their acknowledgements, were lost until its retries were used up: the path or the partner's port failed."
RETRIES_FIX = "Look at the peer and NIC that the error names, at link flaps and drops on the way at that time, and at the same pair in layer 4."
# The first that matches is the one.
CALL_ERRORS: tuple[ErrorClass, ...] = (
    ErrorClass(
        "library of another build",
        r"symbol lookup error|undefined symbol|version \S+ not (?:defined|found)|couldn't load driver|GLIBC(?:XX)?_\d|wrong ELF class|"
        r"cannot open shared object file|error while loading shared libraries",
        "The loader found a library of another build than the program, or none: of verbs that is rdma-core beside MLNX_OFED, or the provider of a NIC that is "
        "of another release than libibverbs.",
        "Compare ldd of the program, LD_LIBRARY_PATH, ldconfig -p and the packages (rdma-core, libibverbs, the provider, perftest) with a good host's; remove "
        "the second copy, or give the image the libraries of the host's driver.",
    ),
    ErrorClass(
        "address of a peer",
        r"ibv_create_ah\b|rdma_resolve_(?:addr|route)|RDMA_CM_EVENT_(?:ADDR|ROUTE)_ERROR|[Ff]ailed to (?:resolve|create) (?:\w+ )?(?:address|AH|route)|"
        r"\b(?:ARP|neighbou?r)\b.*(?:fail|incomplete|unreachable)",
        "The NIC got no hardware address for its peer: no answer to ARP or neighbour discovery, no route from this rail to that address, or a GID of another "
        "network than the peer's.",
        "From the rail's own address ping the peer that the line names (ping -I), and look at ip route get and ip neigh there; compare show_gids of both ends "
        "with pod_gid_index, and the VLAN and routes of that rail with a pair that works.",
    ),
    ErrorClass("retries", RETRIES, RETRIES_CAUSE, RETRIES_FIX),
    ErrorClass(
        "access to the peer's memory",
        r"Remote (?:access|operation|invalid request|QP) on |remote (?:access|invalid request|operation) error|(?:status|error|status=|error=) ?(?:9|10|"
        r"11)\b.*(?:vendor|syndrom|opcode|qp)|vendor err 13[678]\b|"
        r"syndrom 0x8[89a]\b",
        "The peer's NIC refused what this one asked of its memory: the memory was not registered for it or was freed, the ends disagree on size, rights or "
        "MTU, or ACS, the IOMMU or the BIOS of the peer keeps its NIC from its GPU's memory.",
        "Begin at the peer that the line names: its own error of that time, acs_as_expected, iommu_as_expected and gpudirect_available of layer 0; compare "
        "driver, library and MTU of both ends, and test the pair in layer 4 from host and from GPU memory.",
    ),
    ErrorClass(
        "huge pages",
        r"(?i)huge ?(?:page|tlb)s?|\bshmget\b|\bshmmni\b|memfd_create",
        "The host gave the program no huge pages or no segment of shared memory: none are left on that NUMA node, none were set aside, or their number is "
        "used up.",
        "Compare HugePages_Free in /proc/meminfo (numastat -m) and sysctl kernel.shmmni and kernel.shmall with a good host's; remove segments of ended jobs "
        "(ipcs -m, ipcrm), and raise vm.nr_hugepages or kernel.shmmni.",
    ),
    ErrorClass(
        "receiver that is not ready",
        r"(?i)\bRNR\b|receive-no-ready|receiver[- ]not[- ]ready|(?:status|error|status=|error=) ?13\b.*(?:vendor|syndrom|opcode|qp)",
        "The peer had no receive buffer posted each time that it was asked: its process was stopped, starved of processors or ended, or it could not read from "
        "its GPU.",
        "Begin at the peer that the line names: its process (py-spy, top), its GPU and its own error of that time; raise NCCL_IB_RETRY_CNT only after that.",
    ),
)
