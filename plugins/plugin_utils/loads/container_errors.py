# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors with which a container is not started, or lacks what a rank needs: a rank's script prints them on its own host, a launcher those of any host."""

from __future__ import annotations

from .types import RankError

# The first that matches is the one.
CONTAINER_ERRORS: tuple[RankError, ...] = (
    RankError(
        r"\bsetting membind: |libnuma: Warning: node argument|(?:^|: )<[\d,-]+> is invalid$",
        True,
        "numactl could not bind the memory of the process and ended before the program began: the container lacks the capability for memory policies "
        "(SYS_NICE; its seccomp filter refuses set_mempolicy then), or the host or the job's cgroup does not have that NUMA node.",
        "Start the container with --cap-add SYS_NICE (Kubernetes: securityContext), or bind processors alone (numactl --cpunodebind); compare numactl "
        "--hardware and Mems_allowed of /proc/self/status inside the job with a good host's.",
    ),
    RankError(
        r"unsatisfied condition: |please update your driver to a newer version",
        True,
        "The host's GPU driver is too old for the image: the container toolkit compares what the image asks for (NVIDIA_REQUIRE_CUDA) with the driver, and "
        "starts no container of it.",
        "Update the host's driver to the version of the others (software_uniform), or use an image for this driver; NVIDIA_DISABLE_REQUIRE=1 leaves the "
        "comparison out, and the program then fails later where the driver is too old indeed.",
    ),
    RankError(
        r"[Dd]river/library version mismatch|nvmlInit_v2_\(\) INTERNAL ASSERT FAILED",
        True,
        "The libraries of the GPU driver are of another version than its module in the kernel: an update replaced them (unattended upgrades, a new image) and "
        "the old module stayed loaded.",
        "Compare /proc/driver/nvidia/version with the libraries (ldconfig -p, the package) and reboot the host, or unload and load the modules without a job; "
        "hold the driver's packages back from upgrades that run by themselves.",
    ),
    RankError(
        r"device error: .*unknown device|unresolvable CDI devices .*gpu",
        True,
        "A container was to have a GPU that the host does not have: a GPU fell off the bus or was hidden since, its number or UUID is of another host or of "
        "before a reset or MIG, or the list of CDI is old.",
        "Compare nvidia-smi -L on that host with what the job was given (CUDA_VISIBLE_DEVICES, NVIDIA_VISIBLE_DEVICES, gres.conf), look for Xid 79 in its "
        "kernel's log, and write the list again (nvidia-ctk cdi generate) where CDI is used.",
    ),
    RankError(
        r"failed to mount: |error mounting \\?\"|bind source path does not exist|mount destination .* doesn't exist",
        True,
        "What the container is to mount is not there on the host, or not the jobs' user's to read: its file system is not mounted, the path is of other hosts "
        "alone, or the server maps root to nobody (root_squash).",
        "On that host compare findmnt -T and ls -ld of the first path of the line, as the jobs' user, with another host; mount it before jobs start there.",
    ),
    RankError(
        r"\bpidfd_(?:open|getfd)\b",
        True,
        "The kernel does not let a process of the job take over what another one of it has open, by which PyTorch shares memory of a GPU in expandable "
        "segments: the container lacks the right for it, its filter of calls refuses it, or the kernel does not have the call.",
        "Start the container with --cap-add SYS_PTRACE and the filter of the other hosts (--security-opt seccomp), and compare kernel.yama.ptrace_scope and "
        "uname -r with theirs; PYTORCH_CUDA_ALLOC_CONF without expandable_segments:True shows whether the rest is in order.",
    ),
)
