# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod's numbers against its past, and against each other."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.baselines import (
    BaselineError,
    baseline_text,
    baseline_to_compare,
    judge_against_baseline,
    load_baseline,
    software_versions,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.metrics import Metric, MetricValue, metric_values, metrics, outliers
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.row_places import RowPlaces
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue

SOFTWARE = {"gpu01": {"nvidia": "550"}, "gpu02": {"nvidia": "550"}}


def bandwidth(rate: float, **more: t.Any) -> dict[str, t.Any]:
    return {"device": "mlx5_0", "bytes": 1048576, "gbit_s": rate, "test": "RDMA_Write BW", "qps": 4, "connection": "RC", "mtu": 4096, **more}


def rdma(plan: t.Any, **rows: list[dict[str, t.Any]]) -> list[MetricValue]:
    return metric_values(RowPlaces(plan), "rdma", {node: {"write_bw": own} for node, own in rows.items()})


def baseline(plan: t.Any, **rows: list[dict[str, t.Any]]) -> t.Any:
    return load_baseline(baseline_text("simple", "1", "2026-06-15T12:00:00Z", rdma(plan, **rows), SOFTWARE), "simple")


def judged(plan: t.Any, document: t.Any, **rows: list[dict[str, t.Any]]) -> list[tuple[str | None, str]]:
    return [(one.host, one.verdict) for one in judge_against_baseline(document, plan, "rdma", rdma(plan, **rows), SOFTWARE)]


@pytest.mark.parametrize("metric", metrics().values(), ids=lambda one: one.name)
def test_a_measure_is_of_columns_that_exist(metric: Metric) -> None:
    columns = {column.name for column in catalogue()[metric.reading].columns}
    columns |= {f"job.{column.name}" for column in catalogue()["load_jobs"].columns} if catalogue()[metric.reading].load else set()
    axes = [next(iter(axis.values())) if isinstance(axis, dict) else axis for axis in (*metric.of, *(metric.alike or ()))]
    assert {metric.value, *metric.beside, *metric.only, *axes} <= columns | {"node", "group"}
    assert metric.better in ("high", "low") and metric.tolerance and set(metric.tolerance) <= {"percent", "by"}


def test_rows_of_one_place_give_their_median(plan) -> None:
    (number,) = rdma(plan, gpu01=[bandwidth(390), bandwidth(380), bandwidth(100)])
    assert (number.place, number.value, number.beside["mtu"]) == ("gpu01 mlx5_0 1048576", 380, 4096)


def test_a_baseline_is_a_line_a_number_and_reads_back(plan) -> None:
    text = baseline_text("simple", "1", "now", rdma(plan, gpu01=[bandwidth(390)], gpu02=[bandwidth(385)]), SOFTWARE)
    assert "gpu01 mlx5_0 1048576: {value: 390.0, test: RDMA_Write BW, qps: 4, connection: RC, mtu: 4096, nvidia: '550'}" in text
    assert yaml.safe_load(text)["measures"]["write_bandwidth"]["unit"] == "Gb/s" and len(text.splitlines()) == 11


def test_what_is_worse_by_more_than_its_tolerance_is_named(plan) -> None:
    reference = baseline(plan, gpu01=[bandwidth(390)], gpu02=[bandwidth(390)])
    assert judged(plan, reference, gpu01=[bandwidth(371)], gpu02=[bandwidth(369)]) == [("gpu01", "pass"), ("gpu02", "warn")]
    assert judged(plan, reference, gpu01=[bandwidth(500)]) == [("gpu01", "pass")]


def test_both_tolerances_must_be_passed() -> None:
    trip = metrics()["round_trip"]
    assert not trip.worse(0.06, 0.02) and not trip.worse(1.2, 1.0) and trip.worse(0.08, 0.02) and trip.worse(2.1, 1.0)


@pytest.mark.parametrize(("changed", "words"), [({"mtu": 1024}, "mtu 4096 then and 1024 now"), ({"qps": 1}, "qps 4 then and 1 now")])
def test_another_setting_is_another_number(changed: dict[str, t.Any], words: str, plan) -> None:
    reference = baseline(plan, gpu01=[bandwidth(390)])
    (verdict,) = judge_against_baseline(reference, plan, "rdma", rdma(plan, gpu01=[bandwidth(390, **changed)]), SOFTWARE)
    assert verdict.verdict == "unknown" and verdict.findings[0].actual == words


def test_another_version_is_another_number(plan) -> None:
    reference = baseline(plan, gpu01=[bandwidth(390)])
    newer = judge_against_baseline(reference, plan, "rdma", rdma(plan, gpu01=[bandwidth(390)]), {"gpu01": {"nvidia": "570"}})
    unread = judge_against_baseline(reference, plan, "rdma", rdma(plan, gpu01=[bandwidth(390)]), {})
    assert [one[0].findings[0].actual for one in (newer, unread)] == ["nvidia 550 then and 570 now", "nvidia 550 then and None now"]


