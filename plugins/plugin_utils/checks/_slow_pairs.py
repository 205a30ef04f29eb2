# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a slow test between two rails comes to, by its retests and by error counters: cause and fix of each."""

from __future__ import annotations

from ..loads.error_classes import specific_class

# Below this part of the link, with no error counted, a NIC is in a state that only a reset ends.
STUCK = 0.25
STUCK_CAUSE = "The NIC is in a bad state (firmware, PCIe power management): it is below a quarter of its rate though no error was counted."
STUCK_FIX = "Reset the NIC (mlxfwreset -d PCI reset) or power the host off and on, cold; then compare its PCIe width, speed and firmware with a good host's."
PASSED_CAUSE = "One test was slow, and the same round passed each time that it was repeated: traffic of another source, a path that was busy, or a start."
PASSED_FIX = "Run layer 4 again; where it comes back on the same rail or path, look at the switches' uplinks and the host's log at that time."
SLOWER_CAUSE = "No other host under test has a rail as fast, so that nothing above the rate of its slower partners was measured."
SLOWER_FIX = "Validate it with a host whose rail is as fast; or correct pod_link_gbit_s, or gbit_s of the wiring plan, where this rail is not."
NOT_RUN_CAUSE = (
    "perftest did not come to a rate, for what it prints; this says nothing about RDMA. A partner that is not reached is behind a firewall or did not "
    "start its side; memory or queue pairs that are refused are limits of the host."
)
NOT_RUN_FIX = (
    "Install a program that is not found. Else start the command of the evidence (load_jobs) by hand between the two hosts: open the TCP ports from "
    "pod_perftest_port on in the host's firewall, and compare its perftest, memory limits and the address at which it is reached with a good host's."
)
ENDED_CAUSE = (
    "The test ended with this error and measured no rate: packets or their acknowledgements are lost on the way to or from the end that is named (its link, "
    "its leaf's port, a route or GID of one path), or its device refuses the operation."
)
ENDED_FIX = (
    "Look at the error counters and the kernel's log of that rail, at its leaf's port, and at the route and GID between the two ends; then start the test by "
    "hand with the arguments in the evidence (load_jobs)."
)
ONLY_CONCURRENT = "only under concurrent load"
CONCURRENT_CAUSE = "It carries its rate alone and not beside others: the host's PCIe, memory or NUMA, or uplinks that several pairs share."
CONCURRENT_FIX = (
    "For a host: PCIe width and speed, NPS and NUMA, IOMMU, power limits. For a path: how the leaf's uplinks were filled, its hash and its buffers."
)


def ended_ill(words: str | None) -> tuple[str, str]:
    """Cause and fix of a test that ended with an error of its own: by the completion that its words name, where that is of a known class."""
    named = specific_class(words or "")
    return (named.cause, named.fix) if named else (ENDED_CAUSE, ENDED_FIX)
