# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the bandwidth of rails: the documentation is in plugins/modules/ib_write_bw.py."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.perftest import MEMORIES, RETRY_NO_SERVER, PerftestOptions, perftest_argv
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import Job
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import SPECIFIED, Bounds
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.load_action import LoadAction

TESTS = {
    "device": {"type": "str", "required": True}, "port": {"type": "int"}, "peer": {"type": "str"}, "gpu": {"type": "int"}, "gid_index": {"type": "int"},
}  # fmt: skip
OPTIONS: dict[str, t.Any] = {
    "state": {"type": "str", "required": True, "choices": ["server", "client", "collected"]},
    "tests": {"type": "list", "elements": "dict", "options": TESTS},
    "traffic_class": {"type": "int"}, "bytes": {"type": "int", "default": 1048576}, "seconds": {"type": "int", "default": 5},
    "queue_pairs": {"type": "int", "default": 4}, "mtu": {"type": "int", "default": 4096}, "ack_timeout": {"type": "int", "default": 14},
    "memory": {"type": "str", "choices": list(MEMORIES), "default": "host"}, "dmabuf": {"type": "bool", "default": False},
    "bidirectional": {"type": "bool", "default": False}, "deadline": {"type": "int", "default": 120},
}  # fmt: skip


OF_THE_POD = {
    "traffic_class": "pod_traffic_class", "bytes": "pod_write_bw_bytes", "seconds": "pod_write_bw_seconds", "queue_pairs": "pod_write_bw_qps",
    "mtu": "pod_rdma_mtu", "ack_timeout": "pod_perftest_ack_timeout",
}  # fmt: skip


class ActionModule(LoadAction):
    """All rails of a host side by side, as servers or as clients."""

    ARGUMENTS = OPTIONS
    BOUNDS: t.ClassVar[dict[str, Bounds]] = {
        **{name: SPECIFIED[expectation].bounds for name, expectation in OF_THE_POD.items()}, "deadline": Bounds(minimum=1, maximum=86400),
    }  # fmt: skip
    RULES: t.ClassVar[dict[str, t.Any]] = {"required_if": [("state", role, ("tests", "traffic_class")) for role in ("server", "client")]}

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Start servers, run clients, or collect servers."""
        role, name = given["state"], f"ib_write_bw-{given['state']}"
        jobs = [] if role == "collected" else self.jobs(role, given)
        if self._task.check_mode:
            return {"skipped": True, "commands": [job.argv for job in jobs], "msg": "check mode loads nothing"}
        if role == "collected":
            collected_state = self.collected("ib_write_bw-server")
            return {"ended": collected_state["ended"], "servers": list(collected_state["answers"].values())}
        self.start(name, jobs)
        return {"commands": [job.argv for job in jobs]} if role == "server" else self.measured(name, jobs, "write_bw", given["deadline"])

    def jobs(self, role: str, given: dict[str, t.Any]) -> list[Job]:
        """One job a test.

        Raises AnsibleActionFail for a client's test without a peer.
        """
        jobs = []
        for number, test in enumerate(given["tests"]):
            peer = test["peer"] if role == "client" else None
            if role == "client" and not peer:
                raise AnsibleActionFail(f"the test of {test['device']} has no peer, and a client needs one")
            asked = PerftestOptions(
                tool="ib_write_bw", gid_index=test["gid_index"],
                **{name: given[name] for name in ("bytes", "seconds", "mtu", "traffic_class", "ack_timeout", "memory", "dmabuf", "bidirectional")},
                qps=given["queue_pairs"],
            )  # fmt: skip
            port = test["port"] if test["port"] is not None else 18515 + number
            name = f"{test['device']} {f'to {peer}' if peer else 'as server'} port {port}"
            columns = {"kind": "write_bw", "role": role, "device": test["device"], "peer": peer, "step": 0, "memory": given["memory"]}
            words = perftest_argv(asked, test["device"], port, test["gpu"], peer)
            again = RETRY_NO_SERVER if peer else ()
            jobs.append(Job(name, words, 0.0, float(given["deadline"]), columns, again, test["device"], "write_bw" if peer else None))
        return jobs
