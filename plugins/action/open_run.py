# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open a run: the documentation is in plugins/modules/open_run.py."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import baselines, climb, ledger, opening, remediation, runs
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.acting import Action, Once
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.focus import focus_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.inventory import pod_of


class ActionModule(Once, Action):
    """Runs once for the whole play, on the controller."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "only": {"type": "list", "elements": "str", "default": []},
        "far_ends": {"type": "bool", "default": False},
        "lent": {"type": "list", "elements": "str"},
        "to_layer": {"type": "str", "choices": list(LAYERS)},
        "depth": {"type": "str", "choices": ["quick", "standard", "go_live"]},
    }

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Check inventory and plan, take the pod's place, and say who climbs to the first layer."""
        steered = {"pod_only": ",".join(given["only"]), "pod_to_layer": given["to_layer"], "pod_depth": given["depth"]}
        try:
            pod = pod_of(task_vars, self._loader.get_basedir(), {name: value for name, value in steered.items() if value})
            inside = {str(host) for host in task_vars["ansible_play_hosts_all"]}
            lent = [host for host in sorted(inside) if given["lent"] is None or host in given["lent"]]
            reference = _reference(pod.values, pod.directory / pod.values["pod_baseline_file"])
            return self._begin(pod.plan, pod.values, pod.cabling, inside, lent, given["far_ends"], reference)
        except opening.Refused as refused:
            raise AnsibleActionFail("the run was not opened:\n" + "\n".join(f"  - {reason}" for reason in refused.reasons)) from None
        except runs.RunError as error:
            raise AnsibleActionFail(f"the run was not opened: {error}") from None

    def _begin(
        self, plan: t.Any, values: dict[str, t.Any], cabling: str, inside: set[str], lent: list[str], far_ends: bool, reference: str | None
    ) -> dict[str, t.Any]:  # fmt: skip
        pod_dir = Path(values["pod_runs_dir"]).expanduser().resolve() / values["pod_name"]
        replay = str(Path(values["pod_replay_from"]).expanduser().resolve()) if values["pod_replay_from"] else ""
        if replay and not (Path(replay) / "evidence").is_dir():
            raise opening.Refused([f"argument 'pod_replay_from': {replay} has no directory evidence"])
        focus = focus_of(plan, values["pod_only"])
        scope, silent = climb.scope(plan, inside, focus)
        if focus is not None and far_ends:
            focus = remediation.with_far_ends(plan, focus.nodes, inside)
        if not any(where != "out" for where in scope.values()):
            raise opening.Refused(["no gate group has a GPU host inside --limit"])
        opening.reached(values)
        run = runs.open_run(pod_dir, os.getppid())
        state = climb.State(
            pod=values["pod_name"], run_id=run.name, depth=values["pod_depth"], mode=values["pod_mode"], opened=runs.now(),
            digest=opening.digest(plan, cabling, ledger.version()), version=ledger.version(), only=values["pod_only"], focus=focus,
            scope=scope, silent=silent, lent=lent, replay=replay, check_mode=bool(self._task.check_mode),
        )  # fmt: skip
        earlier = runs.latest(pod_dir, other_than=run.name)
        try:
            climb.start(plan, state, values, ledger.load_state(earlier) if earlier else None)
        except opening.Refused:
            runs.abandon(run)
            raise
        book = ledger.Ledger(run)
        book.keep_plan(plan, state)
        book.keep_state(state)
        if reference is not None:
            book.keep_baseline(reference)
        try:
            book.report(plan, state)
        except OSError as error:
            raise AnsibleError(f"the run directory {run} cannot be written: {error}") from error
        return book.standing(plan, state)


def _reference(values: dict[str, t.Any], path: Path) -> str | None:
    try:
        return baselines.reference(values, path)
    except baselines.BaselineError as error:
        raise opening.Refused([str(error)]) from None
