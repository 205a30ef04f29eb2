# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One machine: its QEMU command, its console, and what is done to its ports from outside, as pulling a cable is."""

from __future__ import annotations

import ctypes
import json
import mmap
import platform
import re
import shutil
import socket
import time
import typing as t
from pathlib import Path

from ..standing import LabError, poll
from .shape import RAILS, device, mac, netdev, peer

READY = re.compile(r"^LAB ready (\S+)\s*$", re.MULTILINE)
DEAD = re.compile(r"Kernel panic.*|You are in (?:emergency|rescue) mode.*|Failed to start .*(?:RDMA devices|Word of this boot).*")
# Half a minute on two cores of its own; a busy machine takes minutes.
BOOT_SECONDS = 600.0


def lacking() -> str | None:
    """Why this machine cannot run others, or None."""
    if platform.machine() != "x86_64":
        return f"the Soft-RoCE lab needs an x86_64 machine, not {platform.machine()}"
    missing = [tool for tool in ("qemu-system-x86_64", "setpriv", "ssh") if shutil.which(tool) is None]
    return f"the Soft-RoCE lab needs {', '.join(missing)} (Debian: qemu-system-x86 openssh-client)" if missing else None


def qemu(name: str, image: Path, directory: Path, ssh_port: int) -> list[str]:
    """The command of a machine; what it writes to its disk lives as long as the command, and through every boot within it."""
    # TCG runs everywhere; KVM of a machine that is itself virtual may open and then hang in the boot.
    command = ["qemu-system-x86_64", "-name", name, "-machine", "q35", "-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", "1G"]
    command += ["-nodefaults", "-display", "none", "-kernel", str(image / "vmlinuz"), "-initrd", str(image / "initrd"), "-append", _kernel_line(name)]
    command += ["-drive", f"file={image / 'disk'},if=none,id=disk,format=raw,snapshot=on", "-device", "virtio-blk-pci,drive=disk"]
    command += ["-netdev", f"user,id=mgmt0,restrict=on,hostfwd=tcp:127.0.0.1:{ssh_port}-10.0.2.15:22"]
    command += ["-device", f"virtio-net-pci,netdev=mgmt0,mac={mac(name, None)},romfile="]
    for rail in range(RAILS):
        own, far = (directory / f"{netdev(rail)}.{host}" for host in (name, peer(name)))
        command += ["-netdev", f"dgram,id={netdev(rail)},local.type=unix,local.path={own},remote.type=unix,remote.path={far}"]
        command += ["-device", f"virtio-net-pci,netdev={netdev(rail)},id={device(rail)},mac={mac(name, rail)},romfile="]
    command += ["-device", "virtio-rng-pci", "-serial", f"file:{console_of(directory, name)}"]
    return [*command, "-qmp", f"unix:{directory / name}.qmp,server=on,wait=off"]


def _kernel_line(name: str) -> str:
    words = f"console=ttyS0 quiet systemd.show_status=error systemd.unit=multi-user.target mitigations=off systemd.hostname={name}"
    # A guest that measures its clock on a busy machine may be wrong by a factor, and every bandwidth with it.
    return f"{words} tsc=reliable tsc_early_khz={tsc_khz()}"


def tsc_khz(seconds: float = 0.2) -> int:
    """The rate of this machine's time stamp counter, which the machines read too, in kHz."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # rdtsc; shl rdx, 32; or rax, rdx; ret
    code.write(bytes.fromhex("0f3148c1e2204809d0c3"))
    counter = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    first, began = counter(), time.monotonic_ns()
    time.sleep(seconds)
    last, ended = counter(), time.monotonic_ns()
    return round((last - first) * 1_000_000 / (ended - began))


def console_of(directory: Path, name: str) -> Path:
    """Where the machine's console is written."""
    return directory / f"{name}.console"


def boots(directory: Path, name: str) -> list[str]:
    """The id of every boot that came to its end, by the console.

    Raises LabError where the machine says that it never will.
    """
    path = console_of(directory, name)
    text = path.read_text(errors="replace").replace("\r", "") if path.exists() else ""
    result = READY.findall(text)
    if (dead := DEAD.search(text)) is not None:
        raise LabError(f"{name}: {dead[0]} (console: {path})")
    return result


def await_boot(directory: Path, name: str, after: int = 0, seconds: float = BOOT_SECONDS, ended: t.Callable[[], str | None] = lambda: None) -> str:
    """Wait until the machine has booted more often than ``after`` times; returns that boot's id.

    ended: the last words of a machine that will not boot any more.
    Raises LabError.
    """

    def missing() -> str | None:
        if (words := ended()) is not None:
            raise LabError(words)
        return None if len(boots(directory, name)) > after else f"its console is {console_of(directory, name)}"

    poll(seconds, missing, f"{name} has booted")
    return boots(directory, name)[-1]


def monitor(directory: Path, host: str, command: str, /, **arguments: t.Any) -> None:
    """Give a machine's QEMU a command, such as ``set_link``.

    Raises LabError where it refuses.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(str(directory / f"{host}.qmp"))
        with connection.makefile("rw") as lines:
            lines.readline()
            for one in ({"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments}):
                lines.write(json.dumps(one) + "\n")
                lines.flush()
                while "return" not in (output := json.loads(lines.readline())):
                    if "error" in output:
                        raise LabError(f"QEMU of {host} refuses {command}: {output['error']['desc']}")
