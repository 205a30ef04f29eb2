# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages with which launchers report that a process of a host was not started or was ended, which say less than what that process printed."""

from __future__ import annotations

from .types import LauncherError

_CRASHED = (
    "A process of the host that the line names crashed or aborted by itself: Segmentation fault is signal 11, Bus error 7, Illegal instruction 4, Floating "
    "point exception 8 and Aborted 6. The launcher then ended the others."
)
_LOOK = (
    "Read what that rank printed before this line, and look in its host's kernel log of that time for segfault, trap and Xid, which name the library or GPU; "
    "compare driver, libraries and image with another host's."
)
_KILLED = "by the kernel for want of memory, by the scheduler at a limit, or since tasks of another host had ended."
_LOOK_FOR_MEMORY = (
    "Look at oom-kill in the kernel's log of the host that it names, at the job's memory and time (sacct -j), and at which host's tasks ended first."
)
# Where nothing else says why: which of its tasks is the first to be printed is the order in which they ended.
EXITED = LauncherError(
    r"tasks? [\d,-]+: Exited with exit code [1-9]",
    "A task of the host that the line names ended by itself with that status, as the first of those that the launcher reports, and no line of this log "
    "says why.",
    "Read what that task printed on its own host (srun --output with %t, torchrun --log-dir --tee 3 keep one log for each), and look in the kernel's log there "
    "at that time.",
)
# The first that matches is the one.
ENDED_TASKS: tuple[LauncherError, ...] = (
    LauncherError(
        r"[Pp]rolog (?:failed|hung|error|failure)",
        "The prolog of the job failed or hung on the host that the line names, so that slurmd there starts nothing: Prolog or TaskProlog of slurm.conf is "
        "missing there or ended with an error, such as of a check of its GPUs. Slurm drains the host for it.",
        "On that host read slurmd's log, which names the script and its status, and run the script by hand; sinfo -R has the reason, and scontrol update with "
        "State=RESUME readmits the host.",
    ),
    LauncherError(
        r"Task launch for \S+ failed on node",
        "slurmd of the host that the line names refused to start the step, for the reason at the end of the line.",
        "On that host read slurmd's log of that time, and compare its version, slurm.conf and cgroup.conf with a good host's.",
        speaker=True,
    ),
    LauncherError(r"tasks? [\d,-]+: Killed\b", f"Tasks of a host were killed (signal 9): {_KILLED}", _LOOK_FOR_MEMORY),
    # Hydra reports in a box of its own, with the host in another line of it.
    LauncherError(
        r"(?:on node \S+ exited on signal|KILLED BY SIGNAL:) 9\b|EXIT STRING: Killed",
        f"A process of the host that the lines name was killed (signal 9): {_KILLED}",
        _LOOK_FOR_MEMORY,
    ),
    LauncherError(
        r"tasks? [\d,-]+: (?:Segmentation fault|Bus error|Illegal instruction|Floating point exception|Aborted)\b|"
        r"noticed that process rank \d+ with PID \d+ on node|KILLED BY SIGNAL: \d|EXIT STRING: \S",
        _CRASHED,
        _LOOK,
    ),
    EXITED,
)
