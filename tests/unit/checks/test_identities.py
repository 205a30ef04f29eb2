# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses that two hosts have, by plain calls."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight.identities import identities_unique

Rows = list[dict[str, t.Any]]
RAILS = [{"device": f"mlx5_{number}", "netdev": f"ens{number}"} for number in (0, 1)]


def addresses(host: int, **odd: str) -> Rows:
    """A host's addresses, those of its containers and of IPv6 included."""
    given = {f"ens{number}": odd.get(f"ens{number}", f"10.5{number}.0.{host}") for number in (0, 1)} | {"docker0": "172.17.0.1"}
    rows = [{"netdev": netdev, "family": "inet", "address": address, "prefix_length": 24} for netdev, address in given.items()]
    return [*rows, {"netdev": "ens0", "family": "inet6", "address": "fe80::1", "prefix_length": 64}]


def links(host: int, **odd: str | None) -> Rows:
    given = {f"ens{number}": odd.get(f"ens{number}", f"00:00:00:00:0{number}:0{host}") for number in (0, 1)}
    return [{"netdev": netdev, "mac": mac} for netdev, mac in {"lo": "00:00:00:00:00:00", "tun0": None, "docker0": "02:42:00:00:00:01", **given}.items()]


def ports(host: int, **odd: str | None) -> Rows:
    given = {f"mlx5_{number}": odd.get(f"mlx5_{number}", f"0x000000000000{number}0{host}0") for number in (0, 1)}
    return [{"device": device, "port_guid": guid} for device, guid in {**given, "mlx5_9": "0x0000000000000000"}.items()]


def unique(ip: Rows | None = None, mac: Rows | None = None, guid: Rows | None = None, peers: dict[str, t.Any] | None = None) -> list[Finding]:
    others = {"ip": addresses(2), "mac": links(2), "guid": ports(2), **(peers or {})}
    own = {"ip": ip or addresses(1), "mac": mac or links(1), "guid": guid or ports(1)}
    of = {what: {"gpu01": own[what], "gpu02": others[what]} for what in own}
    return list(identities_unique(own["ip"], own["mac"], own["guid"], of["ip"], of["mac"], of["guid"], RAILS, "gpu01"))


def summary(findings: t.Iterable[Finding]) -> list[tuple[str, str | None]]:
    return [(str(one), one.severity) for one in findings]


def test_addresses_of_one_rail_each() -> None:
    # docker0 and IPv6's link-local addresses are the same on every host.
    assert unique() == []


def test_an_address_that_another_host_has_too() -> None:
    assert summary(unique(ip=addresses(1, ens1="10.50.0.2"))) == [("ens1 address 10.50.0.2: expected on this rail only, got also on gpu02 ens0", None)]
    # Also where it is on no rail of the other host.
    other = [*addresses(2), {"netdev": "bond0", "family": "inet", "address": "10.51.0.1", "prefix_length": 24}]
    assert summary(unique(peers={"ip": other})) == [("ens1 address 10.51.0.1: expected on this rail only, got also on gpu02 bond0", None)]


def test_a_nic_whose_identity_another_one_has() -> None:
    (found,) = unique(mac=links(1, ens0="00:00:00:00:01:02"))
    assert summary([found]) == [("ens0 MAC address 00:00:00:00:01:02: expected on this rail only, got also on gpu02 ens1", None)]
    assert "cloned image" in (found.cause or "") and "gpu02 ens1" in (found.fix or "")
    assert summary(unique(mac=links(1, ens0="00:00:00:00:01:01"))) == [
        ("ens0 MAC address 00:00:00:00:01:01: expected on this rail only, got also on gpu01 ens1", None)
    ]
    (found,) = unique(guid=ports(1, mlx5_1="0x0000000000001020"))
    assert summary([found]) == [("mlx5_1 port GUID 0x0000000000001020: expected on this rail only, got also on gpu02 mlx5_1", None)]
    # A GUID of zeros is that of a function without one.
    zeros = "0x0000000000000000"
    assert unique(guid=ports(1, mlx5_1=zeros), peers={"guid": ports(2, mlx5_1=zeros)}) == []


def test_what_is_not_reported_is_no_pass() -> None:
    assert summary(unique(mac=links(1, ens0=None))) == [("ens0 MAC address: expected an address of its own, got not reported", "unknown")]
    assert summary(unique(guid=ports(1, mlx5_0=None))) == [("mlx5_0 port GUID: expected an address of its own, got not reported", "unknown")]
    silent = {"mac": [{"netdev": "ens0", "mac": None}], "guid": [{"device": "mlx5_0", "port_guid": None}]}
    assert summary(unique(peers=silent)) == [
        ("MAC address: expected of every host of the pod, got not reported by gpu02", "unknown"),
        ("port GUID: expected of every host of the pod, got not reported by gpu02", "unknown"),
    ]
