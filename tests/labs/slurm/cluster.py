# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Slurm of Debian on this machine: munged, slurmctld, and a slurmd for each node, all in one directory and ended by their ids."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
import types
import typing as t
from pathlib import Path

from ...missing import leave_out
from ...ports import claimed

PROGRAMS = ("munged", "slurmctld", "slurmd", "scontrol", "squeue", "srun", "sbatch")
# A limit that no busy machine meets.
UP_SECONDS = 120


def lacking() -> str | None:
    """Why no cluster can run here, or None where one can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") is None]
    if missing:
        return f"the Slurm lab needs {', '.join(missing)} (Debian's slurmctld, slurmd, slurm-client and munge)"
    return None if os.geteuid() == 0 else "the Slurm lab needs root"


class Cluster:
    """A cluster that is up; ``environment`` is what its clients need."""

    def __init__(self, directory: Path, nodes: t.Sequence[str], inside: t.Mapping[str, t.Sequence[str]], settings: t.Sequence[str]) -> None:
        self.directory, self.nodes, self.inside, self.settings = directory, list(nodes), inside, settings
        self.processes: list[subprocess.Popen[bytes]] = []
        self.environment = {**os.environ, "SLURM_CONF": str(directory / "slurm.conf"), "PATH": os.environ["PATH"] + ":/usr/sbin"}
        for place in ("run", "state", "spool", "log"):
            (directory / place).mkdir()

    def configuration(self) -> str:
        """slurm.conf."""
        controller, *ports = [claimed() for _daemon in range(1 + len(self.nodes))]
        place, host = self.directory, socket.gethostname()
        lines = ["ClusterName=lab", f"SlurmctldHost={host}(127.0.0.1)", "SlurmUser=root", "SlurmdUser=root", "AuthType=auth/munge"]
        lines += [f"AuthInfo=socket={place}/run/munge.sock", f"StateSaveLocation={place}/state", f"SlurmdSpoolDir={place}/spool/%n"]
        lines += [f"SlurmdPidFile={place}/run/slurmd-%n.pid", f"SlurmctldPidFile={place}/run/slurmctld.pid", f"SlurmdLogFile={place}/log/slurmd-%n.log"]
        lines += [f"SlurmctldLogFile={place}/log/slurmctld.log", f"SlurmctldPort={controller}", "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none"]
        lines += ["SelectType=select/cons_tres", "SelectTypeParameters=CR_Core", "ReturnToService=0", "SlurmdParameters=config_overrides", "MpiDefault=none"]
        lines += [f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=4096" for node, port in zip(self.nodes, ports)]
        return "\n".join([*lines, *self.settings, "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"]) + "\n"

    def start(self) -> None:
        """Start every daemon in the foreground, and wait until all nodes are idle."""
        place = self.directory
        (place / "slurm.conf").write_text(self.configuration(), encoding="utf-8")
        (place / "munge.key").write_bytes(os.urandom(128))
        (place / "munge.key").chmod(0o400)
        munge = ["munged", "--foreground", "--force", f"--key-file={place}/munge.key", f"--socket={place}/run/munge.sock"]
        self._run(*munge, f"--pid-file={place}/run/munged.pid", f"--log-file={place}/log/munged.log", f"--seed-file={place}/run/munged.seed")
        self.until((place / "run/munge.sock").exists, "munged")
        self._run("slurmctld", "-D", "-f", str(place / "slurm.conf"))
        for node in self.nodes:
            self._run(*self.inside.get(node, ()), "slurmd", "-D", "-N", node, "-f", str(place / "slurm.conf"))
        self.until(lambda: set(self.state(marks=True).values()) == {"idle"}, "slurmd")

    def _run(self, *argv: str) -> None:
        log = (self.directory / "log" / f"{argv[0]}-{len(self.processes)}.out").open("wb")
        self.processes.append(subprocess.Popen(argv, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True))

    def until(self, holds: t.Callable[[], bool], what: str) -> None:
        """Wait until something holds.

        Raises RuntimeError with the logs where a daemon ends before, or it takes too long.
        """
        until = time.monotonic() + UP_SECONDS
        while not holds():
            ended = [process.args for process in self.processes if process.poll() is not None]
            if ended or time.monotonic() > until:
                logs = "\n".join(f"{path.name}: {path.read_text(errors='replace')[-500:]}" for path in sorted((self.directory / "log").iterdir()))
                raise RuntimeError(f"{what} is not up ({ended}):\n{logs}")
            time.sleep(0.1)

    def say(self, *argv: str) -> str:
        """What a client prints; nothing where it fails."""
        done = subprocess.run(argv, env=self.environment, text=True, capture_output=True, timeout=UP_SECONDS, check=False)
        return done.stdout if done.returncode == 0 else ""

    def state(self, marks: bool = False) -> dict[str, str]:
        """Each node's state in sinfo's words; marks: with the sign of a daemon that just now does not answer, as on a busy machine."""
        output = dict(line.split() for line in self.say("sinfo", "--noheader", "--Node", "--format=%N %T").splitlines())
        return output if marks else {node: state.rstrip("*") for node, state in output.items()}

    def reason(self, node: str) -> str:
        """Why a node is drained."""
        text = self.say("scontrol", "show", "node", node, "--oneliner")
        return text.partition("Reason=")[2].partition(" [")[0]

    def end(self) -> None:
        """End every daemon, the last one first; a slurmd's jobs are of its session."""
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@contextlib.contextmanager
def up(
    directory: Path, nodes: t.Sequence[str], inside: t.Mapping[str, t.Sequence[str]] = types.MappingProxyType({}), settings: t.Sequence[str] = ()
) -> t.Iterator[Cluster]:
    """A cluster while it is needed; inside: what starts a node's daemon where it belongs; settings: more lines of slurm.conf.

    A machine that lacks something for it leaves the test out, and CI fails.
    """
    if missing := lacking():
        leave_out(missing)
    cluster = Cluster(directory, nodes, inside, settings)
    try:
        cluster.start()
        yield cluster
    finally:
        for job in cluster.say("squeue", "--noheader", "--format=%i").split():
            cluster.say("scancel", job)
        cluster.end()
