# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What genuine outputs of perftest must come to; the facts are those of the samples' index."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.perftest_errors import explain_error
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import ParseError, parse

TABLES = [
    ("perftest/sb_ib_write_bw_all_sizes.txt", 24, ("RDMA_Write BW", "ib0", 8388608, 194.956954, 0.002905)),
    ("perftest/azure_a100_ib_write_bw_table.txt", 23, (None, None, 8388608, 196.55, 0.002929)),
    ("perftest/deepops_cx_100g_conflicting_cpu.txt", 1, ("RDMA_Write BW", "mlx5_0", 65536, 92.4, 0.17623)),
    ("perftest/rocm_bidir_ib_write_bw_gpu.txt", 23, ("RDMA_Write Bidirectional BW", "<RDMA-NIC-2>", 8388608, 204.59, 0.003049)),
    ("perftest/cx7_ndr_ib_write_bw_new_header.txt", 1, ("RDMA_Write BW", "mlx5_0", 65536, 392.34, 0.748336)),
    ("perftest/cx7_ndr_ib_send_bw_mib.txt", 1, ("Send BW", "mlx5_0", 65536, 390.548674, 0.744912)),
    ("softroce/k72_json_client.json", 1, ("RDMA_Write BW", "mlx5_0", 65536, 0.14, 0.000269)),
    ("softroce/k72_json_client.out", 1, ("RDMA_Write BW", "mlx5_0", 65536, 0.14, 0.000269)),
    ("softroce/wbw_all_client.out", 23, ("RDMA_Write BW", "mlx5_0", 8388608, 0.076533, 0.000001)),
    ("softroce/wbw_mb_client.out", 1, ("RDMA_Write BW", "mlx5_0", 65536, 0.095462, 0.000182)),
    ("softroce/rbw_client.out", 1, ("RDMA_Read BW", "mlx5_0", 65536, 0.14, 0.000264)),
]
EMPTY = [
    "perftest/error_completion_status12.txt",
    "perftest/error_couldnt_connect.txt",
    "softroce/k72_rails8u20_client_7.out",
    "softroce/k72_rails8_server_0.out",
    "softroce/wbw_64k_client.out",
    "softroce/server_no_client_20s.out",
    "softroce/wbw_json_client.json",
    "softroce/mismatch_tool_flag_server.out",
]


@pytest.mark.parametrize(("path", "count", "last"), TABLES)
def test_a_bandwidth_table_gives_its_rows(samples: Path, path: str, count: int, last: tuple[object, ...]) -> None:
    rows = parse("write_bw", "linux", (samples / path).read_text(encoding="utf-8"))
    assert len(rows) == count
    assert tuple(rows[-1][column] for column in ("test", "device", "bytes", "gbit_s", "message_rate")) == last


@pytest.mark.parametrize("path", EMPTY)
def test_what_measured_nothing_is_no_number(samples: Path, path: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse("write_bw", "linux", (samples / path).read_text(encoding="utf-8"))
    assert caught.value.rows == []


def test_the_headers_and_the_duration_mode(samples: Path) -> None:
    (row,) = parse("write_bw", "linux", (samples / "softroce/k72_D5_client.out").read_text(encoding="utf-8"))
    assert row["gbit_s_peak"] is None and row["gbit_s"] == 0.1
    (row,) = parse("write_bw", "linux", (samples / "softroce/k72_q4_client.out").read_text(encoding="utf-8"))
    assert [row[column] for column in ("qps", "connection", "mtu", "link_type", "gid_index", "iterations")] == [4, "RC", 4096, "Ethernet", 1, 200]


def test_a_latency_table_gives_its_row(samples: Path) -> None:
    (row,) = parse("write_lat", "linux", (samples / "perftest/azure_ib_read_lat.txt").read_text(encoding="utf-8"))
    columns = ("bytes", "min_us", "max_us", "typical_us", "average_us", "stdev_us", "percentile_99_us", "percentile_99_9_us")
    assert [row[column] for column in columns] == [2, 5.35, 11.78, 5.49, 5.5, 0.18, 5.74, 11.78]


COMPLAINTS = [
    ("perftest/error_completion_status12.txt", "fail", "retries exceeded"),
    ("perftest/error_couldnt_connect.txt", "unknown", "could not be reached"),
    ("softroce/err_wrong_device.err", "fail", "lacks the device"),
    ("softroce/err_peer_linkdown_midrun_server.err", "fail", "port is down"),
    ("softroce/err_port_in_use.err", "unknown", "in use"),
    ("softroce/err_bad_hostname.err", "unknown", "resolved"),
    ("softroce/err_bad_gid_index.err", "unknown", "option's value"),
    ("softroce/err_use_cuda.err", "unknown", "refuses an option"),
    ("softroce/wbw_64k_client.err", "fail", "remote invalid request"),
    ("softroce/k72_kill_server_client.err", "unknown", "ended early"),
    ("softroce/k72_rails8u20_client_7.err", "unknown", "clock"),
    ("softroce/k72_nohca_ib_write_bw__d_mlx5_0____127_0_0_1.err", "fail", "no RDMA device"),
    ("softroce/k72_R_client.err", "unknown", "connection manager"),
]


@pytest.mark.parametrize(("path", "verdict", "words"), COMPLAINTS)
def test_a_complaint_is_reported_in_its_own_words(samples: Path, path: str, verdict: str, words: str) -> None:
    output = explain_error((samples / path).read_text(encoding="utf-8"))
    assert output is not None and output.verdict == verdict and words in str(output)


def test_every_client_that_measured_nothing_has_a_complaint_that_is_known(samples: Path) -> None:
    places = [path for path in (samples / "softroce").glob("*client*.err") if path.read_text(encoding="utf-8").strip()]
    assert places
    for path in places:
        try:
            assert parse("write_bw", "linux", path.with_suffix(".out").read_text(encoding="utf-8"))
        except ParseError:
            assert explain_error(path.read_text(encoding="utf-8")) is not None, path.name
