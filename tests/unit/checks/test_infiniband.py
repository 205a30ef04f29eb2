# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of InfiniBand links, managers and trees, by plain calls."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives import transport
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.congestion import infiniband as congestion
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.links import infiniband as links
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.links import infiniband_modules as modules
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.routing import capacity
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.routing import infiniband as routing

SPINES = ["spine01", "spine02"]


def summary(findings):
    return [(str(one), one.severity) for one in findings]


def cable(port, peer, peer_port, role="host"):
    return {"port": port, "peer": peer, "peer_port": peer_port, "peer_role": role, "medium": "optic", "length_m": 10.0}


CABLES = [cable("1", "gpu01", "mlx5_0"), cable("33", "spine01", "1", "spine"), cable("34", "spine02", "1", "spine")]


def counters(port="1", saturated=(), **values):
    return {"port": port, "peer": None, "saturated": list(saturated), "rx_remote_errors": 0, "tx_waits": 0, **dict.fromkeys(links.JUDGED, 0), **values}


def neighbor(port, peer, peer_port, role="host"):
    return {"port": port, "neighbor": peer, "neighbor_port": peer_port, "neighbor_role": role, "width": "4x", "speed": "NDR"}


NEIGHBORS = [neighbor(one["port"], one["peer"], one["peer_port"], one["peer_role"]) for one in CABLES]
WANTED = "1: expected no growth of errors on the link to gpu01 mlx5_0, got "


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({}, {}, []),
        ({"symbol_errors": 7}, {"symbol_errors": 7}, []),
        ({}, {"symbol_errors": 3, "link_downs": 1}, [(WANTED + "symbol_errors +3, link_downs +1", None)]),
        ({}, {"tx_discards": 5}, [(WANTED + "tx_discards +5", None)]),
        ({}, {"rx_remote_errors": 9}, [(WANTED + "rx_remote_errors +9", None)]),
        ({"rx_errors": 7}, {"rx_errors": 2}, [(WANTED + "counters were reset (rx_errors)", "unknown")]),
    ],
)
def test_errors_are_judged_by_their_growth(before, now, expected):
    assert summary(links.ib_errors_clean([counters(**now)], [counters(**before)], CABLES[:1])) == expected


@pytest.mark.parametrize(
    ("second", "gbit_s", "peer", "named"),
    [("34", 400, "spine02", True), ("34", 200, "spine02", False), ("35", 400, "spine02", False), ("34", 400, "spine01", False)],
)
def test_errors_at_both_ports_of_a_cage_are_of_its_module(second, gbit_s, peer, named):
    cables = [CABLES[1], cable(second, peer, "2", "spine")]
    then, now = ([counters("33", symbol_errors=number), counters(second, rx_errors=number)] for number in (0, 5))
    found = list(links.ib_errors_clean(now, then, cables, pod_link_gbit_s=gbit_s, pod_role="leaf"))
    assert ["module with two ports" in (one.cause or "") for one in found] == [named, named]


@pytest.mark.parametrize(
    ("elsewhere", "judged"), [({}, True), ({"tx_discards": 4}, True), ({"symbol_errors": 4}, False), ({"saturated": ["PortRcvErrors"]}, False)]
)
def test_packets_marked_bad_are_a_finding_where_no_link_damaged_them(elsewhere, judged):
    now, before = {"leaf01": [counters(rx_remote_errors=9)], "leaf02": [counters(**elsewhere)]}, {"leaf01": [counters()], "leaf02": [counters()]}
    found = list(links.ib_errors_clean(now["leaf01"], before["leaf01"], CABLES[:1], now, before))
    assert summary(found) == [(WANTED + "rx_remote_errors +9", None)] * judged
    assert all("gpu01 or a switch before it" in one.cause for one in found)


def test_a_counter_that_stopped_tells_nothing():
    full = counters(symbol_errors=65535, saturated=["SymbolErrorCounter"])
    found = summary(links.ib_errors_clean([full], [full], CABLES[:1]))
    assert found == [(WANTED + "saturated counters, to be cleared: SymbolErrorCounter", "unknown")]
    found = summary(links.ib_errors_clean([full], [counters(symbol_errors=65000)], CABLES[:1]))
    assert [severity for _words, severity in found] == ["unknown", None]


