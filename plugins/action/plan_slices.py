# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cut a pod into slices: the documentation is in plugins/modules/plan_slices.py."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

from ansible import context
from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused, RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import private_directory, utc_now, write_json
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.inventory import pod_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.lock import take_lock
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.membership import no_load_reason
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.planned_pod import expectations_digest, layers_to_run
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.provenance import starter
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.run_directory import new_directory
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.slicing import (
    DIRECTORY,
    FILE,
    WHOLE_LAYERS,
    Sliced,
    render_sliced,
    run_of_plan,
    slice_pod,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import collection_version
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import OnController, PyramidAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.handed_on import handed_on


class ActionModule(OnController, PyramidAction):
    """Runs on the controller and contacts no node."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "number": {"type": "int", "required": True},
        "whole": {"type": "bool", "default": True},
        "into": {"type": "path"},
    }

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Plan the slices, show them, and write the plan unless in check mode."""
        try:
            pod = pod_of(_of_a_node(task_vars), self._loader.get_basedir())
            version = collection_version()
            layers = layers_to_run(pod.values)
            sliced = slice_pod(pod.plan, given["number"], expectations_digest(pod.plan, pod.cabling, version), version, utc_now(), layers)
            wrong = [f"argument {name!r} must not be set: a slice is a whole run" for name in ("pod_only", "pod_replay_from") if pod.values[name]]
            if layers[0] != "preflight":
                wrong.append("argument 'pod_from_layer' must be preflight: no slice has an earlier run to continue from")
            if wrong:
                raise Refused(wrong)
            show("\n" + render_sliced(pod.plan, sliced))
            place = None if self._task.check_mode else _written(given["into"], Path(pod.values["pod_runs_dir"]), sliced, starter(task_vars))
        except (Refused, RunError) as error:
            raise AnsibleActionFail(f"the pod was not cut into slices: {error}") from None
        except OSError as error:
            raise AnsibleActionFail(f"the pod was not cut into slices: {error.filename or 'pod_runs_dir'} cannot be written: {error.strerror}") from error
        loads = not no_load_reason(pod.values, check_mode=False)
        whole = [layer for layer in WHOLE_LAYERS if layer in layers] if given["whole"] and loads and len(sliced.slices) > 1 else []
        runs = [
            *(("slices", name, _limit(groups), "") for name, groups in sliced.slices.items()),
            *(("seams", name, _limit(groups), "") for name, groups in sliced.seams.items()),
            *(("whole", layer, "", layer) for layer in whole),
        ]
        found = [{**_run(place, *one), **_followers(one, runs)} for one in runs]
        return {"plan": str(place / FILE) if place else "", "runs": found, "directory": str(Path.cwd())}


def _followers(run: tuple[str, ...], runs: t.Sequence[tuple[str, ...]]) -> dict[str, list[str]]:
    """The run that may follow where this one and those before it succeeded, and the one that follows whatever they came to."""
    after = runs[runs.index(run) + 1 :]
    names = {phase: [name for own, name, *_rest in after if own == phase][:1] for phase in ("seams", "whole")}
    return {"on_success": names["whole"], "at_end": names["seams"]}


def _written(into: str | None, runs_dir: Path, sliced: Sliced, who: str) -> Path:
    """Write the plan; returns its directory. One that has a plan already is another validation's.

    A plan below the pod's runs directory is carried out by this playbook: it locks the pod as a run does.
    """
    if into is None:
        above = runs_dir.expanduser().resolve() / sliced.pod / DIRECTORY
        private_directory(above)
        place = new_directory(above)
        try:
            take_lock(run_of_plan(place), os.getppid(), who)
        except RunError:
            place.rmdir()
            raise
    else:
        place = Path(into).expanduser().resolve()
        if (place / FILE).exists():
            raise RunError(f"{place / FILE} exists already")
    write_json(place / FILE, sliced.dump())
    return place


def _of_a_node(task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
    """The variables with the directory of the inventory, which the implicit localhost does not have."""
    nodes = task_vars["groups"].get("gpu_hosts") or ["localhost"]
    return {**task_vars, "inventory_dir": task_vars["hostvars"][nodes[0]].get("inventory_dir")}


def _limit(groups: t.Sequence[str]) -> str:
    return ":".join((*groups, "leaves", "spines"))


def _run(place: Path | None, phase: str, name: str, limit: str, only: str) -> dict[str, t.Any]:
    """One run: what ansible-playbook is given, and where its output goes. Its own variables come last, so that none of this run overrides them."""
    known = {"name": name, "phase": phase, "limit": limit, "only": only, "arguments": [], "output": ""}
    if place is None:
        return known
    private_directory(place / name)
    own = [*(["--limit", limit] if limit else []), "-e", f"pod_only={only}", "-e", f"pod_runs_dir={place / name}", "-e", "pod_textfile_dir="]
    return {**known, "arguments": [*handed_on(context.CLIARGS), *own], "output": str(place / name / "output.txt")}
