# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NCCL's own log says of how its data went, and why that is slow."""

from __future__ import annotations

import typing as t

Rows = list[dict[str, t.Any]]


def network_channels(log: Rows) -> Rows:
    """The channels that leave the host."""
    return [row for row in log if row["event"] == "channel" and str(row["name"]).startswith("NET/")]


def by_socket(log: Rows) -> bool:
    """Whether channels that leave the host go over TCP."""
    return any(str(row["name"]).startswith("NET/Socket") for row in network_channels(log))


def devices(log: Rows) -> list[str]:
    """The NICs in use, in NCCL's order, by which channels number them."""
    return list(dict.fromkeys(str(row["device"]) for row in log if row["event"] == "device"))


def used(log: Rows) -> set[str]:
    """The NICs that a channel goes over."""
    names = devices(log)
    return {names[row["nic"]] for row in network_channels(log) if row["nic"] is not None and row["nic"] < len(names)}


def staged(log: Rows) -> Rows:
    """The channels that leave the host and are copied through its memory."""
    return [row for row in network_channels(log) if not row["gdr"]]


def not_peer(log: Rows) -> Rows:
    """The channels within the host that do not go from GPU to GPU."""
    return [row for row in log if row["event"] == "channel" and not str(row["name"]).startswith(("NET/", "P2P"))]


def why_slow(log: Rows | None, rails: t.Sequence[str], traffic_class: int | None) -> list[str]:
    """The reasons, in words, that NCCL's log gives for a low rate; none where it gives none.

    rails: the devices that should carry it; traffic_class: what the pod's traffic must have, or None.
    """
    if not log:
        return ["NCCL's log was not read"]
    reasons = []
    out = network_channels(log)
    if by_socket(log):
        reasons.append("NCCL fell back to TCP sockets")
    elif staged(log):
        reasons.append(f"GPUDirect is off on {len(staged(log))} of {len(out)} channels")
    if out and not by_socket(log) and (unused := [rail for rail in rails if rail not in used(log)]):
        reasons.append(f"{len(rails) - len(unused)} of {len(rails)} rails carry it, not {', '.join(unused)}")
    if not_peer(log):
        reasons.append(f"{len(not_peer(log))} channels within the host go through its memory, not from GPU to GPU")
    classes = {row["value"] for row in log if row["event"] == "variable" and row["name"] == "NCCL_IB_TC"}
    if out and not by_socket(log) and traffic_class is not None and classes != {str(traffic_class)}:
        reasons.append(f"its traffic class is {', '.join(sorted(map(str, classes))) or 'not set'}, not {traffic_class}")
    return reasons
