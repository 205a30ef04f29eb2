# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Clos of real FRR routers in namespaces of this machine, with sshd in every node. See README.md."""

from __future__ import annotations

import argparse
import os
import sys
import time
import typing as t
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3])]

from tests.labs.frr import life  # noqa: E402
from tests.labs.frr.faults import FAULTS  # noqa: E402
from tests.labs.frr.lab import Lab  # noqa: E402
from tests.labs.frr.shape import Shape  # noqa: E402
from tests.labs.standing import LabError  # noqa: E402


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="fabric.py", description=__doc__)
    verbs = top.add_subparsers(dest="verb", required=True)

    def verb(name: str, words: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=words)
        added.add_argument("--name", default="frr", help="which lab, where there are several; 8 characters at most (default: frr)")
        return added

    for name, words in (("up", "start a lab and wait until it routes"), ("keep", "be the lab's keeper, as up starts it")):
        start = verb(name, words)
        start.add_argument("--shape", type=Shape.parse, default=Shape(), help="SPINESxLEAVESxHOSTS (default: 4x8x4); 0x0x12 is 12 plain machines with sshd")
        start.add_argument("--owner", type=int, help="process with which the lab ends")
        start.add_argument("--minutes", type=float, default=480, help="after which the lab ends by itself (default: 480)")
    verb("down", "end a lab, also after a crash")
    verb("wait", "wait until every session is up and every path is there")
    verb("status", "say what is wrong with which node; exit status 1 where anything is")
    for name, words in (("inject", "put a fault in force"), ("heal", "take a fault back")):
        verb(name, words).add_argument("fault", choices=sorted(FAULTS))
    run = verb("exec", "run a command within a node")
    run.add_argument("node")
    run.add_argument("command", nargs=argparse.REMAINDER)
    return top


def main(arguments: t.Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit status."""
    options = parser().parse_args(arguments)
    began = time.monotonic()
    try:
        said = globals()[f"do_{options.verb}"](options)
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    if isinstance(said, str):
        print(f"{said} ({time.monotonic() - began:.1f} s)")
        said = 0
    return int(said)


def do_up(options: argparse.Namespace) -> str:
    lab = life.up(options.name, options.shape, options.owner, options.minutes)
    lab.wait()
    return f"{len(lab.plan.nodes)} nodes are up; inventory: {lab.inventory}"


def do_keep(options: argparse.Namespace) -> int:
    life.keep(options.name, options.shape, options.owner, options.minutes)
    return 0


def do_down(options: argparse.Namespace) -> str:
    life.down(options.name)
    return "nothing is left"


def do_wait(options: argparse.Namespace) -> str:
    Lab(options.name).wait()
    return "every session is Established, and every path is there"


def do_status(options: argparse.Namespace) -> int:
    lab = Lab(options.name)
    wrong = life.status(lab)
    for node in lab.plan.nodes:
        print(f"{node:10} {wrong.get(node, 'well')}")
    return int(bool(wrong))


def do_inject(options: argparse.Namespace) -> str:
    lab, fault = Lab(options.name), FAULTS[options.fault]
    fault.inject(lab)
    fault.in_force(lab)
    return f"in force: {fault.words(lab)}"


def do_heal(options: argparse.Namespace) -> str:
    lab = Lab(options.name)
    FAULTS[options.fault].heal(lab)
    lab.wait()
    return "healed"


def do_exec(options: argparse.Namespace) -> int:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    os.execvp("nsenter", [*Lab(options.name).enter(options.node), *(command or ["bash"])])


if __name__ == "__main__":
    sys.exit(main())
