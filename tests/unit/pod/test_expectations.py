# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Expectations, typed by their specification, by plain calls."""

from __future__ import annotations

import math
import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS, SPECIFIED, Bounds, Specification, typed

NUMBERS = ("int", "float")


def bounded() -> t.Iterator[tuple[str, Bounds, t.Callable[[t.Any], t.Any]]]:
    """Every expectation with a number in it: its name, the bounds of that number, and a value that has the number in its place."""
    for name, spec in SPECIFIED.items():
        if not isinstance(spec, Specification):
            continue
        bounds = spec.bounds
        if spec.type in NUMBERS:
            yield name, bounds, lambda number: number
        elif spec.elements in NUMBERS:
            yield name, bounds, lambda number, low=[bounds.minimum] * bounds.range: [*low, number]
        elif spec.type == "dict" and bounds is not None:
            yield name, bounds, lambda number: {"8": number}
            if bounds.keys is not None:
                yield name, bounds.keys, lambda number: {str(number): 100}
        elif bounds is not None:
            yield from ((name, own, lambda number, key=key: [{key: number}]) for key, own in bounds.items.items())


def whole(name: str, bounds: Bounds) -> bool:
    """Whether the number is a whole one."""
    return "int" in (SPECIFIED[name].type, SPECIFIED[name].elements)


@pytest.mark.parametrize("name", ["slurmd.service", "pbs.service", "k3s-agent.service", "slurmd@rack\\x2d1.service", "a:b_c.service"])
def test_any_service_may_start_jobs(name):
    values, wrong = typed({"pod_job_services": [name]})
    assert wrong == [] and values["pod_job_services"] == [name]


@pytest.mark.parametrize(
    "name",
    ["slurmd", "", "--root=/tmp.service", "slurmd@.service", "../x.service", "a b.service", "a.service\n", "a.slice", "x" * 250 + ".service", "*.service"],
)
def test_what_names_no_service_of_systemd_is_refused(name):
    _values, wrong = typed({"pod_job_services": ["slurmd.service", name]})
    assert wrong == [
        f"argument 'pod_job_services' must have names of systemd services such as slurmd.service, instances of templates by their own name, not {name!r}"
    ]


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
        ("pod_name", None, "argument 'pod_name' must be a string, not null; a null is a blank of the draft that has to be filled in"),
        ("pod_gate_groups", "rack_01", "argument 'pod_gate_groups' must be a list, not 'rack_01'"),
        ("pod_fabrik", "roce", "'pod_fabrik' is not an expectation (near it: pod_fabric); docs/expectations.md has all of them"),
    ],
)
def test_a_wrong_value_is_named(name, given, words):
    _values, wrong = typed({name: given})
    assert wrong == [words]


def test_every_wrong_value_is_named_at_once():
    assert len(typed({"pod_link_gbit_s": "fast", "pod_ping_count": "many", "pod_fabrik": 1})[1]) == 3


def test_what_is_no_expectation_is_nobodys_business():
    assert typed({"ansible_host": "10.0.0.1", "site": "a"}) == (DEFAULTS, [])


@pytest.mark.parametrize(("name", "bounds", "holding"), [pytest.param(*one, id=one[0]) for one in bounded()])
def test_every_number_has_bounds_and_is_refused_outside_of_them(name, bounds, holding):
    assert bounds is not None and bounds.maximum is not None and (bounds.above is None) != (bounds.minimum is None)
    least = bounds.minimum if bounds.above is None else bounds.above
    outside = [math.nan, math.inf, -math.inf, "nan", "inf", "1e400", "-0x", -400, least - 1, bounds.maximum * 2 + 1]
    outside += [least] if bounds.above is not None else []
    for number in outside:
        if bounds.contain(-400) and number == -400:
            continue
        _values, wrong = typed({name: holding(number)})
        assert len(wrong) == 1 and wrong[0].startswith(f"argument {name!r}") and "must be" in wrong[0], (number, wrong)
    inside = [bounds.maximum] + ([bounds.minimum] if bounds.above is None else [bounds.maximum / 2])
    for number in inside:
        values, wrong = typed({name: holding(int(number) if whole(name, bounds) else number)})
        assert wrong == [] and values[name] == holding(number)


