# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that leads from a rail to the card of nicctl, with a nicctl of shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import nicctl_qos

CARDS = '\n{"nic": [{"id": "card-1", "pcie_bdf": "0000:06:00.0", "eth_bdf": "0000:09:00.0"}, {"id": "card-2", "eth_bdf": "0000:1A:00.0"}]}'


def asked(place: Path, pci: str, cards: str = CARDS, otherwise: str = 'echo "$*"') -> subprocess.CompletedProcess[str]:
    """What the program prints of a rail beside a nicctl that has some cards."""
    tool = place / "nicctl"
    tool.write_text(f"#!/bin/sh\nif [ \"$2\" = card ]; then cat <<'END'\n{cards}\nEND\nelse {otherwise}\nfi\n")
    tool.chmod(0o755)
    environment = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}"}
    argv = [sys.executable, "-SE", str(nicctl_qos.__file__), pci]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)


def test_the_card_is_found_by_its_ethernet_function(tmp_path: Path) -> None:
    done = asked(tmp_path, "0000:1a:00.0")
    assert (done.returncode, done.stdout) == (0, "show port -c card-2\nshow qos -c card-2\n")


@pytest.mark.parametrize(
    ("pci", "cards", "otherwise", "words"),
    [
        # The PCI address of the card's own switch is no rail's.
        ("0000:06:00.0", CARDS, "echo x", "has 0 cards whose Ethernet function is 0000:06:00.0"),
        ("0000:09:00.0", CARDS.replace("1A", "09"), "echo x", "has 2 cards whose Ethernet function is 0000:09:00.0"),
        ("0000:09:00.0", "{}", "echo x", "not of the known form"),
        ("0000:09:00.0", "No AMD NICs", "echo x", "not of the known form"),
        ("0000:09:00.0", CARDS, "echo Invalid card handle >&2; exit 1", "nicctl show port -c card-1 ended with status 1: Invalid card handle"),
        # It ends with status 0 where there is no NIC, and prints nothing.
        ("0000:09:00.0", CARDS, "true", "nicctl show port -c card-1 ended with status 0"),
    ],
)
def test_what_is_no_answer_ends_with_the_reason(pci: str, cards: str, otherwise: str, words: str, tmp_path: Path) -> None:
    done = asked(tmp_path, pci, cards, otherwise)
    assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr
