# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of ranks that arise within their own host: limits, images, containers, GPUs and their drivers."""

from __future__ import annotations

from .call_errors import RETRIES, RETRIES_CAUSE, RETRIES_FIX
from .container_errors import CONTAINER_ERRORS
from .limit_errors import LIMIT_ERRORS
from .program_errors import PROGRAM_ERRORS
from .types import RankError

# The first that matches is the one: what is specific stands before what follows from it.
HOST_ERRORS: tuple[RankError, ...] = (
    RankError(
        r"local=\[?(?:127\.|::1\b)|[Uu]nable to resolve hostname to a \(local\) address|loopback address as fallback",
        True,
        "The ranks of this host meet the others at its loopback address: its own name leads there (127.0.0.1 or 127.0.1.1 in /etc/hosts) or to no address of "
        "it, and no variable names an interface.",
        "Let the host's name lead to its address (getent hosts $(hostname), /etc/hosts inside the container), or set GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME "
        "to the interface that all hosts share.",
        worded=True,
    ),
    *CONTAINER_ERRORS,
    *LIMIT_ERRORS,
    RankError(
        r"accessing SQLite database|\bmiopen\S*u(?:f|p)?db\b",
        True,
        "MIOpen could not use the database of convolutions that it keeps in the user's home (~/.config/miopen, ~/.cache/miopen): the file system there does "
        "not lock files on this host, is full or read-only, or ranks of several hosts write one file at once.",
        "Let each host have its own on a local disk (MIOPEN_USER_DB_PATH and MIOPEN_CUSTOM_CACHE_DIR, such as below /tmp); compare the mount's options of the "
        "home with another host's (findmnt -T: flock of Lustre, nolock of NFS), df and quota there.",
    ),
    RankError(
        r"RequestTimeTooSkewed|Clock skew too great|KRB_AP_ERR_SKEW|Signature not yet current|Request date header too old|certificate is not yet valid|"
        r"in a reasonable timeframe",
        True,
        "A service refused this host for the time that its request or its certificate has: the clock of this host is minutes apart from the service's, or the "
        "request waited here that long before it was sent.",
        "Compare the clock with another host's (date -u, chronyc tracking, timedatectl) and start its time service (chronyd, systemd-timesyncd, ntpd); where "
        "it is right, let the program ask for fewer files at once.",
    ),
    RankError(
        r"stub library|CUDA_ERROR_STUB_LIBRARY",
        True,
        "The loader finds the stub of the driver's library, which is for linking alone: LD_LIBRARY_PATH of the image or job leads to CUDA's directory stubs.",
        "Remove every directory stubs from LD_LIBRARY_PATH and ld.so.conf of the image, and compare ldconfig -p | grep libcuda inside the job with "
        "the driver's own libcuda.so.1, which the container toolkit mounts.",
    ),
    RankError(
        r"CUDA_ERROR_NOT_PERMITTED|[Cc]uda failure .*operation not permitted|cuMem(?:Create|Import)\w*.*not permitted",
        True,
        "CUDA refuses memory that is shared between processes or, over NVLink, between hosts: the job's container has no IMEX channel "
        "(/dev/nvidia-caps-imex-channels), nvidia-imex does not run, or the container lacks the privileges.",
        "Give the container /dev/nvidia-caps-imex-channels/channel0 (Kubernetes: a ComputeDomain; enroot and docker: NVIDIA_IMEX_CHANNELS=0), see "
        "imex_ready of layer 0, and try --cap-add SYS_PTRACE; NCCL_MNNVL_ENABLE=0 and NCCL_CUMEM_ENABLE=0 show whether the rest is in order.",
    ),
    RankError(
        r"No HIP GPUs|/dev/kfd|hipError(?:NoDevice|InvalidDevice)",
        True,
        "The ranks do not see the host's AMD GPUs, or fewer than there are ranks: their container has no /dev/kfd and /dev/dri, or not all of it, its user is "
        "not in the groups that own them (render, video), or a variable (HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES) hides some.",
        "Run rocminfo inside the job; start the container with --device /dev/kfd --device /dev/dri --group-add video --group-add render (by the "
        "host's numbers), and compare ls -ln /dev/kfd /dev/dri with a good host's.",
        worded=True,
    ),
    RankError(
        r"(?:initialize NVML|nvmlInit\w*\(\) failed): Unknown Error",
        True,
        "The job's container has lost the devices of its GPUs, which the host still has: its cgroup was written again without them, as a reload of systemd "
        "does (systemctl daemon-reload, an update of packages).",
        "Start the container again; name the devices of the GPUs for it (--device /dev/nvidia0 and so on, or CDI), or let the runtime use cgroupfs; compare "
        "nvidia-smi -L inside it with the host's.",
    ),
    RankError(
        r"driver version is insufficient|CUDA Driver version found is|CUDA_ERROR_(?:SYSTEM_DRIVER_MISMATCH|COMPAT_NOT_SUPPORTED_ON_DEVICE)|"
        r"cudaErrorInsufficientDriver|"
        r"NVIDIA driver on your system is too old|forward compatibility was attempted|unsupported display driver / cuda driver",
        True,
        "The host's GPU driver is too old for the CUDA of the image that the ranks run in.",
        "Update the host's driver to the version of the others (software_uniform), or use an image, or CUDA's compatibility package, for this driver.",
    ),
    RankError(
        r"system not yet initialized|cudaErrorSystemNotReady|CUDA_ERROR_SYSTEM_NOT_READY",
        True,
        "CUDA refuses GPUs whose NVSwitch fabric is not set up: the fabric manager does not run, or is of another version than the driver.",
        "Look at systemctl status nvidia-fabricmanager and its log, install it in the driver's version, start it, and see fabric_state of layer 0.",
    ),
    RankError(
        r"Tried to allocate (?:more than 1EB|[\d.]+ (?:P|E)i?B)",
        False,
        "The rank asked for more memory than any host or GPU has: it took a size from data that it had never received, since the collective that should have "
        "brought it timed out or was aborted.",
        "Look at the rank that others waited for, and at the collective that timed out first; this one says nothing about its own GPU.",
        follows=True,
    ),
    RankError(
        r"(?i)(?:CUDA|HIP)\b.*out of memory|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|hipErrorOutOfMemory",
        True,
        "The GPU has too little free memory: another process, one left over from an earlier job, or the rank's own program uses it.",
        "List what uses the GPU's memory (nvidia-smi, amd-smi process); end what is not of this job (hosts_idle), or lower the program's sizes.",
    ),
    RankError(
        r"(?<!\b0 )uncorrectable (?:ECC|NVLink)(?! errors?: 0)|Invalid access of peer GPU memory|"
        r"CUDA_ERROR_(?:ECC_UNCORRECTABLE|NVLINK_UNCORRECTABLE|CONTAINED|LAUNCH_FAILED|HARDWARE_STACK_ERROR)|hipError(?:LaunchFailure|ECCNotCorrectable)|"
        r"unspecified launch failure|GPU is lost|GPU requires reset|corrupted infoROM|fallen off the bus|cudaErrorECCUncorrectable|cudaErrorHardwareStackError",
        True,
        "The rank's GPU or its NVLink failed while it computed.",
        "Look for an Xid in the kernel's log, drain the host, reset the GPU and run the vendor's diagnostics; replace it where it comes back.",
    ),
    RankError(
        r"Failed to (?:CUDA|HIP) [mc]alloc",
        True,
        "NCCL got no memory of the rank's GPU: the program itself, another process or one left over from an earlier job has it; or an earlier error of the GPU "
        "is reported so, which NCCL's warning before this one has then.",
        "List what uses the GPU's memory (nvidia-smi, amd-smi process); end what is not of this job (hosts_idle), or leave NCCL some hundred MB for each "
        "communicator; NCCL_DEBUG=WARN prints the warning before this one.",
    ),
    RankError(
        r"P2P is disabled between NVLINK connected GPUs",
        True,
        "Two GPUs of the host are joined by NVLink, and its driver lets neither access the other one's memory: an NVLink that failed or was not trained, a "
        "fabric that is not set up, or a GPU that lacks a reset.",
        "Compare nvidia-smi topo -p2p r and nvidia-smi nvlink -s with a good host's; look for Xid 74 and 149 in the kernel's log and at the fabric manager; "
        "reset the GPUs or boot the host. NCCL_IGNORE_DISABLED_P2P=1 only hides it.",
    ),
    RankError(
        r"Unable to use GIN: Peermem is not supported|requires DMABUF support with GIN",
        True,
        "Kernels of the program cannot send by themselves (GIN) on this host: neither nvidia_peermem is loaded there nor does its kernel, NIC driver or GPU "
        "driver have DMA-BUF.",
        "Load nvidia_peermem after the RDMA driver, or compare kernel (6.1 or later), RDMA and GPU driver with a good host's (gpudirect_available of layer 0).",
    ),
    RankError(
        r"Duplicate GPU detected",
        False,
        "Two ranks use the same GPU: each process sees one GPU and takes number 0, or the launcher started more ranks on a host than it has GPUs.",
        "Give each task all GPUs of its host (srun without --gpus-per-task, --gpu-bind=none), or let each rank take the one that it was given; compare the "
        "ranks of each host with its GPUs.",
    ),
    RankError(
        r"XML (?:Import|Parse)|[Xx]ml\.cc|NCCL_(?:GRAPH|TOPO)_FILE\b(?!=| set by environment)|Could not find (?:NET|GPU)\b.*(?:id|topology|rank)",
        True,
        "NCCL reads a graph or topology file that is damaged or not of this machine: NCCL_GRAPH_FILE or NCCL_TOPO_FILE of the environment, the image or "
        "/etc/nccl.conf, or a guest's own (/var/run/nvidia-topologyd/virtualTopology.xml).",
        "Remove NCCL_GRAPH_FILE, which is for experiments; let NCCL_TOPO_FILE name the file of this kind of machine, or remove it; see nccl_runtime.",
    ),
    RankError(
        r"HW Exception by GPU|reason ?:\s?GPU Hang",
        True,
        "A GPU hang: the rank's GPU did not go on with its work, and ROCm's runtime aborted the rank (signal 6).",
        "Look in the kernel's log of that time for amdgpu (ring timeout, GPU reset, RAS); compare driver and firmware with another host's, run the vendor's "
        "diagnostics, and replace the GPU where it hangs again.",
    ),
    RankError(
        r"no (?:CUDA|ROCm)-capable device|No CUDA GPUs are available|[Ff]ound no NVIDIA driver|invalid device ordinal|Invalid device id|CUDA unknown error|"
        r"busy or unavailable|"
        r"CUDA_ERROR_(?:NO_DEVICE|INVALID_DEVICE|DEVICE_UNAVAILABLE)|cudaErrorDevicesUnavailable",
        True,
        "The ranks do not see the host's GPUs, or may not use them: the container or job has fewer, their device files are missing, or they are exclusive.",
        "Run nvidia-smi -L (rocminfo) inside the job; look at the container's GPU option, the scheduler's cgroup, CUDA_VISIBLE_DEVICES and compute mode.",
    ),
    RankError(
        r"device-side assert(?!ions)|CUDA_ERROR_ASSERT\b|cudaErrorAssert|\.(?:cu|hip)\w*:\d+: .*Assertion `",
        True,
        "A kernel of the program met what it does not accept: an index beyond its table, as of a token beyond the vocabulary or of a label beyond the classes. "
        "Data and program do that, of which this rank had its own part; memory of the GPU or of the host that changed a value does it rarely.",
        "Look at the assertion, and at what this rank read and computed in that step; run it with the same data on another host: where it fails there too it "
        "is the data or the program, and where it fails here alone look for Xid and ECC errors of this GPU.",
    ),
    RankError(
        r"illegal memory access|Memory access fault by GPU|misaligned address|illegal instruction was encountered|"
        r"CUDA_ERROR_(?:ILLEGAL_ADDRESS|ILLEGAL_INSTRUCTION|MISALIGNED_ADDRESS|INVALID_PC)|(?:cuda|hip)ErrorIllegal(?:Address|Instruction)",
        True,
        "A program on the rank's GPU accessed memory that is not its own: a fault of the image's software, or of this GPU. The kernel's log has Xid "
        "31 or 13 then (of AMD a page fault of amdgpu).",
        "Look for Xid 31 or 13 or a page fault of that GPU in the kernel's log; run the layer again: where it is this GPU each time, run the vendor's "
        "diagnostics, and where it is any GPU, use another build of PyTorch and NCCL.",
    ),
    RankError(
        r"peer access is not supported|cudaErrorPeerAccessUnsupported|CUDA_ERROR_PEER_ACCESS_UNSUPPORTED|hipErrorPeerAccessUnsupported",
        True,
        "A GPU of the host may not access another one's memory, which the library relied on: peer access is off (ACS, IOMMU, a virtual machine, MIG), or the "
        "GPUs that the job was given are not joined.",
        "Compare nvidia-smi topo -p2p r with a good host's; see peer_to_peer, acs_as_expected and iommu_as_expected; NCCL_P2P_DISABLE=1 shows whether the rest "
        "is in order.",
    ),
    RankError(
        r"found NaN in local grad norm|Unexpected result (?:nan|inf|tensor\()",
        True,
        "This rank alone found NaN in its own gradients, before any were exchanged: its batch or its numbers were out of range, or its GPU computed wrongly.",
        "Train the same steps again from the last checkpoint: where NaN comes to the same rank's GPU, take the host out and run the vendor's GPU diagnostics; "
        "where it comes with the same batch, look at the data and the learning rate.",
    ),
    RankError(
        r"PytorchStreamWriter failed|failed writing file|\] \. unexpected pos \d+ vs \d+|basic_ios::clear: iostream error|\[Errno (?:28|122)\]",
        True,
        "The host could not write a file of the program, such as a checkpoint: its file system has no space or inodes left, a quota is used up, or the storage "
        "refused the write.",
        "Look at df, df -i and the quota of the path on this host, and at its client of the storage in the kernel's log of that time; try "
        "checkpoints again where they fail once.",
    ),
    RankError(
        r"no kernel image is available|TensileLibrary\S*|invalid kernel file|CUDA_ERROR_(?:NO_BINARY_FOR_GPU|UNSUPPORTED_PTX_VERSION)|unsupported toolchain|"
        r"hipErrorNoBinaryForGpu|invalid device function",
        True,
        "The image has no code for this kind of GPU.",
        "Use a build of PyTorch and NCCL or RCCL for the GPU's architecture.",
    ),
    RankError(
        r"(?i)ncclNvls|nvls\.cc|cuMulticast\w*|multicast (?:object|memory)",
        True,
        "NCCL could not set up NVLS, the multicast of NVSwitches: fabric manager, driver and NCCL do not fit, or an earlier job still uses its resources.",
        "Compare the fabric manager's version with the driver's and reboot the host without a job; NCCL_NVLS_ENABLE=0 shows whether the rest is in order.",
        worded=True,
    ),
    RankError(
        r"(?:[Cc]ompletion .*|[Ff]ailed )(?:status=|error |status )4\b|vendor err 81\b|local protection error|Local protection on ",
        True,
        "The host's NIC may not access the memory that it was told to: ACS on PCIe bridges or the IOMMU redirects what it reads from its GPU, or "
        "the BIOS places the GPU's memory where the NIC does not reach it.",
        "See acs_as_expected and iommu_as_expected of layer 0 and turn ACS off on the bridges between NIC and GPU (BIOS, setpci); "
        "NCCL_NET_GDR_LEVEL=LOC shows whether the rest is in order; then compare the BIOS (MMIO base, PCIe ordering) with a good host's.",
    ),
    RankError(
        r"failed to (?:listen|bind)|EADDRINUSE|Address already in use",
        True,
        "The port at which the ranks meet is in use on this host: a process of an earlier job is left over, another job took it, or the system gave it to a "
        "connection that goes out.",
        "Find who holds the port of the error (ss -tanp) and end it where it is of an earlier job; see hosts_idle; else choose another port, and none within "
        "sysctl net.ipv4.ip_local_port_range, of which the system takes any (or reserve it: net.ipv4.ip_local_reserved_ports).",
    ),
    RankError(
        r"gai error|getaddrinfo|Name or service not known|[Tt]emporary failure in name resolution",
        True,
        "This host does not resolve a name that the program uses: that of the host where the ranks meet, or of a service outside (data, models, logs).",
        "Compare /etc/hosts, resolv.conf and DNS of this host (getent hosts NAME) with those of the others; or set pod_bootstrap_address to an address.",
        worded=True,
    ),
    RankError(
        r"(?:Unable|[Cc]ould not|[Ff]ailed) to open (?:device )?(?:mlx|bnxt|ionic|irdma|rocep|uverbs)|ibv_open_device",
        True,
        "The container or job may not open this NIC: its device file /dev/infiniband/uverbsN is missing or refused, or the image's driver does not fit.",
        "Compare ls -l /dev/infiniband and ibv_devinfo inside the container with the host's; give it every rail's device (--device /dev/infiniband, "
        "the RDMA device plugin).",
        worded=True,
    ),
    RankError(
        r"ifa != nullptr|\bUnable to find address for: ",
        True,
        "Gloo, with which PyTorch and Horovod connect their processes over TCP, found no interface of the name in the line with an address on this host: "
        "GLOO_SOCKET_IFNAME names one that the host or its container lacks, or is no name (it takes names alone, neither an address nor NCCL's ^).",
        "Compare GLOO_SOCKET_IFNAME (HOROVOD_GLOO_IFACE) with ip address inside the job; set it to the interface that this host has towards the others.",
    ),
    RankError(
        r"no socket interface found|No interface found|Bootstrap : no |Socket creation failed ?: Address family",
        True,
        "NCCL found no interface for its first connections: NCCL_SOCKET_IFNAME names one that this host or its container lacks, or the container has the "
        "loopback alone, or addresses of another family than the other hosts (NCCL_SOCKET_FAMILY).",
        "Compare NCCL_SOCKET_IFNAME with ip address inside the job; set it to the interface that all hosts have, or start the container with the host's "
        "network (--network=host).",
    ),
    RankError(
        rf"[Gg]ot completion .*(?:status=12|error 12)\b|{RETRIES}",
        False,
        RETRIES_CAUSE,
        RETRIES_FIX,
    ),
    *PROGRAM_ERRORS,
)
