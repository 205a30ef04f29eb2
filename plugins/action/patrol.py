# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validate idle hosts: the documentation is in plugins/modules/patrol.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

from ansible import context
from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.findings import ranked
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.past import Past
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.risk import Risk
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.store import History
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.planners import PLANNERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused, RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import private_directory
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.inventory import Pod, pod_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.lock import take_lock
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.membership import no_load_reason
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.patrolling import (
    DIRECTORY,
    Choice,
    choose,
    in_order,
    interrupted_hosts,
    keep_interrupted,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.provenance import starter
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.run_directory import latest_run
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import ROOT
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.counting import counted
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow import patrol_keeper
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.handed_on import handed_on
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.history import history_file

Values = dict[str, t.Any]
# By their path: by name, those of another copy of the collection may be found first.
PLAYBOOKS = ROOT / "playbooks"
# How often the scheduler is asked for jobs that wait; the hold lapses by itself where it was not renewed, in Slurm 20 to 25 s after the last time.
LOOK_SECONDS = 3
# How long the end of a validation takes at most.
KEEPER_SECONDS = patrol_keeper.END_SECONDS + 5


@dataclass(frozen=True)
class Scheduler:
    """From what a patrol takes hosts: the module that asks it, what it calls a job and itself, and the names of the settings (``pod_patrol_*``) of a hold."""

    module: str
    job: str
    name: str
    settings: tuple[str, ...]


SCHEDULERS = {
    "slurm": Scheduler("slurm_hold", "job", "Slurm", ("minutes", "partition", "qos")),
    "kubernetes": Scheduler("kubernetes_hold", "pod", "Kubernetes", ("minutes", "namespace", "image", "priority_class")),
}


class ActionModule(PyramidAction):
    """Runs once for the whole play; its modules run on the machine of the scheduler."""

    BYPASS_HOST_LOOP = True

    def act(self, given: Values, task_vars: Values) -> Values:
        """Choose idle hosts, hold them, validate them, and give them back."""
        try:
            pod = pod_of(task_vars, self._loader.get_basedir())
            wrong = list(_refusals(pod.values))
            if wrong:
                raise Refused(wrong)
            return self._patrolled(pod, task_vars)
        except Refused as refused:
            raise AnsibleActionFail("; ".join(refused.reasons)) from None
        except RunError as error:
            raise AnsibleActionFail(str(error)) from None

    def _patrolled(self, pod: Pod, task_vars: Values) -> Values:
        self.vars, self.values, self.scheduler = task_vars, pod.values, SCHEDULERS[pod.values["pod_scheduler"]]
        inside = [str(name) for name in task_vars["ansible_play_hosts_all"] if name in pod.plan.nodes and pod.plan.nodes[name].role == "host"]
        self.node_name = {name: pod.plan.nodes[name].values["pod_scheduler_node"] or name for name in inside}
        place = Path(pod.values["pod_runs_dir"]).expanduser().resolve() / pod.values["pod_name"]
        looked = self._asked(inside, state="looked_at")
        name_of = {node: name for name, node in self.node_name.items()}
        idle = {name_of[node]: seconds for node, seconds in looked["idle"].items()}
        choice = self._chosen(pod, idle, place / DIRECTORY)
        nothing = self._waiting(looked["waiting"], "waits for nodes") or ("" if choice.hosts else f"{counted(len(idle), 'host')} idle, which is too few")
        for group, why in choice.left.items():
            show(f"{group} is left out: {why}\n")
        if nothing or self._task.check_mode:
            show(f"no host is validated: {nothing}\n" if nothing else f"would be validated: {', '.join(choice.hosts)}\n")
            return _outcome([] if nothing else choice.hosts, nothing)
        private_directory(place)
        private_directory(place / DIRECTORY)
        take_lock(place / DIRECTORY, os.getppid(), f"the patrol of {starter(task_vars)}")
        return self._validated(choice.hosts, place / DIRECTORY)

    def _chosen(self, pod: Pod, idle: t.Mapping[str, float], place: Path) -> Choice:
        """Which of the idle hosts are validated, the riskiest first where the pod has a history."""
        riskiest: list[tuple[Risk, Past | None]] = []
        path = history_file(pod.values["pod_history"])
        if path is not None and path.is_file():
            with History(path, create=False) as history:
                # Its own check, every five minutes, says nothing of what only loads show.
                riskiest = ranked(history, pod.values["pod_name"], time.time(), pod.values["pod_history_days"], idle, tuple(PLANNERS))
        bad = {one.node for one, past in riskiest if past and past.bad}
        most = min(pod.values["pod_patrol_hosts"], len(idle) - pod.values["pod_patrol_free_hosts"])
        return choose(pod.plan.groups, in_order(idle, interrupted_hosts(place), [one.node for one, _past in riskiest], bad), most)

    def _validated(self, hosts: list[str], place: Path) -> Values:
        """Hold the hosts, run the validation, and give them back whatever comes."""
        settings = {name: self.values[f"pod_patrol_{name}"] for name in self.scheduler.settings}
        held = self._asked(hosts, state="held", **settings)
        if not held["held"]:
            show(f"no host is validated: {self.scheduler.name} did not give {', '.join(hosts)} at once\n")
            return _outcome([], "the hosts were not to be had any more")
        show(f"{self.scheduler.job} {held['job']} of {self.scheduler.name} holds {', '.join(hosts)}\n")
        before = _runs(place, self.values)
        # First as if it were interrupted: what ends this process ends it at once.
        keep_interrupted(place, {*interrupted_hosts(place), *hosts})
        try:
            keeper = _start_keeper(hosts, place)
            try:
                why = self._watched(hosts, held["job"], keeper)
            finally:
                since = time.monotonic()
                if keeper.poll() is None:
                    keeper.terminate()
                keeper.wait(KEEPER_SECONDS)
                if not (place / "result.json").exists():
                    # It was killed itself: what it had started is not given back with the hosts.
                    _start_keeper(hosts, place, validate=False).wait(KEEPER_SECONDS)
        finally:
            self._asked(hosts, state="released", job=held["job"])
        return self._concluded(hosts, place, before, why, time.monotonic() - since)

    def _watched(self, hosts: list[str], job: str, keeper: subprocess.Popen[str]) -> str:
        """Wait for the end of the validation, or for a reason to end it, in words."""
        controller = os.getppid()
        while True:
            try:
                looked = self._asked(hosts, state="renewed", job=job)
            except AnsibleActionFail as error:
                return str(error)
            if looked["waiting"]:
                return self._waiting(looked["waiting"], "asks for nodes")
            if not looked["held"]:
                return f"{self.scheduler.job} {job} of {self.scheduler.name} does not hold the hosts any more"
            try:
                keeper.wait(LOOK_SECONDS)
                return ""
            except subprocess.TimeoutExpired:
                if os.getppid() != controller:
                    return "the playbook was ended"

    def _concluded(self, hosts: list[str], place: Path, before: set[Path], why: str, seconds: float) -> Values:
        """What came of it, with the hosts that come first next time."""
        result = _result(place)
        why = why or "the process that ran it was ended"
        if not result["interrupted"]:
            keep_interrupted(place, {*interrupted_hosts(place)} - {*hosts})
        if result["end_rc"]:
            show(f"WARNING: it is not known of all hosts that nothing runs on them; their loads end by themselves within two minutes: {place / 'output.txt'}\n")
        if result["interrupted"]:
            show(f"interrupted, as {why}: {counted(len(hosts), 'host')} given back after {seconds:.0f} s\n")
            return _outcome(hosts, why, interrupted=True, seconds=round(seconds, 1))
        run = latest_run(place / self.values["pod_name"])
        report = json.loads((run / "report.json").read_text(encoding="utf-8")) if run is not None and run not in before else {"verdict": ""}
        show(f"{', '.join(hosts)}: {report['verdict'] or 'no verdict'}; {run / 'report.html' if report['verdict'] else place / 'output.txt'}\n")
        return _outcome(hosts, "", verdict=report["verdict"], report=str(run / "report.json") if report["verdict"] else "")

    def _waiting(self, jobs: list[str], what: str) -> str:
        """Which jobs wait, in words; nothing where none does."""
        return f"{self.scheduler.job} {', '.join(jobs[:3])} of {self.scheduler.name} {what}" if jobs else ""

    def _asked(self, hosts: t.Iterable[str], **arguments: t.Any) -> Values:
        """What the module of the scheduler returns.

        Raises AnsibleActionFail where it fails.
        """
        given = {"nodes": [self.node_name[name] for name in hosts], **arguments}
        result: Values = self._execute_module(module_name=f"gpufabric.pyramid.{self.scheduler.module}", module_args=given, task_vars=self.vars)
        if result.get("failed") or "waiting" not in result:
            raise AnsibleActionFail(f"the scheduler was not asked: {result.get('msg', 'no output')}")
        return result


def _refusals(values: Values) -> t.Iterator[str]:
    """Why no host can be validated by a patrol, whichever is idle."""
    if values["pod_scheduler"] not in SCHEDULERS:
        yield f"argument 'pod_scheduler' must be slurm or kubernetes, not {values['pod_scheduler']}: a patrol takes idle hosts from one of them"
    if values["pod_scheduler"] == "kubernetes" and not values["pod_patrol_image"]:
        yield "argument 'pod_patrol_image' must be set: the pods by which a patrol holds hosts of Kubernetes need an image with a shell"
    if words := no_load_reason(values, check_mode=False):
        yield f"a patrol is about loads, and there is {words}"
    if values["pod_launcher"] in ("srun", "kubernetes"):
        yield f"argument 'pod_launcher' must not be {values['pod_launcher']}: its jobs would wait for the hosts that the patrol holds"
    if values["pod_only"]:
        yield "argument 'pod_only' must not be set: a patrol names the hosts"


def _start_keeper(hosts: list[str], place: Path, *, validate: bool = True) -> subprocess.Popen[str]:
    """Start the process that runs the validation, or only ends the one that was left.

    Its own variables come last, so that none of the playbook's overrides them.
    """
    own = ["-e", f"pod_only={','.join(hosts)}", "-e", f"pod_runs_dir={place}", "-e", "pod_textfile_dir=", "-e", '{"pyramid_patrol": true}']
    program, given = str(Path(sys.executable).with_name("ansible-playbook")), [*handed_on(context.CLIARGS), *own]
    for name in ("result.json", "running.json", "output.txt") if validate else ():
        (place / name).unlink(missing_ok=True)
    request = {
        "parent": os.getppid(), "born": patrol_keeper.started(os.getppid()), "directory": str(Path.cwd()),
        "run": [program, str(PLAYBOOKS / "validate.yml"), "--limit", ",".join([*hosts, "leaves", "spines"]), *given] if validate else [],
        "end": [program, str(PLAYBOOKS / "end_loads.yml"), "--limit", ",".join(hosts), *given],
        "output": str(place / "output.txt"), "running": str(place / "running.json"), "result": str(place / "result.json"),
    }  # fmt: skip
    nothing, argv = subprocess.DEVNULL, [sys.executable, "-ISE", str(Path(patrol_keeper.__file__))]
    keeper = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing, start_new_session=True, text=True)
    with t.cast("t.IO[str]", keeper.stdin) as given_to_it:
        given_to_it.write(json.dumps(request))
    return keeper


def _result(place: Path) -> Values:
    """What the process that ran the validation wrote; where it was killed, that it is not known what is left."""
    try:
        return t.cast(Values, json.loads((place / "result.json").read_text(encoding="ascii")))
    except OSError:
        return {"rc": None, "interrupted": True, "end_rc": 1}


def _runs(place: Path, values: Values) -> set[Path]:
    return {path for path in (place / values["pod_name"]).glob("*") if path.is_dir()}


def _outcome(hosts: list[str], why: str, *, interrupted: bool = False, seconds: float = 0.0, verdict: str = "", report: str = "") -> Values:
    data = {"pyramid_verdict": verdict, "pyramid_report": report, "pyramid_summary": why or f"{counted(len(hosts), 'idle host')}: {verdict or 'not validated'}"}
    return {
        "hosts": hosts, "why": why, "interrupted": interrupted, "gave_way_seconds": seconds, "verdict": verdict, "report": report,
        "ansible_stats": {"data": data, "per_host": False, "aggregate": False},
    }  # fmt: skip
