# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which commands a node is sent."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for, query_commands


def asked(name: str, *rails: dict[str, t.Any]) -> tuple[list[list[list[str]]], dict[str, str]]:
    """The commands of a host with some rails, each with its alternatives, and what does not apply to it."""
    wanted, apart = queries_for([name], {"platform": "linux", "values": {}, "items": {"rail": list(rails)}})
    commands = [[one["argv"] for one in command["alternatives"]] for command in query_commands(wanted)]
    return commands, {reading: result.status for reading, result in apart.items()}


def test_a_rail_without_a_netdev_is_not_asked_for_it() -> None:
    netdev, bare = {"device": "mlx5_0", "netdev": "ens1np0"}, {"device": "mlx5_1", "netdev": None}
    assert asked("nic_driver", netdev, bare) == ([[["ethtool", "-i", "ens1np0"]]], {})
    # As the rails of an InfiniBand pod may be, all of them.
    assert asked("nic_driver", bare, {"device": "mlx5_2"}) == ([], {"nic_driver": "not_applicable"})
    commands, apart = asked("link_quality", bare)
    assert commands[0][0][:3] == ["mlxlink", "-d", "mlx5_1"] and apart == {}
