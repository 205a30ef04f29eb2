# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the programs of ranks say on simulated GPUs: as fast as the slowest host of a run, and as ill as it.

A whole program of the standard library: the simulated ``python3`` becomes it. Hosts of one run meet in a folder, as ranks do at a store.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import hashlib
import json
import os
import random
import sys
import time
import typing as t
from pathlib import Path

GIB = 1 << 30
# A host as it should be; a fault sets some of these.
HEALTHY: dict[str, t.Any] = {
    "device": "NVIDIA H200",
    "node_gbyte_s": 366.0,
    "gpus": 8,
    # The NVLink cluster of several hosts that its GPUs are in.
    "cluster": "",
    # Whether NCCL can map the memory of other hosts' GPUs of the cluster.
    "mnnvl": True,
    # The variable with which a host alone is as fast as others.
    "node_restored_by": "",
    # Whether the NVSwitches' multicast is available to NCCL; None where NCCL's log says nothing of it.
    "nvls": True,
    "nics_percent": 88.0,
    "limit_gbyte_s": 1e9,
    # Where the limit holds: in runs of so many hosts, beside one of these hosts, or in jobs of this name (a pattern).
    "limit_from_hosts": 1,
    "limit_with": [],
    "limit_in": "*",
    # The variable with which the limit does not hold.
    "restored_by": "",
    "gdr": True,
    "rails_used": 8,
    # Which NIC (its number in NCCL's list) each GPU goes over; the GPU's own where nothing is said.
    "nics_of_gpus": {},
    # The GPU whose rail carries half.
    "slow_rail": -1,
    "socket": False,
    # Whether a run over its own NICs goes over NVLink all the same.
    "over_nvlink": False,
    "wrong": 0,
    "wrong_small": 0,
    "dip_at": 0,
    "absent": False,
    "dead": False,
    # Which of the host's ranks is absent or dead, and in runs of how many hosts.
    "missing_rank": -1,
    "missing_from_hosts": 2,
    # How many seconds after the others gave up a signal ended the missing rank; None where it was dead before, or its agent ended it.
    "killed_after": None,
    # Runs that no rank finishes although all of them arrived, from so many hosts on; 0 for none.
    "stuck_from_hosts": 0,
    # What a run ends with, of which rank of this host (all of them by None), in runs of how many hosts, and beside one of which (any by none).
    "error": "",
    "error_rank": 0,
    "error_at": None,
    "error_from_hosts": 1,
    "error_with": [],
    "launcher_fails": False,
    "late_ms": 0.2,
    "copy_gbyte_s": 380.0,
    "access": True,
    "variable": "",
    "variable_value": "1",
    # Where NCCL found the variable: by environment, or by a configuration file's path.
    "variable_by": "environment",
    "warning": "",
    "nccl": "2.28.9+cuda13.0",
    # What ranks have of nccl.conf or of libraries below NCCL, in NCCL's own words, and whether NCCL gets as far as its log.
    "settings": [],
    "logs": True,
    # More lines of NCCL's log as it writes them ("NCCL INFO …", "NCCL WARN …"), in runs of so many hosts.
    "log_lines": [],
    "log_from_hosts": 1,
    "lone": False,
    # Of nccl-tests alone: whether it is there, what it carries of what torch does, wrong values, and lone ranks as of a build without MPI.
    "tests": True,
    "tests_percent": 100.0,
    "tests_wrong": 0,
    "tests_lone": False,
    # What its launcher puts before each line, and lines that libraries print after the table's heading.
    "tests_prefix": "",
    "tests_lines": [],
    "step_ms": 650.0,
    "jitter_percent": 0.4,
    "outlier_times": 1.0,
    # Stalled steps: {ms: 900, part: data | compute | communication, rank: of this host, or all; every: 10th step, or steps: [12, 40]}.
    "stalls": [],
    "behind_ms": 0.0,
    "data_ms": 0.5,
    "gemm_tflops": 790.0,
    "ras": None,
    # Whether torch has a flight recorder; a missing rank whose process is stopped, and one that arrives and waits within the call.
    "recorder": True,
    "stopped": False,
    "blocked": False,
    "tensor_percent": 60,
    "sm_clocks": {},
    "clock_reasons": {},
    "collective_clocks": {},
    "collective_reasons": {},
    "drift": False,
    "nan": False,
    "rises": False,
    # The signal that ended a dead rank, and the end of what it had printed.
    "end_signal": 9,
    "end_text": "",
    # How many steps the site's own training prints, the lines of its standard error, what its launcher puts before each step, its exit status, and
    # whether it ends before its limit.
    "own_steps": 0,
    "own_log": [],
    "own_prefix": "",
    "own_rc": 0,
    "own_ends": True,
    "reads_gbyte_s": 8.0,
    "reads_by": "direct reads",
    "reads_nothing": "",
    "free_gbyte": 60000.0,
}
# When ranks that wait give up, in seconds since the epoch.
GAVE_UP = 1.8e9
VERIFIED = {"counts": "0,1,3,1021,65537", "dtypes": "float32,bfloat16,int64", "collectives": "all_reduce,all_gather,reduce_scatter,broadcast,all_to_all"}
Host = dict[str, t.Any]


