# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 6, training: how much of the GPUs the steps use, and what holds them back."""

from __future__ import annotations

import statistics
import typing as t

from ...readings.rows import Peers, Rows
from .. import Finding, NotApplicable, check
from .._grouping import grouped, several, typical
from .._not_measured import not_measured
from .._once import once_for_all_nodes
from ..place import Place, at_gpu, at_rank
from .steps import OWN_COMMAND, enough, spread


def mfu_of(rank: dict[str, t.Any], rows: Rows) -> float | None:
    """The part of its GPU's peak that a rank's steps use, in percent; None where the peak is not known."""
    if not rank["peak_tflops"] or not rank["flops_per_step"] or not rows:
        return None
    mean, _variation = spread(rows)
    return float(rank["flops_per_step"] / (mean / 1e3) / 1e12 / rank["peak_tflops"] * 100)


@check(
    cause="The GPUs wait: for the network, for data, or because one of them is slow; or a small model cannot fill them.",
    fix="Follow mfu_cause. Compare with a baseline of the same model first: real large runs are at 38 to 45 percent, a small GPT at 50 or below.",
    severity="warn",
    needs="load",
    when=(OWN_COMMAND, False),
)
def mfu(training_steps: Rows, training_ranks: Rows, pod_mfu_min_percent: float | None) -> t.Iterator[Finding]:
    """The model FLOP utilisation (MFU) of the steps is at least pod_mfu_min_percent."""
    if pod_mfu_min_percent is None:
        raise NotApplicable("pod_mfu_min_percent is not set")
    steps = enough(training_steps)
    for rank in training_ranks:
        reported = mfu_of(rank, steps.get(rank["rank"], []))
        if reported is None:
            yield Finding(at_rank(rank["rank"]), f"{pod_mfu_min_percent:g} %", f"not reported: the peak of {rank['device']} is not known", "unknown")
        elif reported < pod_mfu_min_percent:
            yield Finding(at_rank(rank["rank"]), f"{pod_mfu_min_percent:g} % or more", f"{reported:.3g} %")


@check(
    cause="The steps compute without tensor cores, or the GPU waits most of the time. A GPU is 100 % utilised in both cases.",
    fix="Follow mfu_cause. Where this GPU computes for long, look for what takes bf16 from its kernels: the site's torch, its libraries, variables.",
    needs="load",
    when=(OWN_COMMAND, False),
)
def tensor_core_active(training_ranks: Rows, tensor_activity: Rows, pod_tensor_active_min_percent: float) -> t.Iterator[Finding]:
    """While the steps run, the tensor cores of every rank's GPU are active for {pod_tensor_active_min_percent} percent of the time or more."""
    ranks = [row for row in training_ranks if row["backend"] == "nccl"]
    if not training_ranks:
        raise not_measured("no rank was started")
    if not (ranks and tensor_activity):
        raise NotApplicable("tensor core activity: not reported by DCGM's host engine, nor by nvidia-smi (Hopper generation or later)")
    reported = sorted(((statistics.median(row["tensor_percent"] for row in rows), gpu) for gpu, rows in grouped(tensor_activity, "gpu").items()), reverse=True)
    if len(reported) < len(ranks):
        yield Finding(Place("tensor cores"), f"those of {len(ranks)} GPUs", f"those of {len(reported)}", "unknown")
    # A rank reports no index of nvidia-smi's: where a host has more GPUs than ranks, the busiest are theirs.
    for gpu, middle in sorted((gpu, middle) for middle, gpu in reported[: len(ranks)]):
        if middle < pod_tensor_active_min_percent:
            used = [row["utilisation_percent"] for row in tensor_activity if row["gpu"] == gpu and row["utilisation_percent"] is not None]
            at = f" at a utilisation of {statistics.median(used):g} %" if used else ""
            yield Finding(at_gpu(gpu), f"active for {pod_tensor_active_min_percent:g} % of the time or more", f"{middle:.3g} %{at}")


# What steps wait for, and what follows from it.
WAITING = (
    ("data", "Steps wait for training data: the storage or the host's client of it is slower than the GPUs.",
     "Look at the mount, the client's settings and the load of the storage, and compare dataset_feeds of this host with another's."),
    ("the network", "Steps wait for the gradients of other ranks for longer than the slowest rank computes: the network is slow.",
     "Run layers rdma and collectives over these hosts, and compare the step's time with their all-reduce bandwidth."),
)  # fmt: skip


@once_for_all_nodes
def _slowest(of_peers: Peers) -> dict[tuple[t.Any, int], float]:
    """For how many milliseconds the slowest rank of a run computed in each step, by run and step."""
    longest: dict[tuple[t.Any, int], float] = {}
    for rows in of_peers.values():
        for row in rows:
            if row["compute_ms"] is not None:
                place = (row["item"], row["step"])
                longest[place] = max(longest.get(place, 0.0), row["compute_ms"])
    return longest


@check(
    cause="The GPU computes more slowly than the group's: lower clocks, a power limit, heat, or another process on it.",
    fix="Compare clocks, power and temperature of the named rank's GPU with another one's (nvidia-smi -q -d CLOCK,POWER,TEMPERATURE).",
    scope="group",
    severity="warn",
    needs="load",
    when=(OWN_COMMAND, False),
)
def mfu_cause(
    training_ranks: Peers, training_steps: Peers, training_steps_of_peers: Peers, pod_median_percent: float, pod_waiting_warn_percent: float
) -> t.Iterator[Finding]:
    """Every GPU computes at {pod_median_percent} percent of its group's median or more; steps wait {pod_waiting_warn_percent} percent at most."""
    several(training_ranks)
    rates = {(host, row["rank"]): row["gemm_tflops"] for host, rows in training_ranks.items() for row in rows if row["gemm_tflops"] is not None}
    middle = typical(rates.values())
    for (host, rank), rate in rates.items():
        if rate < middle * pod_median_percent / 100:
            yield Finding(at_rank(rank), f"{middle * pod_median_percent / 100:.4g} TFLOP/s or more, as its group", f"{rate:.4g}: computation", host=host)
    slowest = _slowest(training_steps_of_peers)
    for host, rows in training_steps.items():
        parts = [row for row in rows if row["compute_ms"] is not None and row["other_ms"] is not None]
        if not parts:
            continue
        # What a rank waited until the slowest one had computed is a finding of that rank alone (slow_rank).
        network = [max(0.0, row["other_ms"] - max(0.0, slowest[row["item"], row["step"]] - row["compute_ms"])) / row["step_ms"] for row in parts]
        shares = {"data": [row["data_ms"] / row["step_ms"] for row in parts], "the network": network}
        for words, cause, fix in WAITING:
            waiting = statistics.median(shares[words]) * 100
            if waiting > pod_waiting_warn_percent:
                yield Finding(
                    Place(f"steps of {host}", peers=(host,)),
                    f"at most {pod_waiting_warn_percent:g} % of waiting for {words}",
                    f"{waiting:.3g} %",
                    host=host,
                    cause=cause,
                    fix=fix,
                )
