# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeds that need processes: runs by ``ansible-playbook``, whose nodes or controller fail.

No false pass: a run that a trouble was met in is no go, and each node that met one says so. No lost verdict: every member of a layer
that was judged has one for every check of the layer. No process and no file is left. What is withstood goes on: once the trouble is
over, a climb is a go.
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

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.layer_input import ANSWERED
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import read_json
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.connection.simulated_pod import pod as answers_of

from . import befalling, processes
from .inventories import add_role, shuffle
from .outcomes import Outcome

ROOT = Path(__file__).resolve().parents[2]
TOP = "routing"
SIZE: dict[str, t.Any] = {"racks": 2, "hosts_per_rack": 2, "spines": 2}
HOSTS, SWITCHES = [f"gpu{number:02}" for number in range(1, 5)], [*(f"leaf{number:02}" for number in range(1, 9)), "spine01", "spine02"]
# A node that hangs is given up after this; without one the limit is as by default, since a busy machine may take long for a healthy node.
READ_TIMEOUT_SECONDS = 40
INTERRUPTED_SECONDS = 20
# The requests that a trouble may begin with: of a host and a spine one a phase, of a leaf a command, the first of which no other can stand in for.
REQUESTS = {"gpu": 5, "spine": 3, "leaf": 3}
# What a run keeps up to the top: a killed one is killed when it has kept so many readings.
READINGS = 70
MEGABYTES = (0.2, 4.0)
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
# Of those of the catalogue that need loads, the ones that are found in the pod of one rack.
LOAD_FAULTS = ("gpus_at_work", "perftest_missing", "slow_sender", "latency_high", "gpu_memory_halved")


# The loads of layers 3 to 6, as short as they can be, on one rack.
LOADS: dict[str, t.Any] = {
    "pod_idle_seconds": 1, "pod_incast_seconds": 2, "pod_write_bw_seconds": 2, "pod_load_setup_seconds": 15, "pod_load_tick_seconds": 5,
    "pod_load_lead_seconds": 3, "pod_dataset_seconds": 1,
}  # fmt: skip
LOADED_SIZE: dict[str, t.Any] = {"racks": 1, "hosts_per_rack": 3, "spines": 2}
LOADED = LAYERS[3:]
# A host's requests up to training are more; from the first of these on it is loaded.
FIRST_LOADED, LAST_LOADED = 7, 30
RUN_SECONDS = 420
KINDS = ("nodes", "killed", "loads", "boots between runs", "disk", "loads, nodes", "two roles", "nodes", "loads, fault", "loads, killed")


@dataclass
class Seed:
    """What is to happen: troubles by node, when and how the run is killed, and how small its disk is.

    killed_at: after so many readings; killed_in: after the first loads of a layer have begun.
    resumed: the troubles are of a second run, above the links that the first one proved; two_roles: a node is in two role groups;
    loads: the run climbs to training; fault: of the catalogue; shuffled: the order of the inventory.
    """

    number: int
    troubles: dict[str, list[dict[str, t.Any]]] = field(default_factory=dict)
    killed_at: int | None = None
    signal: signal.Signals = signal.SIGKILL
    megabytes: float | None = None
    killed_in: str = ""
    resumed: bool = False
    two_roles: bool = False
    loads: bool = False
    fault: str = ""
    shuffled: bool = False

    def __str__(self) -> str:
        befell = [f"{node} {one['how']} at {one['at']}{'' if one['once'] else ' for good'}" for node, own in self.troubles.items() for one in own]
        killed = [f"{self.signal.name} after {self.killed_at} readings"] * (self.killed_at is not None)
        killed += [f"{self.signal.name} in the loads of {self.killed_in}"] * bool(self.killed_in)
        more = [f"a disk of {self.megabytes} MB"] * bool(self.megabytes) + [self.fault] * bool(self.fault) + ["before resuming"] * self.resumed
        more += ["two roles"] * self.two_roles + ["loads of layers 3 to 6"] * self.loads + ["shuffled inventory"] * self.shuffled
        return f"seed {self.number}: {'; '.join([*befell, *killed, *more]) or 'nothing'}"

    def drawn(self) -> list[str]:
        """The kinds of what is to happen."""
        kinds = [f"{one['how']} (process)" for own in self.troubles.values() for one in own]
        kinds += [f"killed by {self.signal.name}"] * bool(self.killed_at is not None or self.killed_in) + ["full disk"] * bool(self.megabytes)
        kinds += ["boot before resume (process)"] * self.resumed + ["two roles (process)"] * self.two_roles + ["fault under load"] * bool(self.fault)
        kinds += ["loads of layers 3 to 6"] * self.loads + ["shuffled inventory"] * self.shuffled
        return list(dict.fromkeys(kinds)) or ["healthy (process)"]


