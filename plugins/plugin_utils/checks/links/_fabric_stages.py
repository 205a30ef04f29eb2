# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an error of each stage of ibdiagnet comes from, and what to do."""

from __future__ import annotations

import re

# By a regular expression of the stage's name.
STAGES = (
    (
        r"Routing|Credit",
        "The routes that the subnet manager made have a credit loop, in which buffers can wait for each other until traffic stops, a destination that "
        "is not reached, or a table that differs from adaptive routing's: the routing engine does not fit the topology, or found no roots for it.",
        "Read the paths in ibdiagnet2.log (ibdiagnet -r); look in the log of the subnet manager which routing engine it used (opensm goes over to minhop where "
        "ftree or updn fails), set that of the topology with its root GUIDs, and take out cables between switches of one level.",
    ),
    (
        r"LID|GUID|Discovery",
        "Two ports have one LID or GUID, or a node did not answer while the fabric was discovered: two fabrics with managers of their own were joined, a GUID "
        "was written twice into firmware, or a node hangs.",
        "Take the nodes from ibdiagnet2.log; let one subnet manager assign the LIDs again, give the adapter its own GUIDs back (flint -guid), or boot the node "
        "that does not answer.",
    ),
    (
        r"Partition|P_?Key",
        "A switch port enforces other partitions than the host behind it has, so that packets of some partitions are dropped there.",
        "Compare the partition keys of both ends in ibdiagnet2.log with partitions.conf of opensm or UFM, and let the manager write them again.",
    ),
    (
        r"Subnet Manager|\bSM\b",
        "The subnet managers disagree: two are master, or none that was found is, or their priorities are the same.",
        "Look which managers run (sminfo, ibdiagnet2.sm), leave one master and one standby by their priorities, and stop the others.",
    ),
)


def of_stage(stage: str) -> tuple[str | None, str | None]:
    """Cause and fix of an error in a stage; None where the check's own say as much."""
    return next(((cause, fix) for pattern, cause, fix in STAGES if re.search(pattern, stage, re.IGNORECASE)), (None, None))
