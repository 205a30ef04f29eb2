# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which steps of a workflow AWX runs when some of them do not succeed, by the rules of AWX 24.6.1: its source, and what its jobs showed."""

from __future__ import annotations

import typing as t

# What follows a step that ended in some status.
FOLLOWED = {"successful": ("success", "always"), **dict.fromkeys(("failed", "error", "canceled"), ("failure", "always"))}
Edge = tuple[str, str, str]


def statuses(steps: t.Mapping[str, bool], edges: t.Collection[Edge], ends: t.Mapping[str, str]) -> dict[str, str]:
    """By step the status that it ended in, without those that are left out.

    steps: whether a step wants all of its parents (``all_parents_must_converge``); edges: as (parent, ``success``, ``failure`` or ``always``, child);
    ends: the status in which a step ends if it runs, ``successful`` where it is not named.
    """
    found: dict[str, str | None] = {}
    while len(found) < len(steps):
        decided = len(found)
        for step, wants_all in steps.items():
            parents = {parent for parent, _when, child in edges if child == step}
            if step not in found and parents <= found.keys():
                led = {parent: _leads(edges, parent, step, found[parent]) for parent in parents}
                # A step that wants all takes a canceled parent for one that led to it, whichever edge joins them.
                runs = all(led[parent] or found[parent] in ("canceled", "error") for parent in parents) if wants_all else not parents or any(led.values())
                found[step] = ends.get(step, "successful") if runs else None
        assert len(found) > decided, f"a circle among {steps.keys() - found.keys()}"
    return {step: status for step, status in found.items() if status is not None}


def has_failed(edges: t.Collection[Edge], ended: t.Mapping[str, str]) -> bool:
    """Whether the workflow is shown as failed: a step that did not succeed, and after which nothing follows for that case."""
    handled = {parent for parent, when, _child in edges if when in ("failure", "always")}
    return any(status != "successful" and step not in handled for step, status in ended.items())


def _leads(edges: t.Collection[Edge], parent: str, child: str, status: str | None) -> bool:
    """Whether a parent that ended so leads to a child; one that was left out leads nowhere."""
    return status is not None and any((parent, when, child) in edges for when in FOLLOWED[status])
