# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The watch over tensor cores ends the monitors that it starts, whatever they do."""

from __future__ import annotations

import select
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import tensor_cores

# A monitor that says what it was asked and then a line every so often; a stubborn one does not end when it is told to.
MONITOR = """#!{python}
import signal, sys, time
if {stubborn}:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(*sys.argv[1:], flush=True)
while True:
    print("GPU 0  0.6", flush=True)
    time.sleep(0.02)
"""
CLOCKS = f"--query-gpu={tensor_cores.CLOCKS} --format=csv,noheader,nounits -l 2"
Monitors = t.Callable[..., None]


@pytest.fixture
def monitors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Monitors:
    """Puts monitors on a PATH that has no others."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tensor_cores, "END_GRACE_SECONDS", 0.5)

    def put(*names: str, stubborn: bool = False) -> None:
        for name in names:
            (tmp_path / name).write_text(MONITOR.format(python=sys.executable, stubborn=stubborn), encoding="utf-8")
            (tmp_path / name).chmod(0o755)

    return put


def asked(watch: tensor_cores.Watch) -> list[str]:
    """What each monitor was asked, once it waits to be heard."""
    first = []
    for one in watch.processes:
        first.append(one.stdout.readline().decode().strip())
        assert select.select([one.stdout], [], [], 30)[0]
    return first


@pytest.mark.parametrize("stubborn", [False, True])
def test_all_monitors_are_heard_and_ended(monitors: Monitors, stubborn: bool) -> None:
    monitors("dcgmi", "nvidia-smi", stubborn=stubborn)
    watch = tensor_cores.Watch()
    assert asked(watch) == ["dmon -e 1004 -d 1000 -c 40", "dmon -s u --gpm-metrics 5 -d 1 -c 40", CLOCKS]
    lines = watch.end()
    assert [one.poll() for one in watch.processes] == [-9 if stubborn else -15] * 3
    assert len(lines) >= 2 and set(lines) == {"GPU 0  0.6"}


def test_a_host_without_monitors_tells_nothing(monitors: Monitors) -> None:
    watch = tensor_cores.Watch()
    assert (watch.processes, watch.end()) == ([], [])


@pytest.mark.parametrize(
    ("name", "tflops"),
    [
        ("NVIDIA H100 80GB HBM3", 989), ("NVIDIA H100 PCIe", 756), ("NVIDIA B200", 2250), ("NVIDIA GB200", 2500), ("NVIDIA B300 SXM6 AC", 2250),
        ("NVIDIA GB300", 2500), ("AMD Instinct MI350X", 2307), ("AMD Instinct MI355X", 2500), ("NVIDIA L40S", None),
    ],
)  # fmt: skip
def test_a_gpu_has_the_peak_of_its_own_board(name: str, tflops: int | None) -> None:
    assert tensor_cores.peak_tflops(name) == tflops
