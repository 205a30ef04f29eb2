# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Entries of neighbor tables against the NICs that have the addresses, by plain calls."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.routing import neighbor_entries as checks

RAILS = [{"device": "mlx5_0", "netdev": "ens0", "address": "10.0.0.1/24"}]
MACS = {"gpu01": "02:00:00:00:00:01", "gpu02": "02:00:00:00:00:02", "gpu03": "02:00:00:00:00:03"}
ADDRESSES = {name: [{"netdev": "ens0", "address": f"10.0.0.{name[-1]}"}, {"netdev": "docker0", "address": "172.17.0.1"}] for name in MACS}
LINKS = {name: [{"netdev": "ens0", "mac": mac}, {"netdev": "docker0", "mac": f"06{mac[2:]}"}] for name, mac in MACS.items()}


def entry(number, mac, netdev="ens0", **more):
    return {"address": f"10.0.0.{number}", "mac": mac, "netdev": netdev, **more}


def found(rows, peers=None, addresses=None, links=None):
    tables = {"gpu01": rows, **(peers or {})}
    judged = checks.neighbor_entries(rows, tables, addresses or dict(ADDRESSES), links or dict(LINKS), RAILS, "gpu01")
    return [(str(one), one.severity) for one in judged]


def test_right_entries_in_any_spelling():
    assert found([entry(2, "0200.0000.0002"), entry(3, "02:00:00:00:00:03")]) == []


def test_the_address_of_an_old_nic():
    words = "mlx5_0 entry of 10.0.0.2: expected 02:00:00:00:00:02, got 0e:00:00:00:00:09, where gpu02 ens0 has the address"
    assert found([entry(2, "0e:00:00:00:00:09"), entry(3, "02:00:00:00:00:03")]) == [(words, None)]
    one = next(iter(checks.neighbor_entries([entry(2, "0e:00:00:00:00:09")], {}, dict(ADDRESSES), dict(LINKS), RAILS, "gpu01")))
    assert (one.where.device, one.where.peers) == ("mlx5_0", ("gpu02", "10.0.0.2"))


@pytest.mark.parametrize("peers", [{}, {"gpu02": [entry(3, "0e:00:00:00:00:09")]}])
def test_a_switch_that_answers_for_all_hosts_is_no_wrong_entry(peers):
    rows = [entry(2, "0e:00:00:00:00:09")] if peers else [entry(2, "0e:00:00:00:00:09"), entry(3, "0e:00:00:00:00:09")]
    with pytest.raises(NotApplicable):
        found(rows, peers)


@pytest.mark.parametrize(
    "row",
    [
        # Not of a rail, of nobody's address, of several NICs' address, of its own.
        entry(2, "0e:00:00:00:00:09", "eno1"),
        entry(77, "0e:00:00:00:00:09"),
        {"address": "172.17.0.1", "mac": "0e:00:00:00:00:09", "netdev": "ens0"},
        entry(1, "0e:00:00:00:00:09"),
    ],
)
def test_what_is_no_entry_of_another_rail(row):
    with pytest.raises(NotApplicable):
        found([row])


def test_a_nic_that_reports_no_address_of_its_own_is_not_judged():
    with pytest.raises(NotApplicable):
        found([entry(2, "0e:00:00:00:00:09")], links={**LINKS, "gpu02": [{"netdev": "ens0", "mac": None}]})


def test_entries_of_a_switch():
    rows = [entry(2, "0200.0000.0002", interface="Ethernet2"), entry(3, "0e00.0000.0009", interface="Ethernet3")]
    judged = checks.switch_neighbor_entries(rows, {"leaf01": rows}, dict(ADDRESSES), dict(LINKS))
    words = "Ethernet3 entry of 10.0.0.3: expected 02:00:00:00:00:03, got 0e:00:00:00:00:09, where gpu03 ens0 has the address"
    assert [str(one) for one in judged] == [words]
    with pytest.raises(NotApplicable):
        list(checks.switch_neighbor_entries([], {}, dict(ADDRESSES), dict(LINKS)))


def test_another_host_that_answers_is_named():
    (one,) = checks.neighbor_entries([entry(2, MACS["gpu03"])], {}, dict(ADDRESSES), dict(LINKS), RAILS, "gpu01")
    assert one.actual == "02:00:00:00:00:03 (gpu03 ens0), where gpu02 ens0 has the address"
    assert "gpu03 answers for 10.0.0.2 with its ens0" in (one.cause or "") and (one.fix or "").startswith("On gpu03 look for 10.0.0.2")


TWO_NICS = {**LINKS, "gpu02": [{"netdev": "ens0", "mac": MACS["gpu02"]}, {"netdev": "ens1", "mac": "02:00:00:00:01:02"}]}
TWO_ADDRESSES = {**ADDRESSES, "gpu02": [{"netdev": "ens0", "address": "10.0.0.2"}, {"netdev": "ens1", "address": "10.0.0.12"}]}


