# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The execution environment as a real ansible-builder makes it, up to the image."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.xdist_group("execution_environment")

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
VERSION = yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the collection built, and the context made of it."""
    directory = tmp_path_factory.mktemp("environment")
    run(BIN / "ansible-galaxy", "collection", "build", "--output-path", directory / ".build", cwd=ROOT)
    (directory / "execution-environment.yml").write_text((ROOT / "execution-environment.yml").read_text())
    builder = (BIN / "ansible-builder", "create", "--output-filename", "Containerfile")
    run(*builder, "--file", directory / "execution-environment.yml", "--context", directory / "context", cwd=directory)
    return directory


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run([str(word) for word in command], cwd=cwd, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.exhaustive
def test_the_context_holds_this_collection(place: Path) -> None:
    wanted = yaml.safe_load((place / "context/_build/requirements.yml").read_text())["collections"]
    assert [one["name"] for one in wanted] == [f"collections/gpufabric-pyramid-{VERSION}.tar.gz"]
    assert (place / "context/_build" / wanted[0]["name"]).is_file()
    containerfile = (place / "context/Containerfile").read_text()
    assert "ansible-core>=2.19" in containerfile and "introspect.py introspect" in containerfile


def test_the_collection_says_what_the_image_needs(place: Path) -> None:
    home = place / "collections" / "ansible_collections" / "gpufabric" / "pyramid"
    with tarfile.open(place / ".build" / f"gpufabric-pyramid-{VERSION}.tar.gz") as archive:
        # Debian 12's Python has no extractall(filter=) yet.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(home)
    script = place / "context/_build/scripts/introspect.py"
    run(sys.executable, script, "introspect", place / "collections", "--write-pip", place / "pip.txt", "--write-bindep", place / "bindep.txt", cwd=place)
    python, system = (place / "pip.txt").read_text(), (place / "bindep.txt").read_text()
    assert all(name in python for name in ("textfsm", "jmespath", "netaddr", "kubernetes")) and "gpufabric" in python
    assert "openssh-clients" in system and "slurmd [test" in system


def test_the_archive_holds_what_runs_and_of_the_tests_only_the_simulated_pod(place: Path) -> None:
    with tarfile.open(place / ".build" / f"gpufabric-pyramid-{VERSION}.tar.gz") as archive:
        names = set(archive.getnames())
    assert {"playbooks/remediate.yml", "playbooks/awx_setup.yml", "roles/awx/tasks/main.yml", "plugins/modules/nic_firmware.py"} <= names
    assert not [name for name in names if name.startswith((".venv/", "runs/", ".build/"))]
    assert {name.split("/")[1] for name in names if name.startswith("tests/")} == {"simulated_pod"}
