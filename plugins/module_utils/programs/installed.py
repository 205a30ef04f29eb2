# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the programs, Python modules and privileges that readings and loads need a host has, and the drivers of its RDMA devices.

A whole program of the standard library: hosts run it as it is. It starts none of the programs that it looks for but the Python that is named.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

SECONDS = 15
# Every program that a reading or a load starts.
PROGRAMS = (
    "amd-smi", "cat", "date", "dcb", "dmesg", "docker", "enroot", "ethtool", "find", "grep", "ib_write_bw", "ib_write_lat", "ibdev2netdev", "ibdiagnet",
    "iblinkinfo", "ibnetdiscover", "ibqueryerrors", "ibstat", "ibv_devinfo", "ip", "journalctl", "lldpctl", "lscpu", "lsmod", "lspci", "mlnx_qos",
    "mlxconfig", "mlxlink", "mpirun", "mstconfig", "mstlink", "niccli", "nicctl", "nvidia-imex-ctl", "nvidia-smi", "perfquery", "ping", "podman", "python3",
    "rdma", "rocm-smi", "saquery", "show_counters", "show_gids", "sminfo", "smpquery", "srun", "sysctl", "systemctl", "systemd-detect-virt",
)  # fmt: skip
DEVICES = "/sys/class/infiniband"
# It says where torch is, and does not import it, which takes seconds.
ORIGIN = "import importlib.util; found = importlib.util.find_spec('torch'); print(found.origin if found else '')"


def torch_of(python):
    """Where a Python has torch; None where it has none, or where there is no such Python."""
    try:
        done = subprocess.run([python, "-c", ORIGIN], capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def drivers():
    """Each RDMA device with the kernel's driver of it."""
    found = []
    for device in sorted(os.listdir(DEVICES)) if os.path.isdir(DEVICES) else ():
        link = os.path.join(DEVICES, device, "device", "driver")
        if os.path.exists(link):
            found.append((device, os.path.basename(os.path.realpath(link))))
    return found


def functions():
    """Each RDMA device with vendor and device of its PCI function, as sysfs writes them; without those that are on no PCI bus."""
    found = []
    for device in sorted(os.listdir(DEVICES)) if os.path.isdir(DEVICES) else ():
        try:
            ids = [_line(os.path.join(DEVICES, device, "device", name)) for name in ("vendor", "device")]
        except OSError:
            continue
        found.append((device, " ".join(ids)))
    return found


def _line(path):
    with open(path, encoding="ascii", errors="replace") as file:
        return file.readline().strip()


def main():
    """Print the rows."""
    rows = [("program", name, shutil.which(name)) for name in PROGRAMS]
    rows += [("torch", sys.argv[1], torch_of(sys.argv[1])), ("user", "uid", str(os.geteuid()))]
    rows += [("driver", *one) for one in drivers()] + [("function", *one) for one in functions()]
    sys.stdout.write(json.dumps({"rows": [dict(zip(("kind", "name", "found"), row)) for row in rows]}) + "\n")


if __name__ == "__main__":
    main()
