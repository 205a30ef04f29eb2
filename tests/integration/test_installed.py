# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection as ansible-galaxy installs it from its archive: another directory, and no ansible.cfg of this repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import OLD, PLACE
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout

from .conftest import ROOT, SMALLEST

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("installed")]

BIN = Path(sys.executable).parent
PREFLIGHT = ("-e", "pod_to_layer=preflight")


@dataclass
class Installed:
    """Where the collection is, and a directory of an operator, whose inventory is ``my_inventory``."""

    collection: Path
    home: Path

    def run(self, *command: object, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command of Ansible in the operator's directory."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        given = {"ANSIBLE_COLLECTIONS_PATH": str(self.collection.parents[2]), "ANSIBLE_NOCOLOR": "1", "HOME": str(self.home)}
        words = [str(word) for word in command]
        return subprocess.run(
            [str(BIN / words[0]), *words[1:]], cwd=self.home, env={**kept, **given, **environment}, text=True, capture_output=True, timeout=400, check=False
        )

    def validate(self, *arguments: str, inventory: str = "my_inventory/", **environment: str) -> subprocess.CompletedProcess[str]:
        """Validate a pod; only the simulated connection is configured, which a real pod does not need."""
        connection = {"ANSIBLE_CONNECTION_PLUGINS": str(self.collection / "tests" / "simulated_pod" / "connection")}
        return self.run("ansible-playbook", "gpufabric.pyramid.validate", "-i", inventory, *PREFLIGHT, *arguments, **{**connection, **environment})


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The built archive, installed into an empty directory."""
    place = tmp_path_factory.mktemp("installed")
    one = Installed(place / "collections" / "ansible_collections" / "gpufabric" / "pyramid", place / "home")
    one.home.mkdir()
    subprocess.run([str(BIN / "ansible-galaxy"), "collection", "build", "--output-path", str(place)], cwd=ROOT, check=True, capture_output=True, timeout=300)
    (archive,) = place.glob("*.tar.gz")
    # This Python has what it depends on, and a link to this checkout, which is not what is tested: hence --force.
    done = one.run("ansible-galaxy", "collection", "install", archive, "--no-deps", "--force", "-p", place / "collections")
    assert done.returncode == 0, done.stdout + done.stderr
    layout.write(one.home / "my_inventory", **SMALLEST, expectations={"pod_name": "mine"})
    return one


def test_it_is_the_installed_collection_that_runs(installed: Installed) -> None:
    done = installed.run("ansible-doc", "-t", "lookup", "--json", "gpufabric.pyramid.whole_run")
    assert str(installed.collection) in done.stdout, done.stdout + done.stderr


def test_ansible_takes_no_cable_for_a_host(installed: Installed) -> None:
    done = installed.run("ansible-inventory", "-i", "my_inventory/", "--list")
    nodes = set(json.loads(done.stdout)["_meta"]["hostvars"])
    assert {name.rstrip("0123456789") for name in nodes} == {"gpu", "leaf", "spine"} and len(nodes) == 16 and "WARNING" not in done.stderr


def one_verdict(text: str, pod: str) -> bool:
    """Whether one go of a pod is printed."""
    words = " ".join(text.split())
    return words.count("GO: pod ") == words.count(f"GO: pod {pod}, up to layer preflight") == 1


def test_a_pod_is_validated_without_any_configuration(installed: Installed) -> None:
    done = installed.validate()
    assert done.returncode == 0, done.stdout + done.stderr
    for line in (
        "preflight: reading 16 nodes",
        "  16 of 16 nodes done",
        "preflight: every gate open (2 of 2 groups continue)",
    ):
        assert done.stdout.count(line) == 1, done.stdout
    assert one_verdict(done.stdout, "mine")
    assert "cabling" not in done.stdout + done.stderr and "parse" not in done.stderr
    assert (installed.home / "runs" / "mine" / "latest" / "report.html").is_file()


@pytest.mark.long
def test_a_wiring_plan_in_the_old_place_is_found_and_one_line_names_the_new_place(installed: Installed) -> None:
    inventory = installed.home / "my_inventory"
    (inventory / PLACE).rename(inventory / OLD)
    try:
        done = installed.validate()
        response = [line for line in done.stdout.splitlines() if "wiring plan" in line]
        new = f"move it to {inventory / PLACE}, which Ansible does not take for a list of hosts"
        assert done.returncode == 0 and response == [f"the wiring plan is read from {inventory / OLD}; {new}"], done.stdout + done.stderr
        (inventory / PLACE).write_text((inventory / OLD).read_text())
        both = installed.validate()
        assert both.returncode == 2 and f"there are two wiring plans, {PLACE} and {OLD}: remove one of them" in both.stdout + both.stderr
    finally:
        (inventory / OLD).replace(inventory / PLACE)


@pytest.mark.parametrize("arguments", [(), ("--check",), ("-e", "pod_waivers=[]", "-e", "pod_gpus_per_host=9")])
def test_the_output_callback_json_has_standard_output_for_itself(installed: Installed, arguments: tuple[str, ...]) -> None:
    done = installed.validate(*arguments, ANSIBLE_STDOUT_CALLBACK="json")
    document = json.loads(done.stdout)
    assert document["plays"] and document["stats"]
    assert ("preflight: reading 16 nodes" in done.stderr) is ("--check" not in arguments) and "report: " in done.stderr


def test_the_output_callback_jsonl_has_standard_output_for_itself(installed: Installed) -> None:
    done = installed.validate(ANSIBLE_STDOUT_CALLBACK="ansible.posix.jsonl")
    events = [json.loads(line)["_event"] for line in done.stdout.splitlines()]
    assert events[-1] == "v2_playbook_on_stats" and done.returncode == 0
    assert one_verdict(done.stderr, "mine")


def test_the_progress_is_shown_once_where_it_is_enabled_by_name(installed: Installed) -> None:
    done = installed.validate(ANSIBLE_CALLBACKS_ENABLED="gpufabric.pyramid.pyramid")
    assert done.returncode == 0 and done.stdout.count("preflight: reading 16 nodes") == 1 and one_verdict(done.stdout, "mine"), done.stdout


def test_the_simulated_pod_can_be_tried(installed: Installed) -> None:
    """As the README says it: the collection's own configuration, and its own inventory."""
    simulated = installed.collection / "inventories" / "simulated"
    configured = str(installed.collection / "ansible.cfg")
    done = installed.run("ansible-playbook", "gpufabric.pyramid.validate", "-i", simulated, *PREFLIGHT, ANSIBLE_CONFIG=configured)
    assert done.returncode == 0 and "GO" in done.stdout and "ok: [" not in done.stdout, done.stdout + done.stderr
    assert not list(installed.collection.rglob("runs")) and len(list((installed.home / "runs").glob("*/latest/report.json"))) >= 1
