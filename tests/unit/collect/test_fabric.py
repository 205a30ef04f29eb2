# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What readers tell of a fabric becomes each node's own: names, redundancy, planes, silence, counters."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.needed_readings import needed_readings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.fabric import spread_to_nodes
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.fabric_names import FabricNames
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import Cable, CableEnd
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Node, Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.catalogue import catalogue
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.planned_pod import _readers

LEAF, SPINE, NIC = 0xA1, 0xB1, 0xC0


def plan_of(**values) -> Plan:
    """Two racks of one host with one rail each, one leaf, one spine."""
    expectations = {**DEFAULTS, "pod_fabric": "infiniband", **values}
    nodes = {}
    for number in (1, 2):
        rails = [{"device": "mlx5_0", "gpu": 0, "leaf": "leaf01"}]
        nodes[f"gpu0{number}"] = Node(f"gpu0{number}", "host", "linux", f"rack_0{number}", {**expectations, "pod_rails": rails})
    nodes["leaf01"] = Node("leaf01", "leaf", "infiniband", None, expectations)
    nodes["spine01"] = Node("spine01", "spine", "infiniband", None, {**expectations})
    cables = [Cable(CableEnd(f"gpu0{number}", "mlx5_0"), CableEnd("leaf01", str(number)), "optic", 10, 0) for number in (1, 2)]
    return Plan(nodes, {"rack_01": ["gpu01"], "rack_02": ["gpu02"]}, [*cables, Cable(CableEnd("leaf01", "33"), CableEnd("spine01", "1"), "optic", 10, 0)])


def link(node, guid, port, peer, peer_guid, peer_port, via="mlx5_0", **values):
    row = {"via": via, "kind": None, "node": node, "guid": f"0x{guid:016x}", "lid": 1, "port": port, "lanes": 4, "lane_gbit_s": 106.25, "state": "Active"}
    row |= {"physical_state": "LinkUp", "peer": peer, "peer_guid": f"0x{peer_guid:016x}", "peer_lid": 1, "peer_port": peer_port, "hints": None}
    return {**row, **values}


def links(**values):
    """Every link of the plan from both ends."""
    ends = [("gpu01 mlx5_0", NIC, 1, "leaf01", LEAF, 1), ("gpu02 mlx5_0", NIC + 2, 1, "leaf01", LEAF, 2), ("leaf01", LEAF, 33, "spine01", SPINE, 1)]
    return [{**link(*one), **values} for a in ends for one in (a, a[3:] + a[:3])]


def errors(*rows, ports=6, failed=0):
    totals = {"nodes_checked": 4, "ports_checked": ports} | ({"queries_failed": failed} if failed else {})
    result = [{"via": "mlx5_0", "guid": None, "node": None, "port": None, "counter": name, "value": value} for name, value in totals.items()]
    return result + [
        {"via": "mlx5_0", "guid": f"0x{guid:x}", "node": "n", "port": port, "counter": counter, "value": value} for guid, port, counter, value in rows
    ]


def envelope(**tables):
    readings = {
        name: {"status": "ok", "words": "", "rows": rows, "evidence": f"evidence/{name}.txt"}
        if isinstance(rows, list)
        else {"status": "unknown", "words": rows, "rows": [], "evidence": None}
        for name, rows in tables.items()
    }
    return {"answered": True, "words": "", "boot_id": "1", "uptime_seconds": 1.0, "readings": readings}


EMPTY = envelope()


def spread(plan, **envelopes):
    given = dict.fromkeys(plan.nodes, EMPTY) | envelopes
    return spread_to_nodes(plan, given, list(plan.nodes))


def rows(spread_out, node, reading):
    output = spread_out[node]["readings"][reading]
    assert output["status"] == "ok", output["words"]
    return {row["port"]: row for row in output["rows"]}


def test_a_switch_gets_its_ports_as_its_own():
    result = spread(plan_of(), gpu01=envelope(fabric_links=links()))
    status = rows(result, "leaf01", "interface_status")
    assert {port: (row["state"], row["speed_gbit_s"]) for port, row in status.items()} == dict.fromkeys(("1", "2", "33"), ("connected", 400.0))
    assert status["1"]["reason"] == "4X NDR to gpu01 mlx5_0"
    assert rows(result, "gpu02", "lldp_neighbors")["mlx5_0"] == {"port": "mlx5_0", "neighbor": "leaf01", "neighbor_port": "2"}
    assert result["leaf01"]["answered"] and result["leaf01"]["readings"]["interface_status"]["evidence"] == "evidence/fabric_links.txt"


