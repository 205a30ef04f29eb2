# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""To which host the others lost their connections, where most of them name the same one."""

from __future__ import annotations

import typing as t

from ...loads.host_names import HostNames
from ...loads.rank_errors import follows, is_of_a_connection

# One host that names another one may itself be the reason.
LEAST_HOSTS = 2
LOST = "{number} hosts lost their connections to {host}{rail}, more than to all others together. "


class LostPeer(t.NamedTuple):
    """The host; device: its rail where all name the same one and it may be the reason; by: who lost it; words: what the first of these ended with."""

    host: str
    device: str | None
    by: t.Sequence[str]
    words: str

    @property
    def said(self) -> str:
        """How many lost it, as a sentence with a blank behind it."""
        return LOST.format(number=len(self.by), host=self.host, rail=f" over its rail {self.device}" if self.device else "")


def lost_peer(ended: t.Mapping[str, str], names: HostNames) -> LostPeer | None:
    """The host to which more than half of those that name a lost connection lost it; None where they name several. ended: what each host ended with."""
    found: dict[str, dict[str, set[str]]] = {}
    voters = 0
    for host, words in ended.items():
        peers = {peer: devices for peer, devices in names.peers(words).items() if peer != host} if is_of_a_connection(words) else {}
        if len(peers) == 1:
            voters += 1
            for peer, devices in peers.items():
                found.setdefault(peer, {})[host] = devices
    most = max(found, key=lambda one: len(found[one]), default="")
    by = found.get(most, {})
    if len(by) < LEAST_HOSTS or 2 * len(by) <= voters:
        return None
    words = ended[next(iter(by))]
    devices = {device for its in by.values() for device in its}
    # Who only closed its connections ended by itself, whatever they went over.
    return LostPeer(most, devices.pop() if len(devices) == 1 and not follows(words) else None, list(by), words)
