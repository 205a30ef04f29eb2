# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of ports, cables and optics, by plain calls."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, Finding, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.links import behind_leaf, errors, lost_links, optics, optics_health, ports


def summary(findings):
    return [(str(one), one.severity) for one in findings]


def unknown(findings):
    """Whether there are findings, and all of them unknown."""
    severities = [one.severity for one in findings]
    return bool(severities) and set(severities) == {"unknown"}


def cable(number=1, peer=None, peer_port="ens1np0", medium="optic", length_m=30.0, role="host"):
    return {"port": f"Ethernet{number}/1", "peer": peer or f"gpu{number:02}", "peer_port": peer_port, "peer_role": role, "medium": medium, "length_m": length_m}


CABLES = [cable(1), cable(2)]
FIRST = CABLES[:1]


def status(number=1, state="connected", speed=400.0, reason=None):
    return {"port": f"Et{number}/1", "state": state, "speed_gbit_s": speed, "media": None, "reason": reason}


# A spare port that is down on purpose is on no planned cable.
UP = [status(1), status(2), status(3, "disabled", None)]


def test_ports_present():
    assert summary(ports.ports_present(UP, CABLES)) == []
    assert summary(ports.ports_present(UP[:1], CABLES)) == [("Ethernet2/1: expected a port (to gpu02 ens1np0), got no such port", None)]
    with pytest.raises(CannotTell):
        list(ports.ports_present(UP, []))


@pytest.mark.parametrize(
    ("row", "words", "severity"),
    [
        (status(speed=100.0), "connected at 100 Gb/s", None),
        (status(speed=800.0), "connected at 800 Gb/s", None),
        (status(state="notconnect", speed=None), "notconnect", None),
        (status(state="notconnect", speed=None, reason="No cable"), "notconnect (No cable)", None),
        (status(speed=None), "connected, speed not reported", "unknown"),
        (status(9), "no such port", None),
    ],
)
def test_port_speed(row, words, severity):
    assert summary(ports.port_speed([row], {}, FIRST, 400.0, "roce")) == [(f"Ethernet1/1: expected connected at 400 Gb/s, got {words}", severity)]


@pytest.mark.parametrize(
    ("media", "far", "cause"),
    [
        ("400GBASE-DR4", 200.0, "are set so on the switch port"),
        (None, 200.0, "are set so on the switch port"),
        ("200GBASE-CR4", 200.0, "made for a lower rate"),
        ("400GBASE-DR4", 400.0, "The ends report different rates: gpu01 ens1np0 reports 400 Gb/s"),
        ("400GBASE-DR4", None, None),
    ],
)
def test_both_ends_at_a_lower_rate_are_a_setting_unless_the_module_is_small(media, far, cause):
    there = {"gpu01": [{"port": "ens1np0", "state": "connected", "speed_gbit_s": far, "media": None, "reason": None}]} if far else {}
    (found,) = ports.port_speed([status(speed=200.0) | {"media": media}], there, FIRST, 400.0, "roce")
    assert (found.cause or "").count(cause or "") >= 1 if cause else found.cause is None
    assert ("and so does gpu01 ens1np0" in found.actual) == (far == 200.0)


@pytest.mark.parametrize(
    ("state", "reason", "cause", "fix"),
    [
        ("disabled", None, "administratively shut", "Enable the port Ethernet1/1 (no shutdown"),
        ("errdisabled", "link-flap", "disabled the port after errors (link-flap)", "what the reason names"),
        ("absent", None, "No optic or cable", "Seat the planned optic or cable in Ethernet1/1"),
        ("notconnect", None, "the port at the far end (gpu01 ens1np0) is shut", "See whether gpu01 ens1np0 is enabled"),
        ("suspended", None, None, None),
    ],
)
def test_the_state_of_a_port_that_is_not_connected_gives_the_cause(state, reason, cause, fix):
    (found,) = ports.port_speed([status(state=state, speed=None, reason=reason)], {}, FIRST, 400.0, "roce")
    assert (cause is None) == (found.cause is None) == (found.fix is None)
    assert cause is None or (cause in found.cause and fix in found.fix)


def of_lanes(*lanes, speeds=(100.0, 400.0, 400.0)):
    """Ports of a switch with so many lanes each, of which the first is slow; None: not reported."""
    numbers = [",".join(map(str, range(one))) if one else None for one in lanes]
    return [{**status(number, speed=speed), "lanes": one} for number, (one, speed) in enumerate(zip(numbers, speeds), 1)]


def slow_ends(rows):
    """The findings at both ends of a slow cable between leaf05 Ethernet1/1 and gpu01 ens1np0, by where they began and by their causes."""
    host = [{**status(speed=100.0), "port": "ens1np0"}]
    of_peers, far = {"leaf05": rows, "gpu01": host}, [{**FIRST[0], "port": "ens1np0", "peer": "leaf05", "peer_port": "Ethernet1/1"}]
    ends = [("leaf05", rows, FIRST), ("gpu01", host, far)]
    return [one for node, own, cables in ends for one in ports.port_speed(own, of_peers, cables, 400.0, "roce", node)]


def test_a_port_that_kept_the_lanes_of_another_breakout_mode_is_named_for_both_ends():
    leaf, host = slow_ends(of_lanes(2, 8, 8))
    assert (leaf.began_at, host.began_at) == (None, ("leaf05", "Ethernet1/1"))
    assert leaf.cause == host.cause and "leaf05 Ethernet1/1 has 2 lanes, and its other ports of 400 Gb/s have 8 lanes" in leaf.cause


@pytest.mark.parametrize("lanes", [(8, 8, 8), (None, 8, 8), (2, None, None), (8, 4, 4)])
def test_lanes_that_are_not_fewer_or_not_reported_say_nothing(lanes):
    assert [(one.began_at, "breakout mode" in one.cause) for one in slow_ends(of_lanes(*lanes))] == [(None, False)] * 2


def test_port_speed_of_a_good_pod_and_of_no_plan():
    assert summary(ports.port_speed(UP, {}, CABLES, 400.0, "roce")) == []
    with pytest.raises(CannotTell, match="the wiring plan has no cable"):
        list(ports.port_speed(UP, {}, [], 400.0, "roce"))


def test_a_cable_has_its_own_speed_where_the_plan_gives_it_one():
    """Switches of 800 Gb/s meet at that, and split their ports for hosts."""
    uplink = cable(1, "spine01", "Ethernet8", role="spine") | {"gbit_s": 800.0}
    assert summary(ports.port_speed([status(speed=800.0)], {}, [uplink], 400.0, "roce")) == []
    assert summary(ports.port_speed([status(speed=400.0)], {}, [uplink], 400.0, "roce")) == [
        ("Ethernet1/1: expected connected at 800 Gb/s, got connected at 400 Gb/s", None)
    ]


