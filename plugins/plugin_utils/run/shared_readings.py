# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches that several slices use are read once: their owner publishes what they reported, and the other slices take it.

The owner is the one by which the merge answers for a switch (``slices.json``): the first slice that it serves, so that no two slices wait for each
other. A snapshot is one file, ``shared/<layer>/<phase>/<switch>.json`` beside the plan of the slices: the digest of the rest, and a line of JSON.
What is missing, damaged or of another plan is waited for until a deadline; what is too old or not whole is not. Either way the slice then reads
the switch itself, so that nothing is judged by less than a run of its own would have.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ..checks.needed_readings import needed_readings
from ..collect.queries import queries_for, query_commands
from ..collect.types import KeptEnvelope, NodeStatus, ReadingResult, SharedSource
from ..text.counting import counted
from ..text.schema import Each, Maybe, shape_error
from .errors import RunError
from .file_schemas import ENVELOPE, READING
from .files import json_text, read_json, utc_now, write_json, write_private
from .slicing import FILE, Sliced, read_plan_of_slices
from .store import RunStore

DIRECTORY = "shared"
# The owners that a slice has waited for in vain; it does not wait for them in a later phase.
LATE = "late_slices.json"
LOOK_SECONDS = 0.5
# As the source of a reading: this run.
OWN = "own"
# A phase is shared where it says the same of a switch whoever reads it. What is set, wired and learned does. So do counters before and after the soak,
# which is as long in every slice and loads nothing, where both are of one soak of the owner: ``_paired``. From congestion on each slice reads its
# switches itself: their counters before, during and after its own loads are about these loads.
SHARED = {"preflight": ("now",), "links": ("before", "now"), "routing": ("now",)}
SNAPSHOT = {
    **dict.fromkeys(("plan", "slice", "run", "switch", "layer", "phase", "asked", "read"), str),
    "envelope": Maybe({**ENVELOPE, "contacted": bool, "readings": Each({**READING, "lost": dict, "unparsed": bool, "error": str}, dict)}),
    "texts": Each(str, dict),
    "commands": Each(dict),
}
Snapshot = dict[str, t.Any]
Results = t.Iterator[tuple[str, dict[str, t.Any]]]


def shared_phase(run: Path, layer: str, phase: str) -> SharedPhase | None:
    """A phase of a layer of a slice, of which switches are shared; None where the run is no slice of a plan beside it, or reads all of them itself."""
    part, place = run.parent.parent.name, run.parent.parent.parent
    if phase not in SHARED.get(layer, ()):
        return None
    try:
        sliced = read_plan_of_slices(place / FILE)
    except RunError:
        return None
    store = RunStore(run)
    state, values = store.state(), store.values()
    planned = (state.pod, state.digest, state.version) == (sliced.pod, sliced.digest, sliced.version) and state.opened >= sliced.planned
    whole = part in sliced.slices and not (state.only or state.replay or state.plans_only)
    # After an uplink was shut for this slice, what is read proves that the fabric is whole again.
    own = (layer == "routing" and values["pod_failover"]) or not values["pod_shared_readings_max_age_seconds"]
    return SharedPhase(store, place, sliced, part, layer, phase, values) if planned and whole and not own else None


