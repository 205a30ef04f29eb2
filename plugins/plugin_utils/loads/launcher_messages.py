# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages with which launchers refuse to start ranks or end early, as a table: Slurm's, pyxis's and enroot's, Open MPI's, PALS's and ssh's."""

from __future__ import annotations

from .container_errors import CONTAINER_ERRORS
from .ended_jobs import ENDED_JOBS
from .ended_tasks import ENDED_TASKS
from .limit_errors import OOM, OOM_CAUSE, OOM_FIX
from .set_up_messages import SET_UP_ERRORS
from .types import LauncherError

# The MPI of a program speaks here: what it names of a GPU or of verbs says more.
OF_MPI = LauncherError(
    r"btl_(?:tcp|openib)|oob_tcp|\bUCX\b|pml_\w+|ucp_\w+|mtl_\w+|tl_ucp|TL_UCP|MPI_ERR_\w+|error occurred in MPI_",
    "The MPI that starts the program did not connect its own processes, before any collective of NCCL: it took an interface that all hosts have with the "
    "same address or that does not lead to the others (docker0, virbr0, a link-local one), or a NIC that it may not use.",
    "Name the interface that all hosts share: UCX_NET_DEVICES for UCX, --mca btl_tcp_if_include and oob_tcp_if_include for Open MPI's TCP (--mca pml ob1 "
    "--mca btl tcp,self keeps to it), and exclude docker0 and virbr0.",
)
# A program of nccl-tests speaks here: where the kind of error in its line is known, that says more.
OF_TESTS = LauncherError(
    r"Test (?:NCCL|RCCL|CUDA|HIP) failure",
    "The launcher started the ranks, and one of nccl-tests or rccl-tests failed on the host with whose name its line begins; the launcher then ended the "
    "others.",
    "Run the same program on that host alone, with NCCL_DEBUG=WARN; where the collection's own ranks end well, compare its NCCL and CUDA (ldd, "
    "LD_LIBRARY_PATH) with theirs and with another host's.",
)
# The first that matches is the one: what is specific stands before what follows from it.
LAUNCHER_ERRORS: tuple[LauncherError, ...] = (
    LauncherError(
        rf"{OOM}|Out Of Memory",
        OOM_CAUSE,
        OOM_FIX,
    ),
    LauncherError(
        r"\bUCX\b.*\bdevice '[^']+' is not available",
        "UCX is told to use a device that the host does not have: UCX_NET_DEVICES, or a file of settings, names NICs as they are called on another host, or "
        "the container has no /dev/infiniband.",
        "On the host that it names compare ucx_info -d and ibdev2netdev inside the job with UCX_NET_DEVICES; leave it to UCX to choose, or set the names of "
        "each host's own NICs; give all hosts the same names (udev).",
    ),
    *(LauncherError(one.pattern, one.cause, one.fix) for one in CONTAINER_ERRORS),
    *SET_UP_ERRORS,
    LauncherError(
        r"\bexits with return code = -9\b",
        "A rank of the host was killed (signal 9) without an error of the program: by the kernel for want of memory, by a scheduler at a limit, or by hand. "
        "DeepSpeed's launcher of that host then ended the others.",
        "Look for oom-kill in the kernel's log of the host that it names and at the job's limit of memory (memory.max of its cgroup): offloading and loading a "
        "checkpoint on all ranks at once take as much again for each rank.",
    ),
    LauncherError(
        r"\bexits with return code = -\d+",
        "A rank of the host was ended by a signal, of the number in the line (11 and 7 are crashes, 6 an abort of a library). DeepSpeed's launcher of that "
        "host then ended the others.",
        "Read what that rank printed before this line, and look at its host's kernel log of that time (Xid, segfault).",
    ),
    *ENDED_JOBS,
    LauncherError(
        r"terminated with exit code 137\b",
        "What the launcher had started in the pod or container of a host was killed (137 is 128 and signal 9): at its limit of memory, by an eviction, or with "
        "its host.",
        "Look at kubectl describe pod (OOMKilled, Evicted) and at oom-kill in the kernel's log of the host that it names, and give the pod more memory; see "
        "whether the host booted.",
    ),
    LauncherError(
        r"DUE TO (?:TIME LIMIT|PREEMPTION)",
        "Slurm ended the job: its time was up, or a job of higher priority took its hosts.",
        "Give the job more time (--time, the partition's limit) or a partition or quality of service that is not preempted; sacct -j has how it ended.",
    ),
    LauncherError(
        r"[Nn]ode failure on|DUE TO NODE FAILURE|NODE_FAIL",
        "Slurm's controller lost the host while the job ran: the host crashed, booted or hung, its management network was lost, or its slurmd stopped.",
        "On the host that it names look at uptime, at slurmd's service and log and the kernel's log of the boot before, and at its BMC; scontrol show node has "
        "the reason and slurmctld's log the time.",
    ),
    OF_TESTS,
    LauncherError(
        r"PMI\w*_(?:KVS_)?\w+ returned -?\d|Fatal error in P?MPI_Init",
        "The MPI that the program was built with did not get the addresses of its other ranks from the launcher that started it: the two are of different MPIs "
        "(Open MPI, MPICH, Intel MPI), or have no PMI in common.",
        "Start the program with the mpirun of the MPI that ldd shows in it, or with srun and the PMI that it has (srun --mpi=list); compare PATH and "
        "LD_LIBRARY_PATH of the launcher and the ranks.",
    ),
    LauncherError(
        r"[Cc]redential (?:has )?expired|Expired credential|Rewound credential|out of sync clocks",
        "The launcher's credential is dated in the past or future: the clock of a host, or of the controller, is wrong by minutes.",
        "Compare the clocks of all hosts and of the controller (timedatectl, chronyc), correct chrony or NTP where one is off, and restart munge there.",
    ),
    LauncherError(
        r"user namespace",
        "The host does not let jobs create user namespaces, which enroot needs for every container: their number is limited (user.max_user_namespaces), or "
        "the kernel, AppArmor or a setting of slurmd forbids them.",
        "Set user.max_user_namespaces (and user.max_mnt_namespaces) to some thousands and, on Debian and Ubuntu, kernel.unprivileged_userns_clone=1 and "
        "kernel.apparmor_restrict_unprivileged_userns=0 by sysctl; compare with enroot's requirements (enroot-check --verify) inside a job.",
    ),
    LauncherError(
        r"nvidia-container-cli|libnvidia-container|98-nvidia",
        "The container's hook for GPUs failed: the host lacks nvidia-container-cli (libnvidia-container), or its version does not fit the driver or the image.",
        "Install libnvidia-container-tools on the host that it names in the version of the others, run nvidia-container-cli info there, and look at the "
        "driver.",
        speaker=True,
    ),
    LauncherError(
        r"contact slurm controller|slurmctld|slurm_persist_conn",
        "Slurm's controller does not respond to the first host: slurmctld does not run, or its port is not reached from there.",
        "Run scontrol ping on the first host, look at slurmctld's service and log, and at SlurmctldHost, name resolution and the firewall between the two.",
    ),
    LauncherError(
        r"pmixp_|collective timeout",
        "The PMIx of the launcher's daemons did not reach each other: a firewall between the hosts, an interface that not all of them share, or a daemon "
        "that died.",
        "Allow TCP between all hosts for slurmd's children (SrunPortRange), compare PMIx's version on all hosts, and look at slurmd's log of the host that "
        "is silent.",
    ),
    LauncherError(
        r"Framework: psec|\bpsec_base\w*|PMIX_MCA_psec",
        "The PMIx of the image lacks the plugin by which the launcher's PMIx asks ranks to prove who they are (psec, such as munge): munge itself may be in "
        "order.",
        "Set PMIX_MCA_psec=native for the ranks, or install PMIx with that plugin and libmunge in the image; mount /run/munge into the container where munge "
        "is to be used.",
    ),
    LauncherError(
        r"Framework: \w+|requested component was not found",
        "The MPI or PMIx that was started lacks the component that the lines name, which a variable or file asks for, or a library that it needs: another "
        "build than the one that it was set up for.",
        "Look for what names the component (OMPI_MCA_*, PMIX_MCA_*, PRTE_MCA_*, openmpi-mca-params.conf), compare ompi_info or pmix_info inside the job with a "
        "good host's, and install the library, or name another component.",
    ),
    LauncherError(
        r"(?<!Component: )[Mm]unge|Invalid authentication credential|Protocol authentication error",
        "The launcher's requests are not accepted: munge does not run on a host, its key differs, or a clock is wrong.",
        "Run munge -n | ssh HOST unmunge to each host; start munge, give all hosts one /etc/munge/munge.key, and compare clocks.",
    ),
    LauncherError(
        r"/sys/fs/cgroup/|\bcpuset\b|could not create a cgroup|unable to (?:add pids|create cgroup)|task/cgroup",
        "slurmstepd could not put the step's tasks into their cgroup on a host: that of processors has none to give (the node has other processors than "
        "slurm.conf says, or its cgroup above has none), or the kernel has no more cgroups. No space left on device is of the cgroup then, and of no disk.",
        "On the host that it names compare slurmd -C with its line in slurm.conf, cpuset.cpus.effective along the path of the line, and /proc/cgroups; restart "
        "slurmd there after that, and remove cgroups of ended jobs.",
    ),
    LauncherError(
        r"Plugin initialization failed|Failed to invoke task plugins",
        "slurmstepd could not start one of its plugins on the host, mostly that of cgroups: it was built for another version of cgroups than the host has, or "
        "without what it needs (dbus), or a setting of cgroup.conf does not fit the host.",
        "On the host that it names read slurmd's log, which names the plugin; compare stat -fc %T /sys/fs/cgroup (cgroup2fs or tmpfs), cgroup.conf and Slurm's "
        "version and plugins (cgroup_v2.so) with a good host's.",
    ),
    LauncherError(
        r"layout tasks|distribute tasks|bind_type:|CPU binding outside|satisfy cpu bind",
        "Slurm did not find the processors on the node that the step's tasks were to be bound to: the step asks for others than its job has there (threads "
        "against cores, --cpus-per-task), or the node has other ones than slurm.conf says.",
        "Try --cpu-bind=none and the --cpus-per-task of the job for the step; compare scontrol show job -d (CPU_IDs) with slurmd -C of that node.",
    ),
    LauncherError(
        r"session_dir|mkdir was unable to create",
        "Open MPI could not make the directory of its session on a host: TMPDIR leads to a directory that is not there (such as one of the scheduler that the "
        "container lacks), is not the jobs' user's to write, or is full.",
        "Look at TMPDIR inside the job on the host that it names (ls -ld, df -h); mount it into the container, or unset it or set --mca orte_tmpdir_base "
        "(Open MPI 5: prte_tmpdir_base); remove what other users left in /tmp/ompi.*.",
    ),
    LauncherError(
        r"\b(?:orted|prted|hydra_pmi_proxy|hydra_bstrap_proxy): (?:command )?not found|(?:orted|prted|hydra_\w+): No such file",
        "The shell of a host does not find the launcher's own daemon: the MPI of the first host is not installed there, or at another path, and a login "
        "without a terminal does not read what sets PATH.",
        "Start mpirun by its full path or with --prefix, install the MPI at the same path on all hosts, and try ssh HOST which orted from the first host.",
    ),
    LauncherError(
        r"No space left on device|[Dd]isk quota exceeded",
        "The launcher found no space left on a host's disk, such as for unpacking the image or for its own files.",
        "Look at df -h of /tmp, /run and the cache of images (ENROOT_CACHE_PATH, ENROOT_DATA_PATH) on the host that it names; remove old images.",
    ),
    LauncherError(
        r"error dialing backend|:10250\b|unable to upgrade connection|container not found|Error from server|kubexec|\bkubectl\b",
        "Kubernetes did not start the launcher's daemon in the pod of a host: its API server does not reach the kubelet of that host (port 10250), or the pod "
        "or its container is not there any more (evicted, killed, not ready).",
        "Find the host with the address or pod of the line (kubectl get nodes,pods -o wide); look at kubectl describe of both, at kubelet's service and log "
        "there and at uptime, and try port 10250 from the control plane.",
        speaker=True,
    ),
    LauncherError(
        r"(?:unable|failed) to pull|pull access denied|manifest unknown|dial tcp|toomanyrequests|x509: certificate",
        "The image was not fetched on a host: its registry is not reached or not resolved there, refuses it (login, too many requests), or has no such image.",
        "Pull it by hand on that host as the same user; compare proxy, DNS and certificates with a host where it works; or fetch it once to a file system that "
        "all share.",
    ),
    LauncherError(
        r"pyxis|enroot|failed to import|container image",
        "The launcher could not start the container: its image was not fetched or unpacked on a host, or a directory, hook or mount of it failed.",
        "Import the image by hand on the host that it names (enroot import), and look at the registry's login, the proxy, and the image's name; "
        "directories must be the jobs' user's to write (ENROOT_RUNTIME_PATH, ENROOT_CACHE_PATH, ENROOT_DATA_PATH).",
        speaker=True,
    ),
    LauncherError(
        r"[Ii]nvalid (?:generic resource|Trackable RESource|feature|reservation|wckey|constraint)|"
        r"\bgres\b|(?i:more) processors requested|[Mm]emory specification|"
        r"mutually exclusive|(?i:requested) (?:node configuration|partition|time)",
        "Slurm has nothing like what the launcher asks it for: GPUs (gres.conf, GresTypes and the nodes' Gres), memory, cores, features or a partition of "
        "another size.",
        "Compare the options that the pod gives to srun with scontrol show node (Gres, RealMemory, CPUTot, Features) and show partition, and gres.conf with "
        "nvidia-smi -L of the host.",
    ),
    LauncherError(
        r"failed to allocate receive FIFO|uct_iface_open\((?:posix|sysv)\b|not enough space for \S*(?:vader|sm)_segment|shared memory initialization",
        "The MPI that starts the program found too little shared memory for its processes on one host: a container has 64 MB at /dev/shm unless it is given "
        "more, or earlier jobs left their segments there.",
        "On the host that it names look at df -h /dev/shm inside the job and at ipcs -l; start the container with --shm-size=16g or --ipc=host (Kubernetes: "
        "emptyDir with medium Memory at /dev/shm), and remove what earlier jobs left there.",
    ),
    LauncherError(
        r"[Cc]ouldn't forward RPC|[Nn]o reply from \S+ after \d+ ?s\b|shepherd died from signal",
        "PALS, which starts a job on its hosts under PBS, had no answer from its daemon (palsd) on the host that the line names as child, or lost it there: "
        "the host crashed, hangs or booted, or its management network is lost. The host that reports it only passes requests on.",
        "On that host look at uptime, palsd's service and log and the kernel's log of that time, and at what pbsnodes has of it; take it out of the job.",
    ),
    LauncherError(
        r"\brank \d+ (?:exited with code [1-9]|died from signal (?!15\b))",
        "A rank ended by itself on the host with whose name the line begins; PALS (mpiexec under PBS) then ended the others with signal 15.",
        "Read what that rank printed before this line, and look at its host's kernel log of that time (Xid, oom-kill, segfault).",
    ),
    OF_MPI,
    LauncherError(
        r"not enough slots|slots available",
        "The launcher has fewer slots than ranks were asked for: its host file, or its allocation, gives a host fewer than it has GPUs.",
        "Give each host as many slots as it has GPUs (slots=8 in the host file, --ntasks-per-node of the allocation).",
    ),
    LauncherError(
        r"node not available|down, drained or reserved|node configuration is not available|ReqNodeNotAvail|nodes? (?:is|are) DOWN",
        "The launcher gets no allocation: a node that was asked for is down, drained or reserved.",
        "Look at sinfo -R and scontrol show node for the reason, correct it and resume the node, or take the host out of the run.",
    ),
    LauncherError(
        r"[Ii]nvalid (?:account|partition|qos)|AssocMax|QOSMax|time limit",
        "The launcher's request is not allowed: the account, partition, quality of service or time limit does not fit.",
        "Compare the options that the pod gives to srun with sacctmgr show assoc and scontrol show partition.",
    ),
    LauncherError(
        r"Could not resolve hostname|Name or service not known|Temporary failure in name resolution",
        "The launcher's host does not resolve the name of another host.",
        "Compare /etc/hosts and DNS of the first host with the names of the inventory.",
    ),
    LauncherError(
        r"Host key verification failed|Permission denied \(|[Aa]uthentication fail",
        "The launcher cannot log in to another host: its host key is not known there, or its key is not accepted.",
        "Let the first host log in to each other one by ssh without a question: known_hosts, and the user's key in authorized_keys.",
    ),
    LauncherError(
        r"PMI[Xx] ERROR:? ",
        "PMIx, by which the launcher and its ranks know each other, failed for a process: it does not reach the launcher's server on its host (another release "
        "in the image), or may not write its files (TMPDIR, PMIX_SYSTEM_TMPDIR).",
        "Compare the releases of PMIx of the launcher and of the image, and TMPDIR inside the job (ls -ld, df); PMIX_MCA_gds=hash leaves shared memory out.",
    ),
    LauncherError(
        r"[Ii]nvalid MPI (?:plugin )?type|MPI plugins failed to load|PMI[Xx2]?\b.*(?:fail|not found|cannot)|plugin_load",
        "The launcher and the MPI of the image have no common way to find each other (PMIx, PMI2).",
        "Compare srun --mpi=list with the PMIx that the image was built for.",
    ),
    LauncherError(
        r"Socket timed out on send/recv|slurm_receive_msgs",
        "The launcher reached a host's slurmd and got no usable answer: its munge key differs or munge hangs, slurmd hangs or is overloaded, or a firewall "
        "drops it.",
        "On the host that it names run munge -n | unmunge across hosts (one /etc/munge/munge.key for all), look at slurmd's service and log, and try its "
        "port 6818.",
    ),
    LauncherError(
        r"daemon has unexpectedly failed|lost communication with a remote daemon|unable to complete a TCP connection|common network\s+interfaces|"
        r"failed to TCP connect to a peer",
        "A daemon of mpirun started on another host and could not connect back: they share no network interface that it chose, a firewall refuses the port, "
        "or the daemon died there.",
        "Name the interface that all hosts share (--mca oob_tcp_if_include and btl_tcp_if_include, of Open MPI 5 prte_if_include; exclude docker0 and "
        "virbr0), open the firewall between the hosts, and run the daemon's host alone.",
    ),
    LauncherError(
        r"execve|command not found|No such file or directory|could not find an executable",
        "The launcher reached the host and did not find the program there: another image, path or Python than on the first host.",
        "Run the command of the evidence by hand on the host that it names; give all hosts the same image and PATH.",
    ),
    LauncherError(
        r"step creation (?:temporarily|still) disabled|create step .*nodes are busy",
        "Another step of the same allocation has its processors, GPUs or memory, and Slurm starts none beside it: such as the shell or playbook that runs "
        "inside that step.",
        "See squeue --steps -j JOB; start with --overlap, or from outside the step (salloc alone, LaunchParameters=use_interactive_step).",
    ),
    LauncherError(
        r"unable to reliably start one or more daemons|unable to launch on|daemon failed",
        "mpirun could not start its daemon on a host: the login there failed, or the MPI or a library of it is not there or at another path.",
        "Read the lines before this one; run ssh HOST orted --version (Open MPI 5: prted) without a terminal for each host.",
    ),
    *ENDED_TASKS,
)
