# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: the runtime and the image in whose containers torch and nccl-tests run."""

from __future__ import annotations

import typing as t

from ...readings.rows import Peers, Rows
from .. import CannotTell, Finding, NotApplicable, check
from .._once import once_for_all_nodes
from ..place import Place

IN_CONTAINERS = ("pod_container_runtime", ("docker", "podman", "enroot"))
# Why a runtime does not answer, and what mends it, by the state that its reading has.
RUNTIMES = {
    "missing": ("The runtime is not installed on the host, or is not on the PATH of the user that a run logs in as.", "Install it as on the other hosts."),
    "denied": (
        "The socket of docker's daemon refuses the user that a run logs in as, who is neither root nor in its group.",
        "Set ansible_become, or add the user to the group docker and log in anew (the group is as good as root).",
    ),
    "stopped": ("Docker's daemon does not run, so that its socket is not there or nobody answers on it.", "systemctl enable --now docker."),
}
WITHOUT_GPUS = {
    "docker": (
        "Docker has no runtime that gives GPUs to a container: NVIDIA's container toolkit is missing, not configured, or fails with this driver.",
        "Install nvidia-container-toolkit, then nvidia-ctk runtime configure --runtime=docker and systemctl restart docker.",
    ),
    "podman": (
        "No CDI specification names nvidia.com/gpu=all, or it names files of another driver than is installed.",
        "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml, and again after each update of the driver.",
    ),
    "enroot": (
        "Enroot's hook does not give the driver's libraries to a container: nvidia-container-cli is missing or fails with this driver, or the hook "
        "98-nvidia.sh is not in enroot's hooks.d.",
        "Install libnvidia-container-tools and enroot's hook 98-nvidia.sh, and run nvidia-container-cli info on the host.",
    ),
    "amd": ("A container is not given /dev/kfd and /dev/dri: amdgpu is not loaded, or the runtime refuses devices.", "Load amdgpu, and look at /dev/kfd."),
}
WITHOUT_RDMA = (
    "A container is not given /dev/infiniband: ib_uverbs is not loaded, or the runtime refuses devices.",
    "modprobe ib_uverbs, and look at /dev/infiniband.",
)
WITHOUT_PROGRAM = ("The image has no such Python, or it cannot be run there.", "Set pod_torch_python to the Python of the image that has torch.")
WITHOUT_TORCH = (
    "The Python that pod_torch_python names runs in the image, and no torch is installed for it.",
    "Set pod_torch_python to the Python of the image that has torch (such as that of a virtual environment), or take an image with torch.",
)
NO_ANSWER = (
    "The runtime answers its version and not whether it has the image: its store is locked by another command, damaged, or on a disk that hangs.",
    "Run image inspect on the host with the name in pod_container_image as the user that a run logs in as; look at the runtime's log and at its disk.",
)
# What of an image that is a file, as enroot has it, is otherwise.
FILE_UNREAD = (
    "The image's file cannot be read by the user that a run logs in as, or it is no squashfs image: its copy broke off, or the shared file system fails.",
    "Look at the file with unsquashfs -s as that user, and copy it again, or import it again (enroot import).",
)
FILE_ABSENT = (
    "The image's file was not brought to this host, or the shared file system that holds it is not mounted there; a run imports nothing.",
    "Mount the file system, or copy the file that pod_container_image names to this host, as on the others.",
)
FILE_DIFFERS = (
    "The file at this path is of another build of the image than on most hosts: it was imported before or after a tag moved.",
    "Copy one file to all hosts, and name it by its version.",
)
NOT_THERE = "the image is not on this host, or it is not known whether: see container_image_present"


def _row(rows: Rows) -> dict[str, t.Any]:
    """The one row of a host whose runtime answers.

    Raises CannotTell where there is none, which container_runtime reports with its cause.
    """
    row = next((one for one in rows if one["state"] == "ok"), None)
    if row is None:
        raise CannotTell("the container runtime does not answer: see container_runtime")
    return row


def _of_file(row: dict[str, t.Any], words: tuple[str, str]) -> tuple[str, str] | None:
    """Cause and fix for an image that is a file, where this host's runtime takes files."""
    return words if row["runtime"] == "enroot" else None


