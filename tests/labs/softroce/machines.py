# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two emulated machines with eight Soft-RoCE rails each, joined rail by rail. See README.md."""

from __future__ import annotations

import argparse
import os
import sys
import time
import typing as t
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3])]

from tests.labs.softroce import image, keeper  # noqa: E402
from tests.labs.softroce.lab import Lab  # noqa: E402
from tests.labs.softroce.shape import HOSTS, RAILS  # noqa: E402
from tests.labs.standing import LabError  # noqa: E402


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="machines.py", description=__doc__)
    verbs = top.add_subparsers(dest="verb", required=True)
    verbs.add_parser("build", help="build the machines' image where it is not kept, and say where it is")

    def verb(name: str, words: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=words)
        added.add_argument("--name", default="softroce", help="which lab, where there are several (default: softroce)")
        return added

    for name, words in (("up", "start both machines and wait until every rail is whole"), ("keep", "be the lab's keeper, as up starts it")):
        start = verb(name, words)
        start.add_argument("--owner", type=int, help="process with which the lab ends")
        start.add_argument("--minutes", type=float, default=480, help="after which the lab ends by itself (default: 480)")
    verb("end", "end a lab, also after a crash")
    verb("wait", "wait until every rail is whole")
    verb("status", "say what is wrong with which machine; exit status 1 where anything is")
    verb("heal", "undo what was done to the rails")
    for name, words in (("shape", "let a rail send no more than so much"), ("loss", "let a rail lose so much"), ("down", "pull a rail's cable")):
        fault = verb(name, words)
        fault.add_argument("rail", type=int, choices=range(RAILS))
        if name == "loss":
            fault.add_argument("percent", type=float)
        if name != "down":
            fault.add_argument("mbit_s", type=float, help="in Mbit/s")
            fault.add_argument("--host", choices=HOSTS, action="append", default=[], help="who sends so (default: both)")
    verb("reboot", "boot a machine again, with its disk as it is").add_argument("host", choices=HOSTS)
    run = verb("exec", "run a command on a machine")
    run.add_argument("host", choices=HOSTS)
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


def do_build(_options: argparse.Namespace) -> str:
    return str(image.image())


def do_up(options: argparse.Namespace) -> str:
    lab = keeper.up(options.name, options.owner, options.minutes)
    lab.wait()
    return f"{' and '.join(HOSTS)} are up; inventory: {lab.inventory}"


def do_keep(options: argparse.Namespace) -> int:
    keeper.keep(options.name, options.owner, options.minutes)
    return 0


def do_end(options: argparse.Namespace) -> str:
    keeper.down(options.name)
    return "nothing is left"


def do_wait(options: argparse.Namespace) -> str:
    Lab(options.name).wait()
    return "every rail is whole"


def do_status(options: argparse.Namespace) -> int:
    wrong = keeper.status(Lab(options.name))
    for host in HOSTS:
        print(f"{host:10} {wrong.get(host, 'well')}")
    return int(bool(wrong))


def do_heal(options: argparse.Namespace) -> str:
    Lab(options.name).heal()
    return "every rail is whole"


def do_shape(options: argparse.Namespace) -> str:
    Lab(options.name).shape(options.rail, options.mbit_s, *options.host)
    return "in force"


def do_loss(options: argparse.Namespace) -> str:
    Lab(options.name).lose(options.rail, options.percent, options.mbit_s, *options.host)
    return "in force"


def do_down(options: argparse.Namespace) -> str:
    Lab(options.name).cut(options.rail)
    return "in force"


def do_reboot(options: argparse.Namespace) -> str:
    return f"{options.host} has booted as {Lab(options.name).reboot(options.host)}"


def do_exec(options: argparse.Namespace) -> int:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    os.execvp("ssh", [*Lab(options.name).ssh(options.host), *command])


if __name__ == "__main__":
    sys.exit(main())