def test_a_number_without_a_reference_is_no_pass(plan) -> None:
    reference = baseline(plan, gpu01=[bandwidth(390)])
    assert judged(plan, reference, gpu02=[bandwidth(5)]) == [("gpu02", "skip")]


def test_an_outlier_stands_out_of_its_kind_and_of_the_tolerance(plan) -> None:
    like = [MetricValue("write_bandwidth", f"gpu{number}", "gpu01", 390 + number % 3, kind="1048576") for number in range(20)]
    slow = MetricValue("write_bandwidth", "gpu99", "gpu01", 300, kind="1048576")
    near = MetricValue("write_bandwidth", "gpu98", "gpu01", 383, kind="1048576")
    fast = MetricValue("write_bandwidth", "gpu97", "gpu01", 900, kind="1048576")
    other = MetricValue("write_bandwidth", "gpu96", "gpu01", 10, kind="64")
    assert [one.number for one in outliers([*like, slow, near, fast, other])] == [slow]
    assert outliers([*like[:5], slow]) == []
    same = [MetricValue("write_bandwidth", f"gpu{number}", "gpu01", 390, kind="1048576") for number in range(20)]
    assert [one.number for one in outliers([*same, slow, near])] == [slow]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "is no YAML"),
        ("a: b", "is no baseline of schema 1"),
        ("{schema: 1, pod: other, measures: {}}", "is of the pod 'other', not of 'simple'"),
        ("{schema: 1, pod: simple, measures: {write_bandwidth: {unit: Gb/s, numbers: {a: {value: x}}}}}", "has no numbers of 'write_bandwidth'"),
        ("[a]", "is no baseline of schema 1"),
        ("{schema: 2, pod: simple, measures: {}}", "is no baseline of schema 1"),
        ("{schema: 1, pod: simple, measures: []}", "is no baseline of schema 1"),
        ("{schema: 1, pod: able, measures: {}}", "is of the pod 'able', not of 'simple'"),
        ("{schema: 1, pod: simple, measures: {write_bandwidth: [a]}}", "has no numbers of 'write_bandwidth'"),
        ("{schema: 1, pod: simple, measures: {write_bandwidth: {unit: Gb/s, numbers: [a]}}}", "has no numbers of 'write_bandwidth'"),
        ("{schema: 1, pod: simple, measures: {write_bandwidth: {unit: Gb/s, numbers: {a: 7}}}}", "has no numbers of 'write_bandwidth'"),
        # No number is worse than these.
        ("{schema: 1, pod: simple, measures: {write_bandwidth: {unit: Gb/s, numbers: {a: {value: .nan}}}}}", "has no numbers of 'write_bandwidth'"),
        ("{schema: 1, pod: simple, measures: {write_bandwidth: {unit: Gb/s, numbers: {a: {value: -.inf}}}}}", "has no numbers of 'write_bandwidth'"),
        ("{schema: 1, pod: simple, measures: {write_bandwidth: {unit: Gb/s, numbers: {a: {value: true}}}}}", "has no numbers of 'write_bandwidth'"),
        ("{schema: 1, pod: zeta, measures: {}}", "is of the pod 'zeta', not of 'simple'"),
        ("{schema: 1, pod: simple, measures: {write_bandwidth: {unit: GB/s, numbers: {}}}}", "has 'write_bandwidth' in 'GB/s', not in 'Gb/s'"),
        ("{schema: 1, pod: simple, measures: {write_bandwidth: {unit: MB/s, numbers: {}}}}", "has 'write_bandwidth' in 'MB/s', not in 'Gb/s'"),
    ],
)
def test_what_is_no_baseline_is_refused(text: str, words: str) -> None:
    with pytest.raises(BaselineError, match=words):
        load_baseline(text, "simple")


def test_a_run_without_the_baseline_it_asks_for_is_refused(tmp_path) -> None:
    values = {**DEFAULTS, "pod_name": "simple", "pod_baseline": "compare"}
    with pytest.raises(BaselineError, match="capture one first"):
        baseline_to_compare(values, tmp_path / "baseline.txt")
    (tmp_path / "baseline.txt").write_text("{}")
    with pytest.raises(BaselineError, match="is no baseline"):
        baseline_to_compare(values, tmp_path / "baseline.txt")
    with pytest.raises(BaselineError, match="needs a complete run"):
        baseline_to_compare({**values, "pod_baseline": "capture", "pod_only": "gpu01"}, tmp_path)
    with pytest.raises(BaselineError, match="needs a complete run"):
        baseline_to_compare({**values, "pod_baseline": "capture", "pod_replay_from": "runs/pod/kept"}, tmp_path)
    assert baseline_to_compare({**values, "pod_baseline": "ignore", "pod_only": "gpu01"}, tmp_path / "absent") is None
    assert baseline_to_compare({**values, "pod_baseline": "capture"}, tmp_path / "absent") is None


