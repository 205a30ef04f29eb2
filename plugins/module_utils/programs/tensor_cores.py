# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tensor cores reach, how busy a host's are while its ranks work, and how its GPUs are clocked, by what NVIDIA's own monitors print.

A GPU that multiplies without them shows 100 % of utilisation all the same. DCGM reports them wherever its host engine runs, nvidia-smi from the
Hopper generation on; neither has to be there, and what they print is reported as it is.
"""

from __future__ import annotations

import contextlib
import subprocess

# What a pipe holds of 16 GPUs, so that no one has to read it meanwhile; and a monitor whose reader has died ends with its next line.
MOST_SAMPLES = "40"
# The older name of clocks_event_reasons, which newer drivers take too.
CLOCKS = "index,pci.bus_id,clocks.sm,clocks.max.sm,temperature.gpu,power.draw,utilization.gpu,clocks_throttle_reasons.active"
# Of tensor cores a sample a second, of which nvidia-smi's first two say nothing yet. Of clocks one in two seconds, until the pipe is full.
CLOCK_QUERY = ("nvidia-smi", "--query-gpu=" + CLOCKS, "--format=csv,noheader,nounits")
MONITORS = (
    ("dcgmi", "dmon", "-e", "1004", "-d", "1000", "-c", MOST_SAMPLES),
    ("nvidia-smi", "dmon", "-s", "u", "--gpm-metrics", "5", "-d", "1", "-c", MOST_SAMPLES),
    (*CLOCK_QUERY, "-l", "2"),
)
# Collectives are timed for seconds, not for minutes.
CLOCKS_ALONE = ((*CLOCK_QUERY, "-lms", "500"),)
END_GRACE_SECONDS = 3.0
# Dense bf16 TFLOP/s by the vendors' datasheets; a GPU that is not listed has no MFU. The first word that is in its name counts: a GB200's has B200, too.
# Of Blackwell half of what they state with sparsity: 5 PFLOP/s in NVL72 racks, 4.5 on HGX boards. AMD's MI350X: 2.3 PFLOP/s, 4.61 with sparsity.
PEAK_TFLOPS = {
    "H100 PCIe": 756, "H100": 989, "H200": 989, "H800": 989, "A100": 312, "A800": 312, "GB200": 2500, "GB300": 2500, "B200": 2250, "B300": 2250,
    "MI300X": 1307, "MI325X": 1307, "MI350X": 2307, "MI355X": 2500,
}  # fmt: skip


def peak_tflops(name):
    """The TFLOP/s of the GPU of a name; None where it is not known."""
    return next((tflops for word, tflops in PEAK_TFLOPS.items() if word in name), None)


class Watch:
    """The monitors of this host, from now until ``end``."""

    def __init__(self, monitors=MONITORS):
        self.processes = []
        for argv in monitors:
            with contextlib.suppress(OSError):
                self.processes.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0))

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
