# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which value of a gate group is the usual one: its own where that is clear, else that of the other groups, else none, and nobody is accused."""

from __future__ import annotations

from collections import Counter

import pytest

from plugins.plugin_utils.checks._odd_ones import odd_ones, undecided, usual_value
from plugins.plugin_utils.checks.place import Place
from plugins.plugin_utils.checks.preflight import hardware, software

RAILS = [{"device": "mlx5_0", "netdev": "ens1"}]


@pytest.mark.parametrize(
    "values, elsewhere, usual",
    [
        ("aaab", {}, "a"),
        ("aaab", {"b": 40}, "a"),  # clear within the group, which may differ from the others on purpose
        ("aaabb", {"b": 40}, "b"),
        ("aaabb", {}, "a"),
        ("aaabb", {"c": 40}, "a"),
        ("aaabb", {"a": 4, "b": 4}, "a"),
        ("aabb", {"b": 40}, "b"),
        ("aabb", {"a": 3, "b": 4}, "b"),
        ("aabb", {"a": 4, "b": 4}, None),
        ("aabb", {"c": 40}, None),
        ("aabb", {}, None),
        ("ab", {}, None),
        ("abc", {"c": 1}, "c"),
        ("a", {}, "a"),
        ("", {"a": 1}, None),
    ],
)
def test_the_usual_value(values: str, elsewhere: dict[str, int], usual: str | None) -> None:
    assert usual_value(values, Counter(elsewhere)) == usual


def test_a_group_that_is_divided_has_one_finding_and_no_odd_host() -> None:
    values = {("gpu01", "ens1"): 9000, ("gpu01", "ens2"): 9000, ("gpu02", "ens1"): 1500, ("gpu02", "ens2"): 1500}
    assert list(odd_ones(values)) == []
    (found,) = undecided(values, Place("MTU of the rails"), "one MTU", unit=" bytes")
    assert found.host is None and found.expected == "one MTU over the group"
    assert found.actual == "1500 bytes on gpu02; 9000 bytes on gpu01: none of them is the usual one, so that it is not known which must change"
    assert list(undecided(values, Place("MTU of the rails"), "one MTU", Counter({9000: 2}))) == []
    assert [(key, usual) for key, _value, usual in odd_ones(values, Counter({9000: 2}))] == [(("gpu02", "ens1"), 9000), (("gpu02", "ens2"), 9000)]
    assert list(undecided({}, Place("MTU of the rails"), "one MTU")) == []


def of_dcqcn(**values: str) -> dict[str, list[dict[str, str]]]:
    return {host: [{"netdev": "ens1", "role": "rp", "setting": "rpg_ai_rate", "value": value}] for host, value in values.items()}


def test_other_groups_tell_which_half_of_a_group_is_odd() -> None:
    group = of_dcqcn(gpu01="5", gpu02="5", gpu03="20", gpu04="20")
    (found,) = hardware.dcqcn_uniform(group, RAILS)
    assert found.host is None and "20 on gpu03, gpu04; 5 on gpu01, gpu02" in found.actual
    peers = {**group, **of_dcqcn(gpu05="5", gpu06="5")}
    odd = list(hardware.dcqcn_uniform(group, RAILS, peers))
    assert [one.host for one in odd] == ["gpu03", "gpu04"]
    assert odd[0].expected == "5, as 2 of the group's 4 NICs and 2 hosts of other gate groups"
    # The values of the group's own hosts are not counted twice.
    (found,) = hardware.dcqcn_uniform(group, RAILS, group)
    assert found.host is None


def of_software(**versions: str) -> dict[str, list[dict[str, str]]]:
    return {host: [{"item": "ofed", "version": version}] for host, version in versions.items()}


def test_other_groups_tell_which_of_two_hosts_has_the_odd_version() -> None:
    group = of_software(gpu01="24.10", gpu02="23.07")
    (found,) = software.software_uniform({}, {}, {}, group, RAILS)
    assert (found.host, str(found.where)) == (None, "ofed")
    peers = {**group, **of_software(gpu03="23.07", gpu04="23.07")}
    (found,) = software.software_uniform({}, {}, {}, group, RAILS, software_of_peers=peers)
    assert (found.host, found.actual, found.expected) == ("gpu01", "24.10", "23.07, as its group")
