# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses of either family in one spelling, and whether they are of the family of the pod's rails (``pod_address_family``)."""

from __future__ import annotations

import functools
import ipaddress
import typing as t

# The family of a pod's rails, as ``ip -j address`` calls it, as an operator reads it, and its version in ``netaddr`` and ``ipaddress``.
KERNEL_FAMILY = {"ipv4": "inet", "ipv6": "inet6"}
IN_WORDS = {"ipv4": "IPv4", "ipv6": "IPv6"}
VERSION = {"ipv4": 4, "ipv6": 6}
DEFAULT_ROUTES = {"ipv4": "0.0.0.0/0", "ipv6": "::/0"}
WHOLE_LENGTH = {"ipv4": 32, "ipv6": 128}


@functools.lru_cache(maxsize=65536)
def bare(address: str) -> str:
    """An address without prefix length and zone, in the one spelling that the kernel prints; what is none is returned as it is.

    Kept, since every host asks for those of its peers.
    """
    words = address.split("/", maxsplit=1)[0].strip()
    try:
        return str(ipaddress.ip_address(words.split("%", maxsplit=1)[0]))
    except ValueError:
        return words


@functools.lru_cache(maxsize=65536)
def family_of(address: str) -> str:
    """``ipv4`` or ``ipv6``.

    Raises ValueError where it is no address.
    """
    return "ipv6" if ipaddress.ip_interface(address).version == 6 else "ipv4"


@functools.lru_cache(maxsize=65536)
def is_link_local(address: str) -> bool:
    """Whether it is of one link only, as every netdev has one of IPv6; False of what is no address."""
    try:
        return ipaddress.ip_address(bare(address)).is_link_local
    except ValueError:
        return False


@functools.lru_cache(maxsize=65536)
def gid_family(gid: str) -> str | None:
    """The family of the routed address that a GID is made of; None of a link-local one, and of a text that is no GID."""
    try:
        address = ipaddress.IPv6Address(gid)
    except ValueError:
        return None
    if address.ipv4_mapped is not None:
        return "ipv4"
    return None if address.is_link_local else "ipv6"


def routed_addresses(rows: t.Sequence[dict[str, t.Any]]) -> dict[str | None, str]:
    """The address of each netdev with its prefix length, of rows of ``ip_address``: of IPv4 where it has one, else its first of IPv6 beyond its link."""
    found: dict[str | None, str] = {}
    for family in ("inet6", "inet"):
        its = [row for row in rows if row["family"] == family and not (family == "inet6" and is_link_local(row["address"]))]
        for row in its if family == "inet" else reversed(its):
            found[row["netdev"]] = f"{row['address']}/{row['prefix_length']}"
    return found
