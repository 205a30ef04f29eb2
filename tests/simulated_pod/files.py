# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a simulated host's file system that repairs read and write, below a directory of its own."""

from __future__ import annotations

import shutil
import typing as t
from pathlib import Path

from .model import Host, Rail
from .render import gpu, nic

NETWORK = "[Match]\nName=enp*np0\n\n[Network]\nDHCP=no\n"


def stamps(root: Path) -> dict[str, t.Any]:
    """What tells that a file was written: every file with its time and size."""
    return {str(path.relative_to(root)): [path.lstat().st_mtime_ns, path.lstat().st_size] for path in sorted(root.rglob("*")) if not path.is_dir()}


def write(host: Host, root: Path) -> None:
    """Write what a host's kernel shows of itself, and once what its image brought."""
    shown = {"proc/modules": "".join(f"{name} 16384 0 - Live 0x0000000000000000\n" for name in _modules(host)), f"proc/{gpu.SLURMD}/limits": _limits(host)}
    for rail in host.rails:
        for role, enabled in (("np", rail.dcqcn_np), ("rp", rail.dcqcn_rp)):
            place = f"sys/class/net/{rail.netdev}/ecn/roce_{role}/enable"
            shown |= {f"{place}/{priority}": f"{int(priority in enabled)}\n" for priority in range(8)}
        shutil.rmtree(root / f"sys/class/infiniband/{rail.device}", ignore_errors=True)
        shown |= _gids(rail)
        (root / f"sys/bus/pci/devices/{rail.pci}/net/{rail.netdev}").mkdir(parents=True, exist_ok=True)
    shutil.rmtree(root / "sys/kernel/mm/memory_peers", ignore_errors=True)
    if host.memory_peers_listed:
        (root / "sys/kernel/mm/memory_peers").mkdir(parents=True)
    if host.memory_peer and host.memory_peers_listed:
        shown["sys/kernel/mm/memory_peers/nv_mem/version"] = "1.3\n"
    for place, text in shown.items():
        _write(root / place, text)
    for rail in host.rails:
        (root / f"sys/class/infiniband/{rail.device}/device").symlink_to(f"../../../bus/pci/devices/{rail.pci}")
    if not (root / "etc").is_dir():
        _write(root / "etc/os-release", 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\n')
        _write(root / "etc/default/grub", 'GRUB_CMDLINE_LINUX="iommu=pt"\n')
        _write(root / "etc/systemd/network/50-rails.network", NETWORK)
        _write(root / "etc/modules-load.d/gpu.conf", "".join(f"{module}\n" for module in host.modules_load))


def take_up(host: Host, root: Path) -> None:
    """What a kernel takes up when it is written to sysfs, and what is read where it is: the modules of the next boot."""
    if not root.is_dir():
        return
    for rail in host.rails:
        ecn = root / f"sys/class/net/{rail.netdev}/ecn"
        for role in ("np", "rp"):
            setattr(rail, f"dcqcn_{role}", [one for one in range(8) if (ecn / f"roce_{role}/enable/{one}").read_text(encoding="utf-8").strip() == "1"])
    lines = [line.strip() for path in sorted((root / "etc/modules-load.d").glob("*.conf")) for line in path.read_text(encoding="utf-8").splitlines()]
    host.modules_load = [line for line in lines if line and not line.startswith("#")]


def _write(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _modules(host: Host) -> list[str]:
    return [line.split()[0] for line in gpu.lsmod(host).splitlines()[1:]]


def _limits(host: Host) -> str:
    limit = host.memlock_running or host.memlock
    limit = "unlimited" if limit == "infinity" else limit
    return f"Limit                     Soft Limit           Hard Limit           Units\nMax locked memory         {limit:<21}{limit:<21}bytes\n"


def _gids(rail: Rail) -> dict[str, str]:
    """The GID table as sysfs has it: the type of an empty entry cannot be read."""
    place, result = f"sys/class/infiniband/{rail.device}/ports/1", {}
    for _device, _port, index, gid, *rest in (line.split() for line in nic.gids(Host("", "", [rail], [], "", "", 0)).splitlines()[2:-1]):
        result[f"{place}/gids/{index}"] = f"{gid}\n"
        result[f"{place}/gid_attrs/types/{index}"] = "RoCE v2\n" if "v2" in rest else "IB/RoCE v1\n"
    return result