def lldp(number, neighbor, port="ens1np0"):
    return {"port": f"Et{number}/1", "neighbor": neighbor, "neighbor_port": port}


def host(mac):
    return [{"netdev": "ens1np0", "mac": mac, "mtu": 9000, "state": "UP", "parent_pci": None}]


PEERS = {"gpu01": host("0c:42:a1:00:00:01"), "gpu02": host("0c:42:a1:00:00:02")}


def cabling(neighbors=None, macs=None, cables=tuple(CABLES), peers=None, up=tuple(UP)):
    return list(ports.cabling_as_planned(up, PEERS, peers or {}, cables, "leaf01", neighbors, macs))


def test_cabling_by_lldp():
    assert cabling([lldp(1, "gpu01.example.org"), lldp(2, "GPU02")]) == []
    # The agent in a NIC's firmware has no name.
    assert cabling([lldp(1, "0c42.a100.0001", "0c42.a100.0001"), lldp(2, "gpu02", "0c:42:a1:00:00:02")]) == []
    assert summary(cabling([lldp(1, "gpu01"), lldp(2, "gpu07")])) == [("Ethernet2/1: expected gpu02 ens1np0, got gpu07 ens1np0", None)]
    assert summary(cabling([lldp(1, "gpu01", "ens2np0")], cables=FIRST)) == [("Ethernet1/1: expected gpu01 ens1np0, got gpu01 ens2np0", None)]


def test_swapped_cables_name_each_other():
    assert [str(one) for one in cabling([lldp(1, "gpu02"), lldp(2, "gpu01")])] == [
        "Ethernet1/1: expected gpu01 ens1np0, got gpu02 ens1np0, planned on Ethernet2/1",
        "Ethernet2/1: expected gpu02 ens1np0, got gpu01 ens1np0, planned on Ethernet1/1",
    ]


def test_cabling_by_mac_addresses():
    macs = [{"mac": "0c42.a100.0001", "port": "Et1/1", "vlan": "10"}, {"mac": "0c42.a100.0002", "port": "Et2/1", "vlan": "10"}]
    assert cabling(macs=macs) == []
    assert len(cabling(macs=[{**macs[0], "port": "Et2/1"}, {**macs[1], "port": "Et1/1"}])) == 2


def test_cabling_by_arp_tables():
    arp = [{"address": f"10.0.0.{n}", "mac": f"0c42.a100.000{n}", "interface": port} for n, port in ((1, "Ethernet1/1"), (2, "Ethernet2/1"), (1, "Vlan10"))]
    assert list(ports.cabling_as_planned(UP, PEERS, {}, CABLES, "leaf01", None, None, arp)) == []
    swapped = [{**arp[0], "interface": "Ethernet2/1"}, {**arp[1], "interface": "Ethernet1/1"}]
    assert len(list(ports.cabling_as_planned(UP, PEERS, {}, CABLES, "leaf01", None, None, swapped))) == 2
    # Behind a VLAN's interface anybody may be.
    assert unknown(ports.cabling_as_planned(UP, PEERS, {}, CABLES, "leaf01", None, None, arp[2:]))


def test_cabling_that_nobody_tells():
    assert summary(cabling([lldp(1, "gpu01")])) == [("Ethernet2/1: expected gpu02 ens1np0, got not reported", "unknown")]
    with pytest.raises(CannotTell, match="no neighbor in LLDP, the MAC table"):
        cabling()
    with pytest.raises(CannotTell):
        cabling([], [])


def test_a_host_without_lldp_is_where_its_leaf_has_learned_it() -> None:
    near = [{**cable(1, "leaf01", "Ethernet7/1", role="leaf"), "port": "ens1np0"}]
    up = [{**status(), "port": "ens1np0"}]
    mac, nic = "0c:42:a1:00:00:01", {**host("0c:42:a1:00:00:01")[0], "netdev": "ens1np0", "parent_pci": "0000:18:00.0"}

    def of_host(learned: dict[str, str], answering: dict[str, str] | None = None, links: tuple[dict, ...] = (nic,)) -> list[Finding]:
        macs = {"leaf01": [{"mac": one, "port": port, "vlan": "10"} for port, one in learned.items()]}
        arp = {"leaf01": [{"address": "10.53.0.1", "mac": one, "interface": port} for port, one in (answering or {}).items()]}
        return list(ports.cabling_as_planned(up, {"gpu01": [*links]}, {}, near, "gpu01", None, None, None, macs, arp))

    assert of_host({"Et7/1": mac}) == of_host({}, {"Et7/1": mac}) == of_host({"Et7/1": mac}, {"Et7/1": mac}) == []
    # A VLAN upon the NIC has its address.
    assert of_host({"Et7/1": mac}, links=(nic, {**nic, "netdev": "ens1np0.10", "parent_pci": None})) == []
    for learned, answering, links in (
        ({"Et8/1": mac}, {}, (nic,)),
        # An entry that is older than the move of a cable.
        ({"Et8/1": mac}, {"Et7/1": mac}, (nic,)),
        ({"Et7/1": mac}, {"Et8/1": mac}, (nic,)),
        ({"Et7/1": "0c42.a100.0002"}, {}, (nic,)),
        ({"Et7/1": mac}, {}, ({**nic, "netdev": "ens2np0"},)),
        # The NICs of a bond share an address.
        ({"Et7/1": mac}, {}, (nic, {**nic, "netdev": "ens2np0"})),
    ):
        with pytest.raises(CannotTell, match="no neighbor in LLDP"):
            of_host(learned, answering, links)


def test_tables_that_disagree_prove_no_cable_and_lldp_is_newer_than_they_are() -> None:
    arp = [{"address": f"10.53.0.{n}", "mac": f"0c:42:a1:00:00:0{n}", "interface": f"Ethernet{n}/1"} for n in (1, 2)]
    moved = [{"mac": "0c42.a100.0001", "port": "Et2/1", "vlan": "10"}, {"mac": "0c42.a100.0002", "port": "Et1/1", "vlan": "10"}]
    found = list(ports.cabling_as_planned(UP, PEERS, {}, CABLES, "leaf01", None, moved, arp))
    assert unknown(found) and [str(one.where) for one in found] == ["Ethernet1/1", "Ethernet2/1"]
    assert list(ports.cabling_as_planned(UP, PEERS, {}, CABLES, "leaf01", [lldp(1, "gpu01"), lldp(2, "gpu02")], moved, arp)) == []


