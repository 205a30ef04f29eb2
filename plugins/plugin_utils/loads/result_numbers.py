# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a number means with which CUDA, HIP, HSA or NVML ends a call, where a line has the number and no words for it."""

from __future__ import annotations

import re
import typing as t

# CUDA's runtime (driver_types.h) and driver (cuda.h) share these numbers, and HIP (hip_runtime_api.h) has taken them over.
GPU_RESULTS: dict[int, str] = {
    1: "invalid argument",
    2: "out of memory (cudaErrorMemoryAllocation)",
    3: "initialization error",
    4: "driver shutting down",
    34: "CUDA driver is a stub library",
    35: "driver version is insufficient for the runtime",
    36: "call that the driver is too old for (cudaErrorInsufficientDriver)",
    46: "all devices are busy or unavailable",
    98: "invalid device function",
    100: "no CUDA-capable device is detected",
    101: "invalid device ordinal",
    200: "invalid kernel image",
    201: "invalid device context",
    205: "mapping of buffer object failed",
    206: "unmapping of buffer object failed",
    209: "no kernel image is available for this device",
    214: "uncorrectable ECC error",
    216: "device already in use (cudaErrorDevicesUnavailable)",
    217: "peer access is not supported between two devices",
    218: "PTX compilation failed",
    219: "invalid graphics context",
    220: "uncorrectable NVLink error",
    221: "PTX compiler library not found",
    222: "PTX of an unsupported toolchain",
    223: "PTX compilation is disabled",
    226: "contained memory error (CUDA_ERROR_CONTAINED)",
    300: "invalid kernel source",
    301: "file not found (CUDA_ERROR_FILE_NOT_FOUND)",
    302: "shared object symbol not found",
    303: "shared object initialization failed",
    304: "OS call failed",
    400: "invalid resource handle",
    401: "illegal state",
    500: "named symbol not found",
    600: "device not ready",
    700: "illegal memory access",
    701: "too many resources requested for launch",
    702: "the launch timed out",
    704: "peer access is already enabled",
    705: "peer access has not been enabled",
    708: "primary context is active",
    709: "context is destroyed",
    710: "device-side assert",
    711: "peer mapping resources exhausted",
    712: "memory is already registered",
    713: "memory is not registered",
    714: "hardware stack error (cudaErrorHardwareStackError)",
    715: "illegal instruction was encountered",
    716: "misaligned address",
    717: "invalid address space (CUDA_ERROR_ILLEGAL_ADDRESS)",
    718: "invalid program counter (CUDA_ERROR_INVALID_PC)",
    719: "unspecified launch failure",
    720: "too many blocks in a cooperative launch",
    800: "operation not permitted (CUDA_ERROR_NOT_PERMITTED)",
    801: "operation not supported",
    802: "system not yet initialized",
    803: "unsupported display driver / cuda driver combination",
    804: "forward compatibility was attempted on other hardware",
    805: "MPS client failed to connect",
    806: "MPS server failed",
    807: "MPS server is not ready",
    808: "MPS clients are used up",
    809: "MPS connections are used up",
    810: "MPS client was terminated",
    900: "stream capture does not permit it",
    901: "stream capture invalidated",
    999: "unknown error (CUDA_ERROR_UNKNOWN)",
    1052: "ROCm runtime memory call failed",
    1053: "ROCm runtime call failed",
}
# What HIP names otherwise, so that it leads to what is to be done on a host with AMD GPUs.
HIP_RESULTS: dict[int, str] = {
    **GPU_RESULTS,
    2: "hipErrorOutOfMemory",
    3: "hipErrorNotInitialized",
    35: "cudaErrorInsufficientDriver of HIP",
    100: "hipErrorNoDevice",
    101: "hipErrorInvalidDevice",
    209: "hipErrorNoBinaryForGpu",
    214: "hipErrorECCNotCorrectable",
    719: "hipErrorLaunchFailure",
    999: "hipErrorUnknown",
}
# nvml.h.
NVML_RESULTS: dict[int, str] = {
    1: "NVML is not initialized",
    3: "NVML_ERROR_NOT_SUPPORTED",
    4: "NVML has no permission",
    6: "NVML finds no such device",
    9: "NVML finds no driver loaded",
    10: "NVML timed out",
    12: "NVML finds no library of the driver",
    13: "NVML function not found (driver/library version mismatch)",
    14: "corrupted infoROM",
    15: "GPU is lost",
    16: "GPU requires reset",
    17: "OS call failed below NVML",
    18: "driver/library version mismatch",
    19: "device in use by another client of NVML (busy or unavailable)",
    999: "unknown error of NVML",
}
# hsa.h and hsa_ext_amd.h.
HSA_RESULTS: dict[int, str] = {
    41: "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION",
    42: "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION",
    43: "HSA_STATUS_ERROR_MEMORY_FAULT",
    0x1000: "HSA_STATUS_ERROR",
    0x1001: "HSA_STATUS_ERROR_INVALID_ARGUMENT",
    0x1002: "HSA_STATUS_ERROR_INVALID_QUEUE_CREATION",
    0x1003: "HSA_STATUS_ERROR_INVALID_ALLOCATION",
    0x1004: "HSA_STATUS_ERROR_INVALID_AGENT",
    0x1008: "HSA_STATUS_ERROR_OUT_OF_RESOURCES",
    0x100B: "HSA_STATUS_ERROR_NOT_INITIALIZED",
    0x1010: "HSA_STATUS_ERROR_INVALID_CODE_OBJECT",
    0x1016: "HSA_STATUS_ERROR_EXCEPTION",
}


