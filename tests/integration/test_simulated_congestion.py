# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 3 on the simulated pod: what its queues make of thresholds, healthy pods of other noise, and real climbs with real incasts."""

from __future__ import annotations

import dataclasses
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.incasts import ACROSS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import grouping
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout, planned
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.queueing import Port, incast

from .conftest import Pod, more, not_well

PORT = Port(400, 380)
ALL = (True,) * 8
SECONDS = 30
QUICKLY = {"pod_to_layer": "congestion", "pod_incast_seconds": 2, "pod_idle_seconds": 1, "pod_load_setup_seconds": 4, "pod_load_tick_seconds": 10}


def test_a_healthy_queue_marks_and_neither_pauses_nor_drops() -> None:
    for senders in (2, 3, 8):
        response = incast(PORT, ALL[:senders], SECONDS)
        assert response.marked and min(response.notified) and not response.pauses and not response.dropped
        assert sum(response.rates) == pytest.approx(380, rel=0.05) and min(response.rates) > 0.8 * max(response.rates)


def test_an_earlier_threshold_marks_more_and_a_later_one_pauses() -> None:
    marked = [incast(dataclasses.replace(PORT, min_bytes=least), ALL, SECONDS).marked for least in (50_000, 150_000, 600_000)]
    assert marked == sorted(marked, reverse=True) and len(set(marked)) == 3
    late = incast(dataclasses.replace(PORT, min_bytes=3_000_000, max_bytes=6_000_000), ALL, SECONDS)
    assert late.pauses and late.paused_seconds > 0.1 * SECONDS


def test_who_does_not_react_takes_what_the_others_leave() -> None:
    response = incast(PORT, (False, *ALL[1:]), SECONDS)
    assert response.rates[0] > 4 * max(response.rates[1:]) and response.pauses
    mute = incast(PORT, ALL, SECONDS, notifies=False)
    assert mute.marked and not any(mute.notified) and mute.paused_seconds > 0.5 * SECONDS


def test_drops_come_with_pauses_or_without() -> None:
    short = incast(dataclasses.replace(PORT, marking=False, headroom_bytes=100_000), ALL, SECONDS)
    assert short.dropped and short.pauses
    early = incast(dataclasses.replace(PORT, marking=False, drop_bytes=1_000_000), ALL, SECONDS)
    assert early.dropped and not early.pauses


def test_a_slow_receiver_is_the_only_limit_of_its_senders() -> None:
    assert sum(incast(dataclasses.replace(PORT, takes_gbit_s=100), ALL, SECONDS).rates) == pytest.approx(100, rel=0.05)


@pytest.mark.exhaustive
def test_healthy_pods_of_other_noise_are_not_congested(tmp_path: Path) -> None:
    pods = inprocess.Pods(layout.write(tmp_path, racks=1, hosts_per_rack=3, spines=2, expectations={"pod_name": "tiny"}))
    for seed in range(10):
        verdicts = inprocess.judge(pods.plan, pods.pod(seed=seed), "congestion")
        assert len(verdicts) > 40 and not [one for one in verdicts if one.verdict not in ("pass", "skip")], seed


def test_a_run_over_some_hosts_has_incasts_among_them_alone(tmp_path: Path) -> None:
    hosts = ["gpu02", "gpu03", "gpu04", "gpu05", "gpu06", "gpu08"]
    pods = inprocess.Pods(layout.write(tmp_path / "inventory", racks=2, hosts_per_rack=4, spines=2, expectations={"pod_to_layer": "congestion"}))
    pod = pods.pod()
    report = pods.climb(pod, tmp_path / "20260101T000000Z", only=",".join(hosts))
    assert not not_well(report) and report["verdict"] == "no_fault_seen", not_well(report)
    assert any(one["layer"] == "congestion" and one["check"] == "right_class" and one["verdict"] == "pass" for one in report["verdicts"])
    assert {host for _round, host, _device in pod.moved.rates} == set(hosts)
    # A limit of all hosts is none, so that no pod is rendered twice.
    inside = planned.limited(tmp_path / "inventory", ",".join([*hosts, "leaves", "spines"]))
    assert (inside, planned.limited(tmp_path / "inventory", "gpu_hosts:leaves"), planned.limited(tmp_path / "inventory", "")) == (hosts, None, None)


# Pods of several shapes, and whether receivers take so much more than the uplinks of their leaf carry that the spines are the narrowest place.
SHAPES = [
    ({"racks": 2, "hosts_per_rack": 3, "spines": 2}, True),
    ({"racks": 2, "hosts_per_rack": 4, "spines": 8}, False),
    more({"racks": 3, "hosts_per_rack": 4, "leaves_of_racks": True}, False),
    more({"racks": 2, "hosts_per_rack": 4, "leaf_platform": "sonic"}, True),
    more({"racks": 4, "hosts_per_rack": 8}, True),
]
OF_ACROSS = {"across_fair_share", "across_fills_uplinks", "spine_marks", "spines_balanced"}


