# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open a run: the documentation is in plugins/modules/open_run.py."""

from __future__ import annotations

import os
import sys
import typing as t
from pathlib import Path

from ansible import context
from ansible.errors import AnsibleActionFail
from ansible.release import __version__ as ansible_core
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.baselines import BaselineError, baseline_to_compare
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.remediation.partners import selection_with_far_ends
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused, RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import utc_now
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.inventory import Pod, pod_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.planned_pod import expectations_digest, layers_to_run
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.pod_only import parse_pod_only
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.provenance import run_origin
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.run_directory import abandon_run, latest_run, open_run_directory, point_latest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.scope import groups_in_scope
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.state import State
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore, collection_version
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction, RunOnce
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.controller_packages import missing_packages
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.playbooks_of_another_copy import playbooks_of_another_copy
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.publishing import PublishError, not_kept, publish_target
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.report_files import write_report
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.resuming import enter_run


class ActionModule(RunOnce, PyramidAction):
    """Runs once for the whole play, on the controller."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "only": {"type": "list", "elements": "str", "default": []},
        "far_ends": {"type": "bool", "default": False},
        "helpers": {"type": "list", "elements": "str"},
        "to_layer": {"type": "str", "choices": list(LAYERS)},
        "depth": {"type": "str", "choices": ["quick", "standard", "go_live"]},
    }

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Check inventory and plan, lock the pod's runs directory, and name the groups that take part in the first layer."""
        steered = {"pod_only": ",".join(given["only"]), "pod_to_layer": given["to_layer"], "pod_depth": given["depth"]}
        try:
            if missing := missing_packages():
                # Each node would be reported as one that does not answer.
                raise Refused([f"the controller's Python, {sys.executable}, lacks {' and '.join(missing)}: pip install {' '.join(missing)}"])
            if another := playbooks_of_another_copy(Path(self._loader.get_basedir())):
                raise Refused([another])
            pod = pod_of(task_vars, self._loader.get_basedir(), {name: value for name, value in steered.items() if value})
            if pod.advice:
                show(pod.advice)
            inside = {str(host) for host in task_vars["ansible_play_hosts_all"]}
            helpers = [host for host in sorted(inside) if given["helpers"] is None or host in given["helpers"]]
            _warn_of_places(pod.values, task_vars)
            reference = _reference(pod.values, pod.directory / pod.values["pod_baseline_file"])
            origin = run_origin(task_vars, context.CLIARGS, ansible_core, bool(self._task.check_mode))
            return self._begin(pod, given, inside, helpers, reference, origin)
        except Refused as refused:
            raise AnsibleActionFail("the run was not opened:\n" + "\n".join(f"  - {reason}" for reason in refused.reasons)) from None
        except RunError as error:
            raise AnsibleActionFail(f"the run was not opened: {error}") from None
        except OSError as error:
            raise AnsibleActionFail(f"the run was not opened: {error.filename or 'pod_runs_dir'} cannot be written: {error.strerror}") from error

    def _begin(
        self, pod: Pod, given: dict[str, t.Any], inside: set[str], helpers: list[str], reference: str | None, origin: dict[str, t.Any]
    ) -> dict[str, t.Any]:  # fmt: skip
        plan, values, cabling = pod.plan, pod.values, pod.cabling
        pod_dir = Path(values["pod_runs_dir"]).expanduser().resolve() / values["pod_name"]
        replay = str(Path(values["pod_replay_from"]).expanduser().resolve()) if values["pod_replay_from"] else ""
        if replay and not (Path(replay) / "evidence").is_dir():
            what = "has no directory evidence, so it is no run's" if Path(replay).is_dir() else "is no directory"
            raise Refused([f"argument 'pod_replay_from': {replay} {what}"])
        focus = parse_pod_only(plan, values["pod_only"])
        scope, silent = groups_in_scope(plan, inside, focus)
        if focus is not None and given["far_ends"]:
            focus = selection_with_far_ends(plan, focus.nodes, inside)
        if not any(where != "out" for where in scope.values()):
            raise Refused(["no gate group has a GPU host inside --limit"])
        layers_to_run(values)
        run = open_run_directory(pod_dir, os.getppid(), origin["started_by"])
        try:
            state = State(
                pod=values["pod_name"], run_id=run.name, depth=values["pod_depth"], mode=values["pod_mode"], opened=utc_now(),
                digest=expectations_digest(plan, cabling, collection_version()), version=collection_version(), only=values["pod_only"], focus=focus,
                scope=scope, silent=silent, helpers=helpers, replay=replay, check_mode=bool(self._task.check_mode), origin=origin,
                # A playbook that names hosts in check mode looks at them: remediate.yml shows how they differ from what they must be.
                plans_only=bool(self._task.check_mode) and not given["only"],
            )  # fmt: skip
            enter_run(plan, state, values, latest_run(pod_dir, other_than=run.name))
            return _written(RunStore(run), plan, state, reference)
        except BaseException:
            abandon_run(run)
            raise


def _written(store: RunStore, plan: t.Any, state: State, reference: str | None) -> dict[str, t.Any]:
    """Write the documents that a run begins with, then make it the latest."""
    store.keep_plan(plan, state)
    store.keep_state(state)
    if reference is not None:
        store.keep_baseline(reference)
    write_report(store, plan, state)
    point_latest(store.run)
    return store.facts_for_plays(plan, state)


def _reference(values: dict[str, t.Any], path: Path) -> str | None:
    try:
        return baseline_to_compare(values, path)
    except BaselineError as error:
        raise Refused([str(error)]) from None


def _warn_of_places(values: dict[str, t.Any], task_vars: dict[str, t.Any]) -> None:
    """Show, in a job of AWX, that the runs directory ends with the job's container.

    Raises Refused where the report has to be published at what is no place.
    """
    runs_dir = Path(values["pod_runs_dir"]).expanduser().resolve()
    try:
        publish_target(values["pod_publish"], values["pod_publish_link"], values["pod_publish_endpoint"], runs_dir / values["pod_name"])
    except PublishError as error:
        raise Refused([str(error)]) from None
    if task_vars.get("awx_job_id") and (why := not_kept(runs_dir, Path("/proc/self/mountinfo").read_text(encoding="utf-8"))):
        show(
            f"WARNING: reports and runs of this job are lost when it ends: pod_runs_dir is {runs_dir}, and {why}. No run can be resumed or compared "
            "with, and a second job of the pod is not refused. Make the directory on every execution node, and add it to AWX's setting "
            "'Paths to expose to isolated jobs'."
        )
