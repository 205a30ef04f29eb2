# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the state of a port that is not Active says of why it is not."""

from __future__ import annotations

NO_LINK_CAUSE = (
    "The NIC is there and its link does not come up: the cable or optic is out or bad, the leaf's port is shut, or its rate, error correction (FEC) or "
    "autonegotiation is another than the NIC's."
)
NO_LINK_FIX = (
    "Look at the leaf's port (shut, errdisabled, light, its module in low power or not ready), then compare rate, FEC and autonegotiation of both ends "
    "(mlxlink -d DEVICE, ethtool --show-fec; show interfaces of the leaf); then swap cable and optic with a rail that is up."
)
INITIALIZING_CAUSE = (
    "The link is up, and no subnet manager has configured the port: none is master in this subnet, or it does not reach or does not accept this port (its log, "
    "a partition or a GUID that it refuses)."
)
INITIALIZING_FIX = "See subnet_manager_up; run sminfo from this port and read the log of the master subnet manager for its GUID; then have it sweep again."
# The states of a port (IBTA 14.2.5.6) that say more than that it is not Active: on Ethernet no port initialises.
OF_PORT_STATES = {"Down": (NO_LINK_CAUSE, NO_LINK_FIX), "Initializing": (INITIALIZING_CAUSE, INITIALIZING_FIX), "Init": (INITIALIZING_CAUSE, INITIALIZING_FIX)}
