# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors that no table names: the line of them that decides, and the part of a host that its vocabulary is of."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads import error_classes, unknown_errors

# How PyTorch words an error of NCCL, before and behind what NCCL itself reports.
BEFORE = (
    "DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:317, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL "
    "version 2.21.5\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\nLast error:\n"
)
BEHIND = "\nException raised from create at ../torch/csrc/distributed/c10d/NCCLUtils.hpp:317 (most recent call first):\nframe #0: c10::Error::Error(int) + 0x96"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Segmentation fault (core dumped)", "crash"),
        ("Communicator does not support symmetric memory!", "networking of kernels"),
        ("No GIN-capable devices found.", "networking of kernels"),
        ("Error: corrupted comm object detected", "program"),
        ("AllReduce : sendbuff allocated on device 0 mismatch" + "s with NCCL device 2", "program"),
        ("Error : no algorithm/protocol available for function AllReduce with datatype ncclFloat8e4m3. NCCL_ALGO was set to NVLS.", "setting of NCCL"),
        ("Failed to CUDA host alloc 6291456 bytes", "memory of the host"),
        ("[gpu02:26318:0:26318] ib_mlx5_log.c:139 Remote QP on mlx5_0:1/IB (synd 0x14 vend 0x89 hw_synd 0/0)", "access to the peer's memory"),
        ("libfabric:4121:1740000000::efa:cq:efa_rdm_cq_handle_error():300<warn> remote connection unresponsive", "provider"),
        ("NET/IB: read failed in ncclIbRoceGetVersionNum: Invalid argument", "gid"),
        ("NET/OFI Request 0x7fbb completed with error. RC: 20. Error: unknown error. Completed length: 0", "provider"),
        ("NET/OFI Disabling shared memory failed: Protocol not available", "plugin"),
        ("hipIpcGetMemHandle failed : invalid argument", "shared GPU memory"),
        ("ncclProxyClientGetFd call to tpRank 3 handle 0x7f failed : 3", "shared GPU memory"),
        ("MNNVL (cliqueSize 8) is available but not working on this system.", "NVLink between hosts"),
        ("Attribute arch of node cpu not found", "topology"),
        ("Could not find real path of /sys/class/pci_bus/0000:0d/../../0000:0d:00.0", "topology"),
        ("Failed to find reverse path from remNode 0/200000 nlinks 3 to node 0/700000", "topology"),
        ("Bootstrap Root : mismatch in info from procs, nranks 16 vs 8", "agreement"),
        ("Call to ibv_create_cq failed with error Interrupted system call", "verbs"),
        ("Couldn't allocate PD", "verbs"),
        ("socketFinalizeAccept: wrong type 4 != 3", "sockets"),
        ("DistStoreError: Timed out after 1801 seconds waiting for clients. 1/3 clients joined.", "sockets"),
        ("requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://hub.example.org/api", "too many requests"),
        ("[rank3]: ssl.SSLCertVerificationError: certificate verify failed: certificate is not yet valid (_ssl.c:1007)", "service outside the pod"),
        ("wandb.errors.CommError: Run initialization has timed out after 90.0 sec.", "service outside the pod"),
        ("RuntimeError: Cannot re-initialize CUDA in forked subprocess.", "program"),
        ("RuntimeError: Expected all tensors to be on the same device, but got mat2 is on cpu, different from other tensors on cuda:0", "tensors"),
        ("RuntimeError: one of the variables has been modified by an inplace operation: [torch.cuda.FloatTensor [4]], is at version 1; not 0", "tensors"),
        ("RuntimeError: expected mat1 and mat2 to have the same dtype, but got: float != c10::Half", "tensors"),
        ("RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one.", "tensors"),
        ("RuntimeError: Error(s) in loading state_dict for Linear: size mismatch for weight: copying a param", "model of another shape"),
        ("RuntimeError: [1]: params[0] in this process with sizes [5, 4] appears not to match sizes of the same param in 0.", "models that differ by rank"),
        ("ValueError: Error initializing torch.distributed: environment variable RANK expected, but not set", "start without a launcher"),
        ("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 1048576", "resources of a kernel"),
        ("RuntimeError: DataLoader timed out after 5 seconds", "slow data"),
        ("Cuda failure 999 'unknown error'", "start of a GPU's driver"),
        ("Error 805: MPS client failed to connect to the MPS control daemon or the MPS server", "MPS"),
        ("nvmlDeviceSetCpuAffinity() failed: Unknown Error", "processors of a job"),
        ("Cuda failure 'operation not supported'", "not supported by a GPU"),
        ("Cuda failure 205 'mapping of buffer object failed'", "window of a GPU"),
        ("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", "result of a GPU"),
        ("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", "handle of a GPU's library"),
        ("Callback: Queue 0x7f78 aborting with error : HSA_STATUS_ERROR_EXCEPTION: code: 0x1016", "queue of an AMD GPU"),
        ("ib_write_bw: symbol lookup error: /usr/lib/libibverbs.so.1: undefined symbol: qux", "library of another build"),
        ("ibv_create_ah(dlid=49152 sl=0) for UD mlx5 connect on mlx5_1 failed", "address of a peer"),
        ("NET/IB: Got completion from peer 10.0.0.7<1> with status=10 opcode=0 len=0 vendor err 136 (Send)", "access to the peer's memory"),
        ("NET/IB : Got completion from peer 10.0.0.7<1> with error 13, opcode 0, len 0, vendor err 135 (Send)", "receiver that is not ready"),
        ("nvmlDeviceGetHandleByIndex(3) failed: Unknown Error", "GPU call"),
        ("Failed to malloc 4096 bytes", "memory of the host"),
        ("[Proxy Service 3] Failed to execute operation Setup from rank 3, retcode 1", "helper of NCCL"),
        ("UnpicklingError: pickle data was truncated", "agreement"),
        ("JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "file"),
        ("FloatingPointError: Loss is nan, stopping training", "numbers"),
        ("ValueError: loss is nan at step 3", "numbers"),
        ("RuntimeError: The gradient norm is non-finite", "numbers"),
        ("ValueError: nano-batches of 7 do not divide the loss", "program"),
        ('tuning.cc:104 NCCL WARN Unrecognized element token "Foo" when parsing "Foo"', "setting of NCCL"),
        ("by torchrun's summary rank 1 (local rank 1) of gpu01 failed first, at 2026-11-28_15:30:51: exited with status 3", "exit status"),
        ("KeyError: 'model.layers.0.weight'", "program"),
        ("frobnication of the widget at slot 12 refused: qux", None),
    ],
)
def test_an_error_is_of_the_part_that_its_vocabulary_is_of(line: str, name: str | None) -> None:
    for text in (line, f"{BEFORE}{line}{BEHIND}"):
        found = error_classes.error_class(text)
        assert (found.name if found else None) == name and error_classes.decisive_part(text) == line
    cause, fix = unknown_errors.explain_unknown(f"{BEFORE}{line}{BEHIND}", "gpu01 alone. ")
    assert cause.startswith("gpu01 alone. ") and fix.startswith(f"Begin with this line: {line}. ")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (BEFORE.replace("Last error:\n", ""), "system call"),
        (BEFORE + BEHIND, "system call"),
        ("RuntimeError: NCCL error: internal error - please report this issue to the NCCL developers", "NCCL's own check"),
    ],
)
def test_an_error_that_says_only_what_kind_of_result_it_was(text: str, name: str) -> None:
    found = error_classes.error_class(text)
    assert found is not None and found.name == name and error_classes.says_only_a_result(text)
    assert not error_classes.says_only_a_result(f"{BEFORE}Attribute arch of node cpu not found")
    assert not error_classes.says_only_a_result("ncclSystemError: Call to frob failed: Invalid argument")