INCASTS = [{"round": 1, "port": port, "role": role} for port, role in (("1", "receiver"), ("33", "idle"), ("34", "uplink"))]


def loaded(**by_port):
    """The counters of every cable's port before a load and after it, by what grew."""
    was = [counters(cable["port"], tx_waits=5) for cable in CABLES]
    now = [{**row, **{name: row.get(name, 0) + more for name, more in by_port.get(f"p{row['port']}", {}).items()}} for row in was]
    return was, now


def test_a_switch_port_that_discards_under_load():
    expected = "1: expected no packet discarded on the way to gpu01 mlx5_0, got "
    was, now = loaded(p1={"tx_discards": 7, "tx_waits": 90})
    assert summary(congestion.switch_discards(was, now, INCASTS, "", CABLES)) == [(expected + "7, and it waited for 90 ticks", None)]
    assert summary(congestion.switch_discards(was, was, INCASTS, "", CABLES)) == []
    now[0]["saturated"] = ["PortXmitWait"]
    assert summary(congestion.switch_discards(was, now, INCASTS, "", CABLES)) == [(expected + "7, and PortXmitWait is saturated", None)]
    now[0]["saturated"] = ["PortXmitDiscards"]
    assert [severity for _words, severity in summary(congestion.switch_discards(was, now, INCASTS, "", CABLES))] == ["unknown"]
    assert [severity for _words, severity in summary(congestion.switch_discards(was, now[1:], INCASTS, "", CABLES))] == ["unknown"]
    now[0]["saturated"] = []
    for wrong in ((was, now, [], "", CABLES), (now, was, INCASTS, "", CABLES), (was, now, INCASTS, "", [])):
        with pytest.raises(CannotTell):
            list(congestion.switch_discards(*wrong))


def test_who_waits_outside_of_the_load():
    def found(**by_port):
        was, now = loaded(**by_port)
        return summary(congestion.waits_stay_local(was, now, INCASTS, "", CABLES))

    assert found(p1={"tx_waits": 90}, p33={"tx_waits": 90}) == []
    words = "33: expected at most 90 ticks of waiting, as ports under load, got 91 ticks"
    assert found(p1={"tx_waits": 90}, p33={"tx_waits": 91}) == [(words, None)]
    with pytest.raises(NotApplicable, match="no port under load waited"):
        found(p33={"tx_waits": 91})


def test_a_saturated_wait_counter_leaves_only_its_own_port_unknown():
    cables = [*CABLES, cable("35", "spine03", "1", "spine")]

    def found(port, fifth=0, **by_port):
        was, now = loaded(**by_port)
        was, now = [*was, counters("35", tx_waits=5)], [*now, counters("35", tx_waits=5 + fifth)]
        next(row for row in now if row["port"] == port)["saturated"] = ["PortXmitWait"]
        return summary(congestion.waits_stay_local(was, now, INCASTS, "", cables))

    limit = "expected at most 90 ticks of waiting, as ports under load, got"
    both = found("33", fifth=91, p1={"tx_waits": 90})
    assert both == [(f"33: {limit} PortXmitWait is saturated", "unknown"), (f"35: {limit} 91 ticks", None)]
    (far,) = found("34", p1={"tx_waits": 90}, p33={"tx_waits": 91})
    assert far[1] == "unknown" and "and PortXmitWait of port 34, which carried load, is saturated" in far[0]
    assert found("34", p1={"tx_waits": 90}, p33={"tx_waits": 9}) == [], "it waits for less than a port whose time is known"


def test_a_port_without_counters_and_a_plan_without_cables_are_unknown():
    assert summary(links.ib_errors_clean([], [counters()], CABLES[:1])) == [(WANTED + "no counters of this port", "unknown")]
    with pytest.raises(CannotTell):
        list(links.ib_errors_clean([counters()], [counters()], []))


