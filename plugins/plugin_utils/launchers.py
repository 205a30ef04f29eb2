# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How ranks are started: the argument lists of every launcher. Nothing is a shell's string, and no variable is given that is not named here."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

# Beside each program on a host lie the modules that it stands on; ``{name}`` is where the load engine has put a program.
BESIDE = {"torch_collectives": ("ranks", "one_rank"), "training_step": ("ranks", "one_rank", "small_gpt")}
# What a process needs of the launcher's own environment to find its libraries.
KEPT = ("PATH", "LD_LIBRARY_PATH", "HOME")
LAUNCHERS = ("torchrun_ssh", "srun", "mpirun", "kubernetes")


@dataclass(frozen=True)
class Launch:
    """What is started over some hosts.

    hosts: their names or addresses as the launcher wants them, the first is where it is started; ranks: of each host;
    variables: what every rank gets; arguments: the site's own, of the launcher.
    """

    hosts: tuple[str, ...]
    ranks: int
    variables: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


def program(name: str, python: str, options: t.Mapping[str, t.Any], variables: t.Mapping[str, str]) -> list[str]:
    """One of the collection's programs of ranks, as each host starts it."""
    words = [python, "-W", "ignore", f"{{{name}}}"]
    for option, value in options.items():
        words += [f"--{option}"] if value is True else [] if value in (None, False) else [f"--{option}", str(value)]
    for variable, value in variables.items():
        words += ["--variable", f"{variable}={value}"]
    return words


def by_ssh(name: str, python: str, launch: Launch, index: int, address: str, port: int, options: t.Mapping[str, t.Any]) -> list[str]:
    """The command of one host of several that start their own ranks: as torchrun does, each is told its place and where all meet."""
    place = {"host-index": index, "hosts": len(launch.hosts), "ranks-per-host": launch.ranks, "master": f"{address}:{port}"}
    return program(name, python, {**place, **options}, launch.variables)


def started(launcher: str, argv: t.Sequence[str], launch: Launch, one_a_host: bool = False) -> list[str]:
    """A command that a launcher starts on all hosts, once for each rank, or once a host for what starts its own ranks.

    Raises ValueError for a launcher that starts nothing by itself.
    """
    tasks = 1 if one_a_host else launch.ranks
    if launcher == "srun":
        return _srun(argv, launch, tasks)
    if launcher in ("mpirun", "kubernetes"):
        return _mpirun(argv, launch, tasks)
    raise ValueError(f"argument 'launcher' must be one of srun, mpirun and kubernetes, not {launcher!r}")


def _srun(argv: t.Sequence[str], launch: Launch, tasks: int) -> list[str]:
    count = len(launch.hosts)
    # Values may hold commas, which --export would cut: env gives them instead.
    given = [f"{name}={value}" for name, value in launch.variables.items()]
    return [
        "srun", f"--nodes={count}", f"--ntasks={count * tasks}", f"--ntasks-per-node={tasks}", f"--nodelist={','.join(launch.hosts)}",
        f"--export={','.join(KEPT)}", "--kill-on-bad-exit=0", "--wait=0", *launch.arguments, *(["env", *given] if given else []), *argv,
    ]  # fmt: skip


def _mpirun(argv: t.Sequence[str], launch: Launch, tasks: int) -> list[str]:
    """Open MPI, of version 4 and 5."""
    words = ["mpirun", "--host", ",".join(f"{host}:{tasks}" for host in launch.hosts), "-np", str(len(launch.hosts) * tasks), "--map-by", f"ppr:{tasks}:node"]
    for name in KEPT[:2]:
        words += ["-x", name]
    for name, value in launch.variables.items():
        words += ["-x", f"{name}={value}"]
    return [*words, *launch.arguments, *argv]


def in_pod(namespace: str, pod: str, container: str | None, argv: t.Sequence[str]) -> list[str]:
    """A command inside of a pod of Kubernetes."""
    return ["kubectl", "exec", "--namespace", namespace, pod, *(["--container", container] if container else []), "--", *argv]


def nccl_tests(directory: str, collective: str, first: int, last: int, factor: int, gpus: int, iterations: int, document: str | None = None) -> list[str]:
    """One program of nccl-tests or rccl-tests with validation; gpus: of one process; document: where its JSON goes, in versions that have it."""
    name = {"all_to_all": "alltoall"}.get(collective, collective)
    words = [f"{directory.rstrip('/')}/{name}_perf", "-b", str(first), "-e", str(last), "-f", str(factor), "-g", str(gpus), "-n", str(iterations), "-c", "1"]
    return [*words, *(["-J", document] if document else [])]
