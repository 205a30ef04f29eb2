# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who turned bad, how often, and what changed before."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.entries import NODE_CHECK, RUN, Entry, Number, Outcome, Part
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.findings import findings_of, ranked
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.past import changes, offenders, pasts, suspects, turns
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.store import History
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.times import DAY_SECONDS, HOUR_SECONDS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.history_page import render_history_text
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.history_textfile import render_history_textfile

DAY, HOUR = int(DAY_SECONDS), int(HOUR_SECONDS)


@pytest.fixture
def history(tmp_path: Path) -> t.Iterator[History]:
    with History(tmp_path / "history.db") as made:
        yield made


def judged(history: History, day: float, layer: str = "links", parts: t.Sequence[Part] = (), numbers: t.Sequence[Number] = (), **verdicts: str) -> None:
    """A run on a day, with the verdict of each node at a layer."""
    outcomes = [Outcome(layer, node, verdict) for node, verdict in verdicts.items()]
    history.add(Entry("pod", RUN, f"{day}-{layer}", "", int(day * DAY), "1", "go", "d", outcomes, [], list(numbers), list(parts)))


def test_a_node_that_comes_back_is_a_repeat_offender_and_a_long_fault_is_one(history: History) -> None:
    for day, (flapping, broken) in enumerate([("pass", "fail"), ("fail", "fail"), ("pass", "fail"), ("unknown", "fail"), ("fail", "fail")]):
        judged(history, day, gpu01=flapping, gpu02=broken, gpu03="pass")
    found = pasts(history, "pod")
    assert [one.node for one in offenders(found, 0)] == ["gpu01"]
    assert (found["gpu01"].begun(), found["gpu02"].begun(), found["gpu03"].begun()) == ([1 * DAY, 4 * DAY], [0], [])
    assert [found[node].bad for node in ("gpu01", "gpu02", "gpu03")] == [True, True, False]
    assert offenders(found, 3 * DAY) == []


def test_what_could_not_be_determined_begins_and_ends_nothing(history: History) -> None:
    for day, verdict in enumerate(["pass", "unknown", "fail", "unknown", "fail"]):
        judged(history, day, gpu01=verdict)
    assert pasts(history, "pod")["gpu01"].begun() == [2 * DAY]


def test_a_layer_that_passes_does_not_mend_another_one(history: History) -> None:
    judged(history, 1, "links", gpu01="pass")
    judged(history, 2, "rdma", gpu01="fail")
    judged(history, 3, "links", gpu01="pass")
    one = pasts(history, "pod")["gpu01"]
    assert one.bad and one.well == 1 * DAY
    judged(history, 4, "rdma", gpu01="warn")
    one = pasts(history, "pod")["gpu01"]
    assert not one.bad and one.well == 4 * DAY
    assert pasts(history, "pod", ("collectives",))["gpu01"].well is None


def test_what_changed_between_good_and_bad_is_named(history: History) -> None:
    def kernel(version: str, *nodes: str) -> list[Part]:
        return [Part(node, "software", "kernel", version) for node in nodes]

    nodes = ("gpu01", "gpu02", "gpu03")
    judged(history, 1, parts=[*kernel("6.1", *nodes), Part("gpu01", "optic", "ens0", "MAKER A 1")], **dict.fromkeys(nodes, "pass"))
    judged(history, 2, parts=[*kernel("6.2", "gpu01", "gpu02"), *kernel("6.1", "gpu03")], gpu01="fail", gpu02="fail", gpu03="pass")
    judged(history, 3, parts=[*kernel("6.2", *nodes), Part("gpu01", "optic", "ens0", "MAKER B 7")], gpu01="fail", gpu02="pass", gpu03="pass")
    changed = changes(history, "pod")
    assert [(one.node, one.kind, one.was, one.value) for one in changed] == [
        ("gpu01", "software", "6.1", "6.2"), ("gpu02", "software", "6.1", "6.2"), ("gpu03", "software", "6.1", "6.2"),
        ("gpu01", "optic", "MAKER A 1", "MAKER B 7"),
    ]  # fmt: skip
    turned = turns(pasts(history, "pod"), changed, 0)
    assert [(turn.node, [change.kind for change in turn.changed]) for turn in turned] == [("gpu01", ["software"]), ("gpu02", ["software"])]
    assert [tuple(one) for one in suspects(changed, turned)] == [("software kernel", "6.1", "6.2", 3, 2)]


