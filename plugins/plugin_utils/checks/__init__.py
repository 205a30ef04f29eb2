# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks: pure functions over readings and expectations.

A check's parameters are its declaration: the name of a reading is what it reads (as rows, or
``{host: rows}`` with ``scope="group"``), ``<reading>_before`` is the layer's first reading of it,
``<reading>_idle`` what was read just before the loads, ``<reading>_during`` all samples during them (each row with ``sample``, from 0,
and ``seconds`` since the loads began), ``<reading>_of_peers`` what all nodes of the pod reported (``{node: rows}``; ``<reading>_idle_of_peers``
of a phase), and a name that starts with ``pod_`` is what it expects. A reading with the default ``None`` is optional: None where the
platform lacks it or the node did not report it. The module, or the package that holds it, is the check's layer (a check of several layers
names them), the function's name its id, the docstring's first line what must hold; ``{pod_x}`` in it is filled with the value in force.
"""

from __future__ import annotations

import inspect
import re
import typing as t
from dataclasses import dataclass

from ..pod.expectations import DEFAULTS, SPECIFIED
from ..readings import catalogue
from ..readings.nic_drivers import MEANINGS, SETTINGS
from .finding import Finding

__all__ = [
    "INCAST", "LAYERS", "PAIR", "PHASES", "SEVERITIES",
    "CannotTell", "Check", "Finding", "Judge", "NotApplicable", "NotMeasured", "NotProved", "Required", "When", "Whens", "check",
]  # fmt: skip
LAYERS = ("preflight", "links", "routing", "congestion", "rdma", "collectives", "training")
# Those that load the pod.
LOADED = LAYERS[LAYERS.index("congestion") :]
SEVERITIES = ("fail", "warn", "unknown")
# How many hosts must take part for a check to have a subject, in all that climbs or in each gate group: a pair, or two senders and a receiver.
PAIR, INCAST = (2, "pod"), (3, "group")
# How a parameter names the phase of a layer in which its reading is taken.
PHASES = {"_before": "before", "_idle": "idle", "_during": "during"}
# Where a statement names the value of one of its check's expectations, a number.
PLACEHOLDER = re.compile(r"\{(\w+)\}")


class NotApplicable(Exception):
    """What a check raises where it does not apply; its words are the reason of the skip."""


class NotProved(NotApplicable):
    """What a check raises where it found nothing wrong, and what it would be judged by is not known for this hardware: neither a pass nor an unknown.

    Where the check is required, its gate opens as not proved, so that the run ends in no fault seen at best; its words say what to set.
    """


class CannotTell(Exception):
    """What a check raises where its readings do not decide; its words are those of the unknown.

    cause, fix: where the check knows why they do not decide; without them the reader is reported that something was not reported.
    """

    def __init__(self, words: str, cause: str = "", fix: str = "") -> None:
        super().__init__(words)
        self.cause, self.fix = cause, fix


class NotMeasured(CannotTell):
    """What a check raises where the load did not start on the host, or ended before it measured anything; its words are those of its program."""

    CAUSE = "The load did not start here, or ended before it measured anything; what was got is the message of its program or launcher."
    FIX = (
        "Fix the error named there (a program that is not installed, launcher, keys, image, Python with torch, memory limits); "
        "else read the evidence of load_jobs; then run the layer again."
    )
    # Of a verdict whose reading of a load is missing.
    MARKS: t.Final = {"cause": CAUSE, "fix": FIX, "judged": True}

    def __init__(self, words: str) -> None:
        super().__init__(words, self.CAUSE, self.FIX)


# Evaluated when it is imported, which before Python 3.10 cannot be `|`.
Required = t.Union[bool, str, tuple[str, tuple[t.Any, ...]]]  # noqa: UP007
When = tuple[str, t.Union[bool, tuple[t.Any, ...]]]  # noqa: UP007
# One of several is enough.
Whens = t.Union[When, tuple[When, ...]]  # noqa: UP007
Judge = t.Callable[..., t.Iterable[Finding]]


@dataclass(frozen=True)
class Check:
    """A declared check.

    layer, id: its module and its function's name; statement: what must hold, with ``{pod_x}`` for the value of an expectation.
    asked: the phase (``before``, ``idle``, ``during``, ``now``), reading and name of its parameters that are rows of the node itself;
    of_peers: the same of the parameters that are rows of all nodes; expectations: what the other parameters name; optional: parameters that may be None.
    kinds: the kinds of node it judges.
    required: True, or the ``pod_*`` that must be set for it to be required, or a ``pod_*`` with the values for which it is:
    without a pass in a group it closes the gate.
    needs: ``soak`` (a counter read before and after it) or ``load``, what a depth or mode may leave out.
    when: a ``pod_*`` and whether it must be set for the check to have a subject, or the values of which it must have one; of several conditions
        one is enough.
    hosts: how many hosts it takes, and where they are counted: ``pod`` (all that take part) or ``group`` (those of its gate group); or None.
    unparsed: what a response for an optional reading is that is of no known form; ``warn`` where what it reports stops no job by itself.
    of_pod: whether it is about what other nodes report, so that a host's own check leaves it out.
    meanings: what the driver of a host's NICs must be able to report; of one that cannot, the check is skipped before its readings are looked at.
    not_in_guest: why a host that is a virtual machine cannot report what it is about, so that it is skipped there in the same way.
    """

    layer: str
    id: str
    statement: str
    cause: str
    fix: str
    judge: Judge
    asked: tuple[tuple[str, str, str], ...]
    of_peers: tuple[tuple[str, str, str], ...]
    optional: frozenset[str]
    expectations: tuple[str, ...]
    kinds: frozenset[str]
    fabric: str | None
    scope: str
    required: Required
    severity: str
    remedy: str | None
    needs: str | None
    when: Whens | None = None
    hosts: tuple[int, str] | None = None
    unparsed: str = "unknown"
    meanings: tuple[str, ...] = ()
    not_in_guest: str = ""
    of_pod: bool = False

    def stated(self, values: t.Mapping[str, t.Any]) -> str:
        """What must hold on nodes with these expectations; of one that they lack, the default."""
        return PLACEHOLDER.sub(lambda found: f"{values.get(found[1], DEFAULTS[found[1]]):g}", self.statement)

    def out_of_place(self, values: t.Mapping[str, t.Any]) -> str | None:
        """Why it has no subject on nodes with these expectations, or None."""
        if self.when is None:
            return None
        reasons = [_unmet(one, values) for one in self.conditions]
        return None if None in reasons else " and ".join(map(str, reasons))

    @property
    def conditions(self) -> tuple[When, ...]:
        """The conditions of ``when``, of which one is enough."""
        return _conditions(self.when)

    def is_required(self, values: t.Mapping[str, t.Any]) -> bool:
        """Whether it is required of nodes with these expectations; the value ``none`` requires nothing."""
        if self.out_of_place(values):
            return False
        if isinstance(self.required, tuple):
            name, among = self.required
            return values.get(name) in among
        return bool(self.required) if isinstance(self.required, bool) else values.get(self.required) not in (None, 0, "", "none", False)

    def in_phase(self, phase: str) -> tuple[str, ...]:
        """The readings that it needs of the node itself in a phase."""
        return tuple(name for when, name, _parameter in self.asked if when == phase)

    @property
    def reads(self) -> frozenset[str]:
        """Every reading that it needs in any form."""
        return frozenset((*(name for _phase, name, _parameter in self.asked), *(name for _phase, name, _parameter in self.of_peers)))


def _conditions(when: Whens | None) -> tuple[When, ...]:
    if when is None:
        return ()
    return (when,) if isinstance(when[0], str) else when


def _unmet(when: When, values: t.Mapping[str, t.Any]) -> str | None:
    """Why nodes with these expectations do not meet one condition, or None."""
    name, wanted = when
    value = values.get(name, DEFAULTS.get(name))
    if isinstance(wanted, tuple):
        return None if value in wanted else f"{name} is {value}"
    return None if bool(value) == wanted else f"{name} is {'not ' if wanted else ''}set"


REGISTRY: dict[str, dict[str, Check]] = {layer: {} for layer in LAYERS}


def check(
    *,
    cause: str,
    fix: str,
    fabric: str | None = None,
    scope: str = "node",
    required: Required = False,
    severity: str = "fail",
    remedy: str | None = None,
    needs: str | None = None,
    kind: str | None = None,
    when: Whens | None = None,
    layers: tuple[str, ...] = (),
    hosts: tuple[int, str] | None = None,
    unparsed: str = "unknown",
    meanings: tuple[str, ...] = (),
    not_in_guest: str = "",
    of_pod: bool = False,
) -> t.Callable[[Judge], Judge]:
    """Declare a function as a check.

    kind: ``host`` or ``switch``, where the readings alone do not state it or say more.
    layers: the layers that it is of, where its module does not state it.
    hosts, unparsed, meanings, not_in_guest, of_pod: as of ``Check``; a check that expects ``pod_incasts`` needs those of an incast without a word.
    Raises TypeError at import for a parameter that is neither a reading nor a specified ``pod_*``,
    and for a missing docstring, cause or fix.
    """

    def declare(judge: Judge) -> Judge:
        name, own = judge.__name__, judge.__module__.partition(".checks.")[2].partition(".")[0]
        statement = (inspect.getdoc(judge) or "").split("\n", maxsplit=1)[0]
        _demand(bool(statement and cause and fix), name, "needs a docstring, a cause and a fix")
        _demand(scope in ("node", "group") and severity in SEVERITIES, name, f"has scope {scope!r} and severity {severity!r}")
        _demand(unparsed in SEVERITIES, name, f"takes a response of no known form as {unparsed!r}")
        _demand(fabric in (None, "roce", "infiniband") and needs in (None, "soak", "load"), name, f"has fabric {fabric!r} and needs {needs!r}")
        by = required[0] if isinstance(required, tuple) else required
        _demand(isinstance(by, bool) or by in SPECIFIED, name, f"is required by {by!r}, which is not specified")
        _demand(set(meanings) <= MEANINGS | SETTINGS, name, f"needs {meanings!r} of a driver, which no table knows")
        _demand(all(one[0] in SPECIFIED for one in _conditions(when)), name, f"is judged by {when!r}, which is not specified")
        named = _declared(name, judge)
        strange = [one for one in PLACEHOLDER.findall(statement) if one not in named["expectations"] or not isinstance(DEFAULTS.get(one), (int, float))]
        _demand(not strange, name, f"states {', '.join(strange)}, which is no number that it expects")
        kinds = _kinds(name, named, kind)
        few = hosts or (INCAST if "pod_incasts" in named["expectations"] else None)
        for layer in layers or (own,):
            REGISTRY.setdefault(layer, {})[name] = Check(
                layer=layer, id=name, statement=statement, cause=cause, fix=fix, judge=judge, kinds=kinds, fabric=fabric, scope=scope,
                required=required, severity=severity, remedy=remedy, needs=needs or _needs(named["asked"]), when=when, hosts=few, unparsed=unparsed,
                meanings=meanings,
                not_in_guest=not_in_guest,
                of_pod=of_pod,
                **named,
            )  # fmt: skip
        return judge

    return declare


def _demand(holds: bool, name: str, words: str) -> None:
    if not holds:
        raise TypeError(f"check {name} {words}")


def _needs(asked: tuple[tuple[str, str, str], ...]) -> str | None:
    """What a depth or mode may leave out, where it shows in the parameters."""
    phases = {name: {when for when, other, _parameter in asked if other == name} for _when, name, _parameter in asked}
    if any(catalogue()[name].load or "during" in its or its >= {"idle", "now"} for name, its in phases.items()):
        return "load"
    return "soak" if any(len(its) > 1 for its in phases.values()) else None


def _declared(name: str, judge: Judge) -> dict[str, t.Any]:
    named: dict[str, t.Any] = {"asked": (), "of_peers": (), "expectations": ()}
    optional = set()
    for parameter, declared in inspect.signature(judge).parameters.items():
        of_node = parameter.removesuffix("_of_peers")
        suffix = next((suffix for suffix in PHASES if of_node.endswith(suffix)), "")
        base = parameter if parameter in SPECIFIED else of_node.removesuffix(suffix)
        if base in SPECIFIED:
            named["expectations"] = (*named["expectations"], base)
        elif base not in catalogue():
            raise TypeError(f"check {name} has the parameter {parameter!r}, which is neither a reading nor a specified pod_*")
        elif of_node != parameter:
            named["of_peers"] = (*named["of_peers"], (PHASES.get(suffix, "now"), base, parameter))
        else:
            named["asked"] = (*named["asked"], (PHASES.get(suffix, "now"), base, parameter))
        if declared.default is None:
            optional.add(parameter)
    return {**named, "optional": frozenset(optional)}


def _kinds(name: str, named: dict[str, t.Any], kind: str | None) -> frozenset[str]:
    kinds = frozenset({"host", "switch"} if kind is None else {kind})
    needed = [one for _phase, one, parameter in named["asked"] if parameter not in named["optional"]]
    for one in needed:
        kinds &= catalogue()[one].kinds
    _demand(bool(kinds) and not (kind is None and not needed), name, "reads nothing that one kind of node reports, or lacks its kind")
    return kinds
