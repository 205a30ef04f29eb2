# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What genuine outputs of collectives and training must come to; the facts are those of the samples' index."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import ParseError, parse

# file: rows, first and last size, algbw and busbw of the last row out of place and in place, ranks, average
TABLES: dict[str, tuple] = {
    "nccl_tests/sb_1node_8gpu_allreduce": (34, 0, 8589934592, 134.44, 235.26, 134.30, 235.03, 8, 68.4048),
    "nccl_tests/sb_1node_alltoall": (34, 0, 8589934592, 256.36, 224.31, 258.47, 226.16, 8, 58.6481),
    "nccl_tests/deepops_4xdgxa100_old_error_col": (13, 1048576, 4294967296, 98.61, 191.05, 98.87, 191.56, 0, 113.289),
    "nccl_tests/aws_p5_2node_taskprefix": (32, 8, 17179869184, 259.78, 487.09, 259.87, 487.26, 0, None),
    "nccl_tests/aws_batch_ompi_tag": (32, 8, 17179869184, 276.03, 483.05, 276.20, 483.35, 0, 156.742),
    "nccl_tests/oci_h100_2node": (5, 1073741824, 17179869184, 251.32, 471.22, 251.07, 470.75, 16, 464.075),
    "nccl_tests/coreweave_h100_64_sharp": (5, 536870912, 8589934592, 195.31, 386.56, 194.81, 385.56, 0, 373.187),
    "nccl_tests/azure_ipoib_slow": (16, 8, 8589934592, 1.68, 3.15, 1.65, 3.09, 0, 1.38997),
    "nccl_tests/nebius_2x8_h100_v217": (31, 8, 8589934592, 249.36, 467.54, 249.85, 468.46, 0, 125.499),
    "nccl_tests/roce_1node_8gpu_short": (1, 1073741824, 1073741824, 210.11, 367.70, 210.02, 367.53, 0, 367.616),
    "nccl_tests/interleaved_info_4node_8gpu": (15, 16, 4294967296, 12.40, 21.70, 12.37, 21.64, 0, 8.69534),
    "nccl_tests/rccl_mi355x": (1, 268435456, 268435456, 183.24, 343.57, 186.10, 348.93, 1, 346.251),
    "nccl_h200x8/all_reduce_perf": (30, 8, 4294967296, 208.78, 365.37, 209.02, 365.78, 8, 114.61),
    "nccl_h200x8/all_reduce_p2p_disabled": (6, 1048576, 1073741824, 8.78, 15.36, 8.61, 15.07, 8, 15.4472),
    "nccl_h200x8/all_reduce_perf_nccl_debug_info": (6, 1048576, 1073741824, 205.08, 358.88, 205.42, 359.49, 8, 241.305),
}
# file: how often each kind of fact is in the log
LOGS = {
    "azure_2node_error12": {"warning": 1},
    "azure_using_line": {"device": 2},
    "ib_8hca_using_line": {"device": 8},
    "vnic_cross_numa_warn": {"version": 1, "variable": 1, "speed": 3, "warning": 1},
    "roce_gdr_active": {"channel": 4},
    "roce_gdr_missing": {"channel": 4},
    "roce_warn_status5_status12": {"warning": 2},
    "gb10_plugin_gdr_disabled": {"speed": 1, "device": 1, "channel": 1, "gdr": 2},
    "collnet_sharp_init_failed": {"sharp_error": 2, "warning": 1},
}
# file: steps, the first and the last one's milliseconds
STEPS = {
    "megatron_log/aws_gpt3_3iters": (3, 255940.5, 243344.4),
    "megatron_log/sb_megatron_deepspeed": (5, 76015.3, 74494.9),
    "nccl_h200x8/train_ddp": (60, 2049.84, 50.01),
}


