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
    "Look at the port of {leaf} for it: shut or errdisabled; its module in low power, not ready or with its lasers off although the port is not shut (shut it "
    "and open it again: shutdown, no shutdown or startup). Then compare rate, FEC and autonegotiation of both ends (mlxlink -d {device}, ethtool --show-fec; "
    "show interfaces of the leaf); then swap cable and optic with a rail that is up."
)
DISABLED_CAUSE = (
    "The port is switched off at this end (Disabled; one whose far end is off is Polling): its netdev was set down, or a bond never came up over its ports; it "
    "was disabled by hand (ibportstate, mlxlink); or its driver gave the NIC up, or its slot lost the PCIe link."
)
DISABLED_FIX = (
    "Read hardware_log and the kernel's log of the NIC first. Then set it up: ip link set NETDEV up (a bond down, then up, once its ports have links), "
    "mlxlink -d {device} -a UP, or on InfiniBand ibportstate LID PORT enable; and look for what set it down (the journal, netplan, NetworkManager, a script)."
)
INITIALIZING_CAUSE = (
    "The link is up, and no subnet manager has configured the port: none is master in this subnet, or it does not reach or does not accept this port (its log, "
    "a partition or a GUID that it refuses)."
)
INITIALIZING_FIX = "See subnet_manager_up; run sminfo from this port and read the log of the master subnet manager for its GUID; then have it sweep again."
# The states of a port (IBTA 14.2.5.6) that say more than that it is not Active: on Ethernet no port initialises. By the physical state where that says more.
OF_PORT_STATES = {
    "Disabled": (DISABLED_CAUSE, DISABLED_FIX),
    "Down": (NO_LINK_CAUSE, NO_LINK_FIX),
    "Initializing": (INITIALIZING_CAUSE, INITIALIZING_FIX),
    "Init": (INITIALIZING_CAUSE, INITIALIZING_FIX),
}


def of_port_state(state: str | None, physical_state: str | None, leaf: str, device: str) -> tuple[str | None, str | None]:
    """Cause and fix of a port that is not Active, by its states; None where these say no more."""
    cause, fix = OF_PORT_STATES.get(physical_state or "") or OF_PORT_STATES.get(state or "") or (None, None)
    return cause, fix and fix.format(leaf=leaf or "the leaf", device=device)
