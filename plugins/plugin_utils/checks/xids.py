# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Xids as NVIDIA's catalogue judges them (https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html), its table for Ampere and newer GPUs."""

from __future__ import annotations

import typing as t

from ..readings.rows import Row

# By the catalogue a job's own program causes these; or nothing has to be done at once: a row was remapped, corrected errors are frequent, an error was
# contained in its program, a test message. What they leave behind is read from the GPU itself. Any other is of the GPU, its memory, links or driver.
OF_PROGRAMS = {13, 31, 43, 45, 68, 69, 137}
INFORMING = {63, 92, 93, 94, 106, 107, 121, 160, 162}
# Errors of the NVLinks of Blackwell GPUs by the part that reports them; the line says whether it is fatal, and a nonfatal one the link recovered from.
OF_NVLINKS = range(144, 151)
# The driver sums up in it what the Xids before it ask for.
RECOVERY = 154
NVLINK = 74
NO_RECOVERY = "None"


class Judged(t.NamedTuple):
    """An Xid in words, and how it is judged; severity None: that of the check."""

    words: str
    severity: str | None
    cause: str
    fix: str


CAUSE = "A GPU's memory, its NVLink, its PCIe link or its driver has failed."
FIX = "Look up the Xid in the vendor's catalogue; drain the host, reset the GPU, run the vendor's diagnostics, and replace the GPU where it comes back."
# What an Xid is, its cause, and what the catalogue asks for at once.
KNOWN: dict[int, tuple[str, str, str]] = {
    48: (
        "uncorrectable ECC error", "The GPU's memory has an error that ECC could not correct.",
        "Drain the host, reset the GPU so that the row is remapped, run the vendor's diagnostics, and replace the GPU where it comes back.",
    ),
    63: (
        "row remap recorded", "A row of the GPU's memory failed and a spare row is recorded for it; the remap becomes active with the next reset.",
        "Reset the GPU when no job runs, and look at the spare rows that are left (nvidia-smi -q -d ROW_REMAPPER).",
    ),
    64: (
        "row remap failed", "A row of the GPU's memory failed and no spare row could be recorded for it.",
        "Drain the host and reset the GPU; where nvidia-smi -q -d ROW_REMAPPER reports a remapping failure, replace the GPU.",
    ),
    74: (
        "NVLink error", "An NVLink of the GPU failed, or the GPU or NVSwitch at its other end did.",
        "Compare nvidia-smi nvlink -e of all GPUs and the Fabric Manager's log, reset the GPUs, and replace the part that both ends name.",
    ),
    79: (
        "fallen off the bus", "The GPU no longer responds over PCIe: its power, its seat, a riser or the GPU itself.",
        "Power-cycle the host; where the GPU is lost again, check its power and seat, then replace it.",
    ),
    92: (
        "many corrected ECC errors", "The GPU's memory has many errors that ECC corrects; it may be failing.",
        "Look at nvidia-smi -q -d ECC; where the number grows, run the vendor's diagnostics and hand them to the vendor.",
    ),
    94: (
        "contained ECC error", "The GPU's memory has an error that ECC could not correct; it ended one program, and the others are not affected.",
        "Start that program again, and reset the GPU when no job runs.",
    ),
    95: (
        "uncontained ECC error", "The GPU's memory has an error that ECC could not correct and that may have reached every program on it.",
        "Drain the host and reset the GPU before any job starts; replace the GPU where it comes back.",
    ),
    119: (
        "no response of the GSP", "The GPU's system processor (GSP) does not respond to the driver.",
        "Reset the GPU, or power-cycle the host where that fails; then update the driver, and replace the GPU where it comes back.",
    ),
    140: (
        "unrecovered ECC error", "The GPU's memory has errors that ECC could not correct, and the driver could not mark their rows.",
        "Drain the host and reset the GPU; replace the GPU where it comes back.",
    ),
}  # fmt: skip
RECOVERIES = {
    "Drain P2P": "Stop all jobs that use the GPU's peer access before new ones start, then reset the GPU.",
    "Drain and Reset": "Start no new job on the GPU, wait for or end those on it, then reset it (nvidia-smi --gpu-reset).",
    "Reset": "Drain the host, end all processes on the GPU, and reset it (nvidia-smi --gpu-reset).",
    "Reboot": "Drain the host and reboot it; replace the GPU where it comes back.",
}


def judged_xid(code: int | None, recovery: str | None, severity: str | None = None) -> Judged:
    """An Xid of the kernel's log.

    recovery: of Xid 154 the action that its line asks for, ``None`` in words where none is needed; any other Xid has none.
    severity: ``fatal`` or ``nonfatal`` where its line says so.
    """
    if code == RECOVERY:
        return _recovery(recovery)
    what, cause, fix = KNOWN.get(code or 0, ("", CAUSE, FIX))
    words = f"Xid {code}" + (f" ({what})" if what else "")
    if code in OF_NVLINKS:
        _what, cause, fix = KNOWN[NVLINK]
        words = f"Xid {code} ({severity or 'an unnamed'} NVLink error)"
        return Judged(f"{words}, from which the link recovered", "warn", cause, fix) if severity == "nonfatal" else Judged(words, None, cause, fix)
    if code in OF_PROGRAMS:
        return Judged(f"{words}, caused by a program", "warn", "A job's program made an invalid access, or was ended.", "Look at the job's own log.")
    if code in INFORMING:
        informing = cause if what else "The driver reports an event that needs no action at once."
        return Judged(f"{words}, which only informs", "warn", informing, fix if what else "Look up the Xid in the vendor's catalogue.")
    return Judged(words, None, cause, fix)


def _recovery(action: str | None) -> Judged:
    words = f"Xid {RECOVERY}"
    if action is None:
        cause = "The driver states that the GPU's recovery action changed, and not to what."
        return Judged(f"{words} (recovery action not reported)", "unknown", cause, "Read GPU Recovery Action in nvidia-smi -q of the host.")
    if action == NO_RECOVERY:
        cause = "The driver needs no recovery action of the GPU any more."
        return Judged(f"{words} (recovery action: none), which only informs", "warn", cause, "Look at the Xids before it.")
    cause = "The driver asks for a recovery action of the GPU because of the Xids before it; new jobs on it fail or are wrong until then."
    return Judged(f"{words} (recovery action: {action})", None, cause, RECOVERIES.get(action, FIX))


def latest_recoveries(rows: t.Iterable[Row]) -> list[Row]:
    """The rows without a recovery action that a later one of the same device replaces."""
    kept: list[Row] = []
    seen: set[t.Any] = set()
    for row in reversed(list(rows)):
        changes = row["event"] == "xid" and row["code"] == RECOVERY
        if not changes or row["device"] not in seen:
            kept.append(row)
        if changes:
            seen.add(row["device"])
    return kept[::-1]


def of_gpu(row: t.Mapping[str, t.Any]) -> bool:
    """Whether a row of the kernel's log is an Xid that no job's program caused, and no summary of those before it."""
    return row["event"] == "xid" and row["device"] is not None and row["code"] not in OF_PROGRAMS | {RECOVERY}