def rows_of(samples: Path, name: str, reading: str, ending: str = "txt") -> list[dict]:
    return parse(reading, "linux", (samples / f"{name}.{ending}").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_of_nccl_tests(samples: Path, name: str) -> None:
    rows = rows_of(samples, name, "nccl_tests")
    last = rows[-1]
    bandwidths = tuple(last[column] for column in ("algbw_gbyte_s", "busbw_gbyte_s", "in_place_algbw_gbyte_s", "in_place_busbw_gbyte_s"))
    assert (len(rows), rows[0]["size_bytes"], last["size_bytes"], *bandwidths, len(last["ranks"]), last["average_busbw_gbyte_s"]) == TABLES[name]


def test_values_that_were_not_validated_have_no_number(samples: Path) -> None:
    wrong = {name: {row["wrong"] for row in rows_of(samples, name, "nccl_tests")} for name in TABLES}
    unvalidated = {"nccl_tests/sb_1node_8gpu_allreduce", "nccl_tests/sb_1node_alltoall", "nccl_tests/deepops_4xdgxa100_old_error_col"}
    assert {name for name, values in wrong.items() if values == {None}} == unvalidated | {"nccl_tests/azure_ipoib_slow"}
    assert all(values in ({None}, {0}) for values in wrong.values())
    assert {row["max_error"] for row in rows_of(samples, "nccl_tests/deepops_4xdgxa100_old_error_col", "nccl_tests")} == {1e-06, 7e-07}


def test_json_says_what_the_table_says(samples: Path) -> None:
    rows = rows_of(samples, "nccl_h200x8/all_reduce_perf", "nccl_tests", "json")
    assert [(row["size_bytes"], round(row["busbw_gbyte_s"], 2), row["wrong"]) for row in rows] == [
        (67108864, 319.85, 0),
        (268435456, 345.88, 0),
        (1073741824, 359.16, 0),
    ]
    assert {row["collective"] for row in rows} == {"all_reduce"}


def test_several_tables_are_distinguished(samples: Path) -> None:
    rows = rows_of(samples, "nccl_h200x8/other_collectives", "nccl_tests")
    assert Counter(row["collective"] for row in rows) == {"all_gather": 6, "reduce_scatter": 6, "alltoall": 6, "broadcast": 6}
    assert {row["collective"]: row["average_busbw_gbyte_s"] for row in rows}["all_gather"] == 209.855


def test_a_run_that_failed_is_no_table(samples: Path) -> None:
    with pytest.raises(ParseError, match="Invalid number of GPUs"):
        rows_of(samples, "nccl_h200x8/all_reduce_too_many_gpus", "nccl_tests")


@pytest.mark.parametrize("name", LOGS)
def test_every_fact_of_a_log(samples: Path, name: str) -> None:
    assert Counter(row["event"] for row in rows_of(samples, f"nccl_log/{name}", "nccl_log")) == LOGS[name]


def test_the_facts_of_logs(samples: Path) -> None:
    def channels(name: str) -> list[tuple]:
        return [(row["name"], row["nic"], row["gdr"]) for row in rows_of(samples, f"nccl_log/{name}", "nccl_log") if row["event"] == "channel"]

    assert channels("roce_gdr_active") == [("NET/IB", 1, True)] * 4
    assert channels("roce_gdr_missing") == [("NET/IB", 1, None)] * 4
    assert channels("gb10_plugin_gdr_disabled") == [("NET/NCCL RDMA Plugin v10", 0, None)]
    using = [(row["device"], row["link_layer"]) for row in rows_of(samples, "nccl_log/azure_using_line", "nccl_log")]
    assert using == [("ibP111p0s0", "IB"), ("rdmaP1111p0s2", "RoCE")]
    warned = [(row["host"], row["gpu"]) for row in rows_of(samples, "nccl_log/roce_warn_status5_status12", "nccl_log")]
    assert warned == [("atl1g3r4u9gpu", 5), ("atl1g3r1u16gpu", 6)]
    whole = rows_of(samples, "nccl_h200x8/all_reduce_perf_nccl_debug_info", "nccl_log")
    assert {row["value"] for row in whole if row["event"] == "network"} == {"Socket"}
    assert [row["event"] for row in whole].count("no_device") == 1
    assert {row["name"] for row in whole if row["event"] == "channel"} == {"P2P/direct pointer"}


@pytest.mark.parametrize("name", STEPS)
def test_every_step_of_a_training_log(samples: Path, name: str) -> None:
    rows = rows_of(samples, name, "training_log")
    assert (len(rows), rows[0]["step_ms"], rows[-1]["step_ms"]) == STEPS[name]


def test_the_watchdog_names_who_waited_and_who_did_not_come(samples: Path) -> None:
    rows = rows_of(samples, "torch_watchdog/allreduce_mismatch", "collective_timeouts")
    assert [(row["event"], row["rank"], row["sequence"]) for row in rows] == [("timeout", 0, 2), ("timeout", 0, 3), ("absent", 1, 3)]
    assert (rows[0]["operation"], rows[0]["timeout_ms"], rows[0]["ran_ms"]) == ("ALLREDUCE", 8000, 8097)


def test_every_sample_is_read(samples: Path) -> None:
    read = set(TABLES) | {f"nccl_log/{name}" for name in LOGS} | set(STEPS) | {"torch_watchdog/allreduce_mismatch"}
    read |= {"nccl_h200x8/other_collectives", "nccl_h200x8/all_reduce_too_many_gpus"}
    of_the_stack = ("nccl_tests", "nccl_log", "megatron_log", "torch_watchdog", "nccl_h200x8")
    files = {f"{path.parent.name}/{path.stem}" for path in samples.glob("*/*.txt") if path.parent.name in of_the_stack}
    assert {name for name in files if "nvidia_smi" not in name} == read
