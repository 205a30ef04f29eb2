# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: patrol
short_description: Validate idle hosts, and give way to jobs
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Takes idle hosts of the pod from Slurm or Kubernetes, those of an interrupted patrol first, then those with the highest risk of the pod's history, or the
    longest idle.
  - Holds them by a job of the lowest priority, or by pods, and validates them by C(playbooks/validate.yml).
  - Ends the validation and what it loaded, and gives the hosts back, as soon as a job asks for nodes, the hold is lost or the playbook ends. The hosts come
    first next time.
  - Neither drains nor reserves a host. What it finds is in the report and in the pod's history.
extends_documentation_fragment: [gpufabric.pyramid.step]
attributes:
  check_mode:
    support: full
    description: It names the hosts that it would validate.
  diff_mode:
    support: none
    description: It changes no configuration.
"""

EXAMPLES = r"""
- name: Validate idle hosts
  gpufabric.pyramid.patrol:
  delegate_to: login01
"""

RETURN = r"""
hosts:
  description: The hosts that it held, or would hold.
  returned: success
  type: list
  elements: str
why:
  description: Why no host was validated, or why the validation was interrupted; empty where it ended.
  returned: success
  type: str
interrupted:
  description: Whether it gave way.
  returned: success
  type: bool
gave_way_seconds:
  description: For how long it ended what it had loaded and gave the hosts back.
  returned: success
  type: float
verdict:
  description: The verdict of the validation, or empty where there is none.
  returned: success
  type: str
report:
  description: Its C(report.json).
  returned: success
  type: str
"""
