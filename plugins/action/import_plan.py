# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make an inventory of what another system has written down: the documentation is in plugins/modules/import_plan.py."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.imports.air import read_air
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.imports.inventory import imported_files
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.imports.listing import ImportFailed, Listing
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.imports.netbox import read_netbox
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.imports.slurm import read_slurm
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.imports.spreadsheet import read_spreadsheet
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import OnController, PyramidAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.inventory_writer import write_changed

SHOWN = 20


class ActionModule(OnController, PyramidAction):
    """Runs on the controller and contacts no node."""

    _supports_diff = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "source": {"type": "str", "choices": ["netbox", "spreadsheet", "slurm", "air"], "required": True},
        "path": {"type": "path"},
        "url": {"type": "str"},
        "token": {"type": "str", "no_log": True},
        "filters": {"type": "dict", "default": {}},
        "validate_certs": {"type": "bool", "default": True},
        "columns": {"type": "dict", "default": {}},
        "sheet": {"type": "str", "default": ""},
        "groups": {"type": "dict", "default": {}},
        "into": {"type": "path", "required": True},
    }
    RULES: t.ClassVar[dict[str, t.Any]] = {
        "required_if": [
            ("source", "netbox", ("url", "token")),
            *(("source", source, ("path",)) for source in ("spreadsheet", "slurm", "air")),
        ]
    }

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Read the source; write only what is another text than before."""
        source = given["url"] if given["source"] == "netbox" else given["path"]
        try:
            listing = _read(given)
            patterns = {group: [own] if isinstance(own, str) else list(own) for group, own in given["groups"].items()}
            texts = imported_files(listing, patterns, given["source"])
        except ImportFailed as failed:
            raise AnsibleActionFail(f"{source} was not imported: {failed}") from None
        except OSError as error:
            raise AnsibleActionFail(f"{source} was not imported: {error.strerror or error}") from None
        changed = write_changed(Path(given["into"]).expanduser(), texts, self._task.check_mode)
        show(f"\n{len(listing.nodes)} nodes and {len(listing.cables)} cables read from {source} for {given['into']}")
        for words in listing.left_out[:SHOWN]:
            show(f"left out: {words}")
        if len(listing.left_out) > SHOWN:
            show(f"and {len(listing.left_out) - SHOWN} more left out")
        return {
            "changed": bool(changed),
            "diff": changed,
            "nodes": len(listing.nodes),
            "cables": len(listing.cables),
            "left_out": listing.left_out,
            "files": sorted(str(Path(given["into"]) / name) for name in texts),
        }


def _read(given: dict[str, t.Any]) -> Listing:
    if given["source"] == "netbox":
        return read_netbox(given["url"], given["token"], given["filters"], given["validate_certs"])
    path = Path(given["path"]).expanduser()
    if given["source"] == "spreadsheet":
        return read_spreadsheet(path, given["columns"], given["sheet"])
    return read_slurm(path) if given["source"] == "slurm" else read_air(path)