def quality(**values):
    optic = {"Cable Technology": "850 nm VCSEL", "Temperature [C]": "45 [-10..80]", "Rx Power Current [dBm]": "1.8,1.9,2.2,1.9 [-10.4..6]"}
    optic |= {"Tx Power Current [dBm]": "1.0,1.1,1.2,0.9 [-8.5..6]", **values}
    return [{"device": "mlx5_0", "section": "Module Info", "name": name, "value": value} for name, value in optic.items()]


RAILS = [{"device": "mlx5_0"}]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, []),
        ({"Temperature [C]": "84 [-10..80]"}, [("mlx5_0 Temperature [C]: expected -10 to 80, got 84", None)]),
        ({"Rx Power Current [dBm]": "1.8,-40,2.2,1.9 [-10.4..6]"}, [("mlx5_0 Rx Power Current [dBm]: expected -10.4 to 6, got -40", None)]),
        ({"Temperature [C]": "N/A"}, [("mlx5_0 Temperature [C]: expected a value and its limits, got N/A", "unknown")]),
        ({"Rx Power Current [dBm]": "-1.2 [0..0]"}, [("mlx5_0 Rx Power Current [dBm]: expected a value and its limits, got -1.2 [0..0]", "unknown")]),
        # A lane without a value, beside lanes that are right and one that is wrong.
        ({"Rx Power Current [dBm]": "2.3,- [-10.4..6]"}, [("mlx5_0 Rx Power Current [dBm]: expected -10.4 to 6 on every lane, got 2.3,-", "unknown")]),
        ({"Rx Power Current [dBm]": "2.3,,1.9 [-10.4..6]"}, [("mlx5_0 Rx Power Current [dBm]: expected -10.4 to 6 on every lane, got 2.3,,1.9", "unknown")]),
        ({"Rx Power Current [dBm]": "-40,N/A [-10.4..6]"}, [("mlx5_0 Rx Power Current [dBm]: expected -10.4 to 6, got -40", None)]),
        ({"Temperature [C]": "45 [....80]"}, [("mlx5_0 Temperature [C]: expected a value and its limits, got 45 [....80]", "unknown")]),
        ({"Temperature [C]": None}, [("mlx5_0 Temperature [C]: expected a value and its limits, got not reported by mlxlink", "unknown")]),
    ],
)
def test_modules_keep_their_own_limits(values, expected):
    assert found_of_modules(**values) == expected


def found_of_modules(site=(), **values):
    return summary(modules.ib_modules(quality(**values), RAILS, list(site), 3, 70, 80))


RECEIVED, SENT, CURRENT = "Rx Power Current [dBm]", "Tx Power Current [dBm]", "Bias Current [mA]"


def test_modules_keep_the_limits_of_the_site_and_their_lanes_are_alike():
    assert found_of_modules(site=(-3, 4)) == []
    assert found_of_modules(site=(2, 4)) == [(f"mlx5_0 {RECEIVED}: expected 2 to 4 (site limits), got 1.8, 1.9, 1.9", None)]
    assert found_of_modules(**{RECEIVED: "1.8,-1.3,2.2,1.9 [-10.4..6]"}) == [(f"mlx5_0 {RECEIVED}: expected lanes within 3 dB, got 3.50 dB apart", "warn")]
    # A dark lane is no weaker one.
    assert found_of_modules(site=(-3, 4), **{RECEIVED: "1.8,-40,2.2,1.9 [-10.4..6]"}) == [(f"mlx5_0 {RECEIVED}: expected -10.4 to 6, got -40", None)]
    assert found_of_modules(**{"Temperature [C]": "69.9 [-10..80]"}) == []
    assert found_of_modules(**{"Temperature [C]": "70 [-10..80]"}) == [("mlx5_0 Temperature [C]: expected below 70 (80: fail), got 70", "warn")]
    assert found_of_modules(**{"Temperature [C]": "80 [-10..90]"}) == [("mlx5_0 Temperature [C]: expected below 70 (80: fail), got 80", None)]