class _Library(t.NamedTuple):
    """A library: how a line shows that it is of it, how it then words a number, and what its numbers mean."""

    spoken: t.Pattern[str]
    worded: t.Pattern[str]
    results: dict[int, str]


# A call with what it was given, as in "cuInit(0) returned 3".
_CALL = r"\b(?:cuda|hip|cu)[A-Z]\w*(?:\([^()]*\))?"
_ERROR = r"(?:error|err|failure|failed|returned|result|status)(?:_t)?"
_BETWEEN = r"(?: ?(?:code|number|with|error|status|res|ret|rc))*[ =:(]+"
# Not part of another number, of a place in a file, or of what counts something.
_END = r"(?![\w/%]|[.:]\d| (?:[A-Z]+s|[a-z]{3,}s|of)\b)"
# A small number is one of a result only right behind the library's own name or call; after any other word it may count something.
_SMALL = rf"(?:\b(?:cuda|hip)\w*?(?: (?:driver|runtime|api))? ?(?:error|failure)(?:_t)?|{_CALL} ?{_ERROR}){_BETWEEN}(\d{{1,2}}){_END}"
_LARGE = rf"(?<!exit )(?:{_ERROR}|code){_BETWEEN}(\d{{3,4}}){_END}"
_RESULT = re.compile(rf"(?i:{_SMALL})|(?i:{_LARGE})|'[^']*' \((\d+)\)")
_LIBRARIES = (
    _Library(re.compile(r"(?i:nvml)"), re.compile(rf"(?i:nvml\w*(?:\([^()]*\))?[^\d\n]{{0,40}}?{_ERROR}{_BETWEEN}(\d{{1,3}}){_END})"), NVML_RESULTS),
    _Library(re.compile(r"\b(?i:hsa)(?:\b|_)"), re.compile(rf"(?i:(?:{_ERROR}|code){_BETWEEN}(0x1[0-9a-f]{{3}}|4\d{{3}}|4[123]){_END})"), HSA_RESULTS),
    _Library(re.compile(r"\b(?:HIP|hip(?=[A-Z ]))"), _RESULT, HIP_RESULTS),
    _Library(re.compile(r"\b(?:CUDA|CUresult|[Cc]uda|cu(?=[A-Z]))|(?i:ipc mem ?handle|UNKNOWN ERROR \()"), _RESULT, GPU_RESULTS),
)
# The words that a program itself has for a number, behind it: no name of a file.
_WORDS = re.compile(r"\W{0,3}[A-Za-z]{4,}(?![\w./]*[./]\w)")


def named_result(line: str) -> tuple[int, str] | None:
    """The number with which a call of a GPU's library ended by a line, and what it means; None where the line has none, or already has words for it."""
    for library in _LIBRARIES:
        found = library.worded.search(line) if library.spoken.search(line) else None
        if found is None:
            continue
        number = int(next(text for text in found.groups() if text), 0)
        words = library.results.get(number)
        return (number, words) if words and not _WORDS.match(line, found.end()) and words not in line else None
    return None


def with_words(text: str) -> str:
    """A text with what the number of each of its lines means behind it, so that a table of words knows it."""
    return "\n".join(f"{line} [{found[1]}]" if (found := named_result(line)) else line for line in text.split("\n"))


def in_words(line: str) -> str:
    """What the number of a line means, as a sentence with a blank behind it; nothing where it has none, or has words for it."""
    found = named_result(line)
    return f"Number {found[0]} is: {found[1]}. " if found else ""
