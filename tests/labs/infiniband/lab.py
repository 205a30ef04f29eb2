# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fabric of ibsim with a real subnet manager: up and down, its console, and the real tools as a host's own.

ibsim and opensm are children of this process and are ended by it. Each host has a directory with the infiniband-diags as it would
find them, and a Python that starts with that directory on PATH: what a run pipes to a host's Python is piped to it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import typing as t
from pathlib import Path

from ..standing import LabError, poll
from .shape import Net, Shape

LIBRARY = Path("/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so")
TOOLS = ("ibstat", "iblinkinfo", "ibnetdiscover", "ibqueryerrors", "perfquery", "sminfo", "saquery", "smpquery")
TOOL = Path(__file__).parent / "tool.sh"
# The partition of another tenant, as its key for limited members.
OTHER_PARTITION = 0x0005


def lacking() -> str | None:
    """Why the lab cannot be made here; None where it can."""
    missing = [program for program in ("ibsim", "opensm", *TOOLS) if shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin") is None]
    missing += [] if LIBRARY.exists() else [str(LIBRARY)]
    return f"needs Debian's ibsim-utils, infiniband-diags and opensm: no {', '.join(missing)}" if missing else None


class Lab:
    """One fabric; ``directory`` is its own and is removed by nobody else."""

    def __init__(self, directory: Path, net: Net, name: str | None = None) -> None:
        self.directory, self.net = directory, net
        self.name = name or f"pyramid{os.getpid()}"
        self.log = directory / "ibsim.log"
        self.simulator: subprocess.Popen[str] | None = None
        self.manager: subprocess.Popen[str] | None = None
        # The GUIDs of ports that are limited members of the one partition.
        self.limited: list[str] = []
        # Those of ports that are full members of another partition too.
        self.foreign: list[str] = []
        directory.mkdir(parents=True, exist_ok=True)
        for host in net.shape.host_names():
            self._host(host)

    @property
    def shape(self) -> Shape:
        """The shape that the fabric was planned by."""
        return self.net.shape

    def _host(self, host: str) -> None:
        place = self.directory / "hosts" / host
        place.mkdir(parents=True, exist_ok=True)
        for tool in TOOLS:
            if not (place / tool).exists():
                (place / tool).symlink_to(TOOL)
        devices = " ".join(f"mlx5_{rail}" for rail in range(self.shape.rails))
        python = place / "python3"
        python.write_text(
            f"#!/bin/sh\ncd {place}\nexport PATH={place}:/usr/sbin:/usr/bin:/sbin:/bin LAB_HOST={host} LAB_DEVICES='{devices}' IBSIM_SOCKNAME={self.name} "
            f'LAB_LIBRARY={LIBRARY}\nexec /usr/bin/python3 "$@"\n'
        )
        python.chmod(0o755)

    def up(self, net: Net | None = None, with_manager: bool = True) -> None:
        """Start the fabric, or one with another wiring, and wait until every link that has a cable is as the manager leaves it."""
        self.down()
        (self.directory / "net").write_text((net or self.net).netlist())
        large = ["-N", "8192", "-S", "512", "-P", "65536"] if len(self.net.cables) > 1000 else []
        with self.log.open("w") as log:
            self.simulator = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "stdbuf", "-oL", "ibsim", "-s", *large, str(self.directory / "net")],
                stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, text=True, env={**os.environ, "IBSIM_SOCKNAME": self.name},
            )  # fmt: skip
        poll(60, lambda: None if "MaxMcastCap" in self.log.read_text(errors="replace") else "its console is not there", "ibsim")
        if with_manager:
            self.start_manager()

    def start_manager(self) -> None:
        """Start opensm and wait until it is the master and every link is active."""
        conf, log = self.directory / "opensm.conf", self.directory / "opensm.log"
        # Else the manager would lift a slow port to what its adapter supports, and find a silent switch at a time of its own.
        conf.write_text("force_link_speed 0\nforce_link_speed_ext 0\nsweep_interval 0\nforce_log_flush TRUE\n")
        log.unlink(missing_ok=True)
        partitions = self.directory / "partitions.conf"
        other = f"Other={OTHER_PARTITION:#06x} : {', '.join(f'{guid}=full' for guid in self.foreign)};\n" if self.foreign else ""
        partitions.write_text(f"Default=0x7fff, ipoib : ALL=full{''.join(f', {guid}=limited' for guid in self.limited)};\n{other}")
        own = {"OSM_TMP_DIR": str(self.directory), "OSM_CACHE_DIR": str(self.directory)}
        self.manager = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "opensm", "-R", "ftree,updn,minhop", "-P", str(partitions), "-f", str(log), "-F", str(conf)],
            cwd=self.directory, text=True, env=self.environment("gpu01", "mlx5_0") | own,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        poll(120, lambda: None if self._sweeps() else "opensm has not swept it", "the subnet")
        poll(60, self.not_settled, "the subnet")

    def _sweeps(self) -> int:
        log = self.directory / "opensm.log"
        return log.read_text(errors="replace").count("SUBNET UP") if log.exists() else 0

    def not_settled(self) -> str | None:
        """What is not yet as a manager leaves it; None where every link that is up is active."""
        if "MASTER" not in self.run("sminfo").stdout:
            return "no master answers"
        links = self.run("iblinkinfo", "-l").stdout.splitlines()
        waiting = [line for line in links if "LinkUp" in line and "Active/" not in line and "Port not available" not in line]
        return f"{len(waiting)} of {len(links)} links are not active" if waiting or not links else None

    @contextlib.contextmanager
    def sweep(self) -> t.Iterator[None]:
        """What changes the subnet; ends when opensm has routed it anew."""
        before = self._sweeps()
        yield
        poll(60, lambda: None if self._sweeps() > before else "opensm has not swept it", "the changed subnet")

    def stop_manager(self) -> None:
        """End opensm by its id."""
        if self.manager is not None:
            self.manager.kill()
            self.manager.wait()
            self.manager = None

    def down(self) -> None:
        """End opensm and ibsim by their ids."""
        self.stop_manager()
        if self.simulator is not None:
            self.simulator.kill()
            self.simulator.wait()
            if self.simulator.stdin is not None:
                self.simulator.stdin.close()
            self.simulator = None

    def environment(self, host: str, device: str) -> dict[str, str]:
        """The environment in which a tool sits at a host's adapter."""
        return {**os.environ, "IBSIM_SOCKNAME": self.name, "SIM_HOST": f"{host} {device}", "LD_PRELOAD": str(LIBRARY)}

    def run(self, *command: str, host: str = "gpu01", device: str = "mlx5_0") -> subprocess.CompletedProcess[str]:
        """Run a real tool at a host's adapter, past all that is tested. Every tool has a deadline, since one hangs for ever on ibsim."""
        return subprocess.run(command, env=self.environment(host, device), capture_output=True, text=True, timeout=60, check=False, cwd=self.directory)

    def console(self, command: str, echo: str = "") -> None:
        """Say a command to ibsim's console, and wait for its words where it has any."""
        before = len(self.log.read_text(errors="replace"))
        if self.simulator is None or self.simulator.stdin is None:
            raise LabError("the fabric is not up")
        self.simulator.stdin.write(command + "\n")
        self.simulator.stdin.flush()
        if echo:
            poll(60, lambda: None if echo in self.log.read_text(errors="replace")[before:] else f"no {echo!r}", command)
