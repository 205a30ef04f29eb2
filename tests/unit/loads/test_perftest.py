# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Complaints of perftest: what is of the network is a fail, what is of the tool or of the partner's end is unknown."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.perftest_errors import explain_error, explained


@pytest.mark.parametrize(
    ("text", "verdict", "words"),
    [
        (" Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n", "fail", "transport retries exceeded"),
        (" Completion with error at client\n", "fail", "a completion with an error (Completion with error at client)"),
        (" Failed status 77: wr_id 0\n", "fail", "a completion with an error (Failed status 77: wr_id 0)"),
        ("IB device mlx5_9 not found\n Unable to find the Infiniband/RoCE device\n", "fail", "the host lacks the device (IB device mlx5_9 not found)"),
        ("Couldn't connect to 10.0.0.2:18515\nUnable to open file descriptor for socket connection", "unknown", "(Couldn't connect to 10.0.0.2:18515)"),
        ("Couldn't listen to port 18515\n", "unknown", "in use"),
    ],
)
def test_the_complaint_that_says_most_is_reported(text: str, verdict: str, words: str) -> None:
    output = explain_error("noise\n", text)
    assert output is not None and output.verdict == verdict and words in str(output)


def test_no_complaint_is_none() -> None:
    assert explain_error("", "Conflicting CPU frequency values detected: 1.0 != 2.0.\n") is None


@pytest.mark.parametrize(
    ("text", "of_gpus", "cause"),
    [
        ("IB device mlx5_9 not found", False, "not visible"),
        ("Couldn't allocate MR", True, "nvidia_peermem"),
        ("Couldn't allocate MR", False, "locked memory"),
        ("Failed to modify QP 72 to RTR", False, "ARP"),
        ("Failed to modify QP 72 to RTS", False, "ready to send"),
        ("Port number 1 state is Down", True, "went down"),
        ("Failed status 11: wr_id 0 syndrom 0x89", True, "far end"),
        ("Couldn't listen to port 18515", False, "listens at the port"),
    ],
)
def test_a_complaint_has_the_cause_of_the_memory_that_was_tested(text: str, of_gpus: bool, cause: str) -> None:
    found = explained(text, of_gpus)
    assert found is not None and cause in found[0] and found[1]


def test_a_complaint_of_the_partners_end_has_no_cause_of_its_own() -> None:
    assert explained("Couldn't connect to 10.0.0.2:18515") is None
