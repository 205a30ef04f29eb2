# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the verdicts of a report come to, for tests of a pod in which nothing is wrong."""

from __future__ import annotations

import typing as t


def not_passed(report: t.Mapping[str, t.Any]) -> list[tuple[t.Any, ...]]:
    """What is neither a pass nor a skip: the check, its host, its words and its findings."""
    return [(one["check"], one["host"], one["words"], one["findings"]) for one in report["verdicts"] if one["verdict"] not in ("pass", "skip")]


def proved(report: t.Mapping[str, t.Any]) -> set[tuple[str, str | None]]:
    """What passed: check and host."""
    return {(one["check"], one["host"]) for one in report["verdicts"] if one["verdict"] == "pass"}
