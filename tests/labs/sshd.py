# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real sshd processes on this machine, each of which is a node of the simulated pod: its tools come first on PATH."""

from __future__ import annotations

import contextlib
import getpass
import socket
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import yaml

SSHD = "/usr/sbin/sshd"


@contextlib.contextmanager
def nodes(
    directory: Path, inventory: Path, ports: t.Mapping[str, int], variables: t.Callable[[str], dict[str, t.Any]] = lambda _name: {},
    settings: t.Callable[[str], t.Sequence[str]] = lambda _name: (), pass_on: t.Sequence[str] = (),
) -> t.Iterator[None]:  # fmt: skip
    """Some nodes of an inventory as sshd processes while they are needed.

    directory: where keys and configurations are written, and where ``answers`` has what each node's tools say; variables: more host variables of a node;
    settings: more lines of its configuration; pass_on: variables of the environment that it takes over from its client.
    """
    started: list[subprocess.Popen[bytes]] = []
    try:
        _keys(directory)
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        for name, port in ports.items():
            lines = [f"AcceptEnv {' '.join(pass_on)}"] if pass_on else []
            started.append(_sshd(directory, name, port, [*lines, *settings(name)]))
        for port in ports.values():
            _await(port)
        _reach(inventory, directory, ports, variables, pass_on)
        yield
    finally:
        for process in started:
            process.terminate()
            process.wait()


def _keys(directory: Path) -> None:
    for name in ("key", "host_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)], check=True)
    (directory / "authorized").write_text((directory / "key.pub").read_text(encoding="ascii"), encoding="ascii")


def _sshd(directory: Path, node: str, port: int, more: t.Sequence[str]) -> subprocess.Popen[bytes]:
    answers = directory / "answers"
    settings = [
        f"Port {port}", "ListenAddress 127.0.0.1", f"HostKey {directory}/host_key", f"AuthorizedKeysFile {directory}/authorized",
        "StrictModes no", "UsePAM no", "PasswordAuthentication no", "PermitRootLogin yes", "MaxStartups 100", f"PidFile {directory}/{node}.pid",
        "Subsystem sftp internal-sftp",
        f"SetEnv PATH={answers}/{node}/bin:/usr/bin:/bin SIMULATED_POD={answers} SIMULATED_NODE={node} SIMULATED_RUN=ssh SIMULATED_PYTHON={sys.executable}",
    ]  # fmt: skip
    config = directory / f"{node}.conf"
    config.write_text("\n".join([*settings, *more]) + "\n", encoding="utf-8")
    return subprocess.Popen([SSHD, "-D", "-f", str(config)], stderr=subprocess.DEVNULL)


def _await(port: int) -> None:
    until = time.monotonic() + 20
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if time.monotonic() > until:
            raise TimeoutError(f"nothing listens on port {port}")
        time.sleep(0.05)


def _reach(
    inventory: Path, directory: Path, ports: t.Mapping[str, int], variables: t.Callable[[str], dict[str, t.Any]], pass_on: t.Sequence[str]
) -> None:  # fmt: skip
    known = " ".join((directory / "host_key.pub").read_text(encoding="ascii").split()[:2])
    (directory / "known_hosts").write_text("".join(f"[127.0.0.1]:{port} {known}\n" for port in ports.values()), encoding="ascii")
    for name, port in ports.items():
        values = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": port, "ansible_user": getpass.getuser()}
        options = [f"UserKnownHostsFile={directory}/known_hosts", f"ControlPath={directory}/%C", "ControlPersist=5s"]
        options += [f"SendEnv={one}" for one in pass_on]
        values |= {"ansible_ssh_private_key_file": str(directory / "key"), "ansible_ssh_common_args": " ".join(f"-o {one}" for one in options)}
        path = inventory / "host_vars" / f"{name}.yml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump({**values, **variables(name)}), encoding="utf-8")
