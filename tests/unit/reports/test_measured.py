# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers beside the checklist: the worst with its place, the median, what was expected, and whether it has changed."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.documentation import PAGE, CheckLinks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.junit import render_junit
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.markdown import render_markdown
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.measured import THRESHOLDS, beside_before, declared, in_words, measured
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.table import render_table
from ansible_collections.gpufabric.pyramid.tests.unit.reports.test_renderers import report

RATES = {"gpu01": [392.0, 391.0], "gpu02": [388.4, 393.0], "gpu03": [None, float("nan")]}


class Kept:
    """A run with the results of a bandwidth test."""

    def __init__(self, plan: t.Any, **more: t.Any) -> None:
        self._plan, self._more = plan, more

    def plan(self) -> t.Any:
        return self._plan

    def reported(self, _readings: t.AbstractSet[str]) -> dict[str, t.Any]:
        rows = {
            node: {
                "write_bw": [
                    {
                        "device": f"mlx5_{rail}",
                        "gbit_s": rate,
                        "job.kind": "write_bw",
                        "job.memory": "host",
                        "job.device": f"mlx5_{rail}",
                        "job.peer": "gpu04",
                        "job.peer_device": f"mlx5_{rail}",
                        **self._more,
                    }
                    for rail, rate in enumerate(own)
                ]
            }
            for node, own in RATES.items()
        }
        return {"rdma": rows}


def test_the_worst_has_its_place_and_what_was_expected(plan: t.Any) -> None:
    found = measured(Kept(plan))  # type: ignore[arg-type]
    assert found.keys() == {"rdma/write_bw_per_rail"}
    link, percent = (next(iter(plan.nodes.values())).values[name] for name in ("pod_link_gbit_s", "pod_write_bw_min_percent"))
    assert in_words(found["rdma/write_bw_per_rail"]) == f"worst 388.4 Gb/s (gpu02 mlx5_0), median 391.5, at least {link * percent / 100:g}"
    assert measured(Kept(plan, **{"job.memory": "gpu"})) == {}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (None, ""),
        (391.0, ""),
        (380.0, "; the median is 3 % higher than in the run before"),
        (402.0, "; the median is 2.6 % lower than in the run before"),
        (0.0, "; the median is 392 Gb/s higher than in the run before"),
    ],
)
def test_a_median_that_rose_or_fell_is_said(before: float | None, words: str, plan: t.Any) -> None:
    found = measured(Kept(plan))  # type: ignore[arg-type]
    earlier = {} if before is None else {"rdma/write_bw_per_rail": {**found["rdma/write_bw_per_rail"], "median": before}}
    own = beside_before(found, t.cast("dict[str, t.Any]", earlier))["rdma/write_bw_per_rail"]
    assert in_words(own).partition(", at least ")[2].partition(";")[2].strip() == words.removeprefix("; ")


def test_every_report_says_them(plan: t.Any) -> None:
    whole = t.cast("t.Any", {**report(), "measured": measured(Kept(plan))})  # type: ignore[arg-type]
    for text in (render_table(whole), render_markdown(whole).replace("\\", ""), render_junit(whole)):
        assert "rdma/write_bw_per_rail" in text and "worst 388.4 Gb/s (gpu02 mlx5_0), median 391.5" in text, text


def test_every_number_is_shown_beside_what_is_expected() -> None:
    assert [one.check for one in declared() if not one.limit] == []


def test_a_latency_is_held_to_its_path() -> None:
    values = {"pod_write_lat_max_us": 5.0, "pod_hop_us": 1.0}
    assert [THRESHOLDS["write_latency"](values, {"job.path": path}, {}) for path in ("leaf", "spine")] == [5.0, 7.0]


@pytest.mark.parametrize(
    ("device", "own", "gpus", "limit"),
    [("NVIDIA H100 80GB HBM3", None, 8, 366 * 0.85), ("NVIDIA H100 80GB HBM3", 100.0, 8, 85.0), ("another", None, 8, None), ("NVIDIA H100", None, 1, None)],
)
def test_a_host_alone_is_held_to_the_rate_of_its_gpu(device: str, own: float | None, gpus: int, limit: float | None) -> None:
    values = {**DEFAULTS, "pod_node_busbw_gbyte_s": own, "pod_gpus_per_host": gpus}
    found = THRESHOLDS["node_all_reduce"](values, {}, {"collective_ranks": [{"device": None}, {"device": device}]})
    assert found == (limit if limit is None else pytest.approx(limit))


def test_what_is_declared_exists() -> None:
    for one in declared():
        assert one.check in REGISTRY[one.layer], one
        assert one.value in [column.name for column in catalogue()[one.reading].columns], one
        assert one.limit.get("expectation", "pod_name") in DEFAULTS and one.limit.get("threshold", "all_reduce") in THRESHOLDS, one


def test_a_check_leads_to_its_documentation(tmp_path: Path) -> None:
    path, _hash, anchor = CheckLinks(tmp_path, "").of("write_bw_per_rail").partition("#")
    assert (tmp_path / path).resolve() == PAGE and f"\n### {anchor}\n" in PAGE.read_text(encoding="utf-8")
    assert CheckLinks(tmp_path, "https://docs.example.com/pyramid/").of("write_bw_per_rail") == "https://docs.example.com/pyramid/checks.html#write-bw-per-rail"
    assert "javascript" not in CheckLinks(tmp_path, "javascript:alert(1)//").of("x")