def seed(number: int, kind: str = "") -> Seed:
    """A seed's troubles; kind: one of KINDS, by its number where none is given."""
    noise = random.Random(f"processes {number}")
    made = Seed(number, shuffled=noise.random() < 0.3)
    kind = kind or KINDS[number % len(KINDS)]
    made.loads = kind.startswith("loads")
    if kind in ("nodes", "killed", "disk"):
        _befall_nodes(made, noise, noise.randint(1, 3) if kind == "nodes" else noise.random() < 0.2)
    if kind == "killed":
        made.killed_at, made.signal = noise.randint(1, READINGS), noise.choice(SIGNALS)
    elif kind == "disk":
        made.megabytes = round(noise.uniform(*MEGABYTES), 2)
    elif kind == "boots between runs":
        made.resumed = True
        node = noise.choice(noise.choice([HOSTS, SWITCHES]))
        made.troubles[node] = [{"at": 0, "how": "boots", "once": False, "number": 1}]
    elif kind == "two roles":
        made.two_roles = True
    elif kind == "loads, nodes":
        trouble = {"at": noise.randint(FIRST_LOADED, LAST_LOADED), "how": noise.choice(("boots", "vanishes", "hangs")), "once": False, "number": 1}
        made.troubles[noise.choice(HOSTS[:3])] = [trouble]
    elif kind == "loads, fault":
        made.fault = noise.choice(LOAD_FAULTS)
    elif kind == "loads, killed":
        made.killed_in, made.signal = noise.choice(LOADED), noise.choice(SIGNALS)
    return made


def _befall_nodes(made: Seed, noise: random.Random, count: int) -> None:
    for _number in range(count):
        node = noise.choice(noise.choice([HOSTS, SWITCHES]))
        made.troubles[node] = [_trouble(node, noise)]


def _trouble(node: str, noise: random.Random) -> dict[str, t.Any]:
    role = node.rstrip("0123456789")
    hows = [how for how in befalling.KINDS if role == "gpu" or how not in befalling.OF_HOSTS]
    how = noise.choice(hows)
    # What one command of a leaf says may be said by another, so a leaf's troubles go on; so does a boot.
    once = role != "leaf" and how != "boots" and noise.random() < 0.5
    return {"at": noise.randrange(REQUESTS[role]), "how": how, "once": once, "number": noise.getrandbits(32)}


@dataclass
class Ended:
    """How a run ended: exit status, output, and its directory and report where it made them."""

    rc: int
    output: str
    run: Path | None
    report: dict[str, t.Any] | None


class Climber:
    """The smallest pod in a directory, and its climbs."""

    def __init__(self, directory: Path, size: t.Mapping[str, t.Any] | None = None, **expectations: t.Any) -> None:
        self.directory, self.runs, self.troubles = directory, directory / "runs", directory / "troubles"
        response = {
            "pod_name": "chaos",
            "pod_soak_seconds": 1,
            "pod_runs_dir": str(self.runs),
            **expectations,
        }
        self.inventory = layout.write(directory / "inventory", **(size or SIZE), expectations=response)

    def answers(self, fault: str = "") -> Path:
        """What the nodes of the pod respond, and where their processes work."""
        return answers_of(self.inventory, fault, 1)

    def befall(self, troubles: t.Mapping[str, list[dict[str, t.Any]]], reported: bool = False) -> None:
        """Put troubles in the nodes' way, and none besides; reported: whether these nodes have reported a boot in an earlier run."""
        self.troubles.mkdir(exist_ok=True)
        for path in self.troubles.iterdir():
            path.unlink()
        for node, own in troubles.items():
            (self.troubles / f"{node}.json").write_text(json.dumps(own), encoding="utf-8")
            if reported:
                (self.troubles / f"{node}.reported").touch()

    def befallen(self) -> list[str]:
        """The nodes that have met their troubles."""
        return sorted(path.stem for path in self.troubles.glob("*.befell"))

    def climb(self, kill: t.Callable[[Path | None], bool] = lambda _run: False, number: signal.Signals = signal.SIGKILL, **variables: t.Any) -> Ended:
        """Climb, or be killed on the way; kill: whether it is time to, by the directory of the run, which may not be there yet."""
        response = {"simulated_troubles": str(self.troubles), "pod_to_layer": TOP, **variables}
        if any(trouble["how"] == "hangs" for path in self.troubles.glob("*.json") for trouble in json.loads(path.read_text(encoding="utf-8"))):
            response["pod_read_timeout_seconds"] = READ_TIMEOUT_SECONDS
        command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/validate.yml", "-i", str(self.inventory), "-e", json.dumps(response)]
        before = self.latest()
        environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCAL_TEMP": str(self.directory / "ansible")}
        with (self.directory / "output").open("w+", encoding="utf-8") as output:
            running = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, env=environment)
            processes.await_that(lambda: running.poll() is not None or kill(self.newer_than(before)), "the run ends", RUN_SECONDS)
            _end(running, number)
            output.seek(0)
            text = output.read()
        run = self.newer_than(before)
        return Ended(running.returncode, text, run, read_json(run / "report.json") if run and (run / "report.json").is_file() else None)

    def newer_than(self, before: Path | None) -> Path | None:
        """The newest run, where it is another than the one before."""
        run = self.latest()
        return run if run != before else None

    def left(self, fault: str = "") -> list[str]:
        """What the runs have left: processes of nodes, and files outside of the directories of runs; a node that met a trouble may not be reached."""
        answers = self.answers(fault)
        # A host keeps the directory of its loads; what was in it is gone.
        files = [*(self.directory / "ansible").glob("*"), *(path for path in answers.glob("*/tmp/**/*") if not path.is_dir())]
        files = [path for path in files if not any(path.is_relative_to(answers / node) for node in self.befallen())]
        mine = {"inventory", "runs", "troubles", "output", "ansible", "dataset"}
        files += [path for path in self.directory.iterdir() if path.name not in mine]
        return processes.left(answers) + [f"FILE LEFT: {path}" for path in files]

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


