# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last lines of a training that hung: which host's log stopped first, where that is clear."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.training._silent_logs import stopped_first
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.training.own_log import own_training_ends
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.last_lines import LastLine, forms_before, last_line, seconds_apart

STEPS = [f"[rank8] 2026-06-15 12:31:{second:02}.500 step {second} loss 2.{second}" for second in range(0, 10, 2)]


def test_the_last_line_of_a_log_has_its_time_and_pace() -> None:
    assert last_line("\n".join(STEPS), "a warning without a time\n") == LastLine(STEPS[-1], 12 * 3600 + 31 * 60 + 8.5, 2.0)
    # Of two streams that of the later time; a line without a time behind it is of no other time.
    assert last_line("12:31:09 y\nqux\n", "12:31:08 x\n") == LastLine("12:31:09 y", 45069.0, None)
    assert last_line("qux of 7\n", "") == LastLine("qux of 7", None, None) and last_line("", "\n") is None
    # An address or a duration is no time.
    assert last_line("NIC aa:bb:12:31:09:10 up 101:02:03") == LastLine("NIC aa:bb:12:31:09:10 up 101:02:03", None, None)
    assert seconds_apart(5.0, 86395.0) == 10.0 and seconds_apart(86395.0, 5.0) == -10.0


def job(clock: float | None, period: float | None = 2.0) -> dict[str, t.Any]:
    line = None if clock is None else STEPS[-1]
    last = {"last_line": line, "last_rank": None if line is None else 8, "last_clock": clock, "last_period": period}
    return {"kind": "training", "status": "unknown", "words": "run.sh did not end in time", **last}


@pytest.mark.parametrize(
    ("jobs", "found"),
    [
        ({"a": job(100.0), "b": job(340.0), "c": job(341.0)}, {"a": 241.0}),
        # Past midnight.
        ({"a": job(86300.0), "b": job(100.0), "c": job(101.0)}, {"a": 201.0}),
        ({"a": job(338.0), "b": job(340.0), "c": job(341.0)}, {}),
        # Within three of its own lines, and one that had not logged at a pace, such as one whose ranks print no steps.
        ({"a": job(100.0, 90.0), "b": job(340.0), "c": job(341.0)}, {}),
        ({"a": job(100.0, None), "b": job(340.0), "c": job(341.0)}, {}),
        # Another time zone, two hosts of two minds, and more hosts that are silent than go on.
        ({"a": job(340.0), "b": job(3940.0), "c": job(3941.0)}, {}),
        ({"a": job(100.0), "b": job(340.0)}, {}),
        ({"a": job(100.0), "b": job(100.0), "c": job(340.0), "d": job(341.0)}, {}),
        ({"a": job(100.0), "b": job(None), "c": job(340.0), "d": job(341.0)}, {}),
        ({"a": job(None), "b": job(None)}, {}),
        ({}, {}),
    ],
)
def test_a_log_that_stopped_while_most_others_went_on(jobs: dict[str, dict[str, t.Any]], found: dict[str, float]) -> None:
    assert stopped_first(jobs) == found


def test_a_log_that_stopped_at_a_line_which_most_others_went_past_has_stopped_at_whatever_pace_it_was_written() -> None:
    saving, saved = "12:31:08 saving step 7", ["# saved step #", "# saving step #"]

    def jobs(before: list[str], last: str = saving, clock: float = 100.0) -> dict[str, dict[str, t.Any]]:
        others = {host: {**job(at, None), "last_line": "12:35:40 main loop", "before_last": before} for host, at in (("b", 340.0), ("c", 341.0))}
        return {"a": {**job(clock, None), "last_line": last}, **others}

    assert stopped_first(jobs(saved)) == {"a": 241.0}
    # A line that the others did not have before their last one, or that they had just then, shows nothing.
    assert (
        stopped_first(jobs(["# saved step #"])) == {}
        and stopped_first(jobs(saved, "12:31:08 main loop")) == {}
        and stopped_first(jobs(saved, clock=335.0)) == {}
    )
    assert forms_before("12:31:08 saving step 7\n12:31:09 saving step 8\n12:31:10 main loop\n", "a warning\n") == ["a warning", "# saving step #"]


def test_every_host_of_a_hang_names_the_one_whose_log_stopped_first() -> None:
    jobs = {"gpu01": [job(340.0)], "gpu02": [job(100.0)], "gpu03": [job(341.0)]}
    for host in jobs:
        (found,) = own_training_ends(jobs[host], [], host, 8, {key: [] for key in jobs}, jobs)
        assert (found.host, str(found.where), found.severity) == ("gpu02", "rank 8 (GPU 0)", "unknown")
        assert found.actual == f"run.sh did not end in time; it logged last, 241 s before the others: {STEPS[-1]}" and "py-spy" in (found.fix or "")


def test_where_no_log_stopped_first_each_host_has_its_own_last_line() -> None:
    jobs = {"gpu01": [job(340.0)], "gpu02": [job(None)], "gpu03": [job(341.0)]}
    (found,) = own_training_ends(jobs["gpu01"], [], "gpu01", 8, {key: [] for key in jobs}, jobs)
    assert found.host is None and found.actual == f"run.sh did not end in time; it logged last: {STEPS[-1]}"
    (found,) = own_training_ends(jobs["gpu02"], [], "gpu02", 8, {key: [] for key in jobs}, jobs)
    assert found.actual == "run.sh did not end in time"
