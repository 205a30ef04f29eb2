# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the program says of an image where the runtime answers late, wrongly or not at all, with a docker of shell."""

from __future__ import annotations

import argparse
import json
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs.containers import Host

PINNED = "site/torch@sha256:b"
ONE: dict[str, t.Any] = {"Id": "sha256:a", "RepoDigests": ["site/torch@sha256:c"], "Config": {"Env": ["NCCL_IB_TC=106", "NCCL_VERSION=2.28.9"]}}


def row(place: Path, monkeypatch: pytest.MonkeyPatch, inspect: str, image: str = "site/torch:1") -> dict[str, t.Any]:
    """The row of a host whose docker answers its version, and ``image inspect`` with a line of shell; $3 is the image."""
    tool = place / "docker"
    tool.write_text(f'#!/bin/sh\ncase "$1 $2" in\n"version --format") echo 28.3.3 ;;\n"image inspect") {inspect} ;;\n*) exit 125 ;;\nesac\n', encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin")
    host = Host(argparse.Namespace(runtime="docker", image=image, python="python3", vendor="nvidia", backend="gloo", nccl_tests=""))
    # So each question has one second.
    host.until = time.monotonic()
    return host.row()


@pytest.mark.parametrize(
    ("inspect", "words"),
    [
        ("exec sleep 30", "no answer within 1 s"),
        ("echo 'Error response from daemon: database is locked' >&2; exit 1", "Error response from daemon: database is locked"),
        ("exit 1", "image inspect ended with status 1"),
        ("echo no", "image inspect: what it printed is no answer"),
        ("echo '[]'", "image inspect: what it printed is no answer"),
    ],
)
def test_a_runtime_that_does_not_tell_of_an_image_says_neither_that_it_is_there_nor_that_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inspect: str, words: str
) -> None:
    found = row(tmp_path, monkeypatch, inspect)
    assert (found["state"], found["present"], found["words"]) == ("ok", None, words) and "start" not in found


@pytest.mark.parametrize("words", ["Error: No such image: a", "Error: inspecting object: a: image not known", "Error response from daemon: No such object: a"])
def test_an_image_that_the_host_does_not_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    found = row(tmp_path, monkeypatch, f"echo '{words}' >&2; exit 1")
    assert (found["present"], found["words"]) == (False, "")


def test_another_build_by_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = "echo 'Error: No such image' >&2; exit 1"
    found = row(tmp_path, monkeypatch, f"case $3 in *@*) {absent} ;; *) echo '{json.dumps([ONE])}' ;; esac", PINNED)
    assert (found["present"], found["id"], found["digests"]) == (False, "sha256:a", ["sha256:c"])
    found = row(tmp_path, monkeypatch, f"case $3 in *@*) {absent} ;; *) exit 1 ;; esac", PINNED)
    assert found["present"] is False and "id" not in found


def test_an_image_without_an_id_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty one would be alike on all hosts that report none."""
    found = row(tmp_path, monkeypatch, f"echo '{json.dumps([{**ONE, 'Id': ''}])}'")
    assert (found["present"], found["id"], found["variables"]) == (True, None, ["NCCL_IB_TC=106"])
