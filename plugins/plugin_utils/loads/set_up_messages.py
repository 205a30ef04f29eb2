# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages of launchers for which a job's set-up is the reason: its allocation, rights and limits, and what its image or host lacks."""

from __future__ import annotations

from .types import LauncherError

# The first that matches is the one.
SET_UP_ERRORS: tuple[LauncherError, ...] = (
    LauncherError(
        r"max locked memory|\bmemlock\b",
        "The job's limit of locked memory is too low on a host for what the library of MPI gives the NIC.",
        "Run ulimit -l by the launcher on each host, since a login may have another limit; LimitMEMLOCK=infinity of slurmd, sshd or the container runtime, "
        "--ulimit memlock=-1 of a container.",
    ),
    LauncherError(
        r"Memory required by task is not available",
        "The allocation has not the memory that the step asks for: another step of the same job holds it, or the job was given less than a step takes by "
        "default (DefMemPerNode, DefMemPerCPU).",
        "See squeue --steps -j JOB for what else runs in it; give the job all memory of its nodes (--mem=0 of sbatch or salloc), or the steps beside each "
        "other --overlap or --mem each.",
    ),
    LauncherError(
        r"confirm allocation|Invalid job id specified|already (?:completing|completed)",
        "The allocation in which the launcher was to start has ended (time limit, cancelled), or SLURM_JOB_ID of its environment is left over from another.",
        "See squeue -j and sacct -j of that number; unset SLURM_JOB_ID, or take a new allocation.",
    ),
    LauncherError(
        r"Invalid job credential|credential revoked",
        "slurmd of a host does not accept the launcher's credential: its clock, or its key (munge.key, slurm.key), is another than the controller's, or the "
        "job is not its own any more.",
        "On the host that it names run munge -n | unmunge across hosts, compare its clock and the keys, and read slurmd's log.",
    ),
    LauncherError(
        r"Task launch for .*(?:Communication connection failure|Unable to connect)|Communication connection failure",
        "The launcher does not reach slurmd of a host: it is down or hangs, its port (6818) is refused by a firewall, or its name leads to another address.",
        "On the host that it names look at slurmd's service and log; try its port from the launcher's host; compare NodeAddr of scontrol show node with its "
        "address.",
    ),
    LauncherError(
        r"could not select device driver|unknown or invalid runtime name: nvidia|unresolvable CDI devices",
        "Docker or Podman of a host has no way to give GPUs to a container: the NVIDIA Container Toolkit is not installed there or not configured.",
        "Install nvidia-container-toolkit, run nvidia-ctk runtime configure (nvidia-ctk cdi generate for CDI), restart the runtime, and compare docker info "
        "with a good host's.",
    ),
    LauncherError(
        r"attempt to run as root|allow-run-as-root",
        "Open MPI refuses to start its processes as root.",
        "Start it as another user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 (Open MPI 5 also PRTE_ALLOW_RUN_AS_ROOT and its "
        "_CONFIRM) where the launcher starts.",
    ),
    LauncherError(
        r"tried to bind a (?:new )?process|binding more processes than cpus",
        "mpirun could not bind its processes to processors of a host: the job's cgroup or container has fewer than the host, or than the command asks for.",
        "Compare nproc and taskset -pc $$ inside the job with a good host's; --bind-to none shows whether the rest is in order.",
    ),
    LauncherError(
        r"sudo: (?:a password is required|a terminal is required|no tty present|sorry)|is not allowed to (?:execute|run sudo)",
        "sudo of a host asks for a password, or refuses the command, where nobody answers.",
        "Compare sudo -n -l of the user on that host with another one's, and give it the same rule (NOPASSWD).",
    ),
    LauncherError(
        r"can ?not load PMIx library|PMIx library .*(?:mismatch|not found)",
        "The launcher's plugin for PMIx does not find libpmix on a host, or finds another release than it was built with.",
        "On that host run ldd on Slurm's mpi_pmix*.so and srun --mpi=list; install the PMIx that the other hosts have.",
    ),
    LauncherError(
        r"PML \S+ cannot be selected",
        "Open MPI has not the way between its processes that it was told to take: it was built without UCX, or UCX finds no device inside the job on a host.",
        "Run ompi_info and ucx_info -d inside the job there; compare /dev/infiniband with a good host's; or leave the choice to Open MPI (no --mca pml).",
    ),
    LauncherError(
        r"configuring interconnect",
        "slurmd of a host could not prepare its interconnect for the step: the plugin of the switch (Slingshot, NVLink domains) had no resource left of "
        "earlier jobs, does not reach its daemon, or differs from the controller's.",
        "On the host that it names read slurmd's log of that time; compare SwitchType and SwitchParameters of slurm.conf on all hosts, see what steps of "
        "ended jobs still hold, and restart slurmd there.",
    ),
)
