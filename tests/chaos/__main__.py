# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many seeds by hand: ``python -m tests.chaos 1000`` runs seeds 0 to 999, ``python -m tests.chaos 40 60`` those from 40 on.

One seed in ``PROCESS_EVERY`` runs playbooks, the others need no processes. Small disks need root.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from concurrent.futures import ProcessPoolExecutor

from .outcomes import Outcome, table
from .running import run_number


def main(first: int, beyond: int, workers: int) -> int:
    """Run each seed; the exit status says whether nothing was wrong with any of them."""
    found: list[Outcome] = []
    numbers = range(first, beyond)
    if workers > 1:
        with ProcessPoolExecutor(workers) as pool:
            found += map(_shown, pool.map(run_number, numbers))
    else:
        # An interrupt ends the series, and what there was is counted.
        with contextlib.suppress(KeyboardInterrupt):
            for number in numbers:
                found.append(_shown(run_number(number)))
    bad = sum(bool(one.wrong) for one in found)
    print(*table(found), f"{len(found)} seeds, {bad} of them bad, {sum(one.seconds for one in found):.0f} s", sep="\n")
    return int(bad > 0)


def _shown(one: Outcome) -> Outcome:
    print(f"{'BAD' if one.wrong else 'ok '} {one.words} -> {', '.join(one.verdicts)} ({one.seconds:.1f} s)", *one.wrong, sep="\n     ", flush=True)
    return one


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("numbers", nargs="*", type=int, default=[100], help="how many seeds, or the first and the one beyond the last")
    parser.add_argument("--workers", type=int, default=1, help="processes that run seeds side by side")
    given = parser.parse_args()
    sys.exit(main(*([0, *given.numbers] if len(given.numbers) == 1 else given.numbers[:2]), given.workers))
