# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The labels of pdsh, mpirun --tag-output and srun -l, and the ranks whose errors other ranks print."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.host_names import HostNames
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.launcher_errors import explained, known_line, reported_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.line_labels import named_process, unlabelled
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.rank_errors import follows, is_own, known_error
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.site_log import Said, as_text, names_before_lines, of_quoted_ranks, said_lines
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.speakers import speakers
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.unknown_errors import explain_unknown

HOSTS = [f"gpu{number:02}" for number in range(1, 9)]
NAMES = HostNames(HOSTS, {"192.0.2.13": ("gpu03", None)})


def said(log: str) -> list[Said]:
    return said_lines([log], NAMES)[0]


def in_ranks(log: str) -> str:
    return as_text(said(log))


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("[1,9]<stderr>:KeyError: 'qux'\n", "KeyError: 'qux'\n"),
        ("[prterun-gpu01-411@1,9]<stdout>: x\n", "x\n"),
        ("Sun May 27 12:24:33 2018[1,61]<stdout>:x\n", "x\n"),
        (" 9: x\n10: \n10: y\nsrun: error: gpu02: task 10: Killed\n", "x\n\ny\nsrun: error: gpu02: task 10: Killed\n"),
        ("Fri Sep 25 16:52:36 2020[0]<stderr>:x\n[1]<stdout>:y\n", "x\ny\n"),
        ("[default3]:[rank3]: x\n", "[rank3]: x\n"),
        ("\x1b[36m(RayTrainWorker pid=12)\x1b[0m x\n", "x\n"),
        ("[0] x\n[18] y\n", "x\ny\n"),
        ("step\n[18] y\n", "step\n[18] y\n"),
        # A clock, a few numbered lines, and a rank of PyTorch are no labels.
        ("12:05 step 1\n12:06:07 step 2\n", "12:05 step 1\n12:06:07 step 2\n"),
        ("chapters\n1: one\nstep\nstep\n", "chapters\n1: one\nstep\nstep\n"),
        ("[rank3]: x\n", "[rank3]: x\n"),
    ],
)
def test_the_labels_of_launchers_are_taken_off(text: str, without: str) -> None:
    assert unlabelled(text) == without


def test_tasks_beyond_the_number_of_hosts_are_ranks() -> None:
    log = "18: KeyError: 'qux'\n17: [rank17]: x\nsrun: error: gpu03: tasks 16-18,20: Exited with exit code 1\n"
    assert in_ranks(log).splitlines()[:2] == ["gpu03: [rank18]: KeyError: 'qux'", "gpu03: [rank17]: x"]
    assert speakers(said(log)) == ["17=gpu03", "18=gpu03"]
    # One task a host starts the ranks of it.
    assert in_ranks("2: [rank18]: x\n2: y\nsrun: error: gpu03: task 2: Killed\n").splitlines()[:2] == ["gpu03: [rank18]: x", "gpu03: y"]
    assert speakers(said("[1,9]<stderr>:KeyError: 'qux'\n")) == ["9"]


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("gpu03: KeyError: 'qux'", "gpu03: KeyError: 'qux'"),
        ("gpu03: [default2]:[rank18]: x", "gpu03: [rank18]: x"),
        ("[prterun-gpu01-411@1,18][gpu03:2711]<stderr>: x", "gpu03: [rank18]: x"),
        ("[1,mpirank:18,algo-3]<stderr>:x", "[rank18]: x"),
        ("(RayTrainWorker pid=12, ip=10.0.0.3) x", "10.0.0.3: x"),
        ("[pod/gpu03/pytorch] x", "gpu03: x"),
        # What the inventory has as its address is its name in all that is read of the log.
        ("192.0.2.13: x", "gpu03: x"),
        ("(RayTrainWorker pid=12, ip=192.0.2.13) x", "gpu03: x"),
        ("1469.worker.1  | x", "1469.worker.1: x"),
    ],
)
def test_what_a_label_tells_is_kept_before_the_line(line: str, read: str) -> None:
    assert in_ranks(f"{line}\n") == f"{read}\n"


@pytest.mark.parametrize(
    ("line", "host"),
    [
        ("[gpu04:70259] *** Process received signal ***", "gpu04"),
        ("gpu02:3070:3090 [4] include/shm.h:42 NCCL WARN Cuda failure 'invalid argument'", "gpu02"),
        ("[1702077406.818122] [gpu02:130602:0]     ucp_context.c:1774 UCX  ERROR x", "gpu02"),
        ("[1702077406.818122] [gpu02:411  :0]     ucp_context.c:1774 UCX  ERROR x", "gpu02"),
        ("[gpu03:1234:0:1234] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)", "gpu03"),
        ("[gpu02] x", None),
        ("[config.py:1003:print] x", None),
        ("KeyError: 'gpu02:3:4 [1] x'", None),
    ],
)
def test_libraries_name_the_host_of_the_process_that_speaks(line: str, host: str | None) -> None:
    assert named_process(line) == host
    assert speakers(said(f"[rank9]: {line}\n")) == [f"9={host}" if host else "9"]


