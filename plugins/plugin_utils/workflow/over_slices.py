# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What no slice sees by itself: the checks of layer 0 that compare a host with all others, over the evidence of all slices of a pod."""

from __future__ import annotations

import datetime
import typing as t

from ..checks import Check
from ..checks.registry import REGISTRY
from ..collect.types import Envelope
from ..evaluate.layer import verdicts_of_checks
from ..evaluate.layer_input import Layer
from ..evaluate.verdicts import Verdict
from ..evaluate.waivers import waivers
from ..run.errors import RunError
from ..run.reader import RunReader
from ..text.ranges import ranges
from ..text.shortened import shortened
from .kept_slice import Slice

LAYER = "preflight"
CLOSING = ("fail", "unknown")
# By what a host's platform is known, which may excuse a check.
OF_PLATFORM = frozenset(("nic_driver", "nic_functions", "virtualization"))


def found_over_slices(slices: t.Sequence[Slice]) -> list[str]:
    """Why a pod is not as well as each of its slices: what a host fails beside those of other slices, and hosts without evidence to compare.

    slices: those of which every gate is passable, so that no slice has such a finding itself.
    """
    if len(slices) < 2:
        return []
    # A host's own check leaves these out for the same reason: they are about what other hosts report.
    checks = [one for one in REGISTRY[LAYER].values() if one.of_pod and one.scope == "node" and one.kinds <= {"host"}]
    try:
        evidence, lacking = _evidence(slices, checks)
        found = [f"{ranges(sorted(lacking))}: no evidence of {LAYER} to compare with the hosts of other slices"] if lacking else []
        return [*found, *(words for check in checks for words in _findings(slices[0], check, evidence))]
    except (RunError, OSError, KeyError, TypeError, ValueError) as error:
        return [f"the evidence of the slices cannot be compared at {LAYER}: {type(error).__name__}: {error}"]


def _evidence(slices: t.Sequence[Slice], checks: t.Sequence[Check]) -> tuple[dict[str, Envelope], set[str]]:
    """The responses of all hosts that were judged, each from the run on which its gate stands, and the hosts without one.

    Of a response what the checks read is kept: all of it is some hundred kilobytes, of thousands of hosts.
    """
    names = {name for check in checks for _phase, name, _parameter in (*check.asked, *check.of_peers)} | OF_PLATFORM
    evidence: dict[str, Envelope] = {}
    lacking: set[str] = set()
    for one in slices:
        judged_in = [group for group, scope in one.state.scope.items() if scope == "in"]
        for judge in {id(run): run for group in judged_in if (run := _judge(one, group)) is not None}.values():
            kept = RunReader(judge.run)
            for host in judge.state.members.get(LAYER, []):
                if judge.plan.nodes[host].kind != "host":
                    continue
                if (envelope := kept.envelope(LAYER, "now", host)) is None:
                    lacking.add(host)
                else:
                    envelope["readings"] = {name: its for name, its in envelope["readings"].items() if name in names}
                    evidence[host] = envelope
    return evidence, lacking - evidence.keys()


def _judge(one: Slice, group: str) -> Slice | None:
    """The run on which a group's gate stands: this one, or an earlier one that it was resumed on."""
    gate = one.state.gates.get(LAYER, {}).get(group)
    return one if gate is None or gate["run"] == one.state.run_id else one.earlier.get(gate["run"])


def _findings(one: Slice, check: Check, evidence: t.Mapping[str, Envelope]) -> list[str]:
    """What a check finds on hosts beside those of all slices, in words."""
    values = next(iter(one.plan.nodes.values())).values
    today = datetime.datetime.now(datetime.UTC).date()
    layer = Layer(LAYER, one.plan, list(evidence), list(evidence), evidence, {}, {}, waivers(values["pod_waivers"]), today, check.id)
    return [_in_words(verdict) for verdict in verdicts_of_checks(layer) if verdict.check == check.id and verdict.verdict in CLOSING]


def _in_words(verdict: Verdict) -> str:
    """A verdict with its fix, since no slice's report has either."""
    words = shortened(verdict.words or "; ".join(map(str, verdict.findings)), 300)
    fix = next((one.fix for one in verdict.findings if one.fix), verdict.fix)
    return f"{verdict.check} on {verdict.host}, beside the hosts of other slices: {words}. {fix}"
