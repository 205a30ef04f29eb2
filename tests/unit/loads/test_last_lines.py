# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last line that a training logged by itself."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.last_lines import last_line

STEPS = "15:29:40 step 7: loss 2.1\n15:29:45 step 8: loss 2.0\n15:29:50 step 9: loss 1.9\n"


@pytest.mark.parametrize(
    "ended",
    [
        "W1128 15:31:54.908000 743 torch/distributed/elastic/agent/server/api.py:739] Received 15 death signal, shutting down workers\n"
        "W1128 15:31:54.909000 743 torch/distributed/elastic/multiprocessing/api.py:1012] Sending process 756 closing signal SIGTERM\n"
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 743 got signal: 15\n",
        "WARNING 15:31:54 torch.distributed.elastic.agent.server.api: Received Signals.SIGTERM death signal, shutting down workers\n",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
        "slurmstepd: error: *** STEP 7.0 ON gpu01 CANCELLED AT 2026-11-28T15:31:54 ***\n",
        "mpirun: killing job...\n",
    ],
)
def test_what_a_launcher_prints_when_it_is_ended_is_not_of_the_training(ended: str) -> None:
    found = last_line(STEPS + ended)
    assert found is not None and found.line == "15:29:50 step 9: loss 1.9" and found.period == 5.0
    assert last_line(ended) is None
