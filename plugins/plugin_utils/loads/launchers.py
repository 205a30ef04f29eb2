# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How ranks are started: the argument lists of every launcher. Nothing is a shell's string, and no variable is given that is not named here."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .perftest_errors import CONSEQUENCE, KnownError, KnownErrors

Wrap = t.Callable[[list[str]], list[str]]
# Beside each program on a host lie the modules that it stands on; ``{name}`` is where the load engine has put a program.
PROGRAM_MODULES = {
    "torch_collectives": ("ranks", "one_rank", "flight_recorder", "nccl_ras", "settings_in_force", "launched", "gpu_copies", "tensor_cores"),
    "training_step": ("ranks", "one_rank", "flight_recorder", "nccl_ras", "settings_in_force", "launched", "small_gpt", "tensor_cores"),
}
# What a process needs of the launcher's own environment to find its libraries.
KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "HOME")
# Each host starts its own, over whatever connection the inventory has; what starts those of all from one host.
STARTED_ON_EACH_HOST = ("torchrun_ssh", "kubernetes")
STARTED_FROM_ONE_HOST = ("srun", "mpirun")
# What a login may set that changes what a collective does: a run of nccl-tests has what it is given, and none of these.
FORCED_PREFIXES = ("NCCL_", "RCCL_")
# What every process of a load carries, as ``detached.py`` gives it to those that it starts itself.
LOAD_MARK = {"GPUFABRIC_PYRAMID_LOAD": "{place}"}
# How long srun may wait for its nodes: a node that is drained or busy is reported, not waited for.
QUEUED_SECONDS = 10
# What launchers say where they start nothing, or end early: none of it concerns the network.
LAUNCHER_ERRORS: KnownErrors = (
    KnownError("unknown", r"Required node not available", "a node that was asked of Slurm is down, drained or reserved: see sinfo -R"),
    KnownError("unknown", r"Invalid account or account/partition|Invalid partition|Invalid qos", "Slurm refuses the account, partition or QOS of the job"),
    KnownError("unknown", r"[Nn]ode failure on|NODE_FAIL", "a node failed while Slurm ran the job"),
    KnownError("unknown", r"No route to host|Connection timed out|Connection refused", "a host is not reached by the one that starts the ranks"),
    KnownError("unknown", r"Memory required by task is not available", "Slurm has not the memory in this job that the step asks for"),
    KnownError("unknown", r"Immediate execution impossible|Requested nodes are busy", "Slurm did not give the nodes in time: they are busy, drained or down"),
    KnownError("unknown", r"Invalid node name|invalid node name", "Slurm knows no node of that name: set pod_scheduler_node"),
    KnownError(
        "unknown",
        r"Could not establish a configuration source|Unable to establish controller|resolve_ctls_from_dns_srv",
        "this host has no configuration of Slurm",
    ),
    KnownError("unknown", r"Unable to contact slurm controller", "Slurm's controller does not answer"),
    KnownError("unknown", r"Unable to allocate resources|Unable to create step|Job submit/allocate failed", "Slurm refuses the job"),
    KnownError(
        "unknown", r"attempt to run as root|mpirun as root", "mpirun refuses root: give --allow-run-as-root in pod_mpirun_arguments, or connect as another user"
    ),
    KnownError("unknown", r"Host key verification failed", "the key of a host is not known to the one that starts the ranks"),
    KnownError("unknown", r"Permission denied \(", "a host refuses the one that starts the ranks"),
    KnownError("unknown", r"Could not resolve hostname", "the name of a host is not known to the one that starts the ranks: set pod_bootstrap_address"),
    KnownError("unknown", r"not enough slots available", "mpirun has fewer slots than ranks"),
    KnownError("unknown", r"can't open file", "the program is not on a host: its load did not start there, or the launcher's processes have another /tmp"),
    KnownError("unknown", r"agents where \d+ were requested", "the launcher started another number of processes than requested"),
    KnownError(
        "unknown", r"unable to reliably start|daemon has unexpectedly failed|lost communication", "mpirun lost a host, or never reached it", CONSEQUENCE
    ),
    KnownError(
        "unknown",
        r"Job step aborted|Force Terminated|task \d+: (?:Killed|Terminated|Exited)|exited on signal|exited with non-zero",
        "the launcher ended early",
        CONSEQUENCE,
    ),
)


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


