# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The line of a training's output that says why it ended."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads import crashes
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.deciding_lines import deciding_line, says_that_ranks_failed
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.host_names import HostNames
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.launcher_errors import explained as refusal
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.launcher_errors import reported_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.rank_errors import explained, is_own, known_error
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.site_log import said_lines

SUMMARY = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
Failures:
  <NO_OTHER_FAILURES>
Root Cause (first observed failure):
[0]:
  time      : 2024-03-05_07:01:51
  host      : gpu04
  rank      : 27 (local_rank: 3)
  exitcode  : {} (pid: 69811)
  error_file: <N/A>
"""


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("step 1\n[rank3]: KeyError: 'qux'\nE0417 10:02:12.6 26021 torch/distributed/elastic/api.py:869] failed (exitcode: 1)\n", "[rank3]: KeyError: 'qux'"),
        # What follows from another rank's end says less, whenever it was printed.
        ("RuntimeError: Broken pipe\nRuntimeError: frobnication refused\n", "RuntimeError: frobnication refused"),
        ("RuntimeError: Broken pipe\n", "RuntimeError: Broken pipe"),
        # So does an error of no kind beside one that has a kind.
        ("the frobnicator failed\nOSError: [Errno 5] Input/output error: '/data/7'\n", "OSError: [Errno 5] Input/output error: '/data/7'"),
        # PyTorch quotes what NCCL said below; the line above it has only the kind of the result.
        (
            "[rank0]: torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3135, invalid usage (run "
            "with NCCL_DEBUG=WARN for details), NCCL version 2.28.9\n[rank0]: ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
            "[rank0]: Last error:\n[rank0]: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 60\n",
            "[rank0]: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 60",
        ),
        (
            "torch.distributed.DistBackendError: NCCL error in: /pytorch/c10d/NCCLUtils.cpp:93, unhandled system error, NCCL version 2.28.9\nLast error:\n\n",
            "torch.distributed.DistBackendError: NCCL error in: /pytorch/c10d/NCCLUtils.cpp:93, unhandled system error, NCCL version 2.28.9",
        ),
        # The program's own line, which a traceback quotes, is no error; a rank that ended says more than that its partner exited with a status.
        (
            "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/tmp/t.py\", line 8, in <module>\n[rank1]:     raise ValueError('loss is nan')\n"
            "[rank1]: ValueError: loss is nan at step 3\n",
            "[rank1]: ValueError: loss is nan at step 3",
        ),
        ('[rank1]:   File "t.py", line 8, in <module>\n[rank1]: ValueError: loss is nan\n', "[rank1]: ValueError: loss is nan"),
        (
            "[rank0]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:28351\n"
            + SUMMARY.format(1),
            "[rank0]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:28351",
        ),
        ("[W424 01:11:21.1 x.cpp:1] Warning: error is near\nW0417 10:02:11 1 y.py:8] it failed\nstep 2\n", ""),
        # Nor does what PyTorch's watchdog logs, and that the launcher was ended after it; it is read as collective_timeouts.
        (
            "[rank0]:[E1128 15:29:01.4 ProcessGroupNCCL.cpp:689] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=13) ran for 12071 ms\n"
            "[rank0]:[E1128 15:29:01.4 ProcessGroupNCCL.cpp:2303] [PG ID 0 Rank 0]  failure detected by watchdog at work sequence id: 13 PG status: last\n"
            "[rank0]:[E1128 15:29:06.6 ProcessGroupNCCL.cpp:733] Stack trace of the failed collective: \n"
            "[rank0]:[E1128 15:29:06.6 ProcessGroupNCCL.cpp:2636] [PG ID 0 Rank 0] First PG on this rank to signal dumping.\n"
            "[rank1]:[E1128 15:32:35.2 ProcessGroupNCCL.cpp:1849] [PG ID 0 Rank 1] Observed flight recorder dump signal from another rank via TCPStore.\n"
            "[rank0]:[E1128 15:29:07.3 ProcessGroupNCCL.cpp:1914] [Rank 0] Received a dump signal due to a collective timeout from this local rank\n"
            "[rank0]:[E1128 15:29:07.3 ProcessGroupNCCL.cpp:1628] [Rank 0] ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1\n",
            "",
        ),
        # What NCCL says below it names what failed, also behind the number of a rank.
        (
            "[rank1]: torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:93, unhandled cuda error (run with "
            "NCCL_DEBUG=INFO for details), NCCL version 2.28.9\n[rank1]: ncclUnhandledCudaError: Call to CUDA function failed.\n[rank1]: Last error:\n"
            "[rank1]: Cuda failure 'out of memory'\n",
            "[rank1]: Cuda failure 'out of memory'",
        ),
        # An exception of a library that no word calls an error, what an error announces, and the error of a worker of PyTorch.
        (
            "[rank1]: triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 1048576\n" + SUMMARY.format(1),
            "[rank1]: triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 1048576",
        ),
        (
            "[rank0]: RuntimeError: Error(s) in loading state_dict for Linear:\n[rank0]: \tsize mismatch for weight: copying a param\n",
            "[rank0]: RuntimeError: Error(s) in loading state_dict for Linear: size mismatch for weight: copying a param",
        ),
        ("[rank1]: KeyError: Caught KeyError in DataLoader worker process 0.\n[rank1]: KeyError: 'shard_7'\n", "[rank1]: KeyError: 'shard_7'"),
        # Of a signal torchrun's summary says which rank it ended.
        (
            "Fatal Python error: Aborted\n\nThread 0x00007fdfa5fa26c0 (most recent call first):\n  <no Python frame>\n" + SUMMARY.format(-6),
            "by torchrun's summary rank 27 (local rank 3) of gpu04 failed first, at 2024-03-05_07:01:51: exited on signal 6 (SIGABRT)",
        ),
        ("Fatal Python error: Aborted\n", "Fatal Python error: Aborted"),
        ("torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 15\nKeyError: 'qux'\n", "KeyError: 'qux'"),
        ("ERROR: ld.so: object '/opt/libfoo.so' from LD_PRELOAD cannot be preloaded (cannot open shared object file): ignored.\nstep 2\n", ""),
        (SUMMARY.format(-7), "by torchrun's summary rank 27 (local rank 3) of gpu04 failed first, at 2024-03-05_07:01:51: exited on signal 7 (SIGBUS)"),
        (SUMMARY.format(3), "by torchrun's summary rank 27 (local rank 3) of gpu04 failed first, at 2024-03-05_07:01:51: exited with status 3"),
        (SUMMARY.format(-99), "by torchrun's summary rank 27 (local rank 3) of gpu04 failed first, at 2024-03-05_07:01:51: exited on signal 99"),
    ],
)
def test_the_line_that_decides(output: str, line: str) -> None:
    assert deciding_line(*said_lines(["", output], HostNames([]))).line == line


LOST = """--------------------------------------------------------------------------
ORTE has lost communication with a remote daemon.

  HNP daemon   : [[64112,0],0] on node gpu01
  Remote daemon: [[64112,0],1] on node 192.0.2.15

