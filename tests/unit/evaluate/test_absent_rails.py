# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is missing of a rail that is not there is counted to the finding of the rail."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.absent_rails import name_absent_rails


def record(check: str, rail: str | None, host: str = "gpu01", **more: t.Any) -> t.Any:
    finding = {"host": host, "where": "a place", "rail": rail, "severity": more.pop("severity", "fail"), **more}
    return {"layer": more.pop("layer", "preflight"), "check": check, "host": host, "findings": [finding]}


def renamed(**more: t.Any) -> t.Any:
    return record("rails_present", "mlx5_1", place={"device": "mlx5_1", "of": "netdev"}, **more)


@pytest.mark.parametrize(
    ("of_rail", "other", "counted"),
    [
        (renamed(), record("roce_qos", "mlx5_1", unread=True, severity="unknown"), True),
        (renamed(), record("gid_index", "mlx5_1"), True),
        (renamed(), record("pcie_link", "mlx5_1"), False),
        (renamed(), record("roce_qos", "mlx5_1", severity="unknown"), False),
        (renamed(), record("gid_index", "mlx5_2"), False),
        (renamed(), record("gid_index", "mlx5_1", host="gpu02"), False),
        (renamed(), record("gid_index", None), False),
        (renamed(severity="unknown"), record("gid_index", "mlx5_1"), False),
        # A link that is down leaves addresses where they are, and takes no reading away but that of its own rail.
        (record("rails_present", "mlx5_1"), record("gid_index", "mlx5_1"), False),
        (record("rails_present", "mlx5_1"), record("roce_qos", "mlx5_1", unread=True, severity="unknown"), True),
        (record("rails_present", None), record("roce_qos", None, unread=True, severity="unknown"), False),
    ],
)
def test_what_is_missing_of_a_rail_begins_at_the_rail(of_rail: t.Any, other: t.Any, counted: bool) -> None:
    name_absent_rails([of_rail, other])
    assert other["findings"][0].get("origin") == (("rails_present", "gpu01", "") if counted else None)
    assert "origin" not in of_rail["findings"][0]
