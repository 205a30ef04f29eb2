# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a site's own training ended, as cause and fix, by what its ranks logged or did not."""

from __future__ import annotations

NOT_HEARD = (
    "The other ranks waited in a collective, and this one logged neither that it waited nor what it had enqueued: its process had died, was stopped or "
    "stuck, or its host or its log was lost.",
    "See whether the rank's process and host were alive at that time (its own output, the kernel's log: oom-kill, Xid), and what it did alone (py-spy): to "
    "write a checkpoint to a storage that does not take it, or to evaluate or prepare data for longer than the others wait. Where it was well, its log is "
    "missing and the flight recorder's dumps of all ranks show who did not come.",
)
STOPPED_FIRST = (
    "The training hung, and the log of this host stopped while those of others went on: its process stood still or was stopped, or its host, its storage or "
    "its log was lost. Where the program holds its output back in a buffer the last lines of any host may be missing.",
    "Begin with this host: its kernel's log at that time (Xid, oom-kill, a hung task, storage), the load and state of the rank's process (py-spy), and its "
    "clock; with PYTHONUNBUFFERED=1 each line is written at once.",
)
STUCK = (
    "A call of CUDA or NCCL of this rank did not come back, so that its own watchdog stood still, too, while other ranks waited for it: its GPU or driver "
    "hangs, or another thread of its process holds the lock of Python (GIL) within such a call.",
    "Look at the kernel's log of this host at that time (Xid, a hung task) and at nvidia-smi of this GPU, and at the stacks of the process where it still "
    "runs (py-spy dump --native); run the vendor's diagnostics where it is this GPU again. TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC only moves the time of the report.",
)
STUCK_TOGETHER = (
    "The watchdogs of most ranks stood still at once, so that no rank stands out: a call of CUDA or NCCL waited in all of them for something that they share "
    "(a file system from which code or data is loaded, a collective that NCCL could not abort), or a thread of each process held the lock of Python (GIL) "
    "within such a call, as where all ranks compile, load or save something at the same step.",
    "Look at what the stacks of two ranks of different hosts wait for (py-spy dump --native), at the storage's client in the kernel's logs of that time, and "
    "at what the program does in that step; TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC only moves the time of the report.",
)
NOT_AT_ITS_END = (
    "The training was still running when its time was over: it hung after its last line, or the time of this run is too short for it.",
    "See by the time of its last line whether it went on. Where it did, allow more time (pod_training_run_seconds) or fewer steps; where it did not, run it "
    "again and see what its processes wait for (py-spy dump), and look at the kernel's log (Xid) and at its storage.",
)
NO_STEPS = (
    "The training ended well, and no line of its log has the form that is read as a step, which is that of Megatron-LM: iteration 3/ 100 | elapsed time per "
    "iteration (ms): 512.3 | lm loss: 2.1E+00 |.",
    "Let one rank print its steps in that form, or run the layer without pod_training_command, which times its own.",
)
LONGER_AND_LONGER = (
    "Each step takes longer than those before it, so that something grows with the steps and no single host, link or step stands out: memory of the host that "
    "a loader or the program never gives back (until it swaps), memory of the GPU in ever smaller pieces, a list, cache or log of the program; or GPUs that "
    "get hotter until they lower their clocks.",
    "See over the steps the memory of the rank's processes (ps, free -g, vmstat for swapping), torch.cuda.memory_stats (num_alloc_retries) and the GPUs' "
    "temperature and clocks on all hosts; run with another loader or release, and the layer without pod_training_command, whose steps do not grow.",
)
UNFINISHED = (
    "A collective ended in the other ranks and not in this one, which had come to it: the ranks called it with different sizes or types, data to this rank's "
    "GPU did not arrive (its NIC, a path, NVLink), or its GPU stopped.",
    "Compare what the ranks called (TORCH_DISTRIBUTED_DEBUG=DETAIL, the flight recorder's dumps have sizes and types); look at this host for Xid, and at its "
    "NICs for retransmissions and links that went down at that time; then run layer 5, whose ranks all call the same.",
)
UNLIKE_OTHERS = (
    "This rank did not do what the others did: its process was stuck, its data ended or its program took another way; or it is of another process group, "
    "which its log does not name.",
    "See what the rank's process did at that time (py-spy, its own output, its data) and its host's kernel log; TORCH_NCCL_TRACE_BUFFER_SIZE and a newer "
    "PyTorch log the process group and what each rank had enqueued.",
)
