# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A clone's playbooks run the clone's own plugins, whatever else is installed on the controller."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout

from .conftest import ROOT, SMALLEST

INSTALLED = "the installed collection answers"
LOOKUP = f"""
from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

DOCUMENTATION = "name: whole_run"


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        raise AnsibleError("{INSTALLED}")
"""
PLAYBOOK = """
- name: Open the run
  hosts: "{{ lookup('gpufabric.pyramid.whole_run', 'all') }}"
  gather_facts: false
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory in which another build of the collection is installed, with an inventory beside it."""
    collection = tmp_path / ".ansible/collections/ansible_collections/gpufabric/pyramid"
    for place, text in {"plugins/lookup/whole_run.py": LOOKUP, "playbooks/validate.yml": PLAYBOOK}.items():
        (collection / place).parent.mkdir(parents=True)
        (collection / place).write_text(text, encoding="utf-8")
    layout.write(tmp_path / "inventory", **SMALLEST, expectations={"pod_name": "mine", "pod_runs_dir": str(tmp_path / "runs")})
    return tmp_path


def validate(home: Path, playbook: Path | str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Print the plans of the loads, which reads no node."""
    command = [str(Path(sys.executable).with_name("ansible-playbook")), str(playbook), "-i", str(home / "inventory"), "--check"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    given = {**kept, "HOME": str(home), "ANSIBLE_NOCOLOR": "1", "ANSIBLE_CONNECTION_PLUGINS": str(ROOT / "tests/simulated_pod/connection")}
    return subprocess.run(command, cwd=directory, env=given, text=True, capture_output=True, timeout=300, check=False)


def test_a_clone_runs_its_own_plugins(home: Path) -> None:
    done = validate(home, "playbooks/validate.yml", ROOT)
    assert done.returncode == 0 and INSTALLED not in done.stdout + done.stderr, done.stdout + done.stderr


def test_by_its_name_a_playbook_is_that_of_the_installed_collection(home: Path) -> None:
    done = validate(home, "gpufabric.pyramid.validate", home)
    assert done.returncode != 0 and INSTALLED in done.stdout + done.stderr, done.stdout + done.stderr
