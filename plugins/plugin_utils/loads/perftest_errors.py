# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What perftest complains of, and what its complaint shows: that the network does not carry the load, or only that nothing was measured."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ..text.shortened import shortened
from .result_numbers import in_words
from .unknown_errors import system_error

# The completion statuses of ibv_wc_status (libibverbs verbs.h) that perftest ends with.
STATUSES = {
    1: "local length error",
    2: "local QP operation error",
    4: "local protection error",
    5: "flushed after another error",
    9: "remote invalid request",
    10: "remote access error",
    11: "remote operation error",
    12: "transport retries exceeded: the packets or their acknowledgements were lost",
    13: "receiver-not-ready retries exceeded",
}
# The kind of an error that says that a program was built without something, and nothing of the host.
UNSUPPORTED_OPTION = "unsupported_option"
# That a program lost or never reached its partner, which says nothing of either; and that it ended with an error that is known, or that no table knows.
PARTNER, KNOWN, UNNAMED = "partner", "known", "unnamed"
# That a program only says what it could not do in consequence: a line before it may have the reason.
CONSEQUENCE = "consequence"


# So much of a tool's line is printed, in characters: its beginning and its end, among which an address of a call of verbs is not lost.
MOST_OF_A_LINE = 300


class KnownError(t.NamedTuple):
    """An error that a tool prints: ``fail`` or ``unknown``, a regular expression of its line, what it means, and its kind where a decision needs it."""

    verdict: str
    pattern: str
    words: str
    kind: str | None = None


class Meaning(t.NamedTuple):
    """What a complaint of perftest comes from: a regular expression of its line, of tests of which memory (None: of any), cause and fix."""

    pattern: str
    of_gpus: bool | None
    cause: str
    fix: str


MEANINGS: tuple[Meaning, ...] = (
    Meaning(
        r"does not support the kernel ABI",
        None,
        "The library of verbs that the test found is older than the kernel's module for this NIC, so that no RDMA device is visible to it: the image's "
        "rdma-core does not fit the host's driver.",
        "Compare rdma-core (libibverbs and the NIC's provider) of the image with the host's, and update it, or mount the host's; then run ibv_devices again.",
    ),
    Meaning(
        r"cuCtxCreate|cuInit|init GPU context|cuDeviceGet",
        None,
        "This perftest cannot use CUDA here: it was built for another CUDA than the driver's or its libraries', or it sees no GPU. This proves nothing of "
        "GPU or NIC.",
        "Build perftest with CUDA_H_PATH of the CUDA that the hosts have (its release must know this CUDA), and run nvidia-smi as the tests do.",
    ),
    Meaning(
        r"Failed status (?:4|9|10)\b|local protection error|remote access error",
        True,
        "The NIC may not read or write this GPU's memory: ACS on PCIe bridges or the IOMMU redirects it, or the BIOS places the GPU's memory where the NIC "
        "does not reach it. From host memory the same rail is judged by write_bw_per_rail.",
        "See acs_as_expected and iommu_as_expected of layer 0, turn ACS off on the bridges between NIC and GPU (BIOS, setpci), and compare the BIOS (MMIO "
        "base) and nvidia-smi topo -m with a good host's.",
    ),
    Meaning(
        r"Failed status [12]\b|local (?:length|QP operation) error",
        None,
        "This host's own NIC refused what the test told its queue pair to do (a local error), before anything reached the network: its driver, library of "
        "verbs and firmware do not fit each other, an option (inline data, number of entries) is beyond the NIC, or its firmware is in a bad state.",
        "Compare driver, rdma-core and firmware of this NIC with a host whose tests end well, read the kernel's log of that time, start the test by hand with "
        "its plainest options; reset the NIC or power-cycle the host where nothing differs.",
    ),
    Meaning(
        r"Failed status 11\b|remote operation error",
        True,
        "The far end's NIC could not do what was asked of it, so that the error is of that host and is printed by the near one: it did not reach the memory of "
        "its GPU (ACS, the IOMMU, where the BIOS places it), or its driver or firmware failed.",
        "On the host that all failing tests have in common read the kernel's log, see acs_as_expected, iommu_as_expected and gpudirect_available of layer 0, "
        "and compare BIOS (MMIO base), driver and firmware with a host that is well.",
    ),
    Meaning(
        r"Couldn't listen to port",
        None,
        "Another process of the host listens at the port of the test: a server of perftest that somebody left behind, or another service. This proves nothing "
        "of the network.",
        "Find it on that host (ss -ltnp) and end it if it is nobody's, or give the tests other ports with pod_perftest_port.",
    ),
    Meaning(
        r"IB device \S+ not found|Did not detect devices",
        None,
        "The test ran where the RDMA device is not visible: in a container that was not given it, under another name since a renaming, or without a driver.",
        "Run ibv_devices as the tests do, inside the container where there is one (--device /dev/infiniband, the RDMA device plugin); compare its names with "
        "pod_rails and with the host's.",
    ),
    Meaning(
        r"Port number \d+ state is Down",
        None,
        "The port went down since layer 1: link, optic, cable, or its switch's port.",
        "Look at ibstat, at the kernel's log and at the port of the leaf, then run layers 1 and 4 again.",
    ),
    Meaning(
        r"Failed to modify QP .*to RTR",
        None,
        "The queue pair did not reach its partner: the GID index is of another address, or there is no route or ARP entry for the partner's address.",
        "Compare show_gids of both hosts with pod_gid_index; ping the partner's address from this rail's and look at ip neigh.",
    ),
    Meaning(
        r"Failed to modify QP .*to RTS",
        None,
        "The queue pair was not made ready to send: its driver or firmware refused it, or, with iWARP, whose NICs connect in this step, there is no route or "
        "ARP entry for the partner's address.",
        "Look in the kernel's log of that time for a command of the NIC that failed; ping the partner's address from this rail's and look at ip neigh; compare "
        "driver and firmware of the NIC with a host whose tests end well.",
    ),
    Meaning(
        r"(?:cuMemAlloc|hipMalloc) error=",
        True,
        "The GPU gave the test no memory for its buffer (2: it is used up): another process, or what an ended job left behind, holds it, or the GPU is in a "
        "bad state. It proves nothing of the NIC, of peer memory or of DMA-BUF.",
        "Look at nvidia-smi or amd-smi of that host for processes and used memory of the GPU and end what is nobody's; where nothing is listed, reset the GPU; "
        "then run layer 4 again.",
    ),
    Meaning(
        r"Couldn't allocate MR|Failed to create MR",
        True,
        "The host does not register GPU memory with this NIC: nvidia_peermem is not loaded or not registered, or DMA-BUF is refused (closed driver, kernel).",
        "Look at lsmod for nvidia_peermem, load it again after the RDMA driver, or use the open GPU driver with DMA-BUF; see gpudirect_available of layer 0.",
    ),
    Meaning(
        r"Couldn't allocate MR|Failed to create MR|Couldn't create QP",
        False,
        "The host refuses memory or queue pairs for RDMA: the limit of locked memory of the user or service that starts the tests is too low.",
        "Run ulimit -l as the tests do and set it to unlimited (limits.conf, LimitMEMLOCK of sshd or the launcher); then look at the kernel's log.",
    ),
)


