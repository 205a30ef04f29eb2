# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab that is up: commands on its machines, its rails made slow, lossy or dead, and whole again."""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
import tempfile
import typing as t
from pathlib import Path

from ..standing import LabError, poll
from .machine import await_boot, boots, monitor
from .shape import HOSTS, RAIL_MTU, RAILS, address, device, netdev, peer

NO_DEVICE = ("none", "none")
PINGS = 'for address; do ping -q -c 1 -W 2 "$address" >/dev/null || echo "$address"; done'


def directory_of(name: str) -> Path:
    """The private directory of the lab of that name; sockets in it have room for 108 characters."""
    return Path(tempfile.gettempdir()) / f"gpufabric-softroce-lab-{name}"


class Lab:
    """A lab that is up. Rails are counted from 0; what is not said of one host is of both."""

    def __init__(self, name: str) -> None:
        self.name, self.directory = name, directory_of(name)
        self.inventory = self.directory / "inventory"
        if not (self.directory / "lab.json").exists():
            raise LabError(f"no lab {name!r} is up: {self.directory}/lab.json does not exist")

    def ssh(self, host: str) -> list[str]:
        """The start of a command line that runs on a machine."""
        return ["ssh", "-F", str(self.directory / "ssh_config"), host, "--"]

    def run(self, host: str, *command: str, check: bool = True, stdin: str = "", timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a command on a machine.

        Raises LabError where it fails, unless ``check`` is false.
        """
        line = [*self.ssh(host), shlex.join(command)]
        done = subprocess.run(line, input=stdin, capture_output=True, text=True, timeout=timeout, check=False)
        if check and done.returncode:
            raise LabError(f"{' '.join(command)} on {host} ended with status {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
        return done

    def json(self, host: str, *command: str) -> t.Any:
        """What a command on a machine prints, as JSON."""
        return json.loads(self.run(host, *command).stdout or "null")

    def shape(self, rail: int, mbit_s: float, *hosts: str) -> None:
        """Let a rail send no more than so much; in force when it returns."""
        rate = round(mbit_s * 1e6)
        for host in hosts or HOSTS:
            self._queue(host, rail, "tbf", "rate", f"{rate}bit", "burst", "32kb", "limit", "20mb")
            # tc tells bytes a second.
            self._in_force(host, rail, "tbf", lambda options: options["rate"] == rate // 8)

    def lose(self, rail: int, percent: float, mbit_s: float, *hosts: str) -> None:
        """Let a rail lose so much of what it sends, at no more than so much; in force when it returns."""
        for host in hosts or HOSTS:
            self._queue(host, rail, "netem", "loss", f"{percent:g}%", "rate", f"{round(mbit_s * 1e6)}bit", "limit", "10000")
            self._in_force(host, rail, "netem", lambda options: abs(options["loss-random"]["loss"] * 100 - percent) < 0.01)

    def _queue(self, host: str, rail: int, *words: str) -> None:
        self.run(host, "tc", "qdisc", "replace", "dev", netdev(rail), "root", *words)

    def _in_force(self, host: str, rail: int, kind: str, holds: t.Callable[[dict[str, t.Any]], bool]) -> None:
        result = self.json(host, "tc", "-json", "qdisc", "show", "dev", netdev(rail))
        if not any(one["kind"] == kind and holds(one["options"]) for one in result):
            raise LabError(f"{netdev(rail)} of {host} is not as it was told to be: {result}")

    def cut(self, rail: int) -> None:
        """Pull a rail's cable; both ends see it when this returns."""
        self._plug(rail, False)
        for host in HOSTS:
            poll(20, lambda host=host: None if self.links(host)[rail][0] == "DOWN" else "it is up", f"{device(rail)} of {host} is down")

    def _plug(self, rail: int, up: bool) -> None:
        for host in HOSTS:
            monitor(self.directory, host, "set_link", name=device(rail), up=up)

    def links(self, host: str) -> dict[int, tuple[str, str]]:
        """Each rail's state and physical state, as the kernel tells them."""
        result = {one["ifname"]: (one["state"], one["physical_state"]) for one in self.json(host, "rdma", "-j", "link", "show")}
        return {rail: result.get(device(rail), NO_DEVICE) for rail in range(RAILS)}

    def counters(self, host: str, rail: int) -> dict[str, int]:
        """A rail's hardware counters by the driver's own names."""
        result = self.json(host, "rdma", "-j", "statistic", "show", "link", f"{device(rail)}/1")
        return {name: value for name, value in result[0].items() if isinstance(value, int) and name not in ("ifindex", "port")}

    def heal(self) -> None:
        """Undo what was done to the rails, and wait until they are whole."""
        for rail in range(RAILS):
            self._plug(rail, True)
        for host in HOSTS:
            for queue in self.json(host, "tc", "-json", "qdisc", "show"):
                if queue["kind"] in ("tbf", "netem"):
                    self.run(host, "tc", "qdisc", "del", "dev", queue["dev"], "root")
            links = self.links(host)
            for rail in range(RAILS):
                if links[rail] == NO_DEVICE:
                    self.run(host, "rdma", "link", "add", device(rail), "type", "rxe", "netdev", netdev(rail))
                self.run(host, "ip", "link", "set", "dev", netdev(rail), "mtu", str(RAIL_MTU), "up")
        self.wait()

    def wait(self, seconds: float = 60) -> None:
        """Until every rail is up and reaches the other machine.

        Raises LabError at the deadline.
        """
        for host in HOSTS:
            poll(seconds, lambda host=host: self.wrong(host), f"every rail of {host} is whole")

    def wrong(self, host: str) -> str | None:
        """Which rails of a machine are not whole; None where all are."""
        try:
            down = [device(rail) for rail, state in self.links(host).items() if state != ("ACTIVE", "LINK_UP")]
        except (LabError, ValueError, subprocess.TimeoutExpired) as error:
            return str(error)
        if down:
            return f"{', '.join(down)} not up"
        silent = self.run(host, "sh", "-c", PINGS, "pings", *(address(peer(host), rail) for rail in range(RAILS)), check=False).stdout.split()
        return f"no answer of {', '.join(silent)}" if silent else None

    def reboot(self, host: str) -> str:
        """Boot a machine again, with the disk as it is; returns the id of its new boot.

        Raises LabError where it does not come back.
        """
        result = boots(self.directory, host)
        self.forget(host)
        self.run(host, "systemctl", "reboot", check=False)
        self.forget(host)
        boot = await_boot(self.directory, host, after=len(result))
        if boot in result:
            raise LabError(f"{host} tells boot {boot} twice")
        self.wait()
        return boot

    def forget(self, host: str) -> None:
        """End the kept ssh connection to a machine, which does not outlive its boot."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(["ssh", "-F", str(self.directory / "ssh_config"), "-O", "exit", host], capture_output=True, timeout=10, check=False)

    def freeze(self, host: str) -> None:
        """Stop a machine's processors: it answers nothing, and nobody is told."""
        monitor(self.directory, host, "stop")

    def thaw(self, host: str) -> None:
        """Let a machine go on."""
        monitor(self.directory, host, "cont")
