# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signals: what is asked of Prometheus, and what its answers come to."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.telemetry.coverage import (
    SIGNALS,
    Series,
    expressions,
    judge_signal,
    plotted,
    series,
    signal_errors,
)


def answer(**values: float) -> dict[str, t.Any]:
    result = [{"metric": {"instance": name.replace("_", ".")}, "value": [1000.0, str(value)]} for name, value in values.items()]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


def judged(plan: t.Any, found: dict[str, Series] | None) -> dict[str, str]:
    return {one.node: one.verdict for one in judge_signal(plan, "nic_errors", {"metric": "m"}, found, 60)}


def test_a_host_is_known_without_port_and_domain() -> None:
    found = series(answer(gpu01_example_org=2), answer(gpu01_example_org=990), "instance")
    assert found == {"gpu01": Series(2, 10.0)}


def test_a_node_passes_with_all_its_series_fresh(plan) -> None:
    fresh, few, old = Series(2, 1), Series(1, 1), Series(2, 61)
    assert judged(plan, {"gpu01": fresh, "gpu02": few, "gpu03": old}) == {"gpu01": "pass", "gpu02": "fail", "gpu03": "fail", "gpu04": "fail"}
    assert set(judged(plan, None).values()) == {"unknown"}


def test_a_series_without_a_time_is_old() -> None:
    assert series(answer(gpu01=2), answer(), "instance")["gpu01"].age == float("inf")


def test_what_is_no_answer_to_a_query_is_an_error() -> None:
    for output in ({"status": "error", "error": "bad"}, {}, {"status": "success", "data": {"resultType": "matrix", "result": []}}):
        with pytest.raises(ValueError, match="Prometheus answered"):
            series(output, output, "instance")


@pytest.mark.parametrize(
    "output", [{"metric": 'up{x="y"} or vector(1)'}, {"metric": "up", "label": "a) (b"}, {"metric": "up", "other": 1}, {"metric": "up\n"}, "up"]
)  # fmt: skip
def test_nothing_but_names_becomes_part_of_a_query(output: t.Any) -> None:
    assert len(signal_errors({"nic_errors": output})) == 1


def test_the_defaults_name_every_signal() -> None:
    assert signal_errors(DEFAULTS["pod_telemetry_signals"]) == [] and set(DEFAULTS["pod_telemetry_signals"]) == set(SIGNALS)
    assert signal_errors({"temperature": {}}) != []


def test_queries_of_nested_panels_and_variables_are_seen() -> None:
    dashboard = {
        "templating": {"list": [{"name": "errors", "current": {"value": "nic_errors_total"}}, {"name": "odd", "current": None}]},
        "panels": [{"panels": [{"targets": [{"expr": "rate(${errors}[5m]) / $unknown"}, {"rawSql": "x"}]}]}],
    }
    assert expressions(dashboard) == ["rate(nic_errors_total[5m]) / $unknown"]
    output = {one.signal: one.verdict for one in plotted({"nic_errors": {"metric": "nic_errors_total"}}, expressions(dashboard))}
    assert output["nic_errors"] == "pass" and output["uplink_bytes"] == "unknown"
    assert plotted({"nic_errors": {"metric": "nic_errors"}}, ["rate(nic_errors_total[5m])"])[2].verdict == "fail"
