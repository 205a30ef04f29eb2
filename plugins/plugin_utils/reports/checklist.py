# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The go/no-go checklist: a row a required check, with its command, what was expected, what was got, and the fix."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from ..checks import Check
from ..checks.registry import REGISTRY
from ..collect.types import KeptCommand
from ..evaluate.gates import NOT_REACHED, OUT_OF_SCOPE
from ..evaluate.verdicts import ORDER, VerdictRecord, worst
from ..pod.plan import Plan
from ..run.documents import Report, ReportGate, ReportLayer
from ..run.reader import RunReader
from ..text.ranges import ranges
from ..text.shortened import shortened
from .grouping import Entry, entries
from .measured import in_words

# As much of a command as shows what it is.
MOST_CHARACTERS = 160


@dataclass
class Row:
    """One required check over all gate groups.

    states: each group's worst verdict, or the word of a gate that was not reached or is out of scope; passed: how many passed.
    words: why it was left out or could not be determined, where that is its verdict. measured: its numbers in words, where it has any.
    commands: by platform, as it was run on the node that needs it most.
    """

    layer: str
    check: Check
    states: dict[str, str]
    passed: int
    commands: dict[str, str] = field(default_factory=dict)
    found: list[Entry] = field(default_factory=list)
    words: str = ""
    measured: str = ""

    @property
    def verdict(self) -> str:
        """The worst over the groups that were judged; unknown where none was."""
        return overall([state for state in self.states.values() if state in ORDER])

    @property
    def groups(self) -> str:
        """The groups in which it does not pass, by what it is there."""
        apart = {state: [group for group, own in self.states.items() if own == state] for state in self.states.values() if state != "pass"}
        return "; ".join(
            f"{state.replace('_', ' ')} in {ranges(groups) if len(groups) < len(self.states) else 'every group'}" for state, groups in apart.items()
        )

    @property
    def got(self) -> str:
        """What was got, in words."""
        if self.found:
            return "; ".join(f"{entry.where}{entry.size}: {entry.actual}" for entry in self.found[:2]) + ("; and more" if len(self.found) > 2 else "")
        return f"pass on all {self.passed} evaluated" if self.verdict == "pass" else self.words or "nothing was evaluated"

    @property
    def fix(self) -> str:
        """What to do; nothing where it holds, or where the run left it out."""
        return self.found[0].fix if self.found else self.check.fix if self.verdict in ("fail", "unknown") else ""


def checklist(report: Report, plan: Plan, kept: RunReader) -> list[Row]:
    """The rows of every layer that was asked for, from the lowest up."""
    values = next(iter(plan.nodes.values())).values
    by_check: dict[tuple[str, str], list[VerdictRecord]] = {}
    for record in report["verdicts"]:
        by_check.setdefault((record["layer"], record["check"]), []).append(record)
    folded = entries(report, ("fail", "unknown", "warn"))
    rows = []
    for layer in report["layers"]:
        for check in REGISTRY[layer["layer"]].values() if layer["asked"] else ():
            if check.is_required(values) and check.fabric in (None, values["pod_fabric"]):
                row = _row(layer, check, by_check.get((layer["layer"], check.id), []), folded, kept)
                number = report.get("measured", {}).get(f"{layer['layer']}/{check.id}")
                row.measured = in_words(number) if number is not None else ""
                rows.append(row)
    return rows


def _row(layer: ReportLayer, check: Check, records: list[VerdictRecord], folded: list[Entry], kept: RunReader) -> Row:
    states = {group: _state(group, gate, records) for group, gate in layer["groups"].items()}
    passed = sum(one["verdict"] == "pass" for one in records)
    row = Row(layer["layer"], check, states, passed, found=[one for one in folded if one.layer == layer["layer"] and check.id in one.checks])
    row.words = next((one["words"] for one in records if one["words"] and one["verdict"] == row.verdict), "")
    nodes = kept.plan().nodes
    seen = sorted((one for one in records if one["host"] in nodes), key=lambda one: -ORDER.index(one["verdict"]))
    hosts = [str(one["host"]) for one in seen] or [host for host, _where in (place for entry in row.found for place in entry.places)] or list(nodes)
    for host in hosts:
        platform = nodes[host].platform if host in nodes else None
        if platform is None or platform in row.commands or nodes[host].kind not in check.kinds:
            continue
        if command := _command(check, kept.commands(layer["layer"], host)):
            row.commands[platform] = command
        if len(row.commands) >= 3:
            break
    return row


def _state(group: str, gate: ReportGate, records: list[VerdictRecord]) -> str:
    if gate["gate"] in (NOT_REACHED, OUT_OF_SCOPE):
        return str(gate["gate"])
    return overall([on(one, group) for one in records if group in one["affects"]])


def overall(verdicts: list[str]) -> str:
    """The worst of some verdicts, where a skip beside others says nothing, and none at all is an unknown."""
    return worst([one for one in verdicts if one != "skip"] or verdicts) if verdicts else "unknown"


def on(record: VerdictRecord, group: str) -> str:
    """The recorded verdict as far as it touches one gate group; see Verdict.on."""
    by_group = record.get("by_group")
    return str(by_group.get(group, "pass") if by_group else record["verdict"])


def _command(check: Check, commands: list[KeptCommand]) -> str:
    """The first command that a node was asked for one of the check's readings, and how many more."""
    order = {reading: number for number, reading in enumerate(name for _phase, name, _parameter in (*check.asked, *check.of_peers))}
    own = order.keys()
    asked = sorted((one for one in commands if own & _readings(one)), key=lambda one: min(order[name] for name in own & _readings(one)))
    more = f" (and {len(asked) - 1} more)" if len(asked) > 1 else ""
    if not asked:
        return ""
    # The collection's own programs lie where the run has put them; the whole command is kept beside the evidence.
    argv = [word.rpartition("/")[2] if word.endswith(".py") else word for word in asked[0]["argv"]]
    # A switch is asked a line, not words.
    command = argv[0] if len(argv) == 1 else shlex.join(argv)
    return shortened(command, MOST_CHARACTERS) + more


def _readings(command: KeptCommand) -> set[str]:
    """What a command is read as."""
    return {str(command.get("reading")), *command.get("also", ())}