This is usually due to either a failure of the TCP network
connection to the node, or possibly an internal failure of
the daemon itself. We cannot recover from this failure, and
therefore will terminate the job.
--------------------------------------------------------------------------
"""
NO_CONTAINER = """slurmstepd: error: pyxis: container start failed with error code: 1
slurmstepd: error: pyxis:     nvidia-container-cli: device error: 5: unknown device
slurmstepd: error: spank: required plugin spank_pyxis.so: task_init() failed with rc=-1
srun: error: gpu04: task 3: Exited with exit code 1
"""


@pytest.mark.parametrize(
    ("log", "line"),
    [
        # The prose of a message is no error, and the host that it is about stands in another line of it.
        (LOST, "ORTE has lost communication with a remote daemon.; Remote daemon: [[64112,0],1] on node gpu05 (192.0.2.15)"),
        # What is known of a launcher's line is taken from its own messages, and not from the vocabulary of what ranks print ("plugin").
        # Between other lines of dashes is no message.
        (f"{'-' * 60}\nTraceback (most recent call last):\nKeyError: 'qux'\n{'-' * 60}\n", "KeyError: 'qux'"),
        (NO_CONTAINER, NO_CONTAINER.splitlines()[1] + "; " + NO_CONTAINER.splitlines()[3]),
        (f"[rank3]: KeyError: 'qux'\n{NO_CONTAINER}", "[rank3]: KeyError: 'qux'"),
        (
            "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 192.0.2.15, ID: fc2b) where x\n",
            "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.; "
            "Memory on the node (IP: gpu05 (192.0.2.15), ID: fc2b) where x",
        ),
        ("run.sh: line 14: 2702 Killed   torchrun train.py\n", "run.sh: line 14: 2702 Killed torchrun train.py"),
    ],
)
def test_a_message_of_a_launcher_is_taken_whole(log: str, line: str) -> None:
    names = HostNames(["gpu01", "gpu05"], {"192.0.2.15": ("gpu05", None)})
    assert names.in_words(deciding_line(*said_lines([log], names)).line) == " ".join(line.split())


def test_an_error_of_nccl_without_a_reason_is_of_no_part() -> None:
    """Its path has c10d, which is of sockets where it is not in the name of a file."""
    words = "DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:93, invalid usage (run with NCCL_DEBUG=WARN for details)"
    assert explained(f"torch.distributed.{words}")[0].startswith("NCCL refused what it found")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("mpirun noticed that process rank 3 with PID 1167 on node gpu02 exited on signal 11 (Segmentation fault).", 11),
        ("failed (exitcode: -7) local_rank: 3 (pid: 26026)", 7),
        ("srun: error: gpu02: task 3: Bus error (core dumped)", 7),
        ("ERROR:composer.cli.launcher:Rank 26 crashed with exit code -7.", 7),
        ("Global rank 26 (PID 1212) exited with code -11", 11),
        ("Global rank 24 (PID 1210) exited with code -15", None),
        ("traceback : Signal 6 (SIGABRT) received by PID 65957", 6),
        ("[gpu02:11] Signal: Segmentation fault (11)", 11),
        ("exited on signal 9 (Killed)", 9),
        ("run.sh exited with status 137: run.sh: line 14: 2702 Killed torchrun train.py", 9),
        ("run.sh exited with status 134: Aborted", 6),
        ("exited on signal 15 (Terminated)", None),
        ("CUDA error: an illegal instruction was encountered", None),
        ("SIGNAL of 11 GPUs", None),
    ],
)
def test_the_signal_that_a_line_names(text: str, number: int | None) -> None:
    assert crashes.number_of_signal(text) == number
    assert (crashes.named_signal(text) is None) == (number is None)
    assert is_own(text) == (number in (7, 11) or "CUDA error" in text)


def test_an_error_of_the_system_says_more_than_the_type_of_an_exception() -> None:
    cause, fix = explained("ImportError: /home/x/lib/a.so: cannot stat shared object: Stale file handle")
    assert cause.index("ESTALE") < cause.index("lacks a library") and "findmnt" in fix
    assert "ENOENT" not in explained("ModuleNotFoundError: No module named 'qux'")[0]


@pytest.mark.parametrize(
    ("line", "failed"),
    [
        ("pdsh@gpu01: gpu06: ssh exited with exit code 1", True),
        ("clush: gpu06: exited with exit code 1", True),
        ("srun: error: gpu03: tasks 16-18,20: Killed", True),
        ("slurmstepd: error: *** STEP 6457.0 ON gpu01 CANCELLED AT 2024-03-05T07:01:51 DUE TO NODE FAILURE ***", True),
        ("mpirun noticed that process rank 9 with PID 0 on node gpu02 exited on signal 9 (Killed).", True),
        ("gpu03: " + SUMMARY.splitlines()[5], True),
        # What a program says of itself, and a task that ended well, do not end a run.
        ("RuntimeError: frobnication refused, trying again", False),
        ("srun: error: gpu03: task 3: Exited with exit code 0", False),
    ],
)
def test_a_launcher_says_that_a_rank_failed_whatever_a_script_ends_with(line: str, failed: bool) -> None:
    assert says_that_ranks_failed("", f"step 1\n{line}\n") is failed


def test_the_rank_that_found_a_result_which_it_did_not_expect() -> None:
    log = "Unexpected result tensor(nan) on rank 44 at iteration #150 invocation #1 (message='loss is NaN')\nNeed to rerun on a different GPU\n"
    assert deciding_line(*said_lines([log], HostNames([]))).rank == 44


RULE = f"{'-' * 74}\n"
HYDRA = """===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 9665 RUNNING AT gpu05
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
"""


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (HYDRA, "oom-kill"),
        ("mpirun noticed that process rank 36 with PID 363 on node gpu05 exited on signal 9 (Killed).\n", "oom-kill"),
        (f"{RULE}prterun noticed that process rank 36 with PID 363 on node gpu05 exited on\nsignal 11 (Segmentation fault).\n{RULE}", "segfault"),
        ("srun: error: gpu05: task 36: Bus error (core dumped)\n", "segfault"),
        ("srun: error: gpu05: task 36: Exited with exit code 1\n", "no line of this log says why"),
        ("srun: error: Task launch for StepId=23.0 failed on node gpu05: Job prolog failed\n", "Prolog"),
        ("srun: error: Job allocation 812 has been revoked due to launch failure: Prolog failed on gpu05\n", "Prolog"),
        ("srun: error: Task launch for StepId=812.0 failed on node gpu05: Slurmd could not create a cgroup\n", "cpuset"),
        ("srun: error: Task launch for StepId=812.0 failed on node gpu05: Unable to satisfy cpu bind request\n", "--cpu-bind=none"),
        ("srun: error: Task launch for StepId=812.0 failed on node gpu05: Qux\n", "refused to start the step"),
    ],
)
def test_a_launcher_names_the_host_of_the_process_that_it_reports(log: str, words: str) -> None:
    names = HostNames(["gpu01", "gpu05"])
    line = deciding_line(*said_lines([log], names)).line
    assert reported_of(line, names.hosts) == "gpu05" and any(words in part for part in refusal(line))


@pytest.mark.parametrize(
    ("log", "line"),
    [
        # Of an earlier PyTorch the kind of a result alone says nothing of sockets.
        (
            "RuntimeError: NCCL error in: /w/c10d/ProcessGroupNCCL.cpp:1269, internal error, NCCL version 2.14.3\nLast error:\nFailed to CUDA calloc "
            "async 8 bytes\n",
            "Failed to CUDA calloc async 8 bytes",
        ),
        # What a kernel printed before it ended itself, whatever CUDA makes of that and in which order it comes.
        (
            "[rank3]: RuntimeError: CUDA error: unspecified launch failure\nDeepEP dispatch NVL receiver timeout, channel: 4, RDMA: 1\n",
            "DeepEP dispatch NVL receiver timeout, channel: 4, RDMA: 1",
        ),
        ("slurmstepd: error: Unable to create TMPDIR [/local/8]: Permission denied\nKeyError: 'qux'\n", "KeyError: 'qux'"),
        # torchrun's line of a process says more than that of srun about what started it.
        (
            "E0301 10:00:01.1 140 torch/distributed/elastic/x/api.py:874] failed (exitcode: -9) local_rank: 2 (pid: 4) of binary: python\n"
            "srun: error: gpu03: task 2: Exited with exit code 1\n",
            "E0301 10:00:01.1 140 torch/distributed/elastic/x/api.py:874] failed (exitcode: -9) local_rank: 2 (pid: 4) of binary: python",
        ),
        # A number that says what an error is tells it from others of the same words.
        (
            "NCCL WARN Got completion from peer 10.0.0.2<1> with status=5 vendor err 249\n" * 3
            + "NCCL WARN Got completion from peer 10.0.0.2<1> with status=12 vendor err 129\n",
            "NCCL WARN Got completion from peer 10.0.0.2<1> with status=12 vendor err 129",
        ),
    ],
)
def test_the_line_that_says_more_than_others(log: str, line: str) -> None:
    assert deciding_line(*said_lines([log], HostNames(["gpu01"]))).line == line


def test_lines_that_differ_by_numbers_alone_are_judged_once() -> None:
    log = "".join(f"Error: worker {number} failed with connection lost to shard {7 * number}\n" for number in range(1, 3000))
    known_error.cache_clear()
    assert deciding_line(*said_lines([f"{log}CUDA error: uncorrectable ECC error encountered\n"], HostNames([]))).line.startswith("CUDA error")
    assert known_error.cache_info().misses < 10
