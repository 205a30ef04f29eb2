# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keeper: one process that is the parent of every node, and takes all of the lab with it when it ends.

A node's first process gets SIGKILL when the keeper dies, whatever it dies of, and its namespaces, mounts, processes and
links go with it. What is left after a crash is a directory, which the next ``up`` or ``down`` removes.
"""

from __future__ import annotations

import dataclasses
import fcntl
import ipaddress
import json
import os
import select
import shutil
import subprocess
import tempfile
import typing as t
from pathlib import Path

from ..standing import LabError, end_recorded, poll, record, write_private
from . import configs, inventory
from .lab import directory_of
from .shape import Node, Plan, Shape, plan

HERE = Path(__file__).parent
NAMESPACES = ["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
READY_SECONDS = 60.0


class Keeper:
    """Builds a lab and keeps it."""

    def __init__(self, name: str, shape: Shape) -> None:
        self.shape, self.name, self.directory = shape, name, directory_of(name)
        self.holders: dict[str, subprocess.Popen[str]] = {}
        self.inside: dict[str, int] = {}

    def build(self) -> None:
        """Bring everything up.

        Raises LabError, or CalledProcessError of ``ip`` and ``ssh-keygen``.
        """
        with _one_at_a_time():
            management = free_network()
            lab = plan(self.shape, management)
            self._write(lab)
            for name, role in {"management": "bridge", **{node.name: node.role for node in lab.nodes.values()}}.items():
                self._start(name, role)
            self._plug_in(lab)
        for name in self.holders:
            self._hear(name, "ready")
        inventory.write(lab, self.directory / "inventory", self.directory)
        kept = {"shape": dataclasses.asdict(self.shape), "management": management, "processes": self.inside}
        write_private(self.directory / "lab.json", json.dumps(kept))

    def _write(self, lab: Plan) -> None:
        for name in ("node.sh", "daemons.sh"):
            shutil.copyfile(HERE / name, self.directory / name)
        for key in ("key", "host_key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", str(self.directory / key)], check=True, stdin=subprocess.DEVNULL
            )
        host_key = (self.directory / "host_key.pub").read_text().rsplit(maxsplit=1)[0]
        (self.directory / "known_hosts").write_text("".join(f"{node.management} {host_key}\n" for node in lab.nodes.values()))
        (self.directory / "ssh_config").write_text(configs.ssh_config(self.directory))
        (self.directory / "shadow").write_text("root:*:19000:0:99999:7:::\n")
        (self.directory / "cp").mkdir()
        for node in lab.nodes.values():
            self._write_node(lab, node)
        (self.directory / "nodes" / "management").mkdir()
        (self.directory / "nodes" / "management" / "addresses").write_text(configs.bridge_ports(lab))

    def _write_node(self, lab: Plan, node: Node) -> None:
        own = self.directory / "nodes" / node.name
        own.mkdir(parents=True)
        (own / "addresses").write_text(configs.addresses(lab, node))
        (own / ("sources6" if lab.shape.ipv6 else "sources4")).write_text(configs.sources(lab, node))
        (own / "sshd_config").write_text(configs.sshd_config(self.directory, node))
        if node.role != "host":
            (own / "frr.conf").write_text(configs.frr_conf(lab, node))

    def _start(self, name: str, role: str) -> None:
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", *NAMESPACES, "bash", str(self.directory / "node.sh"), str(self.directory), name, role]
        with (self.directory / "nodes" / name / "log").open("w") as log:
            holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True, cwd="/")
        self.holders[name] = holder
        self._record()

    def _record(self) -> None:
        record(self.directory, [os.getpid(), *(holder.pid for holder in self.holders.values()), *self.inside.values()])

    def _plug_in(self, lab: Plan) -> None:
        for name, holder in self.holders.items():
            self._hear(name, "entered")
            self.inside[name] = int(Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()[0])
        self._record()
        bridge = self.inside["management"]
        up = f"link add name {interface(self.name)} type veth peer name up netns {bridge}\n"
        up += f"addr add {_network(lab)}.{configs.CONTROLLER_HOST_NUMBER}/24 dev {interface(self.name)}\nlink set dev {interface(self.name)} up\n"
        subprocess.run(["ip", "-batch", "-"], input=up + configs.links(lab, self.inside, bridge), text=True, check=True, capture_output=True)
        for holder in self.holders.values():
            assert holder.stdin is not None
            holder.stdin.write("\n")
            holder.stdin.flush()

    def _hear(self, name: str, word: str) -> None:
        stdout = self.holders[name].stdout
        assert stdout is not None
        heard = stdout.readline().strip() if select.select([stdout], [], [], READY_SECONDS)[0] else "nothing"
        if heard != word:
            log = (self.directory / "nodes" / name / "log").read_text().strip()
            raise LabError(f"{name} did not say {word!r} but {heard!r}: {log or 'its log is empty'}")

    def end(self) -> None:
        """End every node, and remove the lab's directory."""
        for holder in self.holders.values():
            holder.kill()
        for holder in self.holders.values():
            holder.wait()
        clean(self.directory)


def clean(directory: Path) -> None:
    """End what is recorded in a lab's directory, by id and start, and remove it.

    Raises LabError where something stays.
    """
    for socket in (directory / "cp").glob("*"):
        subprocess.run(["ssh", "-O", "exit", "-o", f"ControlPath={socket}", "lab"], capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    end_recorded(directory)
    shutil.rmtree(directory, ignore_errors=True)
    name = directory.name.removeprefix(directory_of("").name)
    poll(
        60,
        lambda: f"{interface(name)} is there" if interface(name) in {device.name for device in Path("/sys/class/net").iterdir()} else None,
        "the lab's interface is gone",
    )
    if directory.exists():
        raise LabError(f"{directory} cannot be removed")


def interface(name: str) -> str:
    """The one interface of the lab in the machine's own network; a name has room for 15 characters."""
    return f"lab-{name}"[:15]


def free_network() -> str:
    """The first three numbers of a /24 that the machine has no route to but its default.

    Raises LabError where all are taken.
    """
    routes = json.loads(subprocess.run(["ip", "-json", "-4", "route", "show", "table", "all"], check=True, capture_output=True, text=True).stdout)
    taken = [ipaddress.ip_network(route["dst"], strict=False) for route in routes if route["dst"][0].isdigit()]
    for third in range(250, 199, -1):
        network = ipaddress.ip_network(f"172.31.{third}.0/24")
        if not any(network.overlaps(other) for other in taken):
            return f"172.31.{third}"
    raise LabError("every network from 172.31.200.0/24 to 172.31.250.0/24 has a route already")


def _network(lab: Plan) -> str:
    return next(iter(lab.nodes.values())).management.rpartition(".")[0]


class _one_at_a_time:
    """Two labs that start at once must not choose the same network."""

    def __enter__(self) -> None:
        self.lock = os.open(tempfile.gettempdir(), os.O_RDONLY)
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def __exit__(self, *_error: t.Any) -> None:
        os.close(self.lock)