def test_a_peer_that_tells_an_alias_of_its_port_is_asked_back():
    uplink = [cable(1, "spine01", "Ethernet8", role="spine")]
    back = {"spine01": [{"port": "Ethernet8", "neighbor": "leaf01", "neighbor_port": "Ethernet1/1"}]}
    assert cabling([lldp(1, "spine01", "etp2")], cables=uplink, peers=back) == []
    assert len(cabling([lldp(1, "spine01", "etp2")], cables=uplink)) == 1
    assert len(cabling([lldp(1, "spine02", "etp2")], cables=uplink, peers=back)) == 1


def test_a_mac_address_is_that_of_the_nic_whoever_shares_it():
    """A bridge and a VLAN take the address of the NIC below them."""
    shared = [{**host("0c:42:a1:00:00:01")[0], "parent_pci": "0000:18:00.0"}, {**host("0c:42:a1:00:00:01")[0], "netdev": "br0"}]
    macs = [{"mac": "0c42.a100.0001", "port": "Et1/1", "vlan": "10"}]
    for rows in (shared, shared[::-1]):
        assert list(ports.cabling_as_planned(UP, {"gpu01": rows}, {}, FIRST, "leaf01", None, macs)) == []
        elsewhere = [{**macs[0], "port": "Et2/1"}]
        assert len(list(ports.cabling_as_planned(UP, {"gpu01": rows}, {}, CABLES[1:], "leaf01", None, elsewhere))) == 1


def test_a_neighbor_that_is_planned_elsewhere_is_not_outweighed_by_an_old_entry():
    """Tables keep an address for minutes after its cable was moved."""
    macs = [{"mac": "0c42.a100.0001", "port": "Et1/1", "vlan": "10"}, {"mac": "0c42.a100.0002", "port": "Et2/1", "vlan": "10"}]
    found = cabling([lldp(1, "gpu02"), lldp(2, "gpu01")], macs)
    assert unknown(found) and [str(one) for one in found] == [
        "Ethernet1/1: expected gpu01 ens1np0, got gpu02 ens1np0, planned on Ethernet2/1 and gpu01 ens1np0",
        "Ethernet2/1: expected gpu02 ens1np0, got gpu01 ens1np0, planned on Ethernet1/1 and gpu02 ens1np0",
    ]


def test_the_management_port_is_not_the_first_front_port():
    front = [cable(1) | {"port": "Ethernet0"}]
    up = [{**status(), "port": "Ethernet0"}]
    rows = [{"port": "eth0", "neighbor": "oob-switch", "neighbor_port": "Gi1/0/7"}]
    assert summary(cabling(rows, cables=front, up=up)) == [("Ethernet0: expected gpu01 ens1np0, got not reported", "unknown")]


def test_addresses_as_names_are_not_cut_at_their_dots():
    cables = [cable(1, "10.0.0.1")]
    assert cabling([lldp(1, "10.0.0.1")], cables=cables) == []
    assert len(cabling([lldp(1, "10.0.0.2")], cables=cables)) == 1


COUNTERS = ("fcs_errors", "alignment_errors", "symbol_errors", "stomped_crc", "runts", "giants", "rx_errors", "tx_errors", "rx_drops", "tx_drops")


def counted(**values):
    return [{"port": "Et1/1", **dict.fromkeys(COUNTERS, 0), **values}]


LIFETIME = counted(**dict.fromkeys(COUNTERS, 7846661))
SONIC = dict.fromkeys(("fcs_errors", "alignment_errors", "symbol_errors", "stomped_crc", "runts", "giants"))
NEITHER = {**SONIC, "rx_errors": None, "tx_errors": None}


def test_counters_that_do_not_grow_are_clean_however_large():
    for check in (errors.crc_clean, errors.errors_clean):
        assert summary(check(LIFETIME, LIFETIME, FIRST)) == []
        assert summary(check(counted(rx_drops=9), counted(), FIRST)) == []
        assert summary(check(counted(**SONIC), counted(**SONIC), FIRST)) == []


def test_growing_errors():
    assert summary(errors.crc_clean(counted(fcs_errors=5, symbol_errors=2), counted(fcs_errors=2), FIRST)) == [
        ("Ethernet1/1: expected no growth of CRC errors, got fcs_errors +3, symbol_errors +2", None)
    ]
    assert summary(errors.crc_clean(counted(**SONIC, rx_errors=3), counted(**SONIC), FIRST))[0][1] is None
    assert summary(errors.errors_clean(counted(giants=4), counted(), FIRST)) == [("Ethernet1/1: expected no growth of errors, got giants +4", None)]


def test_counters_that_cannot_be_compared_are_unknown():
    for check in (errors.crc_clean, errors.errors_clean):
        assert unknown(check([], counted(), FIRST))
        assert unknown(check(counted(), [], FIRST))
        assert unknown(check(counted(**NEITHER), counted(**NEITHER), FIRST))
        with pytest.raises(CannotTell):
            list(check(counted(), counted(), []))
    assert summary(errors.crc_clean(counted(), LIFETIME, FIRST))[0][0].startswith("Ethernet1/1: expected no growth of CRC errors, got counters were reset")
    assert unknown(errors.crc_clean(counted(), LIFETIME, FIRST))
    assert unknown(errors.crc_clean(counted(), counted(symbol_errors=None), FIRST))
    assert unknown(errors.crc_clean(counted(fcs_errors=None, rx_errors=None), counted(fcs_errors=None, rx_errors=None), FIRST))


UPLINK = (cable(1, "spine01", "Ethernet16", role="spine"),)


def at_spine(**damaged):
    """The counters of a spine now and before, with the FCS errors that its ports gained; its port-channel counts them again."""
    grown = {"Ethernet16": 0, "Ethernet24": 0, "Ethernet32": 0, **damaged}
    grown["Port-Channel1"] = sum(grown.values())
    rows = [{**counted(fcs_errors=number)[0], "port": port} for port, number in grown.items()]
    return {"spine01": rows}, {"spine01": [{**row, "fcs_errors": 0} for row in rows]}


def passed(now, cables=UPLINK, lost=0, check=errors.crc_clean, **damaged):
    codewords = () if check is errors.errors_clean else ([{"port": "Et1/1", "uncorrectable": lost}], [{"port": "Et1/1", "uncorrectable": 0}])
    return [(one.severity, one.judged, one.began_at) for one in check(counted(**now), counted(), cables, *codewords, *at_spine(**damaged))]


