# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents of a run as typed mappings: what ``state.json`` and ``report.json`` hold. ``file_schemas`` checks them when they are read from outside."""

from __future__ import annotations

import typing as t

from ..evaluate.verdicts import VerdictRecord


class GateRecord(t.TypedDict):
    """A ``Gate`` in the state.

    found: check and node by reason; too_few: check and reason; time: when it was decided, ISO 8601 in UTC; run: the id of the run that decided it.
    """

    state: str
    reasons: list[str]
    found: t.NotRequired[dict[str, list[str]]]
    unproved: list[str]
    too_few: list[list[str]]
    time: str
    run: str


class Quarantined(t.TypedDict):
    """Why a host is left out: its gate group, and the layer and check that found it."""

    group: str
    layer: str
    check: str


class ReportGate(t.TypedDict):
    """A gate in the report; counts: nodes of the group by their worst verdict."""

    gate: str
    reasons: list[str]
    time: str | None
    counts: dict[str, int]


class ReportLayer(t.TypedDict):
    """A layer in the report; shared: the nodes that several gate groups share."""

    number: int
    layer: str
    asked: bool
    groups: dict[str, ReportGate]
    shared: dict[str, dict[str, int]]


class Resumed(t.TypedDict):
    """Gates of an earlier run that a run stands on; minutes: the age of the oldest at the run's end."""

    run: str
    layers: list[str]
    minutes: int


class SharedReadings(t.TypedDict):
    """Switches that another slice read for a run; age_seconds: how old the oldest of it was when it was taken."""

    slice: str
    run: str
    switches: int
    age_seconds: float


class ChangedExpectation(t.TypedDict):
    """An expectation that is not the default; value: the first one, of any type; nodes: how many have it or another one."""

    default: t.Any
    value: t.Any
    nodes: int


class UnusedWaiver(t.TypedDict):
    """A waiver that no finding needs."""

    check: str
    host: str
    where: str
    until: str


class Conditions(t.TypedDict):
    """What a verdict stands on."""

    resumed: list[Resumed]
    shared_readings: list[SharedReadings]
    changed_expectations: dict[str, ChangedExpectation]
    verdicts: list[VerdictRecord]
    quarantined: dict[str, Quarantined]


class Origin(t.TypedDict):
    """Who started a run, where and how; versions: of collection, ansible_core and python."""

    started_by: str
    controller: str
    versions: dict[str, str]
    limit: str
    check: bool
    tags: list[str]
    skip_tags: list[str]


class Measured(t.TypedDict):
    """The number that a check judges: the worst with its place, the median of count, which end is bad (``min``, ``max``), the limit, the median before."""

    worst: float
    place: str
    median: float
    count: int
    unit: str
    bad: str
    limit: float | None
    before: float | None


class Report(Conditions, Origin):
    """``report.json``, schema version 1. Times are ISO 8601 in UTC; explained: the places whose findings a silent node explains.

    measured: by ``layer/check``; a report of a run that has not ended has none.
    """

    schema: int
    pod: str
    run_id: str
    opened: str
    ended: str | None
    version: str
    digest: str
    depth: str
    mode: str
    only: str
    replayed_from: str
    complete: bool
    verdict: str
    reasons: list[str]
    up_to_layer: str | None
    layers: list[ReportLayer]
    stands_on: list[str]
    unused_waivers: list[UnusedWaiver]
    explained: dict[str, list[str]]
    measured: t.NotRequired[dict[str, Measured]]