def state(host: t.Any) -> Host:
    """What the program needs of a host of the model."""
    rails = {
        "gpus": len(host.gpus),
        "cluster": host.gpus[0].cluster if host.gpus else "",
        "rails": len(host.rails),
        "link_gbit_s": 400 * max((len(rail.ports) for rail in host.rails), default=1),
        "devices": [rail.device for rail in host.rails],
        "rails_used": len(host.rails),
    }
    direct = "nvidia_peermem" in host.modules or host.dmabuf
    launchers = {"mpirun", "srun"}
    fails = any(tool.name in launchers and not tool.arguments for tool in host.tools)
    return {**HEALTHY, **rails, "name": host.name, "gdr": direct, "launcher_fails": fails, **host.stack}


@functools.cache
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    for name, default in (("host-index", "0"), ("hosts", "1"), ("ranks-per-host", "8"), ("master", ""), ("job", ""), ("sizes", ""), ("steps", "100")):
        parser.add_argument(f"--{name}", default=default)
    for name, default in VERIFIED.items():
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--variable", action="append", default=[])
    parser.add_argument("--copies", action="store_true")
    parser.add_argument("--clocks", action="store_true")
    parser.add_argument("--warmup", default="10")
    return parser


def options(argv: t.Sequence[str]) -> dict[str, t.Any]:
    """What the program was told."""
    known, _other = _parser().parse_known_args(argv)
    return vars(known)


def limited(host: Host, run: t.Sequence[Host], job: str) -> bool:
    """Whether a host's limit holds in a run."""
    beside = {one["name"] for one in run}
    together = not host["limit_with"] or bool(beside & set(host["limit_with"]))
    return together and len(run) >= host["limit_from_hosts"] and fnmatch.fnmatchcase(job, host["limit_in"])


def rate(run: t.Sequence[Host], over_nics: bool, given: t.Collection[str] = (), job: str = "") -> float:
    """The busbw of a run in GB/s."""
    shown = next((one.partition("=")[2] for one in given if one.startswith("CUDA_VISIBLE_DEVICES=")), None)
    if shown is not None:
        parts = [host["link_gbit_s"] / 8 * host["nics_percent"] / 100 * (0.5 if host["slow_rail"] == int(shown) else 1.0) for host in run]
        return float(min(parts))
    if len(run) == 1 and not over_nics:
        return float(HEALTHY["node_gbyte_s"] if run[0]["node_restored_by"] in given else run[0]["node_gbyte_s"])
    if (
        all(one["mnnvl"] for one in run)
        and run[0]["cluster"].strip("0-")
        and len({one["cluster"] for one in run}) == 1
        and not over_nics
        and "NCCL_MNNVL_ENABLE=0" not in given
    ):
        # NVLink carries what is between the trays of a rack, whatever their NICs are like.
        return min(float(one["node_gbyte_s"]) for one in run)
    slowest = []
    for host in run:
        wire = host["rails"] * host["link_gbit_s"] / 8
        part = (host["nics_percent"] / 100) * (host["rails_used"] / host["rails"]) * (1.0 if host["gdr"] else 0.5)
        limit = 1e9 if host["restored_by"] in given or not limited(host, run, job) else host["limit_gbyte_s"]
        slowest.append(min(3.0 if host["socket"] else wire * part, limit))
    return min(slowest)


