# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two machines and their rails: names and addresses."""

from __future__ import annotations

HOSTS = ("gpu01", "gpu02")
RAILS = 8
# An RDMA MTU of 4096 and its headers.
RAIL_MTU = 4200
MANAGEMENT = "10.0.2.15/24"


def device(rail: int) -> str:
    """A rail's RDMA device."""
    return f"mlx5_{rail}"


def netdev(rail: int) -> str:
    """A rail's network device."""
    return f"rail{rail}"


def address(host: str, rail: int) -> str:
    """A rail's address; each rail is a network of its own."""
    return f"172.16.{rail}.{HOSTS.index(host) + 1}"


def mac(host: str, rail: int | None) -> str:
    """The MAC address of a rail, or of the management port."""
    return f"02:00:00:00:{HOSTS.index(host) + 1:02x}:{0xFF if rail is None else rail:02x}"


def peer(host: str) -> str:
    """The other machine."""
    return HOSTS[1 - HOSTS.index(host)]