OWN, FROM_SPINE = [(None, False, None)], [("unknown", True, ("spine01", "Ethernet24"))]


def test_damaged_frames_that_the_switch_at_the_other_end_received_elsewhere_may_have_been_passed_on():
    assert passed({"fcs_errors": 5}, Ethernet24=6, Ethernet32=1) == FROM_SPINE
    assert passed({"fcs_errors": 7}, Ethernet24=6, Ethernet32=1) == FROM_SPINE
    # More than it received, or at this very cable, are of this link; so are errors of a link itself, and a host passes nothing on.
    assert passed({"fcs_errors": 8}, Ethernet24=6, Ethernet32=1) == OWN
    assert passed({"fcs_errors": 5}, Ethernet16=60) == OWN
    assert passed({"fcs_errors": 5, "symbol_errors": 1}, Ethernet24=60) == OWN
    assert passed({"fcs_errors": 5}, lost=1, Ethernet24=60) == OWN
    assert passed({"fcs_errors": 5}, [cable(1, "spine01", "Ethernet16")], Ethernet24=60) == OWN
    assert passed({"fcs_errors": 5}) == OWN


def test_frames_that_came_with_a_mark_are_not_of_this_link():
    assert passed({"stomped_crc": 5}, Ethernet24=1) == [(None, False, ("spine01", "Ethernet24"))]
    assert passed({"stomped_crc": 5}) == OWN
    (found,) = errors.crc_clean(counted(stomped_crc=5), counted(), UPLINK)
    assert "spine01" in found.cause and "not at fault" in found.cause
    assert passed({"stomped_crc": 5, "fcs_errors": 9}, Ethernet24=1) == OWN


def test_the_sum_of_received_errors_follows_the_damaged_frames_that_it_holds():
    assert passed({"fcs_errors": 5, "rx_errors": 5}, check=errors.errors_clean, Ethernet24=6) == FROM_SPINE
    assert passed({"fcs_errors": 5, "rx_errors": 6}, check=errors.errors_clean, Ethernet24=6) == OWN
    assert passed({"fcs_errors": 5, "rx_errors": 5, "giants": 1}, check=errors.errors_clean, Ethernet24=6) == OWN


LIMITS = {"rx_low_alarm_dbm": -10.0, "rx_low_warning_dbm": -8.0, "rx_high_warning_dbm": 3.0, "rx_high_alarm_dbm": 5.0}


def lane(power, number=1, media="400GBASE-DR4", **values):
    blank = dict.fromkeys(("temperature_c", "tx_power_dbm", "vendor", "part_number", "length_m", "media_lanes", *LIMITS))
    return {**blank, "port": "Et1/1", "lane": number, "present": True, "media": media, "rx_power_dbm": power, **values}


def light(*rows, cables=tuple(FIRST), site=()):
    return summary(optics.optic_rx_power(list(rows), cables, list(site), -6.0, 3.0, -8.0))


@pytest.mark.parametrize(
    ("rows", "site", "words", "severity"),
    [
        ([lane(-10.5, **LIMITS)], (), "Ethernet1/1 lane 1: expected -10 to 5 dBm (alarm limits), got -10.5 dBm", None),
        ([lane(-9.0, **LIMITS)], (), "Ethernet1/1 lane 1: expected -8 to 3 dBm (warning limits), got -9 dBm", "warn"),
        ([lane(6.0, **LIMITS)], (), "Ethernet1/1 lane 1: expected -10 to 5 dBm (alarm limits), got 6 dBm", None),
        ([lane(-7.5, **LIMITS)], (-7.0, -3.0), "Ethernet1/1 lane 1: expected -7 to -3 dBm (site limits), got -7.5 dBm", None),
        ([lane(-9.0)], (), "Ethernet1/1 lane 1: expected at least -6 dBm (the module has no limits), got -9 dBm", "warn"),
        ([lane(-40.0)], (), "Ethernet1/1 lane 1: expected at least -6 dBm (the module has no limits), got -40 dBm", None),
        ([lane(-1.0), lane(-4.5, 2)], (), "Ethernet1/1: expected lanes within 3 dB, got 3.50 dB apart", "warn"),
        ([lane(-1.0), lane(None, 2)], (), "Ethernet1/1 lane 2: expected received power, got not reported by the module", "unknown"),
        ([lane(None)], (), "Ethernet1/1: expected received power, got not reported by the module", "unknown"),
        ([], (), "Ethernet1/1: expected a transceiver, got not reported", "unknown"),
        ([lane(None, present=False)], (), "Ethernet1/1: expected a transceiver, got none is present", "unknown"),
    ],
)
def test_received_power(rows, site, words, severity):
    assert light(*rows, site=site) == [(words, severity)]


def test_a_lane_is_on_its_planned_port():
    # That port decides which gate groups the finding closes.
    found = list(optics.optic_rx_power([lane(-10.5, **LIMITS)], FIRST, [], -6.0, 3.0, -8.0))
    assert [one.where.port for one in found] == ["Ethernet1/1"]


def arriving(sent, *received):
    """Severity and origin of what arrives at leaf05 Et1/1, and severity of what its host's module sends, by the powers of the lanes at both ends."""
    here = [lane(power, number, tx_power_dbm=1.0, **LIMITS) for number, power in enumerate(received, 1)]
    there = [{**lane(0.0, number, tx_power_dbm=power, **LIMITS), "port": "ens1np0"} for number, power in enumerate(sent, 1)]
    peers = {"leaf05": here, "gpu01": there}
    arrives = optics.optic_rx_power(here, FIRST, [], -6.0, 3.0, -8.0, transceivers_of_peers=peers)
    host_end = [{**FIRST[0], "port": "ens1np0", "peer": "leaf05", "peer_port": "Ethernet1/1"}]
    sends = optics_health.optic_health(there, host_end, 70, 80, -8.0, transceivers_of_peers=peers)
    return [(one.severity, one.began_at) for one in arrives], [one.severity for one in sends if one.severity != "unknown"]


def test_what_is_sent_weakly_and_arrives_weakly_began_at_the_sender():
    began = ("gpu01", "ens1np0")
    assert arriving([1.0, -12.0], -11.0) == ([(None, began)], [None])
    # The lanes differ as much as the light that is sent.
    assert arriving([1.0, -12.0], 0.0, -11.0) == ([(None, began), ("warn", began)], [None])
    # More lanes are dark than are sent weakly; all are sent well; or it still arrives.
    assert arriving([1.0, -12.0], -11.0, -11.0) == ([(None, None), (None, None)], [None])
    assert arriving([1.0, 1.0], -11.0) == ([(None, None)], [])
    assert arriving([1.0, -9.0], -5.0) == ([], ["warn"])


