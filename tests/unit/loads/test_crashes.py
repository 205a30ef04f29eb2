# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a process that a signal of its own ended: what the signal means, and in which library it was."""

from __future__ import annotations

import signal

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads import crashes
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.rank_errors import KILLED, crashed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[gpu03:47] Signal: Segmentation fault (11)\n[gpu03:47] [ 0] /lib/libc.so.6(+0x42520)\n[gpu03:47] [ 1] /usr/lib/libcuda.so.1(+0x2f3f1a)\n",
            "in libcuda.so.1",
        ),
        ("frame #4: c10d::work(int) + 0x12 (0x7f in /opt/torch/lib/libtorch_cuda.so)\n", "in c10d::work(int) of libtorch_cuda.so"),
        ('Fatal Python error: Segmentation fault\n  File "/opt/data/reader.py", line 12 in read\n', "in read of reader.py"),
        ("#1  0x00007f6973cd3a38 in initTransportsRank (comm=0x55) at init.cc:856\n", "in initTransportsRank of init.cc:856"),
        ("nothing of a stack\n", ""),
        (None, ""),
    ],
)
def test_the_innermost_frames_that_it_printed(text: str | None, words: str) -> None:
    assert crashes.where_crashed(text) == words


def test_the_frames_are_few_and_in_their_order() -> None:
    stack = "".join(f"[ {number}] /usr/lib/lib{number}.so.1(call{number}+0x1)\n" for number in range(9))
    assert crashes.where_crashed(stack) == "in call0 of lib0.so.1, called by call1 of lib1.so.1, called by call2 of lib2.so.1"


@pytest.mark.parametrize(
    ("rc", "number"), [(-11, 11), (139, 11), (-6, 6), (134, 6), (132, 4), (-9, None), (137, None), (0, None), (1, None), (None, None), (11, None)]
)
def test_an_exit_status_of_a_crash(rc: int | None, number: int | None) -> None:
    assert crashes.own_signal(rc) == (crashes.OWN_SIGNALS[number] if number else None)


def test_a_rank_that_crashed_is_explained_by_what_it_printed_or_by_its_signal() -> None:
    row = {"outcome": "killed", "signal": signal.SIGSEGV, "text": "[ 1] /usr/lib/libqux.so.1(frob+0x1)\n"}
    end = crashed(row)
    assert end.words == "in frob of libqux.so.1" and "signal 11" in end.cause
    assert crashed({**row, "text": "RuntimeError: No HIP GPUs are available\n"}).words == "RuntimeError: No HIP GPUs are available"
    told = "[gpu03:04711] Signal: Segmentation fault (11)\n[gpu03:04711] [ 4] /usr/lib/libnccl.so.2(_Z20ncclCuMemHostEnablev+0x2f0)\n"
    assert "ncclCuMemHostEnable" in crashed({**row, "text": told}).words, "what is known of the program says more than the signal"
    assert crashed({**row, "signal": signal.SIGKILL, "text": ""})[1:] == KILLED
