# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the errors mean with which ranks of collectives and training end: CUDA's, NCCL's and PyTorch's."""

from __future__ import annotations

import re
import typing as t


class RankError(t.NamedTuple):
    """An error that a rank ends with: a regular expression of its text, cause and fix; own: it arises within the rank's own host.

    One that is not own (no answer of another rank, a path) does not show by itself at which end of the connection the fault is.
    """

    pattern: str
    own: bool
    cause: str
    fix: str


class HostEnd(t.NamedTuple):
    """How a run ended on a host: what is reported of it, with cause and fix."""

    words: str
    cause: str
    fix: str


KILLED = (
    "A rank of this host was killed: by the kernel for want of memory, by a crash of its own (signal 6, 7 or 11), or with its GPU.",
    "Look in the kernel's log of that time for oom-kill, Xid and segfault, at the memory limit of the job or container, and at the rank's own output.",
)
NEVER_ARRIVED = (
    "A rank of this host did not come to the collective in which all others waited: its process is stuck, or its GPU or driver hangs.",
    "Take the host out; look at its kernel's log (Xid), at what the rank's process does (py-spy, the flight recorder) and at its storage at that time.",
)
# The first that matches is the one: what is specific stands before what follows from it.
RANK_ERRORS: tuple[RankError, ...] = (
    RankError(
        r"ibv_reg_(?:dmabuf_)?mr\w*\b.*Cannot allocate memory|[Uu]nable to register memory",
        True,
        "The rank's host refuses to register memory for RDMA: the job's limit of locked memory is too low, or the host has too little memory left.",
        "Run ulimit -l inside the job and set it to unlimited: LimitMEMLOCK=infinity of slurmd, sshd or the container runtime, --ulimit memlock=-1 of a "
        "container; then compare the host's free memory and the kernel's log with a good host's.",
    ),
    RankError(
        r"ibv_create_(?:qp|cq|srq)\w*\b.*Cannot allocate memory",
        True,
        "The rank's host refuses a queue pair or completion queue: the job's limit of locked memory is too low, or the NIC has no more of them.",
        "Run ulimit -l inside the job and set it to unlimited; then look for processes that use queue pairs (rdma resource show) and at the kernel's log.",
    ),
    RankError(
        r"shared memory segment|/dev/shm\b",
        True,
        "The rank's host or container has too little shared memory for NCCL's segments in /dev/shm; a container's default is 64 MB.",
        "Start the container with --shm-size=16g or --ipc=host (Kubernetes: emptyDir with medium Memory at /dev/shm); remove what earlier jobs left there.",
    ),
    RankError(
        r"Too many open files",
        True,
        "The job's limit of open files on the rank's host is too low for the connections to all of its peers; it shows with many ranks first.",
        "Run ulimit -n inside the job and raise it as on the other hosts (LimitNOFILE of slurmd, sshd or the container runtime, docker's --ulimit nofile).",
    ),
    RankError(
        r"[Mm]ismatched NCCL version|NCCL version mismatch",
        False,
        "The ranks of the run have different versions of NCCL, and cannot set up a communicator: an image or library path differs on one host.",
        "Compare the NCCL version that each host's log begins with (nccl_runtime), and give all hosts one image and one LD_LIBRARY_PATH.",
    ),
    RankError(
        r"collective mismatch error|Mismatched collective",
        False,
        "The ranks of the run do not agree on a collective: variables or software differ between hosts, or a NIC's firmware forces relaxed ordering.",
        "Compare NCCL's version and variables of all hosts (nccl_runtime), and PCI_WR_ORDERING of their NICs, which is per_mkey(0) by default (nic_settings).",
    ),
    RankError(
        r"driver version is insufficient|NVIDIA driver on your system is too old|forward compatibility was attempted|unsupported display driver / cuda driver",
        True,
        "The host's GPU driver is too old for the CUDA of the image that the ranks run in.",
        "Update the host's driver to the version of the others (software_uniform), or use an image, or CUDA's compatibility package, for this driver.",
    ),
    RankError(
        r"system not yet initialized|cudaErrorSystemNotReady",
        True,
        "CUDA refuses GPUs whose NVSwitch fabric is not set up: the fabric manager does not run, or is of another version than the driver.",
        "Look at systemctl status nvidia-fabricmanager and its log, install it in the driver's version, start it, and see fabric_state of layer 0.",
    ),
    RankError(
        r"(?i)(?:CUDA|HIP)\b.*out of memory|cudaErrorMemoryAllocation|hipErrorOutOfMemory",
        True,
        "The GPU has too little free memory: another process, or one left over from an earlier job, uses it.",
        "List what uses the GPU's memory (nvidia-smi, amd-smi process) and end it; see hosts_idle; of the pod's own load lower its sizes.",
    ),
    RankError(
        r"uncorrectable (?:ECC|NVLink)|unspecified launch failure|GPU is lost|fallen off the bus|cudaErrorECCUncorrectable|cudaErrorHardwareStackError",
        True,
        "The rank's GPU or its NVLink failed while it computed.",
        "Look for an Xid in the kernel's log, drain the host, reset the GPU and run the vendor's diagnostics; replace it where it comes back.",
    ),
    RankError(
        r"Duplicate GPU detected",
        False,
        "Two ranks use the same GPU: each process sees one GPU and takes number 0, or the launcher started more ranks on a host than it has GPUs.",
        "Give each task all GPUs of its host (srun without --gpus-per-task, --gpu-bind=none), or let each rank take the one that it was given; compare the "
        "ranks of each host with its GPUs.",
    ),
    RankError(
        r"XML Import|[Xx]ml\.cc|NCCL_(?:GRAPH|TOPO)_FILE|Could not find (?:NET|GPU)\b.*(?:id|topology|rank)",
        True,
        "NCCL reads a graph or topology file that is not of this machine: NCCL_GRAPH_FILE or NCCL_TOPO_FILE of the environment, the image or /etc/nccl.conf.",
        "Remove NCCL_GRAPH_FILE, which is for experiments; let NCCL_TOPO_FILE name the file of this kind of machine, or remove it; see nccl_runtime.",
    ),
    RankError(
        r"no (?:CUDA|ROCm)-capable device|[Ff]ound no NVIDIA driver|invalid device ordinal|CUDA unknown error|No HIP GPUs|busy or unavailable",
        True,
        "The ranks do not see the host's GPUs, or may not use them: the container or job has fewer, their device files are missing, or they are exclusive.",
        "Run nvidia-smi -L (rocminfo) inside the job; look at the container's GPU option, the scheduler's cgroup, CUDA_VISIBLE_DEVICES and compute mode.",
    ),
    RankError(
        r"no kernel image is available|hipErrorNoBinaryForGpu|invalid device function",
        True,
        "The image has no code for this kind of GPU.",
        "Use a build of PyTorch and NCCL or RCCL for the GPU's architecture.",
    ),
    RankError(
        r"(?i)ncclNvls|nvls\.cc|cuMulticast\w*|multicast (?:object|memory)",
        True,
        "NCCL could not set up NVLS, the multicast of NVSwitches: fabric manager, driver and NCCL do not fit, or an earlier job still uses its resources.",
        "Compare the fabric manager's version with the driver's and reboot the host without a job; NCCL_NVLS_ENABLE=0 shows whether the rest is in order.",
    ),
    RankError(
        r"no socket interface found|No interface found|Bootstrap : no ",
        True,
        "NCCL found no interface for its first connections: NCCL_SOCKET_IFNAME names one that this host or its container does not have.",
        "Compare NCCL_SOCKET_IFNAME with ip address inside the job; set it to the interface that all hosts have, or remove it.",
    ),
    RankError(
        r"local GID fe80",
        True,
        "NCCL sends with the GID of a link-local address (fe80::), which no switch routes: NCCL_IB_GID_INDEX or the order of GIDs is wrong here.",
        "Compare show_gids with pod_gid_index; remove NCCL_IB_GID_INDEX, or set it to the RoCE v2 GID of the rail's address; see gid_index of layer 0.",
    ),
    RankError(
        r"ibv_modify_qp\b.*No such device",
        True,
        "The rank's container has the RDMA device and not the netdev of its GID: the two are in different network namespaces.",
        "Give the container the netdev beside its device (host network, SR-IOV or macvlan with the RDMA CNI, rdma system set netns exclusive), and compare "
        "show_gids inside it with the host's.",
    ),
    RankError(
        r"ibv_modify_qp\b.*failed",
        False,
        "A queue pair did not reach its partner: no route between the two GIDs that the error names (rails without a route between each other, another GID "
        "index or family), or the partner's port is down.",
        "Ping from the local GID's address to the remote one's. On different rails NCCL_CROSS_NIC=0 keeps each rail to itself; else compare show_gids of both "
        "hosts with pod_gid_index.",
    ),
    RankError(
        r"[Gg]ot completion .*(?:status=12|error 12)\b|transport retry counter",
        False,
        "Packets of a queue pair, or their acknowledgements, were lost until its retries were used up: the path or the partner's port failed.",
        "Look at the peer and NIC that the error names, at link flaps and drops on the way at that time, and at the same pair in layer 4.",
    ),
    RankError(
        r"(?i)connect to \S+ ?(?:<\d+>)? ?failed|socketStartConnect|connection refused|no route to host",
        False,
        "A rank could not connect to the address that another one announced: NCCL_SOCKET_IFNAME or the order of interfaces chose one that other hosts do not "
        "reach (docker0, a private network), or a firewall refuses the connection.",
        "See which host has the address of the error, set NCCL_SOCKET_IFNAME there to the interface that all hosts share, and compare firewalls.",
    ),
    RankError(
        r"TCPStore|client socket has timed out|failed to connect to .*(?:MASTER|master)|The server socket has failed",
        False,
        "The ranks did not meet at the first host: its name or address is not reached from here, its port is refused or in use.",
        "Try the address and port of the error from this host; see pod_bootstrap_address, name resolution and the firewall of the first host.",
    ),
    RankError(
        r"ModuleNotFoundError|ImportError|cannot open shared object file|undefined symbol",
        True,
        "The program lacks a library or module on this host: another image, Python or LD_LIBRARY_PATH than on the others.",
        "Start the command of the evidence by hand on this host, and give all hosts the same image.",
    ),
)
UNKNOWN_CAUSE = "A rank ended with the error that is printed, which says nothing about the network or the GPUs."
UNKNOWN_FIX = "Follow the error; where its text only points to another rank, look at the rank that ended first, and at NCCL's log of the run."


def known_error(text: str | None) -> RankError | None:
    """What is known of an error's text; None where nothing is."""
    return next((one for one in RANK_ERRORS if re.search(one.pattern, text or "")), None)


def explained(text: str | None) -> tuple[str, str]:
    """Cause and fix of an error."""
    known = known_error(text)
    return (known.cause, known.fix) if known else (UNKNOWN_CAUSE, UNKNOWN_FIX)


def end_by_error(text: str) -> HostEnd:
    """The end of a run on a host by an error."""
    return HostEnd(text, *explained(text))


def is_own(text: str | None) -> bool:
    """Whether an error arises within the rank's own host."""
    known = known_error(text)
    return known is not None and known.own
