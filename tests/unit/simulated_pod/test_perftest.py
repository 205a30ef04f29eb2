# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated ib_write_bw: what of its tests moves the counters of which layer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.detached import MARK
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.perftest import PerftestOptions, perftest_argv
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.tests.labs.standing import poll
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout, rendering

WRITE_BW = PerftestOptions("ib_write_bw", 4096, 10, 1, 4096, 1, 106, 1)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Path]:
    """The plan of a small pod, and its answers."""
    place = tmp_path_factory.mktemp("pod")
    plan, pod = inprocess.pod_of(layout.write(place / "inventory", racks=1, hosts_per_rack=2, spines=1, expectations={"pod_name": "small"}))
    rendering.render(plan, pod, place / "answers")
    return plan, place / "answers"


@pytest.mark.parametrize(("layer", "left"), [("congestion", []), ("rdma", ["loaded"])])
def test_one_client_of_an_incast_that_is_alone_moves_no_counter_of_layer_4(layer: str, left: list[str], small: tuple[Plan, Path]) -> None:
    plan, answers = small

    def started(host: str, peer: str | None = None) -> subprocess.Popen[str]:
        names = {"SIMULATED_POD": str(answers), "SIMULATED_NODE": host, "SIMULATED_RUN": layer, "SIMULATED_PYTHON": sys.executable}
        names |= {"PATH": str(answers / host / "bin"), MARK: f"/tmp/loads/20261128T152412Z-{layer}-0"}
        words = perftest_argv(WRITE_BW, "mlx5_0", 18600, None, peer)
        return subprocess.Popen(
            [str(answers / host / "bin" / words[0]), *words[1:]], env={**os.environ, **names}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    server = started("gpu01")
    try:
        poll(20, lambda: None if list((answers / "=pipes").glob("gpu01.mlx5_0:18600:*")) else "the server is not there yet", "the server waits")
        client = started("gpu02", plan.nodes["gpu01"].values["pod_rails"][0]["address"].partition("/")[0])
        output = client.communicate(timeout=60)[0]
        assert client.returncode == 0 and "BW average" in output, output
        assert server.wait(timeout=60) == 0
    finally:
        server.kill()
        server.communicate()
    assert sorted(path.name for path in (answers / "=run" / layer).iterdir() if path.name in ("loaded", "incast")) == left
