# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of ranks, launchers and perftest: each is taken for what it means, and what only follows from another error accuses nobody."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads import launcher_errors, launchers, perftest_errors, rank_errors
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.deciding_lines import deciding_line
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.host_names import HostNames
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.site_log import said_lines


@pytest.mark.parametrize(
    ("text", "own", "word"),
    [
        ("NCCL WARN Cuda failure 'CUDA driver is a stub library'", True, "stubs"),
        ("Failed to CUDA calloc async 608 bytes", True, "nvidia-smi"),
        ("NCCL WARN Failed to CUDA malloc 4194304 bytes", True, "nvidia-smi"),
        ("NCCL WARN CUDA Driver version found is 11040. Minimum requirement is 12000", True, "too old"),
        ("P2P is disabled between NVLINK connected GPUs 1 and 0. This should not be the case given their connectivity", True, "topo -p2p"),
        ("Unable to use GIN: Peermem is not supported, and device 3 does not support DMA-BUF.", True, "nvidia_peermem"),
        ("setting membind: Operation not permitted", True, "SYS_NICE"),
        ("run.sh exited with status 1: <1> is invalid", True, "numactl --hardware"),
        ("[gpu03:162239:0:162239] ib_mlx5_log.c:177  Local protection on mlx5_0:1/IB (synd 0x4 vend 0x51 hw_synd 0/2)", True, "ACS"),
        ("DeepEP dispatch NVL receiver timeout, channel: 4, RDMA: 1, nvl: 3, src RDMA: 0, src nvl: 5, start: 0, end: 0", False, "src RDMA"),
        ("[PG 0 Rank 1] ProcessGroupNCCL's watchdog got stuck for 600 seconds without making progress", False, "py-spy"),
        ("alloc.h:155 NCCL WARN Cuda failure 800 'operation not permitted'", True, "IMEX"),
        ("RuntimeError: No HIP GPUs are available", True, "/dev/kfd"),
        ("OSError: [Errno 26] Text file busy: '/root/.triton/cache/abc/cuda_utils.so'", True, "TRITON_CACHE_DIR"),
        ("InductorError: FileNotFoundError: [Errno 2] No such file or directory: '/home/u/triton_cache/E5/x.hsaco'", True, "TRITON_CACHE_DIR"),
        ("ImportError: /lib/libc.so.6: version `GLIBC_2.32' not found (required by /opt/lib/libx.so)", True, "ldd --version"),
        ("rocBLAS error: Cannot read /opt/x/TensileLibrary.dat: No such file or directory for GPU arch : gfx942", True, "architecture"),
        ("MIOpen(HIP): Error [SQLiteBase] sqlite_db.cpp:220: Internal error while accessing SQLite database: locking protocol", True, "MIOPEN_USER_DB_PATH"),
        ("RuntimeError: pidfd_getfd: Operation not permitted", True, "SYS_PTRACE"),
        ("RuntimeError: unable to mmap 2048 bytes from file </torch_59534_12_84>: Cannot allocate memory (12)", True, "vm.max_map_count"),
        ("RuntimeError: received 0 items of ancdata", True, "ulimit -n"),
        ("OSError: [Errno 23] Too many open files in system: '/data/7'", True, "fs.file-max"),
        ("nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver to a newer version", True, "software_uniform"),
        ("nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown", True, "reboot the host"),
        ("RuntimeError: NVML_SUCCESS == DriverAPI::get()->nvmlInit_v2_() INTERNAL ASSERT FAILED at x", True, "reboot the host"),
        ("botocore.exceptions.ClientError: An error occurred (RequestTimeTooSkewed) when calling the GetObject operation", True, "chronyc"),
        ("google.auth.exceptions.RefreshError: invalid_grant: Token must be a short-lived token and in a reasonable timeframe", True, "chronyc"),
        ("SSL: CERTIFICATE_VERIFY_FAILED certificate verify failed: certificate is not yet valid", True, "chronyc"),
        ("CUDA error: an illegal memory access was encountered", True, "Xid 31"),
        ("RuntimeError: No CUDA GPUs are available", True, "CUDA_VISIBLE_DEVICES"),
        ("torch.AcceleratorError: CUDA error: device-side assert triggered", True, "vocabulary"),
        ("/pytorch/IndexKernel.cu:111: operator(): block: [0,0,0], thread: [0,0,0] Assertion `index < sizes[i]` failed.", True, "vocabulary"),
        ("Got completion from peer 192.0.2.6<33397> with status=4 opcode=1 len=1 vendor err 81 (Send)", True, "ACS"),
        ("OpenBLAS blas_thread_init: pthread_create failed for thread 50 of 64: Resource temporarily unavailable", True, "ulimit -u"),
        ("[rank15]: AssertionError: Invalid device id", True, "nvidia-smi -L"),
        ("[rank0]: RuntimeError: Failed to find C compiler. Please specify via CC environment variable", True, "python3-dev"),
        ("Using /root/.cache/torch_extensions/py311_cu124 as PyTorch extensions root...", True, "TORCH_EXTENSIONS_DIR"),
        ("bash: fork: retry: Resource temporarily unavailable", True, "ulimit -u"),
        ("mlockall: Resource temporarily unavailable", True, "ulimit -l"),
        ("io_setup(128) failed: Resource temporarily unavailable", True, "aio-max-nr"),
        ("BlockingIOError: [Errno 11] Unable to synchronously open file (unable to lock file, errno = 11)", True, "lslocks"),
        ("DataLoader worker (pid 4711) is killed by signal: Bus error", True, "/dev/shm"),
        ("DataLoader worker (pid 1155) is killed by signal: Killed.", True, "oom-kill"),
        ("DistBackendError: NCCL error in: /pytorch/NCCLUtils.cpp:93, internal error\nLast error:\nXML Parse : Unexpected EOF", True, "NCCL_TOPO_FILE"),
        ("RuntimeError: DataLoader worker (pid 1089) exited unexpectedly with exit code 3. Details are lost due to multiprocessing.", True, "ended itself"),
        ("NET/OFI Request 0x7f (SEND) completed with error: err: 113, prov_errno: 4127, strerror: No route to host", False, "security group"),
        ("Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", True, "memory keys"),
        ("[rank1]: ConnectionRefusedError: [Errno 111] Connection refused", False, "from Python"),
        (
            "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='api.example.com', port=443): Max retries exceeded with url: /graphql (Caused by "
            "NewConnectionError(': Failed to establish a new connection: [Errno 111] Connection refused'))",
            False,
            "from Python",
        ),
        ("redis.exceptions.ConnectionError: Error 111 connecting to cache01:6379. Connection refused.", False, "from Python"),
        ("connect to 192.0.2.7<43111> failed : Connection refused", False, "NCCL_SOCKET_IFNAME"),
        ("OSError: [Errno 28] inotify watch limit reached", True, "max_user_watches"),
        ("OSError: [Errno 28] No space left on device: '/checkpoints/step_100.pt'", True, "quota"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=77.0. Some of the step tasks have been OOM Killed.", True, "--mem=0"),
        ("/usr/include/torch/extension.h:4:10: fatal error: cuda_runtime.h: No such file or directory", True, "CUDA toolkit"),
        ("RuntimeError: Error building extension 'cpu_adam'", True, "gcc"),
        ("[rank1]: OSError: libcudart.so.11.0: cannot open shared object file: No such file or directory", True, "ldd"),
        ("[rank1]: socket.gaierror: [Errno -3] Temporary failure in name resolution", True, "service outside"),
        ("The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).", True, "earlier job"),
        ("The client socket has timed out after 60000ms while trying to connect to (192.0.2.1, 29400). TCPStore", False, "firewall"),
        ("The IPv4 network addresses of (gpu01, 29500) cannot be retrieved (gai error: -2 - Name or service not known).", True, "/etc/hosts"),
        ("NET/IB : Unable to open device mlx5_11", True, "uverbs"),
        ("NET/IB : mlx5_4:1 Got async event : GID table change", False, "address"),
        ("Got completion from peer 192.0.2.6<1> with status=12 opcode=1 len=0 vendor err 129 (Recv)", False, "path"),
        ("Cuda failure 217 'peer access is not supported between these two devices'", True, "ACS"),
        ("CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error", True, "NVLink failed"),
        ("Memory access fault by GPU node-8 (Agent handle: 0x55d0) on address (nil). Reason: Unknown.", True, "page fault of amdgpu"),
        ("AssertionError: Rank 3: found NaN in local grad norm in backwards pass. Device: 3, node: gpu01", True, "its own gradients"),
        ("RuntimeError: Rank 2, node gpu01, device 2, iteration -1: Unexpected result nan", True, "its own gradients"),
        ("RuntimeError: . PytorchStreamWriter failed writing file data/322: file write failed", True, "checkpoint"),
        ("INTERNAL: could not synchronize: CUDA_ERROR_ILLEGAL_INSTRUCTION: an illegal", True, "Xid 31"),
        ("Failed to initialize NVML: Unknown Error", True, "daemon-reload"),
        ("CUDA_ERROR_ECC_UNCORRECTABLE", True, "NVLink failed"),
        ("cupy_backends.cuda.api.driver.CUDADriverError: CUDA_ERROR_SYSTEM_NOT_READY", True, "fabric manager"),
        ("jaxlib: CUDA_ERROR_OUT_OF_MEMORY: cuMemAlloc", True, "too little free memory"),
        (
            "Gloo connectFullMesh failed: SO_ERROR: Connection refused, remote=[127.0.0.1]:14215 (rank=8, size=16, local=[127.0.0.1])",
            True,
            "GLOO_SOCKET_IFNAME",
        ),
        ("[rank0]: RuntimeError: basic_ios::clear: iostream error", True, "quota"),
        ("RuntimeError: [enforce fail at inline_container.cc:672] . unexpected pos 640 vs 534", True, "quota"),
        ("OSError: [Errno 28] No space left on device: '/ckpt/iter_100'", True, "quota"),
        ("NCCL WARN Message truncated : received 1024 bytes instead of 256", False, "variables"),
        (
            "DistNetworkError: The server socket has failed to bind. port: 29500, useIpv6: 0, code: -24, name: EMFILE, message: too many open files",
            True,
            "ulimit -n",
        ),
        (
            "DistNetworkError: The server socket has failed to listen. port: 29500, code: -98, name: EADDRINUSE, message: address already in use",
            True,
            "ss -tanp",
        ),
        ("torch.distributed.DistStoreError: Timed out after 21 seconds waiting for clients. 1/2 clients joined.", False, "not started"),
        ("gpu01:2017:2017 [0] plugin/net.cc:379 NCCL WARN Failed to initialize any NET plugin", True, "ibv_devices"),
        ("RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details.", False, "first host"),
        ("/opt/nvshmem/src/modules/transport/ibgda/ibgda.cpp:1889: NULL value cannot allocate mlx5dv_devx_uar", True, "--privileged"),
        ("torch.distributed.elastic.multiprocessing.api.SignalException: Process 84933 got signal: 1", True, "setsid"),
        ("slurmstepd: error: couldn't chdir to `/root/run': No such file or directory: going to /tmp instead", True, "not mounted"),
        ("/usr/bin/python3: can't open file '/tmp/pretrain.py': [Errno 2] No such file or directory", True, "not mounted"),
        ("ImportError: /x/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister", True, "LD_LIBRARY_PATH"),
        ("RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against (8, 5, 0) but found runtime version (8, 3, 3).", True, "libcudnn"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", True, "libcudnn"),
        ("RuntimeError: DataLoader worker (pid(s) 4711, 4712) exited unexpectedly", True, "printed before"),
    ],
)
def test_an_error_of_a_rank(text: str, own: bool, word: str) -> None:
    assert rank_errors.is_own(text) is own and not rank_errors.follows(text)
    assert word in " ".join(rank_errors.explained(text))


def test_what_follows_from_an_error_is_no_error_of_its_own() -> None:
    assert rank_errors.follows("torch.distributed.elastic.multiprocessing.api.SignalException: Process 1297 got signal: 15")
    closed, flushed = "socketProgress: Connection closed by remote peer gpu05<47861>", "Got completion from peer x with status=5 opcode=1 len=0 vendor err 249"
    waited = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 8000ms for recv operation to complete"
    assert rank_errors.follows(waited) and "Another rank did not take part" in rank_errors.explained(waited)[0]
    ended, lost = "SignalException: Process 84933 got signal: 15", "DistNetworkError: failed to recv, got 0 bytes"
    assert all(rank_errors.follows(text) for text in (ended, lost))
    aborted, ended_by_pals = "RuntimeError: NCCL communicator was aborted on rank 3.  Original reason for failure was: x", "gpu02: rank 8 died from signal 15"
    assert rank_errors.follows(aborted) and rank_errors.follows(ended_by_pals) and not rank_errors.follows("gpu02: rank 8 died from signal 11")
    assert rank_errors.follows(closed) and rank_errors.follows(flushed) and not rank_errors.follows(None)
    assert rank_errors.first_errors({"gpu02": closed, "gpu05": "CUDA error: unspecified launch failure"}) == {"gpu05": "CUDA error: unspecified launch failure"}
    assert rank_errors.first_errors({"gpu02": closed, "gpu03": flushed}) == {"gpu02": closed, "gpu03": flushed}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("enroot-nsenter: failed to create user namespace: No space left on device", "max_user_namespaces"),
        ("write /run/enroot/.squashfs: No space left on device", "df -h"),
        ("[ERROR] Command not found: nvidia-container-cli, see https://github.com/NVIDIA/libnvidia-container", "libnvidia-container"),
        ("srun: error: Unable to allocate resources: Unable to contact slurm controller (connect failure)", "slurmctld"),
        ("slurmstepd: error: *** STEP 4711.0 ON gpu01 CANCELLED AT 2024-03-05T07:01:51 DUE TO TIME LIMIT ***", "--time"),
        ("slurmstepd: error: *** STEP 4711.0 ON gpu01 CANCELLED AT 2024-03-05T07:01:51 DUE TO PREEMPTION ***", "PreemptMode"),
        ("srun: error: Unable to create step for job 29986033: Memory required by task is not available", "squeue --steps"),
        ("slurmstepd: error: pyxis:     nvidia-container-cli: device error: 5: unknown device", "Xid 79"),
        ("slurmstepd: error: pyxis:     enroot-mount: failed to mount: /scratch/models at /tmp/x/models: No such file or directory", "findmnt"),
        ("The actor is dead because its node has died. Node Id: 677df2a9; ip: gpu06 (192.0.2.16)", "raylet.out"),
        ("The actor is dead because its worker process has died.", "oom-kill"),
        ("ssh: connect to host gpu06 (192.0.2.16) port 22: No route to host", "MaxStartups"),
        ("kex_exchange_identification: read: Connection reset by peer", "MaxStartups"),
        ("Connection to gpu06 (192.0.2.16) closed by remote host.", "MaxStartups"),
        ("srun: error: task 3 launch failed: Error configuring interconnect", "SwitchType"),
        ("RuntimeError: Using hostfile at /job/hostfile but host=gpu05 was not reachable via ssh.", "MaxStartups"),
        ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.", "Ray lists"),
        ("srun: fatal: All MPI plugins failed to load", "--mpi=list"),
        ("PMIX ERROR: UNREACHABLE in file ../../src/client/pmix_client.c at line 120", "PMIX_MCA_gds"),
        ("The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 2Gi.", "/var/lib/kubelet"),
        ("mpi/pmix_v3: pmixp_coll_ring_reset_if_to: gpu01 [0]: collective timeout seq=0", "firewall"),
        ("srun: error: slurm_receive_msgs: [[gpu05]:6818] failed: Socket timed out on send/recv operation", "munge"),
        ("An ORTE daemon has unexpectedly failed after launch", "oob_tcp_if_include"),
        ("[1.1] [gpu05:412  :0]       mm_iface.c:799  UCX  ERROR   mm_iface failed to allocate receive FIFO", "/dev/shm"),
        ("ucp_worker.c:1413 UCX  ERROR uct_iface_open(posix/memory) failed: Out of memory", "/dev/shm"),
        # Munge is only named where the plugin for it is missing.
        ("Framework: psec", "PMIX_MCA_psec=native"),
        ("srun: error: Task launch for StepId=34.0 failed on node gpu03: Plugin initialization failed", "cgroup_v2.so"),
        # No space left on a device is none of a disk where the device is a cgroup.
        ("slurmstepd-gpu06: error: write value '3' to '/sys/fs/cgroup/cpuset/slurm/job_6/step_0/cgroup.procs' failed: No space left on device", "slurmd -C"),
        ("srun: error: Task launch for StepId=12.4 failed on node gpu04: Unable to layout tasks on given cpus", "--cpu-bind=none"),
        ("[gpu03:149416] [[41203,0],1] ORTE_ERROR_LOG: Error in file util/session_dir.c at line 107", "TMPDIR"),
        ("bash: line 1: orted: command not found", "--prefix"),
        ("command terminated with exit code 137", "OOMKilled"),
        ("UCX  ERROR   ibv_create_cq(cqe=4096) failed: Cannot allocate memory : Please set max locked memory (ulimit -l) to 'unlimited'", "memlock=-1"),
        ("srun: Job 77 step creation temporarily disabled, retrying (Requested nodes are busy)", "--overlap"),
        ("srun: error: Unable to confirm allocation for job 77: Invalid job id specified", "SLURM_JOB_ID"),
        ("srun: error: Task launch for StepId=77.0 failed on node gpu03: Invalid job credential", "slurm.key"),
        ("srun: error: Task launch for StepId=77.0 failed on node gpu03: Communication connection failure", "6818"),
        ('docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].', "nvidia-ctk"),
        ("Error: unable to pull example.com/image: dial tcp: lookup example.com: no such host", "DNS"),
        ("mpirun has detected an attempt to run as root.", "OMPI_ALLOW_RUN_AS_ROOT"),
        ("Open MPI tried to bind a new process, but something went wrong.", "--bind-to none"),
        ("sudo: a password is required", "NOPASSWD"),
        ("srun: error: (null) [0] /mpi_pmix.c:133 [init] mpi/pmix: ERROR: pmi/pmix: can not load PMIx library", "ldd"),
        ("PML ucx cannot be selected", "ucx_info"),
        ("WARNING: Open MPI failed to TCP connect to a peer MPI process.", "btl_tcp_if_include"),
        ("srun: error: gpu03: tasks 8-15: Killed", "oom-kill"),
        ("ORTE was unable to reliably start one or more daemons.", "orted --version"),
        # What the program that failed says of it is known.
        ("gpu04: Test CUDA failure common.cu:1045 'unknown error'", "nvidia-uvm"),
        ("gpu04: Test CUDA failure common.cu:941 'system not yet initialized'", "nvidia-fabricmanager"),
        ("gpu05: Test HIP failure common.cu:1129 'hipErrorInvalidDevice'", "/dev/kfd"),
        ("gpu05: Test NCCL failure common.cu:303 'remote process exited or there was a network error / '", "LD_LIBRARY_PATH"),
    ],
)
def test_a_refusal_of_a_launcher(text: str, word: str) -> None:
    assert word in " ".join(launcher_errors.explained(text))
    assert launcher_errors.known_line(f"slurmstepd: a line\n{text}\nsrun: error: gpu05: task 0: Exited with exit code 1") == text


