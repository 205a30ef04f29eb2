# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nicctl prints of the port and of the QoS of one AMD Pensando NIC, named by the PCI address of its Ethernet function.

A whole program of the standard library: hosts run it as it is. nicctl names its cards by an id, and prints another PCI address of them than
the netdev's, so that its list of cards (``eth_bdf``) is what leads from a rail to a card. Nothing here interprets the texts.
"""

from __future__ import annotations

import json
import subprocess
import sys

SECONDS = 15


def printed(*arguments):
    """What nicctl prints; ends the program with nicctl's own words where it fails."""
    done = subprocess.run(["nicctl", *arguments], capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0 or not done.stdout.strip():
        raise SystemExit(f"nicctl {' '.join(arguments)} ended with status {done.returncode}: {(done.stderr.strip() or done.stdout.strip())[:200]}")
    return done.stdout


def card_of(pci):
    """The id of the one card whose Ethernet function has a PCI address."""
    try:
        cards = json.loads(printed("show", "card", "-j"))["nic"]
        found = [card["id"] for card in cards if str(card.get("eth_bdf")).lower() == pci.lower()]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise SystemExit("nicctl show card -j is not of the known form") from None
    if len(found) != 1:
        raise SystemExit(f"nicctl show card -j has {len(found)} cards whose Ethernet function is {pci}")
    return found[0]


def main():
    """Print the texts one after the other."""
    try:
        card = card_of(sys.argv[1])
        for what in ("port", "qos"):
            sys.stdout.write(printed("show", what, "-c", card))
    except subprocess.TimeoutExpired as slow:
        raise SystemExit(f"{' '.join(slow.cmd)} took longer than {SECONDS} s") from None


if __name__ == "__main__":
    main()
