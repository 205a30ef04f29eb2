# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print the faults and variants that ``-e simulated_faults=NAME[,NAME]`` puts in force."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

HERE = Path(__file__).parent


def main() -> int:
    """Print each name and description."""
    for folder in ("faults", "faults_infiniband", "variants"):
        print(f"{folder}:")
        for path in sorted((HERE / folder).glob("*.yml")):
            print(f"  {path.stem:<28}{yaml.safe_load(path.read_text(encoding='utf-8'))['description']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
