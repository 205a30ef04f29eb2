# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a node that does not answer is down, or its management alone."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.unanswering_nodes import name_unanswering_nodes

from ..conftest import small_plan


def answered(host: str) -> t.Any:
    return {
        "check": "answered",
        "host": host,
        "verdict": "unknown",
        "findings": [{"host": host, "where": host, "severity": "unknown", "actual": "unreachable"}],
    }


def speed(leaf: str, verdict: str, *ports: str, actual: str = "notconnect") -> t.Any:
    state = "waits" if actual == "notconnect" else ""
    findings = [{"host": leaf, "where": port, "place": {"port": port, "state": state}, "severity": verdict, "actual": actual} for port in ports]
    return {"check": "port_speed", "host": leaf, "verdict": verdict, "findings": findings}


@pytest.mark.parametrize(
    ("leaves", "words"),
    [
        # Ethernet33 leads to spine01, Ethernet34 to spine02.
        ([speed("leaf01", "fail", "Ethernet33"), speed("leaf02", "fail", "Ethernet33")], "All 2 links of spine01 are down"),
        ([speed("leaf01", "pass"), speed("leaf02", "fail", "Ethernet34")], "All 2 links of spine01 are up"),
        ([speed("leaf01", "pass"), speed("leaf02", "fail", "Ethernet33")], None),
        ([speed("leaf01", "fail", "Ethernet33"), speed("leaf02", "fail", "Ethernet33", actual="disabled")], None),
        # Too few of them answered, or none was judged.
        ([speed("leaf01", "fail", "Ethernet33")], None),
        ([speed("leaf01", "unknown"), speed("leaf02", "unknown")], None),
    ],
)
def test_the_other_ends_tell_whether_a_silent_switch_is_down(leaves: list[t.Any], words: str | None) -> None:
    record = answered("spine01")
    name_unanswering_nodes(small_plan(), [record, *leaves])
    assert (record["findings"][0].get("cause") or "").startswith(words or "") and bool(record["findings"][0].get("fix")) == (words is not None)


def test_the_other_ends_of_switches_that_were_not_asked_have_one_cause() -> None:
    leaves = [speed("leaf01", "fail", "Ethernet33", "Ethernet34"), speed("leaf02", "fail", "Ethernet33", "Ethernet34")]
    name_unanswering_nodes(small_plan(), leaves)
    found = [one for record in leaves for one in record["findings"]]
    assert len({one["cause"] for one in found}) == 1 and found[0]["cause"].startswith("All 4 links of spine01, spine02 are down")
    # One that is asked, or of which one link is up, is not dark.
    for more in (answered("spine01"), speed("spine01", "pass")):
        leaves = [speed("leaf01", "fail", "Ethernet33", "Ethernet34"), speed("leaf02", "fail", "Ethernet33")]
        name_unanswering_nodes(small_plan(), [*leaves, more])
        assert not any("cause" in one for record in leaves for one in record["findings"])


def test_links_to_hosts_that_were_not_asked_begin_at_these() -> None:
    plan = small_plan()
    ends = [cable.seen_from("gpu01")[1] for cable in plan.at["gpu01"]]
    leaves = [speed(end.node, "fail", end.port) for end in ends]
    name_unanswering_nodes(plan, leaves)
    found = [one for record in leaves for one in record["findings"]]
    assert {one.get("origin") for one in found} == {("answered", "gpu01", "")}
    assert found[0]["cause"].startswith(f"All {len(ends)} links of gpu01 are down")
    # Where one of them is up it is a cable or an optic, and so it is where the host was asked.
    for others in (leaves_of(ends[1:]), [*leaves_of(ends), answered("gpu01")]):
        name_unanswering_nodes(plan, [*others, speed(ends[0].node, "pass")])
        assert not any("origin" in one for record in others for one in record["findings"])


def leaves_of(ends: list[t.Any]) -> list[t.Any]:
    return [speed(end.node, "fail", end.port) for end in ends]


def test_a_host_that_does_not_answer_has_other_causes() -> None:
    record = answered("gpu01")
    name_unanswering_nodes(small_plan(), [record, speed("leaf01", "fail", "Ethernet1"), speed("leaf02", "fail", "Ethernet1")])
    assert "cause" not in record["findings"][0]
