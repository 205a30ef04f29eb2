# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What niccli prints of the QoS of one Broadcom NIC, named by its PCI address.

A whole program of the standard library: hosts run it as it is. niccli numbers its devices, and its list of them leads from a rail to a number:
neither the order nor the netdevs' names do. Nothing here interprets the text.
"""

from __future__ import annotations

import re
import subprocess
import sys

SECONDS = 15
NUMBER = re.compile(r"\s*(\d+)\s*\)")
ADDRESS = re.compile(r"\s*PCI Address\s*:\s*(\S+)")


def printed(*arguments):
    """What niccli prints; ends the program with niccli's own words where it fails."""
    done = subprocess.run(["niccli", *arguments], capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0 or not done.stdout.strip():
        raise SystemExit(f"niccli {' '.join(arguments)} ended with status {done.returncode}: {(done.stderr.strip() or done.stdout.strip())[:200]}")
    return done.stdout


def number_of(pci):
    """The number of the one device that has a PCI address."""
    number, found = None, []
    for line in printed("--list_devices").splitlines():
        if counted := NUMBER.match(line):
            number = counted[1]
        elif (at := ADDRESS.match(line)) and at[1].lower() == pci.lower():
            found.append(number)
    if len(found) != 1 or found[0] is None:
        raise SystemExit(f"niccli --list_devices has {len(found)} devices at {pci}")
    return found[0]


def main():
    """Print the text."""
    try:
        sys.stdout.write(printed("--dev", number_of(sys.argv[1]), "qos", "--ets", "--show"))
    except subprocess.TimeoutExpired as slow:
        raise SystemExit(f"{' '.join(slow.cmd)} took longer than {SECONDS} s") from None


if __name__ == "__main__":
    main()
