# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starting and ending a lab."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from ..standing import LabError, keeper_ended, keeper_started, kept, started
from .keeper import Keeper, clean
from .lab import Lab, directory_of
from .shape import Shape

NEEDED = (
    "unshare",
    "setpriv",
    "nsenter",
    "ip",
    "sysctl",
    "ssh",
    "ssh-keygen",
    "/usr/sbin/sshd",
    "/usr/lib/frr/zebra",
    "/usr/lib/frr/bgpd",
    "vtysh",
    "nft",
    "ping",
)


def lacking() -> str | None:
    """Why this machine cannot have a lab, or None."""
    if os.geteuid() != 0:
        return "the FRR lab needs root for its network namespaces"
    missing = [tool for tool in NEEDED if shutil.which(tool) is None]
    if missing:
        return f"the FRR lab needs {', '.join(missing)} (Debian: frr iproute2 iputils-ping nftables openssh-client openssh-server)"
    tried = subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "true"], capture_output=True, text=True, check=False)
    return f"the FRR lab needs namespaces, and this machine refuses them: {tried.stderr.strip()}" if tried.returncode else None


def up(name: str, shape: Shape, owner: int | None = None, minutes: float = 480) -> Lab:
    """Start a lab in the background and wait until its nodes are ready; it ends with its owner, or after so many minutes.

    Raises LabError.
    """
    if (words := lacking()) is not None:
        raise LabError(words)
    program = str(Path(__file__).with_name("fabric.py"))
    keeper_started(directory_of(name), [program, "keep", "--name", name, "--shape", str(shape)], clean, owner, minutes)
    return Lab(name)


def keep(name: str, shape: Shape, owner: int | None, minutes: float) -> None:
    """Be the keeper of a lab until its end."""
    keeper = Keeper(name, shape)
    try:
        kept(keeper.build, keeper.end, owner, minutes)
    except subprocess.CalledProcessError as error:
        raise LabError(f"{' '.join(error.cmd)} ended with status {error.returncode}: {error.stderr}") from error


def down(name: str) -> None:
    """End a lab, also one whose keeper has crashed; nothing happens where there is none.

    Raises LabError where something stays behind.
    """
    directory = directory_of(name)
    keeper_ended(directory)
    clean(directory)


def status(lab: Lab) -> dict[str, str]:
    """What is wrong with each node, and nothing of those that are well."""
    wrong = {name: "its first process is gone" for name, process in lab.processes.items() if started(process) is None}
    for switch in lab.plan.switches():
        if switch.name not in wrong and (words := lab.sessions(switch.name)) is not None:
            wrong[switch.name] = words
    for leaf in lab.plan.with_role("leaf") if lab.plan.shape.spines else ():
        if leaf not in wrong and (words := lab.routes(leaf)) is not None:
            wrong[leaf] = words
    return wrong
