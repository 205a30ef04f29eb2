# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages with which schedulers, Ray and Kubernetes end a job or lose a host of it, and with which ssh does not reach one."""

from __future__ import annotations

from .types import LauncherError

# The first that matches is the one.
ENDED_JOBS: tuple[LauncherError, ...] = (
    LauncherError(
        r"killed due to the node running low on memory",
        "Ray killed a worker since the memory of its host was nearly used up: by the workers there, what they have in Ray's object store, or other processes. "
        "The line with IP names the host; who prints it only waited for the worker.",
        "On that host look at free -g, at what Ray lists as its largest processes below that line and at /dev/shm; give the workers fewer loaders or the host "
        "fewer workers; RAY_memory_usage_threshold only moves the time of it.",
    ),
    LauncherError(
        r"actor is dead because its node has died|marked dead because the detector has missed",
        "Ray lost the node on which a worker ran: the host was lost, its raylet ended, or its heartbeats did not come in time. The line before it with ip "
        "names the host; who prints it only waited for the worker.",
        "On the host with that ip look at uptime, at the end of raylet.out and gcs_server.out below /tmp/ray/session_latest/logs and at its kernel's log "
        "(oom-kill, Xid); compare ray list nodes with the hosts of the job.",
    ),
    LauncherError(
        r"actor is dead because its worker process has died",
        "The process of a worker of Ray ended without an error of the program: it was killed for want of memory, crashed, or was ended by ray stop. The line "
        "before it with ip names its host; who prints it only waited for the worker.",
        "On the host with that ip look at oom-kill, segfault and Xid in its kernel's log of that time, at the worker's own log below "
        "/tmp/ray/session_latest/logs, and at the memory limit of its container.",
    ),
    LauncherError(
        r"DUE TO PREEMPTION",
        "Slurm ended the job to give its nodes to another one of higher priority (preemption).",
        "See sacct -j of the job and the priority and PreemptMode of its partition and QOS; let the program save at the signal that comes before (--signal), "
        "and run it where it is not preempted.",
    ),
    LauncherError(
        r"PBS: job killed: walltime\b|TERM_RUNLIMIT|DUE TO TIME LIMIT",
        "The scheduler ended the job, since its time was up.",
        "Give the job more time (--time of Slurm, walltime of PBS, -W of LSF, the queue's limit), and see why it took longer than before: compare its steps.",
    ),
    LauncherError(
        r"TERM_(?:MEMLIMIT|SWAP)\b",
        "LSF ended the job, since it used more memory than it may.",
        "Compare Max Memory of its report with its limit (bsub -M, rusage[mem], the queue's limit) and with free -g of its hosts; see whether LSF counts it by "
        "host or by job (LSB_JOB_MEMLIMIT, LSB_MEMLIMIT_ENFORCE).",
    ),
    LauncherError(
        r"TERM_[A-Z_]+: ",
        "LSF ended the job for the reason in the line: a job of higher priority, the end of the queue's window, its load or another limit, or an operator.",
        "See bhist -l and bjobs -l of the job for who ended it and when, and the limits and windows of its queue (bqueues -l).",
    ),
    LauncherError(
        r"was low on resource|Pod was evicted|ephemeral.?storage usage exceeds",
        "Kubernetes evicted a pod of the job from its node, which was short of what the line names: its disk for images and files of containers "
        "(ephemeral-storage), or memory.",
        "See kubectl describe of that pod and node; look for what fills /var/lib/containerd and /var/lib/kubelet there, give the pod a request for it, and "
        "write checkpoints and caches to another volume.",
        speaker=True,
    ),
    LauncherError(
        r"ssh: connect to host|kex_exchange_identification|Connection to \S+(?: \(\S+\))? (?:closed by remote host|timed out)|"
        r"ssh exited with exit code 255|was not reachable via ssh",
        "The launcher does not reach sshd of another host, or lost it: that host is down, booted or hangs, its name leads to another address, a firewall drops "
        "the port, or sshd has too many logins at once (MaxStartups).",
        "On the host that the line names look at uptime, sshd's log and its kernel's log of that time; try ssh to it by hand from the launcher's host, and "
        "raise MaxStartups where many logins begin together.",
        speaker=True,
    ),
)
