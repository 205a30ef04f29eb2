# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of ranks whose host or job has no more of something: locked or shared memory, queue pairs, files, processes, locks."""

from __future__ import annotations

from .types import RankError

OOM = r"oom[_-]kill|OOM[ -]?Killed|Out [Oo]f [Mm]emory: Killed"
OOM_CAUSE = "The kernel killed tasks of the job for want of memory: the limit of the job or of its container, or the host's memory, was used up."
OOM_FIX = (
    "Look at the memory that the job was given (scontrol show job, --mem=0 for all of the host's), at oom-kill in the kernel's log of the host, and at "
    "what else runs there."
)
# The first that matches is the one: what is specific stands before what follows from it.
LIMIT_ERRORS: tuple[RankError, ...] = (
    RankError(OOM, True, OOM_CAUSE, OOM_FIX),
    RankError(
        r"\binotify\b.*(?:limit|No space left|Too many open files)|\binotify_(?:init|add_watch)",
        True,
        "The user's processes on this host watch as many files, or have as many watchers, as the kernel lets them (fs.inotify.max_user_watches, "
        "max_user_instances). No space left on device is of that then, and of no disk.",
        "Compare sysctl fs.inotify on this host with another one's and raise it; end what earlier jobs left there.",
    ),
    RankError(
        r"ibv_reg_(?:dmabuf_)?mr\w*\b.*Cannot allocate memory|[Uu]nable to register memory",
        True,
        "The rank's host refuses to register memory for RDMA: the job's limit of locked memory is too low, the host has too little memory left, or the NIC has "
        "no more memory keys, which its kernel's log then has (CREATE_MKEY, status limits exceeded).",
        "Run ulimit -l inside the job and set it to unlimited: LimitMEMLOCK=infinity of slurmd, sshd or the container runtime, --ulimit memlock=-1 of a "
        "container; then compare the host's free memory, its kernel's log and rdma resource show mr with a good host's.",
    ),
    RankError(
        r"ibv_reg_(?:dmabuf_)?mr\w*\b.*(?:failed|error)",
        True,
        "The host's RDMA driver refuses to register GPU memory: by DMA-BUF where kernel, NIC driver or GPU driver do not have it, or by nvidia_peermem "
        "where that is missing or does not fit.",
        "Compare kernel, RDMA and GPU driver with a good host's; load nvidia_peermem after the RDMA driver (gpudirect_available of layer 0). "
        "NCCL_DMABUF_ENABLE=0 keeps to nvidia_peermem, NCCL_NET_GDR_LEVEL=LOC shows whether the rest is in order.",
    ),
    RankError(
        # Older NCCL says no more than that it failed.
        r"ibv_create_(?:qp|cq|srq)\w*\b.*(?:Cannot allocate memory|failed(?! with))",
        True,
        "The rank's host refuses a queue pair or completion queue: the job's limit of locked memory is too low, or the NIC has no more of them.",
        "Run ulimit -l inside the job and set it to unlimited; then look for processes that use queue pairs (rdma resource show) and at the kernel's log.",
    ),
    RankError(
        r"ibv_open_device\b.*Cannot allocate memory",
        True,
        "The NIC has no user access region left for this process: ranks of this or another job hold them all, or its firmware is set to give few of them.",
        "Look at the kernel's log (ALLOC_UAR, status limits exceeded) and at rdma resource show; start fewer ranks on the host, or raise PF_LOG_BAR_SIZE "
        "(mlxconfig) and boot.",
    ),
    RankError(
        r"DataLoader worker .*killed by signal: Killed",
        True,
        "A worker that loads data was killed (signal 9): the kernel or the job's limit of memory did that where the workers use up the memory of the host, or "
        "someone ended it.",
        "Look for oom-kill in the kernel's log of that time and at memory.max and memory.events of the job's cgroup; lower num_workers or prefetch_factor, or "
        "give the job more memory.",
    ),
    RankError(
        r"DataLoader worker .*exited unexpectedly with exit code",
        True,
        "A worker that loads data ended itself with the status in the line: the program, or a library that it loads data with, and no signal.",
        "Read what the worker printed before this line; run the program with num_workers=0 and the same data, which shows the error itself.",
    ),
    RankError(
        r"insufficient shared memory|DataLoader worker .*(?:Bus error|killed by signal|exited unexpectedly)",
        True,
        "A worker that loads data was killed: the host or container has too little shared memory in /dev/shm, or too little memory. One that exited may also "
        "have had an error of its own, which it printed before.",
        "Start the container with --shm-size=16g or --ipc=host (Kubernetes: emptyDir with medium Memory at /dev/shm); then look for oom-kill in the "
        "kernel's log.",
    ),
    RankError(
        r"attaching to shared memory segment \S+ \(size 0\)|ncclCuMemHostEnable",
        True,
        "The ranks of this host do not share its memory in one way: the driver gives memory of some NUMA nodes and not of others (a NUMA node without memory "
        "or without CPUs, an affinity of the container), so that a rank takes another one's handle for a file's name, or crashes while it tries.",
        "NCCL_CUMEM_HOST_ENABLE=0 lets all ranks use /dev/shm; look at numactl --hardware, populate all memory channels or set one NUMA node a socket in the "
        "BIOS, compare what CPUs and nodes the job's cgroup has, and update the GPU driver.",
    ),
    RankError(
        r"attaching to shared memory segment .*No such file",
        True,
        "The ranks of this host do not see each other's segments of /dev/shm: each is in a container or namespace of its own, or something removed them.",
        "Give all ranks of a host one container, or start them with --ipc=host; look for what clears /dev/shm (RemoveIPC of systemd-logind, an epilogue).",
    ),
    RankError(
        r"shared memory segment|/dev/shm\b|failed to allocate receive FIFO|uct_iface_open\((?:posix|sysv)\b",
        True,
        "The rank's host or container has too little shared memory for the segments of NCCL or MPI in /dev/shm; a container's default is 64 MB.",
        "Start the container with --shm-size=16g or --ipc=host (Kubernetes: emptyDir with medium Memory at /dev/shm); remove what earlier jobs left there.",
        worded=True,
    ),
    RankError(
        r"unable to mmap \d+ bytes\b.*Cannot allocate memory",
        True,
        "The process has as many maps of memory as the kernel lets one have (vm.max_map_count): its loaders hand it each tensor as a file of shared memory. "
        "Cannot allocate memory is of that then, and of no memory that is short.",
        "Compare sysctl vm.max_map_count of this host with another one's and raise it (such as to 1048576), and count the lines of /proc/PID/maps; let loaders "
        "hand over fewer and larger tensors.",
    ),
    RankError(
        r"[Tt]oo many open files in system|\bENFILE\b",
        True,
        "All processes of the host together have as many files open as its kernel lets them (fs.file-max).",
        "Compare /proc/sys/fs/file-nr and fs.file-max of this host with another one's, see who has them open (lsof), and raise fs.file-max.",
    ),
    RankError(
        # Python receives a file from another process, and its limit has no number left for it.
        r"[Tt]oo many open files|\bEMFILE\b|\d items of ancdata",
        True,
        "The job's limit of open files on the rank's host is too low for the connections to all of its peers; it shows with many ranks first.",
        "Run ulimit -n inside the job and raise it as on the other hosts (LimitNOFILE of slurmd, sshd or the container runtime, docker's --ulimit nofile).",
    ),
    RankError(
        r"\bmlock(?:all|2)?\b.*(?:Resource temporarily unavailable|Cannot allocate memory|Operation not permitted|fail)",
        True,
        "The process may not lock the memory that it asked for: the job's limit of locked memory is too low on the rank's host.",
        "Run ulimit -l inside the job and set it to unlimited: LimitMEMLOCK=infinity of slurmd, sshd or the container runtime, --ulimit memlock=-1 of a "
        "container.",
    ),
    RankError(
        r"\bio_(?:setup|queue_init)\b",
        True,
        "The kernel has no asynchronous request (libaio) left for this process: programs of the host hold fs.aio-max-nr of them together.",
        "Compare /proc/sys/fs/aio-nr with /proc/sys/fs/aio-max-nr on this host; raise it (sysctl fs.aio-max-nr=1048576), and end what earlier jobs left there.",
        worded=True,
    ),
    RankError(
        r"unable to lock file|\b(?:flock|lockf|fcntl)\b.*(?:Resource temporarily unavailable|No locks available|Function not implemented)",
        True,
        "The file that the line names could not be locked on this host: another process holds it, or the file system is mounted without locks here.",
        "Find who holds it (lslocks, fuser -v); compare the mount's options with another host's (findmnt -T: flock of Lustre, nolock of NFS); where files are "
        "only read, HDF5_USE_FILE_LOCKING=FALSE leaves HDF5's locks out.",
    ),
    RankError(
        r"pthread_create\b.*fail|Thread creation failed|start new thread|\b(?:v?fork|clone3?)\b.*Resource temporarily unavailable",
        True,
        "The job's limit of processes and threads is too low on the rank's host (ulimit -u, TasksMax of the unit, or the container's limit of processes).",
        "Run ulimit -u inside the job and look at pids.max of its cgroup; raise LimitNPROC and TasksMax of slurmd or the container runtime "
        "(docker's --pids-limit, podPidsLimit of the kubelet), and end what earlier jobs left there.",
    ),
)
