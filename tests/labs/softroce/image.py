# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machines' kernel, first file system and disk: Debian 12's own packages, built once for each recipe and set of package versions."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import typing as t
import uuid
from pathlib import Path

from ..standing import LabError
from .shape import HOSTS, MANAGEMENT, RAIL_MTU, RAILS, address, mac, netdev

HERE = Path(__file__).parent
RELEASE = "bookworm"
PACKAGES = (
    "systemd-sysv", "udev", "kmod", "procps", "python3", "openssh-server", "iproute2", "iputils-ping", "ethtool", "pciutils",
    "rdma-core", "ibverbs-utils", "ibverbs-providers", "infiniband-diags", "perftest",
)  # fmt: skip
KERNEL = "linux-image-amd64"
DISK_MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4")
# rdma_rxe does not name crc32 as its need and refuses every device without it. The mlx5 drivers load without a card.
MODULES = (
    *DISK_MODULES, "crc32c_intel", "crc32_generic", "crc32_pclmul", "virtio_net", "virtio_rng", "autofs4", "rdma_rxe", "ib_uverbs", "ib_umad", "rdma_ucm",
    "sch_netem", "sch_tbf", "sch_prio", "dummy", "8021q", "mlx5_core", "mlx5_ib", "ib_ipoib",
)  # fmt: skip
BEYOND_NEED = ("doc", "man", "locale", "info", "i18n")
MASKED = (
    "getty@tty1.service",
    "serial-getty@ttyS0.service",
    "systemd-pstore.service",
    "dpkg-db-backup.timer",
    "fstrim.timer",
    "proc-sys-fs-binfmt_misc.automount",
    "systemd-timesyncd.service",
)
NEEDED = ("mmdebstrap", "apt-get", "apt-cache", "modprobe", "depmod", "busybox", "cpio", "mke2fs", "ssh-keygen", "dpkg-deb")


