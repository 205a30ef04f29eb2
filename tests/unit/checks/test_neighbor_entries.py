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


def test_a_host_that_answers_for_all_of_its_rails_with_one_nic():
    # ARP flux: rails in one subnet, and arp_ignore 0.
    addresses = {**ADDRESSES, "gpu02": [{"netdev": f"ens{one}", "address": f"10.0.0.2{one}"} for one in range(3)]}
    links = {**LINKS, "gpu02": [{"netdev": f"ens{one}", "mac": f"02:00:00:00:02:0{one}"} for one in range(3)]}
    rows = [entry(number, "02:00:00:00:02:00") for number in (20, 21, 22)]
    got = "02:00:00:00:02:00 (gpu02 ens0), where gpu02 ens{0} has the address"
    words = [(f"mlx5_0 entry of 10.0.0.2{one}: expected 02:00:00:00:02:0{one}, got {got.format(one)}", None) for one in (1, 2)]
    assert found(rows, addresses=addresses, links=links) == words
    one = next(iter(checks.neighbor_entries(rows, {"gpu01": rows}, addresses, links, RAILS, "gpu01")))
    assert "ARP flux" in (one.cause or "") and "On gpu02 set net.ipv4.conf.all.arp_ignore to 1" in (one.fix or "")
    (first, _second) = checks.switch_neighbor_entries([{**row, "interface": "Vlan10"} for row in rows], {}, addresses, links)
    assert first.cause == one.cause


def test_another_host_that_answers_is_named():
    (one,) = checks.neighbor_entries([entry(2, MACS["gpu03"])], {}, dict(ADDRESSES), dict(LINKS), RAILS, "gpu01")
    assert one.actual == "02:00:00:00:00:03 (gpu03 ens0), where gpu02 ens0 has the address"
    assert "gpu03 answers for 10.0.0.2 with its ens0" in (one.cause or "") and (one.fix or "").startswith("On gpu03 look for 10.0.0.2")