def test_lasers_keep_the_limits_of_their_current():
    assert found_of_modules(**{CURRENT: "7.5,8.1,7.9,7.5 [3..13]"}) == []
    (found,) = modules.ib_modules(quality(**{CURRENT: "7.5,14.2,7.9,7.5 [3..13]"}), RAILS, [], 3, 70, 80)
    assert (str(found), found.severity) == (f"mlx5_0 {CURRENT}: expected 3 to 13, got 14.2", None)
    assert "it ages" in found.cause and "replace the module" in found.fix
    low = {CURRENT: "7.5,0.2,7.9,7.5 [3..13]"}
    assert found_of_modules(**low) == [(f"mlx5_0 {CURRENT}: expected 3 to 13, got 0.2", None)]
    assert found_of_modules(**{CURRENT: "7.5,- [3..13]"}) == [(f"mlx5_0 {CURRENT}: expected 3 to 13 on every lane, got 7.5,-", "unknown")]
    # A laser that is switched off, modules without limits, and tools that do not report it.
    assert found_of_modules(**low, **{SENT: "1.0,-40,1.2,0.9 [-40..6]"}) == []
    assert found_of_modules(**{CURRENT: "0,0,0,0 [0..0]"}) == found_of_modules(**{CURRENT: "N/A"}) == found_of_modules() == []
    assert found_of_modules(**{CURRENT: None}) == [(f"mlx5_0 {CURRENT}: expected a value and its limits, got no value in what mlxlink prints", "unknown")]


def test_copper_has_no_light_and_a_host_has_rails():
    copper = quality(**{"Cable Technology": "Copper cable, passive, unequalized", "Rx Power Current [dBm]": "0,0,0,0 [0..0]"})
    with pytest.raises(NotApplicable):
        list(modules.ib_modules(copper, RAILS, [], 3, 70, 80))
    with pytest.raises(CannotTell):
        list(modules.ib_modules(copper, [], [], 3, 70, 80))


def test_stages_of_ibdiagnet():
    rows = [{"stage": "Discovery", "warnings": 3, "errors": 0}, {"stage": "Routing", "warnings": 0, "errors": 2}]
    assert summary(links.fabric_diagnosed(rows)) == [("Routing: expected no error, got 2 errors and 0 warnings", None)]


def test_a_stage_of_ibdiagnet_says_what_its_errors_come_from():
    def cause(stage):
        return next(iter(links.fabric_diagnosed([{"stage": stage, "warnings": 0, "errors": 1}]))).cause

    for stage, word in (("Routing", "credit loop"), ("Bad GUIDs/LIDs Check", "one LID"), ("Partition Keys", "partitions"), ("Subnet Manager", "master")):
        assert word in cause(stage), stage
    assert cause("Link State Active Check") is None


def manager(state="master", guid="0x1"):
    return {"lid": 1, "guid": guid, "activity": 7, "priority": 14, "state": state}


@pytest.mark.parametrize(
    ("answers", "known", "standbys", "expected"),
    [
        ([manager()], [manager()], 0, []),
        ([manager()], [manager(), manager("standby", "0x2")], 1, []),
        ([], [], 1, [("subnet manager: expected one master, got no response", None)]),
        ([manager("standby")], None, 1, [("subnet manager: expected one master, got 0x1 is standby", None)]),
        ([manager()], [manager()], 1, [("standby subnet managers: expected at least 1, got 0", "warn")]),
        ([manager()], [manager(), manager(guid="0x2")], 0, [("subnet manager: expected one master, got 0x1, 0x2", None)]),
        ([manager(guid="0x1")], [manager(guid="0x0000000000000001")], 0, []),
        # Listed twice, or as the master and as a standby that it was, one manager is one.
        (
            [manager()], [manager(), manager("standby", "0x2"), manager("standby", "0x0002")], 2,
            [("standby subnet managers: expected at least 2, got 1", "warn")],
        ),
        ([manager()], [manager(), manager("standby", "0x01")], 1, [("standby subnet managers: expected at least 1, got 0", "warn")]),
        ([manager()], None, 0, [("subnet manager: expected one master and its standbys, got not reported by subnet administration", "unknown")]),
    ],
)  # fmt: skip
def test_one_master_and_its_standbys(answers, known, standbys, expected):
    assert summary(routing.subnet_manager_up(answers, standbys, known)) == expected


