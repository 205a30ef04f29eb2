# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One seed: what befalls nodes and the controller during a climb of the smallest pod, and what must hold whatever it was.

No false pass: a run that a trouble was met in is no go, and each node that met one says so. No lost verdict: every member of a layer
that was judged has one for every check of the layer. No process left. What is withstood goes on: once the trouble is over, a climb is a go.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import judging, ledger, runs
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.connection.simulated_pod import pod as answers_of

from . import befalling, processes

ROOT = Path(__file__).resolve().parents[2]
TOP = "routing"
SIZE: dict[str, t.Any] = {"racks": 2, "hosts_per_rack": 2, "spines": 2}
HOSTS, SWITCHES = [f"gpu{number:02}" for number in range(1, 5)], [*(f"leaf{number:02}" for number in range(1, 9)), "spine01", "spine02"]
# A node that hangs is given up after this.
READ_TIMEOUT_SECONDS = 20
INTERRUPTED_SECONDS = 20
# The requests that a trouble may begin with: of a host and a spine one a phase, of a leaf a command, the first of which no other can stand in for.
REQUESTS = {"gpu": 5, "spine": 3, "leaf": 3}
# What a run keeps up to the top: a killed one is killed when it has kept so many readings.
READINGS = 70
MEGABYTES = (0.2, 4.0)


@dataclass
class Seed:
    """What is to happen: troubles by node, when and how the run is killed, and how small its disk is."""

    number: int
    troubles: dict[str, list[dict[str, t.Any]]] = field(default_factory=dict)
    killed_at: int | None = None
    signal: signal.Signals = signal.SIGKILL
    megabytes: float | None = None

    def __str__(self) -> str:
        befell = [f"{node} {one['how']} at {one['at']}{'' if one['once'] else ' for good'}" for node, own in self.troubles.items() for one in own]
        killed = [f"{self.signal.name} after {self.killed_at} readings"] * (self.killed_at is not None)
        return f"seed {self.number}: {'; '.join([*befell, *killed, *([f'a disk of {self.megabytes} MB'] if self.megabytes else [])])}"


def seed(number: int) -> Seed:
    """A seed's troubles: of nodes in two of three, of the controller in half of the rest and in some besides."""
    noise = random.Random(number)
    made = Seed(number)
    kind = number % 3
    if kind:
        for _trouble_of in range(noise.randint(1, 3)):
            node = noise.choice(noise.choice([HOSTS, SWITCHES]))
            made.troubles[node] = [_trouble(node, noise)]
    if kind == 0 or noise.random() < 0.15:
        if number % 2:
            made.megabytes = round(noise.uniform(*MEGABYTES), 2)
        else:
            made.killed_at, made.signal = noise.randint(1, READINGS), noise.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    return made


def _trouble(node: str, noise: random.Random) -> dict[str, t.Any]:
    role = node.rstrip("0123456789")
    hows = [how for how in befalling.HOW if role == "gpu" or how not in befalling.OF_HOSTS]
    # What one command of a leaf says may be said by another, so a leaf's troubles go on.
    return {"at": noise.randrange(REQUESTS[role]), "how": noise.choice(hows), "once": role != "leaf" and noise.random() < 0.5, "number": noise.getrandbits(32)}


@dataclass
class Ended:
    """How a run ended: exit status, output, and its directory and report where it made them."""

    rc: int
    output: str
    run: Path | None
    report: dict[str, t.Any] | None


class Climber:
    """The smallest pod in a directory, and its climbs."""

    def __init__(self, directory: Path, **expectations: t.Any) -> None:
        self.directory, self.runs, self.troubles = directory, directory / "runs", directory / "troubles"
        said = {"pod_name": "chaos", "pod_soak_seconds": 1, "pod_read_timeout_seconds": READ_TIMEOUT_SECONDS, "pod_runs_dir": str(self.runs), **expectations}
        self.inventory = layout.write(directory / "inventory", **SIZE, expectations=said)
        self.answers = answers_of(self.inventory, "", 1)

    def befall(self, troubles: t.Mapping[str, list[dict[str, t.Any]]]) -> None:
        """Put troubles in the nodes' way, and none besides."""
        self.troubles.mkdir(exist_ok=True)
        for path in self.troubles.iterdir():
            path.unlink()
        for node, own in troubles.items():
            (self.troubles / f"{node}.json").write_text(json.dumps(own), encoding="utf-8")

    def befallen(self) -> list[str]:
        """The nodes that have met their troubles."""
        return sorted(path.stem for path in self.troubles.glob("*.befell"))

    def climb(self, killed_at: int | None = None, number: signal.Signals = signal.SIGKILL, **variables: t.Any) -> Ended:
        """Climb, or be killed on the way once so many readings are kept."""
        said = {"simulated_troubles": str(self.troubles), "pod_to_layer": TOP, **variables}
        command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/validate.yml", "-i", str(self.inventory), "-e", json.dumps(said)]
        before = self.latest()
        with (self.directory / "output").open("w+", encoding="utf-8") as output:
            running = subprocess.Popen(
                command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, env={**os.environ, "ANSIBLE_NOCOLOR": "1"}
            )
            processes.await_that(lambda: running.poll() is not None or (killed_at is not None and self.kept(before) >= killed_at), "the run ends", 300)
            _end(running, number)
            output.seek(0)
            text = output.read()
        run = self.latest()
        run = run if run != before else None
        return Ended(running.returncode, text, run, runs.read_json(run / "report.json") if run and (run / "report.json").is_file() else None)

    def kept(self, before: Path | None) -> int:
        """How many readings the run has kept."""
        run = self.latest()
        return len(list((run / "readings").glob("*/*/*.json"))) if run and run != before else 0

    def latest(self) -> Path | None:
        """The newest run."""
        link = self.runs / "chaos" / "latest"
        return link.resolve() if link.exists() else None