@check(
    cause="The container runtime does not answer on this host, so that no load can be started in a container.",
    fix="Run its version command on the host as the user that a run logs in as, and mend what it says.",
    required=IN_CONTAINERS,
    when=IN_CONTAINERS,
)
def container_runtime(container_image: Rows) -> t.Iterator[Finding]:
    """The container runtime answers the user that a run logs in as."""
    if not container_image:
        raise CannotTell("the container runtime: not reported")
    for row in container_image:
        if row["state"] != "ok":
            cause, fix = RUNTIMES.get(row["state"], (None, None))
            yield Finding(Place(row["runtime"]), "answers", f"{row['state']}: {row['words'] or 'no words'}", cause=cause, fix=fix)


@check(
    cause="The image was not brought to this host, or only under another name; a run pulls nothing.",
    fix="Pull the image that pod_container_image names on this host (docker pull, podman pull), or load it from an archive, as on the others.",
    required=IN_CONTAINERS,
    when=IN_CONTAINERS,
)
def container_image_present(container_image: Rows, pod_container_image: str) -> t.Iterator[Finding]:
    """The host has the image in whose containers loads run."""
    row = _row(container_image)
    if row["present"] is None:
        cause, fix = _of_file(row, FILE_UNREAD) or NO_ANSWER
        yield Finding(Place("image"), pod_container_image, row["words"] or "not reported", "unknown", cause=cause, fix=fix)
    elif not row["present"] and row["id"]:
        by_tag = "The host has another build of the image by the same name: it was pulled before or after the tag moved."
        yield Finding(Place("image"), pod_container_image, f"another one by this name: {', '.join(row['digests'] or [row['id']])}", cause=by_tag)
    elif not row["present"]:
        words = _of_file(row, FILE_ABSENT) or (None, None)
        yield Finding(Place("image"), pod_container_image, "not on this host", cause=words[0], fix=words[1])


@check(
    cause="The tag of the image moved between two pulls, so that hosts run different builds of torch and NCCL under one name.",
    fix="Pull the image again on the host that differs; name it by its digest in pod_container_image (NAME@sha256:…), which no pull can change.",
    when=IN_CONTAINERS,
    kind="host",
    of_pod=True,
)
def container_image_same(container_image_of_peers: Peers, pod_node: str) -> t.Iterator[Finding]:
    """Every host of the pod has the same image."""
    row = _row(container_image_of_peers.get(pod_node) or [])
    if not row["present"]:
        raise CannotTell(NOT_THERE)
    if not row["id"] and not row["digests"]:
        raise CannotTell("the image's id and digests: not reported")
    images = _images(container_image_of_peers)
    hosts = sum(len(image.hosts) for image in images)
    if hosts < 2:
        raise NotApplicable("no other host reports its image")
    usual = max(images, key=lambda image: len(image.hosts))
    if 2 * len(usual.hosts) <= hosts:
        raise CannotTell(f"no image is on most hosts: the most frequent is on {len(usual.hosts)} of {hosts}")
    if pod_node not in usual.hosts:
        (mine,) = (image for image in images if pod_node in image.hosts)
        usually = f"{', '.join(sorted(usual.names))}, as {len(usual.hosts)} of {hosts} hosts"
        words = _of_file(row, FILE_DIFFERS) or (None, None)
        yield Finding(Place("image"), usually, ", ".join(sorted(mine.names)), cause=words[0], fix=words[1])


class _Image(t.NamedTuple):
    """One image: its ids and digests, and the hosts that have it."""

    names: set[str]
    hosts: set[str]


@once_for_all_nodes
def _images(of_peers: Peers) -> list[_Image]:
    """The images of all hosts that report one; hosts of one digest or id have the same, since stores of docker differ in what they call an image's id."""
    images: list[_Image] = []
    for host, rows in of_peers.items():
        if rows and rows[0]["present"]:
            found = _Image({name for name in (rows[0]["id"], *(rows[0]["digests"] or ())) if name}, {host})
            # What is on such a host is not known, and it is unknown for itself alone.
            if not found.names:
                continue
            for other in [one for one in images if one.names & found.names]:
                images.remove(other)
                found = _Image(found.names | other.names, found.hosts | other.hosts)
            images.append(found)
    return images


