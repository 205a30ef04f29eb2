# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module ``reading`` by plain calls: which command a node is asked, what becomes of its response, and what is refused."""

from __future__ import annotations

import types
import typing as t

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.action import reading
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.transports import NodeResponse
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow import reading_action

STATUS = "Port       Name   Status       Vlan     Duplex Speed  Type         Flags Encapsulation\n"
STATUS += "Et1/1             connected    10       full   400G   400GBASE-DR4\n"


def act(name: str, stdout: str = "", rc: int = 0, platform: str | None = None, rails: t.Any = None, **task_vars: t.Any) -> tuple[dict[str, t.Any], list[str]]:
    """The result of the task on a node that gives one response, and the commands that it was asked."""
    asked: list[str] = []

    def exec_command(command: str, in_data: t.Any = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        asked.append(command)
        return rc, stdout.encode(), b""

    action = object.__new__(reading.ActionModule)
    action._templar = types.SimpleNamespace(template=lambda value: value)
    action._connection = types.SimpleNamespace(transport="ssh", connected=True, exec_command=exec_command)
    return action.act({"name": name, "platform": platform, "rails": rails}, task_vars), asked


@pytest.mark.parametrize(
    "named",
    [{"platform": "eos"}, {"pod_platform": "eos"}, {"ansible_network_os": "arista.eos.eos"}, {"pod_platform": "auto", "ansible_network_os": "eos"}],
)
def test_a_reading_is_returned_as_rows(named: dict[str, t.Any]) -> None:
    result, asked = act("interface_status", STATUS, **named)
    assert [(row["port"], row["speed_gbit_s"]) for row in result["rows"]] == [("Et1/1", 400.0)] and asked == ["show interfaces status"]


def test_what_cannot_be_read_fails_the_task() -> None:
    for stdout, rc in (("", 0), ("% Invalid input", 1), (STATUS[:90], 0)):
        result, _asked = act("interface_status", stdout, rc, platform="eos")
        assert result["failed"] and result["msg"] and "rows" not in result


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("mac_table", {}, "platform 'linux' has no reading mac_table"),
        ("interface_status", {}, "interface_status is repeated for each rail, and the task names none"),
        ("lsmod", {"platform": "eos"}, "platform 'eos' has no reading lsmod"),
        ("rdma_counters", {}, "rdma_counters is repeated for each rail, and the task names none"),
        ("rdma_counters", {"rails": []}, "rdma_counters is repeated for each rail, and the task names none"),
        ("rdma_counters", {"rails": [{"device": "mlx5_0"}]}, "argument 'rails': rail 0 lacks netdev"),
        ("rdma_counters", {"pod_rails": ["mlx5_0"]}, "argument 'rails': rail 0 lacks device and netdev"),
    ],
)
def test_what_cannot_be_asked_is_refused(name: str, given: dict[str, t.Any], words: str) -> None:
    with pytest.raises(AnsibleActionFail) as refused:
        act(name, **given)
    assert str(refused.value) == words


def test_a_node_that_cannot_be_reached_fails_the_task_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a Linux host one program is asked for all of its commands; that it is one decides how it is asked."""
    asked: list[str] = []

    def silent(_action: object, node: dict[str, t.Any], _asks: object, _task_vars: object) -> NodeResponse:
        asked.append(node["kind"])
        return NodeResponse(False, "gpu01 refused the connection")

    monkeypatch.setattr(reading_action, "query_node", silent)
    for name, platform in (("lsmod", "linux"), ("interface_status", "eos")):
        with pytest.raises(AnsibleActionFail, match="gpu01 refused the connection"):
            act(name, platform=platform)
    assert asked == ["host", "switch"]


def test_every_reading_without_a_plan_is_offered() -> None:
    assert {"ibstat", "lsmod", "mlxconfig", "interface_status", "bgp_summary", "rdma_counters"} <= set(reading.READINGS)
    assert not [name for name in reading.READINGS if catalogue()[name].load]