def test_received_power_of_good_optics_and_of_copper():
    assert light(lane(-2.0, **LIMITS), lane(-3.0, 2, **LIMITS)) == []
    assert light(lane(-2.0, media_lanes=1), lane(-40.0, 2, media_lanes=1)) == []
    for rows, medium in (([], "dac"), ([lane(0.0, media="400GBASE-CR8")], "")):
        with pytest.raises(NotApplicable):
            light(*rows, cables=[cable(medium=medium)])


def channels(*powers, current=80.0, **values):
    """The channels of a module of CMIS as ethtool reports them; those without light have no current."""
    dark = {"tx_power_dbm": -40.0, "tx_bias_ma": 0.0}
    lit = {"tx_power_dbm": 1.0, "tx_bias_ma": current}
    return [lane(power, number, **{**LIMITS, **(dark if power == -40.0 else lit), **values}) for number, power in enumerate(powers, 1)]


def test_channels_that_a_module_of_four_lanes_reports_besides_are_none():
    """400GBASE-DR4: of eight channels the last four have neither current nor light."""
    assert light(*channels(-2.0, -2.1, -2.2, -2.3, *[-40.0] * 4)) == []
    # A lane of the four that is dark is one all the same, and is the only one.
    dark = "Ethernet1/1 lane 4: expected -10 to 5 dBm (alarm limits), got -40 dBm"
    assert [found for found, _severity in light(*channels(-2.0, -2.1, -2.2, *[-40.0] * 5))] == [dark]
    # Current flows, light is sent or arrives, or nothing is lit at all: then all eight are lanes.
    assert len(light(*channels(-2.0, -2.1, -2.2, -2.3, *[-40.0] * 3), lane(-40.0, 8, **LIMITS, tx_power_dbm=-40.0, tx_bias_ma=7.0))) == 4
    assert len(light(*channels(-2.0, -2.1, -2.2, -2.3, *[-40.0] * 3), lane(-40.0, 8, **LIMITS, tx_power_dbm=1.0, tx_bias_ma=0.0))) == 4
    assert len(light(*channels(-2.0, -2.1, -2.2, -2.3, *[-40.0] * 3, -2.0))) == 3
    assert len(light(*channels(*[-40.0] * 8))) == 8


def test_lanes_that_are_shown_as_inactive_ports_are_those_of_the_port_before_them():
    """EOS tells of Et3/17/1 its first lane, and of Et3/17/2 and on the others."""
    port = {**FIRST[0], "port": "Ethernet3/17/1"}
    result = [{**lane(power, None, **LIMITS), "port": f"Et3/17/{number}"} for number, power in ((1, -2.0), (2, -2.1), (3, -14.0), (4, -2.2))]
    result.append({**lane(None, None), "port": "Et3/17/5"})

    def judged(*states):
        rows = [{**status(), "port": f"Et3/17/{number}", "state": state} for number, state in enumerate(states, 1)]
        return summary(optics.optic_rx_power(result, [port], [], -6.0, 3.0, -8.0, rows))

    found = judged("connected", *["inactive"] * 7)
    assert found[0][0].startswith("Ethernet3/17/1 lane 3: expected ") and found[0][1] is None
    # A port of its own has a cable of its own.
    assert judged("connected", "inactive", "notconnect", "inactive") == []


def reach(medium, length, *rows, speed=100.0):
    return summary(optics.cable_reach([cable(medium=medium, length_m=length)], UP, speed, 2.0, 3.0, 5.0, list(rows)))


def test_reach_of_passive_copper():
    assert reach("dac", 2.0) == []
    assert reach("dac", 2.5) == [("Ethernet1/1: expected at most 2 m of passive copper, got 2.5 m", "warn")]
    assert reach("dac", 7.0) == [("Ethernet1/1: expected at most 3 m of passive copper, got 7 m", None)]
    # The module contradicts the plan.
    assert reach("dac", 2.0, lane(None, media="400GBASE-CR8", length_m=7.0)) == [("Ethernet1/1: expected at most 3 m of passive copper, got 7 m", None)]
    assert reach("dac", 4.0, speed=50.0) == []
    assert reach("dac", 7.0, speed=50.0) == [("Ethernet1/1: expected at most 5 m of passive copper, got 7 m", None)]
    assert reach("dac", None) == [("Ethernet1/1: expected at most 3 m of passive copper, got length: not reported", "unknown")]
    assert reach("", 2.0) == [("Ethernet1/1: expected a known medium, got not in the plan, not reported by the module", "unknown")]
    for medium in ("optic", "aoc", "aec"):
        with pytest.raises(NotApplicable):
            reach(medium, 30.0)
    # What is missing is in the plan, and no tool has to answer for it.
    fixes = [one.fix for medium in ("", "dac") for one in optics.cable_reach([cable(medium=medium, length_m=None)], UP, 100.0, 2.0, 3.0, 5.0, [])]
    assert "column medium of the wiring plan" in str(fixes[0]) and "column length_m" in str(fixes[-1])


ACTIVE = "Copper cable, near and far end limiting active equalizers"


def test_active_copper_reaches_further_than_passive():
    for medium, media in (("aec", ACTIVE), ("aec", "400GBASE-CR8"), ("acc", "Copper cable, linear active equalizers"), ("", ACTIVE)):
        with pytest.raises(NotApplicable):
            reach(medium, 5.0, lane(None, media=media))
    # Passive copper in its place is what does not carry the load.
    passive = lane(None, media="Copper cable, unequalized", length_m=5.0)
    assert reach("aec", 5.0, passive) == [("Ethernet1/1: expected at most 3 m of passive copper, got 5 m", None)]


RAILS = [{"device": "rocep1", "netdev": "ens1np0", "gpu": 0, "leaf": "leaf01"}]
BOOT = {"time": None, "event": "boot", "device": None, "code": None, "text": ""}


def log(losses, netdev="ens1np0"):
    return [BOOT, *[{**BOOT, "event": "link_down", "device": netdev} for _number in range(losses)]]


def flaps(now, before, rails=tuple(RAILS), clock=None):
    return summary(lost_links.link_flaps(now, before, {}, "gpu01", rails, 2, 5, 30, clock))


