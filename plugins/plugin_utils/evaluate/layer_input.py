# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one layer is evaluated from: its nodes, their envelopes, and of these the rows of each check."""

from __future__ import annotations

import datetime
import typing as t
from dataclasses import dataclass, field

from ..checks import Check, Finding
from ..checks.registry import REGISTRY
from ..collect.types import Envelope, reading_of
from ..pod.plan import Plan
from ..readings import catalogue
from ..readings.rows import Row
from .boots import Boot, boot_of, booted_since, earliest
from .guests import not_in_guest
from .nic_platforms import NicPlatforms
from .unread import ToolErrors, lost_of_rails, never_read
from .waivers import Waiver

# The check of every layer, whether a node responds.
ANSWERED = "answered"


class NotRead(Exception):
    """A check cannot be judged because of a reading; verdict and words say why; of_rails: the rails alone that it is missing of."""

    def __init__(self, verdict: str, words: str, of_rails: t.Sequence[Finding] = (), **marks: t.Any) -> None:
        self.verdict, self.words, self.of_rails, self.marks = verdict, words, of_rails, marks
        super().__init__(words)


@dataclass
class Layer:
    """All that judges one layer.

    now, before: the envelopes of ``read`` by node; a node without one was never read.
    members: the nodes that take part in this layer.
    partners: the hosts that members ping; more than the members where ``pod_only`` names some.
    silent: why a node did not answer, in the words of whoever tried.
    only: a check, or None for all of them.
    idle, during: what was read just before the loads, and all samples that were taken during them, as envelopes.
    unloaded: why nothing is loaded in this run, or nothing.
    helpers: hosts that are loaded with the members and not judged; group checks compare the members with them.
    left_out: members that the run was not started for (outside --limit), so that nothing is known of them; usual_drivers: as of ``NicPlatforms``.
    """

    name: str
    plan: Plan
    members: t.Sequence[str]
    partners: t.Sequence[str]
    now: t.Mapping[str, Envelope]
    before: t.Mapping[str, Envelope]
    silent: t.Mapping[str, str]
    waivers: t.Sequence[Waiver]
    today: datetime.date
    only: str | None = None
    idle: t.Mapping[str, Envelope] = field(default_factory=dict)
    during: t.Mapping[str, Envelope] = field(default_factory=dict)
    unloaded: str = ""
    helpers: t.Sequence[str] = ()
    left_out: t.Container[str] = ()
    usual_drivers: t.Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        self.nics = NicPlatforms(self.plan, self.now, self.usual_drivers)
        self.errors = ToolErrors(self.plan)

    @property
    def fabric(self) -> str:
        """The pod's fabric; every node has the same."""
        return str(next(iter(self.plan.nodes.values())).values["pod_fabric"])

    def in_phase(self, phase: str) -> t.Mapping[str, Envelope]:
        """The envelopes of a phase."""
        return {"before": self.before, "idle": self.idle, "during": self.during, "now": self.now}[phase]

    def checks(self) -> list[Check]:
        """The layer's checks that fit the pod's fabric."""
        return [one for one in REGISTRY[self.name].values() if one.fabric in (None, self.fabric) and self.only in (None, one.id)]


def rows_of_check(layer: Layer, check: Check, node: str, values: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The rows of a check's parameters as one node reported them.

    Raises NotRead where a needed one is missing.
    """
    nics = layer.nics.not_available(node, check.meanings) if check.meanings else ""
    if reason := nics or not_in_guest(layer.now, node, check):
        raise NotRead("skip", reason, unavailable=True)
    if layer.unloaded and (check.needs == "load" or check.in_phase("idle") or check.in_phase("during")):
        raise NotRead("skip", layer.unloaded, left_out=True)
    if check.needs == "soak" and values["pod_depth"] == "quick":
        raise NotRead("skip", "no soak at depth quick", left_out=True)
    platform = layer.plan.nodes[node].platform
    if lacking := [name for _phase, name, at in check.asked if at not in check.optional and platform not in catalogue()[name].platforms_that_report]:
        # What is needed of a group is needed of each of its switches: what the others report does not stand for this one.
        raise NotRead("unknown" if check.is_required(values) else "skip", f"platform {platform} has no reading {lacking[0]}")
    given, boots = dict[str, t.Any](), list[Boot]()
    for phase, name, parameter in check.asked:
        envelopes = layer.in_phase(phase)
        given[parameter] = _reading_rows(envelopes, layer, node, name, parameter in check.optional)
        if given[parameter] is not None and not catalogue()[name].load and (boot := boot_of(envelopes[node])) is not None and boot not in boots:
            boots.append(boot)
    booted = booted_since(earliest(boots), boots) if len(boots) > 1 else False
    if booted is not False:
        why = "counters were reset: the node has booted between two readings" if booted else "whether the node has booted between two readings is not known"
        raise NotRead("unknown", why)
    return given


def _reading_rows(envelopes: t.Mapping[str, Envelope], layer: Layer, node: str, name: str, optional: bool) -> list[Row] | None:
    reading = reading_of(envelopes, node, name)
    if reading is not None and reading["status"] == "ok":
        return reading["rows"]
    if optional:
        return None
    status, words = ("unknown", never_read(envelopes, node, name)) if reading is None else (reading["status"], reading["words"])
    if status == "not_applicable":
        raise NotRead("skip", words)
    marks = layer.errors.marks_of(envelopes, node, name, words)
    raise NotRead("unknown", words, lost_of_rails(layer.plan, node, reading, marks), **marks)
