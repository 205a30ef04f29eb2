# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that leads from a rail to the number of niccli, with a niccli of shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import niccli_qos

DEVICES = """
1 ) Broadcom BCM57608 1x400G QSFP-DD PCIe Ethernet NIC (Adp#1 Port#1)
     Device Interface Name     : benic1p1
     PCI Address               : 0000:06:00.0

3) Broadcom BCM57608 1x400G QSFP-DD PCIe Ethernet NIC (Adp#3 Port#1)
     Device Interface   : benic4p1
     PCI Address        : 0000:E6:00.0"""


def asked(place: Path, pci: str, devices: str = DEVICES, otherwise: str = 'echo "$*"') -> subprocess.CompletedProcess[str]:
    """What the program prints of a rail beside a niccli that has some devices."""
    tool = place / "niccli"
    tool.write_text(f"#!/bin/sh\nif [ \"$1\" = --list_devices ]; then cat <<'END'\n{devices}\nEND\nelse {otherwise}\nfi\n")
    tool.chmod(0o755)
    environment = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}"}
    argv = [sys.executable, "-SE", str(niccli_qos.__file__), pci]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)


def test_the_number_is_found_by_the_pci_address(tmp_path: Path) -> None:
    done = asked(tmp_path, "0000:e6:00.0")
    assert (done.returncode, done.stdout) == (0, "--dev 3 qos --ets --show\n")


@pytest.mark.parametrize(
    ("pci", "devices", "otherwise", "words"),
    [
        ("0000:07:00.0", DEVICES, "echo x", "has 0 devices at 0000:07:00.0"),
        ("0000:06:00.0", DEVICES.replace("E6", "06"), "echo x", "has 2 devices at 0000:06:00.0"),
        ("0000:06:00.0", "PCI Address : 0000:06:00.0", "echo x", "has 1 devices at 0000:06:00.0"),
        ("0000:06:00.0", DEVICES, "echo no such command; exit 3", "niccli --dev 1 qos --ets --show ended with status 3: no such command"),
    ],
)
def test_what_is_no_answer_ends_with_the_reason(pci: str, devices: str, otherwise: str, words: str, tmp_path: Path) -> None:
    done = asked(tmp_path, pci, devices, otherwise)
    assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr
