# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of a lab that stands until it is ended: its verbs, and what each prints."""

from __future__ import annotations

import argparse
import sys
import time
import typing as t

from .standing import LabError

Options = argparse.Namespace


class CommandLine:
    """Verbs, each with what it does: it returns the words that are printed with its seconds, or an exit status."""

    def __init__(self, prog: str, words: str | None, name: str) -> None:
        self.name, self.top = name, argparse.ArgumentParser(prog=prog, description=words)
        self.verbs = self.top.add_subparsers(dest="verb", required=True)

    def verb(self, verb: str, words: str, do: t.Callable[[Options], str | int]) -> argparse.ArgumentParser:
        """A verb that takes the name of a lab."""
        added = self.verbs.add_parser(verb, help=words)
        added.add_argument("--name", default=self.name, help=f"which lab, where there are several (default: {self.name})")
        added.set_defaults(do=do)
        return added

    def starts(self, up: t.Callable[[Options], str], keep: t.Callable[[Options], int], words: str) -> tuple[argparse.ArgumentParser, ...]:
        """The verbs ``up`` and ``keep``."""
        both = self.verb("up", words, up), self.verb("keep", "be the lab's keeper, as up starts it", keep)
        for start in both:
            start.add_argument("--owner", type=int, help="process with which the lab ends")
            start.add_argument("--minutes", type=float, default=480, help="after which the lab ends by itself (default: 480)")
        return both

    def run(self, arguments: t.Sequence[str] | None = None) -> int:
        """Do what the command line says; returns the exit status."""
        options = self.top.parse_args(arguments)
        began = time.monotonic()
        try:
            output = options.do(options)
        except LabError as error:
            print(error, file=sys.stderr)
            return 1
        if isinstance(output, str):
            print(f"{output} ({time.monotonic() - began:.1f} s)")
            return 0
        return int(output)


def within(options: Options) -> list[str]:
    """The command that ``exec`` was given."""
    return options.command[1:] if options.command[:1] == ["--"] else options.command


def result(wrong: t.Mapping[str, str], nodes: t.Iterable[str]) -> int:
    """Print what is wrong with which node; returns the exit status."""
    for node in nodes:
        print(f"{node:10} {wrong.get(node, 'well')}")
    return int(bool(wrong))
