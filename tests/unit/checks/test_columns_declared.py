# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every column that a check looks up in a row is declared by the row's reading: one that is not would always be missing, silently with ``get``."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Check
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue
from ansible_collections.gpufabric.pyramid.tests.integration.test_simulated_pods import MIXED
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout

# Check, reading, column.
Lookup = tuple[str, str, str]
# A sample during a load has the time at which it was taken, as the run keeps it.
OF_SAMPLES = {"seconds"}


class RecordedRow(dict[str, t.Any]):
    """A row that notes which columns are looked up in it; copies are plain."""

    def __init__(self, row: dict[str, t.Any], note: t.Callable[[str], None]) -> None:
        super().__init__(row)
        self.note = note

    def __getitem__(self, column: str) -> t.Any:
        self.note(column)
        return super().__getitem__(column)

    def get(self, column: str, default: t.Any = None) -> t.Any:
        """As of a dict."""
        self.note(column)
        return super().get(column, default)

    def __contains__(self, column: object) -> bool:
        self.note(str(column))
        return super().__contains__(column)


class Recorder:
    """The checks of all layers, each with rows that note what it looks up."""

    def __init__(self) -> None:
        self.looked_up: set[Lookup] = set()
        self.check = ""
        self.kept: dict[tuple[str, int], tuple[t.Any, t.Any]] = {}

    def rows(self, reading: str, given: t.Any) -> t.Any:
        """Rows of a reading, or those of several nodes; rows that many checks are given are recorded ones of the same list."""
        if isinstance(given, dict):
            return {node: self.rows(reading, own) for node, own in given.items()}
        if given is None:
            return None
        if (reading, id(given)) not in self.kept:
            recorded = [RecordedRow(row, lambda column: self.looked_up.add((self.check, reading, column))) for row in given]
            self.kept[reading, id(given)] = (given, recorded)
        return self.kept[reading, id(given)][1]

    def recording(self, check: Check) -> Check:
        """A check that is given recorded rows."""
        reading_of = {parameter: name for _phase, name, parameter in (*check.asked, *check.of_peers)}

        def judge(**given: t.Any) -> Iterator[t.Any]:
            rows = {name: self.rows(reading_of[name], value) if name in reading_of else value for name, value in given.items()}
            findings = iter(check.judge(**rows))
            while True:
                self.check = check.id
                try:
                    finding = next(findings)
                except StopIteration:
                    return
                yield finding

        return replace(check, judge=judge)

    def undeclared(self) -> list[str]:
        """What was looked up and no reading declares."""
        columns = {name: {column.name for column in one.columns} | OF_SAMPLES for name, one in catalogue().items()}
        return sorted(f"{check} looks up {column} in a row of {reading}" for check, reading, column in self.looked_up if column not in columns[reading])


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """All checks, recorded."""
    recorder = Recorder()
    for layer, known in REGISTRY.items():
        monkeypatch.setitem(REGISTRY, layer, {name: recorder.recording(check) for name, check in known.items()})
    return recorder


@pytest.mark.parametrize("fabric", ["roce", pytest.param("infiniband", marks=pytest.mark.exhaustive)])
def test_checks_look_up_declared_columns_only(fabric: str, recorder: Recorder, tmp_path: Path) -> None:
    """A climb of all layers, with faults that lead checks beyond what a healthy pod shows them."""
    expectations = {"pod_name": "small", "pod_to_layer": "training", **({"pod_fabric_reader": ["gpu01", "gpu05"]} if fabric == "infiniband" else {})}
    pods = inprocess.Pods(layout.write(tmp_path / f"pod_{fabric}", racks=2, hosts_per_rack=4, spines=4, expectations=expectations, fabric=fabric))
    pods.climb(pods.pod(), tmp_path / "run")
    for layer in inprocess.LAYERS if fabric == "roce" else ():
        inprocess.judge(pods.plan, pods.pod(MIXED), layer)
    assert recorder.undeclared() == []
    known = {check.id for checks in REGISTRY.values() for check in checks.values() if check.fabric in (None, fabric) and check.reads}
    assert len(known & {check for check, _reading, _column in recorder.looked_up}) > 0.75 * len(known), "most checks must have been given rows"


def test_a_column_that_no_reading_declares_is_found(recorder: Recorder) -> None:
    def judge(ibstat: list[dict[str, t.Any]]) -> Iterator[t.Any]:
        yield ibstat[0]["device"], ibstat[0].get("colour"), "shape" in ibstat[0]

    check = replace(next(iter(REGISTRY["preflight"].values())), id="made", judge=judge, asked=(("now", "ibstat", "ibstat"),), of_peers=())
    assert list(recorder.recording(check).judge(ibstat=[{"device": "mlx5_0"}])) == [("mlx5_0", None, False)]
    assert recorder.undeclared() == [f"made looks up {column} in a row of ibstat" for column in ("colour", "shape")]