KnownErrors = tuple[KnownError, ...]
# In the order of what says most. What is of the tool, of its options or of its partner's end proves nothing about the network.
PERFTEST_ERRORS: KnownErrors = (
    KnownError("fail", r"does not support the kernel ABI", "the library of verbs does not fit the kernel's module"),
    KnownError("fail", r"IB device \S+ not found", "the host lacks the device"),
    KnownError("fail", r"Did not detect devices", "the host has no RDMA device"),
    KnownError("fail", r"Port number \d+ state is Down", "the port is down"),
    KnownError("fail", r"Failed status (?P<status>\d+)\b", "a completion with an error"),
    KnownError("fail", r"Completion with error", "a completion with an error"),
    KnownError("fail", r"Failed to modify QP .*to RTR", "the queue pair reached no partner: the GID index or the route is wrong"),
    KnownError("fail", r"Failed to modify QP .*to RTS", "the queue pair was not made ready to send"),
    KnownError("unknown", r"Correlation coefficient r\^2", "the clock could not be calibrated, so no rate was measured"),
    KnownError("unknown", r"Couldn't listen to port", "the port of the test is in use"),
    KnownError("unknown", r"Couldn't connect to", "the partner's side of the test could not be reached", PARTNER),
    KnownError("unknown", r"Name or service not known|Problem in resolving", "the partner's address could not be resolved"),
    KnownError("unknown", r"Unexpected CM event", "the connection manager reached no partner"),
    KnownError(
        "unknown",
        r"Couldn't read remote address|Unable to read (?:from|to) socket|Failed to exchange data",
        "the partner's side of the test ended early",
        PARTNER,
    ),
    KnownError(
        "unknown",
        r"unrecognized option|Invalid Command|not available|(?<!Operation )not supported|doesn't support|Unsupported",
        "this build refuses an option",
        UNSUPPORTED_OPTION,
    ),
    KnownError("unknown", r"cuCtxCreate|cuInit\(|cuDeviceGet", "this build cannot use CUDA here"),
    KnownError("unknown", r"init GPU context", "this build cannot use CUDA here"),
    KnownError("unknown", r"(?:cuMemAlloc|hipMalloc) error=\d+", "the GPU gave the test no memory"),
    KnownError("unknown", r"Gid index should be|Unknown rate limit", "this build refuses an option's value"),
    KnownError(
        "unknown",
        r"Couldn't allocate MR|Couldn't create QP|Failed to create|Couldn't get context",
        "the host refuses the memory or the queue pairs",
        CONSEQUENCE,
    ),
)


@dataclass(frozen=True)
class ToolError:
    """A complaint: ``fail`` or ``unknown``, what it reports, the tool's own line, and its kind (of ``KnownError``)."""

    verdict: str
    words: str
    line: str
    kind: str | None = None

    def __str__(self) -> str:
        return f"{self.words} ({self.line})"


def explain_error(*texts: str, known: KnownErrors = PERFTEST_ERRORS) -> ToolError | None:
    """The complaint that says most among the lines of standard error and output; None where there is none that is known."""
    lines = [line.strip() for text in texts for line in text.splitlines()]
    for one in known:
        for line in lines:
            match = re.search(one.pattern, line)
            if match is not None:
                return ToolError(one.verdict, _with_status(one.words, match), shortened(line, MOST_OF_A_LINE), one.kind)
    return None


def explained(text: str, of_gpus: bool = False) -> tuple[str, str] | None:
    """Cause and fix of a complaint that a job's words hold; None where nothing more is known of it.

    of_gpus: whether the test was of GPU memory.
    """
    known = next((one for one in MEANINGS if one.of_gpus in (None, of_gpus) and re.search(one.pattern, text)), None)
    if known is None:
        return None
    # The number of an error of the system says which of the causes it is.
    system = system_error(text)
    cause = f"{in_words(text)}{known.cause}"
    return (f"{system.cause} {cause}", f"{known.fix} {system.fix}") if system else (cause, known.fix)


def _with_status(words: str, match: re.Match[str]) -> str:
    status: t.Any = match.groupdict().get("status")
    return f"{words}: {STATUSES[int(status)]}" if status is not None and int(status) in STATUSES else words