def test_topology_names_both_ends():
    rails = [cable("mlx5_0", "leaf01", "1", "leaf"), cable("mlx5_1", "leaf02", "1", "leaf")]
    result = [neighbor("mlx5_0", "leaf01", "1", "leaf"), neighbor("mlx5_1", "leaf02", "1", "leaf")]
    assert summary(routing.topology_as_planned(result, rails, "host")) == []
    missing = summary(routing.topology_as_planned(result[1:], rails, "host"))
    assert missing == [("mlx5_0: expected a link to leaf01 1, got none (1 of 2 links to switches)", None)]
    moved = [neighbor("mlx5_0", "leaf02", "9", "leaf"), result[1]]
    assert summary(routing.topology_as_planned(moved, rails, "host")) == [("mlx5_0: expected a link to leaf01 1, got one to leaf02 9", None)]


def test_a_switch_answers_for_its_links_to_switches():
    assert summary(routing.topology_as_planned(NEIGHBORS, CABLES, "leaf")) == []
    assert summary(routing.topology_as_planned(NEIGHBORS[1:], CABLES, "leaf")) == [], "the host answers for its own"
    assert summary(routing.topology_as_planned(NEIGHBORS[:2], CABLES, "leaf")) == [
        ("34: expected a link to spine02 1, got none (1 of 2 links to switches)", None)
    ]
    extra = [*NEIGHBORS, neighbor("50", "leaf09", "50", "leaf"), neighbor("51", "storage01 mlx5_0", "1", None)]
    assert summary(routing.topology_as_planned(extra, CABLES, "leaf")) == [
        ("50: expected no unplanned cable between switches of the pod, got one to leaf09 50", "warn")
    ]
    with pytest.raises(CannotTell):
        list(routing.topology_as_planned(NEIGHBORS, [], "leaf"))


def test_a_tree_is_whole_and_even():
    assert summary(routing.tree_complete(NEIGHBORS, "leaf", "rail_optimised", SPINES)) == []
    assert summary(routing.tree_complete(NEIGHBORS[:2], "leaf", "rail_optimised", SPINES)) == [
        ("links to spine02: expected 1, as to other spines, got 0", None)
    ]
    assert len(summary(routing.tree_complete([], "leaf", "rail_optimised", SPINES))) == 2
    for role, topology, above in (("spine", "rail_optimised", []), ("leaf", "rail_only", SPINES)):
        with pytest.raises(NotApplicable):
            list(routing.tree_complete(NEIGHBORS, role, topology, above))
    of_spine = [
        {**row, "neighbor": row["neighbor"].replace("spine", "top"), "neighbor_role": row["neighbor_role"].replace("spine", "super_spine")} for row in NEIGHBORS
    ]
    assert summary(routing.tree_complete(of_spine, "spine", "rail_optimised", ["top01", "top02"])) == []
    assert summary(routing.tree_complete(of_spine[:2], "spine", "rail_optimised", ["top01", "top02"])) == [
        ("links to top02: expected 1, as to other super-spines, got 0", None)
    ]


def test_oversubscription_counts_the_links_that_are_there():
    planned = [cable(str(number), f"gpu{number:02}", "mlx5_0") for number in (1, 2)] + CABLES[1:]
    result = [neighbor("33", "spine01", "1", "spine"), neighbor("34", "spine02", "1", "spine")]
    assert summary(capacity.oversubscription("leaf", "rail_optimised", planned, 400.0, 1, 2, result)) == []
    assert summary(capacity.oversubscription("leaf", "rail_optimised", planned, 400.0, 1, 2, result[:1])) == [
        ("uplinks: expected at most 1:1, got 2:1 (2 host ports, 1 uplinks)", "warn")
    ]
    assert summary(capacity.oversubscription("leaf", "rail_optimised", planned, 400.0, 1, 2, [])) == [
        ("uplinks: expected at least one, got none in the fabric", None)
    ]


