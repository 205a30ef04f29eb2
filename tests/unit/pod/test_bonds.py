# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rails that are bonds: what the plan makes of them, and which plans are refused."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import item_labels, queries_for, query_commands
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.row_places import RowPlaces
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.incast_expectations import incasts_by_switch
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.incasts import incasts_among
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.perftest import perftest_options
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.thresholds import host_gbyte_s
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.judging import own_readings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.node_plan import load_node_plan, node_plan_text
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import PLACE
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.rail_ports import bonded_gbit_s, named_devices, rail_ports
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.remediation.drift import host_settings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.pod_only import parse_pod_only
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import plan_of

Rails = list[dict[str, t.Any]]
BOND = {"device": "mlx5_bond_0", "netdev": "bond0", "members": ["ens1f0", "ens1f1"], "pci": "0000:18:00.0", "gpu": 0, "leaf": "leaf01"}
SINGLE = {"device": "mlx5_3", "netdev": "ens2", "pci": "0000:40:00.0", "gpu": 1, "leaf": "leaf02"}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_of(layout.write(tmp_path_factory.mktemp("pod"), racks=2, hosts_per_rack=4, spines=4, expectations={"pod_name": "small"}, bonds=True))


def test_ports_of_a_bond_are_its_members_and_any_other_rail_is_its_own() -> None:
    first, second, other = rail_ports(t.cast("t.Any", [BOND, SINGLE]))
    assert first == {"device": "mlx5_bond_0", "netdev": "ens1f0", "bond": "bond0", "gpu": 0} and second["netdev"] == "ens1f1"
    assert other is SINGLE
    assert named_devices([BOND, SINGLE]) == ["mlx5_bond_0", "ens1f0", "ens1f1", "mlx5_3"]
    assert [bonded_gbit_s(t.cast("t.Any", rails), 400) for rails in ([BOND], [SINGLE], [])] == [800, 400, 400]


def test_commands_are_repeated_for_ports_and_for_bonds() -> None:
    node = {"platform": "linux", "values": {"pod_fabric": "roce"}, "items": {"rail": [BOND, SINGLE]}}
    names = ["nic_counters", "link_quality", "dcqcn", "mlxconfig", "rdma_counters", "bonds"]
    asks = {ask.reading.name: ask for ask in queries_for(names, node)[0]}
    labels = {name: item_labels(ask) for name, ask in asks.items()}
    assert labels["nic_counters"] == ["ens1f0", "ens1f1", "ens2"]
    assert labels["link_quality"] == ["ens1f0", "ens1f1", "mlx5_3"]
    assert labels["rdma_counters"] == ["mlx5_bond_0", "mlx5_3"]
    assert labels["bonds"] == ["bond0"]
    argv = {name: [[one["argv"] for one in command["alternatives"]] for command in query_commands([ask])] for name, ask in asks.items()}
    assert argv["bonds"] == [[["cat", "/proc/net/bonding/bond0"]]]
    # A member is reached by its own PCI address, which the host knows.
    assert argv["link_quality"][1][0] == ["mlxlink", "-d", "{pci:ens1f1}", "-m", "-c"]
    assert argv["link_quality"][2][0] == ["mlxlink", "-d", "mlx5_3", "-m", "-c"]
    asked = ["/sys/class/net/ens1f1/ecn", "/sys/kernel/debug/mlx5/{pci:ens1f1}/cc_params", "/sys/kernel/debug/mlx5/{pci:mlx5_bond_0}/cc_params"]
    assert [one[-1] for one in argv["dcqcn"][1]] == asked
    assert [one[-1] for one in argv["dcqcn"][2]][1:] == ["/sys/kernel/debug/mlx5/0000:40:00.0/cc_params"] * 2
    assert argv["mlxconfig"][0][0][:3] == ["mlxconfig", "-d", "0000:18:00.0"]


def test_a_host_without_bonds_is_not_asked_for_them() -> None:
    node = {"platform": "linux", "values": {}, "items": {"rail": [SINGLE]}}
    asks, apart = queries_for(["bonds"], node)
    assert asks == [] and apart["bonds"].words == "no rail of this host is a bond by pod_rails"


