# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Clos of real FRR routers in namespaces of this machine, with sshd in every node. See README.md."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3])]

from tests.labs.commands import CommandLine, Options, result, within  # noqa: E402
from tests.labs.frr import life, neighbors  # noqa: E402
from tests.labs.frr.faults import FAULTS  # noqa: E402
from tests.labs.frr.lab import Lab  # noqa: E402
from tests.labs.frr.shape import Shape  # noqa: E402


def command_line() -> CommandLine:
    """The verbs."""
    line = CommandLine("fabric.py", __doc__, "frr")
    for start in line.starts(up, keep, "start a lab and wait until it routes"):
        start.add_argument("--shape", type=Shape.parse, default=Shape(), help="SPINESxLEAVESxHOSTS (default: 4x8x4); 0x0x12 is 12 plain machines with sshd")
    line.verb("down", "end a lab, also after a crash", down)
    line.verb("wait", "wait until every session is up and every path is there", wait)
    line.verb("lldp", "start lldpd in every node, for discover.yml, and wait until each has its neighbors", lldp)
    line.verb("status", "say what is wrong with which node; exit status 1 where anything is", status)
    for verb, words, do in (("inject", "put a fault in force", inject), ("heal", "take a fault back", heal)):
        line.verb(verb, words, do).add_argument("fault", choices=sorted(FAULTS))
    run = line.verb("exec", "run a command within a node", execute)
    run.add_argument("node")
    run.add_argument("command", nargs=argparse.REMAINDER)
    return line


def up(options: Options) -> str:
    lab = life.up(options.name, options.shape, options.owner, options.minutes)
    lab.wait()
    return f"{len(lab.plan.nodes)} nodes are up; inventory: {lab.inventory}"


def keep(options: Options) -> int:
    life.keep(options.name, options.shape, options.owner, options.minutes)
    return 0


def down(options: Options) -> str:
    life.down(options.name)
    return "nothing is left"


def wait(options: Options) -> str:
    Lab(options.name).wait()
    return "every session is Established, and every path is there"


def lldp(options: Options) -> str:
    lab = Lab(options.name)
    neighbors.speak(lab, list(lab.plan.nodes))
    return "every node has its neighbors by LLDP"


def status(options: Options) -> int:
    lab = Lab(options.name)
    return result(life.status(lab), lab.plan.nodes)


def inject(options: Options) -> str:
    lab, fault = Lab(options.name), FAULTS[options.fault]
    fault.inject(lab)
    fault.in_force(lab)
    return f"in force: {fault.words(lab)}"


def heal(options: Options) -> str:
    lab = Lab(options.name)
    FAULTS[options.fault].heal(lab)
    lab.wait()
    return "healed"


def execute(options: Options) -> int:
    os.execvp("nsenter", [*Lab(options.name).enter(options.node), *(within(options) or ["bash"])])


if __name__ == "__main__":
    sys.exit(command_line().run())
