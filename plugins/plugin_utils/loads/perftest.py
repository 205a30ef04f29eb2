# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""perftest as argument lists: ``ib_write_bw`` and ``ib_write_lat`` between two rails, always in the pod's traffic class."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..pod.rail_ports import members_of
from ..pod.types import Rail

Values = t.Mapping[str, t.Any]
# A queue pair uses one member of a bond, by its hash: of eight for each member, all leave one member out in less than one of a thousand tests.
FLOWS_A_MEMBER = 8
# What a client prints while its server is not there yet; it is tried again, since a probe of the port would be taken for a client.
RETRY_NO_SERVER = ("Couldn't connect to", "Unable to open file descriptor for socket connection")
MEMORIES = ("host", "cuda", "rocm")


@dataclass(frozen=True)
class PerftestOptions:
    """What a test is asked to be, and what its result is compared with.

    tool: ``ib_write_bw`` or ``ib_write_lat``; bytes: the message size, None for every size in turn; seconds: how long it sends,
    None for a number of iterations; qps: queue pairs; mtu: RDMA MTU in bytes; gid_index: None leaves the choice to perftest;
    traffic_class: of the IP header; ack_timeout: 4.096 us times 2 to that power; tx_depth: messages under way on a queue pair;
    memory: ``host``, ``cuda`` or ``rocm``.
    """

    tool: str
    bytes: int | None
    seconds: int | None
    qps: int
    mtu: int
    gid_index: int | None
    traffic_class: int
    ack_timeout: int
    tx_depth: int = 128
    memory: str = "host"
    dmabuf: bool = False
    bidirectional: bool = False


def perftest_argv(asked: PerftestOptions, device: str, port: int, gpu: int | None = None, peer: str | None = None) -> list[str]:
    """The argument list of one end; the client is the end that has a peer (its address)."""
    words = [asked.tool, "-d", device, "-i", "1", "-p", str(port), "-F", "-m", str(asked.mtu), "-u", str(asked.ack_timeout)]
    words += [f"--tclass={asked.traffic_class}"]
    if asked.gid_index is not None:
        words += ["-x", str(asked.gid_index)]
    if asked.tool.endswith("_bw"):
        words += ["--report_gbits", "-q", str(asked.qps), "-t", str(asked.tx_depth)]
        words += ["-b"] if asked.bidirectional else []
    words += ["-a"] if asked.bytes is None else ["-s", str(asked.bytes)]
    words += ["-n", "1000"] if asked.seconds is None else ["-D", str(asked.seconds)]
    if asked.memory != "host":
        words += [f"--use_{asked.memory}={gpu}"]
        words += [f"--use_{asked.memory}_dmabuf"] if asked.dmabuf else []
    return words + ([peer] if peer is not None else [])


def flows_of_a_bond(rails: t.Iterable[Rail]) -> int:
    """How many queue pairs use all members of a bond; 0 where no rail is one."""
    return FLOWS_A_MEMBER * max((len(members_of(rail)) for rail in rails), default=0)


def perftest_options(values: Values, **other: t.Any) -> PerftestOptions:
    """A bandwidth test as the pod's expectations ask for it, with some of it otherwise."""
    return PerftestOptions(
        **{
            "tool": "ib_write_bw",
            "bytes": values["pod_write_bw_bytes"],
            "seconds": values["pod_write_bw_seconds"],
            "qps": max(values["pod_write_bw_qps"], flows_of_a_bond(values["pod_rails"])),
            "mtu": values["pod_rdma_mtu"],
            "gid_index": values["pod_gid_index"],
            "traffic_class": values["pod_traffic_class"],
            "ack_timeout": values["pod_perftest_ack_timeout"],
            "tx_depth": values["pod_write_bw_tx_depth"],
            "bidirectional": values["pod_write_bw_bidirectional"],
            **other,
        }
    )


def options_of_end(test: PerftestOptions, values: Values) -> PerftestOptions:
    """The same test at the end of a host with these expectations: which GID it uses and how its GPU memory is registered is its own."""
    dmabuf = test.dmabuf or (test.memory != "host" and values["pod_gpudirect"] == "dmabuf")
    return replace(test, gid_index=values["pod_gid_index"], dmabuf=dmabuf)


def gpu_memory(values: Values) -> str:
    """What perftest calls the memory of the GPU nearest its NIC; each end registers it as its host does, see ``options_of_end``."""
    return "rocm" if values["pod_gpu_vendor"] == "amd" else "cuda"
