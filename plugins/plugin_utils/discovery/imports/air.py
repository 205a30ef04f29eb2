# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An NVIDIA Air topology as JSON, which the reference topologies of Spectrum-X are published as.

``{"content": {"nodes": {NAME: {"os": ...}}, "links": [[{"node", "interface"}, {"node", "interface"}], ...]}}``, or what is in ``content`` alone.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from ...text.shortened import shortened
from .listing import ImportFailed, ListedCable, ListedNode, Listing

# By the image that a node runs: the platforms of switches; all others are hosts.
PLATFORMS = {"cumulus": "cumulus", "sonic": "sonic", "veos": "eos", "ceos": "eos", "nxos": "nxos", "n9k": "nxos"}
# The network that Air adds for itself, which is no cable of a pod.
OUTSIDE = ("exit", "outbound", "unconnected")


def read_air(path: Path) -> Listing:
    """The nodes and cables of a topology.

    Raises ImportFailed where it is none.
    """
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ImportFailed(f"it is not JSON: {shortened(str(error), 120)}") from None
    content = read.get("content", read) if isinstance(read, dict) else None
    if not isinstance(content, dict) or not isinstance(content.get("nodes"), dict) or not isinstance(content.get("links"), list):
        raise ImportFailed("it has no nodes and links; of a topology, export the JSON format")
    found = Listing()
    for name, own in content["nodes"].items():
        image = str((own or {}).get("os", "")).lower()
        found.nodes[name] = ListedNode(name, platform=next((platform for word, platform in PLATFORMS.items() if word in image), ""))
    for link in content["links"]:
        ends = [_end(one) for one in link] if isinstance(link, list) else []
        if len(ends) != 2 or None in ends:
            found.left_out.append(f"the link {shortened(json.dumps(link), 120)}: it does not join two nodes")
            continue
        found.cables.append(ListedCable(t.cast("tuple[str, str]", ends[0]), t.cast("tuple[str, str]", ends[1])))
    return found


def _end(one: t.Any) -> tuple[str, str] | None:
    if not isinstance(one, dict) or str(one.get("node", "")).lower() in ("", *OUTSIDE) or not one.get("interface"):
        return None
    return str(one["node"]), str(one["interface"])