def test_a_launcher_that_says_nothing_that_is_known() -> None:
    assert launcher_errors.known_line("srun: error: gpu05: task 0: Exited with exit code 1", "") is None
    cause, fix = launcher_errors.explained("mpirun: ssh: connect to host gpu05 port 22: No route to host")
    assert "EHOSTUNREACH" in cause and fix.startswith("Begin with this line: mpirun: ssh: connect to host gpu05")


def test_the_plugin_that_is_missing_is_told_before_what_it_would_have_asked() -> None:
    box = "A requested component was not found, or was unable to be opened.  This\n\nHost:      gpu02\nFramework: psec\nComponent: munge\n"
    assert launcher_errors.known_line(box) == "Framework: psec"


def test_what_a_launcher_quotes_of_another_program_says_more_than_the_launcher() -> None:
    output = (
        "slurmstepd: error: pyxis: child 1 failed with error code: 1\nslurmstepd: error: pyxis:     mkdir: cannot create directory '/run/x': Permission denied"
    )
    line = launcher_errors.known_line(output)
    assert line == output.splitlines()[1]
    cause, fix = launcher_errors.explained(line)
    assert "EACCES" in cause and fix.startswith("Begin with this line: ") and "/run/x" in fix and "ENROOT_RUNTIME_PATH" in fix


