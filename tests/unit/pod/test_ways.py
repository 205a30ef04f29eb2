# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ports lead to each leaf over the fewest switches."""

from __future__ import annotations

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.ways import Ways


def links(*cables: str) -> dict[str, list[tuple[str, str]]]:
    """Of ``a-b``: a port of a that is called by its peer and its place among the cables to it."""
    found: dict[str, list[tuple[str, str]]] = {}
    for cable in cables:
        near, far = cable.split("-")
        for one, other in ((near, far), (far, near)):
            its = found.setdefault(one, [])
            its.append((other, f"{other}.{sum(peer == other for peer, _port in its) + 1}"))
    return found


TWO_TIERS = links("l1-s1", "l1-s2", "l2-s1", "l2-s1", "l2-s2", "l3-s2")
THREE_TIERS = links(
    *(f"l{leaf}-s{spine}" for leaf in (1, 2) for spine in (1, 2)), *(f"l{leaf}-s{spine}" for leaf in (3, 4) for spine in (3, 4)),
    "s1-x1", "s1-x2", "s2-x1", "s3-x1", "s3-x2", "s4-x2",
)  # fmt: skip


def test_uplinks_that_do_not_reach_a_leaf_are_no_way_to_it() -> None:
    ways = Ways(TWO_TIERS, ["l1", "l2", "l3"])
    assert ways.from_switch("l1") == {"l2": ["s1.1", "s2.1"], "l3": ["s2.1"]}
    assert ways.from_switch("l3") == {"l1": ["s2.1"], "l2": ["s2.1"]}
    # To a neighbor all cables to it are ways.
    assert ways.from_switch("s1") == {"l1": ["l1.1"], "l2": ["l2.1", "l2.2"], "l3": ["l1.1", "l2.1", "l2.2"]}


def test_three_tiers() -> None:
    ways = Ways(THREE_TIERS, ["l1", "l2", "l3", "l4"])
    assert ways.from_switch("l1") == {"l2": ["s1.1", "s2.1"], "l3": ["s1.1", "s2.1"], "l4": ["s1.1", "s2.1"]}
    assert ways.from_switch("s1") == {"l1": ["l1.1"], "l2": ["l2.1"], "l3": ["x1.1", "x2.1"], "l4": ["x1.1", "x2.1"]}
    # s4 is cabled to x2 alone, so that x1 reaches the other half over s3.
    assert ways.from_switch("x1") == {"l1": ["s1.1", "s2.1"], "l2": ["s1.1", "s2.1"], "l3": ["s3.1"], "l4": ["s3.1"]}


def test_a_leaf_of_another_plane_has_no_way() -> None:
    assert Ways(links("l1-s1", "l2-s1", "l3-s2"), ["l1", "l2", "l3"]).from_switch("l1") == {"l2": ["s1.1"]}
    assert Ways({"l1": [], "l2": []}, ["l1", "l2"]).from_switch("l1") == {}