def test_no_class_hides_what_the_error_of_the_system_means() -> None:
    cause, fix = unknown_errors.explain_unknown("NET/IB : Unable to open device mlx5_3: Permission denied")
    assert "RDMA library" in cause and "EACCES" in cause and "ls -ld" in fix
    # The words of PyTorch around NCCL's own line are no error of the system.
    assert "ECONNREFUSED" not in unknown_errors.explain_unknown(f"Connection refused\nLast error:\nqux of 7{BEHIND}")[0]


def test_a_long_error_is_shown_by_its_line_that_decides() -> None:
    long = f"{BEFORE}{'x' * 300} frob failed{BEHIND}"
    assert unknown_errors.shown(long).startswith("xxx") and " frob failed (" in unknown_errors.shown(long)
    assert unknown_errors.shown(long.replace("xxx", "xxxx")).endswith(" frob failed"), "too little of the rest would be left"
    assert len(unknown_errors.shown(long)) == unknown_errors.LONGEST
    assert unknown_errors.shown("RuntimeError: qux\nof 7") == "RuntimeError: qux of 7"
    boilerplate = (
        "\nSearch for `cudaErrorMemoryAllocation' in https://example.org\nCUDA kernel errors might be reported later\nCompile with `TORCH_USE_CUDA_DSA`"
    )
    assert unknown_errors.shown(f"AcceleratorError: CUDA error: out of memory{boilerplate}") == "AcceleratorError: CUDA error: out of memory"


@pytest.mark.parametrize("one", (*error_classes.ERROR_CLASSES, *error_classes.RESULT_CLASSES), ids=lambda one: one.name)
def test_each_class_says_what_to_do(one: error_classes.ErrorClass) -> None:
    assert one.cause.endswith(".") and one.fix.endswith(".") and len(one.fix) > 60
