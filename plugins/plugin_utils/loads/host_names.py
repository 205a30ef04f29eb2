# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host of a job a log means: by its name, with a domain or without, or by an address of one of its rails or of the host itself.

What a launcher was given for a host, and what Ansible connects to (``ansible_host``), are such addresses, whether they are numbers or names.
"""

from __future__ import annotations

import ipaddress
import re
import typing as t
from types import MappingProxyType

from .line_labels import known_host

# Host and, where the address is of a rail, the rail's RDMA device.
Addressed = tuple[str, "str | None"]
# One object, so that what is computed with it is kept.
NO_ADDRESSES: t.Mapping[str, Addressed] = MappingProxyType({})
# A word of a line that may be an address or a name; a colon and what stands behind it may be a port.
WORD = re.compile(r"(?<![\w.:/@-])[0-9A-Za-z][\w.:-]*(?<![.:-])")
WITH_PORT = re.compile(r"(.+?)(:\d{1,5})$")
# How NCCL, RCCL and Gloo name the other end of a connection of theirs: by its host's name or address, or by the GID of its rail. The store at which ranks
# meet is named otherwise: that all lose it says only that its host ended, too.
PEER = re.compile(
    r"(?:\b(?:from|by) (?:remote )?peer|remote ?G[Ii][Dd]s?:?|\b[Cc]onnect to|\b(?:Read|Write) error|\bConnect timeout) ?"
    r"\[?(?P<name>[0-9A-Za-z][\w.:-]*|::[\w.:]+)"
)


class HostNames:
    """The hosts of a job; addresses: ``pod_host_addresses``, host and device by address as the plan writes it."""

    def __init__(self, hosts: t.Collection[str], addresses: t.Mapping[str, Addressed] = NO_ADDRESSES) -> None:
        self.hosts, self.addresses = hosts, addresses

    def host(self, name: str) -> str | None:
        """The host of the job that a name or an address is of; None of any other."""
        found = known_host(name, self.hosts) or self._addressed(name)[0]
        return found if found in self.hosts else None

    def peers(self, line: str) -> dict[str, set[str]]:
        """The other ends of connections that a line names, with the rails that it names of each."""
        found: dict[str, set[str]] = {}
        for match in PEER.finditer(line):
            name = match["name"].rstrip(".,:")
            if host := self.host(name):
                device = self._addressed(name)[1]
                found.setdefault(host, set()).update([device] if device else ())
        return found

    def in_words(self, words: str) -> str:
        """Words with the name of each host before an address or another name of it; those of rails say which rail they are of, and stay."""
        return WORD.sub(self._named, words)

    def _named(self, match: re.Match[str]) -> str:
        word, port = match[0], ""
        if self._addressed(word)[0] is None and (before := WITH_PORT.match(word)):
            word, port = before[1], before[2]
        host, device = self._addressed(word)
        return match[0] if host in (None, word) or device is not None or host not in self.hosts else f"{host} ({word}){port}"

    def _addressed(self, name: str) -> tuple[str | None, str | None]:
        known = name if name in self.addresses else plain_address(name) or ""
        return self.addresses.get(known, (None, None))


def plain_address(name: str) -> str | None:
    """An address in the form of the plan: of IPv4 where a GID has it in IPv6; None of what is none."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return None
    return str((address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None) or address)
