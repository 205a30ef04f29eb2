# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The doctor on the simulated pod: a healthy pod lacks nothing, and what nodes lack is named once with its package and its checks."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS

from .conftest import Pod


def doctor(pod: Pod, *faults: str) -> list[str]:
    """The lines of the terminal's output, from the table on."""
    done = pod.playbook(playbook="playbooks/doctor.yml", simulated_faults=",".join(faults))
    assert done.rc == 0, done.output
    lines = done.output.splitlines()
    return lines[lines.index("layer          hosts ready      switches ready") :]


def ready(lines: list[str]) -> dict[str, list[str]]:
    """Of each layer, how many hosts and switches are ready, as ``3 of 4``."""
    cells = {line.split()[1]: line.split()[2:] for line in lines[1 : len(LAYERS) + 1]}
    return {layer: [" ".join(words[:3]), " ".join(words[3:])] for layer, words in cells.items()}


@pytest.mark.exhaustive
def test_a_healthy_pod_lacks_nothing_and_what_nodes_lack_is_named(tmp_path: Path) -> None:
    pod = Pod(tmp_path)
    healthy = doctor(pod)
    assert ready(healthy) == {layer: ["8 of 8", "12 of 12"] for layer in LAYERS}, healthy
    assert not any(line.startswith(("missing", "not answered", "no answer")) for line in healthy)
    lines = doctor(pod, "perftest_missing", "host_unreachable", "switch_refuses")
    text = "\n".join(lines)
    assert ready(lines)["rdma"] == ["6 of 8", "12 of 12"] and ready(lines)["training"] == ["7 of 8", "12 of 12"], text
    assert [words for layer in ("links", "routing") for words in ready(lines)[layer][1:]] == ["11 of 12", "11 of 12"], text
    assert "no answer of gpu03\n  Failed to connect" in text and "missing on gpu04: ib_write_bw\n  Debian: perftest" in text
    assert "  rdma, gates stay closed: the loads" in lines and "the switch refuses the command" in text
