# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cut a pod into slices: the documentation is in plugins/modules/plan_slices.py."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible import context
from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused, RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import private_directory, utc_now, write_json
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.inventory import pod_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.inventory_check import expectations_digest, layers_to_run
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.membership import no_load_reason
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.run_directory import new_directory
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.slicing import FILE, WHOLE_LAYERS, render_sliced, slice_pod
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import collection_version
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import OnController, PyramidAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show

DIRECTORY = "sliced"
# Options of ansible-playbook that say how nodes are reached and what the pod is: a slice needs them as this run has them.
HANDED_ON = {"inventory": "-i", "vault_ids": "--vault-id", "vault_password_files": "--vault-password-file", "extra_vars": "-e"}


class ActionModule(OnController, PyramidAction):
    """Runs on the controller and contacts no node."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {"number": {"type": "int", "required": True}, "whole": {"type": "bool", "default": True}}

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Plan the slices, show them, and write the plan unless in check mode."""
        try:
            pod = pod_of(_of_a_node(task_vars), self._loader.get_basedir())
            version = collection_version()
            sliced = slice_pod(pod.plan, given["number"], expectations_digest(pod.plan, pod.cabling, version), version, utc_now())
            layers = layers_to_run(pod.values)
            wrong = [f"argument {name!r} must not be set: a slice is a whole run" for name in ("pod_only", "pod_replay_from") if pod.values[name]]
            if layers[0] != "preflight":
                wrong.append("argument 'pod_from_layer' must be preflight: no slice has an earlier run to continue from")
            if wrong:
                raise Refused(wrong)
            show("\n" + render_sliced(pod.plan, sliced))
            if self._task.check_mode:
                return {"plan": "", "runs": [], "directory": str(Path.cwd())}
            above = Path(pod.values["pod_runs_dir"]).expanduser().resolve() / sliced.pod / DIRECTORY
            private_directory(above)
            place = new_directory(above)
            write_json(place / FILE, sliced.dump())
        except (Refused, RunError) as error:
            raise AnsibleActionFail(f"the pod was not cut into slices: {error}") from None
        except OSError as error:
            raise AnsibleActionFail(f"the pod was not cut into slices: {error.filename or 'pod_runs_dir'} cannot be written: {error.strerror}") from error
        loads = not no_load_reason(pod.values, check_mode=False)
        whole = [layer for layer in WHOLE_LAYERS if layer in layers] if given["whole"] and loads and len(sliced.slices) > 1 else []
        runs = [
            *(("slices", name, ["--limit", _limit(groups)]) for name, groups in sliced.slices.items()),
            *(("seams", name, ["--limit", _limit(groups)]) for name, groups in sliced.seams.items() if "routing" in layers),
            *(("whole", layer, ["-e", f"pod_only={layer}"]) for layer in whole),
        ]
        return {"plan": str(place / FILE), "runs": [_run(place, *one) for one in runs], "directory": str(Path.cwd())}


def _of_a_node(task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
    """The variables with the directory of the inventory, which the implicit localhost does not have."""
    nodes = task_vars["groups"].get("gpu_hosts") or ["localhost"]
    return {**task_vars, "inventory_dir": task_vars["hostvars"][nodes[0]].get("inventory_dir")}


def _limit(groups: t.Sequence[str]) -> str:
    return ":".join((*groups, "leaves", "spines"))


def _run(place: Path, phase: str, name: str, own: list[str]) -> dict[str, t.Any]:
    """One run: what ansible-playbook is given, and where its output goes. Its own variables come last, so that none of this run overrides them."""
    arguments = [*_handed_on(), *own, "-e", f"pod_runs_dir={place / name}", "-e", "pod_textfile_dir="]
    private_directory(place / name)
    return {"name": name, "phase": phase, "arguments": arguments, "output": str(place / name / "output.txt")}


def _handed_on() -> list[str]:
    """The command line's options that every slice needs too."""
    given = {option: context.CLIARGS.get(name) or () for name, option in HANDED_ON.items()}
    return [word for option, values in given.items() for value in values for word in (option, str(value))]