JOBS = [{"item": "all", "hosts": ["gpu01", "gpu02"]}, {"item": "alone", "hosts": ["gpu01"]}]
CONNECTED = {"item": "all", "event": "sharp", "text": None}
REFUSED = {"item": "all", "event": "warning", "text": "Cannot initialize CollNet, using point-to-point network instead"}
OTHER = {"item": "all", "event": "network", "text": None}


@pytest.mark.parametrize(
    ("wanted", "log", "expected"),
    [
        (True, [OTHER, CONNECTED], []),
        (True, [OTHER], [("SHARP: expected channels over CollNet, got none in NCCL's log", None)]),
        (True, [OTHER, CONNECTED, REFUSED], [(f"SHARP: expected channels over CollNet, got {REFUSED['text']}", None)]),
        (True, [OTHER, {**CONNECTED, "item": "alone"}], [("SHARP: expected channels over CollNet, got none in NCCL's log", None)]),
        (False, [CONNECTED], [("SHARP: expected none, as pod_sharp is false, got channels over CollNet: the rates are those of another algorithm", "warn")]),
    ],
)
def test_sharp_is_used_where_it_is_wanted_and_only_there(wanted, log, expected):
    assert summary(transport.sharp_used(log, JOBS, wanted, "gpu01")) == expected


def test_the_host_whose_own_port_sharp_refuses_turns_it_off_for_the_others():
    text = "device mlx5_0 port 1 is not valid (port is used by SM)"
    refused = [REFUSED, {"item": "all", "event": "sharp_error", "text": text}]
    (own,) = transport.sharp_used(refused, JOBS, True, "gpu02")
    assert (own.where.device, own.actual, own.began_at) == ("mlx5_0", text, None) and "subnet manager" in own.cause
    (other,) = transport.sharp_used([OTHER], JOBS, True, "gpu01", {"gpu01": [OTHER], "gpu02": refused})
    assert other.began_at == ("gpu02", "")
    # What is refused by a service for all of them begins at none of them.
    (other,) = transport.sharp_used([OTHER], JOBS, True, "gpu01", {"gpu01": [OTHER], "gpu02": [REFUSED]})
    assert other.began_at is None


def test_of_sharp_nothing_is_reported_where_nobody_wants_it_or_nothing_is_reported():
    with pytest.raises(NotApplicable, match="pod_sharp is false"):
        list(transport.sharp_used([OTHER], JOBS, False, "gpu01"))
    with pytest.raises(NotApplicable, match="no run had several hosts"):
        list(transport.sharp_used([CONNECTED], JOBS[1:], True, "gpu01"))
    with pytest.raises(CannotTell):
        list(transport.sharp_used([], JOBS, True, "gpu01"))


def up(*ports):
    return [{"port": port, "state": "connected"} for port in ports]


def rates(**by_port):
    return [{"port": name[1:], "pre_fec_ber": value} for name, value in by_port.items()]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"p1": 1e-6, "p33": 3e-9, "p34": 1.5e-254}, []),
        ({"p1": 1e-9, "p33": 2e-6, "p34": 1e-9}, [("33: expected at most 1e-06 before FEC on the link to spine01 1, got 2e-06", "warn")]),
        ({"p1": 1e-9, "p33": 2.5e-4, "p34": 1e-9}, [("33: expected at most 1e-06 before FEC on the link to spine01 1, got 0.00025", None)]),
        ({"p1": 1e-9, "p33": None}, [(f"{port}: expected at most 1e-06 before FEC on the link to {peer}, got not reported", "unknown")
                                     for port, peer in (("33", "spine01 1"), ("34", "spine02 1"))]),
    ],
)  # fmt: skip
def test_bit_error_rates_of_a_switch(values, expected):
    assert summary(links.ib_bit_error_rate(rates(**values), up("1", "33", "34"), CABLES, 1e-6, 2.4e-4)) == expected


def test_a_port_without_a_link_has_no_bit_error_rate():
    assert summary(links.ib_bit_error_rate(rates(p1=1e-9, p34=1e-9), up("1", "34"), CABLES, 1e-6, 2.4e-4)) == []
    with pytest.raises(NotApplicable):
        list(links.ib_bit_error_rate(rates(p33=1e-3), up("1", "34"), CABLES, 1e-6, 2.4e-4))


