# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The history of a pod by its playbooks: a run adds itself, a host's journal is fetched, and the hosts to validate next are named."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from .conftest import Pod


@pytest.mark.exhaustive
def test_a_run_and_a_journal_become_a_page_and_names(tmp_path: Path) -> None:
    pod = Pod(tmp_path, racks=1, hosts_per_rack=2, spines=1, pod_history=str(tmp_path / "kept/history.db"), pod_textfile_dir=str(tmp_path))
    climb = pod.climb("-e", "pod_to_layer=preflight", "-e", "pod_depth=quick")
    assert climb.rc == 0, climb.output
    hosts = sorted(climb.report["layers"][0]["groups"])
    assert hosts
    # What gpu02 noted of itself after the run.
    found = [{"layer": "links", "check": "port_errors", "verdict": "fail", "words": "", "findings": [{"where": "ens0", "expected": "0", "actual": "7"}]}]
    line = {"pod": "small", "node": "gpu02", "plan_digest": "d", "version": "1", "status": "FAIL", "time": int(time.time())}
    place = pod.runs / "small/journals/gpu02"
    place.mkdir(parents=True)
    (place / "journal.jsonl").write_text(json.dumps({**line, "layers": {"links": "fail"}, "found": found, "numbers": []}) + "\n", encoding="utf-8")
    done = pod.playbook("-e", "history_count=1", "-e", "history_collect=false", playbook="playbooks/history.yml")
    assert done.rc == 0, done.output
    assert "bad now: gpu02" in done.output and "validate next: -e pod_only=gpu02" in done.output
    assert ">gpu02<" in (pod.runs / "small/history.html").read_text(encoding="utf-8")
    published = (tmp_path / "gpufabric_pyramid_history_small.prom").read_text(encoding="utf-8")
    assert 'gpufabric_pyramid_node_bad{pod="small",node="gpu02"} 1' in published and 'gpufabric_pyramid_history_entries{pod="small"} 2' in published


def test_without_a_file_nothing_is_evaluated(tmp_path: Path) -> None:
    done = Pod(tmp_path, racks=1, hosts_per_rack=2, spines=1).playbook("-e", "history_collect=false", playbook="playbooks/history.yml")
    assert done.rc == 2 and "argument 'pod_history' must name the file of the pod's history" in done.output
