# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: draft
short_description: Draft a pod's inventory from the readings of its nodes
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - >-
    Writes C(hosts.yml), C(group_vars/cabling.csv) and C(group_vars/all/pod.yml) from what P(gpufabric.pyramid.survey#module) brought from every node:
    cables, the ordered rails of each type of host, AS numbers or GUIDs of switches, topology and rate.
  - What was not reported is a null with its reason at the end of C(group_vars/all/pod.yml), never a guess; a run refuses it until it is filled in.
  - >-
    Where the inventory that the nodes were read with has a wiring plan, it says where the pod differs from it: cables, addresses of rails and AS numbers.
    With C(--check) nothing is written, so that a plan is compared with the pod at any time.
  - The same answers give the same files, so that a second run on an unchanged pod changes nothing.
extends_documentation_fragment: [gpufabric.pyramid.step]
attributes:
  check_mode:
    support: full
    description: It reports what would change and writes nothing.
  diff_mode:
    support: full
    description: It shows the old and the new text of each file.
options:
  into:
    description: The directory that gets the files; a draft that is there is replaced.
    type: path
    required: true
  name:
    description: The pod's name.
    type: str
    required: true
  fabric:
    description: The fabric that joins the rails.
    type: str
    choices: [roce, infiniband]
    required: true
  accept:
    description:
      - The proposals that are written as expectations, by name, or V(all). The others stand in the file as comments, and the defaults are expected.
      - >-
        V(rails_by_port) names and numbers rails by their ports, where no host reports an RDMA device or no host reports a GPU: a pod that is validated up to
        routing has none. V(all) includes it.
      - Also the places (C(gpu03:enp24s0np0), C(leaf03)) of rails that break the pattern of the other hosts, and of nodes whose PFC, DSCP map or ECN is
        another one than that of most of their role, where they are meant so. V(all) accepts none of them.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Draft the inventory
  gpufabric.pyramid.draft:
    into: discovered/mypod
    name: mypod
    fabric: infiniband
  run_once: true
"""

RETURN = r"""
cables:
  description: How many cables were found.
  returned: success
  type: int
blanks:
  description: What was not reported, and why.
  returned: success
  type: list
  elements: str
proposals:
  description: What all nodes agree on and may share as a fault (link speed, MTU, number of GPUs, the class of RoCE), by expectation.
  returned: success
  type: dict
differences:
  description: >-
    Where the pod differs from the inventory's own plan: the place, what is planned, what was found, and whether that was seen (V(false): the nodes did
    not tell). Empty also where the inventory has no wiring plan.
  returned: success
  type: list
  elements: dict
files:
  description: The files of the draft.
  returned: success
  type: list
  elements: str
"""
