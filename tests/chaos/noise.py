# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Healthy pods with noise: sizes, platforms, fabrics and variants, whose hosts and switches differ as those of pods in use do.

Each is climbed through all layers in process, and none of them may have a finding. ``python -m tests.chaos.noise 200`` climbs seeds 0 to 199.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import typing as t
from collections import Counter
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import grouping
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.ranges import ranges
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.incidents import SEVERITIES
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Host, Pod, Rail, Switch

# Arguments of ``layout.write``.
SHAPES: tuple[dict[str, t.Any], ...] = (
    {"racks": 1, "hosts_per_rack": 4, "spines": 2},
    {"racks": 2, "hosts_per_rack": 3, "spines": 4},
    {"racks": 2, "hosts_per_rack": 4, "spines": 4},
    {"racks": 3, "hosts_per_rack": 3, "spines": 2},
    {"racks": 2, "hosts_per_rack": 4, "spines": 4, "leaf_platform": "sonic"},
    {"racks": 2, "hosts_per_rack": 4, "spines": 4, "leaves_of_racks": True},
    {"racks": 2, "hosts_per_rack": 4, "spines": 4, "fabric": "infiniband"},
)
# Variants of the simulated pod that need no other expectations and leave no warning, of any fabric and of RoCE alone.
OF_ANY = ("driver_loaded_again", "large_counters", "no_iommu", "peers_not_listed", "dmabuf")
OF_ROCE = ("dcqcn_on_another_priority",)


class Climber:
    """Climbs noisy pods; those of one shape share an inventory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._pods: dict[int, inprocess.Pods] = {}

    def findings(self, seed: int) -> tuple[str, list[str]]:
        """Words for the pod of a seed, and whatever was found of it that is no pass; the verdict where it is no go."""
        noise = random.Random(f"noise {seed}")
        number = seed % len(SHAPES)
        pods = self._of_shape(number)
        fits = OF_ANY if SHAPES[number].get("fabric") == "infiniband" else OF_ANY + OF_ROCE
        variants = noise.sample(fits, noise.choice((0, 0, 1, 2)))
        pod = pods.pod(variants, seed)
        add_noise(pod, noise)
        with tempfile.TemporaryDirectory(dir=self.directory) as run:
            report = pods.climb(pod, Path(run) / "run")
        found = [
            f"{one.layer} {one.check} {one.verdict} on {ranges([host for host, _where in one.places])}: {one.actual}"
            for one in grouping.entries(report, SEVERITIES)
        ]
        words = " ".join(f"{key}={value}" for key, value in SHAPES[number].items()) + "".join(f" +{name}" for name in variants)
        return words, found + [f"the verdict is {report['verdict']}"] * (report["verdict"] != "go")

    def _of_shape(self, number: int) -> inprocess.Pods:
        if number not in self._pods:
            readers = {"pod_fabric_reader": ["gpu01", "gpu02"]} if SHAPES[number].get("fabric") == "infiniband" else {}
            values = {**readers, "pod_name": "noisy", "pod_soak_seconds": 1, "pod_to_layer": LAYERS[-1]}
            directory = self.directory / f"inventory_{number}"
            directory.mkdir(parents=True)
            self._pods[number] = inprocess.Pods(layout.write(directory, **SHAPES[number], expectations=values))
        return self._pods[number]


def add_noise(pod: Pod, noise: random.Random) -> None:
    """What differs between the nodes of a healthy pod in use: rates by some percent, temperatures, light, latencies, old errors."""
    for host in pod.hosts.values():
        _of_host(host, noise)
    for switch in pod.switches.values():
        _of_switch(switch, noise)


def _of_host(host: Host, noise: random.Random) -> None:
    amd = host.vendor == "amd"
    host.stack |= {"late_ms": round(noise.uniform(0.05, 0.9), 2), "copy_gbyte_s": round(noise.uniform(372, 386), 1)}
    host.stack |= {"nics_percent": round(noise.uniform(86.5, 90), 1)} | ({} if amd else {"node_gbyte_s": round(noise.uniform(358, 372), 1)})
    for gpu in host.gpus:
        gpu.temperature, gpu.power_w = noise.randint(22, 58), round(noise.uniform(60, 130), 2)
    for rail in host.rails:
        _of_rail(rail, noise)


def _of_rail(rail: Rail, noise: random.Random) -> None:
    rail.sends_gbit_s, rail.receives_gbit_s = round(noise.uniform(372, 390), 2), round(noise.uniform(372, 390), 2)
    rail.from_gpu_gbit_s = round(noise.uniform(364, 384), 2)
    rail.latency_us, rail.rtt_ms = round(noise.uniform(1.8, 2.4), 2), round(noise.uniform(0.015, 0.12), 3)
    rail.temperature_c, rail.module_temperature_c = noise.randint(38, 68), round(noise.uniform(32, 60), 1)
    if rail.medium == "optic":
        rail.rx_power_dbm, rail.tx_power_dbm = _light(noise), _light(noise)
    # Errors of years ago: they do not grow.
    rail.counters |= {"rx_crc_errors_phy": noise.choice((0, 0, 3, 4000)), "link_down_events_phy": noise.randint(0, 40)}


def _of_switch(switch: Switch, noise: random.Random) -> None:
    switch.celsius = round(noise.uniform(30, 62), 1)
    for session in switch.sessions:
        session.up = noise.choice(("02w3d04h", "5d07h12m", "1d02h50m", "09:14:22"))
    for port in switch.ports:
        port.module_temperature_c = round(noise.uniform(30, 60), 1)
        port.counters |= {"fcs": noise.choice((0, 0, 7, 1200)), "rx_drops": noise.choice((0, 4, 90))}
        port.pre_fec_ber = noise.choice((4e-10, 1.1e-9, 6e-9, 3e-8))
        if port.medium == "optic":
            port.rx_power_dbm, port.tx_power_dbm = _light(noise), _light(noise)


def _light(noise: random.Random) -> list[float]:
    """The power of four lanes in dBm: optics differ, their lanes hardly."""
    middle = noise.uniform(-1.0, 2.0)
    return [round(middle + noise.uniform(-0.5, 0.5), 2) for _lane in range(4)]


def main(first: int, beyond: int) -> int:
    """Climb the pods of these seeds; the exit status is 1 where one of them has a finding."""
    began, shapes, bad = time.monotonic(), Counter[str](), 0
    with tempfile.TemporaryDirectory() as place:
        climber = Climber(Path(place))
        for seed in range(first, beyond):
            words, found = climber.findings(seed)
            shapes[words.partition(" +")[0]] += 1
            bad += bool(found)
            print(f"{'BAD' if found else 'ok '} seed {seed}: {words}", *found, sep="\n     ", flush=True)
    print(*(f"{count:>5} {words}" for words, count in shapes.items()), sep="\n")
    print(f"{beyond - first} healthy pods with noise, {bad} with a finding, {time.monotonic() - began:.0f} s")
    return int(bad > 0)


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:]] or [200]
    sys.exit(main(*([0, *given] if len(given) == 1 else given[:2])))