def test_a_nic_that_answers_for_the_others_of_its_host_is_a_finding_of_that_host_alone():
    tables = {"gpu01": [entry(2, "02:00:00:00:01:02")], "gpu02": [entry(1, MACS["gpu01"])], "gpu03": [entry(2, "02:00:00:00:01:02")]}
    rails = [{"device": "mlx5_0", "netdev": "ens0"}, {"device": "mlx5_1", "netdev": "ens1"}]
    found = {
        node: list(checks.neighbor_entries(rows, tables, TWO_ADDRESSES, TWO_NICS, rails if node == "gpu02" else RAILS, node)) for node, rows in tables.items()
    }
    (one,) = found.pop("gpu02")
    assert str(one) == "mlx5_1: expected each NIC answers for its own address, got it answers for 10.0.0.2, as gpu01, gpu03 learned"
    assert one.severity is None and "arp_ignore" in one.fix
    assert found == {"gpu01": [], "gpu03": []}


def test_a_nic_that_answers_for_several_addresses_is_no_switch_that_does():
    rows = [entry(2, "02:00:00:00:01:02"), entry(3, "02:00:00:00:01:02")]
    words = "mlx5_0 entry of 10.0.0.3: expected 02:00:00:00:00:03, got 02:00:00:00:01:02 (gpu02 ens1), where gpu03 ens0 has the address"
    assert [str(one) for one in checks.neighbor_entries(rows, {"gpu01": rows}, TWO_ADDRESSES, TWO_NICS, RAILS, "gpu01")] == [words]


def test_a_nic_that_answers_for_the_others_is_found_where_the_leaf_alone_learned_it():
    # Each host is routed to from its leaf, and no other host has an entry of it.
    leaf = {"leaf01": [entry(2, "02:00:00:00:01:02", interface="Ethernet2")]}
    rails = [{"device": "mlx5_0", "netdev": "ens0"}, {"device": "mlx5_1", "netdev": "ens1"}]
    (one,) = checks.neighbor_entries([], {}, TWO_ADDRESSES, TWO_NICS, rails, "gpu02", leaf)
    assert str(one) == "mlx5_1: expected each NIC answers for its own address, got it answers for 10.0.0.2, as leaf01 learned"
    with pytest.raises(NotApplicable):
        list(checks.neighbor_entries([], {}, TWO_ADDRESSES, TWO_NICS, rails, "gpu03", leaf))


def test_management_nics_in_one_subnet_that_answer_for_each_other_are_no_finding():
    tables = {"gpu01": [entry(12, MACS["gpu02"], "eno1")], "gpu02": [entry(1, MACS["gpu01"])], "gpu03": []}
    # The rail of gpu02 is ens0 alone; 10.0.0.12 is of its ens1, and ens0 answers for it.
    assert list(checks.neighbor_entries(tables["gpu02"], tables, TWO_ADDRESSES, TWO_NICS, RAILS, "gpu02")) == []


def test_a_switch_is_not_named_for_the_nic_that_answers():
    rows = [entry(2, "02:00:00:00:01:02", interface="Ethernet2")]
    assert list(checks.switch_neighbor_entries(rows, {"leaf01": rows}, TWO_ADDRESSES, TWO_NICS)) == []


def test_of_ipv6_a_nic_that_lacks_the_address_is_an_old_one():
    addresses = {**ADDRESSES, "gpu02": [{"netdev": "ens0", "address": "fd00::2"}, {"netdev": "ens1", "address": "fd00::12"}]}
    rows = [{"address": "fd00::2", "mac": "02:00:00:00:01:02", "netdev": "ens0"}]
    (one,) = checks.neighbor_entries(rows, {"gpu01": rows}, addresses, TWO_NICS, RAILS, "gpu01")
    assert one.actual == "02:00:00:00:01:02 (gpu02 ens1), where gpu02 ens0 has the address" and one.cause is None


def test_entries_in_another_spelling_are_no_wrong_ones_of_any_node():
    """The NIC's own spelling is only the fast way to see that an entry is right."""
    upper = {name: [{**row, "mac": row["mac"].upper()} for row in rows] for name, rows in LINKS.items()}
    peers = {"gpu02": [entry(3, MACS["gpu03"])], "gpu03": [entry(2, "0200.0000.0002")]}
    assert found([entry(2, MACS["gpu02"]), entry(3, "0e:00:00:00:00:09")], peers, links=upper) != []
    assert found([entry(2, MACS["gpu02"]), entry(3, "02-00-00-00-00-03")], peers, links=upper) == []