def lost_at(*seconds, netdev="ens1np0"):
    times = [f"2026-06-15T03:00:{second:02}+00:00" for second in seconds]
    return [{**BOOT, "time": "2026-06-01T00:00:00+00:00"}, *({**BOOT, "event": "link_down", "device": netdev, "time": time} for time in times)]


def test_links_that_are_lost_in_one_second_have_one_cause():
    def found(now, peers):
        return next(iter(lost_links.link_flaps(now, now[:1], peers, "gpu01", RAILS, 2, 5, 30, [{"time": "2026-06-15T12:00:00+0000"}])))

    alone = found(lost_at(5), {"gpu01": lost_at(5), "gpu02": lost_at(40), "gpu03": lost_at(30), "gpu04": lost_at(20)})
    assert (alone.actual, alone.cause) == ("1 link loss", None)
    leaf = found(lost_at(5), {f"gpu0{number}": lost_at(5 + (number - 1) % 2) for number in range(1, 5)})
    assert "4 links of 4 hosts were lost within a second" in leaf.cause and leaf.fix.startswith("Look at the log of leaf01 at 2026-06-15T03:00:05")
    own = found(lost_at(5), {"gpu01": [row for number in range(1, 5) for row in lost_at(5, netdev=f"ens{number}np0")]})
    assert "4 links of gpu01 were lost within a second" in own.cause and "kernel log of gpu01" in own.fix


def kept_links(logs, before=None, counts=None):
    """What hosts_keep_links finds of leaf01, which has eight NICs behind it."""
    rails = [{"host": f"gpu0{number}", "device": "rocep1", "netdev": "ens1np0", "leaf": "leaf01", "index": 0} for number in range(1, 9)]
    clocks = {host: [{"time": "2026-06-15T12:00:00+0000"}] for host in logs}
    errors_now, errors_before = counts or ({}, {})
    before = {host: rows[:1] for host, rows in logs.items()} if before is None else before
    return list(behind_leaf.hosts_keep_links(logs, before, rails, "leaf01", 2, 5, 30, clocks, errors_now, errors_before))


def test_links_that_the_hosts_of_a_leaf_lose_together_are_the_leafs():
    four = {f"gpu0{number}": lost_at(5 + number % 2) for number in range(1, 5)}
    others = {f"gpu0{number}": lost_at() for number in range(5, 9)}
    (leaf,) = kept_links(four | others)
    assert (str(leaf.where), leaf.severity) == ("leaf01", None) and leaf.actual == "4 links of 4 hosts lost together at 2026-06-15T03:00:05+00:00"
    assert "leaf01 or one of its line cards restarted" in leaf.cause and "Read the log of leaf01 at 2026-06-15T03:00:05" in leaf.fix
    # Three may be three cables, and links of one host, or more elsewhere, are not lost by this leaf.
    assert not kept_links({**four, "gpu04": lost_at(40)} | others)
    assert not kept_links({"gpu01": [row for number in range(1, 9) for row in lost_at(5, netdev=f"ens{number}np0")]} | others)
    assert not kept_links({host: [*rows, *lost_at(5, netdev="ens2np0"), *lost_at(5, netdev="ens3np0")] for host, rows in four.items()})


def test_links_lost_together_before_the_soak_count_by_the_day():
    def of_day(*seconds):
        logs = {f"gpu0{number}": lost_at(*seconds) for number in range(1, 5)}
        return [(one.severity, one.actual) for one in kept_links(logs, logs)]

    assert of_day(5) == []
    assert of_day(5, 20) == [("warn", "4 links of 4 hosts lost together at 2026-06-15T03:00:20+00:00, 2 times in 24 h")]
    assert [severity for severity, _words in of_day(5, 15, 25, 35, 45)] == [None]
    # One of them is lost alone in the soak.
    earlier = {f"gpu0{number}": lost_at(5) for number in range(1, 5)}
    assert kept_links({**earlier, "gpu01": lost_at(5, 40)}, earlier) == []


def test_links_lost_together_are_not_known_without_names_or_times():
    logs = {f"gpu0{number}": lost_at(5) for number in range(1, 5)}
    with pytest.raises(CannotTell, match="netdev"):
        kept_links({host: [{**row, "device": None} for row in rows] for host, rows in logs.items()})
    with pytest.raises(NotApplicable, match="no times"):
        kept_links({host: [{**row, "time": None} for row in rows] for host, rows in logs.items()})
    (one,) = kept_links(logs, {host: lost_at(1) for host in logs})
    assert one.severity == "unknown" and one.actual.endswith("perhaps in the soak: logs lost lines")


def test_links_that_only_nics_count_as_lost_are_the_leafs_where_most_behind_it_are():
    def of_nics(lost, elsewhere=()):
        names = [*(f"gpu0{number}" for number in range(1, 9)), *elsewhere]
        logs = {host: lost_at() for host in names}
        now = {host: losses(1 + (host in elsewhere or int(host[3:]) <= lost)) for host in names}
        return [one.actual for one in kept_links(logs, None, (now, {host: losses(1) for host in names}))]

    assert of_nics(5) == ["5 links of 5 hosts lost together for the time of the soak"]
    assert of_nics(4) == []
    assert of_nics(5, [f"gpu{number}" for number in range(10, 15)]) == []


def test_a_link_that_is_also_lost_alone_has_a_fault_of_its_own():
    peers = {"gpu01": lost_at(5, 20, 40), **{f"gpu0{number}": lost_at(5) for number in range(2, 5)}}
    now = peers["gpu01"]
    (one,) = lost_links.link_flaps(now, now[:1], peers, "gpu01", RAILS, 2, 5, 30, [{"time": "2026-06-15T12:00:00+0000"}])
    assert (one.actual, one.cause, one.fix) == ("3 link losses", None, None)


def test_losses_in_the_soak_are_found_in_a_log_that_overwrote_as_many():
    # dmesg, by the kernel's own clock: what came in the soak pushed the oldest lines out.
    def of_kernel(*times):
        return [{**BOOT, "event": "link_down", "device": "ens1np0", "time": time} for time in times]

    words = ("ens1np0: expected no link loss in the soak, got 2 link losses", None)
    assert words in flaps(of_kernel("8.5", "901.2", "930.9"), of_kernel("3.1", "4.5", "8.5"))
    lost = ("kernel log: expected no link loss in the soak, got the log lost lines during the soak", "unknown")
    both = flaps(of_kernel("901.2", "930.9"), of_kernel("3.1", "4.5", "8.5"))
    assert lost in both and words in both
    # The same losses by the journal and then by dmesg.
    by_two = flaps(of_kernel("3.1", "4.5"), of_kernel("2026-06-15T03:00:05+00:00", "2026-06-15T03:00:06+00:00"))
    assert lost in by_two and words not in by_two