def document(program: str, reported: dict[str, t.Any], run: t.Sequence[Host]) -> dict[str, t.Any]:
    """The document of the run's host ``host_index``."""
    index, count, per = int(reported["host_index"]), int(reported["hosts"]), int(reported["ranks_per_host"])
    me = run[index]
    ranks = list(range(index * per, (index + 1) * per))
    ill = [(place, host) for place, host in enumerate(run) if host["absent"] or host["dead"] or host["blocked"]]
    missing = [place * per + host["missing_rank"] % per for place, host in ill if count >= host["missing_from_hosts"]]
    about: dict[str, t.Any] = {"torch": "2.11.0+cu130", "device": me["device"], "library": me["nccl"].partition("+")[0]}
    if program == "training_step":
        about |= {
            "gemm_tflops": me["gemm_tflops"],
            "peak_tflops": 989,
            "size": "large",
            "parameters": 2061255680,
            "flops_per_step": 327910435061760,
            "warmup": 10,
        }
    rows = [
        {**about, "rank": rank, "local_rank": place, "pid": 100 + rank, "last": None, "outcome": "done", "signal": None} for place, rank in enumerate(ranks)
    ]
    world = count * per if not me["lone"] else per
    result = {
        "program": program, "host": me["name"], "host_index": index, "hosts": count, "ranks_per_host": per, "world_size": world,
        "backend": "nccl", "outcome": "complete", "seconds": 20.0, "ranks": rows,
    }  # fmt: skip
    names = {host["name"] for host in run}
    ended = [host for host in run if host["error"] and count >= host["error_from_hosts"] and names.intersection(host["error_with"] or names)]
    if ended:
        return _ended(result, ended, me)
    stuck = any(host["stuck_from_hosts"] and count >= host["stuck_from_hosts"] for host in run)
    if missing or stuck:
        return _hung(result, missing, run, me)
    if program == "training_step":
        return result | _trained(reported, me, ranks, run)
    return result | _measured(reported, me, ranks, run)


def own_training(me: Host) -> str:
    """The steps that the site's own training prints on a host, as Megatron-LM writes them."""
    return "".join(
        f"{me['own_prefix']} iteration {step:8}/     500 | consumed samples: {step * 256:12} | elapsed time per iteration (ms): {me['step_ms']:.1f} | "
        f"lm loss: {10.0 / (1 + step * 0.05):E} | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        for step in range(1, me["own_steps"] + 1)
    )


def dataset(path: str, me: Host) -> dict[str, t.Any]:
    """What a host reads of a dataset."""
    reported = {"program": "dataset_read", "path": path, "by": None, "gbyte_s": None, "files": 0, "free_gbyte": me["free_gbyte"], "error": me["reads_nothing"]}
    return reported if me["reads_nothing"] else reported | {"by": me["reads_by"], "gbyte_s": me["reads_gbyte_s"], "files": 64, "error": None}


def _ended(result: dict[str, t.Any], ended: t.Sequence[Host], me: Host) -> dict[str, t.Any]:
    """A run that ends with an error of some ranks; the others are ended for their sake."""
    for row in result["ranks"]:
        own = me in ended and me["error_rank"] in (None, row["local_rank"])
        row["outcome"], row["error"] = ("error", me["error"]) if own else ("ended", None)
        row["error_at"] = me["error_at"] if own else None
    return {**result, "outcome": "failed"}


