# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Classes of errors by the code with which CUDA, its libraries, HIP, HSA and NVML end a call: its name or words, those of a number by ``result_numbers``."""

from __future__ import annotations

from .types import ErrorClass

_COMPARE = "compare driver, libraries and image with a good host's"
_XID = "Look for Xid (of AMD amdgpu) in the kernel's log of that time and at nvidia-smi -q (amd-smi) of that GPU; "
# The first that matches is the one.
GPU_ERRORS: tuple[ErrorClass, ...] = (
    ErrorClass(
        "MPS",
        r"\bMPS\b|Mps[A-Z]\w+",
        "The process was led to CUDA's multi-process service (MPS) and is not served: a daemon that an earlier job or the host started runs, has ended or has "
        "failed, or its pipe (CUDA_MPS_PIPE_DIRECTORY) is not in the job's container.",
        "On this host look for nvidia-cuda-mps-control and nvidia-cuda-mps-server (ps) and at the daemon's log; end it (echo quit | nvidia-cuda-mps-control) "
        "and set the compute mode back (nvidia-smi -c DEFAULT); remove CUDA_MPS_PIPE_DIRECTORY from the job, or give its container that directory and "
        "--ipc=host.",
    ),
    ErrorClass(
        "processors of a job",
        r"(?i)cpu_?affinity|sched_setaffinity|set_mempolicy|\bcpusets?\b|\bnuma_\w+|\bmbind\b|failed to bind to (?:core|socket|numa)",
        "The process may not run on the processors, or use the memory, that it is to be bound to: the cpuset of its job or container lacks those beside the "
        "GPU, or a filter of its calls (seccomp) refuses the binding.",
        "Compare taskset -cp and numactl --show inside the job with nvidia-smi topo -m; give the job the processors of both sockets (--cpuset-cpus of the "
        "container, the scheduler's cgroup, --cpu-bind=none), and the container CAP_SYS_NICE; NCCL_IGNORE_CPU_AFFINITY=1 shows whether the rest is in order.",
    ),
    ErrorClass(
        "shared GPU memory",
        r"(?:cuda|hip|cu)Ipc\w+|\bIPC\b|(?i:ipc mem ?handle)|to peer with device|cuMem(?:Import|Export|GetHandle)\w*|ShareableHandle|\bUDS\b|Proxy\w*(?:Get|"
        r"Query)Fd|CallBlockingUDS",
        "The driver did not share a GPU's memory between two processes of the host: a variable of the image (HSA_ENABLE_IPC_MODE_LEGACY), a container or "
        "namespace (IPC, PID) of its own for each rank, MIG, a virtual machine, or another process that was set up at the same moment.",
        "Compare the variables and image of this host's ranks with a good host's; give the ranks of a host one container, or --ipc=host and --pid=host; "
        "NCCL_P2P_DISABLE=1 shows whether the rest is in order.",
    ),
    ErrorClass(
        "not supported by a GPU",
        r"operation not supported|cudaErrorNotSupported|CUDA_ERROR_NOT_SUPPORTED|hipErrorNotSupported|NVML_ERROR_NOT_SUPPORTED",
        "The GPU, as this host or guest has it, or its driver does not have what the call asks for: a vGPU without unified memory (UVM) or peer access, a GPU "
        "in MIG mode, a missing nvidia-uvm, or an older driver.",
        "Compare nvidia-smi -q (Virtualization Mode, MIG Mode, driver) and ls -l /dev/nvidia-uvm inside the job with a good host's; in a guest let the "
        "hypervisor give its vGPU UVM (VMware: pciPassthruN.cfg.enable_uvm=1), or pass whole GPUs through; NCCL_CUMEM_ENABLE=0 and NCCL_NVLS_ENABLE=0 leave "
        "out what few GPUs have.",
    ),
    ErrorClass(
        "window of a GPU",
        r"mapping of buffer object failed|MAP_FAILED|cudaErrorMapBufferObjectFailed|\bBAR1\b",
        "Memory of the GPU could not be mapped for the CPU, a NIC or another GPU: its window on the PCI bus (BAR1) is too small or used up, or the IOMMU or "
        "the BIOS does not place it.",
        "Compare nvidia-smi -q -d MEMORY (BAR1) and lspci -vv of the GPU with a good host's; turn on Above 4G Decoding and Resizable BAR in the BIOS, give a "
        "guest enough 64-bit MMIO, and end processes that hold BAR1.",
    ),
    ErrorClass(
        "system below a GPU",
        r"OS call failed|cudaErrorOperatingSystem|CUDA_ERROR_OPERATING_SYSTEM",
        "A call of the operating system failed below the GPU's driver: a device file is missing or refused in the container, a filter of calls (seccomp) or a "
        "limit (open files, mappings, locked memory) refuses it, or /dev/shm is too small.",
        "Run the program once with strace -f on this host for the call; compare ls -l /dev/nvidia*, ulimit -a, df of /dev/shm, seccomp and the driver inside "
        "the job with a good host's.",
    ),
    ErrorClass(
        "start of a GPU's driver",
        r"initialization error|driver/library version mismatch|Driver/library|cudaErrorInitializationError|CUDA_ERROR_NOT_INITIALIZED|hipErrorNotInitialized|"
        r"CUDA_ERROR_UNKNOWN|(?:cuda|hip)ErrorUnknown|Uninitialized|NVML (?:is|has|finds|timed)\b|unknown error of NVML|"
        r"\b[CHch](?:UDA|uda|IP|ip)\w* (?:failure|error)\b.*unknown error",
        "The GPU's driver did not start for the process: device files are missing in its container (/dev/nvidia-uvm, /dev/nvidiactl), the library is not that "
        "of the kernel's module, a GPU is in a bad state, or the process was forked after it had used the GPU.",
        f"{_XID}run nvidia-smi and a small CUDA program inside the job and on the host, compare /proc/driver/nvidia/version with libcuda.so there, load "
        "nvidia-uvm (nvidia-modprobe -u), and in Python start workers by spawn and not by fork.",
    ),
    ErrorClass(
        "code for a GPU",
        r"symbol not found|PTX|cudaErrorSymbolNotFound|shared object initialization failed|kernel (?:image|source)|"
        r"CUDA_ERROR_(?:INVALID_IMAGE|FILE_NOT_FOUND)",
        "The library has no code that this GPU or driver takes: it was built for another CUDA or kind of GPU, or the driver is older than the toolkit.",
        f"On this host {_COMPARE}, and take a build for the GPU's architecture and the driver's CUDA (nvidia-smi); clear caches of compiled kernels.",
    ),
    ErrorClass(
        "result of a GPU",
        r"CU(?:DNN|BLAS|SOLVER|SPARSE|FFT)_(?:STATUS_)?(?:EXECUTION_FAILED|EXEC_FAILED|INTERNAL_ERROR|MAPPING_ERROR)|rocblas_status_internal|MIOPEN_?\w*Error",
        "A computation that a library gave to the GPU ended with an error: the GPU failed, its memory ran out, an operand was out of range, or an earlier "
        "error of the same GPU is reported here.",
        f"{_XID}run the step again: where it fails on this GPU each time, drain the host and run the vendor's GPU diagnostics; where on any, look at memory "
        "and inputs; CUDA_LAUNCH_BLOCKING=1 (AMD_SERIALIZE_KERNEL=3) shows which call failed first.",
    ),
    ErrorClass(
        "handle of a GPU's library",
        r"CU(?:DNN|BLAS|SOLVER|SPARSE|FFT)_(?:STATUS_)?(?:NOT_INITIALIZED|ALLOC_FAILED|ARCH_MISMATCH|VERSION_MISMATCH|SUBLIBRARY\w+|LOAD\w+|LICENSE\w+)",
        "A library of the GPU did not start: the GPU has no memory left for it, or the library, CUDA and the driver are of versions that do not fit.",
        f"See what uses the GPU's memory (nvidia-smi, fuser -v /dev/nvidia*) and end what is left over; {_COMPARE} (ldd, LD_LIBRARY_PATH, pip list).",
    ),
    ErrorClass(
        "context of a GPU",
        r"invalid (?:device|graphics|resource) (?:context|handle)|context is (?:destroyed|active)|driver shutting down|illegal state|device not ready|"
        r"(?:CUDA_ERROR_|cudaError|hipError)(?:INVALID_(?:CONTEXT|HANDLE)|CONTEXT_IS_DESTROYED|DEINITIALIZED|ILLEGAL_STATE|"
        r"Invalid(?:Context|ResourceHandle|Handle)|ContextIsDestroyed|DeviceUninitialized|Deinitialized|CudartUnloading|IllegalState)",
        "The call had no context of a GPU, or one that had ended: a library of the process had reset it or was unloaded as the process ended, a thread had "
        "chosen no GPU or another one, or an earlier error of the GPU had ended it.",
        f"Read what this rank printed before the line, and {_XID[0].lower()}{_XID[1:]}where nothing came before it, {_COMPARE} (MPI, UCX, UCC and NCCL of one "
        "CUDA), and let each process choose its GPU (cudaSetDevice, CUDA_VISIBLE_DEVICES) before MPI or NCCL begins.",
    ),
    ErrorClass(
        "peers of a GPU",
        r"peer access (?:is already|has not been) enabled|peer mapping resources|PEER_ACCESS_(?:ALREADY|NOT)|TOO_MANY_PEERS|PeerAccess(?:Already|Not)Enabled|"
        r"TooManyPeers",
        "Access between the GPUs of the host was not set up as the library took it for: the job sees other GPUs than its peers, another library of the process "
        "had set it up before, or the GPU's peers are used up.",
        "Compare CUDA_VISIBLE_DEVICES of all ranks of this host, nvidia-smi topo -p2p r inside the job and the image with a good host's; NCCL_P2P_DISABLE=1 "
        "shows whether the rest is in order.",
    ),
    ErrorClass(
        "memory that is registered with a GPU",
        r"memory is (?:already|not) registered|HOST_MEMORY_(?:ALREADY|NOT)_REGISTERED|HostMemory(?:Already|Not)Registered|already mapped|"
        r"registered memory region",
        "A part of the host's memory was registered with the GPU twice or was not registered: two libraries of the process (MPI, UCX, NCCL, a data loader) "
        "register the same buffers, or one had freed them.",
        f"On this host {_COMPARE}; try without the caches of registered memory (NCCL_LOCAL_REGISTER=0, UCX_MEMTYPE_CACHE=n) and see which of them ends it.",
    ),
    ErrorClass(
        "start of a kernel",
        r"launch timed out|LAUNCH_(?:TIMEOUT|OUT_OF_RESOURCES)|LaunchTime[oO]ut|too many resources requested|LaunchOutOfResources|cooperative launch|"
        r"(?i:cooperative_?launch_?too)|[Ss]tream[ _]?[Cc]aptur|stream is capturing|STREAM_CAPTURE",
        "A kernel was not started or was ended by the driver: it asks for more registers, shared memory or blocks than this GPU has free, a watchdog of a "
        "display ends long ones, or it was given while a graph was captured.",
        f"On this host {_COMPARE}: the kind of GPU, MIG and MPS limits, a display server on it (nvidia-smi); NCCL_GRAPH_MIXING_SUPPORT and a run without CUDA "
        "graphs show whether the rest is in order.",
    ),
    ErrorClass(
        "queue of an AMD GPU",
        r"HSA_STATUS_\w+|ROCm runtime (?:memory )?call|[Qq]ueue \S+ aborting with error|HSAIL|memory aperture violation|amdgpu\b.*(?:fail|error|timeout)",
        "The runtime of an AMD GPU (HSA) ended a queue of it: EXCEPTION and APERTURE_VIOLATION are of a kernel's memory access or of the GPU itself, "
        "OUT_OF_RESOURCES of its memory, queues or the process's threads.",
        "Look in the kernel's log of that time for amdgpu (page fault, ring timeout, GPU reset, RAS) and at amd-smi of that GPU; compare driver, firmware and "
        "ROCm with a good host's, and free memory and ulimit -u; AMD_SERIALIZE_KERNEL=3 names the kernel; where it is this GPU each time, run the vendor's "
        "diagnostics.",
    ),
)
