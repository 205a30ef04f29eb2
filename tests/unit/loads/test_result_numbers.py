# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of CUDA, HIP, HSA and NVML that a line has as a number alone."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.deciding_lines import deciding_line
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.error_classes import specific_class
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.host_names import HostNames
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.perftest_errors import explained as explained_test
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.rank_errors import explained, is_own, known_error
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.result_numbers import (
    GPU_RESULTS,
    HIP_RESULTS,
    HSA_RESULTS,
    NVML_RESULTS,
    named_result,
    with_words,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.site_log import said_lines


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("transport.cc:154 NCCL WARN Cuda failure 719", 719),
        ("Cuda failure 'unrecognized error code' (201)", 201),
        ("UCC  ERROR ipc-cache: failed to open ipc mem handle. addr:0x7f65a8000000 len:16777216 err:201", 201),
        ("CUDA error 700 at all_reduce.cu:33", 700),
        ("cuInit(0) returned 3", 3),
        ("failed call to cuInit: UNKNOWN ERROR (304)", 304),
        ("hipError 100", 100),
        ("cudaError_t = 719", 719),
        ("Triton Error [HIP]:  Code: 719,", 719),
        ("nvmlInit_v2() failed: 18", 18),
        ("hsa_init failed with 0x1008", 0x1008),
    ],
)
def test_a_number_of_a_library_is_told_in_words(line: str, number: int) -> None:
    found = named_result(line)
    assert found is not None and found[0] == number and with_words(f"x\n{line}\ny") == f"x\n{line} [{found[1]}]\ny"


@pytest.mark.parametrize(
    "line",
    [
        "CUDA error: 2 GPUs are lost",
        "CUDA program: exit code 100",
        "Got completion from peer 192.0.2.1<1> with status=12 opcode=1 of cuda memory",
        "CUDA out of memory. Tried to allocate 700.00 MiB",
        "cuda:3 stopped: failed: 700 steps",
        # The program has words for it.
        "Cuda failure 700 'an illegal memory access was encountered'",
        "CUDA error code=700(cudaErrorIllegalAddress)",
        "Error 802: system not yet initialized of CUDA",
        "CUDA failure 4711",
    ],
)
def test_other_numbers_and_errors_with_words_are_left_alone(line: str) -> None:
    assert named_result(line) is None and with_words(line) == line


def test_every_number_leads_to_what_is_to_be_done() -> None:
    words = [f"CUDA error {number}" for number in GPU_RESULTS if number != 1] + [f"HIP failure {number}" for number in HIP_RESULTS if number != 1]
    words += [f"NVML error {number}" for number in NVML_RESULTS] + [f"HSA error code {number}" for number in HSA_RESULTS]
    assert [line for line in words if known_error(line) is None and specific_class(line) is None] == []


def test_the_cause_says_the_number_in_words() -> None:
    cause, fix = explained("NCCL WARN Cuda failure 719")
    assert cause.startswith("Number 719 is: unspecified launch failure. The rank's GPU") and "diagnostics" in fix and is_own("NCCL WARN Cuda failure 719")
    cause, fix = explained("Cuda failure 'unrecognized error code' (201)")
    assert "Number 201 is: invalid device context. The call had no context" in cause and "cudaSetDevice" in fix
    assert "fabric manager" in explained("RuntimeError: CUDA runtime error: 802")[0] and "render" in explained("HIP failure 100")[0]
    assert explained_test("cuCtxCreate() error=101")[0].startswith("Number 101 is: invalid device ordinal. ")  # type: ignore[index]
    # Of all lines that a training printed the one with a number that says something.
    assert deciding_line(*said_lines(["step 1\nRuntimeError: the step failed\nCUDA driver error: 719\n"], HostNames([]))).line == "CUDA driver error: 719"
