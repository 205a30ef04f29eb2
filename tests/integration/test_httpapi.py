# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A switch over its API within a whole run: Ansible's own connection with its variables; the frame of the API is emulated."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.tests.labs.api.server import ApiSwitch
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import planned, rendering

from .conftest import SMALLEST, Pod
from .test_network_cli import healthy_answers, of_leaf01


@pytest.mark.exhaustive
def test_a_pod_with_a_leaf_over_eapi_is_a_go_and_its_bgp_is_read(tmp_path: Path) -> None:
    pod = Pod(tmp_path, **SMALLEST)
    rendering.render(*planned.made(pod.inventory, [], 1), tmp_path / "answers")
    with ApiSwitch("eos", healthy_answers(tmp_path / "answers" / "leaf01")) as switch:
        place = pod.inventory / "host_vars" / "leaf01.yml"
        place.parent.mkdir(exist_ok=True)
        own = {"ansible_connection": "ansible.netcommon.httpapi", "ansible_network_os": "arista.eos.eos", "ansible_host": "127.0.0.1"}
        own |= {"ansible_httpapi_port": switch.port, "ansible_httpapi_use_ssl": False, "ansible_user": switch.user, "ansible_password": "{{ 'correct' }} horse"}
        place.write_text(yaml.safe_dump(own))
        climb = pod.climb("-e", "pod_to_layer=routing")
    assert climb.gate("routing", "rack_01") == "open", climb.output
    assert {"port_speed", "bgp_established", "ecmp_paths"} <= {check for check, (verdict, _words) in of_leaf01(climb).items() if verdict == "pass"}
    assert any(len(commands) > 2 for commands in switch.requests)