@check(
    cause="A container of the image does not start as loads need it; the answer of the runtime says what it lacks.",
    fix="Start one by hand on the host with the command of the evidence, and mend what it says.",
    required=IN_CONTAINERS,
    when=IN_CONTAINERS,
)
def container_starts(
    container_image: Rows, pod_gpus_per_host: int, pod_gpu_vendor: str, pod_collective_backend: str, pod_torch_python: str, pod_nccl_tests_dir: str,
    pod_nccl_tests_optional: bool,
) -> t.Iterator[Finding]:  # fmt: skip
    """A container of the image starts with all GPUs and RDMA devices and without a limit of locked memory, and has torch and the planned programs."""
    row = _row(container_image)
    if not row["present"]:
        raise CannotTell(NOT_THERE)
    if row["start"] != "ok":
        where, expected, (cause, fix) = _not_started(row, pod_gpu_vendor, pod_torch_python)
        yield Finding(Place(where), expected, f"{row['start'] or 'not reported'}: {row['words'] or 'no words'}", cause=cause, fix=fix)
        return
    if pod_collective_backend == "nccl":
        if row["gpus"] != pod_gpus_per_host:
            cause, fix = WITHOUT_GPUS[pod_gpu_vendor if pod_gpu_vendor == "amd" else row["runtime"]]
            yield Finding(Place("GPUs in a container"), str(pod_gpus_per_host), _said(row["gpus"]), _severity(row["gpus"]), cause=cause, fix=fix)
        if not row["rdma"]:
            cause, fix = WITHOUT_RDMA
            yield Finding(Place("RDMA devices in a container"), "1 or more", _said(row["rdma"]), _severity(row["rdma"]), cause=cause, fix=fix)
    if row["memlock"] != "unlimited":
        cause, fix = "The runtime does not lift the limit of locked memory, so that RDMA cannot register memory.", "Raise LimitMEMLOCK of the runtime's unit."
        yield Finding(Place("locked memory in a container"), "unlimited", _said(row["memlock"]), _severity(row["memlock"]), cause=cause, fix=fix)
    if row["torch"] is None:
        yield Finding(Place(pod_torch_python), "torch in the image", "not there", cause=WITHOUT_TORCH[0], fix=WITHOUT_TORCH[1])
    if pod_nccl_tests_dir and not pod_nccl_tests_optional and not row["nccl_tests"]:
        fix = "Set pod_nccl_tests_dir to where the image has the programs, or build them into it."
        yield Finding(Place(pod_nccl_tests_dir), "all_reduce_perf in the image", "not there", cause="The image has no nccl-tests there.", fix=fix)


def _said(value: t.Any) -> str:
    return "not reported" if value is None else str(value)


def _severity(value: t.Any) -> str | None:
    return "unknown" if value is None else None


def _not_started(row: dict[str, t.Any], vendor: str, python: str) -> tuple[str, str, tuple[str | None, str | None]]:
    """Where it does not start, what was expected there, and cause and fix."""
    known: dict[str, tuple[str, str, tuple[str | None, str | None]]] = {
        "no_gpus": ("GPUs in a container", "all", WITHOUT_GPUS["amd" if vendor == "amd" else row["runtime"]]),
        "no_rdma": ("RDMA devices in a container", "all", WITHOUT_RDMA),
        "no_program": (python, "in the image", WITHOUT_PROGRAM),
    }
    return known.get(row["start"], ("a container of the image", "starts", (None, None)))


@check(
    cause="The image sets variables of NCCL for every process in it: what is measured is the image's choice, not the pod's.",
    fix="Build the image without them, or list them in pod_nccl_environment where they are meant.",
    severity="warn",
    when=IN_CONTAINERS,
)
def container_environment(container_image: Rows, pod_nccl_environment: dict[str, t.Any]) -> t.Iterator[Finding]:
    """The image sets no NCCL variable outside of pod_nccl_environment."""
    row = _row(container_image)
    if row["variables"] is None:
        raise CannotTell("the variables of the image: not reported")
    for name, _equals, value in (one.partition("=") for one in row["variables"]):
        if str(pod_nccl_environment.get(name)) != value:
            yield Finding(Place(f"image {name}"), str(pod_nccl_environment.get(name, "not set")), value)