def test_errors_on_most_ports_of_a_node_have_one_cause():
    cables = [cable(number) for number in range(1, 7)]
    for bad, common in ((6, True), (4, True), (3, False)):
        was = [{**counted()[0], "port": f"Et{number}/1"} for number in range(1, 7)]
        now = [{**row, "fcs_errors": row["fcs_errors"] + (number < bad)} for number, row in enumerate(was)]
        causes = {one.cause for one in errors.crc_clean(now, was, cables)}
        assert len(causes) == 1 and (("one common cause of the node" in (causes.pop() or "")) == common), bad


UNDATED = "since the boot (the log has no timestamps)"


def test_link_flaps():
    assert flaps(log(1), log(1)) == []
    assert flaps(log(9, "eno1"), log(0)) == []
    assert flaps(log(2), log(1)) == [("ens1np0: expected no link loss in the soak, got 1 link loss", None)]
    assert flaps(log(2), log(2)) == [(f"ens1np0: expected fewer than 2 link losses {UNDATED}, got 2", "warn")]
    assert flaps(log(9), log(9)) == [(f"ens1np0: expected fewer than 5 link losses {UNDATED}, got 9", "warn")]
    cut = log(1)[1:]
    assert flaps(cut, cut) == [("kernel log: expected all lines since the boot, got its first lines were overwritten", "warn")]
    assert flaps(log(0), log(1)) == [("kernel log: expected no link loss in the soak, got the log lost lines during the soak", "unknown")]
    with pytest.raises(CannotTell):
        flaps(log(0), log(0), [])


def test_link_flaps_of_the_last_day():
    def dated(boot, *losses):
        rows = [{**BOOT, "time": boot}, *({**BOOT, "event": "link_down", "device": "ens1np0", "time": time} for time in losses)]
        return flaps(rows, rows, clock=[{"time": "2026-06-15T12:00:00+0000"}])

    today = [f"2026-06-15T0{hour}:00:00+00:00" for hour in range(1, 6)]
    assert dated("2026-06-01T00:00:00+0000", *today) == [("ens1np0: expected fewer than 5 link losses in 24 h, got 5", None)]
    assert dated("2026-06-01T00:00:00+0000", *today[:2]) == [("ens1np0: expected fewer than 2 link losses in 24 h, got 2", "warn")]
    # Lost long ago, or while the host was still booting.
    assert dated("2026-06-01T00:00:00+0000", *(time.replace("06-15", "06-13") for time in today)) == []
    assert dated("2026-06-15T04:45:00+0000", *today) == []
    # One line without its time makes the rest no proof.
    assert dated("2026-06-01T00:00:00+0000", *today, None)[0][1] == "warn"


def losses(*counts, port="ens1np0"):
    """Rows of the errors of a port that counts so many lost links."""
    return [{**counted()[0], "port": port, "link_losses": count} for count in counts]


def test_a_link_that_only_the_nic_counts_as_lost():
    def found(now, before, rails=tuple(RAILS)):
        return summary(lost_links.nic_link_flaps(now, before, rails))

    expected = "ens1np0: expected no link loss counted by the NIC in the soak"
    assert found(losses(97), losses(97)) == []
    assert found(losses(6), losses(4)) == [(f"{expected}, got 2 link losses (link_losses 4, then 6)", None)]
    assert found(losses(0), losses(4)) == [(f"{expected}, got counters were reset (link_losses)", "unknown")]
    assert found(losses(None), losses(4)) == [(f"{expected}, got link_losses reported in one of two readings only", "unknown")]
    assert found([], losses(4)) == [(f"{expected}, got link_losses reported in one of two readings only", "unknown")]
    assert found(losses(None), losses(None)) == [(f"{expected}, got link_losses not reported for this port", "unknown")]
    assert found(losses(9, port="eno1"), []) == [(f"{expected}, got link_losses not reported for this port", "unknown")]
    bond = [{**RAILS[0], "netdev": "bond0", "members": ["ens1np0", "ens1np1"]}]
    both = (losses(1) + losses(2, port="ens1np1"), losses(1) + losses(1, port="ens1np1"))
    assert [words for words, _severity in found(*both, bond)] == [
        "ens1np1: expected no link loss counted by the NIC in the soak, got 1 link loss (link_losses 1, then 2)"
    ]
    with pytest.raises(CannotTell):
        found(losses(0), losses(0), [])


def test_links_that_most_nics_of_a_host_lose_have_one_cause():
    rails = [{**RAILS[0], "netdev": f"ens{number}np0"} for number in range(8)]
    was = [row for rail in rails for row in losses(1, port=rail["netdev"])]
    for bad, common in ((8, True), (5, True), (3, False)):
        now = [{**row, "link_losses": 1 + (number < bad)} for number, row in enumerate(was)]
        causes = [one.cause for one in lost_links.nic_link_flaps(now, was, rails)]
        assert len(causes) == bad and all(("one common cause of the node" in (cause or "")) == common for cause in causes), bad


def quality(**values):
    result = {"Time Since Last Clear [Min]": "200.0", "Symbol Errors": "0", "Symbol BER": "15E-255", "Raw Physical BER": "2E-9", **values}
    return [{"device": "rocep1", "section": "Physical Counters and BER Info", "name": name, "value": value} for name, value in result.items()]


def test_nic_bit_error_rate():
    def judged(rows):
        return summary(errors.nic_bit_error_rate(rows, RAILS, 1e-6, 1e-5))

    assert judged(quality()) == []
    assert judged(quality(**{"Raw Physical BER": "5E-6"})) == [("rocep1: expected at most 1e-06 before FEC, got 5e-06", "warn")]
    assert judged(quality(**{"Raw Physical BER": "2E-5"})) == [("rocep1: expected at most 1e-06 before FEC, got 2e-05", None)]
    assert judged(quality(**{"Raw Physical BER": None, "Raw BER": "2E-5"}))[0][1] is None
    for rows in ([], quality(**{"Raw Physical BER": "N/A"}), quality(**{"Raw Physical BER": "NaN"}), [{**row, "section": "Module Info"} for row in quality()]):
        assert judged(rows) == [("rocep1: expected at most 1e-06 before FEC, got not reported", "unknown")]
    with pytest.raises(CannotTell):
        list(errors.nic_bit_error_rate(quality(), [], 1e-6, 1e-5))


