# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the loads of layers 5 and 6 are wrapped into containers."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils import detached
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import containers as program
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.containers import OF_LAUNCHERS, files_of, in_container
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.planners import PLANNERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.results import job_results
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import JOBS_READING, Job, Rows, StepInput
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS, typed
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Node, Plan

IMAGE = "nvcr.io/nvidia/pytorch:25.10-py3"
DOCKER: dict[str, t.Any] = {"pod_container_runtime": "docker", "pod_container_image": IMAGE, "pod_nccl_tests_dir": "/opt/nccl-tests/build"}
HOSTS = [f"gpu{number:02}" for number in range(1, 5)]
ALIKE = {"--rm", "--pull=never", "--network=host", "--ipc=host", "--pid=host", "--ulimit=memlock=-1", "--volume={place}:{place}", "--workdir={place}"}
ALIKE |= {"--label=gpufabric.pyramid.load={place}", "--label=gpufabric.pyramid.job={job}", "--device=/dev/infiniband"}
Values = dict[str, t.Any]


def plan_of(**expectations: t.Any) -> Plan:
    """A rack of four hosts of one rail."""
    nodes = {}
    for number, name in enumerate(HOSTS, 1):
        rails = [{"device": "mlx5_0", "netdev": "eth0", "gpu": 0, "leaf": "leaf01", "address": f"10.0.0.{number}/24"}]
        values, wrong = typed({"pod_rails": rails, **expectations})
        assert not wrong
        nodes[name] = Node(name, "host", "linux", "rack_01", values)
    return Plan(nodes, {"rack_01": HOSTS}, [])


def jobs_of(layer: str, done: dict[str, dict[str, Rows]] | None = None, step: int = 0, **expectations: t.Any) -> dict[str, list[Job]]:
    """The jobs of one step of a layer by host."""
    table = PLANNERS[layer](StepInput(plan_of(**expectations), HOSTS, step, {}, done or {}))
    assert table is not None
    return table.jobs


@pytest.mark.parametrize(
    ("values", "own"),
    [
        ({"pod_container_runtime": "docker"}, {"--gpus=all"}),
        ({"pod_container_runtime": "podman"}, {"--device=nvidia.com/gpu=all"}),
        ({"pod_container_runtime": "podman", "pod_gpu_vendor": "amd"}, set(program.OF_AMD)),
    ],
)
def test_a_container_has_what_a_load_needs_of_its_host(values: Values, own: set[str]) -> None:
    argv = in_container({**DEFAULTS, **DOCKER, **values}, ["python3", "-W", "ignore", "{training_step}"], {"NCCL_IB_TC": "106"})
    runtime, verb, *words = argv[: argv.index(IMAGE)]
    assert (runtime, verb, words[-1], argv[argv.index(IMAGE) + 1 :]) == (
        values["pod_container_runtime"], "run", "--entrypoint=python3", ["-W", "ignore", "{training_step}"],
    )  # fmt: skip
    assert ALIKE | own <= set(words) and ("--gpus=all" in words) == ("--gpus=all" in own)
    given = [words[at + 1] for at, word in enumerate(words) if word == "--env"]
    assert {"NCCL_IB_TC=106", f"{detached.MARK}={{place}}", f"{detached.JOB}={{job}}"} <= set(given)


def test_a_container_of_enroot_has_what_a_load_needs_of_its_host() -> None:
    values = {**DEFAULTS, **DOCKER, "pod_container_runtime": "enroot", "pod_container_image": "/shared/torch.sqsh"}
    argv = in_container(values, ["python3", "-W", "ignore", "{training_step}"], {"NCCL_IB_TC": "106"})
    at = argv.index("/shared/torch.sqsh")
    assert argv[:6] == ["enroot", "start", "--rc", "{place}/enroot.rc", "--mount", "{place}:{place}"] and argv[at + 1 :] == [
        "python3",
        "-W",
        "ignore",
        "{training_step}",
    ]
    assert set(argv[6:at:2]) == {"--env"} and len(argv[6:at]) % 2 == 0
    marks = {"NCCL_IB_TC=106", f"{detached.MARK}={{place}}", f"{detached.JOB}={{job}}"}
    assert marks | set(program.HOOK_OF_GPUS) <= set(argv[7:at:2])
    # Images ask for the GPUs themselves, and a host that has none could not start them.
    without = in_container({**values, "pod_collective_backend": "gloo"}, ["python3"])
    assert set(program.WITHOUT_HOOK) <= set(without) and not set(program.HOOK_OF_GPUS) & set(without)


def test_only_hosts_that_start_containers_of_enroot_get_the_script_that_it_runs() -> None:
    of_runtime = {runtime: [Job("a", [], 0.0, 9.0, {}, runtime=runtime)] for runtime in ("", "docker", "podman", "enroot")}
    assert {runtime: files_of(jobs) for runtime, jobs in of_runtime.items()} == {"": {}, "docker": {}, "podman": {}, "enroot": {program.RC_FILE: program.RC}}


def test_hosts_without_gpus_need_none_in_a_container() -> None:
    argv = in_container({**DEFAULTS, **DOCKER, "pod_collective_backend": "gloo"}, ["python3"])
    assert not [word for word in argv if word.startswith(("--gpus", "--device"))]


def test_what_removes_containers_looks_for_the_labels_that_they_have() -> None:
    assert detached.LABELS == (program.LOAD, program.JOB)


@pytest.mark.parametrize("layer", ["collectives", "training"])
def test_each_host_starts_its_ranks_in_a_container(layer: str) -> None:
    for jobs in jobs_of(layer, **DOCKER).values():
        assert [(job.argv[0], job.runtime) for job in jobs] == [("docker", "docker")] * len(jobs)
    for jobs in jobs_of(layer).values():
        assert [(job.argv[0], job.runtime) for job in jobs] == [("python3", "")] * len(jobs)


def test_what_a_launcher_starts_is_in_a_container_that_knows_its_place() -> None:
    """Jobs have other numbers on other hosts: it has none of the job that started it."""
    jobs = jobs_of("training", **DOCKER, pod_launcher="mpirun")
    first = [job.argv for job in jobs[HOSTS[0]]]
    assert [argv[0] for argv in first] == ["docker", "mpirun"] and {jobs[host][0].argv[0] for host in HOSTS} == {"docker"}
    inside = first[1][first[1].index("docker") :]
    assert "--label=gpufabric.pyramid.job=" in inside and "{job}" not in " ".join(inside)
    assert set(OF_LAUNCHERS) <= {inside[at + 1] for at, word in enumerate(inside) if word == "--env"}
    assert inside[inside.index(IMAGE) + 3] == "{training_step}" and "--env OMPI_COMM_WORLD_RANK" not in " ".join(first[0])


def test_other_loads_run_on_the_hosts() -> None:
    jobs = jobs_of("rdma", **DOCKER)
    assert {job.argv[0] for its in jobs.values() for job in its} <= {"ib_write_bw", "ib_write_lat"} and jobs


def test_a_program_that_the_image_lacks_is_not_installed() -> None:
    """Which the programs of nccl-tests may be, where they are optional."""
    job = Job("a", ["docker", "run", IMAGE], 0.0, 9.0, {"kind": "node", "role": "table", "round": 1, "hosts": HOSTS[:1], "step": 0}, runtime="docker")
    answer = {"status": "ran", "argv": job.argv, "rc": 127, "stdout": "", "stderr": "exec: not found\n", "seconds": 0.1, "cut": False}
    (row,) = job_results([job], {"answers": {"a": answer}, "ended": "done"})[JOBS_READING].rows
    assert (row["status"], row["error"]) == ("unknown", "not_installed")
