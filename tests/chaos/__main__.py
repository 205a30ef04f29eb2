# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many seeds by hand: ``python -m tests.chaos 100`` runs seeds 0 to 99, ``python -m tests.chaos 40 60`` those from 40 on. Small disks need root."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from .climbing import seed, withstand


def main(first: int, beyond: int) -> int:
    """Withstand each seed; the exit status says whether all of them were."""
    bad = 0
    for number in range(first, beyond):
        made = seed(number)
        with tempfile.TemporaryDirectory(prefix="chaos-") as directory:
            wrong = withstand(made, Path(directory))
        print(f"{'BAD ' if wrong else 'held'} {made}", *wrong, sep="\n     ", flush=True)
        bad += bool(wrong)
    print(f"{beyond - first} seeds, {bad} of them bad")
    return int(bad > 0)


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:]] or [100]
    sys.exit(main(*([0, *numbers] if len(numbers) == 1 else numbers[:2])))
