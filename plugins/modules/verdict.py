# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: verdict
short_description: End a run and give its verdict
version_added: 0.1.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Writes the last report, prints the table of gates and every finding with its cause and fix, and sets stats for AWX.
  - It does not fail on a no-go, so that the stats are kept; C(playbooks/verdict.yml) does.
extends_documentation_fragment: [gpufabric.pyramid.step, gpufabric.pyramid.reads, gpufabric.pyramid.run]
"""

EXAMPLES = r"""
# Not by the name of an artifact such as pyramid_verdict: AWX passes artifacts on as extra variables, which hide registered ones.
- name: Report the verdict
  gpufabric.pyramid.verdict:
    run_dir: "{{ pyramid_gate.run_dir }}"
  run_once: true
  register: pyramid_outcome
"""

RETURN = r"""
pyramid_verdict:
  description: V(go), V(no_go) or V(no_fault_seen); V(not_judged) in check mode.
  returned: success
  type: str
pyramid_up_to_layer:
  description: The highest layer that every gate group in scope has proved.
  returned: success
  type: str
pyramid_stands_on:
  description: What the verdict stands on besides the checks (waivers, gates of earlier runs, changed expectations).
  returned: success
  type: list
  elements: str
pyramid_closed_gates:
  description: The gate groups with a closed gate, by layer.
  returned: success
  type: dict
pyramid_report:
  description: The path of report.json.
  returned: success
  type: str
pyramid_baseline:
  description: The path of the baseline that the run became; empty where it became none.
  returned: success
  type: str
pod:
  description: The pod's name.
  returned: success
  type: str
reasons:
  description: Why the verdict is not V(go).
  returned: success
  type: list
  elements: str
culprits:
  description: Of a no-go, the hosts and switches with findings, each with the checks and its own places.
  returned: success
  type: dict
publish:
  description: Where the role C(publish) puts the report; empty where it is not published.
  returned: success
  type: dict
"""
