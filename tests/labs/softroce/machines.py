# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two emulated machines with eight Soft-RoCE rails each, joined rail by rail. See README.md."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3])]

from tests.labs.commands import CommandLine, Options, result, within  # noqa: E402
from tests.labs.softroce import image, keeper  # noqa: E402
from tests.labs.softroce.lab import Lab  # noqa: E402
from tests.labs.softroce.shape import HOSTS, RAILS  # noqa: E402


def command_line() -> CommandLine:
    """The verbs."""
    line = CommandLine("machines.py", __doc__, "softroce")
    line.starts(up, keep, "start both machines and wait until every rail is whole")
    line.verb("build", "build the machines' image where it is not kept, and say where it is", build)
    line.verb("end", "end a lab, also after a crash", end)
    line.verb("wait", "wait until every rail is whole", wait)
    line.verb("status", "say what is wrong with which machine; exit status 1 where anything is", status)
    line.verb("heal", "undo what was done to the rails", heal)
    shaped = line.verb("shape", "let a rail send no more than so much", shape)
    lossy = line.verb("loss", "let a rail lose so much", loss)
    pulled = line.verb("down", "pull a rail's cable", down)
    for fault in (shaped, lossy, pulled):
        fault.add_argument("rail", type=int, choices=range(RAILS))
    lossy.add_argument("percent", type=float)
    for fault in (shaped, lossy):
        fault.add_argument("mbit_s", type=float, help="in Mbit/s")
        fault.add_argument("--host", choices=HOSTS, action="append", default=[], help="who sends so (default: both)")
    line.verb("reboot", "boot a machine again, with its disk as it is", reboot).add_argument("host", choices=HOSTS)
    run = line.verb("exec", "run a command on a machine", execute)
    run.add_argument("host", choices=HOSTS)
    run.add_argument("command", nargs=argparse.REMAINDER)
    return line


def build(_options: Options) -> str:
    return str(image.image())


def up(options: Options) -> str:
    lab = keeper.up(options.name, options.owner, options.minutes)
    lab.wait()
    return f"{' and '.join(HOSTS)} are up; inventory: {lab.inventory}"


def keep(options: Options) -> int:
    keeper.keep(options.name, options.owner, options.minutes)
    return 0


def end(options: Options) -> str:
    keeper.down(options.name)
    return "nothing is left"


def wait(options: Options) -> str:
    Lab(options.name).wait()
    return "every rail is whole"


def status(options: Options) -> int:
    return result(keeper.status(Lab(options.name)), HOSTS)


def heal(options: Options) -> str:
    Lab(options.name).heal()
    return "every rail is whole"


def shape(options: Options) -> str:
    Lab(options.name).shape(options.rail, options.mbit_s, *options.host)
    return "in force"


def loss(options: Options) -> str:
    Lab(options.name).lose(options.rail, options.percent, options.mbit_s, *options.host)
    return "in force"


def down(options: Options) -> str:
    Lab(options.name).cut(options.rail)
    return "in force"


def reboot(options: Options) -> str:
    return f"{options.host} has booted as {Lab(options.name).reboot(options.host)}"


def execute(options: Options) -> int:
    os.execvp("ssh", [*Lab(options.name).ssh(options.host), *within(options)])


if __name__ == "__main__":
    sys.exit(command_line().run())