def test_a_bond_is_on_all_leaves_of_its_members(plan: Plan) -> None:
    rail = plan.rails(["gpu02"])[1]
    assert (rail["leaf"], rail["leaves"], rail["members"]) == ("leaf03", ["leaf03", "leaf04"], ["enp79s0f0np0", "enp79s0f1np1"])
    for leaf in ("leaf03", "leaf04"):
        assert {one["device"] for one in plan.planned(leaf)["pod_remote_rails"]} == {"mlx5_bond_0", "mlx5_bond_2", "mlx5_bond_3"}
    assert plan.affects("leaf04", "Port-Channel102") == {"rack_01"}


def test_what_a_bond_must_carry_is_what_its_ports_carry_together(plan: Plan) -> None:
    values = plan.nodes["gpu01"].values
    assert plan.rail_gbit_s()["gpu01"] == {f"mlx5_bond_{number}": 800.0 for number in range(4)}
    assert host_gbyte_s(values) == 4 * 2 * 400 / 8
    # One queue pair uses one port.
    assert perftest_options(values).qps == 16 > values["pod_write_bw_qps"]


def test_an_incast_to_a_bond_is_faced_by_a_port_of_each_leaf(plan: Plan) -> None:
    planned = incasts_among(plan, plan.rails())
    assert {pair["qps"] for pair in planned.pairs} <= set(range(16, 257))
    ends = {name: [plan.near(name, cable) for cable in plan.at[name]] for name in ("leaf03", "leaf04", "spine01")}
    rows = incasts_by_switch(planned, ends)
    receivers = [{(row["round"], row["peer"]) for row in rows[leaf] if row["role"] == "receiver"} for leaf in ("leaf03", "leaf04")]
    assert receivers[0] == receivers[1] != set()
    assert {row["parts"] for row in rows["leaf04"] if row["role"] == "receiver"} == {2}
    crossing = next(pair["round"] for pair in planned.pairs if pair["cross"] and pair["receiver"]["leaf"] == "leaf03" and not pair["across"])
    flows = sum(pair["qps"] for pair in planned.pairs if pair["round"] == crossing and pair["sender"]["leaf"] == "leaf03")
    assert {row["flows"] for leaf in ("leaf03", "leaf04") for row in rows[leaf] if (row["round"], row["role"]) == (crossing, "uplink")} == {flows // 2}
    offered = {row["peer"]: row["offered"] for row in rows["spine01"] if row["role"] == "downlink" and row["across"] and row["offered"]}
    assert offered["leaf03"] == offered["leaf04"] > 1


def refused(tmp_path: Path, edit_rails: t.Callable[[Rails], None] | None = None, cables: tuple[str, t.Any] = ("", ""), **values: t.Any) -> list[str]:
    """The messages of a plan with changed rails of all hosts, or with a changed line of the wiring plan."""
    expectations = {"pod_name": "small", **values}
    directory = layout.write(tmp_path, racks=2, hosts_per_rack=4, spines=4, expectations=expectations, bonds=True)
    file = directory / "group_vars" / "gpu_hosts.yml"
    raw = yaml.safe_load(file.read_text(encoding="utf-8"))
    if edit_rails:
        edit_rails(raw["pod_rails"])
    file.write_text(yaml.safe_dump(raw), encoding="utf-8")
    wiring = directory / PLACE
    wiring.write_text(re.sub(*cables, wiring.read_text(encoding="utf-8"), flags=re.MULTILINE) if cables[0] else wiring.read_text(encoding="utf-8"))
    with pytest.raises(Refused) as caught:
        plan_of(directory)
    return caught.value.reasons


def first(**changed: t.Any) -> t.Callable[[Rails], None]:
    return lambda rails: rails[0].update(changed)


def slower_second_ports(line: re.Match[str]) -> str:
    return f"{line[0]},{'gbit_s' if line[0].startswith('a_node') else 200 if 'f1np1' in line[0] else ''}"


@pytest.mark.parametrize(
    ("edit", "cables", "message"),
    [
        (first(members=["enp24s0f0np0"]), ("", ""), "members of bond0 must name two ports or more, each once, not ['enp24s0f0np0']"),
        (first(members="enp24s0f0np0, enp24s0f1np1"), ("", ""), "members of bond0 must name two ports or more"),
        (first(members=["enp24s0f0np0", "enp24s0f0np0"]), ("", ""), "members of bond0 must name two ports or more"),
        (first(members=["enp24s0f0np0", "bond0"]), ("", ""), "members of bond0 must name two ports or more"),
        (first(members=["enp24s0f0np0", "ens9"]), ("", ""), "ens9, a member of bond0 of gpu01, has no cable"),
        (first(members=["enp24s0f0np0", "enp79s0f1np1"]), ("", ""), "rails 0 and 1 have one port, enp79s0f1np1"),
        (first(leaf="leaf05"), ("", ""), "bond0 of gpu01 lands on leaf01 and leaf02, and pod_rails has leaf05"),
        (None, ("^(gpu01,enp24s0f1np1.*),bond0,", r"\1,bond7,"), "enp24s0f1np1 of gpu01 is in bond7, and pod_rails has it as a member of bond0"),
        (None, ("^(gpu01,enp24s0f1np1),leaf02,Ethernet1/1", r"\1,leaf01,Ethernet20/1"), "a member on leaf01 must all end at the same leaves"),
        (None, ("^.+$", slower_second_ports), "the members of bond0 of gpu01 run at 200 and 400 Gb/s, and LACP bundles members of one speed"),
        (None, ("^(gpu01,enp24s0f1np1),leaf02,Ethernet1/1(.*)101$", r"\1,leaf08,Ethernet20/1\g<2>199"), "a member on leaf01 must all end at the same leaves"),
        (lambda rails: rails[0].pop("members"), ("", ""), "of its own: name its ports as members of the rail in pod_rails (enp24s0f0np0, enp24s0f1np1)"),
        (lambda rails: rails[0].update(netdev=rails[0].pop("members")[0]), ("^gpu0.,enp24s0f1np1,.*\n", ""), "all rails of a pod must have as many ports"),
    ],
)  # fmt: skip
def test_a_plan_that_does_not_describe_its_bonds_is_refused(
    edit: t.Callable[[Rails], None] | None, cables: tuple[str, t.Any], message: str, tmp_path: Path
) -> None:
    assert any(message in one for one in refused(tmp_path, edit, cables)), refused(tmp_path, edit, cables)


def test_infiniband_has_no_bonds_of_rails(tmp_path: Path) -> None:
    assert any("there are no bonds of rails on InfiniBand" in one for one in refused(tmp_path, pod_fabric="infiniband"))


def test_one_bond_is_evaluated_with_all_of_its_leaves(plan: Plan) -> None:
    chosen = parse_pod_only(plan, "bond1")
    assert {"gpu02", "leaf03", "leaf04"} <= set(chosen.nodes) and not {"leaf01", "leaf05"} & set(chosen.nodes)
    assert {"gpu02:mlx5_bond_1", "gpu02:enp79s0f1np1", "leaf04:Ethernet2/1"} <= set(chosen.places)


def test_a_hosts_own_check_asks_for_its_bonds(plan: Plan) -> None:
    mine = load_node_plan(node_plan_text(plan, "gpu02", "id", "1.0.0", (), "mlx5"), "id")
    assert mine.plan.rails()[1]["leaves"] == ["leaf03", "leaf04"]
    assert "bonds" in {ask.reading.name for ask in own_readings(mine).queries}


def test_a_number_of_a_member_is_not_one_of_the_other(plan: Plan) -> None:
    axes = RowPlaces(plan)
    words = ("mlx5_bond_1", "bond1", "enp79s0f0np0", "enp79s0f1np1")
    assert [axes.at({"rail_of": "port"}, "gpu02", {"port": word}) for word in words] == ["rail 1", "rail 1", "rail 1 port 1", "rail 1 port 2"]


def test_settings_of_a_bond_are_those_of_its_members(plan: Plan) -> None:
    values = {**plan.nodes["gpu02"].values, "pod_congestion_control": "dcqcn", "pod_gpudirect": "dmabuf"}
    masks = [
        {"device": "mlx5_bond_1", "name": f"ROCE_CC_PRIO_MASK_P{port}"}
        | {f"{when}{form}": mask if form else str(mask) for when in ("current", "next_boot") for form in ("", "_number")}
        for port, mask in ((1, 255), (2, 0))
    ]
    drifted = {(one.where, one.name): one.current for one in host_settings(values, {"mlxconfig": masks})}
    assert drifted["enp79s0f0np0", "DCQCN on priority 3"] == "on" and drifted["enp79s0f1np1", "DCQCN on priority 3"] == "off"
    assert ("enp79s0f1np1", "trust") in drifted and ("bond1", "trust") not in drifted