def agent_argv(name: str, python: str, launch: Launch, index: int, address: str, port: int, options: t.Mapping[str, t.Any]) -> list[str]:
    """The command of one host of several that start their own ranks: as with torchrun, each is given its place and where all meet."""
    place = {"host-index": index, "hosts": len(launch.hosts), "ranks-per-host": launch.ranks, "master": f"{address}:{port}"}
    return program(name, python, {**place, **options}, launch.variables)


def agent_argv_on_host(name: str, python: str, launch: Launch, index: int, address: str, port: int, document: str, options: t.Mapping[str, t.Any]) -> list[str]:
    """The command of one host whose ranks a launcher starts: it waits for what they report; the first one has the place where all meet."""
    return agent_argv(name, python, launch, index, address, port, {**options, "document": document, "role": "host"})


def agent_argv_by_launcher(
    launcher: str, name: str, python: str, launch: Launch, at: str, document: str, options: t.Mapping[str, t.Any], wrap: Wrap = list
) -> list[str]:  # fmt: skip
    """The command that starts the ranks of all hosts; at: address:port where they meet; which host each one is comes from the launcher.

    wrap: what makes of the command of a host the one that the launcher starts there.
    """
    place = {"hosts": len(launch.hosts), "ranks-per-host": launch.ranks, "master": at, "document": document}
    argv = wrap(program(name, python, {**place, **options}, launch.variables))
    return launcher_argv(launcher, argv, Launch(launch.hosts, launch.ranks, LOAD_MARK, launch.arguments), one_a_host=True)


def launcher_argv(launcher: str, argv: t.Sequence[str], launch: Launch, one_a_host: bool = False) -> list[str]:
    """A command that a launcher starts on all hosts, once for each rank, or once a host for what starts its own ranks.

    Raises ValueError for a launcher that starts nothing by itself.
    """
    tasks = 1 if one_a_host else launch.ranks
    if launcher == "srun":
        return _srun(argv, launch, tasks, ("--mpi=none",) if one_a_host else ())
    if launcher == "mpirun":
        return _mpirun(argv, launch, tasks)
    raise ValueError(f"argument 'launcher' must be one of srun and mpirun, not {launcher!r}")


def _srun(argv: t.Sequence[str], launch: Launch, tasks: int, own: t.Sequence[str]) -> list[str]:
    """The whole nodes, all of their memory included, or nothing."""
    count = len(launch.hosts)
    # Values may hold commas, which --export would cut: env gives them instead.
    given = [f"{name}={value}" for name, value in launch.variables.items()]
    return [
        "srun", f"--nodes={count}", f"--ntasks={count * tasks}", f"--ntasks-per-node={tasks}", f"--nodelist={','.join(launch.hosts)}",
        f"--export={','.join(KEPT_VARIABLES)}", "--kill-on-bad-exit=0", "--wait=0", "--exclusive", "--mem=0", "--cpu-bind=none",
        f"--immediate={QUEUED_SECONDS}", "--job-name=gpufabric-pyramid", *own, *launch.arguments, *(["env", *given] if given else []), *argv,
    ]  # fmt: skip


def _mpirun(argv: t.Sequence[str], launch: Launch, tasks: int) -> list[str]:
    """Open MPI, of version 4 and 5."""
    words = ["mpirun", "--host", ",".join(f"{host}:{tasks}" for host in launch.hosts), "-np", str(len(launch.hosts) * tasks), "--map-by", f"ppr:{tasks}:node"]
    for name in KEPT_VARIABLES[:2]:
        words += ["-x", name]
    for name, value in launch.variables.items():
        words += ["-x", f"{name}={value}"]
    # Threads of a rank need more than the one core that it would get.
    return [*words, "--bind-to", "none", *launch.arguments, *argv]


def given_hosts(argv: t.Sequence[str]) -> list[str]:
    """The hosts of a launcher's command, named as it was given them; none of another command."""
    tool = argv[0].rpartition("/")[2]
    if tool == "srun":
        nodes = next((word.partition("=")[2] for word in argv if word.startswith("--nodelist=")), "")
        return [node for node in nodes.split(",") if node]
    if tool == "mpirun" and "--host" in argv:
        return [host.rpartition(":")[0] for host in argv[argv.index("--host") + 1].split(",")]
    return []


def nccl_tests_argv(directory: str, collective: str, first: int, last: int, factor: int, gpus: int, iterations: int) -> list[str]:
    """One program of nccl-tests or rccl-tests with validation; gpus: of one process."""
    name = {"all_to_all": "alltoall"}.get(collective, collective)
    return [f"{directory.rstrip('/')}/{name}_perf", "-b", str(first), "-e", str(last), "-f", str(factor), "-g", str(gpus), "-n", str(iterations), "-c", "1"]
