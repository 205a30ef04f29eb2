# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Eight EOS leaves, judged by this collection over ssh and over eAPI, and by ANTA over eAPI, in turn; wall time and CPU as ratios.

Both are asked for the state, the errors, the speed, the MTU, the neighbours and the BGP sessions of every port. This collection climbs
its layers 0 to 2 for the leaves alone, which is ten commands each; the tests of ANTA ask five. Over eAPI the API is emulated for both.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import plan_of

from .reading import PLAYBOOK, ROOT
from .sshd_nodes import nodes

LEAVES = [f"leaf{number:02}" for number in range(1, 9)]
FIRST_PORT = 24001
SIZE = {"racks": 4, "hosts_per_rack": 8, "spines": 4}


@contextlib.contextmanager
def eapi(inventory: Path, leaves: list[str]) -> t.Iterator[None]:
    """The leaves' eAPI, as a process of its own."""
    command = [sys.executable, "-m", "benchmarks.eapi", str(inventory), str(FIRST_PORT), *leaves]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            if server.stdout is None or server.stdout.readline() != "ready\n":
                raise SystemExit("the leaves' eAPI did not start")
            yield
        finally:
            server.terminate()


def over_eapi(inventory: Path, leaves: list[str]) -> Path:
    """The same inventory, with the leaves reached by their API."""
    other = inventory.parent / "inventory_eapi"
    shutil.copytree(inventory, other)
    for number, name in enumerate(leaves):
        own = {"ansible_connection": "ansible.netcommon.httpapi", "ansible_network_os": "arista.eos.eos", "ansible_host": "127.0.0.1"}
        own |= {"ansible_httpapi_port": FIRST_PORT + number, "ansible_httpapi_use_ssl": True, "ansible_httpapi_validate_certs": False}
        own |= {"ansible_user": "admin", "ansible_password": "none"}
        (other / "host_vars" / f"{name}.yml").write_text(yaml.safe_dump(own), encoding="utf-8")
    return other


def anta(program: str, inventory: Path, plan: Plan, leaves: list[str]) -> list[str]:
    """ANTA's command line, with its inventory and catalog written beside ours; every leaf has tests of its own neighbours."""
    hosts = [{"name": name, "host": "127.0.0.1", "port": FIRST_PORT + number, "tags": [name]} for number, name in enumerate(leaves)]
    catalog: dict[str, list[t.Any]] = {"anta.tests.interfaces": [], "anta.tests.connectivity": []}
    for leaf in leaves:
        cables = [cable.seen_from(leaf) for cable in plan.at[leaf]]
        tagged = {"filters": {"tags": [leaf]}}
        states = [{"name": near.port, "status": "up"} for near, _far in cables]
        speeds = [{"name": near.port, "auto": False, "speed": 400} for near, _far in cables]
        neighbors = [{"port": near.port, "neighbor_device": far.node, "neighbor_port": far.port} for near, far in cables]
        catalog["anta.tests.interfaces"] += [
            {"VerifyInterfacesStatus": {"interfaces": states, **tagged}},
            {"VerifyInterfacesSpeed": {"interfaces": speeds, **tagged}},
        ]
        catalog["anta.tests.connectivity"].append({"VerifyLLDPNeighbors": {"neighbors": neighbors, "require_fqdn": True, **tagged}})
    catalog["anta.tests.interfaces"] += [{"VerifyInterfaceErrors": None}, {"VerifyL3MTU": {"mtu": 9000}}]
    bgp = {"address_families": [{"afi": "ipv4", "safi": "unicast", "vrf": "default"}]}
    whole = {**catalog, "anta.tests.routing": {"bgp": [{"VerifyBGPPeersHealth": bgp}]}}
    for name, document in (("inventory", {"anta_inventory": {"hosts": hosts}}), ("catalog", whole)):
        (inventory.parent / f"anta_{name}.yml").write_text(yaml.safe_dump(document), encoding="utf-8")
    files = ["--inventory", str(inventory.parent / "anta_inventory.yml"), "--catalog", str(inventory.parent / "anta_catalog.yml")]
    return [program, "nrfu", "--username", "admin", "--password", "none", *files, "table", "--group-by", "device"]


def spent(command: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of one run; it must succeed, which of both means that nothing is found."""
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = process.stdout.read() if process.stdout else ""
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(output[-3000:])
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime


def main(rounds: int = 3, number: int = len(LEAVES)) -> None:
    """Run both in turn, for the first leaves, and print medians and ratios."""
    leaves = LEAVES[:number]
    with nodes(leaves, **SIZE) as inventory, eapi(inventory, leaves):
        options = ["-e", "pod_depth=quick", "-e", f"pod_only={','.join(leaves)}"]
        contenders = {
            name: [PLAYBOOK, "playbooks/validate.yml", "-i", str(place), *options]
            for name, place in {"this collection": inventory, "over eAPI": over_eapi(inventory, leaves)}.items()
        }
        if program := shutil.which("anta"):
            contenders["ANTA"] = anta(program, inventory, plan_of(inventory), leaves)
        else:
            print("ANTA is not measured: it is not on PATH; benchmarks/requirements.txt has it")
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
        for _round in range(rounds):
            for name, command in contenders.items():
                taken[name].append(spent(command))
    medians = {name: [statistics.median(column) for column in zip(*runs)] for name, runs in taken.items()}
    for name, (wall, cpu) in medians.items():
        ratios = [value / own for value, own in zip((wall, cpu), medians["this collection"])]
        print(f"{name:<18}{wall:>8.2f} s{ratios[0]:>8.2f} x {cpu:>8.2f} s CPU{ratios[1]:>8.2f} x this collection")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
