# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Classes of errors with which PyTorch and Triton refuse what a program asks of them; GPUs that these name are where its tensors are, not what failed."""

from __future__ import annotations

from .types import ErrorClass

# The first that matches is the one.
PYTORCH_ERRORS: tuple[ErrorClass, ...] = (
    ErrorClass(
        "start without a launcher",
        r"environment variable \w+ expected, but not set",
        "The program was started without torchrun or another launcher that gives each rank its number and the address at which all meet.",
        "Start it by torchrun (or let mpirun or srun set RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT), and see that a script around it, sudo or "
        "a container hands these variables on.",
    ),
    ErrorClass(
        "model of another shape",
        r"loading state_dict for|size mismatch for \S+: copying a param|(?:Missing|Unexpected) key\(s\) in state_dict",
        "The checkpoint is not one of the model that the program builds: of another size or release of it, or divided over another number of ranks (tensor or "
        "pipeline parallelism).",
        "Compare the settings of the model and of its parallelism with those that the checkpoint was written with, and its path on this host with that of the "
        "others; else convert it.",
    ),
    ErrorClass(
        "models that differ by rank",
        r"appears not to match (?:sizes|strides|dtype) of the same param|expects same model across all ranks",
        "The ranks do not build the same model: the program, its settings or its checkpoint differ between hosts. The rank in brackets compared its "
        "own with rank 0; either can be the odd one.",
        "Compare code, settings and checkpoint of this host with those of the first host and of a third one.",
    ),
    ErrorClass(
        "resources of a kernel",
        r"OutOfResources|out of resource: ",
        "A kernel of Triton asks for more shared memory or registers than this kind of GPU has: it was written or tuned for another kind.",
        "Compare the kind of GPU with that of hosts on which it runs; lower the kernel's block sizes or num_stages, or let it be tuned on this GPU.",
    ),
    ErrorClass(
        "attention without a kernel",
        r"[Nn]o dot product attention (?:backend|support)|No (?:available kernel|execution plans support|valid e(?:ngine configs|xecution plans))|"
        r"for fused attention|FlashAttention only supports",
        "No kernel for the attention fits what the program asks for: the releases of cuDNN, FlashAttention and Transformer Engine (or PyTorch) in this image, "
        "the kind of GPU, and the shapes, types and mask of the model leave none.",
        "Compare cuDNN, flash-attn and Transformer Engine (pip list) and the kind of GPU with a host on which it runs; NVTE_DEBUG=1 NVTE_DEBUG_LEVEL=2 prints "
        "why each one is left out, and NVTE_FUSED_ATTN, NVTE_FLASH_ATTN and NVTE_UNFUSED_ATTN allow or forbid one.",
    ),
    ErrorClass(
        "index of a dataset",
        r"(?:index[-_]cache|GPTDataset|(?:doc|document|sample|shuffle)_i(?:dx|ndex)\.npy|[Mm]emory [Mm]ap for \S+ is not found)",
        "The index of the dataset is missing or cut for this rank: one rank of the job builds it for all, in a directory that is of its own host alone, or "
        "that the others read before it was written to the end.",
        "Put the directory of the index (--data-cache-path) on a file system that all hosts share, or build it on each host before the job; compare it on the "
        "first host and on this one (ls -l), and begin again after it was built.",
    ),
    ErrorClass(
        "loss scale",
        r"loss scale already at minimum",
        "The gradients were no numbers or too large for fp16 in step after step, until the loss scale could not be lowered any more: that is of the model, "
        "its settings and data. One GPU that computes wrong values looks the same, since all ranks share the gradients.",
        "Train in bf16 where the GPUs have it, or raise the scale at its start (initial_scale_power, hysteresis), lower the learning rate and clip gradients; "
        "where the same job ran well elsewhere see collectives_correct and the first rank whose gradient is no number.",
    ),
    ErrorClass(
        "slow data",
        r"DataLoader timed out after",
        "No worker that loads data brought its batch within the time that the program allows: the storage is slow or hangs, or the workers have too few "
        "processors.",
        "Read a file of the dataset on this host and on another one (dd, fio) and look at the storage's client in the kernel's log; see the state of the "
        "workers (ps, D means that the kernel waits for storage) and how many processors the job has (nproc).",
    ),
    ErrorClass(
        "tensors",
        r"tensors? to be on the same device|modified by an inplace operation|(?:have|be) the same dtype|mat1 and mat2|The size of tensor \w+ \(|"
        r"does not require grad|backward through the graph a second time|finished reduction in the prior iteration|marked (?:as )?ready (?:only once|twice)|"
        r"shape '\[.*\]' is invalid for input|[Ss]izes of tensors must match|Expected \d+-dimensional|expected scalar type|not implemented for '\w+'",
        "PyTorch refused what the program asked of it: shapes, types or devices of its tensors do not fit, or the order of its calls. No GPU, NIC or path "
        "makes that; program, settings of the model, release of PyTorch or data do.",
        "Read the traceback above this line; compare program, settings, image and data with a host, or the last time, where it ended well.",
    ),
)