@pytest.mark.parametrize(("shape", "narrow"), SHAPES)
def test_healthy_pods_of_several_sizes_hold_incasts_across_gate_groups(shape: dict[str, t.Any], narrow: bool, tmp_path: Path) -> None:
    pods = inprocess.Pods(layout.write(tmp_path, **shape))
    verdicts = inprocess.judge(pods.plan, pods.pod(), "congestion")
    assert not [one for one in verdicts if one.verdict not in ("pass", "skip")]
    passed = {one.check for one in verdicts if one.verdict == "pass"}
    assert passed & OF_ACROSS == OF_ACROSS - (set() if narrow else {"spine_marks"})


def test_a_single_gate_group_has_no_incast_across(tmp_path: Path) -> None:
    pods = inprocess.Pods(layout.write(tmp_path, racks=1, hosts_per_rack=4))
    verdicts = inprocess.judge(pods.plan, pods.pod(), "congestion")
    assert {one.verdict for one in verdicts if one.check in OF_ACROSS} == {"skip"}


def test_a_gate_group_that_is_closed_is_not_loaded_from_others(tmp_path: Path) -> None:
    pods = inprocess.Pods(layout.write(tmp_path, racks=3, hosts_per_rack=3, spines=2, expectations={"pod_to_layer": "congestion"}))
    run = tmp_path / "run"
    report = pods.climb(pods.pod(["trust_pcp@gpu05"]), run)
    assert {one["group"] for one in report["verdicts"] if one["layer"] == "congestion" and one["group"]} == {"rack_01", "rack_03"}
    jobs = {host: readings["load_jobs"]["rows"] for host, readings in RunStore(run).loaded("congestion").items()}
    across = {host: [row for row in rows if row["kind"] == ACROSS] for host, rows in jobs.items()}
    assert set(across) == {host for group in ("rack_01", "rack_03") for host in pods.plan.groups[group]} and all(across.values())
    assert not {row["peer"] for rows in jobs.values() for row in rows} & set(pods.plan.groups["rack_02"])


@pytest.mark.exhaustive
def test_a_fault_of_one_spine_names_it_first(tmp_path: Path) -> None:
    pods = inprocess.Pods(layout.write(tmp_path, racks=2, hosts_per_rack=4, expectations={"pod_to_layer": "congestion"}))
    for name, check in (("spine_never_marks", "qos_agrees"), ("spine_port_unused", "spines_balanced"), ("spine_avoided", "spines_balanced")):
        report = pods.climb(pods.pod([name]), tmp_path / name)
        first = grouping.entries(report, ("fail", "unknown", "warn"))[0]
        assert (first.check, {host for host, _where in first.places}) == (check, {"spine02"}), name


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    """The small pod, loaded shortly."""
    return Pod(tmp_path, **QUICKLY)


@pytest.mark.exhaustive
@pytest.mark.long
def test_a_healthy_pod_is_congested_for_real_and_holds(pod: Pod) -> None:
    climb = pod.climb()
    assert climb.rc == 0, climb.output
    assert climb.report is not None and climb.report["verdict"] == "go"
    passed = {one["check"] for one in climb.report["verdicts"] if one["layer"] == "congestion" and one["verdict"] == "pass"}
    assert {"right_class", "ecn_marks_under_load", "dcqcn_backs_off", "pfc_brief", "no_drops", "ecmp_balanced", "incasts_ran"} <= passed
    assert climb.run is not None and list((climb.run / "readings" / "congestion").glob("during-*")), "counters are sampled under load"


@pytest.mark.exhaustive
@pytest.mark.long
def test_real_incasts_trip_what_was_judged_in_process(pod: Pod) -> None:
    names = ["dcqcn_mute", "receiver_slow@gpu07", "ecmp_polarised@leaf05", "uplink_lossless_on_two", "marked_while_idle@gpu08", "headroom_short@leaf07"]
    names += ["spine_never_marks", "spine_port_unused@spine03"]
    pods = inprocess.Pods(pod.inventory)
    faulty = pods.pod(names)
    expected = {one.check: one.verdict for one in inprocess.judge(pods.plan, faulty, "congestion") if one.verdict not in ("pass", "skip")}

    climb = pod.climb("-e", f"simulated_faults={','.join(names)}")

    assert climb.rc == 2 and climb.report is not None, climb.output
    assert set(not_well(climb.report)) == set(expected)
    assert {"dcqcn_backs_off", "slow_receiver", "ecmp_balanced", "qos_agrees", "idle_quiet", "switch_drops", "no_drops"} <= set(expected)
    assert {"spine_marks", "spines_balanced"} <= set(expected)
