# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a gate takes to judge a large pod: CPU and memory of the evaluation of layers 0 to 2.

The answers are rendered and parsed once, outside of what is measured.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
import typing as t
from pathlib import Path
from unittest import mock

import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import judging
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout

# Leaves of any number of ports, so that 40 switches serve any number of hosts.
LEAVES, SPINES = 8, 32


def inventory(racks: int) -> Path:
    """An inventory of racks of eight hosts."""
    rails = yaml.safe_load((layout.SIMULATED / "group_vars" / "gpu_hosts.yml").read_text(encoding="utf-8"))["pod_rails"]
    for number, rail in enumerate(rails):
        rail["address"] = f"10.{51 + number}.{{{{ host_number | int // 250 }}}}.{{{{ host_number | int % 250 + 1 }}}}/16"
    wide: dict[str, t.Any] = {"pod_name": "large", "pod_rails": rails, "pod_oversubscription_max": 1000, "pod_oversubscription_warn": 1000}
    with mock.patch.object(layout, "FIRST_UPLINK", racks * 8 + 1):
        return layout.write(Path(tempfile.mkdtemp(prefix="large-")), racks=racks, hosts_per_rack=8, spines=SPINES, expectations=wide)


def main(racks: int) -> None:
    """Print CPU seconds of each layer, and the memory that judging added."""
    plan, pod = inprocess.pod_of(inventory(racks))
    print(f"{racks * 8} hosts and {LEAVES + SPINES} switches")
    total = 0.0
    for name in inprocess.LAYERS:
        kept: list[judging.Layer] = []
        with mock.patch.object(judging, "judge", lambda layer, kept=kept: kept.append(layer) or []):
            inprocess.judge(plan, pod, name)
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        verdicts = judging.judge(kept[0])
        inprocess.decide(plan, verdicts, name)
        taken = time.process_time() - began
        total += taken
        added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        print(f"{name:<12}{taken:>7.2f} s CPU  {len(verdicts):>6} verdicts  {added:>5} MB more")
    print(f"{'all':<12}{total:>7.2f} s CPU")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
