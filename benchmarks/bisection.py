# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many launches the ladder takes to name every bad host, and whether it names a wrong one: pods of 232, 512 and 2048 hosts, 1 to 40 bad ones."""

from __future__ import annotations

import random
import sys
import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.bisection import Group
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.scaling_ladder import next_step

SIZES = (232, 512, 2048)
BAD = (1, 2, 5, 8, 12, 20, 40)
SEEDS = 10


class Outcome(t.NamedTuple):
    """What one ladder came to: launches, bad hosts that it did not name, good ones that it named, and the largest group that passed."""

    launches: int
    missed: int
    wrong: int
    together: int


def climb(hosts: int, bad: int, seed: int) -> Outcome:
    """One ladder over a pod with some bad hosts, each of which makes every group slow that it is in."""
    order = [f"h{number:04}" for number in range(hosts)]
    ill = frozenset(random.Random(f"{seed} {bad}").sample(order, bad))
    measured: dict[Group, bool] = {}
    launches = searches = 0
    while (step := next_step(order, measured, searches)).groups:
        measured |= {group: not ill & group for group in step.groups}
        launches, searches = launches + 1, searches + (not step.rung)
    named = set(step.found.hosts) if step.found is not None else set()
    return Outcome(launches, len(ill - named), len(named - ill), max((len(group) for group, passed in measured.items() if passed), default=1))


def main() -> None:
    """The sizes given, or all of them."""
    for hosts in [int(word) for word in sys.argv[1:]] or SIZES:
        for bad in BAD:
            found = [climb(hosts, bad, seed) for seed in range(SEEDS)]
            launches, missed, wrong = max(one.launches for one in found), sum(one.missed for one in found), sum(one.wrong for one in found)
            together = min(one.together for one in found)
            print(f"{hosts} hosts, {bad} bad: at most {launches} launches, {missed} not named, {wrong} wrongly named, {together} hosts together", flush=True)


if __name__ == "__main__":
    main()