def test_every_expectation_that_has_a_number_by_default_has_bounds():
    def numbers(value: t.Any) -> bool:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return any(map(numbers, inner)) or (isinstance(value, (int, float)) and not isinstance(value, bool))

    assert [name for name, value in DEFAULTS.items() if numbers(value) and SPECIFIED[name].bounds is None] == []


# At 0 each of these would leave a proof without what it stands on, or accept every result.
EMPTYING = [
    "pod_soak_seconds", "pod_go_live_soak_seconds", "pod_ping_count", "pod_ping_peers", "pod_ping_peers_max", "pod_path_probe_flows",
    "pod_incast_hosts", "pod_incast_seconds", "pod_incast_offered_min", "pod_incast_qps", "pod_incast_qps_max", "pod_fair_share_percent",
    "pod_incast_fill_percent", "pod_write_bw_seconds", "pod_write_bw_bytes", "pod_write_bw_qps", "pod_write_bw_min_percent", "pod_slow_rail_percent",
    "pod_gpu_write_bw_percent", "pod_collective_iterations", "pod_collective_run_seconds", "pod_node_busbw_gbyte_s", "pod_all_reduce_percent",
    "pod_median_percent", "pod_efficiency_min_percent", "pod_copy_min_gbyte_s", "pod_training_steps", "pod_training_run_seconds",
    "pod_go_live_training_seconds", "pod_dataset_seconds", "pod_dataset_read_gbyte_s", "pod_mfu_min_percent", "pod_tensor_active_min_percent",
    "pod_idle_seconds", "pod_link_gbit_s", "pod_read_timeout_seconds", "pod_mtu", "pod_telemetry_fresh_seconds",
]  # fmt: skip


@pytest.mark.parametrize("name", EMPTYING)
def test_what_would_empty_a_proof_is_refused(name):
    _values, wrong = typed({name: 0})
    assert len(wrong) == 1 and wrong[0].startswith(f"argument {name!r} must be ") and wrong[0].endswith((", not 0", ", not 0.0"))


def test_a_collective_without_sizes_is_refused():
    assert typed({"pod_collective_sizes": []})[1] == ["argument 'pod_collective_sizes' must have 1 element or more, not []"]


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("pod_link_gbit_s", -400, "argument 'pod_link_gbit_s' must be more than 0 and at most 3200, not -400.0"),
        ("pod_link_gbit_s", "nan", "argument 'pod_link_gbit_s' must be more than 0 and at most 3200, not nan"),
        ("pod_mtu", -1, "argument 'pod_mtu' must be from 1280 to 65520, not -1"),
        ("pod_read_timeout_seconds", math.inf, "argument 'pod_read_timeout_seconds' must be a whole number, not inf"),
        ("pod_rails", [{"gpu": 0}, {"gpu": -1}], "argument 'pod_rails': gpu of element 1 must be from 0 to 255, not -1"),
        ("pod_rails", [{"gpu": "first"}], "argument 'pod_rails': gpu of element 0 must be a number from 0 to 255, not 'first'"),
        ("pod_node_busbw_by_gpu", {"H100": 0}, "argument 'pod_node_busbw_by_gpu': the value of 'H100' must be more than 0 and at most 100000, not 0"),
        ("pod_all_reduce_busbw_gbyte_s", {"x": 9}, "argument 'pod_all_reduce_busbw_gbyte_s': key 'x' must be a number from 1 to 100000, not 'x'"),
        (
            "pod_optic_rx_range_dbm",
            [-3, -7],
            "argument 'pod_optic_rx_range_dbm' must be empty, or two numbers of which the second is not less, not [-3.0, -7.0]",
        ),
        ("pod_optic_rx_range_dbm", [-7], "argument 'pod_optic_rx_range_dbm' must be empty, or two numbers of which the second is not less, not [-7.0]"),
        ("pod_optic_rx_range_dbm", [-7, 99], "argument 'pod_optic_rx_range_dbm': element 1 must be from -40 to 10, not 99.0"),
    ],
)
def test_a_number_outside_of_its_bounds_is_named_with_them(name, given, words):
    assert typed({name: given})[1] == [words]


def test_no_bounds_contain_what_is_not_finite():
    assert Bounds(minimum=0.0).contain(1e300) and Bounds(maximum=0.0).contain(-1e300)
    assert not any(Bounds(minimum=0.0).contain(number) or Bounds(maximum=0.0).contain(number) for number in (math.nan, math.inf, -math.inf))
