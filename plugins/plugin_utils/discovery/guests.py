# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether hosts are virtual machines: proposed as most of them are, and a host that differs is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..checks.guests import GUEST, hypervisor_of
from ..readings.rows import Rows
from ..text.ranges import ranges
from .outliers import Outlier
from .proposals import Proposal
from .usual import odd_ones, usual_of

READING = "virtualization"
KINDS = {True: "a virtual machine", False: "bare metal"}


def guests_of(hosts: Sequence[str], readings: Mapping[str, Mapping[str, Rows]]) -> tuple[list[Proposal], list[Outlier], list[str]]:
    """The proposal that hosts are guests, the hosts that differ from most, and a blank where no kind is that of most; bare metal is the default."""
    hypervisors = {host: hypervisor_of(readings[host][READING]) for host in hosts if readings.get(host, {}).get(READING)}
    if not any(hypervisors.values()):
        return [], [], []
    values = {(host, ""): bool(hypervisor) for host, hypervisor in hypervisors.items()}
    most = usual_of(values)
    if most is None:
        kinds = {kind: [host for host, _port in values if values[host, ""] is kind] for kind in KINDS}
        return [], [], [f"pod_virtualization: {GUEST} by {ranges(kinds[True])}, and {ranges(kinds[False])} are bare metal; set it by host"]
    of_most = f"and {most.nodes} of {most.reporting} hosts are {KINDS[most.value].replace('a virtual machine', 'virtual machines')}"
    odd = odd_ones(values, most, lambda value: f"is {KINDS[value]}, {of_most}")
    by = ", ".join(sorted({one for one in hypervisors.values() if one}))
    read = f"{most.nodes} of {most.reporting} hosts are virtual machines ({by})"
    return [Proposal("pod_virtualization", GUEST, read)] if most.value else [], odd, []
