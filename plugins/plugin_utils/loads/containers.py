# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In what the commands of torch and nccl-tests run: on the host itself, or in a container of the site's image."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...module_utils.programs.containers import RC, RC_FILE, wrapped
from .launchers import STARTED_FROM_ONE_HOST
from .schedule import Job

ON_THE_HOST = "none"
# What launchers tell a process of its place, which a container does not have of itself.
OF_LAUNCHERS = ("GPUFABRIC_PYRAMID_JOB", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_NTASKS")
# What every process of a load carries, and of its job, whose number is another one on each host.
LOAD, JOB = "GPUFABRIC_PYRAMID_LOAD={place}", "GPUFABRIC_PYRAMID_JOB={job}"


@dataclass(frozen=True)
class Containers:
    """A runtime and an image; gpus: the vendor of the GPUs that a container gets, or nothing; rdma: whether it gets the RDMA devices."""

    runtime: str
    image: str
    gpus: str
    rdma: bool

    @classmethod
    def of(cls, values: t.Mapping[str, t.Any]) -> Containers | None:
        """Those of a host with these expectations; None where its commands run on the host itself."""
        if values["pod_container_runtime"] == ON_THE_HOST:
            return None
        nccl = values["pod_collective_backend"] == "nccl"
        return cls(values["pod_container_runtime"], values["pod_container_image"], values["pod_gpu_vendor"] if nccl else "", nccl)

    def command(self, argv: t.Sequence[str], variables: t.Mapping[str, str] | None = None, launched: bool = False) -> list[str]:
        """The command that runs another one in a container; ``{place}`` and ``{job}`` are filled on the host, as in any job.

        variables: what it gets; launched: whether a launcher tells it its place.
        """
        environment = [LOAD, *([] if launched else [JOB]), *(f"{name}={value}" for name, value in (variables or {}).items())]
        passed = OF_LAUNCHERS if launched else ()
        return wrapped(self.runtime, self.image, list(argv), "{place}", self.gpus, self.rdma, "" if launched else "{job}", environment, passed)


def in_container(
    values: t.Mapping[str, t.Any], argv: list[str], variables: t.Mapping[str, str] | None = None, launched: bool = False
) -> list[str]:  # fmt: skip
    """A command as a host with these expectations runs it."""
    containers = Containers.of(values)
    return argv if containers is None else containers.command(argv, variables, launched)


def tests_over_hosts(launcher: str, runtime: str) -> bool:
    """Whether nccl-tests run over several hosts: a launcher on them starts its ranks, and each must reach it, which it cannot from a container."""
    return launcher in STARTED_FROM_ONE_HOST and runtime == ON_THE_HOST


def files_of(jobs: t.Iterable[Job]) -> dict[str, str]:
    """The files that a host must have beside the programs of these jobs, by name: what enroot runs in place of an image's own script."""
    return {RC_FILE: RC} if any(job.runtime == "enroot" for job in jobs) else {}


def runtime_of(values: t.Mapping[str, t.Any]) -> str:
    """The runtime whose containers the jobs of a host leave where they are killed; empty where they start none."""
    return "" if values["pod_container_runtime"] == ON_THE_HOST else str(values["pod_container_runtime"])
