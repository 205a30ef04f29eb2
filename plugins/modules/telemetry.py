# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: telemetry
short_description: Check that a pod's telemetry covers every host and switch
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Asks the pod's Prometheus whether each of the signals of a pod in use is there for every host and switch, with as many series
    as the plan has rails or cables, and fresh; and Grafana, where C(pod_grafana_url) names one, whether some dashboard queries it.
  - It fails unless every signal covers every node; a signal that no metric is named for is unknown, and fails it too.
attributes:
  check_mode:
    support: full
    description: It only asks, so it does the same in check mode.
  diff_mode:
    support: none
    description: It changes nothing.
options:
  prometheus_token:
    description: A bearer token for Prometheus; empty sends none.
    type: str
    default: ''
  grafana_token:
    description: A token of a Grafana service account that may view dashboards; empty sends none.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: Check the telemetry coverage
  gpufabric.pyramid.telemetry:
    grafana_token: "{{ vault_grafana_token }}"
  run_once: true
"""

RETURN = r"""
text:
  description: What is printed.
  returned: success
  type: str
watched:
  description: A row a signal and node, with its verdict, what was expected and what was got.
  returned: success
  type: list
  elements: dict
"""
