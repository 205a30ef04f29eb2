# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks: pure functions over readings and expectations.

A check's parameters are its declaration: the name of a reading is what it reads (as rows, or
``{host: rows}`` with ``scope="group"``), ``<reading>_before`` is the layer's first reading of it,
and a name that starts with ``pod_`` is what it expects. The module is its layer, the function's
name its id, the docstring's first line what must hold.
"""

from __future__ import annotations

import inspect
import typing as t
from dataclasses import dataclass

from ..expectations import SPECIFIED
from ..readings import catalogue

LAYERS = ("preflight", "links", "routing", "congestion", "rdma", "collectives", "training")
SEVERITIES = ("fail", "warn", "unknown")


class NotApplicable(Exception):
    """What a check raises where it does not apply; its words are the reason of the skip."""


class CannotTell(Exception):
    """What a check raises where its readings do not decide; its words are those of the unknown."""


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it must be.

    where: the device, port, host or key; expected, actual: what must be and what is, as a person says it.
    severity: ``fail``, ``warn`` or ``unknown`` where it is not that of the check.
    port: the node's port that decides which gate groups a switch's finding affects, where ``where`` is not that port.
    host: the host a group check's finding is of.
    """

    where: str
    expected: str
    actual: str
    severity: str | None = None
    port: str | None = None
    host: str | None = None

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, got {self.actual}"


Judge = t.Callable[..., t.Iterable[Finding]]


@dataclass(frozen=True)
class Check:
    """A declared check.

    layer, id: its module and its function's name; statement: what must hold.
    readings, before, expectations: what its parameters name; kinds: the kinds of node it judges.
    required: True, or the ``pod_*`` that must be set for it to be required: without a pass in a group it closes the gate.
    needs: ``soak`` or ``load``, what a depth or mode may leave out.
    """

    layer: str
    id: str
    statement: str
    cause: str
    fix: str
    judge: Judge
    readings: tuple[str, ...]
    before: tuple[str, ...]
    expectations: tuple[str, ...]
    kinds: frozenset[str]
    fabric: str | None
    scope: str
    required: bool | str
    severity: str
    remedy: str | None
    needs: str | None

    @property
    def parameters(self) -> tuple[str, ...]:
        """Every parameter's name, readings first."""
        return (*self.readings, *(f"{name}_before" for name in self.before), *self.expectations)


REGISTRY: dict[str, dict[str, Check]] = {layer: {} for layer in LAYERS}


def check(
    *,
    cause: str,
    fix: str,
    fabric: str | None = None,
    scope: str = "node",
    required: bool | str = False,
    severity: str = "fail",
    remedy: str | None = None,
    needs: str | None = None,
    kind: str | None = None,
) -> t.Callable[[Judge], Judge]:
    """Declare a function as a check.

    kind: ``host`` or ``switch``, where the readings alone do not say it or say more.
    Raises TypeError at import for a parameter that is neither a reading nor a specified ``pod_*``,
    and for a missing docstring, cause or fix.
    """

    def declare(judge: Judge) -> Judge:
        layer, name = judge.__module__.rpartition(".")[2], judge.__name__
        statement = (inspect.getdoc(judge) or "").split("\n")[0]
        _demand(bool(statement and cause and fix), name, "needs a docstring, a cause and a fix")
        _demand(scope in ("node", "group") and severity in SEVERITIES, name, f"has scope {scope!r} and severity {severity!r}")
        _demand(fabric in (None, "roce", "infiniband") and needs in (None, "soak", "load"), name, f"has fabric {fabric!r} and needs {needs!r}")
        readings, before, expectations = _declared(name, judge)
        _demand(not isinstance(required, str) or required in SPECIFIED, name, f"is required by {required!r}, which is not specified")
        kinds = _kinds(name, {*readings, *before}, kind)
        REGISTRY.setdefault(layer, {})[name] = Check(
            layer, name, statement, cause, fix, judge, readings, before, expectations, kinds, fabric, scope, required, severity, remedy,
            needs or ("soak" if before else None),
        )  # fmt: skip
        return judge

    return declare


def _demand(holds: bool, name: str, words: str) -> None:
    if not holds:
        raise TypeError(f"check {name} {words}")


def _declared(name: str, judge: Judge) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    readings, before, expectations = [], [], []
    for parameter in inspect.signature(judge).parameters:
        if parameter in catalogue():
            readings.append(parameter)
        elif parameter.endswith("_before") and parameter.removesuffix("_before") in catalogue():
            before.append(parameter.removesuffix("_before"))
        elif parameter in SPECIFIED:
            expectations.append(parameter)
        else:
            raise TypeError(f"check {name} has the parameter {parameter!r}, which is neither a reading nor a specified pod_*")
    return tuple(readings), tuple(before), tuple(expectations)


def _kinds(name: str, readings: set[str], kind: str | None) -> frozenset[str]:
    kinds = frozenset({"host", "switch"} if kind is None else {kind})
    for one in readings:
        kinds &= catalogue()[one].kinds
    _demand(bool(kinds) and not (kind is None and not readings), name, "reads nothing that one kind of node can say, or lacks its kind")
    return kinds