def number(day: float, value: float, metric: str = "light_received", port: str = "ens0") -> Number:
    return Number(metric, "gpu01", port, f"gpu01 {port}", value, "dBm", -10.0, 4.0)


def test_a_line_does_not_run_over_an_exchange(history: History) -> None:
    """An optic that is exchanged for a weaker one has not faded."""
    for day in range(30):
        optic = [Part("gpu01", "optic", "ens0", "MAKER A" if day < 15 else "MAKER B")]
        judged(history, day, parts=optic, numbers=[number(day, (-3.0 if day < 15 else -7.0) + day % 2 / 50)], gpu01="pass")
    found = findings_of(history, "pod", 30 * DAY_SECONDS, 90)
    assert found.trends == []
    assert [(one.was, one.value) for one in found.changes] == [("MAKER A", "MAKER B")]


def limits_published(history: History, start: float) -> list[str]:
    """The series about limits of a light that falls by 0.1 dB a day from a start, after 30 days."""
    for day in range(30):
        judged(history, day, numbers=[number(day, start - day / 10 + day % 2 / 50)], gpu01="pass")
    text = render_history_textfile(findings_of(history, "pod", 30 * DAY_SECONDS, 90))
    return [line for line in text.splitlines() if line.startswith("gpufabric_pyramid_limit_")]


def test_a_limit_that_is_crossed_has_a_series_with_the_day_since_when(history: History) -> None:
    """From -9 dBm the alarm at -10 dBm is behind after the tenth day."""
    labels = '{pod="pod",metric="light_received",place="gpu01 ens0"}'
    assert limits_published(history, -9.005) == [f"gpufabric_pyramid_limit_crossed_seconds{labels} {10 * DAY}"]


def test_a_limit_that_a_number_is_beyond_without_moving_has_a_series_and_a_row(history: History) -> None:
    for day in range(12):
        judged(history, day, numbers=[number(day, -3.0 if day < 9 else -12.0, port="ens1"), number(day, -3.0)], gpu01="pass")
    found = findings_of(history, "pod", 12 * DAY_SECONDS, 2.5)
    labels = '{pod="pod",metric="light_received",place="gpu01 ens1"}'
    lines = [line for line in render_history_textfile(found).splitlines() if line.startswith("gpufabric_pyramid_limit_")]
    assert lines == [f"gpufabric_pyramid_limit_crossed_seconds{labels} {10 * DAY}"]
    assert "  light received, gpu01 ens1, 2, -12, no more than chance, -10, crossed 1970-01-11\n" in render_history_text(found, [])


def test_a_limit_that_is_ahead_is_not_published_as_crossed(history: History) -> None:
    found = limits_published(history, -7.0)
    assert found and all(line.startswith("gpufabric_pyramid_limit_reached_seconds{") and 'bound="' in line for line in found)


def counters(history: History, values: t.Mapping[float, float], metric: str = "link_losses", booted: float | None = None, source: str = RUN) -> None:
    """Readings of a counter by hour, of a node that booted at one."""
    boot = [] if booted is None else [Number("booted", "gpu01", "", "gpu01", booted * HOUR, "s")]
    for hour, value in values.items():
        numbers = [Number(metric, "gpu01", "ens0", "gpu01 ens0", value, "losses"), *boot]
        history.add(Entry("pod", source, f"{hour}", "gpu01", int(hour * HOUR), "1", "go", "d", [], [], numbers))


def grown(history: History, hour: float) -> list[tuple[str, float, float]]:
    return [(one.metric, one.grown, one.hours) for one in findings_of(history, "pod", hour * HOUR, 90).grown]


def test_of_a_counter_that_was_cleared_the_growth_is_not_known(history: History) -> None:
    counters(history, {480: 100, 481: 104, 482: 1, 483: 2})
    assert grown(history, 484) == [("link_losses", 5.0, 2.0)]


