# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0 from twelve real sshd nodes: this collection, a task a command, and pdsh, in turn; wall time as ratios.

A task a command takes minutes, so that it runs in the first round alone; its ratio needs no more.
"""

from __future__ import annotations

import os
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.needed_readings import needed_readings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for, query_commands
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import plan_of

from .sshd_nodes import FIRST_PORT, nodes

ROOT = Path(__file__).resolve().parents[1]
# The contender that runs once.
SLOW = "a task a command"
PLAYBOOK = str(Path(sys.executable).with_name("ansible-playbook"))


def commands_of(plan: Plan, name: str) -> list[list[str]]:
    """Every command of layer 0 of a node, each once."""
    place = plan.nodes[name]
    node = {"platform": place.platform, "values": place.values, "items": {"rail": place.values["pod_rails"]}}
    asks, _apart = queries_for(needed_readings("preflight", "host", place.values, "now"), node)
    argvs = [command["alternatives"][0]["argv"] for command in query_commands(asks)]
    return list({tuple(argv): argv for argv in argvs}.values())


def reader(inventory: Path) -> str:
    """A playbook that opens a run and reads layer 0."""
    tasks = [
        {"name": "Open the run", "gpufabric.pyramid.open_run": None, "run_once": True, "register": "pyramid_gate"},
        {
            "name": "Read the hosts",
            "gpufabric.pyramid.read_nodes": {
                "run_dir": "{{ pyramid_gate.run_dir }}",
                "layer": "preflight",
                "nodes": "{{ groups.gpu_hosts }}",
                "seconds": "{{ pyramid_gate.read_timeout_seconds }}",
                "connections": "{{ pyramid_gate.connections_max }}",
            },
            "run_once": True,
        },
    ]
    return _playbook(inventory, "reader.yml", "gpu_hosts:leaves:spines", tasks)


def plain(inventory: Path, argvs: list[list[str]]) -> str:
    """A playbook of one command task a command."""
    tasks = [{"name": f"Run {argv[0]}", "ansible.builtin.command": {"argv": argv}, "changed_when": False, "failed_when": False} for argv in argvs]
    return _playbook(inventory, "plain.yml", "gpu_hosts", tasks)


def _playbook(inventory: Path, name: str, hosts: str, tasks: list[dict[str, object]]) -> str:
    path = inventory.parent / name
    path.write_text(yaml.safe_dump([{"name": "Benchmark", "hosts": hosts, "gather_facts": False, "tasks": tasks}], sort_keys=False), encoding="utf-8")
    return str(path)


def wall(command: list[str], environment: dict[str, str]) -> float:
    """Seconds of one run; it must succeed."""
    began = time.monotonic()
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def main(rounds: int = 3, number: int = 12, most: int | None = None) -> None:
    """Run the three in turn for so many nodes, an even number up to 12, and print medians and ratios.

    most: of how many commands the two beside this collection run, all of them where it is not given; with fewer the ratios say nothing.
    """
    names = [f"gpu{one + 1:02}" for one in range(number)]
    with nodes(names, hosts_per_rack=number // 2) as inventory:
        directory = inventory.parent
        argvs = commands_of(plan_of(inventory), "gpu01")[:most]
        line = "; ".join(shlex.join(argv) + " >/dev/null 2>&1" for argv in argvs) + "; true"
        config = "".join(f"Host {name}\n  HostName 127.0.0.1\n  Port {FIRST_PORT + one}\n" for one, name in enumerate(names))
        (directory / "ssh_config").write_text(
            f"{config}Host *\n  IdentityFile {directory}/key\n  UserKnownHostsFile {directory}/known_hosts\n", encoding="utf-8"
        )
        environment = {**os.environ, "PDSH_RCMD_TYPE": "ssh", "PDSH_SSH_ARGS_APPEND": f"-F {directory}/ssh_config"}
        contenders = {
            "this collection": [PLAYBOOK, reader(inventory), "-i", str(inventory)],
            SLOW: [PLAYBOOK, plain(inventory, argvs), "-i", str(inventory)],
            "pdsh": ["pdsh", "-R", "ssh", "-w", ",".join(names), line],
        }
        seconds: dict[str, list[float]] = {name: [] for name in contenders}
        for number_of_round in range(rounds):
            for name, command in contenders.items():
                if number_of_round and name == SLOW:
                    continue
                seconds[name].append(wall(command, environment))
        own = statistics.median(seconds["this collection"])
        print(f"{number} nodes, {len(argvs)} commands each, median of {rounds}; {SLOW} once")
        for name, taken in seconds.items():
            print(f"{name:<18}{statistics.median(taken):>8.2f} s{statistics.median(taken) / own:>8.2f} x this collection")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
