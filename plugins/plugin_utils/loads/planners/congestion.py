# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loads of layer 3: incasts on all rails of all sets at once, a round after the other."""

from __future__ import annotations

from ...text.counting import counted
from ..incasts import Incasts, plan_incasts
from ..perftest import perftest_options
from ..schedule import Schedule, StepInput
from ._pairs import Slots, rails


def plan_congestion(situation: StepInput) -> Schedule | None:
    """All rounds in one step; counters are sampled meanwhile."""
    if situation.step > 0:
        return None
    planned = of_situation(situation)
    values = situation.values
    slots = Slots(situation)
    for number in range(1, planned.rounds + 1):
        pairs = [pair for pair in planned.pairs if pair["round"] == number]
        test = perftest_options(values, seconds=values["pod_incast_seconds"], bidirectional=False)
        slots.add(
            f"incast {number}", number, [(pair["sender"], pair["receiver"]) for pair in pairs], "write_bw", test, kind="incast",
            queue_pairs=[pair["qps"] for pair in pairs],
        )  # fmt: skip
    words = [f"{group}: {why}" for group, why in planned.refused.items()]
    if planned.pairs:
        groups = counted(len({pair["group"] for pair in planned.pairs}), "gate group")
        offered = f"{counted(len(planned.pairs), 'test')} in {counted(planned.rounds, 'round')} of {values['pod_incast_seconds']} s"
        words.insert(0, f"incasts in {groups}, all rails at once: {offered}, at traffic class {values['pod_traffic_class']}")
    schedule = slots.schedule(words)
    schedule.sampled = True
    return schedule


def of_situation(situation: StepInput) -> Incasts:
    """The incasts among the hosts that may be loaded."""
    plan_of = situation.plan
    uplinks = {name: plan_of.planned(name)["pod_uplinks"] for name, node in plan_of.nodes.items() if node.role == "leaf"}
    return plan_incasts(plan_of.groups, rails(situation), plan_of.nodes, uplinks)
