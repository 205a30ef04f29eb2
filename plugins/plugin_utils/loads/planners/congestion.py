# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loads of layer 3: incasts on all rails of all sets at once, a round after the other, then across gate groups."""

from __future__ import annotations

from ...text.counting import counted
from ..incasts import ACROSS, INCAST, incasts_among
from ..perftest import perftest_options
from ..schedule import Schedule, StepInput
from ._pairs import Slots, rails


def plan_congestion(situation: StepInput) -> Schedule | None:
    """All rounds in one step; counters are sampled meanwhile."""
    if situation.step > 0:
        return None
    planned = incasts_among(situation.plan, rails(situation))
    values = situation.values
    slots = Slots(situation)
    for number in range(1, planned.rounds + 1):
        pairs = [pair for pair in planned.pairs if pair["round"] == number]
        test = perftest_options(values, seconds=pairs[0]["seconds"], bidirectional=False)
        kind = ACROSS if pairs[0]["across"] else INCAST
        slots.add(
            f"incast {number}", number, [(pair["sender"], pair["receiver"]) for pair in pairs], "write_bw", test, kind=kind,
            queue_pairs=[pair["qps"] for pair in pairs],
        )  # fmt: skip
    words = [f"{group}: {why}" for group, why in planned.refused.items()]
    if planned.not_across:
        words.insert(0, f"no incast crosses gate groups: {planned.not_across}")
    for where, across in (("across", True), ("in", False)):
        pairs = [pair for pair in planned.pairs if pair["across"] == across]
        if pairs:
            groups = counted(len({pair["group"] for pair in pairs}), "gate group")
            rounds = counted(len({pair["round"] for pair in pairs}), "round")
            offered = f"{counted(len(pairs), 'test')} in {rounds} of {pairs[0]['seconds']} s"
            what = "all rails at once" if not across else "over the spines"
            words.insert(0, f"incasts {where} {groups}, {what}: {offered}, at traffic class {values['pod_traffic_class']}")
    schedule = slots.schedule(words)
    schedule.sampled = True
    return schedule