def test_of_a_node_that_booted_the_growth_is_not_known(history: History) -> None:
    """It counts more than before the boot, which went back all the same; a clock that was set by a second is no boot."""
    counters(history, {480: 3, 481: 4}, booted=100)
    counters(history, {482: 9, 483: 10}, booted=481.5)
    counters(history, {484: 10}, booted=481.5 + 1 / HOUR)
    assert grown(history, 485) == [("link_losses", 2.0, 3.0)]


def test_a_run_that_ends_late_makes_no_growth_of_what_a_host_noted_meanwhile(history: History) -> None:
    """The run that ends at 483 had read 3 before the host read 5; before the host had its check, runs alone tell."""
    counters(history, {480: 3, 482: 5, 484: 5}, source=NODE_CHECK)
    counters(history, {440: 0, 460: 2, 483: 3})
    assert grown(history, 485) == [("link_losses", 4.0, 24.0)]


def test_a_rate_of_errors_that_rises_has_a_trend(history: History) -> None:
    counters(history, {24.0 * day: 24.0 * day * day for day in range(20)})
    (trend,) = findings_of(history, "pod", 20 * DAY, 90).trends
    # Between two days it grows by 24 * (2 * day + 1) in 24 hours.
    assert (trend.metric, trend.place, trend.last) == ("link_losses_per_hour", "gpu01 ens0", 2 * 18 + 1)
    assert trend.slope is not None and trend.slope.per_day == pytest.approx(2.0) and trend.crossing is None


def test_a_steady_rate_of_errors_has_no_trend(history: History) -> None:
    counters(history, {24.0 * day: 24.0 * day for day in range(20)})
    assert findings_of(history, "pod", 20 * DAY, 90).trends == []


@pytest.mark.parametrize(
    ("metric", "values", "times"),
    [
        ("link_losses", [0, 2, 2, 3], 2), ("xids", [0, 1, 1, 2, 2, 4], 3), ("link_losses", [0, 1, 2, 3], None), ("link_losses", [5, 5, 5, 6], None),
        # Cleared on the third day; and what grows where nothing is broken.
        ("link_losses", [5, 6, 0, 1], None), ("timeouts", [0, 2, 2, 3], None),
    ],
)  # fmt: skip
def test_errors_that_come_back_make_a_repeat_offender(history: History, metric: str, values: list[int], times: int | None) -> None:
    counters(history, {24.0 * day: value for day, value in enumerate(values)}, metric)
    found = findings_of(history, "pod", len(values) * DAY, 90)
    assert [(one.metric, one.place, one.times) for one in found.repeated] == ([] if times is None else [(metric, "gpu01 ens0", times)])
    assert ("gpu01 ens0" in render_history_text(found, ()).partition("Growth")[0]) is (times is not None)
    assert ("counter_times_grown{" in render_history_textfile(found)) is (times is not None)


def test_errors_of_a_node_reach_its_risk(history: History) -> None:
    """Of ten hosts with errors each turned bad a day later; an eleventh has errors now. Timeouts are no errors."""
    hosts = [f"gpu{number:02}" for number in range(1, 41)]
    for day in (*range(30), 30 - 1 / 24):
        verdicts = {host: "fail" if day == number + 2 and number < 10 else "pass" for number, host in enumerate(hosts)}
        errors = [int(day > number) if number < 10 else int(number == 10 and day > 29) for number in range(40)]
        numbers = [Number("symbol_errors", host, "ens0", f"{host} ens0", value, "errors") for host, value in zip(hosts, errors)]
        judged(history, day, numbers=[*numbers, Number("timeouts", "gpu12", "", "gpu12 mlx5_0", day, "timeouts")], **verdicts)
    found = {one.node: one for one in findings_of(history, "pod", 30 * DAY, 90).risks}
    assert found["gpu11"].raised > 3 and found["gpu12"].raised == 1 and found["gpu11"].probability > found["gpu12"].probability
    # As a patrol asks; of a host that never was judged under load nothing is known.
    asked = ranked(history, "pod", 30 * DAY, 90, ["gpu12", "gpu11", "gpu99"], ("links",))
    assert [(one.node, past is None) for one, past in asked] == [("gpu99", True), ("gpu11", False), ("gpu12", False)]


def test_pods_do_not_see_each_other(history: History) -> None:
    judged(history, 1, gpu01="fail")
    assert findings_of(history, "other", 2 * DAY_SECONDS, 90).nodes == {}
