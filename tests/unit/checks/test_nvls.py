# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVLS by what NCCL reports, host by host."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives import nvls

Rows = list[dict[str, t.Any]]


def judged(device: str = "NVIDIA H200", vendor: str = "nvidia", **events: str) -> list[tuple[str | None, str, str | None]]:
    """The findings of a group whose hosts' logs have such an event for each of two GPUs, or none."""
    jobs = {host: [{"kind": "node", "item": "alone", "role": "rank", "hosts": [host]}] for host in events}
    logs = {host: [{"item": "alone", "event": event}] * 2 if event else [] for host, event in events.items()}
    return [(one.host, one.actual, one.severity) for one in nvls.nvls_available(jobs, {host: [{"device": device}] for host in events}, logs, vendor)]


def test_a_host_that_lacks_what_its_group_has_fails() -> None:
    assert judged(a="nvls", b="no_nvls", c="nvls") == [("b", "not available on 2 of its GPUs", None)]
    assert judged(a="nvls", b="nvls") == []


def test_a_group_that_lacks_it_as_a_whole_warns() -> None:
    assert judged(a="no_nvls", b="no_nvls") == [(host, "not available on 2 of its GPUs", "warn") for host in "ab"]


def test_a_host_of_which_nothing_is_reported_is_unknown() -> None:
    assert judged(a="nvls", b="") == [("b", "not reported", "unknown")]


@pytest.mark.parametrize(("device", "vendor"), [("NVIDIA A100-SXM4-80GB", "nvidia"), ("AMD Instinct MI300X OAM", "amd"), ("NVIDIA H200", "nvidia")])
def test_gpus_without_it_and_logs_without_a_word_of_it_are_no_pass(device: str, vendor: str) -> None:
    with pytest.raises(NotApplicable):
        judged(device, vendor, a="" if device == "NVIDIA H200" else "no_nvls", b="")