def test_rows_of_the_fabric_have_the_columns_of_their_reading():
    result = spread(plan_of(), gpu01=envelope(fabric_links=links(), fabric_errors=errors((LEAF, 1, "SymbolErrorCounter", 3))))
    of_fabric = [(name, one["rows"]) for node in result.values() for name, one in node["readings"].items() if catalogue()[name].of_fabric and one["rows"]]
    assert {name for name, _rows in of_fabric} >= {"interface_status", "lldp_neighbors", "link_errors"}
    for name, its in of_fabric:
        assert {frozenset(row) for row in its} == {frozenset(column.name for column in catalogue()[name].columns)}, name


@pytest.mark.parametrize(
    ("values", "state", "speed"),
    [
        ({"lanes": 1}, "connected", 100.0),
        ({"lanes": 2}, "connected", 200.0),
        ({"lane_gbit_s": 212.5}, "connected", 800.0),
        ({"lane_gbit_s": 53.125}, "connected", 200.0),
        ({"lane_gbit_s": 14.0625}, "connected", 56.0),
        ({"lane_gbit_s": 99.0}, "connected", None),
        ({"state": "Init"}, "init", None),
        ({"state": "Down", "physical_state": "Disabled", "lanes": None, "lane_gbit_s": None, "peer": None}, "disabled", None),
        ({"state": "Down", "physical_state": "Polling", "lanes": None, "lane_gbit_s": None, "peer": None}, "notconnect", None),
    ],
)
def test_state_and_rate_of_a_port(values, state, speed):
    row = rows(spread(plan_of(), gpu01=envelope(fabric_links=links(**values))), "leaf01", "interface_status")["1"]
    assert (row["state"], row["speed_gbit_s"]) == (state, speed)


def test_a_switch_that_nobody_sees_does_not_answer():
    result = spread(plan_of(), gpu01=envelope(fabric_links=links()[:4]), gpu02=envelope(fabric_links=links()[:4]))
    assert result["spine01"]["answered"] is False
    assert result["spine01"]["words"] == "no switch of this name or GUID is in the fabric that gpu01 mlx5_0, gpu02 mlx5_0 sees"


def test_an_unread_fabric_makes_every_switch_silent_and_every_host_unknown():
    result = spread(plan_of(pod_fabric_reader=["gpu01"]), gpu01=envelope(fabric_links="iblinkinfo: not found on PATH"))
    for switch in ("leaf01", "spine01"):
        assert (result[switch]["answered"], result[switch]["words"]) == (False, "gpu01 mlx5_0: iblinkinfo: not found on PATH")
    output = result["gpu02"]["readings"]["interface_status"]
    assert (output["status"], output["words"]) == ("unknown", "gpu01 mlx5_0: iblinkinfo: not found on PATH")


def test_a_second_reader_tells_what_the_first_could_not():
    result = spread(plan_of(), gpu01=envelope(fabric_links="no permission"), gpu02=envelope(fabric_links=links()))
    assert result["spine01"]["answered"] and set(rows(result, "leaf01", "interface_status")) == {"1", "2", "33"}
    lost = spread(plan_of(), gpu01=envelope(fabric_links="no permission"), gpu02=envelope(fabric_links=links()[2:]))
    assert lost["gpu01"]["readings"]["interface_status"]["words"] == "gpu01 mlx5_0: no permission", "the adapter may be there for the reader that failed"


def test_a_silent_reader_is_named():
    plan = plan_of(pod_fabric_reader=["gpu01", "gpu02"])
    silent = {**EMPTY, "answered": False, "words": "unreachable"}
    result = spread_to_nodes(plan, {"gpu01": silent, "gpu02": envelope(fabric_links="broken"), "leaf01": EMPTY, "spine01": EMPTY}, list(plan.nodes))
    assert result["spine01"]["words"] == "gpu01 reads the fabric and did not answer: unreachable; gpu02 mlx5_0: broken"


def test_planes_of_their_own_are_read_through_their_own_devices():
    plan = plan_of(pod_fabric_reader=["gpu01:mlx5_0", "gpu01:mlx5_1"])
    assert plan.items("gpu01")["fabric"] == [{"via": "mlx5_0", "device": "mlx5_0"}, {"via": "mlx5_1", "device": "mlx5_1"}]
    assert "fabric" not in plan.items("gpu02")
    first, second = [one for one in links() if "spine01" not in (one["node"], one["peer"])], [link("spine01", SPINE, 1, "leaf01", LEAF, 33, via="mlx5_1")]
    result = spread(plan, gpu01=envelope(fabric_links=first + second, sminfo=[{"via": "mlx5_0", "state": "master"}]))
    assert set(rows(result, "spine01", "interface_status")) == {"1"}
    assert result["leaf01"]["readings"]["sminfo"]["rows"] == [{"via": "mlx5_0", "state": "master"}]
    assert result["spine01"]["readings"]["sminfo"]["rows"] == [], "the manager of another plane is not its own"


