# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print the faults and variants that ``-e simulated_faults=NAME[,NAME]`` puts in force."""

from __future__ import annotations

import math
import sys
import typing as t
from pathlib import Path

import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.yaml_text import from_yaml

HERE = Path(__file__).parent


def _options(fault: dict[str, t.Any]) -> str:
    """What a run needs besides the fault, to be copied into ARGS='...': without it, nothing checks what is broken. A variant is healthy, and a run goes
    to the last layer."""
    expectations = fault.get("expectations", {}) if "expect" in fault else {}
    needed = {name: value for name, value in expectations.items() if name != "pod_to_layer"}
    return f' Needs -e "{yaml.safe_dump(needed, default_flow_style=True, width=math.inf).strip()}"' if needed else ""


def main() -> int:
    """Print each name and description, and the options without which a fault breaks nothing that is checked."""
    for folder in ("faults", "faults_infiniband", "faults_nvl72", "variants"):
        print(f"{folder}:")
        paths = sorted((HERE / folder).glob("*.yml"))
        width = max(len(path.stem) for path in paths)
        for path in paths:
            fault = from_yaml(path.read_text(encoding="utf-8"))
            print(f"  {path.stem:<{width}}  {fault['description']}{_options(fault)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
