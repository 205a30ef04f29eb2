# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a load must reach: the minimum rate of a rail, the minimum busbw of an all-reduce, the longest training step.

Planners, which repeat what was below them, and checks, which judge it, take them from here.
"""

from __future__ import annotations

import math
import re
import typing as t

from ..pod.rail_ports import rail_ports

RailRates = t.Mapping[str, t.Mapping[str, float]]
IN_A_SLOT = re.compile(r"PCIe|\bNVL\b", re.IGNORECASE)


def minimum_gbit_s(ends: t.Iterable[tuple[str, str]], rates: RailRates, percent: float, bidirectional: bool) -> float:
    """What a test between rails must reach, in Gb/s: a part of the slower one's link rate; both directions together where they are tested together.

    ends: host and device of each; rates: as ``Plan.rail_gbit_s``. A rail that the plan does not have is left out; infinite where it has none of them.
    """
    known = (rates[host][device] for host, device in ends if device in rates.get(host, ()))
    return min(known, default=math.inf) * percent / 100 * (2 if bidirectional else 1)


def host_gbyte_s(values: t.Mapping[str, t.Any]) -> float:
    """What all rails of a host carry together, in GB/s."""
    return float(len(rail_ports(values["pod_rails"])) * values["pod_link_gbit_s"] / 8)


def expected_busbw(hosts: int, values: t.Mapping[str, t.Any]) -> float | None:
    """The busbw that an all-reduce over so many hosts is expected to reach, in GB/s: the pod's own number for that many or for the next
    fewer, or a part of what the rails carry; None where nothing is known.
    """
    table = {int(count): float(rate) for count, rate in values["pod_all_reduce_busbw_gbyte_s"].items()}
    below = [count for count in table if count <= hosts]
    if below:
        return table[max(below)]
    return host_gbyte_s(values) * values["pod_all_reduce_percent"] / 100 or None


def within_tolerance(expected: float, percent: float) -> float:
    """The least busbw that counts as an expected one, in the unit of that."""
    return expected * (1 - percent / 100)


def minimum_busbw(hosts: int, values: t.Mapping[str, t.Any]) -> float | None:
    """The busbw below which a run over so many hosts has failed, in GB/s."""
    rate = expected_busbw(hosts, values)
    return None if rate is None else within_tolerance(rate, values["pod_busbw_tolerance_percent"])


def known_node_busbw(device: str | None, own: float | None, by_gpu: t.Mapping[str, t.Any]) -> float | None:
    """The busbw of a host alone in GB/s: the pod's own number, or that of its GPU, which is of eight on NVSwitch or alike; None where none is known.

    A GH200 is no H200, and a card in a slot is none on a board.
    """
    if own is not None:
        return own
    named = [name for name in by_gpu if re.search(rf"(?<![A-Z0-9]){re.escape(name)}(?![A-Z0-9])", str(device))]
    found = max(named, key=len, default=None)
    return float(by_gpu[found]) if found is not None and (IN_A_SLOT.search(found) or not IN_A_SLOT.search(str(device))) else None


# How many switches more than under one leaf.
FURTHER_SWITCHES = {"spine": 2, "super_spine": 4}


def longest_latency_us(path: str | None, under_one_leaf_us: float, hop_us: float) -> float:
    """The longest latency of a small write, in microseconds; path: of the job, the highest tier that it passes."""
    return under_one_leaf_us + FURTHER_SWITCHES.get(path or "", 0) * hop_us


def longest_step_ms(seconds: float, tolerance_percent: float) -> float:
    """The longest mean step time that counts as the expected one, in milliseconds; seconds: the expected one."""
    return seconds * 1e3 * (1 + tolerance_percent / 100)