def kind_of(*values: float, metric: str = "write_bandwidth", kind: str | None = "1048576") -> list[float]:
    """The values that stand out of a kind, and the z-score of each."""
    found = [MetricValue(metric, f"gpu{number:02}", "gpu01", value, kind=kind) for number, value in enumerate(values)]
    return [one.number.value for one in outliers(found)]


def test_an_outlier_is_beyond_a_modified_z_score_of_three_and_a_half_among_eight() -> None:
    # The median is 400 and the MAD 20, so that 3.5 is 103.78 off.
    crowd = [380.0, 420.0, 380.0, 420.0, 400.0, 400.0, 400.0, 380.0, 420.0, 380.0, 420.0]
    assert kind_of(*crowd, 420.0, 297.0) == [] and kind_of(*crowd, 420.0, 296.0) == [296.0]
    same = [400.0] * 7
    assert kind_of(*same, 100.0) == [100.0] and kind_of(*same[:6], 100.0) == []
    assert kind_of(*same, 100.0, kind=None) == []
    assert kind_of(*crowd, 420.0, 420.0, 200.0, 100.0) == [100.0, 200.0], "the farthest first"


def test_a_tolerance_is_began_at_more_than_it() -> None:
    percent, units = metrics()["write_bandwidth"], metrics()["light_received"]
    assert percent.tolerance == {"percent": 5} and not percent.worse(380.0, 400.0) and percent.worse(379.99, 400.0)
    assert not units.worse(-3.5, -2.0) and units.worse(-3.51, -2.0)


def test_rows_of_another_layer_or_without_the_number_give_none(plan) -> None:
    rows = [bandwidth(390), {**bandwidth(390), "gbit_s": None}]
    (number,) = rdma(plan, gpu01=rows)
    assert (number.value, number.node, number.kind) == (390, "gpu01", "RDMA_Write BW 1048576")
    assert rdma(plan, gpu01=rows[1:]) == []
    assert metric_values(RowPlaces(plan), "links", {"gpu01": {"write_bw": rows}}) == []


def test_a_metric_is_of_the_rows_that_it_names_and_has_likes_only_where_it_says_so(plan) -> None:
    declared = metrics()["all_reduce_by_torch"]
    assert (declared.only, declared.alike) == ({"collective": "all_reduce", "job.kind": "rung"}, None)
    row = {"collective": "all_reduce", "job.kind": "rung", "job.hosts": ["gpu01", "gpu02"], "size_bytes": 8, "dtype": "float", declared.value: 7.0}
    others = [{**row, "collective": "all_gather"}, {**row, "job.kind": "probe"}]
    found = metric_values(RowPlaces(plan), "collectives", {"gpu01": {declared.reading: [row, *others]}})
    assert [(one.metric, one.place, one.value, one.kind) for one in found] == [("all_reduce_by_torch", "2 hosts 8", 7.0, None)]
    assert all(isinstance(one.of, tuple) and isinstance(one.beside, tuple) for one in metrics().values())


def test_what_has_no_place_on_an_axis_is_left_out_of_the_words(plan) -> None:
    pings = [{"source": "10.9.9.9", "rtt_avg_ms": 1.0}]
    (number,) = metric_values(RowPlaces(plan), "routing", {"gpu01": {"pings": pings}})
    assert (number.place, number.kind) == ("gpu01", "")


def test_a_metric_that_is_no_more_is_kept_and_one_that_is_new_has_no_reference(plan) -> None:
    older = load_baseline("{schema: 1, pod: simple, measures: {gone: {unit: x, numbers: {}}}}", "simple")
    assert judged(plan, older, gpu01=[bandwidth(390)]) == [("gpu01", "skip")]


def test_numbers_within_and_without_a_reference_are_counted(plan) -> None:
    reference = baseline(plan, gpu01=[bandwidth(390, device="mlx5_2"), bandwidth(390, device="mlx5_3")])
    now = rdma(plan, gpu01=[bandwidth(390, device=f"mlx5_{number}") for number in range(4)])
    (one,) = judge_against_baseline(reference, plan, "rdma", now, SOFTWARE)
    assert (one.verdict, one.words) == ("pass", "2 numbers are within their tolerance, 2 have no reference")


def test_software_of_any_name_is_compared(plan) -> None:
    reference = baseline(plan, gpu01=[bandwidth(390)])
    (one,) = judge_against_baseline(reference, plan, "rdma", rdma(plan, gpu01=[bandwidth(390)]), {"gpu01": {"nvidia": "550", "zlib": "2"}})
    assert one.verdict == "unknown" and "zlib None then and 2 now" in one.findings[0].actual


def test_several_versions_of_one_item_are_one_text() -> None:
    rows = [{"item": "nccl", "version": "2.20"}, {"item": "nccl", "version": "2.19"}, {"item": "torch", "version": "2.4"}]
    found = software_versions({"gpu01": {"software": rows}, "gpu02": {}})
    assert found == {"gpu01": {"nccl": "2.19, 2.20", "torch": "2.4"}}
