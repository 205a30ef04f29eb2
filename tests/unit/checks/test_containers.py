# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks of the container runtime and its image, by plain calls."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, Finding, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight import containers, software

HEALTHY: dict[str, t.Any] = {
    "runtime": "docker", "state": "ok", "version": "28.3.3", "words": None, "present": True, "id": "sha256:a", "digests": ["sha256:b"], "variables": [],
    "start": "ok", "gpus": 8, "rdma": 8, "memlock": "unlimited", "torch": "2.9.0", "library": "nccl", "nccl": ["2.28.9"], "nccl_tests": True,
}  # fmt: skip
NOTHING: dict[str, t.Any] = dict.fromkeys(HEALTHY, None)
REFUSED = {**NOTHING, "runtime": "docker", "state": "denied", "words": "permission denied"}
ABSENT = {**NOTHING, "runtime": "docker", "state": "ok", "version": "28.3.3", "present": False}
Setting = dict[str, t.Any]


def starts(vendor: str = "nvidia", backend: str = "nccl", tests: str = "/opt/tests", optional: bool = False, **odd: t.Any) -> list[Finding]:
    return list(containers.container_starts([{**HEALTHY, **odd}], 8, vendor, backend, "python3", tests, optional))


def test_a_healthy_host_runs_containers() -> None:
    assert starts() == [] and list(containers.container_runtime([HEALTHY])) == [] and list(containers.container_image_present([HEALTHY], "a:1")) == []
    assert list(containers.container_environment([HEALTHY], {})) == []
    assert list(containers.container_image_same({"gpu01": [HEALTHY], "gpu02": [HEALTHY]}, "gpu01")) == []


@pytest.mark.parametrize(
    ("state", "cause"),
    [("missing", "is not installed"), ("denied", "socket of docker's daemon refuses"), ("stopped", "daemon does not run"), ("failed", None)],
)
def test_why_a_runtime_does_not_answer(state: str, cause: str | None) -> None:
    (found,) = containers.container_runtime([{**REFUSED, "state": state}])
    assert str(found.where) == "docker" and found.actual == f"{state}: permission denied"
    assert cause in (found.cause or "") and found.fix if cause else found.cause is None


def test_a_runtime_of_which_nothing_is_reported_is_unknown() -> None:
    with pytest.raises(CannotTell):
        list(containers.container_runtime([]))


@pytest.mark.parametrize(
    ("odd", "where", "severity", "cause"),
    [
        ({"start": "no_gpus", "words": "no"}, "GPUs in a container", None, "container toolkit is missing"),
        ({"start": "no_gpus", "words": "no", "runtime": "podman"}, "GPUs in a container", None, "No CDI specification"),
        ({"start": "no_gpus", "words": "no", "runtime": "enroot"}, "GPUs in a container", None, "nvidia-container-cli is missing"),
        ({"start": "no_gpus", "words": "no", "vendor": "amd"}, "GPUs in a container", None, "/dev/kfd"),
        ({"start": "no_rdma", "words": "no"}, "RDMA devices in a container", None, "ib_uverbs is not loaded"),
        ({"start": "no_program", "words": "no"}, "python3", None, "no such Python"),
        ({"start": "failed", "words": "no"}, "a container of the image", None, None),
        ({"start": None}, "a container of the image", None, None),
        ({"gpus": 7}, "GPUs in a container", None, "container toolkit is missing"),
        ({"gpus": None}, "GPUs in a container", "unknown", "container toolkit is missing"),
        ({"rdma": 0}, "RDMA devices in a container", None, "ib_uverbs is not loaded"),
        ({"rdma": None}, "RDMA devices in a container", "unknown", "ib_uverbs is not loaded"),
        ({"memlock": "8388608"}, "locked memory in a container", None, "limit of locked memory"),
        ({"memlock": None}, "locked memory in a container", "unknown", "limit of locked memory"),
        ({"torch": None}, "python3", None, "no torch is installed for it"),
        ({"nccl_tests": False}, "/opt/tests", None, "no nccl-tests there"),
    ],
)
def test_how_a_container_does_not_start_as_loads_need_it(odd: Setting, where: str, severity: str | None, cause: str | None) -> None:
    (found,) = starts(**odd)
    assert (str(found.where), found.severity) == (where, severity)
    assert cause in (found.cause or "") if cause else found.cause is None


