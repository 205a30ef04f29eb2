# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the hosts' own checks: the documentation is in plugins/modules/node_check_files.py."""

from __future__ import annotations

import tempfile
import typing as t
from pathlib import Path

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.waivers import waivers
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.archive import archive
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.node_plan import node_plan_text
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.usual_drivers import UsualDrivers
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.inventory import pod_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import collection_version
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction, RunOnce


class ActionModule(RunOnce, PyramidAction):
    """Runs once for the whole play, on the controller."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "machine_ids": {"type": "dict", "required": True},
        "drivers": {"type": "dict", "required": True},
        "state_directory": {"type": "str", "required": True},
    }

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Write the program and a plan for each host into a directory that ends with the playbook."""
        try:
            pod = pod_of(task_vars, self._loader.get_basedir())
            usual = UsualDrivers(pod.plan, given["drivers"])
            accepted = waivers(pod.values["pod_waivers"])
            texts = {
                host: node_plan_text(pod.plan, host, str(machine_id).strip(), collection_version(), accepted, usual.of(host))
                for host, machine_id in given["machine_ids"].items()
            }
        except Refused as refused:
            raise AnsibleActionFail("nothing was installed:\n" + "\n".join(f"  - {reason}" for reason in refused.reasons)) from None
        place = Path(tempfile.mkdtemp(dir=constants.DEFAULT_LOCAL_TMP))
        program = place / "gpufabric-node-check"
        program.write_bytes(archive(given["state_directory"]))
        for host, text in texts.items():
            (place / f"{host}.json").write_text(text, encoding="utf-8")
        return {"program": str(program), "plans": {host: str(place / f"{host}.json") for host in texts}}
