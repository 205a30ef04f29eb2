# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AMD's tools and the kernel say on a simulated host with Instinct GPUs."""

from __future__ import annotations

import json
import typing as t
from collections import Counter
from dataclasses import replace

from ..model import Gpu, Host
from .gpu import WORKER, listed_peers

WIDTH = 80


def rocm_smi(host: Host) -> str:
    """``rocm-smi --showproductname --showbus --showuniqueid --showpids --json``; a GPU that is lost is not listed."""
    cards: dict[str, t.Any] = {}
    for gpu in _present(host):
        result = {"Unique ID": "0x" + gpu.uuid.replace("-", "")[3:19].lower(), "PCI Bus": gpu.pci.upper(), "Card Series": "AMD Instinct MI300X OAM"}
        cards[f"card{gpu.index}"] = {**result, "Card Model": "0x74a1", "GUID": str(28851 + gpu.index)}
    working = {f"PID{WORKER + gpu.index}": "python3, 1, 2147483648, 0, 0" for gpu in _present(host) if gpu.working}
    return json.dumps({**cards, "system": {"Driver version": host.driver, **working}}) + "\n"


def topology(host: Host) -> str:
    """``rocm-smi --showtopo``: weights, links and NUMA nodes."""
    gpus = _present(host)
    names = [f"GPU{gpu.index}" for gpu in gpus]
    lines = ["", "", " ROCm System Management Interface ".center(WIDTH, "=")]
    for title, value in (("Weight between two GPUs", "15"), ("Link Type between two GPUs", host.gpu_link)):
        lines += ["", f" {title} ".center(WIDTH, "="), " " * 7 + "".join(f"{name:<13}" for name in names)]
        lines += [f"{f'GPU{one.index}':<7}" + "".join(f"{'0' if one is other else value:<13}" for other in gpus) for one in gpus]
    lines += ["", " Numa Nodes ".center(WIDTH, "=")]
    for gpu in gpus:
        lines += [f"GPU[{gpu.index}]\t\t: (Topology) {word}: {gpu.numa}" for word in ("Numa Node", "Numa Affinity")]
    return "\n".join([*lines, " End of ROCm SMI Log ".center(WIDTH, "="), ""]) + "\n"


def metric(host: Host, loads: t.Sequence[str] = ()) -> str:
    """``amd-smi metric --ecc --throttle --json``; loads: the layers whose loads have run."""
    rows = []
    for gpu in _present(host):
        grown: Counter[str] = Counter()
        for layer in loads:
            grown.update(gpu.grow_in.get(layer, {}))
        errors = {"total_correctable_count": 2, "total_uncorrectable_count": gpu.ecc_uncorrected + grown["ecc_uncorrected"], "total_deferred_count": 0}
        hot = {"socket_thermal_accumulated": 2190 + grown["socket_thermal_accumulated"], "vr_thermal_accumulated": 0, "hbm_thermal_accumulated": 0}
        counted = {"accumulation_counter": 3808991 + 60000 * len(loads), "prochot_accumulated": 0, "ppt_accumulated": 585613}
        rows.append({"gpu": gpu.index, "ecc": errors, "throttle": {**counted, **hot, "prochot_violation_status": "NOT ACTIVE"}})
    return json.dumps(rows) + "\n"


def driver(host: Host) -> str:
    """``/sys/module/amdgpu/version``."""
    return f"{host.driver}\n"


def lsmod(host: Host) -> str:
    """``lsmod``."""
    lines = ["Module                  Size  Used by", "amdgpu              19709952  8", "mlx5_ib               458752  0"]
    lines += ["ib_uverbs             180224  1 mlx5_ib", "ib_core               479232  3 ib_uverbs,mlx5_ib,rdma_cm", "mlx5_core            1880064  1 mlx5_ib"]
    return "\n".join([line for line in lines if host.modules or not line.startswith("amdgpu")]) + "\n"


def memory_peers(host: Host) -> str:
    """``find`` of registered peer-memory clients."""
    return listed_peers(host, "amdkfd")


def software(host: Host) -> str:
    """The ``find`` over kernel, modules and libraries."""
    output = {"/proc/sys/kernel/osrelease": host.kernel, "/sys/module/mlx5_core/version": host.ofed, "/sys/module/amdgpu/version": host.driver}
    return "".join(f"{path}:{value}\n" for path, value in output.items() if value) + "/opt/rocm/lib/librccl.so.1.0.60400\n"


def _present(host: Host) -> list[Gpu]:
    """The devices that the driver lists: each partition of a GPU is one, a function of the GPU's slot."""
    parts = range(host.partitions)
    present = [gpu for gpu in host.gpus if gpu.present]
    return [replace(gpu, index=gpu.index * len(parts) + part, pci=f"{gpu.pci[:-1]}{part}") for gpu in present for part in parts]
