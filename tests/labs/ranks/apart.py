# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts for launchers on this machine: each has a temporary directory of its own at the same path, as real hosts have, and an sshd where one is wanted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.module_utils import detached
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.host_commands import program_source
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.results import job_results
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import Schedule

ENTER = 'mount -t tmpfs tmpfs "$1"; mount --bind "$2" /etc/shadow; echo up; exec sleep infinity'
FUTURE = "from __future__ import annotations\n"
UP_SECONDS = 120
PROGRAM = Path(detached.__file__).read_text(encoding="utf-8")


class Apart:
    """The hosts while they are needed."""

    def __init__(self, directory: Path, names: t.Sequence[str]) -> None:
        self.directory, self.names, self.place = directory, list(names), directory / "tmp"
        self.holders: dict[str, subprocess.Popen[str]] = {}
        self.others: list[subprocess.Popen[bytes]] = []
        self.environment = {**os.environ, "TMPDIR": str(self.place), "OMP_NUM_THREADS": "1"}
        self.place.mkdir(parents=True)

    def start(self) -> None:
        """Have every host."""
        shadow = self.directory / "shadow"
        # sshd refuses an account whose password is locked, as root's is on some machines.
        shadow.write_text("root:*:19000:0:99999:7:::\n", encoding="utf-8")
        for name in self.names:
            argv = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", ENTER, "sh", str(self.place), str(shadow)]
            self.holders[name] = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
            output = self.holders[name].stdout
            assert output is not None and output.readline() == "up\n", f"{name} is not up"

    def inside(self, name: str) -> list[str]:
        """What runs a command on a host."""
        return ["nsenter", "--mount", "--target", str(self.holders[name].pid)]

    def doors(self, ports: t.Iterable[int]) -> Path:
        """An sshd on every host; returns the configuration with which they are reached by name."""
        own, config = self.directory, self.directory / "ssh_config"
        Path("/run/sshd").mkdir(exist_ok=True)
        for key in ("host_key", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(own / key)], check=True, timeout=60)
        public = (own / "host_key.pub").read_text(encoding="utf-8")
        text = f"User root\nIdentityFile {own}/key\nIdentitiesOnly yes\nBatchMode yes\nStrictHostKeyChecking yes\nUserKnownHostsFile {own}/known_hosts\n"
        (own / "known_hosts").write_text("".join(f"{name} {public}" for name in self.names), encoding="utf-8")
        for port, name in zip(ports, self.names):
            door = f"Port {port}\nListenAddress 127.0.0.1\nHostKey {own}/host_key\nAuthorizedKeysFile {own}/key.pub\nPidFile none\nStrictModes no\nUsePAM no\n"
            (own / f"{name}.sshd").write_text(door, encoding="utf-8")
            self.run([*self.inside(name), "/usr/sbin/sshd", "-D", "-f", str(own / f"{name}.sshd")])
            text += f"Host {name}\nHostName 127.0.0.1\nPort {port}\nHostKeyAlias {name}\n"
        config.write_text(text, encoding="utf-8")
        for name in self.names:
            self.until(lambda name=name: subprocess.run(["ssh", "-F", config, name, "true"], capture_output=True, check=False, timeout=60).returncode == 0)
        return config

    def run(self, argv: t.Sequence[str]) -> None:
        """Start something that ends with the hosts."""
        self.others.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True))

    def until(self, holds: t.Callable[[], t.Any], seconds: float = UP_SECONDS) -> t.Any:
        """Wait until something holds, and give what it is."""
        until = time.monotonic() + seconds
        while not (found := holds()):
            assert time.monotonic() < until, "it did not come true in time"
            time.sleep(0.05)
        return found

    def say(self, name: str, do: str, **more: t.Any) -> dict[str, t.Any]:
        """Ask the load engine of a host."""
        request = {"do": do, "load": "one", **more}
        text = PROGRAM.replace(FUTURE, f"{FUTURE}REQUEST = {json.dumps(request)!r}\n", 1)
        argv = [*self.inside(name), sys.executable, "-SE", "-"]
        done = subprocess.run(argv, input=text, text=True, capture_output=True, timeout=120, check=False, env=self.environment)
        assert done.returncode == 0, done.stderr
        result: dict[str, t.Any] = json.loads(done.stdout)["detached"]
        return result

    def load(self, table: Schedule) -> None:
        """Start a schedule on its hosts; the last one may start what it finds on the others."""
        programs = {name: program_source(name) for name in table.programs}
        for name, jobs in reversed(table.jobs.items()):
            asked = [job.asked() for job in jobs]
            output = self.say(name, "start", owner="lab", run_id="r1", start_in=0, lease=None, jobs=asked, programs=programs)
            assert output["refused"] is None

    def replies(self, table: Schedule, wait: float = 90) -> dict[str, dict[str, t.Any]]:
        """What each host's jobs gave, once they have ended."""
        return {name: job_results(jobs, self.say(name, "collect", wait=wait)) for name, jobs in table.jobs.items()}

    def end(self) -> None:
        """End all that was started here, by its id."""
        for process in (*self.others, *self.holders.values()):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def up(directory: Path, names: t.Sequence[str]) -> t.Iterator[Apart]:
    """Hosts while they are needed."""
    hosts = Apart(directory, names)
    try:
        hosts.start()
        yield hosts
    finally:
        hosts.end()
