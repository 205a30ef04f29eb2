# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An error of a collective or of a training is at the NIC that its line names."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives._nccl_transport import place_of_warning
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.ended_ranks import RunEnds
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.transport import no_nccl_warnings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.training.own_log import own_training_ends
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.named_parts import named_nic, nic_number

COMPLETION = "Got completion from peer 192.0.2.5<53908> with status=12 opcode=129 len=1048576 vendor err 129 (Recv) hca mlx5_3"


def device(name: str, nic: int | None) -> dict[str, t.Any]:
    return {"event": "device", "device": name, "nic": nic}


@pytest.mark.parametrize(
    ("line", "nic", "number"),
    [
        (f"NET/IB: {COMPLETION}", "mlx5_3", None),
        ("NET/IB : mlx5_3:1 Got async event : port error", "mlx5_3", None),
        ("NET/IB : Unable to open device bnxt_re7", "bnxt_re7", None),
        ("NET/IB : Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_3:1, curr state INIT, next state RTR", "mlx5_3", None),
        ("NET/IB : dev 3 port 1: query failed", None, 3),
        # Of two NICs it does not show which one failed.
        ("queue pair of mlx5_3 and mlx5_4", None, None),
        ("CUDA device 3 of NET/Socket", None, None),
        (None, None, None),
    ],
)
def test_a_line_names_one_nic_by_its_name_or_number(line: str | None, nic: str | None, number: int | None) -> None:
    assert (named_nic(line), nic_number(line)) == (nic, number)


def test_a_warning_is_at_the_nic_that_it_names() -> None:
    log = [device(f"mlx5_{port}", number) for number, port in enumerate((0, 1, 4, 5))]
    assert place_of_warning(COMPLETION, log).device == "mlx5_3" and str(place_of_warning(COMPLETION, log)) == "mlx5_3 in NCCL's log"
    assert place_of_warning("NET/IB : dev 3: query failed", log).device == "mlx5_5"
    # Two ports that NCCL uses as one NIC are not told apart by its number.
    merged = [device("mlx5_0", 0), device("mlx5_1", None)]
    for line, rows in (("NET/IB : dev 0: query failed", merged), ("NET/IB : dev 9: query failed", log), ("Cuda failure 719", log)):
        assert place_of_warning(line, rows).device is None and str(place_of_warning(line, rows)) == "NCCL"


def test_one_kind_of_warning_of_several_nics_names_them() -> None:
    rows = [
        {"item": "rung", "event": "warning", "text": COMPLETION.replace("mlx5_3", f"mlx5_{nic}"), "name": None, "nic": None, "device": None}
        for nic in (0, 1, 3)
    ]
    (found,) = no_nccl_warnings(rows, [], [], "nccl", False, "gpu01")
    assert str(found.where) == "NCCL" and found.actual.endswith("(3 times, of mlx5_0, mlx5_1, mlx5_3, this is the first)")
    (found,) = no_nccl_warnings(rows[:1] * 2, [], [], "nccl", False, "gpu01")
    assert found.where.device == "mlx5_0" and found.actual.endswith("(2 times, this is the first)")


def test_a_rank_is_named_with_its_gpu_and_the_nic_of_its_error() -> None:
    ends = RunEnds("rung of 2", ["gpu01", "gpu02"], [{"rank": 0, "ranks": 16}], [])
    place = ends.place(11, "mlx5_3")
    assert (str(place), place.gpu, place.device, place.rank) == ("rank 11 (GPU 3, mlx5_3) of rung of 2", 3, "mlx5_3", 11)
    assert str(ends.place(11)) == "rank 11 (GPU 3) of rung of 2" and ends.place(11).device is None
    assert str(RunEnds("rung", [], [], []).place(1, "mlx5_3")) == "rank 1 (mlx5_3) of rung"


@pytest.mark.parametrize(("rank", "where"), [(3, "rank 3 (GPU 3, mlx5_3)"), (None, "mlx5_3 in the training")])
def test_a_training_ends_at_the_nic_that_its_error_names(rank: int | None, where: str) -> None:
    words = "NET/IB : Unable to open device mlx5_3"
    job = {"kind": "training", "status": "fail", "words": words, "words_rank": rank, "hosts": ["gpu01"]}
    (found,) = own_training_ends([job], [], "gpu01", 8, None, {"gpu01": [job]})
    assert str(found.where) == where and found.where.device == "mlx5_3"
