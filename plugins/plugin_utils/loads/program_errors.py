# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of ranks that arise within their own host: how the program was started there, its files and its libraries."""

from __future__ import annotations

from .types import RankError

# The first that matches is the one.
PROGRAM_ERRORS: tuple[RankError, ...] = (
    RankError(
        r"mlx5dv_devx_\w+|init failed for transport: IBGDA|cannot allocate buffer on the specified memory type",
        True,
        "NVSHMEM could not set up the transfers that GPUs begin by themselves (IBGDA) on this host: the job's container lacks devices or rights that it has "
        "on others, or the GPU driver lacks its options or modules for them.",
        "See whether it works in a privileged container (--privileged); if so give it /dev/infiniband and --cap-add IPC_LOCK as on the other hosts. Else "
        "compare NVreg_EnableStreamMemOPs=1 and PeerMappingOverride=1 in /proc/driver/nvidia/params, nvidia_peermem and gdrdrv with a good host's.",
        worded=True,
    ),
    RankError(
        r"got signal: 1\b",
        True,
        "What started the training on this host received signal 1 (SIGHUP): the terminal or ssh session in which it had been started was closed.",
        "Start it by the scheduler, as a unit of systemd or inside tmux; nohup alone does not keep torchrun, which handles the signal itself, unless setsid "
        "gives it a session of its own. See in the log of sshd and systemd-logind (KillUserProcesses) what closed the session.",
    ),
    RankError(
        r"couldn't chdir to|[Cc]an't open file '[^']*': \[Errno 2\]",
        True,
        "The job's directory or program is not on this host: its file system (home, project) is not mounted here, or the path is of another host alone.",
        "Compare findmnt -T and ls -ld of the path on this host with another one; mount it before jobs start there (After= of slurmd's unit), or begin the "
        "job in a directory that all hosts have (--chdir).",
    ),
    RankError(
        r"as PyTorch extensions root|torch_extensions/\S*/lock\b",
        True,
        "The program compiles an extension of PyTorch at its start, or waits for another process that does: a lock that a killed process left in the "
        "directory of extensions makes all later ones wait without an end.",
        "Remove the directory that the line names (TORCH_EXTENSIONS_DIR) where no process compiles, and start again; compile the extensions into the image "
        "(DeepSpeed: DS_BUILD_OPS=1), or give each host a directory of its own.",
    ),
    RankError(
        r"Failed to find C compiler|fatal error: \S+\.(?:h|hpp|cuh): No such file|Ninja is required to load|nvcc\b.*(?:not found|No such file)|"
        r"CUDA_HOME environment variable is not set|Error building extension|error: command '\S*(?:cc|c\+\+)[^']*' failed",
        True,
        "The program compiles code when it runs (Triton, extensions of PyTorch), and what that needs is not here or does not fit: a C compiler, the headers of "
        "Python or CUDA, ninja or nvcc.",
        "Install what the line names in the image (gcc, python3-dev, ninja, the CUDA toolkit) or let CC and CUDA_HOME lead to it; compare the image with a "
        "host's where it runs.",
    ),
    RankError(
        r"(?:No such file or directory|Text file busy|resource busy|Stale file handle).*(?:\.triton/|triton_?cache|torchinductor|\.deep_ep)|"
        r"(?:\.triton/|triton_?cache|torchinductor|\.deep_ep).*Stale file handle",
        True,
        "Ranks of several hosts compile kernels into one directory on a network file system (Triton, Inductor), where one of them finds a file of another one "
        "gone, half written or in use.",
        "Give each host a directory of its own on a local disk (TRITON_CACHE_DIR and TORCHINDUCTOR_CACHE_DIR, such as below /tmp), and remove the shared one.",
        by_type=True,
    ),
    RankError(
        r"version `GLIBC(?:XX)?_[\d.]+' not found|FATAL: kernel too old",
        True,
        "The program was built for a newer system than this host or image is: its C library, C++ library or kernel is older than the one that the line names.",
        "Compare ldd --version and uname -r inside the job with a host where it runs, and use one image on all hosts, or a build for the oldest system.",
    ),
    RankError(
        r"undefined symbol: p?nccl\w+",
        True,
        "The loader finds another NCCL on this host, older than the one that PyTorch was built with: LD_LIBRARY_PATH, ld.so.conf or another package provides "
        "it before PyTorch's own.",
        "Run ldd on the library that the line names to see which libnccl.so.2 it takes; take that directory out of LD_LIBRARY_PATH or remove the package, "
        "or install the NCCL that pip or the image lists for this PyTorch.",
    ),
    RankError(
        r"cannot open shared object file: No such file",
        True,
        "The program lacks the library that the line names on this host: its image lacks it or has another release, or LD_LIBRARY_PATH does not lead to it.",
        "Compare ldd of the program, ldconfig -p and LD_LIBRARY_PATH inside the job with a good host's, and give all hosts the same image.",
    ),
    RankError(
        r"cuDNN version (?:incompatibility|mismatch)|CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
        True,
        "The loader finds another cuDNN on this host than the one that PyTorch was built with, or parts of two: LD_LIBRARY_PATH, ld.so.conf or another "
        "package provides it before PyTorch's own.",
        "Run LD_DEBUG=libs python3 -c 'import torch; torch.backends.cudnn.version()' on this host to see which libcudnn it takes; take that directory out of "
        "LD_LIBRARY_PATH or remove the package, and give all hosts the cuDNN that pip or the image lists for this PyTorch.",
    ),
    RankError(
        r"ModuleNotFoundError|ImportError|cannot open shared object file|undefined symbol",
        True,
        "The program lacks a library or module on this host: another image, Python or LD_LIBRARY_PATH than on the others.",
        "Start the command of the evidence by hand on this host, and give all hosts the same image.",
        by_type=True,
    ),
)
