# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All seven layers of the smallest pod that has an incast, from preflight to training, under real processes that load nothing."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY

from .conftest import Pod

SHORT = {
    "pod_idle_seconds": 1,
    "pod_incast_seconds": 1,
    "pod_write_bw_seconds": 1,
    "pod_load_setup_seconds": 6,
    "pod_load_tick_seconds": 5,
    "pod_load_lead_seconds": 0.5,
}
# What a healthy pod of this size has no subject for.
WITHOUT = {"efficiency", "sharp_used", "step_time_expected", "mfu", "nccl_tests_bandwidth", "measures_agree"}
WITHOUT |= {"own_training_ends", "own_steps_steady", "own_loss_falls", "own_step_time_expected", "own_ranks_keep_up"}
WITHOUT |= {"clique_all_reduce", "amd_gpus_under_load", "amd_slowdown_under_load", "ib_ports_under_load"}
WITHOUT |= {"ib_hosts_idle", "ib_hosts_keep_links_under_load"}


def test_a_healthy_pod_climbs_from_preflight_to_training(tmp_path: Path) -> None:
    dataset = tmp_path / "dataset"
    dataset.mkdir()
    (dataset / "shard_0.bin").write_bytes(bytes(4 << 20))
    feeds = {"pod_dataset_path": str(dataset), "pod_dataset_seconds": 1}
    # So long that the controller looks at it in turns, which end with it.
    feeds["pod_training_run_seconds"] = 910
    pod = Pod(tmp_path, racks=1, hosts_per_rack=3, spines=2, pod_to_layer="training", **feeds, **SHORT)
    climb = pod.climb()
    assert climb.rc == 0 and climb.report is not None, climb.output
    assert (climb.report["verdict"], climb.not_well()) == ("go", {}), climb.output
    assert {layer: climb.gate(layer, "rack_01") for layer in LAYERS} == dict.fromkeys(LAYERS, "open")
    passed = {(one["layer"], one["check"]) for one in climb.report["verdicts"] if one["verdict"] == "pass"}
    above = {(layer, check) for layer in ("collectives", "training") for check in REGISTRY[layer] if check not in WITHOUT}
    assert above <= passed
    assert climb.run is not None
    page = (climb.run / "report.html").read_text()
    for drawn in ("over the sizes of the scaling test", "over its own NICs only", "Training step by step", "How often a training step took how long"):
        assert drawn in page, drawn
    assert "none was run" not in page, "every check that passed says by which command"
    planned = json.loads((climb.run / "loads" / "training" / "0.json").read_text())
    ended = json.loads((climb.run / "readings" / "training" / "load-0" / "gpu01.json").read_text())
    assert planned["seconds"] > 900 and ended["asked_at"] < planned["ends"], "a load that ends before its time is collected then"
    steps = sorted(path.name for path in (climb.run / "evidence" / "collectives" / "gpu01").glob("load_jobs.*"))
    assert len(steps) == 4, "alone, over 2 hosts, over 3, and each rail"
