# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Expectations, typed by their specification, by plain calls."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.expectations import DEFAULTS, typed


def test_the_defaults_are_of_their_own_types():
    values, wrong = typed({})
    assert wrong == [] and values == DEFAULTS


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("pod_link_gbit_s", "400", 400.0),
        ("pod_ping_count", "20", 20),
        ("pod_nvswitch", "no", False),
        ("pod_gate_groups", '["rack_01"]', ["rack_01"]),
        ("pod_mtu", "", None),
        ("pod_mtu", 9000, 9000),
        ("pod_software", {"nccl": "2.21.5"}, {"nccl": "2.21.5"}),
        ("pod_depth", "quick", "quick"),
    ],
)
def test_a_value_as_extra_variables_give_it(name, given, value):
    values, wrong = typed({name: given})
    assert wrong == [] and values[name] == value and type(values[name]) is type(value)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("pod_link_gbit_s", "fast", "argument 'pod_link_gbit_s' must be a number, not 'fast'"),
        ("pod_ping_count", 2.5, "argument 'pod_ping_count' must be a whole number, not 2.5"),
        ("pod_ping_count", True, "argument 'pod_ping_count' must be a whole number, not True"),
        ("pod_nvswitch", "perhaps", "argument 'pod_nvswitch' must be true or false, not 'perhaps'"),
        ("pod_depth", "deep", "argument 'pod_depth' must be one of quick, standard, go_live, not 'deep'"),
        ("pod_name", None, "argument 'pod_name' must be a string, not null"),
        ("pod_gate_groups", "rack_01", "argument 'pod_gate_groups' must be a list, not 'rack_01'"),
        ("pod_fabrik", "roce", "argument 'pod_fabrik' is not specified; see roles/pod/meta/argument_specs.yml"),
    ],
)
def test_a_wrong_value_is_named(name, given, words):
    _values, wrong = typed({name: given})
    assert wrong == [words]


def test_every_wrong_value_is_named_at_once():
    assert len(typed({"pod_link_gbit_s": "fast", "pod_ping_count": "many", "pod_fabrik": 1})[1]) == 3


def test_what_is_no_expectation_is_nobodys_business():
    assert typed({"ansible_host": "10.0.0.1", "site": "a"}) == (DEFAULTS, [])
