# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How busy a host's tensor cores are while its ranks work, by what NVIDIA's own monitors print.

A GPU that multiplies without them shows 100 % of utilisation all the same. DCGM reports them wherever its host engine runs, nvidia-smi from the
Hopper generation on; neither has to be there, and what they print is reported as it is.
"""

from __future__ import annotations

import contextlib
import subprocess

# A sample a second. nvidia-smi's first two say nothing yet.
MONITORS = (
    ("dcgmi", "dmon", "-e", "1004", "-d", "1000", "-c"),
    ("nvidia-smi", "dmon", "-s", "u", "--gpm-metrics", "5", "-d", "1", "-c"),
)
# What a pipe holds of 16 GPUs, so that no one has to read it meanwhile; and a monitor whose reader has died ends with its next line.
MOST_SAMPLES = 40
END_GRACE_SECONDS = 3.0


class Watch:
    """The monitors of this host, from now until ``end``."""

    def __init__(self):
        self.processes = []
        for argv in MONITORS:
            with contextlib.suppress(OSError):
                command = [*argv, str(MOST_SAMPLES)]
                self.processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0))

    def end(self):
        """End them by their ids; returns the lines that they printed."""
        lines = []
        for process in self.processes:
            process.terminate()
            try:
                text, _errors = process.communicate(timeout=END_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                text, _errors = process.communicate()
            lines += text.decode("utf-8", "replace").splitlines()
        return lines
