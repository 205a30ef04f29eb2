# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``pod_*`` values, typed by the specification of the role ``pod``."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass
from pathlib import Path

import yaml

ROLE = Path(__file__).resolve().parents[2] / "roles" / "pod"

# What a node's place in the pod adds to its expectations; built by plan.py.
PLANNED = {
    "pod_node": "The node's name.",
    "pod_role": "host, leaf or spine.",
    "pod_cables": "The node's cables by the wiring plan: port, peer, peer_port, peer_role, medium, length_m, gbit_s (None: pod_link_gbit_s).",
    "pod_neighbors": "The BGP neighbors of a switch by the wiring plan: port, peer, address (None where the plan has none), asn.",
    "pod_remote_rails": "Rails on other leaves: host, device, address, leaf; on a leaf, what its ECMP routes lead to.",
    "pod_plane_spines": "The spines of a leaf's plane on an InfiniBand pod: those that the wiring plan leads it to, over any number of leaves.",
    "pod_uplinks": "How many cables of a leaf lead to spines.",
    "pod_pings": "The pings planned from a host: source, target, peer, device, peer_device, cross (over the spines).",
    "pod_path_probes": "The full-size probes planned from a host: source, target, peer, device, peer_device, cross.",
    "pod_incasts": "The incasts: of a host a row for each test it takes part in (round, role, device, peer, peer_device, cross, qps, seconds), "
    "of a switch a row for each port and round (role, peer, flows).",
    "pod_incast_refused": "Why no incast is planned for the node, in words; empty where one is.",
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
class Specification:
    """One expectation: its type (and its elements'), its choices, whether it may be null, its description and default."""

    name: str
    type: str
    elements: str | None
    choices: tuple[t.Any, ...]
    nullable: bool
    description: tuple[str, ...]
    default: t.Any


def _specified() -> dict[str, Specification]:
    options = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]["expectations"]["options"]
    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text(encoding="utf-8"))
    return {
        name: Specification(
            name, option["type"], option.get("elements"), tuple(option.get("choices", ())), defaults[name] is None, tuple(option["description"]), defaults[name]
        )
        for name, option in options.items()
    }


SPECIFIED: dict[str, t.Any] = {**_specified(), **PLANNED}
DEFAULTS: dict[str, t.Any] = {name: spec.default for name, spec in SPECIFIED.items() if isinstance(spec, Specification)}


class WrongValue(ValueError):
    """A value that is not of its specification; its text is the whole message."""


def typed(values: t.Mapping[str, t.Any]) -> tuple[dict[str, t.Any], list[str]]:
    """Every expectation of a node, typed: the defaults overlaid by ``values``.

    Returns the typed values and one message for each that is wrong, or that starts with ``pod_`` and is not specified.
    """
    known = {name: value for name, value in values.items() if name in DEFAULTS}
    wrong = [
        f"argument {name!r} is not specified; see roles/pod/meta/argument_specs.yml" for name in values if name.startswith("pod_") and name not in DEFAULTS
    ]
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
        raise WrongValue(f"argument {spec.name!r} must be {KINDS[spec.type][1]}, not null")
    result = _one(spec.name, spec.type, value)
    if spec.elements:
        result = [_one(spec.name, spec.elements, one) for one in result]
    if spec.choices and result not in spec.choices:
        raise WrongValue(f"argument {spec.name!r} must be one of {', '.join(map(str, spec.choices))}, not {result!r}")
    return result


def _one(name: str, kind: str, value: t.Any) -> t.Any:
    try:
        return CONVERT[kind](value)
    except (ValueError, TypeError):
        raise WrongValue(f"argument {name!r} must be {KINDS[kind][1]}, not {value!r}") from None


def _plain(value: t.Any) -> t.Any:
    """Without the tags and trust marks that Ansible's own strings and containers carry."""
    if isinstance(value, t.Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
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
        if isinstance(value, str):
            # ``-e pod_gate_groups='["rack_01"]'`` is a string.
            value = json.loads(value)
        plain = _plain(value)
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
