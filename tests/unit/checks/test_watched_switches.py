# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is watched at the ports of switches around loads: what grows, what few errors are, and what is not reported."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.watched import switches

Row = dict[str, t.Any]
CABLES = [
    {"port": "Ethernet1/1", "peer": "gpu01", "peer_port": "mlx5_0", "peer_role": "host", "gbit_s": 400},
    {"port": "Ethernet33/1", "peer": "spine01", "peer_port": "Ethernet0", "peer_role": "spine", "gbit_s": 400},
]
NO_ERRORS: Row = {"fcs_errors": 5, "symbol_errors": 0, "alignment_errors": None, "rx_errors": 5}
LIMITS = {"pod_roce_priority": 3, "pod_link_gbit_s": 400, "pod_pause_warn_percent": 1, "pod_pause_max_percent": 5}
TERABYTE = 10**12


def rows(first: Row, second: Row | None = None) -> list[Row]:
    """The row of each port, as a switch abbreviates its name; of the second that of the first where nothing is said."""
    return [{"port": port, **row} for port, row in (("Et1/1", first), ("Et33/1", first if second is None else second))]


def found(findings: t.Iterable[Finding]) -> list[tuple[str, str, str | None]]:
    return [(str(one.where), one.actual, one.severity) for one in findings]


def sent(count: int) -> list[Row]:
    """What each port has sent, in two queues."""
    return [{"port": row["port"], "queue": queue, "tx_bytes": count // 2} for row in rows({}) for queue in ("UC3", "UC0")]


def links(before: list[Row], now: list[Row], **more: t.Any) -> list[tuple[str, str, str | None]]:
    return found(switches.switch_links_under_load(before, now, CABLES, 10, **more))


@pytest.mark.parametrize(("errors", "moved", "severity"), [(10, 0, "warn"), (11, 0, None), (90, 10 * TERABYTE, "warn"), (101, 10 * TERABYTE, None)])
def test_few_errors_for_what_a_port_sent_warn_and_many_fail(errors: int, moved: int, severity: str | None) -> None:
    now = rows(NO_ERRORS, {**NO_ERRORS, "fcs_errors": 5 + errors})
    judged = links(rows(NO_ERRORS), now, interface_bytes_idle=sent(0), interface_bytes=sent(moved))
    assert judged == [("Ethernet33/1", f"fcs_errors +{errors}, and {moved / TERABYTE:.3g} TB sent", severity)]


def test_a_switch_with_one_counter_of_errors_is_judged_by_it() -> None:
    one = {"fcs_errors": None, "symbol_errors": None, "alignment_errors": None, "rx_errors": 7}
    assert links(rows(one), rows({**one, "rx_errors": 107}, one)) == [("Ethernet1/1", "rx_errors +100, and 0 TB sent", None)]


def test_a_port_without_error_counters_is_unknown() -> None:
    none = {"fcs_errors": None, "symbol_errors": None, "alignment_errors": None, "rx_errors": None}
    assert links(rows(NO_ERRORS, none), rows(NO_ERRORS, none)) == [("Ethernet33/1 errors", "not reported", "unknown")]
    assert links(rows(NO_ERRORS)[:1], rows(NO_ERRORS)) == [("Ethernet33/1 errors", "not reported", "unknown")]


def test_counters_that_went_back_are_unknown() -> None:
    assert links(rows(NO_ERRORS), rows({**NO_ERRORS, "fcs_errors": 0}, NO_ERRORS)) == [("Ethernet1/1", "counters were reset (fcs_errors)", "unknown")]


@pytest.mark.parametrize(
    ("before", "now", "words", "severity"),
    [
        ({"changes": 2, "since_seconds": None}, {"changes": 4, "since_seconds": None}, "2 changes of the link to gpu01 mlx5_0", None),
        ({"changes": None, "since_seconds": 900.0}, {"changes": None, "since_seconds": 30.0}, "the link to gpu01 mlx5_0 changed 30 s before the end", None),
        ({"changes": 2, "since_seconds": None}, {"changes": 0, "since_seconds": None}, "counters were reset (changes)", "unknown"),
        ({"changes": 2, "since_seconds": None}, {"changes": None, "since_seconds": None}, "not reported", "unknown"),
    ],
)
def test_a_link_that_changed_its_state_fails_however_a_platform_counts_it(before: Row, now: Row, words: str, severity: str | None) -> None:
    same = {name: None if value is None else 900.0 for name, value in before.items()}
    judged = links(rows(NO_ERRORS), rows(NO_ERRORS), link_changes_idle=rows(before, same), link_changes=rows(now, same))
    assert [(actual, one) for _where, actual, one in judged] == [(words, severity)]


def test_a_switch_that_counts_no_changes_is_judged_by_its_errors() -> None:
    none = {"changes": None, "since_seconds": None}
    assert links(rows(NO_ERRORS), rows(NO_ERRORS), link_changes_idle=rows(none), link_changes=rows(none)) == []


def drops(out: list[Row], into: list[Row], moved: int = 0, **more: t.Any) -> list[tuple[str, str, str | None]]:
    """What is found where a switch had dropped none before the load."""
    was = [[{**row, "dropped_packets": 0} for row in some] for some in (out, into)]
    given = {"interface_bytes_idle": sent(0), "interface_bytes": sent(moved), **more}
    return found(switches.switch_drops_under_load(was[0], out, was[1], into, CABLES, 3, 10, 0, **given))


def out(first: int, second: int = 0, queue: str | None = "UC3") -> list[Row]:
    return rows({"queue": queue, "dropped_packets": first}, {"queue": queue, "dropped_packets": second})


def into(first: int, second: int = 0, group: int | None = 3) -> list[Row]:
    return rows({"priority_group": group, "dropped_packets": first}, {"priority_group": group, "dropped_packets": second})


def test_drops_of_the_class_fail_where_they_are_many_for_what_was_sent() -> None:
    assert drops(out(0, 11), into(0)) == [("Ethernet33/1", "11 packets of UC3, and 0 TB sent", None)]
    assert drops(out(0, 11), into(0), 2 * TERABYTE) == [("Ethernet33/1", "11 packets of UC3, and 2 TB sent", "warn")]
    assert drops(out(0), into(400)) == [("Ethernet1/1", "400 packets of 3, and 0 TB sent", None)]
    assert drops(out(0), into(400, group=None)) == [("Ethernet1/1", "400 packets, and 0 TB sent", "warn")], "what else comes in is dropped as well"


def test_drops_of_another_queue_are_not_of_the_class_and_its_own_are_missing() -> None:
    assert drops(out(900, queue="UC0"), into(0)) == [(f"{port} drops on the way out", "not reported", "unknown") for port in ("Ethernet1/1", "Ethernet33/1")]


def test_drops_by_wred_are_found_beside_marks() -> None:
    before = rows({"queue": "UC3", "marked_packets": 0, "wred_dropped_packets": 0})
    now = rows({"queue": "UC3", "marked_packets": 70, "wred_dropped_packets": 50}, {"queue": "UC3", "marked_packets": 0, "wred_dropped_packets": 0})
    judged = drops(out(0), into(0), ecn_counters_idle=before, ecn_counters=now)
    assert judged == [("Ethernet1/1", "50 packets of UC3, 70 marked, and 0 TB sent", None)]


def pauses(frames: int, moved: int) -> list[tuple[str, str, str | None]]:
    was, now = (rows({"priority": 3, "rx_frames": count}, {"priority": 3, "rx_frames": 0}) for count in (0, frames))
    return found(switches.switch_pauses_under_load(was, now, CABLES, **LIMITS, interface_bytes_idle=sent(0), interface_bytes=sent(moved)))


def test_frames_are_a_share_of_the_time_of_what_was_sent() -> None:
    # 5 TB take 100 s at 400 Gb/s, and 12,000 frames stop a port for a second at most.
    assert pauses(10_000, 5 * TERABYTE) == []
    assert [one for _where, _actual, one in pauses(30_000, 5 * TERABYTE)] == ["warn"]
    ((where, actual, severity),) = pauses(120_000, 5 * TERABYTE)
    assert (where, severity) == ("Ethernet1/1", "unknown") and actual == "120000 pauses of gpu01 mlx5_0: at most 9.15 % of the time of 5 TB"


def test_a_port_without_load_is_a_warning_only_where_it_was_stopped_for_long() -> None:
    assert pauses(3_000, 0) == []
    assert [one for _where, _actual, one in pauses(30_000, 0)] == ["warn"]


def test_no_cable_is_no_pass() -> None:
    for judge in (
        switches.switch_links_under_load([], [], [], 10), switches.switch_drops_under_load([], [], [], [], [], 3, 10, 0),
        switches.switch_pauses_under_load([], [], [], **LIMITS),
    ):  # fmt: skip
        with pytest.raises(CannotTell):
            list(judge)
