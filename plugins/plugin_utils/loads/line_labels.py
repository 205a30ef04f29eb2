# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The labels that launchers put before each line of a process (mpirun --tag-output, srun -l), and the ranks whose errors other ranks print."""

from __future__ import annotations

import re
import typing as t

# Open MPI: the job and the process, behind the time where that is asked for.
TAG = re.compile(r"^(?:\w{3} \w{3} +\d+ [\d:]{8} \d{4} ?)?\[(?:[\w.-]+@)?\d+,(?P<task>\d+)\]<std(?:out|err|diag)>: ?")
# Slurm: the number of the task, in as many columns as the largest one has. A time of day has no space behind the colon.
LABEL = re.compile(r"^ {0,6}(?P<task>\d{1,7}):(?: |$)")
BY_SRUN = re.compile(r"^(?:srun|slurmstepd\S*|salloc|sbatch|\+)[: ]")
# On which host tasks were, where srun says how they ended.
ENDED = re.compile(r"(?m)^srun: error: (?P<host>[A-Za-z][\w.-]*): tasks? (?P<tasks>[\d,-]+): ")
OF_A_RANK = re.compile(r"^\[\w*rank\s?\d+\]: ?")
# PyTorch's checkpoints hand the error of a rank to all others, which print it with its number.
QUOTED = re.compile(r"Traceback \(most recent call last\): \(RANK (?P<rank>\d+)\)")


class Labelled(t.NamedTuple):
    """A line without its label; task: the number that the label has, None of a line without one."""

    task: int | None
    line: str


def labelled(text: str) -> list[Labelled]:
    """The lines of a text without the labels of launchers; numbers are labels only where most lines have one."""
    lines = text.splitlines()
    of_processes = [line for line in lines if line.strip() and not BY_SRUN.match(line)]
    numbered = 2 * sum(LABEL.match(line) is not None for line in of_processes) > len(of_processes)
    return [_labelled(line, TAG.match(line) or (LABEL.match(line) if numbered else None)) for line in lines]


def _labelled(line: str, label: re.Match[str] | None) -> Labelled:
    return Labelled(int(label["task"]), line[label.end() :]) if label else Labelled(None, line)


def unlabelled(text: str) -> str:
    """A text without the labels of launchers."""
    return "".join(f"{one.line}\n" for one in labelled(text))


def in_ranks(text: str, hosts: int) -> str:
    """A text whose lines begin with what launchers and PyTorch call host and rank (``gpu03: [rank18]: ``) where the labels tell these.

    hosts: how many there are; tasks of no more than that are one a host, and start the ranks.
    """
    lines = labelled(text)
    of_tasks = {task: found["host"] for found in ENDED.finditer(text) for task in _numbers(found["tasks"])}
    are_ranks = max((one.task for one in lines if one.task is not None), default=-1) >= hosts
    return "".join(f"{line if task is None else _of_task(task, line, of_tasks.get(task), are_ranks)}\n" for task, line in lines)


def _of_task(task: int, line: str, host: str | None, is_rank: bool) -> str:
    rank = f"[rank{task}]: " if is_rank and line.strip() and not OF_A_RANK.match(line) else ""
    return f"{host}: {rank}{line}" if host else f"{rank}{line}"


def _numbers(ranges: str) -> t.Iterator[int]:
    """The numbers of ranges such as ``16-18,23``."""
    for part in filter(None, ranges.split(",")):
        first, _dash, last = part.partition("-")
        yield from range(int(first or 0), int(last or first or 0) + 1)


def of_quoted_ranks(text: str) -> str:
    """A text in which the lines of an error that ranks hand to each other begin with the rank that met it, and not with the one that prints it."""
    lines, rank = [], None
    for line in text.splitlines():
        found = QUOTED.search(line)
        if found or rank is None:
            lines.append(line)
            rank = found["rank"] if found else None
            continue
        own = OF_A_RANK.sub("", line)
        lines.append(f"[rank{rank}]: {own}")
        # What is not indented is the error itself, after which others follow.
        rank = rank if own[:1].isspace() else None
    return "".join(f"{line}\n" for line in lines)
