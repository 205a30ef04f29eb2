# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rails of a pod whose hosts report no RDMA device or no GPU at all: named by their netdevs and numbered by their ports, where that is accepted.

A host with a driver that is not loaded looks the same. What was accepted is then a plan that layer 0 finds not kept, and nothing passes by it.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence

Rail = dict[str, t.Any]
WORD = "rails_by_port"


def unreported(rails: Mapping[str, Sequence[Rail]]) -> list[str]:
    """What no rail of the pod has of ``device`` and ``gpu``; what some have and others lack is a blank, and none of these."""
    every = [rail for own in rails.values() for rail in own]
    return [key for key in ("device", "gpu") if every and all(rail[key] is None for rail in every)]


def fill(rails: Mapping[str, Iterable[Rail]], missing: Iterable[str]) -> None:
    """Name and number the rails of each host, whose order is that of their ports."""
    for own in rails.values():
        for number, rail in enumerate(own):
            rail |= {key: rail["netdev"] if key == "device" else number for key in missing}


def in_words(missing: Sequence[str]) -> str:
    """The proposal for an operator."""
    named = {"device": "the netdev for the RDMA device", "gpu": "GPUs in the order of the ports"}
    return f"{WORD}: {', '.join(named[key] for key in missing)} (no host reports any)"
