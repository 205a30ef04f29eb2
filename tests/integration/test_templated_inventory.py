# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an inventory says by templates: the nodes' Python and what the switches are, as Ansible's own modules understand it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from .conftest import SMALLEST, Pod

pytestmark = pytest.mark.exhaustive

BY_HAND = """
- hosts: gpu01,leaf01
  gather_facts: false
  tasks:
    - gpufabric.pyramid.lsmod: {}
      when: inventory_hostname == "gpu01"
      register: modules
    - gpufabric.pyramid.switch_show: {readings: [interface_status]}
      when: inventory_hostname == "leaf01"
      register: ports
    - gpufabric.pyramid.reading: {name: "{{ 'rdma_counters' if inventory_hostname == 'gpu01' else 'interface_status' }}"}
      register: any
    - gpufabric.pyramid.survey: {fabric: roce}
      register: seen
    - ansible.builtin.copy:
        content: "{{ {'modules': host.modules, 'ports': ports, 'any': [host.any, any], 'rails': host.pod_rails, 'seen': seen} | to_json }}"
        dest: RESULT
        mode: "0600"
      when: inventory_hostname == "leaf01"
      delegate_to: localhost
      vars: {host: "{{ hostvars.gpu01 }}", ansible_connection: local, ansible_python_interpreter: PYTHON}
"""


def test_templates_say_what_plain_words_would(tmp_path: Path) -> None:
    pod = Pod(tmp_path, **SMALLEST)
    every = pod.inventory / "group_vars" / "all"
    (every / "templates.yml").write_text(
        'ansible_python_interpreter: "{{ python_of_nodes }}"\npython_of_nodes: python3\nsystems: {leaves: arista.eos.eos, spines: sonic}\n'
    )
    for group, line in (("leaves", "ansible_network_os: arista.eos.eos"), ("spines", "pod_platform: sonic")):
        path = pod.inventory / "group_vars" / f"{group}.yml"
        text = path.read_text()
        assert line in text
        path.write_text(text.replace(line, f'{line.partition(":")[0]}: "{{{{ systems.{group} }}}}"'))
    climb = pod.climb(pod_to_layer="links", pod_depth="quick")
    assert climb.report is not None and (climb.report["verdict"], climb.not_well()) == ("no_fault_seen", {}), climb.output

    play, result = tmp_path / "play.yml", tmp_path / "result.json"
    play.write_text(BY_HAND.replace("RESULT", str(result)).replace("PYTHON", sys.executable))
    done = pod.playbook(playbook=str(play))
    assert done.rc == 0, done.output
    response = json.loads(result.read_text())
    assert response["modules"]["rows"] and response["ports"]["rows"]["interface_status"]
    counters, status = (one["rows"] for one in response["any"])
    assert {row["device"] for row in counters} == {rail["device"] for rail in response["rails"]} and status == response["ports"]["rows"]["interface_status"]
    assert response["seen"]["reported"]["lldp_neighbors"] and response["seen"]["unreported"] == {}
