# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts that are limited to the places which pod_only or a remediation names."""

from __future__ import annotations

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import Place, at_device, at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.verdicts import Verdict
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.places import limited_to_places

HERE, THERE = Finding(at_port("Ethernet1"), "a", "b", "fail"), Finding(at_port("Ethernet2"), "a", "b", "unknown")


def limited(places: set[str], *findings: Finding, host: str | None = "leaf01", check: str = "port_speed", verdict: str = "fail") -> Verdict:
    (one,) = limited_to_places([Verdict("links", check, None, host, verdict, ("rack_01", "rack_02"), findings=findings)], places)
    return one


def test_findings_at_other_places_are_dropped_and_the_verdict_is_that_of_the_rest() -> None:
    both = limited({"leaf01:Ethernet1", "leaf01:Ethernet2"}, HERE, THERE)
    assert (both.verdict, both.findings, both.by_group) == ("fail", (HERE, THERE), {})
    other = limited({"leaf01:Ethernet2"}, HERE, THERE)
    assert (other.verdict, other.findings, other.by_group) == ("unknown", (THERE,), {"rack_01": "unknown", "rack_02": "unknown"})
    elsewhere = limited({"leaf02:Ethernet1"}, HERE, THERE)
    assert (elsewhere.verdict, elsewhere.findings, elsewhere.by_group) == ("pass", (), {"rack_01": "pass", "rack_02": "pass"})
    without = Finding(at_port("Ethernet1"), "a", "b")
    assert limited({"leaf01:Ethernet1"}, without, THERE).verdict == "fail"


def test_a_place_is_a_node_or_one_of_its_ports_or_devices() -> None:
    of_port = Finding(Place("spine01", port="Ethernet7"), "a", "b")
    assert limited({"leaf01"}, HERE, of_port).findings == (HERE, of_port)
    assert limited({"leaf01:Ethernet7"}, HERE, of_port).findings == (of_port,)
    of_rail = Finding(at_device("mlx5_0", "partition key"), "a", "b")
    assert limited({"leaf01:mlx5_0"}, HERE, of_rail).findings == (of_rail,) and limited({"leaf01:spine01"}, HERE, of_port).findings == ()
    of_group = Finding(Place("MTU"), "a", "b", host="gpu01"), Finding(Place("MTU"), "a", "b", host="gpu02")
    assert limited({"gpu02"}, *of_group, host=None).findings == of_group[1:]


def test_a_node_that_gives_no_answer_or_has_booted_is_never_dropped() -> None:
    for check in ("answered", "same_boot"):
        assert limited({"gpu01"}, HERE, check=check, verdict="unknown").findings == (HERE,)


def test_a_verdict_without_findings_stays_as_it_is() -> None:
    assert limited({"gpu01"}, verdict="unknown").verdict == "unknown"


def test_a_finding_at_no_port_is_at_no_place_of_a_node() -> None:
    assert limited({"leaf01:None"}, Finding(Place("MTU"), "a", "b")).findings == ()