def test_modules_of_a_switch():
    def of(*celsius):
        rows = [{"port": one["port"], "temperature_c": value} for one, value in zip(CABLES, celsius)]
        return summary(links.ib_module_temperature(rows, up("1", "33"), [{**CABLES[0], "medium": "dac"}, *CABLES[1:]], 70, 80))

    expected = "33 temperature: expected below 70 degrees C (80: fail), got "
    assert of(None, 69.9, None) == []
    assert of(None, 70, None) == [(expected + "70 degrees C", "warn")]
    assert of(None, 80, None) == [(expected + "80 degrees C", None)]
    with pytest.raises(NotApplicable):
        of(40, None, 41)


def test_a_module_of_which_no_temperature_is_reported_beside_others():
    rows = [{"port": "33", "temperature_c": 41.0}]
    found = summary(links.ib_module_temperature(rows, up("1", "33"), CABLES, 70, 80))
    assert found == [("1 temperature: expected below 70 degrees C (80: fail), got not reported", "unknown")]


@pytest.mark.parametrize(
    ("own", "others", "planned", "expected"),
    [
        (True, [True, True], True, []),
        (False, [False, False], False, []),
        (False, [True, False], False, []),
        (False, [True, True], False, [("on, as on 2 of 3 switches, got off", "warn")]),
        (False, [True, True], True, [("on, as on 2 of 3 switches, got off", None)]),
        (False, [False, False], True, [("on, as planned (pod_adaptive_routing), got off", None)]),
        (None, [True, True], False, [("on, as on 2 of 2 switches, got not reported: ibdiagnet does not name this switch among those that can", "warn")]),
        (None, [True, True], True, [("on, as on 2 of 2 switches, got not reported: ibdiagnet does not name this switch among those that can", "unknown")]),
    ],
)
def test_adaptive_routing_of_a_switch(own, others, planned, expected):
    peers = {str(number): [{"enabled": one}] for number, one in enumerate([own, *others])}
    found = summary(routing.adaptive_routing_on([{"enabled": own}], peers, planned))
    assert found == [(f"adaptive routing: expected {words}", severity) for words, severity in expected]


def test_switches_of_which_none_can_route_adaptively():
    with pytest.raises(NotApplicable):
        list(routing.adaptive_routing_on([{"enabled": None}], {"a": [{"enabled": None}], "b": []}, False))


def _of_receivers(**taken: list[float]) -> tuple[dict, dict]:
    """Tests of an incast and their rates: by receiver the rates of its senders."""
    jobs: dict = {}
    rates: dict = {}
    for number, (receiver, shares) in enumerate(taken.items(), 1):
        for place, gbit_s in enumerate(shares):
            row = {"kind": "incast", "role": "client", "status": "ok", "device": "mlx5_0", "peer": receiver, "peer_device": "mlx5_0", "round": number}
            sender, item = f"sender{place}", f"to {receiver}"
            jobs.setdefault(sender, []).append({**row, "item": item})
            rates.setdefault(sender, []).append({"item": item, "gbit_s": gbit_s})
    return jobs, rates


@pytest.mark.parametrize(
    ("taken", "found"),
    [
        ({"a": [190.0, 190.0], "b": [190.0, 190.0], "c": [50.0, 50.0]}, [("c", None, None)]),
        ({"a": [190.0, 190.0], "b": [190.0, 190.0], "c": [330.0, 20.0]}, []),
        # Where most take less it is nobody's alone.
        ({"a": [50.0, 50.0], "b": [50.0, 50.0], "c": [190.0, 190.0]}, [("a", "warn", None), ("b", "warn", None)]),
        # Of one sender it may be the sender.
        ({"a": [380.0], "b": [380.0], "c": [90.0]}, [("c", "warn", congestion.ONE_SENDER)]),
    ],
)
def test_a_receiver_that_takes_less_than_its_link_brings(taken, found) -> None:
    findings = congestion.receivers_fill_links(*_of_receivers(**taken), 400, 80)
    assert [(one.host, one.severity, one.cause) for one in findings] == found
