# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Members of bonds, by plain calls."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.links.bonds import bond_members

RAIL: t.Any = {"device": "mlx5_bond_0", "netdev": "bond0", "members": ["ens0", "ens1"]}
PAIR = "02:1c:73:00:00:01"


def member(name: str, **more: t.Any) -> dict[str, t.Any]:
    one = {"bond": "bond0", "mode": "802.3ad", "hash_policy": "layer3+4", "bond_state": "up", "active_aggregator": 1, "partner": PAIR, "member": name}
    one |= {"state": "up", "mbit_s": 400000, "aggregator": 1, "actor_churn": "none", "partner_churn": "none", "actor_state": 61, "partner_state": 61}
    return {**one, "partner_system": PAIR, **more}


def found(*rows: dict[str, t.Any]) -> list[tuple[str, str]]:
    return [(one.where.text, one.actual) for one in bond_members(list(rows), [RAIL], [])]


def test_a_member_in_step_carries_traffic_though_the_kernel_still_calls_it_churned() -> None:
    # Linux leaves the word where a port came into step after a minute, as of a leaf that booted.
    assert found(member("ens0"), member("ens1", actor_churn="churned", partner_churn="churned")) == []


def test_a_member_that_is_not_in_step_is_named_and_for_how_long() -> None:
    words = "not in step, collecting and distributing (partner state 5)"
    assert found(member("ens0"), member("ens1", partner_state=5)) == [("bond0 ens1", words)]
    assert found(member("ens0"), member("ens1", partner_state=5, partner_churn="churned")) == [("bond0 ens1", f"{words}, for over a minute (churned)")]