def place() -> Path:
    """Where images are kept: SOFTROCE_CACHE, or the user's cache directory."""
    chosen = os.environ.get("SOFTROCE_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpufabric-softroce"


def key() -> str:
    """What an image is made of: this recipe, and the versions of its packages that the machine's apt knows.

    Raises LabError where apt knows none.
    """
    versions = _run("apt-cache", "policy", *PACKAGES, KERNEL)
    candidates = re.findall(r"^  Candidate: (?!\(none\))(.*)", versions, re.MULTILINE)
    if len(candidates) != len(PACKAGES) + 1:
        raise LabError("apt does not know all packages of the image; it needs the sources of Debian 12 and apt-get update")
    digest = hashlib.sha256(repr([PACKAGES, candidates]).encode())
    for path in sorted([*HERE.glob("guest/*"), HERE / "image.py", HERE / "shape.py"]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def image() -> Path:
    """The directory of the image of this recipe, built where it is not kept: ``vmlinuz``, ``initrd``, ``disk``, ssh keys.

    Raises LabError.
    """
    place().mkdir(parents=True, exist_ok=True)
    kept = place() / key()
    with (place() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            _build(kept)
        for other in place().iterdir():
            if other.is_dir() and other != kept:
                shutil.rmtree(other)
    return kept


def lacking() -> str | None:
    """Why this machine cannot build an image, or None."""
    missing = [tool for tool in NEEDED if shutil.which(tool) is None]
    if missing:
        return f"the image needs {', '.join(missing)} (Debian: mmdebstrap busybox-static cpio kmod e2fsprogs openssh-client)"
    return "the image needs root to be built" if os.geteuid() != 0 else None


def _build(kept: Path) -> None:
    if (words := lacking()) is not None:
        raise LabError(words)
    with tempfile.TemporaryDirectory(dir=place()) as directory:
        work = Path(directory)
        root, kernel, made = work / "root", work / "kernel", work / "made"
        made.mkdir()
        _packages(work, root)
        release = _kernel(kernel)
        shutil.copyfile(kernel / "boot" / f"vmlinuz-{release}", made / "vmlinuz")
        _modules(kernel, release, root)
        _settle(root, made)
        _initrd(kernel, release, work / "initrd", made / "initrd")
        size = int(_run("du", "--summarize", "--block-size=1M", str(root)).split()[0])
        # Room for logs and for what tests write.
        _run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", str(root), str(made / "disk"), f"{size * 5 // 4 + 256}M")
        made.rename(kept)


def _packages(work: Path, root: Path) -> None:
    """Debian 12 from the mirrors that this machine's apt uses, in the way it reaches them."""
    sources = work / "sources.list"
    sources.write_text("".join(f"deb {one}\n" for one in _mirrors()))
    options = work / "apt.conf"
    options.write_text("".join(line + "\n" for line in _run("apt-config", "dump").splitlines() if re.match(r'Acquire::https?(::\S+)? "[^"]', line)))
    without = [f"--dpkgopt=path-exclude=/usr/share/{one}/*" for one in BEYOND_NEED]
    command = ["mmdebstrap", "--quiet", "--variant=essential", "--format=directory", f"--include={','.join(PACKAGES)}", f"--aptopt={options}", *without]
    _run(*command, RELEASE, str(root), str(sources))


def _mirrors() -> list[str]:
    """The machine's own sources of this release, as ``URI SUITE COMPONENT``.

    Raises LabError where it has none.
    """
    result = _run("apt-get", "indextargets", "--format", "$(CREATED_BY) $(CODENAME) $(REPO_URI) $(RELEASE) $(COMPONENT)")
    rows = [line.split() for line in result.splitlines()]
    found = dict.fromkeys(" ".join(row[2:]) for row in rows if len(row) == 5 and row[0] == "Packages" and row[1].startswith(RELEASE))
    if not found:
        raise LabError(f"this machine's apt has no source of Debian 12 ({RELEASE}), or needs apt-get update")
    return list(found)


def _kernel(kernel: Path) -> str:
    """Unpack Debian's kernel; returns its release."""
    package = next(word for word in _run("apt-cache", "depends", KERNEL).split() if word.startswith("linux-image-") and word != KERNEL)
    kernel.mkdir()
    _run("apt-get", "download", "-o", "APT::Sandbox::User=root", package, cwd=kernel)
    _run("dpkg-deb", "--extract", str(next(kernel.glob("*.deb"))), str(kernel))
    release = package.removeprefix("linux-image-")
    _run("depmod", "--basedir", str(kernel), release)
    return release


def _needed(kernel: Path, release: str, modules: t.Iterable[str]) -> list[Path]:
    """The files of some modules and of all that they need, in an order in which they load."""
    files: dict[str, None] = {}
    for module in modules:
        result = _run("modprobe", "--dirname", str(kernel), "--set-version", release, "--show-depends", module)
        files |= dict.fromkeys(line.split()[1] for line in result.splitlines() if line.startswith("insmod"))
    return [Path(file) for file in files]


def _modules(kernel: Path, release: str, root: Path) -> None:
    for file in _needed(kernel, release, MODULES):
        target = root / "usr" / file.relative_to(kernel)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        shutil.copyfile(kernel / "lib/modules" / release / name, root / "usr/lib/modules" / release / name)
    _run("depmod", "--basedir", str(root), release)


def _settle(root: Path, made: Path) -> None:
    """What this lab adds to Debian: network, login, RDMA devices, word on the console."""
    places = {
        "rails.sh": ("usr/local/sbin/lab-rails", 0o755),
        "rails.service": ("etc/systemd/system/rails.service", 0o644),
        "ready.service": ("etc/systemd/system/ready.service", 0o644),
        "sshd.conf": ("etc/ssh/sshd_config.d/lab.conf", 0o644),
        "system.conf": ("etc/systemd/system.conf.d/lab.conf", 0o644),
        "modules.conf": ("etc/modules-load.d/lab.conf", 0o644),
    }
    for name, (place_of, mode) in places.items():
        _put(root / place_of, (HERE / "guest" / name).read_text(), mode)
    for name, text in networks().items():
        _put(root / "etc/systemd/network" / name, text)
    # An empty id would make every boot a first one.
    _put(root / "etc/machine-id", uuid.uuid4().hex + "\n")
    _put(root / "etc/hosts", "".join(f"127.0.0.1 {name}\n" for name in ("localhost", *HOSTS)))
    with contextlib.suppress(FileNotFoundError):
        (root / "etc/hostname").unlink()
    _keys(root, made)
    _run("chroot", str(root), "systemctl", "--quiet", "enable", "rails.service", "ready.service", "systemd-networkd.service")
    _run("chroot", str(root), "systemctl", "--quiet", "mask", *MASKED)
    for one in ("var/cache/apt", "var/lib/apt/lists"):
        shutil.rmtree(root / one, ignore_errors=True)


def networks() -> dict[str, str]:
    """networkd's files: a rail is known by its MAC address and has its name, MTU and address for good."""
    files = {
        "10-management.link": f"[Match]\nMACAddress={' '.join(mac(host, None) for host in HOSTS)}\n[Link]\nName=mgmt0\n",
        "10-management.network": f"[Match]\nName=mgmt0\n[Network]\nAddress={MANAGEMENT}\nIPv6AcceptRA=no\n",
    }
    for rail in range(RAILS):
        name = netdev(rail)
        files[f"20-{name}.link"] = f"[Match]\nMACAddress={' '.join(mac(host, rail) for host in HOSTS)}\n[Link]\nName={name}\nMTUBytes={RAIL_MTU}\n"
        for host in HOSTS:
            # A link-local address that arrives while the RDMA device is added takes index 1 of its GIDs or shares index 0, as the race ends.
            files[f"20-{name}-{host}.network"] = (
                f"[Match]\nName={name}\nHost={host}\n[Network]\nAddress={address(host, rail)}/24\n"
                "LinkLocalAddressing=no\nIPv6AcceptRA=no\nConfigureWithoutCarrier=yes\n"
            )
    return files


def _keys(root: Path, made: Path) -> None:
    """Keys of throwaway machines that nobody reaches but over this machine's loopback."""
    for name in ("key", "host_key"):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(made / name))
    for old in (root / "etc/ssh").glob("ssh_host_*"):
        old.unlink()
    _put(root / "etc/ssh/ssh_host_ed25519_key", (made / "host_key").read_text(), 0o600)
    _put(root / "root/.ssh/authorized_keys", (made / "key.pub").read_text(), 0o600)


def _initrd(kernel: Path, release: str, tree: Path, target: Path) -> None:
    for name in ("bin", "dev", "proc", "root", "modules"):
        (tree / name).mkdir(parents=True)
    busybox = shutil.which("busybox")
    assert busybox is not None
    shutil.copy(busybox, tree / "bin/busybox")
    (tree / "bin/sh").symlink_to("busybox")
    for number, file in enumerate(_needed(kernel, release, DISK_MODULES)):
        shutil.copyfile(file, tree / "modules" / f"{number:02}-{file.name}")
    _put(tree / "init", (HERE / "guest/initrd.sh").read_text(), 0o755)
    names = "".join(f"{path.relative_to(tree)}\n" for path in sorted(tree.rglob("*")))
    target.write_bytes(subprocess.run(["cpio", "--create", "--format=newc", "--quiet"], input=names.encode(), cwd=tree, check=True, capture_output=True).stdout)


def _put(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(text)
    path.chmod(mode)


def _run(*command: str, cwd: Path | None = None) -> str:
    """What a command prints.

    Raises LabError where it fails.
    """
    done = subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL, cwd=cwd, timeout=900, check=False)
    if done.returncode:
        raise LabError(f"{' '.join(command)[:200]} ended with status {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout
