# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``pod_*`` values, typed by the specification of the role ``pod``."""

from __future__ import annotations

import datetime
import json
import math
import re
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ..text.yaml_text import from_yaml
from .names import unknown_expectation
from .planned_expectations import PLANNED

ROLE = Path(__file__).resolve().parents[3] / "roles" / "pod"

# What the pod is, and where a run finds and keeps its files: every pod has its own, and none of it makes a check milder.
DESCRIPTION = frozenset({
    "pod_name", "pod_fabric", "pod_topology", "pod_gate_groups", "pod_cabling_file", "pod_hosts_count", "pod_leaves_count", "pod_spines_count",
    "pod_platform", "pod_fabric_reader", "pod_node_guid", "pod_depth", "pod_mode", "pod_from_layer", "pod_to_layer", "pod_only", "pod_waivers",
    "pod_runs_dir", "pod_replay_from", "pod_textfile_dir", "pod_publish", "pod_publish_link", "pod_publish_endpoint", "pod_baseline", "pod_baseline_file",
    "pod_switch_transport", "pod_rails", "pod_history", "pod_history_days", "pod_optic_rx_range_dbm", "pod_partition_key",
    "pod_gpu_vendor", "pod_gpus_per_host", "pod_gpu_interconnect", "pod_nvlinks_per_gpu", "pod_nvswitch", "pod_virtualization", "pod_hugepages_1g",
    "pod_nic_settings", "pod_roce_priority", "pod_roce_dscp", "pod_cnp_dscp", "pod_traffic_class", "pod_mtu", "pod_gid_index", "pod_job_services",
    "pod_nccl_environment", "pod_software", "pod_link_gbit_s", "pod_lane_gbit_s", "pod_launcher", "pod_collective_backend", "pod_torch_python",
    "pod_nccl_tests_dir", "pod_mpirun_arguments", "pod_container_runtime", "pod_container_image", "pod_address_family", "pod_rail_vrf", "pod_overlay",
    "pod_collective_port", "pod_bootstrap_address", "pod_node_busbw_by_gpu", "pod_sharp", "pod_nvlink_domain", "pod_imex_domain",
    "pod_all_reduce_busbw_gbyte_s", "pod_training_strategy", "pod_training_size", "pod_training_command", "pod_dataset_path", "pod_scheduler",
    "pod_scheduler_host", "pod_scheduler_node", "pod_readmit_reasons", "pod_remediate_max", "pod_remediate_to_layer", "pod_allow_nic_reset",
    "pod_allow_reboot", "pod_patrol_hosts", "pod_patrol_free_hosts", "pod_patrol_minutes", "pod_patrol_partition", "pod_patrol_qos",
    "pod_patrol_namespace", "pod_patrol_image", "pod_patrol_priority_class",
    "pod_perftest_port", "pod_prometheus_url", "pod_grafana_url", "pod_telemetry_fresh_seconds", "pod_telemetry_signals",
})  # fmt: skip

# Of what text is no word of a closed list: what each element must match, and how that is said.
PATTERNS: dict[str, tuple[re.Pattern[str], str]] = {
    "pod_job_services": (
        re.compile(r"(?=.{9,255}$)[A-Za-z0-9:_][A-Za-z0-9:_.\\@-]*(?<!@)\.service"),
        "names of systemd services such as slurmd.service, instances of templates by their own name",
    ),
}

KINDS: dict[str, tuple[type, str]] = {
    "str": (str, "a string"),
    "path": (str, "a path"),
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (bool, "true or false"),
    "list": (list, "a list"),
    "dict": (dict, "a mapping"),
}
TRUE, FALSE = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}


@dataclass(frozen=True)
class Bounds:
    """What a number may be, as ``roles/pod/meta/bounds.yml`` declares it; nan and infinities are never inside.

    above: the number must be more; minimum, maximum: the least and the most that it may be. Of a list they are its elements', of a
    mapping its values'. fewest: elements that a list must have; range: a list is empty, or the lowest and the highest of a range;
    keys: the bounds of a mapping's keys; items: by key, the bounds of the numbers in a list of mappings.
    """

    above: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    fewest: int = 0
    range: bool = False
    keys: Bounds | None = None
    items: t.Mapping[str, Bounds] = field(default_factory=dict)

    @classmethod
    def of(cls, raw: t.Mapping[str, t.Any]) -> Bounds:
        """The bounds from their declaration."""
        keys = cls.of(raw["keys"]) if "keys" in raw else None
        return cls(**{**raw, "keys": keys, "items": {name: cls.of(one) for name, one in raw.get("items", {}).items()}})

    @property
    def words(self) -> str:
        """``from 1 to 7200``, or ``more than 0 and at most 3200``."""
        if self.above is not None:
            return f"more than {self.above:.15g} and at most {self.maximum:.15g}"
        return f"from {self.minimum:.15g} to {self.maximum:.15g}"

    def contain(self, number: float) -> bool:
        """Whether a number is inside."""
        low = -math.inf if self.minimum is None else self.minimum
        high = math.inf if self.maximum is None else self.maximum
        return math.isfinite(number) and low <= number <= high and (self.above is None or number > self.above)


def wrong_number(what: str, value: t.Any, bounds: Bounds) -> str | None:
    """Why a value is no number inside its bounds, as ``<what> must be …, not …``; None where it is one."""
    try:
        fits = not isinstance(value, bool) and bounds.contain(float(value))
    except (ValueError, TypeError, OverflowError):
        return f"{what} must be a number {bounds.words}, not {value!r}"
    return None if fits else f"{what} must be {bounds.words}, not {value!r}"


@dataclass(frozen=True)
class Specification:
    """One expectation: its type (and its elements'), its choices, whether it may be null, its description, default and bounds."""

    name: str
    type: str
    elements: str | None
    choices: tuple[t.Any, ...]
    nullable: bool
    description: tuple[str, ...]
    default: t.Any
    bounds: Bounds | None = None


def _specified() -> dict[str, Specification]:
    options = from_yaml((ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]["expectations"]["options"]
    defaults = from_yaml((ROLE / "defaults" / "main.yml").read_text(encoding="utf-8"))
    bounds = {name: Bounds.of(raw) for name, raw in from_yaml((ROLE / "meta" / "bounds.yml").read_text(encoding="utf-8")).items()}
    return {
        name: Specification(
            name, option["type"], option.get("elements"), tuple(option.get("choices", ())), defaults[name] is None, tuple(option["description"]),
            defaults[name], bounds.get(name),
        )
        for name, option in options.items()
    }  # fmt: skip


SPECIFIED: dict[str, t.Any] = {**_specified(), **PLANNED}
DEFAULTS: dict[str, t.Any] = {name: spec.default for name, spec in SPECIFIED.items() if isinstance(spec, Specification)}


class WrongValue(ValueError):
    """A value that is not of its specification; its text is the whole message."""


def typed(values: t.Mapping[str, t.Any]) -> tuple[dict[str, t.Any], list[str]]:
    """Every expectation of a node, typed: the defaults overlaid by ``values``.

    Returns the typed values and one message for each that is wrong, or that starts with ``pod_`` and is no expectation, with the names near it.
    """
    known = {name: value for name, value in values.items() if name in DEFAULTS}
    wrong = [unknown_expectation(name, DEFAULTS) for name in values if name.startswith("pod_") and name not in DEFAULTS]
    result = {}
    for name, value in {**DEFAULTS, **known}.items():
        try:
            result[name] = of_type(SPECIFIED[name], value)
        except WrongValue as error:
            wrong.append(str(error))
    return result, wrong


def of_type(spec: Specification, value: t.Any) -> t.Any:
    """The value as its specification's type.

    Raises WrongValue: ``argument 'x' must be …, not …``.
    """
    if value is None or (spec.nullable and value in ("", "null", "None")):
        if spec.nullable:
            return None
        raise WrongValue(f"argument {spec.name!r} must be {KINDS[spec.type][1]}, not null; a null is a blank of the draft that has to be filled in")
    result = _one(spec.name, spec.type, value)
    if spec.elements:
        result = [_one(spec.name, spec.elements, one) for one in result]
    if spec.choices and result not in spec.choices:
        raise WrongValue(f"argument {spec.name!r} must be one of {', '.join(map(str, spec.choices))}, not {result!r}")
    if spec.name in PATTERNS:
        pattern, words = PATTERNS[spec.name]
        unfit = [one for one in result if not pattern.fullmatch(one)]
        if unfit:
            raise WrongValue(f"argument {spec.name!r} must have {words}, not {unfit[0]!r}")
    if spec.bounds is not None:
        _check_bounds(spec.name, result, spec.bounds)
    return result


def _check_bounds(name: str, value: t.Any, bounds: Bounds) -> None:
    """Raises WrongValue for the first number of a value that is outside of its bounds, and for a list with too few."""
    if isinstance(value, list) and len(value) < bounds.fewest:
        raise WrongValue(f"argument {name!r} must have {bounds.fewest} element{'s' * (bounds.fewest > 1)} or more, not {value!r}")
    if bounds.range and value and not (len(value) == 2 and value[0] <= value[1]):
        raise WrongValue(f"argument {name!r} must be empty, or two numbers of which the second is not less, not {value!r}")
    for what, number, its in _numbers(f"argument {name!r}", value, bounds):
        if words := wrong_number(what, number, its):
            raise WrongValue(words)


def _numbers(what: str, value: t.Any, bounds: Bounds) -> t.Iterator[tuple[str, t.Any, Bounds]]:
    """Each number of a value with its place in words and its bounds."""
    if isinstance(value, dict):
        for key, one in value.items():
            if bounds.keys is not None:
                yield f"{what}: key {key!r}", key, bounds.keys
            yield f"{what}: the value of {key!r}", one, bounds
    elif bounds.items:
        for number, item in enumerate(value):
            yield from ((f"{what}: {key} of element {number}", item[key], its) for key, its in bounds.items.items() if item.get(key) not in (None, ""))
    elif isinstance(value, list):
        yield from ((f"{what}: element {number}", one, bounds) for number, one in enumerate(value))
    else:
        yield what, value, bounds


def _one(name: str, kind: str, value: t.Any) -> t.Any:
    try:
        return CONVERT[kind](value)
    except (ValueError, TypeError, OverflowError):
        raise WrongValue(f"argument {name!r} must be {KINDS[kind][1]}, not {value!r}") from None


def _plain(value: t.Any) -> t.Any:
    """Without the tags and trust marks that Ansible's own strings and containers carry."""
    if isinstance(value, t.Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, datetime.date):
        # A date without quotes is a date in YAML, and text everywhere else.
        return value.isoformat()
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


def _str(value: t.Any) -> str:
    if isinstance(value, (list, t.Mapping)):
        raise ValueError(value)
    return str(value)


def _int(value: t.Any) -> int:
    if isinstance(value, bool) or int(value) != float(value):
        raise ValueError(value)
    return int(value)


def _float(value: t.Any) -> float:
    if isinstance(value, bool):
        raise ValueError(value)
    return float(value)


def _bool(value: t.Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word not in TRUE | FALSE:
        raise ValueError(value)
    return word in TRUE


def _container(kind: type) -> t.Callable[[t.Any], t.Any]:
    def convert(value: t.Any) -> t.Any:
        # ``-e pod_gate_groups='["rack_01"]'`` is a string.
        plain = _plain(json.loads(value) if isinstance(value, str) else value)
        if not isinstance(plain, kind):
            raise ValueError(value)
        return plain

    return convert


CONVERT: dict[str, t.Callable[[t.Any], t.Any]] = {
    "str": _str,
    "path": _str,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "list": _container(list),
    "dict": _container(dict),
}
