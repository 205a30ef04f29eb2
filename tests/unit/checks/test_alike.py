# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings and versions of a switch against those of the other switches of its role, by plain calls."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.congestion.alike import class_settings_alike

Rows = list[dict[str, t.Any]]
OTHERS = ["leaf01", "leaf02", "leaf03"]


def profile(minimum: float | None = 150_000, **other: t.Any) -> Rows:
    row = {"profile": "RDMA", "port": None, "queue": None, "marking": True, "min_bytes": minimum, "max_bytes": 1_500_000.0, "probability_percent": 100.0}
    return [{**row, "traffic_classes": [], **other}]


def of_ports(*minimums: float) -> Rows:
    return [{**profile(minimum, traffic_classes=[3])[0], "profile": None, "port": f"swp{number}"} for number, minimum in enumerate(minimums)]


def classes(name: str | None = "AZURE", **of_dscp: int) -> Rows:
    given = dict.fromkeys(range(64), 0) | {26: 3, 48: 6} | {int(dscp[1:]): number for dscp, number in of_dscp.items()}
    return [{"port": None, "map": name, "traffic_class": number, "dscp": [dscp]} for dscp, number in given.items()]


def alike(ecn: Rows | None = None, dscp: Rows | None = None, ecn_of: t.Any = None, dscp_of: t.Any = None) -> list[Finding]:
    return list(class_settings_alike(ecn_of or {}, dscp_of or {}, "leaf04", OTHERS, "leaf", 26, ecn_settings=ecn, dscp_classes=dscp))


def on_all(rows: Rows) -> dict[str, Rows]:
    return dict.fromkeys([*OTHERS, "leaf04", "spine01"], rows)


def summary(findings: t.Iterable[Finding]) -> list[tuple[str, str | None]]:
    return [(str(one), one.severity) for one in findings]


def test_thresholds_are_those_of_most_switches_of_the_role() -> None:
    assert alike(profile(), ecn_of=on_all(profile())) == []
    assert summary(alike(profile(9000.0), ecn_of=on_all(profile()))) == [
        ("ECN profile RDMA, minimum threshold: expected 150000 bytes, as of 3 of 4 leaf switches, got 9000 bytes", None)
    ]
    # A switch of the majority is not accused of another one's setting, and a spine is none of its peers.
    assert alike(profile(), ecn_of={**on_all(profile()), "leaf02": profile(9000.0), "spine01": profile(1.0)}) == []
    assert summary(alike(profile(probability_percent=5.0, max_bytes=2.0), ecn_of=on_all(profile()))) == [
        ("ECN profile RDMA, marking probability: expected 100 %, as of 3 of 4 leaf switches, got 5 %", None),
        ("ECN profile RDMA, maximum threshold: expected 1500000 bytes, as of 3 of 4 leaf switches, got 2 bytes", None),
    ]
    assert summary(alike([], ecn_of=on_all(profile())))[1] == (
        "ECN profile RDMA, maximum threshold: expected 1500000 bytes, as of 3 of 4 leaf switches, got not set", None
    )  # fmt: skip


def test_thresholds_of_ports_are_compared_together() -> None:
    assert alike(of_ports(1000, 2000), ecn_of=on_all(of_ports(2000, 1000, 1000))) == []
    assert summary(alike(of_ports(1000, 1000, 7), ecn_of=on_all(of_ports(1000, 1000)))) == [
        (
            "ECN of ports, minimum threshold of traffic class 3: expected 1000 bytes, as of 3 of 4 leaf switches, got 1000 bytes and 7 bytes",
            None,
        )
    ]


def test_two_switches_that_differ_accuse_each_other() -> None:
    assert summary(alike(profile(9000.0), ecn_of={"leaf01": profile()})) == [
        ("ECN profile RDMA, minimum threshold: expected one value for all, of 150000 bytes (leaf01), got 9000 bytes", None)
    ]


def test_what_is_not_reported_is_no_pass() -> None:
    for column in ("min_bytes", "max_bytes", "probability_percent"):
        blank = profile(**{column: None}) if column != "min_bytes" else profile(None)
        for own, others in ((blank, profile()), (profile(), blank)):
            assert [one.severity for one in alike(own, ecn_of=on_all(others))] == ["unknown"], column
        assert alike(blank, ecn_of=on_all(blank)) == []
    assert [one.severity for one in alike(None, ecn_of=on_all(profile()))] == ["unknown"]
    assert [one.severity for one in alike(None, dscp_of=on_all(classes()))] == ["unknown"]
    with pytest.raises(NotApplicable, match="no other leaf"):
        alike(profile(), classes(), {"spine01": profile(9.0)}, {"spine01": classes()})


def test_maps_of_dscp() -> None:
    assert alike(dscp=classes(), dscp_of=on_all(classes())) == []
    assert summary(alike(dscp=classes(d48=3), dscp_of=on_all(classes()))) == [
        ("DSCP map AZURE, DSCP 48: expected traffic class 6, as of 3 of 4 leaf switches, got traffic class 3", None)
    ]
    # dscp_agrees evaluates that of RoCE.
    assert alike(dscp=classes(d26=0), dscp_of=on_all(classes())) == []
    assert summary(alike(dscp=classes(d1=1, d2=1, d10=1, d48=3), dscp_of=on_all(classes()))) == [
        (
            "DSCP map AZURE: expected as of most leaf switches, got 4 values differ (DSCP 1: traffic class 1, DSCP 10: traffic class 1, "
            "DSCP 2: traffic class 1, ...)",
            None,
        )
    ]