@pytest.mark.parametrize(
    ("log", "names"),
    [
        ("gpu03.site: x\nKeyError: 'qux'\n", {"gpu03.site"}),
        # Names that the job does not know: addresses, and what most lines have.
        ("10.0.0.3: x\nstep\nstep\n", {"10.0.0.3"}),
        ("worker-1: x\nworker-2: y\n", {"worker-1", "worker-2"}),
        ("worker-1: x\nstep\nstep\nworker-2: y\n", set()),
        ("INFO: x\nWARNING: y\n", set()),
        # NCCL's own lines begin with the host and a number.
        ("gpu03:411:411 [1] NCCL INFO x\n", set()),
    ],
)
def test_the_names_of_hosts_before_lines(log: str, names: set[str]) -> None:
    assert names_before_lines([log], NAMES) == names


def test_an_error_that_ranks_hand_on_is_of_the_rank_that_met_it() -> None:
    log = "[rank0]: Traceback (most recent call last): (RANK 28)\n[rank0]:   File x\n[rank0]: OSError: x\n[rank0]: end\n"
    assert as_text(of_quoted_ranks(said(log))).splitlines()[1:] == ["[rank28]:   File x", "[rank28]: OSError: x", "[rank0]: end"]


def test_what_nccl_warned_of_says_more_than_the_kind_of_its_result() -> None:
    warning = "gpu02:72593:73427 [7] create_nccl_ofi_component:459 NCCL WARN NET/OFI Couldn't open AV. RC: -22, ERROR: Invalid argument"
    assert known_line(f"{warning}\ngpu02: Test NCCL failure common.cu:777 'unhandled system error'\n") == warning
    assert "libfabric" in explained(warning)[1]
    worded = "gpu02: Test CUDA failure common.cu:777 'out of memory'"
    assert known_line(f"{warning}\n{worded}\n") == worded


def test_deepspeed_names_the_host_whose_rank_was_killed() -> None:
    line = "gpu05: [2023-08-31 10:12:05,245] [ERROR] [launch.py:321:sigkill_handler] ['python', 'train.py'] exits with return code = -9"
    assert reported_of(line, ["gpu01", "gpu05"]) == "gpu05" and "oom-kill" in explained(line)[1]
    assert "segfault" in explained(line.replace("-9", "-11"))[1]


@pytest.mark.parametrize(
    ("line", "word", "own", "after"),
    [
        ("ifa != nullptr. Unable to find address for: bond1", "GLOO_SOCKET_IFNAME", True, False),
        ("NCCL WARN Bootstrap Root : mismatch in rank count from procs 64 : 56", "WORLD_SIZE", False, False),
        ("The following tasks are unhealthy (stopped sending heartbeats):", "heartbeat", False, True),
    ],
)
def test_errors_of_the_start_of_ranks(line: str, word: str, own: bool, after: bool) -> None:
    known = known_error(line)
    assert known is not None and word in known.cause + known.fix
    assert (is_own(line), follows(line)) == (own, after)


def test_what_schedulers_and_libraries_say_of_settings() -> None:
    assert "UCX_NET_DEVICES" in explained("UCX  WARN  network device 'mlx5_3:1' is not available, please use one or more of")[1]
    assert "walltime" in explained("=>> PBS: job killed: walltime 7210 exceeded limit 7200")[1]
    assert "bf16" in explain_unknown("Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.")[1]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("\x1b[31mgpu03: [rank18]: KeyError: 'qux'\x1b[0m", "gpu03: [rank18]: KeyError: 'qux'"),
        ("[gpu03] [rank18]: KeyError: 'qux'", "gpu03: [rank18]: KeyError: 'qux'"),
        # The name of a pod is no host of the job.
        ("train-worker-2 pytorch [rank18]: KeyError: 'qux'", "[rank18]: KeyError: 'qux'"),
        ("2025-06-01T10:00:00.123456789Z [rank18]: KeyError: 'qux'", "[rank18]: KeyError: 'qux'"),
        # What has no number, or says more, is the program's own.
        ("Error on [rank18]: KeyError: 'qux'", "Error on [rank18]: KeyError: 'qux'"),
        ("step 3 was the last one of [rank18]: it ended", "step 3 was the last one of [rank18]: it ended"),
    ],
)
def test_what_stands_before_the_rank_of_pytorch_hides_it_not(line: str, shown: str) -> None:
    assert in_ranks(f"{line}\n") == f"{shown}\n"


def test_the_time_before_a_rank_is_kept_for_what_was_logged_last() -> None:
    lines = said("2025-06-01T10:00:00.123456789Z [rank18]: step 7\n")
    assert as_text(lines, times=True) == "2025-06-01T10:00:00.123456789Z [rank18]: step 7\n" and speakers(lines) == ["18"]