def _end(running: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """End a run that has not ended yet.

    ansible-core may wait for a lock that a worker held when the interrupt ended it; a person would then kill it, and so does this.
    """
    running.send_signal(number)
    try:
        running.wait(INTERRUPTED_SECONDS)
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait(INTERRUPTED_SECONDS)


def withstand(made: Seed, directory: Path) -> list[str]:
    """Let a seed's troubles happen, and what does not hold of what must."""
    climber = Climber(directory)
    climber.befall(made.troubles)
    wrong = []
    if made.megabytes is None:
        ended = climber.climb(made.killed_at, made.signal)
    else:
        climber.runs.mkdir()
        with processes.disk(climber.runs, made.megabytes) as grow:
            ended = climber.climb()
            met = "No space left on device" in ended.output
            wrong += _holds(ended, climber.befallen(), met or ended.report is None or not ended.report["complete"])
            grow()
            climber.befall({})
            after = climber.climb()
            wrong += [f"with room again: {words}" for words in _holds(after, [], False)]
            return wrong + processes.left(climber.answers)
    cut_short = made.killed_at is not None and not (ended.report and ended.report["complete"])
    wrong += _holds(ended, climber.befallen(), cut_short) + processes.left(climber.answers)
    if cut_short:
        climber.befall({})
        wrong += [f"resumed: {words}" for words in _holds(climber.climb(**_resumed(ended)), [], False)] + processes.left(climber.answers)
    return wrong


def _resumed(ended: Ended) -> dict[str, str]:
    """Where a run that was cut short can be taken up: above the last layer whose gates are all open."""
    state = ledger.load_state(ended.run) if ended.run and (ended.run / "report.json").is_file() else None
    gates = state.gates if state else {}
    # A layer that only some groups climbed to has gates of those alone.
    held = list(itertools.takewhile(lambda layer: {gate["state"] for gate in gates.get(layer, {}).values()} == {"open"}, LAYERS))
    return {"pod_from_layer": LAYERS[len(held)]} if held and LAYERS[len(held) - 1] != TOP else {}


def _holds(ended: Ended, befallen: t.Sequence[str], cut_short: bool) -> list[str]:
    """What does not hold of an ended run."""
    report = ended.report
    if report is None:
        return [] if cut_short and ended.rc != 0 else [f"there is no report, and the exit status is {ended.rc}: {ended.output[-1500:]}"]
    wrong = []
    if not befallen and not cut_short:
        wrong += [f"a healthy pod is {report['verdict']}, exit status {ended.rc}: {ended.output[-1500:]}"] * ((report["verdict"], ended.rc) != ("go", 0))
    elif report["verdict"] != "no_go" or ended.rc == 0:
        wrong.append(f"FALSE GREEN: {report['verdict']} with exit status {ended.rc}, and {befallen} met a trouble (cut short: {cut_short})")
    if ended.run is not None:
        wrong += _lost(ended.run, report)
    if not cut_short:
        told = {host for one in report["verdicts"] if one["verdict"] in ("fail", "unknown") for host in (one["host"], *(f["host"] for f in one["findings"]))}
        wrong += [f"FALSE PASS: {node} met a trouble, and nothing is said of it" for node in befallen if node not in told]
    return wrong


def _lost(run: Path, report: dict[str, t.Any]) -> list[str]:
    """Members of a judged layer that lack a verdict of a check, and checks that lack one of a group."""
    book = ledger.Ledger(run)
    plan, state = book.plan(), book.state()
    given = {(one["layer"], one["check"], one["host"] or one["group"]): one["verdict"] for one in report["verdicts"]}
    wanted = []
    for layer in {one["layer"] for one in report["verdicts"]}:
        checks = [one for one in judging.REGISTRY[layer].values() if one.fabric in (None, "roce")]
        speaking = [node for node in state.members[layer] if given.get((layer, judging.ANSWERED, node)) == "pass"]
        wanted += [(layer, judging.ANSWERED, node) for node in state.members[layer]]
        wanted += [(layer, one.id, node) for one in checks if one.scope == "node" for node in speaking if plan.nodes[node].kind in one.kinds]
        groups = [group for group, hosts in plan.groups.items() if set(hosts) & set(speaking)]
        wanted += [(layer, one.id, group) for one in checks if one.scope == "group" for group in groups]
    return [f"LOST VERDICT: {' '.join(one)}" for one in wanted if one not in given]