def test_a_leaf_that_most_nics_behind_it_receive_badly_from():
    def judged(bad, elsewhere=0, behind=4, warn=1e-6, most=1e-4, value="5E-4"):
        rails = [{"host": f"gpu{number}", "device": "rocep1", "leaf": "leaf01"} for number in range(behind)]
        of_peers = {}
        for number in range(behind):
            own = quality(**{"Raw Physical BER": value if number < bad else "2E-9"})
            other = [{**row, "device": "rocep2"} for row in quality(**{"Raw Physical BER": value if number < elsewhere else "2E-9"})]
            of_peers[f"gpu{number}"] = own + other
        return list(behind_leaf.hosts_receive_cleanly(of_peers, rails, "leaf01", warn, most))

    (found,) = judged(3)
    assert (
        str(found) == "leaf01: expected at most 1e-06 before FEC at most NICs behind it, got 3 of 4 receive more, up to 0.0005; of the pod's other NICs 0 of 4"
    )
    assert found.where.whole and found.severity is None and "leaf01 sends badly" in found.cause and "leaf01" in found.fix
    assert [one.severity for one in judged(3, value="5E-6")] == ["warn"]
    assert judged(2) == judged(0) == [], "half of them may be cables"
    assert judged(4, elsewhere=3) == [], "where most of the pod is so it is not this leaf"
    with pytest.raises(NotApplicable):
        judged(2, behind=2)
    with pytest.raises(CannotTell, match="not reported"):
        judged(4, value=None)


def test_bit_errors_of_a_nic_began_at_a_leaf_that_sends_badly():
    (one,) = errors.nic_bit_error_rate(quality(**{"Raw Physical BER": "2E-5"}), RAILS, 1e-6, 1e-5)
    assert one.began_at == (RAILS[0]["leaf"], "")


def test_symbol_error_rate():
    def judged(rows):
        return summary(errors.symbol_error_rate(rows, RAILS, 1e-15, 125))

    assert judged(quality()) == []
    bad = {"Symbol BER": "4E-12", "Symbol Errors": "41"}
    assert judged(quality(**bad)) == [("rocep1: expected at most 1e-15 after FEC, got 4e-12 in 200 minutes", None)]
    assert judged(quality(**bad, **{"Time Since Last Clear [Min]": "3.5"}))[0][1] == "warn"
    for lost in ({"Time Since Last Clear [Min]": None}, {"Time Since Last Clear [Min]": "nan"}, {"Symbol BER": "nan"}):
        assert judged(quality(**lost)) == [("rocep1: expected at most 1e-15 after FEC, got not reported", "unknown")]
    with pytest.raises(NotApplicable, match=r"counted for less than the 125 minutes needed for 1e-15: rocep1 3\.5 minutes"):
        judged(quality(**{"Time Since Last Clear [Min]": "3.5"}))
    # One of two rails was watched for long enough: the check passes for it, and says so of the other.
    two = [*quality(), *({**row, "device": "rocep2"} for row in quality(**{"Time Since Last Clear [Min]": "3.5"}))]
    assert summary(errors.symbol_error_rate(two, [*RAILS, {"device": "rocep2"}], 1e-15, 125)) == [
        ("rocep2: expected counted for 125 minutes, got 3.5 minutes", "warn")
    ]
    with pytest.raises(CannotTell):
        list(errors.symbol_error_rate(quality(), [], 1e-15, 125))


def optic(part, port="ens1np0", **values):
    return {"port": port, "present": True, "media": "Optic", "length_m": None, "vendor": "NVIDIA", "part_number": part, **values}


def test_optics_uniform():
    def judged(hosts):
        return summary(optics.optics_uniform(hosts, RAILS))

    alike = {"gpu01": [optic("A")], "gpu02": [optic("A")]}
    assert judged(alike) == []
    assert judged({**alike, "gpu03": [optic("B")]}) == [("ens1np0: expected NVIDIA A, as its group, got NVIDIA B", None)]
    assert judged({**alike, "gpu03": [optic(None)]}) == [("ens1np0: expected a part number, got not reported", "unknown")]
    # A module that could not be read is not one like the others, be it copper or optical.
    assert judged({**alike, "gpu03": []}) == [("ens1np0: expected a part number, got not reported", "unknown")]
    # Another port, another kind of cable or another length is no odd one.
    assert judged({**alike, "gpu03": [optic("A"), optic("B", "eno1")], "gpu04": [optic("C", media="Copper cable", length_m=2.0)]}) == []
    with pytest.raises(NotApplicable):
        judged({"gpu01": [optic("A")]})
    assert len(judged({"gpu01": [], "gpu02": []})) == 2
    assert judged({**alike, "gpu03": [optic("A", present=None)]}) == [("ens1np0: expected a part number, got not reported", "unknown")]


def fec(uncorrectable=0, rate=None, column="FEC_PRE_BER"):
    counts = {"corrected": 130402, "uncorrectable": uncorrectable, "symbol_errors": 0}
    return [{"port": "Ethernet1/1", **counts, "pre_fec_ber": rate, "rate_column": column}]


def test_bit_error_rate():
    def judged(now, before):
        return summary(errors.bit_error_rate(now, before, FIRST, 1e-6, 1e-5))

    assert judged(fec(99, 1e-9), fec(99)) == []
    assert judged(fec(3), fec(1)) == [("Ethernet1/1: expected no growth of uncorrectable codewords, got +2", None)]
    assert judged(fec(0, 5e-6), fec(0)) == [("Ethernet1/1: expected at most 1e-06 before FEC, got 5e-06", "warn")]
    assert judged(fec(0, 2e-5), fec(0)) == [("Ethernet1/1: expected at most 1e-06 before FEC, got 2e-05", None)]
    assert judged(fec(0), fec(1))[0][1] == "unknown"
    assert judged([], fec())[0][1] == judged(fec(None), fec(None))[0][1] == "unknown"
    assert judged(fec(0), fec(0)) == [("Ethernet1/1: expected at most 1e-06 before FEC, got not reported", "unknown")], "no port reports its rate"
    assert judged(fec(3, column=None), fec(0, column=None)) == [("Ethernet1/1: expected no growth of uncorrectable codewords, got +3", None)]
    with pytest.raises(NotApplicable, match="this release reports no bit error rate before FEC"):
        judged(fec(0, column=None), fec(0, column=None))
    with pytest.raises(NotApplicable, match="of no port"):
        judged([], [])
