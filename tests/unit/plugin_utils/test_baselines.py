# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod's numbers against its past, and against each other."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import baselines, measures
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.places import Places
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue

SOFTWARE = {"gpu01": {"nvidia": "550"}, "gpu02": {"nvidia": "550"}}


def bandwidth(rate: float, **more: t.Any) -> dict[str, t.Any]:
    return {"device": "mlx5_0", "bytes": 1048576, "gbit_s": rate, "test": "RDMA_Write BW", "qps": 4, "connection": "RC", "mtu": 4096, **more}


def rdma(plan: t.Any, **rows: list[dict[str, t.Any]]) -> list[measures.Number]:
    return measures.numbers(Places(plan), "rdma", {node: {"write_bw": own} for node, own in rows.items()})


def baseline(plan: t.Any, **rows: list[dict[str, t.Any]]) -> t.Any:
    return baselines.load(baselines.capture("simple", "1", "2026-06-15T12:00:00Z", rdma(plan, **rows), SOFTWARE), "simple")


def judged(plan: t.Any, document: t.Any, **rows: list[dict[str, t.Any]]) -> list[tuple[str | None, str]]:
    return [(one.host, one.verdict) for one in baselines.judge(document, plan, "rdma", rdma(plan, **rows), SOFTWARE)]


@pytest.mark.parametrize("measure", measures.measures().values(), ids=lambda one: one.name)
def test_a_measure_is_of_columns_that_exist(measure: measures.Measure) -> None:
    columns = {column.name for column in catalogue()[measure.reading].columns}
    axes = [next(iter(axis.values())) if isinstance(axis, dict) else axis for axis in (*measure.of, *(measure.alike or ()))]
    assert {measure.value, *measure.beside, *measure.only, *axes} <= columns | {"node", "group"}
    assert measure.better in ("high", "low") and measure.tolerance and set(measure.tolerance) <= {"percent", "by"}


def test_rows_of_one_place_give_their_median(plan) -> None:
    (number,) = rdma(plan, gpu01=[bandwidth(390), bandwidth(380), bandwidth(100)])
    assert (number.place, number.value, number.beside["mtu"]) == ("gpu01 mlx5_0 1048576", 380, 4096)


def test_a_baseline_is_a_line_a_number_and_reads_back(plan) -> None:
    text = baselines.capture("simple", "1", "now", rdma(plan, gpu01=[bandwidth(390)], gpu02=[bandwidth(385)]), SOFTWARE)
    assert "gpu01 mlx5_0 1048576: {value: 390.0, test: RDMA_Write BW, qps: 4, connection: RC, mtu: 4096, nvidia: '550'}" in text
    assert yaml.safe_load(text)["measures"]["write_bandwidth"]["unit"] == "Gb/s" and len(text.splitlines()) == 11


def test_what_is_worse_by_more_than_its_tolerance_is_named(plan) -> None:
    reference = baseline(plan, gpu01=[bandwidth(390)], gpu02=[bandwidth(390)])
    assert judged(plan, reference, gpu01=[bandwidth(371)], gpu02=[bandwidth(369)]) == [("gpu01", "pass"), ("gpu02", "warn")]
    assert judged(plan, reference, gpu01=[bandwidth(500)]) == [("gpu01", "pass")]


def test_both_tolerances_must_be_passed() -> None:
    trip = measures.measures()["round_trip"]
    assert not trip.worse(0.06, 0.02) and not trip.worse(1.2, 1.0) and trip.worse(0.08, 0.02) and trip.worse(2.1, 1.0)


@pytest.mark.parametrize(("changed", "words"), [({"mtu": 1024}, "mtu 4096 then and 1024 now"), ({"qps": 1}, "qps 4 then and 1 now")])
def test_another_setting_is_another_number(changed: dict[str, t.Any], words: str, plan) -> None:
    reference = baseline(plan, gpu01=[bandwidth(390)])
    (verdict,) = baselines.judge(reference, plan, "rdma", rdma(plan, gpu01=[bandwidth(390, **changed)]), SOFTWARE)
    assert verdict.verdict == "unknown" and verdict.findings[0].actual == words


def test_another_version_is_another_number(plan) -> None:
    reference = baseline(plan, gpu01=[bandwidth(390)])
    newer = baselines.judge(reference, plan, "rdma", rdma(plan, gpu01=[bandwidth(390)]), {"gpu01": {"nvidia": "570"}})
    unread = baselines.judge(reference, plan, "rdma", rdma(plan, gpu01=[bandwidth(390)]), {})
    assert [one[0].findings[0].actual for one in (newer, unread)] == ["nvidia 550 then and 570 now", "nvidia 550 then and None now"]


def test_a_number_without_a_reference_is_no_pass(plan) -> None:
    reference = baseline(plan, gpu01=[bandwidth(390)])
    assert judged(plan, reference, gpu02=[bandwidth(5)]) == [("gpu02", "skip")]


def test_an_outlier_stands_out_of_its_kind_and_of_the_tolerance(plan) -> None:
    like = [measures.Number("write_bandwidth", f"gpu{number}", "gpu01", 390 + number % 3, kind="1048576") for number in range(20)]
    slow = measures.Number("write_bandwidth", "gpu99", "gpu01", 300, kind="1048576")
    near = measures.Number("write_bandwidth", "gpu98", "gpu01", 383, kind="1048576")
    fast = measures.Number("write_bandwidth", "gpu97", "gpu01", 900, kind="1048576")
    other = measures.Number("write_bandwidth", "gpu96", "gpu01", 10, kind="64")
    assert [one.number for one in measures.outliers([*like, slow, near, fast, other])] == [slow]
    assert measures.outliers([*like[:5], slow]) == []
    same = [measures.Number("write_bandwidth", f"gpu{number}", "gpu01", 390, kind="1048576") for number in range(20)]
    assert [one.number for one in measures.outliers([*same, slow, near])] == [slow]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "is no YAML"),
        ("a: b", "is no baseline of schema 1"),
        ("{schema: 1, pod: other, measures: {}}", "is of the pod 'other', not of 'simple'"),
        ("{schema: 1, pod: simple, measures: {write_bandwidth: {unit: Gb/s, numbers: {a: {value: x}}}}}", "has no numbers of 'write_bandwidth'"),
        ("{schema: 1, pod: simple, measures: {write_bandwidth: {unit: GB/s, numbers: {}}}}", "has 'write_bandwidth' in 'GB/s', not in 'Gb/s'"),
    ],
)
def test_what_is_no_baseline_is_refused(text: str, words: str) -> None:
    with pytest.raises(baselines.BaselineError, match=words):
        baselines.load(text, "simple")


def test_a_run_without_the_baseline_it_asks_for_is_refused(tmp_path) -> None:
    values = {**DEFAULTS, "pod_name": "simple", "pod_baseline": "compare"}
    with pytest.raises(baselines.BaselineError, match="capture one first"):
        baselines.reference(values, tmp_path / "baseline.txt")
    (tmp_path / "baseline.txt").write_text("{}")
    with pytest.raises(baselines.BaselineError, match="is no baseline"):
        baselines.reference(values, tmp_path / "baseline.txt")
    with pytest.raises(baselines.BaselineError, match="needs a whole climb"):
        baselines.reference({**values, "pod_baseline": "capture", "pod_only": "gpu01"}, tmp_path)
    assert baselines.reference({**values, "pod_baseline": "ignore"}, tmp_path / "absent") is None
