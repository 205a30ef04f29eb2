# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real sshd nodes on this machine, with the simulated pod's tools on their PATH; for benchmarks only."""

from __future__ import annotations

import contextlib
import getpass
import os
import socket
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

import yaml
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import made
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.rendering import render

FIRST_PORT = 22001
HOSTS = [f"gpu{number:02}" for number in range(1, 13)]
SSHD = "/usr/sbin/sshd"
# What is kept of a switch has booted again in each response.
UPTIME = """s/"uptime": 0.0/"uptime": '$(cut -d" " -f1 /proc/uptime)'/"""


@contextlib.contextmanager
def nodes(names: t.Sequence[str] = HOSTS, **size: int) -> t.Iterator[Path]:
    """An inventory some of whose nodes are real sshd processes; everything ends with the context."""
    # A client of ssh that still ends takes its socket out of the directory by itself, which this removal does not mind.
    with tempfile.TemporaryDirectory(prefix="nodes-") as temporary:
        directory = Path(temporary)
        started: list[subprocess.Popen[bytes]] = []
        try:
            expectations = {"pod_name": "bench", "pod_runs_dir": str(directory / "runs")}
            inventory = layout.write(directory / "inventory", **{"racks": 2, "hosts_per_rack": 6, "spines": 2, **size}, expectations=expectations)
            render(*made(inventory, [], 1), directory / "answers")
            _keys(directory)
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
            ports = {name: FIRST_PORT + number for number, name in enumerate(names)}
            for name, port in ports.items():
                started.append(_sshd(directory, name, port))
            for port in ports.values():
                _await(port)
            _reach(inventory, directory, ports)
            yield inventory
        finally:
            for process in started:
                process.terminate()
                process.wait()


def _keys(directory: Path) -> None:
    for name in ("key", "host_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)], check=True)
    (directory / "authorized").write_text((directory / "key.pub").read_text(encoding="ascii"), encoding="ascii")


def _sshd(directory: Path, node: str, port: int) -> subprocess.Popen[bytes]:
    answers = directory / "answers"
    settings = [
        f"Port {port}", "ListenAddress 127.0.0.1", f"HostKey {directory}/host_key", f"AuthorizedKeysFile {directory}/authorized",
        "StrictModes no", "UsePAM no", "PasswordAuthentication no", "PermitRootLogin yes", "MaxStartups 100", f"PidFile {directory}/{node}.pid",
        f"SetEnv PATH={answers}/{node}/bin:/usr/bin:/bin SIMULATED_POD={answers} SIMULATED_NODE={node} SIMULATED_RUN=bench SIMULATED_PYTHON={sys.executable}",
    ]  # fmt: skip
    # A switch takes `| json` as words of its own, not as a pipe, and counts its uptime.
    settings += [] if node in HOSTS else [f"ForceCommand $SSH_ORIGINAL_COMMAND | sed '{UPTIME}'"]
    config = directory / f"{node}.conf"
    config.write_text("\n".join(settings) + "\n", encoding="utf-8")
    return subprocess.Popen([SSHD, "-D", "-f", str(config)], stderr=subprocess.DEVNULL)


def _await(port: int) -> None:
    until = time.monotonic() + 20
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if time.monotonic() > until:
            raise TimeoutError(f"nothing listens on port {port}")
        time.sleep(0.05)


def _reach(inventory: Path, directory: Path, ports: dict[str, int]) -> None:
    known = " ".join((directory / "host_key.pub").read_text(encoding="ascii").split()[:2])
    (directory / "known_hosts").write_text("".join(f"[127.0.0.1]:{port} {known}\n" for port in ports.values()), encoding="ascii")
    for name, port in ports.items():
        values = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": port, "ansible_user": getpass.getuser()}
        options = f"-o UserKnownHostsFile={directory}/known_hosts -o ControlPath={directory}/%C -o ControlPersist=5s"
        values |= {"ansible_ssh_private_key_file": str(directory / "key"), "ansible_ssh_common_args": options}
        path = inventory / "host_vars" / f"{name}.yml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(values), encoding="utf-8")
    os.environ["BENCH_DIRECTORY"] = str(directory)