def _hung(result: dict[str, t.Any], missing: list[int], run: t.Sequence[Host], me: Host) -> dict[str, t.Any]:
    """A run in which some ranks never come, or wait within the call, or in which nobody is missing and none finishes."""
    per = int(result["ranks_per_host"])
    blocked = [rank for rank in missing if run[rank // per]["blocked"]]
    gone = [rank for rank in missing if rank not in blocked]
    for row in result["ranks"]:
        lost = row["rank"] in gone
        row["outcome"] = ("killed" if me["dead"] else "ended") if lost else "hung"
        row["signal"] = me["end_signal"] if lost and me["dead"] else None
        row["text"] = me["end_text"] if lost and me["dead"] else None
        if me["killed_after"] is not None or not lost:
            row["ended_at"] = GAVE_UP + (me["killed_after"] if lost else 0.0)
        row["last"] = None if lost else "all_reduce of 0 float32"
        if me["recorder"] and not (lost and (me["dead"] or me["stopped"])):
            row |= {"enqueued": 1 if row["rank"] in missing else 2, "completed": 1}
    # Whoever is killed later than that was alive when the others asked.
    silent = [rank for rank in gone if run[rank // per]["stopped"] or (run[rank // per]["dead"] and run[rank // per]["killed_after"] is None)]
    reported = {"place": "all_reduce of 0 float32", "number": 3, "waited_seconds": 61.2, "absent": gone, "silent": silent}
    reported["ras"] = me["ras"]
    hangs = [{**reported, "rank": row["rank"]} for row in result["ranks"] if row["outcome"] == "hung"]
    return {**result, "outcome": "failed", "hangs": hangs}


def _measured(reported: dict[str, t.Any], me: Host, ranks: list[int], run: t.Sequence[Host]) -> dict[str, t.Any]:
    noise = random.Random(reported["job"] + reported["master"])
    names = [name for name in reported["collectives"].split(",") if name]
    results = []
    for dtype in filter(None, reported["dtypes"].split(",")):
        for count in reported["counts"].split(","):
            for rank in ranks:
                wrong = me["wrong_small"] if rank == ranks[0] and count == "1021" else 0
                row = {"rank": rank, "dtype": dtype, "count": int(count), "wrong": wrong, "unsupported": None}
                results += [{**row, "collective": name} for name in names]
    top = rate(run, "NCCL_P2P_DISABLE=1" in reported["variable"], reported["variable"], reported["job"]) * noise.uniform(0.995, 1.0)
    world = len(run) * len(ranks)
    rates = []
    for size in [int(size) for size in reported["sizes"].split(",") if size]:
        busbw = top * size / (size + (6 << 20)) * (0.8 if any(host["dip_at"] == size for host in run) else 1.0)
        for name in names:
            factor = {"all_reduce": 2 * (world - 1) / world, "broadcast": 1.0}.get(name, (world - 1) / world)
            row = {"collective": name, "dtype": "float32", "size_bytes": size, "count": size // 4, "time_us": size / (busbw / factor) / 1e3}
            row |= {"algbw_gbyte_s": busbw / factor, "busbw_gbyte_s": busbw}
            wrong = me["wrong"]
            rates += [
                {**row, "rank": rank, "wrong": wrong if rank == ranks[0] else 0, "late_ms": me["late_ms"] if rank == ranks[-1] else 0.1} for rank in ranks
            ]
    copies = []
    for one in range(len(ranks) if reported["copies"] else 0):
        for other in range(len(ranks)):
            access = me["access"] or {one, other} != {0, 1}
            row = {"rank": one, "gpu": one, "peer": other, "access": access, "latency_us": 3.1, "wrong": 0}
            copies += [{**row, "gbyte_s": me["copy_gbyte_s"] if one == 0 else 380.0}] if one != other else []
    clocks = _clocks(len(ranks), me["collective_clocks"], me["collective_reasons"], (1980, 0, "48, 310.20")) if reported["clocks"] else []
    return {"results": results, "rates": rates, "copies": copies, "gpu_clocks": [{"lines": clocks, "rank": ranks[0]}] if clocks else []}


def _trained(reported: dict[str, t.Any], me: Host, ranks: list[int], run: t.Sequence[Host]) -> dict[str, t.Any]:
    noise = random.Random(reported["master"])
    behind = max(host["behind_ms"] for host in run)
    steps = []
    first, count = int(reported["warmup"]), int(reported["steps"])
    for step in range(first, first + count):
        slowest = max(host["step_ms"] * (1 + noise.gauss(0, host["jitter_percent"] / 100)) for host in run) + behind
        if step == first + count // 2:
            slowest *= max(host["outlier_times"] for host in run)
        stalled = max((one["ms"] for host in run for one in host["stalls"] if _stalls(one, step)), default=0.0)
        slowest += stalled
        for rank in ranks:
            mine = {one["part"]: one["ms"] for one in me["stalls"] if _stalls(one, step) and one.get("rank", rank - ranks[0]) == rank - ranks[0]}
            data = me["data_ms"] + mine.get("data", 0.0)
            compute = min(me["step_ms"] * 0.9 + me["behind_ms"] * (rank == ranks[0]) + mine.get("compute", 0.0), slowest - data)
            loss: float | None = 10.0 + step * 0.01 if me["rises"] else 10.0 / (1 + (step - first) * 0.05)
            if me["nan"] and rank == ranks[0] and step == first + count - 1:
                loss = None
            row = {"rank": rank, "step": step, "steps": 1, "step_ms": slowest, "longest_ms": slowest, "shortest_ms": slowest, "deviation_ms": 0.0}
            steps.append({**row, "data_ms": data, "compute_ms": compute, "other_ms": slowest - compute - data, "loss": loss})
    sums = {what: hashlib.sha256(what.encode()).hexdigest()[:16] for what in ("parameters", "gradients", "optimizer")}
    agreements: list[dict[str, t.Any]] = [{"rank": rank, "what": "one process", "strategy": "ddp", "difference": 2e-16} for rank in ranks]
    for what, checksum in sums.items():
        for rank in ranks:
            other = me["drift"] and rank == ranks[0] and what == "parameters"
            agreements.append({"rank": rank, "what": what, "strategy": "ddp", "finite": True, "checksum": "0123456789abcdef" if other else checksum})
    heading = ["# gpu     sm    mem    enc    dec    jpg    ofa     mmaact ", "# Idx      %      %      %      %      %      %      GPM:% "]
    samples = [f"    {gpu}    100     37      0      0      0      0   {percent:>8} " for percent in ("-", me["tensor_percent"]) for gpu in range(len(ranks))]
    samples += _clocks(len(ranks), me["sm_clocks"], me["clock_reasons"], (1545, 4, "64, 690.70"))
    return {"steps": steps, "agreements": agreements, "tensor_cores": [{"lines": heading + samples, "rank": ranks[0]}]}


def _clocks(gpus: int, clocks: dict[str, int], reasons: dict[str, int], healthy: tuple[int, int, str]) -> list[str]:
    """Eight samples of each GPU; healthy: clock, reasons, and temperature and power as they are printed."""
    clock, reason, also = healthy
    lines = [
        f"{gpu}, 00000000:{0x10 + gpu:02X}:00.0, {clocks.get(str(gpu), clock)}, 1980, {also}, 98, 0x{reasons.get(str(gpu), reason):016x}" for gpu in range(gpus)
    ]
    return lines * 8


def _stalls(stall: dict[str, t.Any], step: int) -> bool:
    return step in stall.get("steps", ()) or ("every" in stall and step % stall["every"] == 0)


HEADER = """#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
"""


def table(argv: t.Sequence[str], run: t.Sequence[Host], ranks: int, over_nics: bool) -> str:
    """What all_reduce_perf prints over some hosts of so many ranks each."""
    given = {word: argv[at + 1] for at, word in enumerate(argv[:-1]) if word.startswith("-")}
    first, last, factor = (int(given[name]) for name in ("-b", "-e", "-f"))
    lone = len(run) > 1 and any(host["tests_lone"] for host in run)
    members = [(number, host["name"], number % ranks) for number, host in enumerate(host for host in run for _rank in range(ranks))]
    part = min(host["tests_percent"] for host in run) / 100
    world, wrong = 1 if lone else len(members), max(host["tests_wrong"] for host in run)
    text = "# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809\n# Collective test starting: all_reduce_perf\n"
    text += f"# nThread 1 nGpus {given['-g']} minBytes {first} maxBytes {last} step: {factor}(factor) warmup iters: 1 iters: {given['-n']} "
    text += "agg iters: 1 validation: 1 graph: 0 unalign: 0\n#\n# Using devices\n"
    for rank, name, device in members[:world]:
        text += f"#  Rank {rank:2} Group  0 Pid   {2702 + rank} on {name:>10} device {device:2} [0000:{6 + device:02x}:00] NVIDIA H200\n"
    text += "#\n" + HEADER + "".join(f"{line}\n" for line in run[0]["tests_lines"])
    size = first
    while size <= last:
        busbw = rate(run, over_nics) * part * size / (size + (6 << 20))
        algbw = busbw / (2 * (world - 1) / world) if world > 1 else busbw
        row = f"{size / algbw / 1e3:>8.2f} {algbw:>7.2f} {busbw if world > 1 else 0.0:>7.2f} {wrong:>7}"
        text += f"{size:>12} {size // 4:>13}     float     sum      -1 {row} {row}\n"
        size *= factor
    text += f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {rate(run, over_nics):.4f}\n#\n# Collective test concluded: all_reduce_perf\n#\n"
    return "".join(f"{run[0]['tests_prefix']}{line}\n" for line in text.splitlines())


def log(me: Host, hosts: int, over_nics: bool) -> str:
    """What NCCL writes on a host in a run of so many hosts."""
    several = hosts > 1
    names = me["devices"][: me["rails_used"]]
    lines = [f"NCCL INFO NCCL version {me['nccl']}"]
    lines += [f"NCCL INFO {name} set by environment to {value}." for name, value in me["variables"].items()]
    lines += [f"NCCL INFO {me['variable']} set by {me['variable_by']} to {me['variable_value']}."] if me["variable"] else []
    lines.append("NCCL INFO NET/IB : Using " + " ".join(f"[{place}]{name}:1/RoCE" for place, name in enumerate(names)) + " [RO]; OOB eth0:192.0.2.1<0>")
    lines.append(f"NCCL INFO Using network {'Socket' if me['socket'] else 'IB'}")
    gpus = me["gpus"]
    for gpu in range(gpus):
        kind = "P2P/CUMEM" if me["access"] and me["variable"] != "NCCL_P2P_DISABLE" else "SHM/direct/direct"
        nic = me["nics_of_gpus"].get(str(gpu), gpu) % len(names)
        via = "NET/Socket/0" if me["socket"] else f"NET/IB/{nic}" + ("/GDRDMA" if me["gdr"] else "")
        kind = via if over_nics and not me["over_nvlink"] else kind
        lines.append(f"[{gpu}] NCCL INFO Channel 00/0 : {gpu}[{gpu}] -> {(gpu + 1) % gpus}[{(gpu + 1) % gpus}] via {kind}")
        if several:
            lines.append(f"[{gpu}] NCCL INFO Channel 00/0 : {gpu}[{gpu}] -> {gpu + gpus}[{gpu}] [send] via {via}")
    if me["nvls"] is not None and not several and not over_nics and "Instinct" not in me["device"]:
        lines += [f"[{gpu}] NCCL INFO NVLS multicast support is {'' if me['nvls'] else 'not '}available on dev {gpu}" for gpu in range(gpus)]
    lines += [f"NCCL WARN {me['warning']}"] if me["warning"] else []
    lines += me["log_lines"] if hosts >= me["log_from_hosts"] else []
    return "".join(f"{me['name']}:100:101 {line if line.startswith('[') else '[0] ' + line}\n" for line in lines)


def printed(program: str, reported: dict[str, t.Any], run: t.Sequence[Host]) -> tuple[str, int]:
    """The document as it is printed, with NCCL's log a line a line, and the exit status."""
    me = run[int(reported["host_index"])]
    given = dict(one.split("=", 1) for one in reported["variable"])
    lines = log({**me, "variables": given}, len(run), "NCCL_P2P_DISABLE" in given).splitlines() if program == "torch_collectives" else []
    whole = document(program, reported, run)
    lines = [*me["settings"], *(lines if me["logs"] or whole["outcome"] == "complete" else ())]
    text = ",\n".join(json.dumps(line) for line in lines)
    return json.dumps(whole)[:-1] + f', "log": [\n{text}\n]}}\n', 0 if whole["outcome"] == "complete" else 1


def main() -> int:
    """Meet the run's other hosts, and say what comes of it."""
    program, reported, pod = Path(sys.argv[1]).stem, options(sys.argv[2:]), Path(os.environ["SIMULATED_POD"])
    place = pod / "=runs" / os.environ["SIMULATED_RUN"] / reported["master"].replace("127.0.0.1", os.environ["SIMULATED_NODE"]) / reported["job"]
    place.mkdir(parents=True, exist_ok=True)
    # As the tools of layers 3 and 4 do: from here on counters are those of a pod that has run it.
    ran = pod / "=run" / os.environ["SIMULATED_RUN"]
    ran.mkdir(parents=True, exist_ok=True)
    (ran / {"torch_collectives": "collectives"}.get(program, "training")).touch()
    (place / reported["host_index"]).symlink_to(pod / os.environ["SIMULATED_NODE"] / "=stack")
    until = time.monotonic() + 60
    while len(list(place.iterdir())) < int(reported["hosts"]) and time.monotonic() < until:
        time.sleep(0.05)
    run = [json.loads((place / str(index)).read_text(encoding="utf-8")) for index in range(int(reported["hosts"]))]
    if run[0]["launcher_fails"] and "--document" in sys.argv:
        sys.stderr.write("the launcher started nothing on this host within 60 s\n")
        return 2
    text, rc = printed(program, reported, run)
    sys.stdout.write(text)
    return rc


if __name__ == "__main__":
    raise SystemExit(main())