@dataclass
class SharedPhase:
    """One phase of a layer in a slice.

    taken: what was taken of other slices, by switch; values: expectations.
    """

    store: RunStore
    place: Path
    sliced: Sliced
    part: str
    layer: str
    phase: str
    values: t.Mapping[str, t.Any]
    taken: dict[str, SharedSource] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._plan = _digest((self.place / FILE).read_text(encoding="utf-8"))
        late = self.store.run / LATE
        self._late: set[str] = set(read_json(late)) if late.is_file() else set()
        self._asked: dict[str, tuple[list[str], str]] = {}

    def results(self, nodes: t.Sequence[str], read: t.Callable[[t.Sequence[str]], Results], say: t.Callable[[str], None]) -> Results:
        """Each node with the result of reading it, which is empty where what another slice read was taken.

        The switches that others wait for are published as they are read, and nothing is waited for before all that is the slice's own is read.
        """
        shared = [node for node in nodes if node in self.sliced.shared and self._question(node)[0]]
        others = [node for node in shared if self.sliced.owners[node] != self.part and self._source_before(node) != OWN]
        began = utc_now()
        for node, result in read([node for node in nodes if node not in others]):
            if node in shared and self.sliced.owners[node] == self.part:
                self.publish(node, began)
            yield node, result
        left = dict.fromkeys(others)
        for node in self._awaited(left, say):
            yield node, {}
        for owner in dict.fromkeys(source["slice"] for source in self.taken.values()):
            ages = [source["age_seconds"] for source in self.taken.values() if source["slice"] == owner]
            say(f"  {counted(len(ages), 'switch')} as {owner} read them, {max(ages):.0f} s ago at most")
        if left:
            yield from read(list(left))

    def publish(self, switch: str, began: str) -> None:
        """Publish what a switch reported for this phase, or that nothing came; began: when reading began, ISO 8601 in UTC.

        Where it cannot be written, the other slices read the switch themselves.
        """
        envelope = self.store.envelope(self.layer, self.phase, switch)
        texts = {name: self.store.evidence(self.layer, switch, name, self.phase)[1] for name in (envelope["readings"] if envelope else ())}
        snapshot = {
            **self._wanted(switch), "run": self.store.run.name, "read": began, "envelope": envelope,
            "texts": {name: text for name, text in texts.items() if text is not None},
            "commands": self.store.commands_in(self.layer, switch, self.phase),
        }  # fmt: skip
        text = json_text(snapshot)
        with contextlib.suppress(OSError):
            write_private(self._path(switch), f"{_digest(text)}\n{text}")

    def take(self, switch: str) -> bool | None:
        """Take what the owner of a switch read into this run; False where that is of no use to it, None where there is nothing yet."""
        snapshot = self._snapshot(switch)
        if snapshot is None:
            return None
        age = (datetime.now(UTC) - datetime.fromisoformat(snapshot["read"])).total_seconds()
        envelope = snapshot["envelope"]
        source: SharedSource = {"slice": snapshot["slice"], "run": snapshot["run"], "read": snapshot["read"], "age_seconds": round(age, 1)}
        if age > self.values["pod_shared_readings_max_age_seconds"] or not self._whole(switch, envelope) or not self._paired(switch, source):
            return False
        replies = {
            name: ReadingResult(one["status"], one["words"], one["rows"], snapshot["texts"].get(name, ""), one["lost"], one["unparsed"], one["error"])
            for name, one in envelope["readings"].items()
        }
        stated = t.cast(NodeStatus, {**envelope, "shared": source})
        self.store.keep_answers(self.layer, switch, self.phase, replies, stated, snapshot["commands"])
        self.taken[switch] = source
        return True

    def _awaited(self, left: dict[str, None], say: t.Callable[[str], None]) -> t.Iterator[str]:
        """The switches that were taken, which are then no more among those left; it waits for their owners until the deadline, once for each."""
        until, told = time.monotonic() + self.values["pod_shared_readings_wait_seconds"], False
        # What a late owner has published is taken, too.
        looked_at = list(left)
        while looked_at:
            found = {switch: self.take(switch) for switch in looked_at}
            for switch in (switch for switch, taken in found.items() if taken):
                del left[switch]
                yield switch
            missing = [switch for switch, taken in found.items() if taken is None]
            hopeless = self._late | {owner for owner in {self.sliced.owners[switch] for switch in missing} - self._late if self._has_ended(owner)}
            looked_at = [switch for switch in missing if self.sliced.owners[switch] not in hopeless]
            words = f"{' and '.join(dict.fromkeys(self.sliced.owners[switch] for switch in looked_at))}"
            if looked_at and time.monotonic() >= until:
                self._late |= {self.sliced.owners[switch] for switch in looked_at}
                write_json(self.store.run / LATE, sorted(self._late))
                say(f"  {words} did not read {counted(len(looked_at), 'switch')} in time; this slice reads them itself, and waits no more")
                return
            if looked_at:
                if not told:
                    say(f"  waiting for {words} to read {counted(len(looked_at), 'switch')}")
                told = True
                time.sleep(LOOK_SECONDS)

    def _has_ended(self, owner: str) -> bool:
        """Whether the run of another slice is over, as one whose gates were closed below is: it reads nothing more."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            state = read_json(self.place / owner / self.sliced.pod / "latest" / "state.json")
            return bool(state["finished"] and state["opened"] >= self.sliced.planned)
        return False

    def _path(self, switch: str) -> Path:
        return self.place / DIRECTORY / self.layer / self.phase / f"{switch}.json"

    def _snapshot(self, switch: str) -> Snapshot | None:
        """The snapshot of a switch; None where there is none, or one that is damaged, of another plan or for other commands, or read in the future."""
        try:
            head, _line, text = self._path(switch).read_text(encoding="utf-8").partition("\n")
            snapshot = json.loads(text) if _digest(text) == head else None
            if snapshot is None or shape_error(snapshot, SNAPSHOT) is not None or datetime.fromisoformat(snapshot["read"]) > datetime.now(UTC):
                return None
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        return t.cast(Snapshot, snapshot) if all(snapshot[key] == value for key, value in self._wanted(switch).items()) else None

    def _wanted(self, switch: str) -> dict[str, str]:
        """What the snapshot of a switch must be of."""
        owner, asked = self.sliced.owners[switch], self._question(switch)[1]
        return {"plan": self._plan, "slice": owner, "switch": switch, "layer": self.layer, "phase": self.phase, "asked": asked}

    def _question(self, switch: str) -> tuple[list[str], str]:
        """The readings that a switch gives in this phase, none where it is asked nothing, and a digest of the commands for them."""
        if switch not in self._asked:
            node = self.store.node(switch)
            asks, apart = queries_for(needed_readings(self.layer, node["kind"], node["values"], self.phase), node)
            names = sorted([*(ask.reading.name for ask in asks), *apart])
            self._asked[switch] = (names if asks else [], _digest(json_text([node["platform"], names, query_commands(asks)])))
        return self._asked[switch]

    def _whole(self, switch: str, envelope: KeptEnvelope | None) -> bool:
        """Whether the owner has every reading of a switch: what it could not read may be read by another slice."""
        if envelope is None or not envelope["answered"]:
            return False
        stated = envelope["readings"]
        return sorted(stated) == self._question(switch)[0] and all(one["status"] in ("ok", "not_applicable") and not one["lost"] for one in stated.values())

    def _paired(self, switch: str, source: SharedSource) -> bool:
        """Whether the reading before the soak, where this run has one, is of the same run of the owner: between others there may have been no soak."""
        return self._source_before(switch) in (None, f"{source['slice']}/{source['run']}")

    def _source_before(self, switch: str) -> str | None:
        """Whose the reading before the soak is, as slice and run, or ``OWN``; None where this run has none, or this is it."""
        before = self.store.envelope(self.layer, "before", switch) if self.phase == "now" else None
        if before is None or not before["readings"]:
            return None
        return f"{before['shared']['slice']}/{before['shared']['run']}" if "shared" in before else OWN


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
