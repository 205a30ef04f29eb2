# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keeper: the parent of both machines, who get SIGKILL when it dies, whatever it dies of; and the lab's start and end."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from ...ports import claimed
from ..standing import LabError, end_recorded, keeper_ended, keeper_started, kept, record, write_private
from . import image, inventory, machine
from .lab import Lab, directory_of
from .shape import HOSTS


def lacking() -> str | None:
    """Why this machine cannot have a lab, or None."""
    return machine.lacking() or image.lacking()


def up(name: str, owner: int | None = None, minutes: float = 480) -> Lab:
    """Start a lab in the background and wait until both machines have booted; it ends with its owner, or after so many minutes.

    Raises LabError.
    """
    if (words := lacking()) is not None:
        raise LabError(words)
    keeper_started(directory_of(name), [str(Path(__file__).with_name("machines.py")), "keep", "--name", name], clean, owner, minutes)
    return Lab(name)


def keep(name: str, owner: int | None, minutes: float) -> None:
    """Be the keeper of a lab until its end."""
    directory = directory_of(name)
    machines: list[subprocess.Popen[bytes]] = []

    def end() -> None:
        for one in machines:
            one.kill()
        for one in machines:
            one.wait()
        clean(directory)

    kept(lambda: _start(directory, machines), end, owner, minutes)


def _start(directory: Path, machines: list[subprocess.Popen[bytes]]) -> None:
    """Start both machines, and write ``lab.json`` when they have booted.

    Raises LabError.
    """
    record(directory, [os.getpid()])
    built = image.image()
    ports = [claimed() for _host in HOSTS]
    _write(directory, built, ports)
    for host, port in zip(HOSTS, ports):
        command = ["setpriv", "--pdeathsig", "KILL", *machine.qemu(host, built, directory, port)]
        with (directory / f"{host}.log").open("w") as log:
            machines.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/"))
        record(directory, [os.getpid(), *(one.pid for one in machines)])
    for host, one in zip(HOSTS, machines):
        machine.await_boot(directory, host, ended=lambda host=host, one=one: _last_words(directory, host, one))
    write_private(directory / "lab.json", "{}")


def _last_words(directory: Path, host: str, process: subprocess.Popen[bytes]) -> str | None:
    """What QEMU said where it has ended."""
    return None if process.poll() is None else f"QEMU of {host} ended with status {process.returncode}: {(directory / f'{host}.log').read_text().strip()}"


def _write(directory: Path, built: Path, ports: list[int]) -> None:
    """Login and inventory; nothing of the user's own keys and known hosts is looked at."""
    shutil.copyfile(built / "key", directory / "key")
    (directory / "key").chmod(0o600)
    host_key = (built / "host_key.pub").read_text().rsplit(maxsplit=1)[0]
    (directory / "known_hosts").write_text("".join(f"{host} {host_key}\n" for host in HOSTS))
    (directory / "cp").mkdir()
    (directory / "ssh_config").write_text("".join(_ssh_config(directory, host, port) for host, port in zip(HOSTS, ports)))
    inventory.write(directory / "inventory", directory)


def _ssh_config(directory: Path, host: str, port: int) -> str:
    return f"""Host {host}
HostName 127.0.0.1
Port {port}
HostKeyAlias {host}
User root
IdentityFile {directory}/key
IdentitiesOnly yes
UserKnownHostsFile {directory}/known_hosts
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking yes
PreferredAuthentications publickey
ConnectTimeout 60
ControlMaster auto
ControlPersist 600
ControlPath {directory}/cp/{host}
"""


def down(name: str) -> None:
    """End a lab, also one whose keeper has crashed; nothing happens where there is none.

    Raises LabError where something stays behind.
    """
    keeper_ended(directory_of(name))
    clean(directory_of(name))


def clean(directory: Path) -> None:
    """End what is recorded in a lab's directory, and its kept connections, and remove it.

    Raises LabError where something stays.
    """
    for control in (directory / "cp").glob("*"):
        subprocess.run(["ssh", "-O", "exit", "-o", f"ControlPath={control}", "lab"], capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    end_recorded(directory)
    shutil.rmtree(directory, ignore_errors=True)
    if directory.exists():
        raise LabError(f"{directory} cannot be removed")


def status(lab: Lab) -> dict[str, str]:
    """What is wrong with each machine, and nothing of those that are well."""
    return {host: words for host in HOSTS if (words := lab.wrong(host)) is not None}