def test_what_no_load_needs_is_no_fault() -> None:
    assert starts(backend="gloo", gpus=0, rdma=0) == [] and starts(nccl_tests=False, optional=True) == [] and starts(nccl_tests=None, tests="") == []


def test_an_image_that_is_not_there_and_one_of_another_digest() -> None:
    (found,) = containers.container_image_present([ABSENT], "a:1")
    assert (found.expected, found.actual, found.cause) == ("a:1", "not on this host", None)
    (found,) = containers.container_image_present([{**ABSENT, "id": "sha256:c", "digests": []}], "a@sha256:d")
    assert found.actual == "another one by this name: sha256:c" and "another build" in (found.cause or "")
    (found,) = containers.container_image_present([{**ABSENT, "present": None}], "a:1")
    assert (found.severity, found.actual) == ("unknown", "not reported")


def test_an_image_of_which_the_runtime_does_not_answer_is_unknown() -> None:
    silent = {**ABSENT, "present": None, "words": "no answer within 10 s"}
    (found,) = containers.container_image_present([silent], "a:1")
    assert (found.severity, found.actual) == ("unknown", "no answer within 10 s") and "store is locked" in (found.cause or "")
    with pytest.raises(CannotTell, match="not known whether"):
        list(containers.container_starts([silent], 8, "nvidia", "nccl", "python3", "", False))


def test_an_image_that_is_a_file_has_causes_of_its_own() -> None:
    of_file: Setting = {"runtime": "enroot"}
    (found,) = containers.container_image_present([{**ABSENT, **of_file}], "/shared/a.sqsh")
    assert "not mounted" in (found.cause or "") and "copy the file" in (found.fix or "")
    (found,) = containers.container_image_present([{**ABSENT, **of_file, "present": None, "words": "/shared/a.sqsh is no squashfs image"}], "/shared/a.sqsh")
    assert found.severity == "unknown" and "its copy broke off" in (found.cause or "")
    usual: Setting = {**of_file, "id": "squashfs of 90 inodes", "digests": []}
    hosts = of_hosts(gpu01=usual, gpu02={**usual, "id": "squashfs of 91 inodes"}, gpu03=usual)
    (found,) = containers.container_image_same(hosts, "gpu02")
    assert found.actual == "squashfs of 91 inodes" and "Copy one file to all hosts" in (found.fix or "")


def of_hosts(**rows: Setting) -> dict[str, list[Setting]]:
    return {host: [{**HEALTHY, **row}] for host, row in rows.items()}


def test_the_image_of_most_hosts_is_the_right_one() -> None:
    hosts = of_hosts(gpu01={}, gpu02={"id": "sha256:x", "digests": ["sha256:y"]}, gpu03={})
    (found,) = containers.container_image_same(hosts, "gpu02")
    assert (found.expected, found.actual) == ("sha256:a, sha256:b, as 2 of 3 hosts", "sha256:x, sha256:y")
    assert list(containers.container_image_same(hosts, "gpu01")) == []


def test_images_are_the_same_by_one_digest_or_by_their_id() -> None:
    """Docker's stores differ in what they call an image's id, and what was loaded from an archive has no digest."""
    hosts = of_hosts(gpu01={}, gpu02={"id": "sha256:other"}, gpu03={"digests": []})
    assert [list(containers.container_image_same(hosts, host)) for host in hosts] == [[], [], []]
    loaded = of_hosts(gpu01={"digests": []}, gpu02={"digests": []}, gpu03={})
    assert [list(containers.container_image_same(loaded, host)) for host in loaded] == [[], [], []]


