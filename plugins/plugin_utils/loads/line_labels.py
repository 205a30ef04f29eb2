# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The labels that launchers put before each line of a process (pdsh, mpirun --tag-output, srun -l)."""

from __future__ import annotations

import re
import typing as t


class Label(t.NamedTuple):
    """What a launcher puts before a line.

    Its groups are task, the number of the process, and host; counted: whether it is one only where most lines have it.
    """

    pattern: re.Pattern[str]
    counted: bool = False


_CLOCK = r"^(?:\w{3} \w{3} +\d+ [\d:]{8} \d{4} ?)?"
# Taken off before what a program prints itself, such as the rank of PyTorch.
LABELS: tuple[Label, ...] = (
    # Open MPI: the job and the process, of its release 5 also the host and the process's number there, of SageMaker the host's name in it.
    Label(re.compile(rf"{_CLOCK}\[(?:[\w.-]+@)?\d+,(?:mpirank:)?(?P<task>\d+)(?:,[\w.-]+)?\](?:\[(?P<host>[\w.-]+):\d+\])?<std(?:out|err|diag)>: ?")),
    # Horovod's own launcher.
    Label(re.compile(rf"{_CLOCK}\[(?P<task>\d+)\]<std(?:out|err)>: ?")),
    # torchrun --tee: the number of the rank on its host.
    Label(re.compile(r"^\[default\d+\]: ?")),
    # Ray: what runs, and where it is not the host that prints it the address.
    Label(re.compile(r"^(?:\x1b\[\d+m)?\((?:[\w.:<>-]+ )?pid=\d+(?:, ip=(?P<host>[\w.]+))?\)(?:\x1b\[0m)? ?")),
    # kubectl logs --prefix.
    Label(re.compile(r"^\[pod/(?P<host>[\w.-]+)/[\w.-]+\] ")),
    # docker compose, and schedulers of containers.
    Label(re.compile(r"^(?P<host>(?:\d+\.)?[A-Za-z][\w.-]*\d) +\| "), counted=True),
    # Slurm: the number of the task, in as many columns as the largest one has. A time of day has no space behind the colon.
    Label(re.compile(r"^ {0,6}(?P<task>\d{1,7}):(?: |$)"), counted=True),
    # MPICH and Intel MPI (-l, -prepend-rank).
    Label(re.compile(r"^\[(?P<task>\d{1,7})\] "), counted=True),
)
BY_SRUN = re.compile(r"^(?:srun|slurmstepd\S*|salloc|sbatch|\+)[: ]")
# What pdsh and clush put before each line that a host printed, and of these the names by which a job may know no host.
_ADDRESS = r"(?:\d{1,3}\.){3}\d{1,3}"
_NAME = rf"(?P<host>[A-Za-z][\w.-]*|{_ADDRESS})"
BY_NAME = re.compile(rf"^{_NAME}:(?: |$|(?=\[))")
# The same of a line of PyTorch.
BEFORE_A_RANK = re.compile(rf"^{_NAME}: ?(?=\[\w*rank\s?\d+\]:)")
IS_ADDRESS = re.compile(_ADDRESS)
# How NCCL, and UCX and Open MPI, begin their lines: with the host and the number of the process.
OF_A_PROCESS = re.compile(r"(?:\[[\d.]+\] )?(?:(?P<nccl>[A-Za-z][\w.-]*):\d+:\d+ \[\d+\] |\[(?P<other>[A-Za-z][\w.-]*):\d+ *(?::\d+)*\] )")
OF_A_RANK = re.compile(r"^\[\w*rank\s?(?P<rank>\d+)\]: ?")
# Whatever else stands before the rank of PyTorch: up to three names or times, of which one has a number (stern, docker logs -t, kubectl logs --timestamps).
_WORD = r"(?:[^\s\[\]]{1,80}|\[[^\s\[\]]{1,80}\])"
ANY_BEFORE_A_RANK = re.compile(
    r"^(?!\[\w*rank\s?\d+\]:)(?=[^\n]{0,240}?\d[^\n]{0,240}?\[\w*rank)"
    rf"(?P<words>{_WORD}(?: {_WORD}){{0,2}}) ?(?=\[\w*rank\s?\d+\]:)"
)


class Labelled(t.NamedTuple):
    """A line without its label; task, host: what the label has, each None where it has none; before: what else stood before the rank of PyTorch."""

    task: int | None
    host: str | None
    line: str
    before: str = ""


def known_host(name: str, hosts: t.Container[str]) -> str | None:
    """The host of a job by a name that may have the domain behind it."""
    return next((short for at, one in enumerate(f"{name}.") if one == "." and (short := name[:at]) in hosts), None)


def named_process(line: str) -> str | None:
    """The host that NCCL, UCX or Open MPI name with their process at the beginning of a line; None of any other line."""
    found = OF_A_PROCESS.match(line)
    return found["nccl"] or found["other"] if found else None


def of_host(line: str, names: t.Container[str]) -> tuple[str | None, str]:
    """The name of the host that is before a line, None of none, and the line behind it; names: those that are put before lines."""
    found = BY_NAME.match(line)
    return (found["host"], line[found.end() :]) if found and found["host"] in names else (None, line)


def labelled(text: str, names: t.Container[str] = ()) -> list[Labelled]:
    """The lines of a text without the labels of launchers; names: those that are put before lines."""
    lines = [of_host(line, names) for line in text.splitlines()]
    of_processes = [line for _host, line in lines if line.strip() and not BY_SRUN.match(line)]
    labels = [one.pattern for one in LABELS if not one.counted or 2 * sum(one.pattern.match(line) is not None for line in of_processes) > len(of_processes)]
    return [_labelled(host, line, labels) for host, line in lines]


def _labelled(host: str | None, line: str, labels: t.Iterable[re.Pattern[str]]) -> Labelled:
    found = next((match for pattern in labels if (match := pattern.match(line))), None)
    if found is None:
        other = ANY_BEFORE_A_RANK.match(line)
        return Labelled(None, host, line[other.end() :], other["words"]) if other else Labelled(None, host, line)
    parts = found.groupdict()
    return Labelled(int(parts["task"]) if parts.get("task") else None, parts.get("host") or host, line[found.end() :])


def unlabelled(text: str) -> str:
    """A text without the labels of launchers."""
    return "".join(f"{one.line}\n" for one in labelled(text))
