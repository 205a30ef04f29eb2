# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts: what decides one, and that its record holds it whole, without a control character."""

from __future__ import annotations

import datetime

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import Place, at_device
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.verdicts import Verdict, from_record, place_of, settle
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.waivers import Waiver

NAME = "port_speed"
CHECK = REGISTRY["links"][NAME]
TODAY = datetime.date(2026, 6, 15)


def verdict(host: str | None = "gpu01", word: str = "fail", findings: tuple[Finding, ...] = ()) -> Verdict:
    return Verdict("links", NAME, "rack_01", host, word, ("rack_01",), findings=findings)


def test_a_record_holds_cause_and_fix_without_control_characters() -> None:
    bad = Finding(at_device("mlx5_0"), "400", "200", "fail", cause="a cable\x1b[31m", fix="replace\nit")
    (one,) = verdict(findings=(bad,)).record()["findings"]
    assert "a cable" in one["cause"] and "\x1b" not in one["cause"] and one["fix"] == "replace it"
    (plain,) = verdict(findings=(Finding(at_device("mlx5_0"), "400", "200", "fail"),)).record()["findings"]
    assert (plain["cause"], plain["fix"]) == (None, None)


def test_a_record_of_a_newer_version_is_read_as_far_as_it_is_known() -> None:
    one = verdict(findings=(Finding(at_device("mlx5_0"), "400", "200", "fail"),))
    record = {**one.record(), "of a newer version": 1}
    assert from_record(record).findings[0].host == "gpu01" and from_record(record).check == NAME


@pytest.mark.parametrize(
    ("finding", "judged"),
    [
        (Finding(Place("a"), "b", "c", "unknown"), False),
        (Finding(Place("a"), "b", "c", "unknown", judged=True), True),
        (Finding(Place("a"), "b", "c"), True),
        (Finding(Place("a"), "b", "c", "unknown", cause="why"), True),
    ],
    ids=["neither", "said so", "severity left open", "own cause"],
)
def test_words_with_a_cause_of_their_own(finding: Finding, judged: bool) -> None:
    assert settle(verdict(), CHECK, [finding], (), TODAY).findings[0].judged is judged


def test_a_waived_finding_names_its_host() -> None:
    def waived(finding: Finding, of: Verdict) -> str:
        given = [Waiver(NAME, host, "mlx5_0", "known", TODAY) for host in ("gpu01", "gpu02")]
        (one,) = settle(of, CHECK, [finding], given, TODAY).waived
        return one["host"]

    assert waived(Finding(at_device("mlx5_0"), "400", "200"), verdict()) == "gpu01"
    assert waived(Finding(at_device("mlx5_0"), "400", "200", host="gpu02"), verdict()) == "gpu02"
    assert waived(Finding(at_device("mlx5_0"), "400", "200", host="gpu02"), verdict(None)) == "gpu02"


def test_a_finding_of_what_was_not_evaluated_is_nowhere() -> None:
    assert place_of({"where": None, "host": "gpu01"}) == Place("")  # type: ignore[typeddict-item]
    assert place_of({"where": "Ethernet1", "host": "leaf01"}) == Place("Ethernet1", port="Ethernet1")  # type: ignore[typeddict-item]
