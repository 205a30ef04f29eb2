# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a vendor's tool prints instead of an answer: the line that says why, with cause and fix."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.tool_errors import known_or_last_line, known_tool_error


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch", "reboot"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed.", "kernel"),
        ("Unable to determine the device handle for GPU0000:9D:00.0: Unknown Error", "bus"),
        ("No devices were found", "lspci"),
        ("ROCk module is NOT loaded, possibly no GPU devices", "amdgpu"),
        ("Exiting: failed to connect to any daemons.", "/etc/frr/daemons"),
        ("Error response from daemon: Container dfa7901af190 is not running", "show feature status"),
    ],
)
def test_a_message_of_a_tool(line: str, word: str) -> None:
    known = known_tool_error(f"nvidia-smi exited with status 18: {line}")
    assert known is not None and word in f"{known.cause} {known.fix}"
    assert known_or_last_line([line, "NVML library version: 550.127"]) == line


def test_another_message() -> None:
    assert known_tool_error("nvidia-smi exited with status 1: something else") is None
    assert known_or_last_line(["one", "two"]) == "two" and known_or_last_line([]) == ""
