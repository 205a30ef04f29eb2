# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a line of an error names of a host: the call that failed, its NIC or GPU, its peer, a setting, a file."""

from __future__ import annotations

import re
import typing as t

# By what it is called in words, the pattern of it, in the order in which they are said. The first group that matched is the name.
_LIBRARIES = r"(?:ibv|rdma|mlx5dv|ucp|uct|ucs|fi|gdr|shm|pthread|MPI|PMIx?|cublas|cudnn|cuda|cu|hip|hsa|nvml|nccl|rccl|nvrtc|rocblas)"
_SYSTEM = r"open|connect|bind|listen|accept|mmap|ioctl|socket|fork|execve|poll|epoll_\w+|getaddrinfo|posix_fallocate|ftruncate|sched_setaffinity|mlock|stat"
_VARIABLES = r"(?:NCCL|RCCL|UCX|UCC|OMPI|PMIX|PRTE|GLOO|TORCH|CUDA|HSA|HIP|ROCR|FI|MASTER|SLURM|RDMAV|NVSHMEM|LD|PYTORCH|ENROOT|SHARP)"
NIC = re.compile(r"\b((?:mlx[45]_(?:bond_)?\d+|bnxt_re\d+|bnxt_re_bond\d+|ionic_\d+|irdma\d+|erdma_\d+|rocep\w+|ibp\d\w+|rdmap\w+)(?::\d+)?)\b")
NIC_NUMBER = re.compile(r"\bNET/IB\b.*?\b(?:[Dd]ev|[Dd]evice|NIC)[ =#]+(\d+)\b(?!:\d)")
PARTS: tuple[tuple[str, t.Pattern[str]], ...] = (
    ("the call", re.compile(rf"\b({_LIBRARIES}(?:_[a-z]\w+|[A-Z]\w+)|(?:{_SYSTEM})(?=\())(?=\(| failed| error|\b)")),
    ("the NIC", NIC),
    ("GPU", re.compile(r"(?:\bGPU[ #-]?|cuda:|\bcudaDev |\bCUDA device )(\d+)\b(?!:)")),
    ("the PCI address", re.compile(r"\b([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b", re.IGNORECASE)),
    ("the address", re.compile(r"(?<![\w.])((?:\d{1,3}\.){3}\d{1,3}(?:[:<]\d+>?)?)(?![\w.])")),
    ("the setting", re.compile(rf"\b({_VARIABLES}_(?!ERROR|STATUS)[A-Z][A-Z0-9_]+)\b")),
    ("the file", re.compile(r"(?<![\w/.:])(/(?:[\w.+@:-]+/)*[\w.+@:-]*\w)")),
)
# Names of results and of what a library calls itself, and of its source.
NO_NAME = re.compile(
    r"\w*(?:Error|Exception|Result|Success)\w*$|nccl(?:Internal|System|Remote|Invalid|Unhandled)\w*$|.*\.(?:[ch](?:pp|c|u)?|cu|py)(?::\d+)?$|NCCL_DEBUG\w*$"
)
MOST = 4


def named_nic(line: str | None) -> str | None:
    """The RDMA device that a line names, without its port: of NCCL, UCX and verbs that of the host that speaks. None where it names none, or several."""
    found = {match[1].partition(":")[0] for match in NIC.finditer(line or "")}
    return found.pop() if len(found) == 1 else None


def nic_number(line: str | None) -> int | None:
    """The number by which NCCL's network names a NIC of its own list in a line; None where it names none."""
    found = NIC_NUMBER.search(line or "")
    return int(found[1]) if found else None


def named_parts(line: str) -> str:
    """What a line names, as a sentence with a blank behind it; nothing where it names nothing."""
    found = [f"{what} {name}" for what, pattern in PARTS if (name := _first(pattern, line))][:MOST]
    if not found:
        return ""
    return f"It names {found[0]}. " if len(found) == 1 else f"It names {', '.join(found[:-1])} and {found[-1]}. "


def _first(pattern: t.Pattern[str], line: str) -> str | None:
    return next((match[1] for match in pattern.finditer(line) if not NO_NAME.match(match[1])), None)