@pytest.mark.parametrize(
    ("values", "readers"),
    [
        ({}, {"gpu01": ["mlx5_0"], "gpu02": ["mlx5_0"]}),
        ({"pod_fabric_reader": ["gpu02"]}, {"gpu02": ["mlx5_0"]}),
        ({"pod_fabric": "roce"}, {}),
    ],
)
def test_who_reads(values, readers):
    assert plan_of(**values).readers(["gpu01", "gpu02"]) == readers
    assert plan_of(pod_fabric_reader=["gpu01", "gpu02"]).readers(["gpu02"]) == {"gpu02": ["mlx5_0"]}


def test_only_readers_are_asked_and_nobody_on_roce():
    names = needed_readings("links", "host", {"pod_fabric": "infiniband"}, "now")
    assert {"fabric_links", "fabric_errors", "ibstat"} <= set(names)
    assert not {name for name in needed_readings("links", "host", {"pod_fabric": "roce"}, "now") if name.startswith("fabric_")}
    plan = plan_of(pod_fabric_reader=["gpu01"])
    for host, asked in (("gpu01", True), ("gpu02", False)):
        node = plan.nodes[host]
        asks, apart = queries_for(["fabric_links"], {"platform": "linux", "values": node.values, "items": plan.items(host)})
        assert bool(asks) == asked and bool(apart) != asked


def test_counters_that_nobody_names_are_zero_where_all_were_asked():
    table = errors((LEAF, 1, "SymbolErrorCounter", 3), (LEAF, 2, "LinkDownedCounter", 255), (NIC, 1, "PortRcvErrors", 65535))
    result = spread(plan_of(pod_fabric_reader=["gpu01"]), gpu01=envelope(fabric_links=links(), fabric_errors=table))
    leaf = rows(result, "leaf01", "link_errors")
    assert (leaf["1"]["symbol_errors"], leaf["1"]["link_downs"], leaf["1"]["saturated"]) == (3, 0, [])
    assert (leaf["2"]["link_downs"], leaf["2"]["saturated"]) == (255, ["LinkDownedCounter"])
    assert rows(result, "gpu01", "link_errors")["mlx5_0"]["saturated"] == ["PortRcvErrors"]
    assert leaf["33"]["peer"] == "spine01 1"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (errors(failed=1), "1 nodes of the fabric did not report their counters"),
        (errors(ports=5), "counters of 5 ports were asked, and the fabric has 6"),
        (errors()[:1], "counters of 0 ports were asked, and the fabric has 6"),
        ("ibqueryerrors: printed nothing", "ibqueryerrors: printed nothing"),
    ],
)
def test_counters_that_were_not_all_asked_are_unknown(table, words):
    result = spread(plan_of(pod_fabric_reader=["gpu01"]), gpu01=envelope(fabric_links=links(), fabric_errors=table))
    output = result["leaf01"]["readings"]["link_errors"]
    assert output["status"] == "unknown" and words in output["words"] and not output["rows"]


def test_a_node_that_does_not_report_its_counters_is_unknown_by_name():
    def failed(lid):
        return {"via": "mlx5_0", "guid": None, "node": "gpu02 mlx5_0", "port": 1, "counter": "query_failed", "value": lid}

    table = links()
    for row in table:
        row["lid"] = 7 if row["node"] == "gpu02 mlx5_0" else 1
    result = spread(plan_of(pod_fabric_reader=["gpu01"]), gpu01=envelope(fabric_links=table, fabric_errors=[*errors(ports=5, failed=1), failed(7)]))
    assert rows(result, "gpu02", "link_errors") == {} and list(rows(result, "leaf01", "link_errors")) == ["1", "2", "33"]
    # One that no link is of says nothing of another port that was not asked.
    result = spread(plan_of(pod_fabric_reader=["gpu01"]), gpu01=envelope(fabric_links=table, fabric_errors=[*errors(ports=5, failed=1), failed(99)]))
    assert "counters of 5 ports were asked" in result["leaf01"]["readings"]["link_errors"]["words"]


def test_sharp_nodes_are_no_neighbors():
    row = {"via": "mlx5_0", "kind": "switch", "guid": "a1", "port_guid": None, "node": "leaf01", "ports": 41, "width": "4x", "speed": "HDR"}
    peer = {"peer_kind": "adapter", "peer_guid": "c0", "peer_port_guid": "c1", "peer_port": 1}
    table = [
        {**row, **peer, "port": 1, "peer": "gpu01 mlx5_0"},
        {**row, **peer, "port": 41, "peer_guid": "99", "peer": "Mellanox Technologies Aggregation Node"},
    ]
    result = spread(plan_of(pod_fabric_reader=["gpu01"]), gpu01=envelope(fabric_topology=table))
    assert list(rows(result, "leaf01", "fabric_neighbors")) == ["1"]