@pytest.mark.parametrize(
    ("text", "of_gpus", "word"),
    [
        ("libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1) for device bnxt_re2", False, "rdma-core"),
        ("cuCtxCreate() error=101", True, "perftest"),
        ("a completion with an error: local protection error (Failed status 4: wr_id 0 syndrom 0x51)", True, "ACS"),
    ],
)
def test_a_complaint_of_perftest(text: str, of_gpus: bool, word: str) -> None:
    assert word in " ".join(perftest_errors.explained(text, of_gpus) or ())


@pytest.mark.parametrize(
    ("words", "host"),
    [
        ("srun: error: Task launch for StepId=34.0 failed on node gpu02: Job credential expired", "gpu02"),
        ("srun: error: slurm_receive_msgs: [[gpu02]:6818] failed: Socket timed out on send/recv operation", "gpu02"),
        ("a host is not reached (ssh: connect to host gpu02.example.org port 22: No route to host)", "gpu02"),
        ("gpu01: mpirun: gpu02: Test NCCL failure common.cu:959 'internal error - please report this issue to the NCCL developers / '", "gpu02"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0.; srun: error: gpu02: task 2: Out Of Memory", "gpu02"),
        # The one that speaks is not the one that it is about, nor is a name that it does not know, nor one of two.
        ("slurmstepd: error: mpi/pmix_v3: pmixp_coll_ring_reset_if_to: gpu02 [0]: collective timeout seq=0", None),
        ("ssh: Could not resolve hostname gpu02: Temporary failure in name resolution", None),
        ("Task launch failed on node gpu01: x; Task launch failed on node gpu02: x", None),
        ("a node failed while Slurm ran the job (srun: error: Node failure on gpu02)", "gpu02"),
        ("mpirun noticed that process rank 3 with PID 1167 on node gpu02 (10.51.0.2) exited on signal 11", "gpu02"),
        ("mpirun: could not execute an executable: Executable: /x; Node: gpu02", "gpu02"),
        # PALS: the host that passes a request on is not the one that it is about.
        ("launch failed on gpu01: Couldn't forward RPC launch(5d3f) to child gpu02: Resource temporarily unavailable", "gpu02"),
        ("ping failed on gpu01: No reply from gpu02 after 97s", "gpu02"),
        ("gpu02: shepherd died from signal 9", "gpu02"),
        ("gpu02: rank 8 exited with code 1", "gpu02"),
        # The number of a process is that of a host where each host has one.
        ("Process name: [[12167,1],1]", None),
        ("failed on node gpu022: Job credential expired", None),
        (None, None),
    ],
)
def test_the_host_that_a_launchers_line_is_about(words: str | None, host: str | None) -> None:
    assert launcher_errors.host_of(words, ["gpu01", "gpu02"]) == host


def test_what_a_launcher_reports_of_a_host_is_told_from_what_only_names_one() -> None:
    hosts = ["gpu01", "gpu02"]
    assert launcher_errors.reported_of("run.sh exited with status 1: srun: error: gpu02: task 9: Out Of Memory", hosts) == "gpu02"
    assert launcher_errors.reported_of("gpu02: rank 9 died from signal 11", hosts) == "gpu02"
    # With signal 15 PALS ends all others.
    assert launcher_errors.reported_of("gpu02: rank 9 died from signal 15", hosts) is None
    assert launcher_errors.reported_of("the frobnicator on node gpu02", hosts) is None is launcher_errors.reported_of(None, hosts)


def test_the_number_of_a_process_leads_to_its_host_where_each_host_has_one() -> None:
    hosts = ["gpu01", "gpu02"]
    assert launcher_errors.host_of("Process name: [[12167,1],1]; Exit code: 3", hosts, one_a_host=True) == "gpu02"
    assert launcher_errors.host_of("Process name: [[12167,1],2]", hosts, one_a_host=True) is None
    assert launcher_errors.host_of("Process name: [[12167,1],1]; x on node gpu01", hosts, one_a_host=True) == "gpu01"


def test_the_launchers_own_end_is_not_what_its_line_is_about() -> None:
    printed = "PRTE has lost communication with a remote daemon.\n\n  HNP daemon   : [x@0,0] on node gpu01\n  Remote daemon: [x@0,1] on node gpu02\n"
    line = launcher_errors.with_subject("PRTE has lost communication with a remote daemon.", printed)
    assert launcher_errors.host_of(line, ["gpu01", "gpu02"]) == "gpu02"


def test_a_host_is_named_beside_what_the_launcher_was_given_for_it() -> None:
    given, hosts = launchers.given_hosts(["/usr/bin/mpirun", "--host", "10.51.0.4:8,10.51.0.41:8,gpu06:8", "-np", "24"]), ["gpu04", "gpu41", "gpu06"]
    names = HostNames(hosts, {name: (host, None) for name, host in zip(given, hosts)})
    assert names.in_words("process rank 3 on node 10.51.0.4 exited, not 10.51.0.40 of gpu06.") == (
        "process rank 3 on node gpu04 (10.51.0.4) exited, not 10.51.0.40 of gpu06."
    )
    assert launchers.given_hosts(["srun", "--nodes=2", "--nodelist=n4,n41"]) == ["n4", "n41"]
    assert launchers.given_hosts(["python3", "--host", "a:1"]) == [] == launchers.given_hosts(["mpirun", "-np", "1"])


def test_a_launchers_line_that_names_no_host_is_followed_by_one_that_does() -> None:
    printed = "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0.\nsrun: error: gpu03: task 2: Out Of Memory\n"
    known = launcher_errors.known_line(printed)
    assert known is not None and launcher_errors.with_subject(known, printed) == "; ".join(printed.splitlines())
    assert launcher_errors.with_subject(known, known) == known
    assert launcher_errors.with_subject("failed on node gpu02: qux", printed) == "failed on node gpu02: qux"


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("srun: error: Unable to create step for job 4711: Invalid generic resource (gres) specification", "gres.conf"),
        ("srun: error: Unable to allocate resources: More processors requested than permitted", "scontrol show node"),
        ("srun: error: gpu03: task 2: Out Of Memory", "oom-kill"),
        ("[gpu02][[22157,1],4][btl_tcp_endpoint.c:626:mca_btl_tcp_endpoint_recv_connect_ack] received unexpected process identifier", "btl_tcp_if_include"),
        ("sock.c:323  UCX  ERROR   connect(fd=48, dest_addr=172.17.0.1:42887) failed: Connection refused", "UCX_NET_DEVICES"),
        ("MPIR_pmi_kvs_get(227).......: PMI_KVS_Get returned -1", "ldd"),
    ],
)
def test_what_slurm_and_mpi_refuse(line: str, word: str) -> None:
    assert launcher_errors.known_line(line) == line and word in " ".join(launcher_errors.explained(line))


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("run.sh exited with status 140: TERM_RUNLIMIT: job killed after reaching LSF run time limit.", "its time was up"),
        ("run.sh exited with status 137: TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.", "more memory"),
        ("run.sh exited with status 130: TERM_PREEMPT: job killed after preemption.", "higher priority"),
        ("run.sh exited with status 1: srun: error: Unable to create step for job 7: Invalid partition name specified", "is not allowed"),
        # What a rank prints is no line of a launcher, whatever words it has.
        ("run.sh exited with status 1: [rank3]: OSError: [Errno 2] No such file or directory: '/data/7'", None),
        ("run.sh exited with status 1: KeyError: 'TERM_RUNLIMIT'", None),
    ],
)
def test_a_line_that_a_scheduler_prints_in_a_log_is_explained_as_its_own(line: str, cause: str | None) -> None:
    assert launcher_errors.refused_by_launcher(line) is (cause is not None)
    assert cause is None or cause in launcher_errors.explained(line)[0]


def test_what_ray_says_of_a_lost_worker_is_of_no_host_that_prints_it() -> None:
    line = "The actor is dead because its node has died. Node Id: 677df2a9"
    printed = f"ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task.\n\tpid: 6420\n\tip: 192.0.2.7\n{line}\n"
    assert deciding_line(*said_lines([printed], HostNames([]))).line == f"{line}; ip: 192.0.2.7"
    assert not rank_errors.is_own(line) and "raylet" in launcher_errors.explained(line)[1]
    assert launcher_errors.reported_of(f"run.sh exited with status 1: {line}; ip: gpu06 (192.0.2.16)", ["gpu05", "gpu06"]) == "gpu06"