def test_images_of_which_no_id_is_reported_are_not_the_same() -> None:
    hosts = of_hosts(gpu01={"id": None}, gpu02={"id": None, "digests": ["sha256:y"]}, gpu03={"id": None})
    assert [len(list(containers.container_image_same(hosts, host))) for host in hosts] == [0, 1, 0]
    hosts["gpu02"][0]["digests"] = None
    with pytest.raises(CannotTell, match="not reported"):
        list(containers.container_image_same(hosts, "gpu02"))


def test_a_host_that_does_not_tell_its_image_is_unknown_for_itself_alone() -> None:
    silent: Setting = {"id": None, "digests": []}
    hosts = of_hosts(gpu01={}, gpu02=silent, gpu03=silent, gpu04={})
    assert [list(containers.container_image_same(hosts, host)) for host in ("gpu01", "gpu04")] == [[], []]
    for host in ("gpu02", "gpu03"):
        with pytest.raises(CannotTell, match="not reported"):
            list(containers.container_image_same(hosts, host))


def test_which_image_is_right_is_not_told_where_none_is_on_most_hosts() -> None:
    hosts = of_hosts(gpu01={}, gpu02={"id": "sha256:x", "digests": ["sha256:y"]})
    for host in hosts:
        with pytest.raises(CannotTell, match="the most frequent is on 1 of 2"):
            list(containers.container_image_same(hosts, host))
    with pytest.raises(NotApplicable, match="no other host"):
        list(containers.container_image_same({"gpu01": [HEALTHY], "gpu02": [ABSENT]}, "gpu01"))


@pytest.mark.parametrize("row", [REFUSED, ABSENT])
def test_what_cannot_be_looked_at_is_unknown(row: Setting) -> None:
    with pytest.raises(CannotTell, match="see container_"):
        list(containers.container_starts([row], 8, "nvidia", "nccl", "python3", "", False))
    with pytest.raises(CannotTell, match="see container_"):
        list(containers.container_image_same({"gpu01": [row], "gpu02": [HEALTHY]}, "gpu01"))
    with pytest.raises(CannotTell):
        list(containers.container_environment([row], {}))


def test_variables_of_an_image() -> None:
    row = {**HEALTHY, "variables": ["NCCL_IB_TC=106", "NCCL_P2P_DISABLE=1"]}
    assert [(str(one.where), one.expected, one.actual) for one in containers.container_environment([row], {"NCCL_IB_TC": 106})] == [
        ("image NCCL_P2P_DISABLE", "not set", "1")
    ]
    (found,) = containers.container_environment([{**HEALTHY, "variables": ["NCCL_IB_TC=96"]}], {"NCCL_IB_TC": 106})
    assert (found.expected, found.actual) == ("106", "96")


def pinned(image: list[Setting] | None) -> list[tuple[str, str, str | None]]:
    library = [{"item": "nccl", "version": "2.21.5", "path": "/usr/lib/libnccl.so.2.21.5"}]
    return [(str(one.where), one.actual, one.severity) for one in software.software_pinned([], [], [], library, [], {"nccl": "2.28.9"}, image)]


def test_the_library_of_the_image_counts_and_not_the_hosts() -> None:
    assert pinned(None) == [("nccl", "2.21.5", None)] and pinned([HEALTHY]) == []
    assert pinned([{**HEALTHY, "nccl": ["2.27.3", "2.28.9"]}]) == [("nccl", "2.27.3, 2.28.9", None)]
    assert pinned([REFUSED]) == pinned([{**HEALTHY, "nccl": []}]) == [("nccl", "not reported", "unknown")]


def test_a_host_whose_container_does_not_start_is_of_no_other_version() -> None:
    images = {"gpu01": [HEALTHY], "gpu02": [HEALTHY], "gpu03": [REFUSED]}
    assert list(software.software_uniform({}, {}, {}, {host: [] for host in images}, [], images)) == []
    images["gpu03"] = [{**HEALTHY, "nccl": ["2.27.3"]}]
    (found,) = software.software_uniform({}, {}, {}, {host: [] for host in images}, [], images)
    assert (found.host, str(found.where), found.actual) == ("gpu03", "nccl", "2.27.3")