def withstand(made: Seed, directory: Path) -> Outcome:
    """Let a seed's troubles happen; what came of them, and what does not hold of what must."""
    outcome = Outcome(str(made), made.drawn())
    if made.loads:
        (directory / "dataset").mkdir()
        (directory / "dataset" / "shard_0.bin").write_bytes(bytes(4 << 20))
        climber = Climber(directory, LOADED_SIZE, pod_dataset_path=str(directory / "dataset"), **LOADS)
    else:
        climber = Climber(directory)
    noise = random.Random(made.number)
    if made.shuffled:
        shuffle(climber.inventory, noise)
    if made.two_roles:
        outcome.words += f": {add_role(climber.inventory, noise)}"
        _withstand_roles(climber, outcome)
        return outcome
    # Otherwise the nodes that are read first wait until what they respond is made, all of them within their limit.
    climber.answers(made.fault)
    if made.megabytes is not None:
        _withstand_disk(made, climber, outcome)
    elif made.resumed:
        _withstand_resuming(made, climber, outcome)
    else:
        _withstand_run(made, climber, outcome)
    return outcome


def _note(outcome: Outcome, made: Seed, ended: Ended, befallen: t.Sequence[str], cut_short: bool, words: str = "") -> None:
    """Note how a run ended, and what does not hold of it."""
    outcome.verdicts.append(ended.report["verdict"] if ended.report else "refused")
    outcome.wrong += [words + one for one in _holds(ended, befallen, cut_short, bool(made.fault))]


def _met(made: Seed, befallen: t.Sequence[str], cut_short: bool) -> list[str]:
    """The kinds of a seed that came into force."""
    hows = {f"{one['how']} (process)" for node in befallen for one in made.troubles[node]}
    always = {"two roles (process)", "fault under load", "loads of layers 3 to 6", "shuffled inventory", "healthy (process)"}
    now = {"full disk", "boot before resume (process)", f"killed by {made.signal.name}"} if cut_short or (made.resumed and befallen) else set()
    return [kind for kind in made.drawn() if kind in hows | always | now]


def _withstand_run(made: Seed, climber: Climber, outcome: Outcome) -> None:
    climber.befall(made.troubles)
    more = {"pod_to_layer": LAYERS[-1]} if made.loads else {}
    more |= {"simulated_faults": made.fault} if made.fault else {}
    ended = climber.climb(_killer(made), made.signal, **more)
    cut_short = bool(made.killed_at is not None or made.killed_in) and not (ended.report and ended.report["complete"])
    _note(outcome, made, ended, climber.befallen(), cut_short)
    outcome.met = _met(made, climber.befallen(), cut_short)
    outcome.wrong += processes.left(climber.answers(made.fault)) if cut_short else climber.left(made.fault)
    # A host that was loaded by a killed run is reserved for it for some minutes.
    if cut_short and not made.loads:
        climber.befall({})
        _note(outcome, made, climber.climb(**_resumed(ended)), [], False, "resumed: ")
        outcome.wrong += processes.left(climber.answers())


def _killer(made: Seed) -> t.Callable[[Path | None], bool]:
    """When a seed's run is killed."""
    if made.killed_in:
        return lambda run: run is not None and (run / "loads" / made.killed_in / "0.json").exists()
    if made.killed_at is not None:
        return lambda run: run is not None and len(list((run / "readings").glob("*/*/*.json"))) >= t.cast(int, made.killed_at)
    return lambda _run: False


