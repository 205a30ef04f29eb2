# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plan gives to checks and to planners of loads: a rail, a cable as one of its nodes sees it, a neighbour."""

from __future__ import annotations

import typing as t


class _RailAddress(t.TypedDict, total=False):
    """What a rail may lack: its address with the prefix length, its PCI address, and where it is a bond the network devices of its ports."""

    address: str | None
    pci: str | None
    members: list[str]


class Rail(_RailAddress):
    """A fabric NIC of a host, an entry of ``pod_rails``: RDMA device, network device, index of its GPU, and the leaf (of a bond one) that it is cabled to."""

    device: str
    netdev: str
    gpu: int
    leaf: str


class _Member(t.TypedDict, total=False):
    """What a port has that is a member of a bond: the bond's network device."""

    bond: str


class RailPort(Rail, _Member):
    """One port of a rail: the rail with the port's own network device."""


class DeviceNames(t.TypedDict):
    """An RDMA device and its network device, None where that is not known."""

    device: str
    netdev: str | None


class _Loaded(t.TypedDict, total=False):
    """What a rail has where a load uses it: the index of its GPU, None where the plan does not state.

    Of a bond also the network devices of its ports, and the leaves that these are cabled to, in the order of their names. plane: see ``Plan.planes``.
    """

    gpu: int | None
    plane: int
    members: list[str]
    leaves: list[str]


class PodRail(_Loaded):
    """A rail among all of the pod: its host, its place among the host's rails, its leaf by the wiring plan; address: without its prefix length."""

    host: str
    index: int
    device: str
    netdev: str | None
    leaf: str
    address: str | None


class _Bundled(t.TypedDict, total=False):
    """What a cable has where its ports are members of port-channels: their names at this end and at the other; plane: see ``Plan.planes``."""

    channel: str | None
    peer_channel: str | None
    plane: int


class NearCable(_Bundled):
    """A cable as one of its nodes sees it: its port there, and what is at the other end; length in metres, rated speed in Gb/s."""

    port: str
    peer: str
    peer_port: str
    peer_role: str
    peer_address: str | None
    medium: str
    length_m: float | None
    gbit_s: float | None


class Neighbor(t.TypedDict):
    """A switch at the other end of a cable or port-channel, with which a BGP session is planned."""

    port: str
    peer: str
    address: str | None
    asn: int | None


class TierCable(t.TypedDict):
    """A cable between a switch and one of the next tier, such as a leaf and a spine; rated speed in Gb/s, address of the upper one's session over it."""

    lower: str
    lower_port: str
    upper: str
    upper_port: str
    upper_address: str | None
    gbit_s: float | None


class _ProbeOptions(t.TypedDict, total=False):
    """What a path probe has beside what a ping has: its size in bytes, 0 where the plan has no MTU, and its number of flows."""

    size: int
    flows: int


class Ping(_ProbeOptions):
    """A ping or path probe from a rail to another host's; cross: to another rail; interval: seconds between requests."""

    item: str
    source: str | None
    target: str | None
    device: str
    netdev: str | None
    peer: str
    peer_device: str
    peer_netdev: str | None
    cross: bool
    count: int
    interval: float
