# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of the pod a row is about."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.row_places import Axis, RowPlaces

ROW = {"port": "Ethernet1", "by_name": "gpu02", "by_address": "10.51.0.3", "nobody": "10.9.9.9", "hosts": ["gpu01", "gpu02"], "one": ["gpu01"], "lost": None}


@pytest.mark.parametrize(
    ("axis", "place"),
    [
        (None, ""),
        ("node", "gpu01"),
        ("group", "rack_01"),
        ("port", "Ethernet1"),
        ("absent", None),
        ({"host_of": "by_name"}, "gpu02"),
        ({"host_of": "by_address"}, "gpu03"),
        ({"host_of": "nobody"}, None),
        ({"count_of": "hosts"}, "2 hosts"),
        ({"count_of": "one"}, "1 host"),
        ({"count_of": "lost"}, "0 hosts"),
    ],
)
def test_a_place_on_an_axis(plan, axis: Axis | None, place: str | None) -> None:
    assert RowPlaces(plan).at(axis, "gpu01", ROW) == place


@pytest.mark.parametrize(
    ("node", "word", "rail"),
    [("gpu01", "mlx5_1", "rail 1"), ("gpu01", "ens0", "rail 0"), ("gpu02", "10.51.0.2", "rail 1"), ("gpu02", "10.51.0.1", None), ("leaf01", "ens0", None)],
)
def test_a_rail_is_found_by_its_device_netdev_or_address_on_its_own_host(plan, node: str, word: str, rail: str | None) -> None:
    assert RowPlaces(plan).at({"rail_of": "word"}, node, {"word": word}) == rail


def test_a_rail_without_an_address_is_found_by_its_names_only(plan) -> None:
    for rail in plan.nodes["gpu01"].values["pod_rails"]:
        rail.update(address=None, netdev=None)
    axes = RowPlaces(plan)

    def found(word: t.Any) -> t.Any:
        return axes.at({"rail_of": "word"}, "gpu01", {"word": word})

    assert (found("mlx5_0"), found("ens0"), found(None), found("None")) == ("rail 0", None, None, None)
    assert axes.at({"host_of": "word"}, "gpu01", {"word": None}) is None


def test_a_member_of_a_bond_is_a_port_of_its_rail(plan) -> None:
    plan.nodes["gpu01"].values["pod_rails"][1].update(netdev="bond1", members=["ens1", "ens1f1"])
    axes = RowPlaces(plan)
    assert [axes.at({"rail_of": "word"}, "gpu01", {"word": word}) for word in ("ens1", "ens1f1", "bond1")] == ["rail 1 port 1", "rail 1 port 2", "rail 1"]