def _withstand_disk(made: Seed, climber: Climber, outcome: Outcome) -> None:
    climber.befall(made.troubles)
    climber.runs.mkdir()
    with processes.disk(climber.runs, t.cast(float, made.megabytes)) as grow:
        ended = climber.climb()
        full = "No space left on device" in ended.output or ended.report is None or not ended.report["complete"]
        _note(outcome, made, ended, climber.befallen(), full)
        outcome.met = _met(made, climber.befallen(), full)
        grow()
        climber.befall({})
        _note(outcome, made, climber.climb(), [], False, "with room again: ")
    outcome.wrong += processes.left(climber.answers())


def _withstand_resuming(made: Seed, climber: Climber, outcome: Outcome) -> None:
    climber.befall({})
    _note(outcome, made, climber.climb(pod_to_layer="links"), [], False, "before the boot: ")
    climber.befall(made.troubles, reported=True)
    _note(outcome, made, climber.climb(pod_from_layer="routing"), climber.befallen(), False)
    outcome.met = _met(made, climber.befallen(), False)
    outcome.wrong += climber.left()


def _withstand_roles(climber: Climber, outcome: Outcome) -> None:
    climber.befall({})
    ended = climber.climb()
    outcome.verdicts.append(ended.report["verdict"] if ended.report else "refused")
    outcome.met = list(outcome.drawn)
    if ended.run is not None or ended.rc == 0 or "must be in one role group" not in " ".join(ended.output.split()):
        outcome.wrong.append(f"NOT REFUSED: exit status {ended.rc}, run {ended.run}: {ended.output[-1500:]}")


def _resumed(ended: Ended) -> dict[str, str]:
    """Where a run that was cut short can be taken up: above the last layer whose gates are all open."""
    state = RunStore(ended.run).resumable()[0] if ended.run and (ended.run / "report.json").is_file() else None
    gates = state.gates if state else {}
    # A layer that only some groups climbed to has gates of those alone.
    held = list(itertools.takewhile(lambda layer: {gate["state"] for gate in gates.get(layer, {}).values()} == {"open"}, LAYERS))
    return {"pod_from_layer": LAYERS[len(held)]} if held and LAYERS[len(held) - 1] != TOP else {}


def _holds(ended: Ended, befallen: t.Sequence[str], cut_short: bool, fault: bool = False) -> list[str]:
    """What does not hold of an ended run; fault: whether one was in force from the beginning."""
    report = ended.report
    if report is None:
        return [] if cut_short and ended.rc != 0 else [f"there is no report, and the exit status is {ended.rc}: {ended.output[-1500:]}"]
    wrong = []
    if not (befallen or cut_short or fault):
        wrong += [f"a healthy pod is {report['verdict']}, exit status {ended.rc}: {ended.output[-1500:]}"] * ((report["verdict"], ended.rc) != ("go", 0))
    elif report["verdict"] != "no_go" or ended.rc == 0:
        wrong.append(f"FALSE GREEN: {report['verdict']} with exit status {ended.rc}, and {befallen} met a trouble (cut short: {cut_short})")
    if ended.run is not None:
        wrong += _lost(ended.run, report)
    if not cut_short:
        result = {host for one in report["verdicts"] if one["verdict"] in ("fail", "unknown") for host in (one["host"], *(f["host"] for f in one["findings"]))}
        wrong += [f"FALSE PASS: {node} met a trouble, and nothing is said of it" for node in befallen if node not in result]
    return wrong


def _lost(run: Path, report: dict[str, t.Any]) -> list[str]:
    """Members of a judged layer that lack a verdict of a check, and checks that lack one of a group."""
    book = RunStore(run)
    plan, state = book.plan(), book.state()
    given = {(one["layer"], one["check"], one["host"] or one["group"]): one["verdict"] for one in report["verdicts"]}
    wanted = []
    for layer in {one["layer"] for one in report["verdicts"]}:
        checks = [one for one in REGISTRY[layer].values() if one.fabric in (None, "roce")]
        speaking = [node for node in state.members[layer] if given.get((layer, ANSWERED, node)) == "pass"]
        wanted += [(layer, ANSWERED, node) for node in state.members[layer]]
        wanted += [(layer, one.id, node) for one in checks if one.scope == "node" for node in speaking if plan.nodes[node].kind in one.kinds]
        groups = [group for group, hosts in plan.groups.items() if set(hosts) & set(speaking)]
        wanted += [(layer, one.id, group) for one in checks if one.scope == "group" for group in groups]
    return [f"LOST VERDICT: {' '.join(one)}" for one in wanted if one not in given]
