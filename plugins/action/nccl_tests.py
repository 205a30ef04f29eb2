# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run nccl-tests: the documentation is in plugins/modules/nccl_tests.py."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.collective_runs import TABLE
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.launchers import (
    FORCED_PREFIXES,
    LOAD_MARK,
    STARTED_FROM_ONE_HOST,
    Launch,
    launcher_argv,
    nccl_tests_argv,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import Job
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import SPECIFIED, Bounds
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.load_action import LoadAction

NAME = "nccl_tests"


class ActionModule(LoadAction):
    """One collective over the GPUs of a host, or over those of several that a launcher starts from it."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "directory": {"type": "path", "required": True},
        "collective": {"type": "str", "choices": ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"], "default": "all_reduce"},
        "first_bytes": {"type": "int", "default": 1 << 20},
        "last_bytes": {"type": "int", "default": 4 << 30},
        "factor": {"type": "int", "default": 4},
        "iterations": {"type": "int", "default": 20},
        "gpus": {"type": "int", "default": 8},
        "launcher": {"type": "str", "choices": ["none", *STARTED_FROM_ONE_HOST], "default": "none"},
        "hosts": {"type": "list", "elements": "str", "default": []},
        "arguments": {"type": "list", "elements": "str", "default": []},
        "environment": {"type": "dict", "default": {}},
        "deadline": {"type": "int", "default": 300},
    }
    BOUNDS: t.ClassVar[dict[str, Bounds]] = {
        "first_bytes": SPECIFIED["pod_collective_sizes"].bounds,
        "last_bytes": SPECIFIED["pod_collective_sizes"].bounds,
        # With a factor of 1 the sizes never come to their end.
        "factor": Bounds(minimum=2, maximum=1024),
        "iterations": SPECIFIED["pod_collective_iterations"].bounds,
        "gpus": Bounds(minimum=1, maximum=256),
        "deadline": Bounds(minimum=1, maximum=86400),
    }

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Start it, await it, and report its table."""
        job = self.job(given)
        if self._task.check_mode:
            return {"skipped": True, "command": job.argv, "msg": "check mode loads nothing"}
        self.start(NAME, [job])
        columns = self.measured(NAME, [job], NAME, given["deadline"])
        return {"command": job.argv, "rows": columns["rows"], "failed": columns["failed"], "msg": columns["msg"]}

    def job(self, given: dict[str, t.Any]) -> Job:
        """The one process of it on this host.

        Raises AnsibleActionFail where a launcher lacks its hosts, or hosts their launcher.
        """
        hosts, launcher = given["hosts"], given["launcher"]
        if (launcher == "none") == bool(hosts):
            raise AnsibleActionFail("hosts and launcher go together: without a launcher only this host's own GPUs take part")
        sizes = given["first_bytes"], given["last_bytes"], given["factor"]
        argv = nccl_tests_argv(given["directory"], given["collective"], *sizes, 1 if hosts else given["gpus"], given["iterations"])
        variables = {str(name): str(value) for name, value in given["environment"].items()}
        columns = {"kind": NAME, "role": TABLE, "step": 0, "round": max(1, len(hosts)), "hosts": hosts or None}
        until = float(given["deadline"])
        if hosts:
            launch = Launch(tuple(hosts), given["gpus"], {**variables, **LOAD_MARK}, tuple(given["arguments"]))
            argv, variables = launcher_argv(launcher, argv, launch), {}
        return Job(NAME, argv, 0.0, until, columns, environment=variables, without=FORCED_PREFIXES, reading=NAME)
