# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: doctor
short_description: Name what a node lacks to be judged
version_added: 0.3.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - >-
    Of a GPU host it reads which programs, Python modules and privileges are there; of a switch, which commands it answers. From the checks
    of each layer follows what is missing, which checks need it, and which package brings it.
  - Neither rails nor a wiring plan are needed. A node that does not answer does not fail the task.
extends_documentation_fragment: [gpufabric.pyramid.step, gpufabric.pyramid.reads]
"""

EXAMPLES = r"""
- name: Name what the node lacks
  gpufabric.pyramid.doctor:
  register: pyramid_doctor
"""

RETURN = r"""
kind:
  description: V(host), V(switch), or V(not_read) of a switch of which no command is asked, such as those of InfiniBand.
  returned: success
  type: str
silent:
  description: Why the node did not answer; empty where it did.
  returned: success
  type: str
lacks:
  description:
    - What it lacks, each with RV(ignore:what), RV(ignore:why) (what brings it, or what a switch answered), and by layer the checks that keep their gate
      closed without it (RV(ignore:required)) and other checks that are not judged (RV(ignore:other)).
  returned: success
  type: list
  elements: dict
"""
