# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the state of a port that is not Active says of why it is not."""

from __future__ import annotations

NO_LINK_CAUSE = (
    "The NIC is there and its link does not come up: the cable or optic is out or bad, its fibre has the wrong polarity (MPO type A for B: both modules send "
    "light and neither receives any), the leaf's port is shut, or its rate, error correction (FEC) or autonegotiation is another than the NIC's."
)
NO_LINK_FIX = (
    "Look at the port of {leaf} for it: shut or errdisabled; its module in low power, not ready or with its lasers off although the port is not shut (shut it "
    "and open it again: shutdown, no shutdown or startup). Then compare rate, FEC and autonegotiation of both ends (mlxlink -d DEVICE, ethtool --show-fec; "
    "show interfaces of the leaf); then swap cable and optic with a rail that is up."
)
# On Ethernet drivers say Disabled of every port without a carrier, whichever end it is.
NO_CARRIER_CAUSE = (
    f"{NO_LINK_CAUSE[:-1]}; or it is off at the host's end: its netdev is set down, a bond has not come up over ports that have links, or its slot lost the "
    "PCIe link."
)
NO_CARRIER_FIX = (
    "See whether it is off here: ip link shows NO-CARRIER of one that waits for the other end, and no UP of one that is set down (ip link set up; a bond down "
    f"and up). {NO_LINK_FIX}"
)
DISABLED_CAUSE = (
    "The port is switched off at this end (Disabled; one whose far end is off is Polling): it was disabled by hand (ibportstate, mlxlink), or its driver has "
    "not started it."
)
DISABLED_FIX = (
    "Enable it: ibportstate LID PORT enable, or mlxlink -d DEVICE -a UP; then look at the kernel's log of the NIC and for what disabled it (a script, a "
    "shell's history)."
)
MOST_CAUSE = (
    "Most rails of this host are down ({number} of {all}): one common cause of the host, and not each cable: its NICs' driver did not start or was restarted "
    "(openibd, a kernel without it), their firmware or settings are others than those of the other hosts, or all of its ports are shut at the leaves."
)
MOST_FIX = (
    "Look at hardware_log, software_uniform and software_pinned of this host (driver, firmware), at its kernel's log from the boot on and at the services that "
    "set up its NICs; bring driver and firmware to those of the other hosts and power-cycle it; then look at its ports at the leaves."
)
INITIALIZING_CAUSE = (
    "The link is up, and no subnet manager has configured the port: none is master in this subnet, or it does not reach or does not accept this port (its log, "
    "a partition or a GUID that it refuses)."
)
INITIALIZING_FIX = "See subnet_manager_up; run sminfo from this port and read the log of the master subnet manager for its GUID; then have it sweep again."
# By the fabric, the states of a port (IBTA 14.2.5.6) or its physical ones that say more than that it is not Active: on Ethernet no port initialises.
OF_PORT_STATES = {
    "roce": {"Down": (NO_CARRIER_CAUSE, NO_CARRIER_FIX)},
    "infiniband": {
        "Disabled": (DISABLED_CAUSE, DISABLED_FIX),
        "Down": (NO_LINK_CAUSE, NO_LINK_FIX),
        "Initializing": (INITIALIZING_CAUSE, INITIALIZING_FIX),
        "Init": (INITIALIZING_CAUSE, INITIALIZING_FIX),
    },
}


def of_port_state(fabric: str, state: str | None, physical_state: str | None, leaf: str) -> tuple[str | None, str | None]:
    """Cause and fix of a port that is not Active, by its states; None where these say no more. leaf: that of all such ports of the host, empty for several."""
    known = OF_PORT_STATES[fabric]
    cause, fix = known.get(physical_state or "") or known.get(state or "") or (None, None)
    return cause, fix and fix.format(leaf=leaf or "the leaf")