@pytest.mark.parametrize(
    ("guid", "description", "port", "expected"),
    [
        (None, "gpu01 mlx5_0", 1, ("gpu01", "mlx5_0")),
        (None, "gpu01.example.org mlx5_0", 1, ("gpu01", "mlx5_0")),
        (None, "GPU01 HCA-3", 1, ("gpu01", "HCA-3")),
        ("0xc5", "MT4129 ConnectX7   Mellanox Technologies", 1, ("gpu02", "mlx5_0")),
        (None, "MT4129 ConnectX7   Mellanox Technologies", 1, ("MT4129 ConnectX7   Mellanox Technologies", "1")),
        (None, "leaf01", 7, ("leaf01", "7")),
        (None, "MF0;leaf01:MQM9700/U1", 7, ("leaf01", "7")),
        ("0xb1", "Quantum Mellanox Technologies", 7, ("spine01", "7")),
        ("0xb2", "spine01", 7, ("spine01 (0xb2)", "7")),
        (None, "storage01 mlx5_0", 1, ("storage01 mlx5_0", "1")),
    ],
)
def test_who_is_who(guid, description, port, expected):
    plan = plan_of()
    plan.nodes["spine01"].values["pod_node_guid"] = "0x00000000000000b1"
    own = envelope(ibstat=[{"node_guid": "0xc4", "port_guid": "0xc5", "device": "mlx5_0"}])
    assert FabricNames(plan, {"gpu02": own}).end(guid, description, port) == expected


def test_two_switches_of_one_name_are_no_answer():
    twice = [*links(), link("leaf01", 0xA2, 1, "gpu09 mlx5_0", 0xD0, 1)]
    result = spread(plan_of(), gpu01=envelope(fabric_links=twice))
    assert not result["leaf01"]["answered"]
    assert result["leaf01"]["words"] == "several switches of the fabric are called so (0x00000000000000a1, 0x00000000000000a2); set pod_node_guid"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"pod_fabric_reader": ["gpu09"]}, "argument 'pod_fabric_reader' must name GPU hosts, not 'gpu09'"),
        ({"pod_fabric_reader": ["leaf01"]}, "argument 'pod_fabric_reader' must name GPU hosts, not 'leaf01'"),
        ({"pod_fabric_reader": ["gpu01:"]}, "argument 'pod_fabric_reader' must be host or host:device, not 'gpu01:'"),
        ({"pod_node_guid": "0x12"}, "argument 'pod_node_guid' of gpu01 must be 16 hexadecimal digits, not '0x12'"),
        ({"pod_node_guid": "0x2c5eab0300b87b40"}, "argument 'pod_node_guid' is 2c5eab0300b87b40 of gpu01, gpu02, leaf01 and 1 more"),
    ],
)
def test_wrong_readers_and_guids_are_named(values, words):
    plan = plan_of(**values)
    assert words in _readers(plan, plan.nodes["gpu01"].values)


def test_a_leaf_knows_the_spines_of_its_plane():
    assert plan_of().planned("leaf01")["pod_plane_spines"] == ["spine01"]
    assert plan_of().planned("spine01")["pod_plane_spines"] == []


def test_what_ibdiagnet_has_of_ports_and_switches_is_theirs():
    tables = {
        "fabric_bit_errors": [{"via": "mlx5_0", "guid": f"0x{LEAF:x}", "port": 33, "pre_fec_ber": 3e-9}],
        "fabric_routing": [{"via": "mlx5_0", "guid": f"0x{SPINE:x}", "enabled": False}],
    }
    result = spread(plan_of(pod_fabric_reader=["gpu01"]), gpu01=envelope(fabric_links=links(), **tables))
    assert {port: row["pre_fec_ber"] for port, row in rows(result, "leaf01", "link_bit_errors").items()} == {"1": None, "2": None, "33": 3e-9}
    assert result["spine01"]["readings"]["adaptive_routing"]["rows"] == [{"enabled": False}]
    assert result["leaf01"]["readings"]["adaptive_routing"]["rows"] == [{"enabled": None}]
    assert "module_temperatures" not in result["leaf01"]["readings"]


@pytest.mark.parametrize(("status", "words"), [("not_applicable", "ibdiagnet is not installed"), ("unknown", "ibdiagnet took too long")])
def test_a_reader_without_ibdiagnet_lacks_nothing_and_one_that_fails_is_unknown(status, words):
    given = envelope(fabric_links=links())
    given["readings"]["fabric_bit_errors"] = {"status": status, "words": words, "rows": [], "evidence": None}
    output = spread(plan_of(pod_fabric_reader=["gpu01"]), gpu01=given)["leaf01"]["readings"]["link_bit_errors"]
    assert output["status"] == status and words in output["words"]
