# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: import_plan
short_description: Make an inventory of a pod as another system has it written down
version_added: 0.3.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - >-
    Reads devices and cables from NetBox, a cabling spreadsheet, Slurm's topology file or an NVIDIA Air topology, and writes C(hosts.yml) and
    C(group_vars/cabling.csv). No node is asked.
  - >-
    What it writes is a plan, not what the pod is: P(gpufabric.pyramid.draft#module) in C(discover.yml) says where the pod differs from it, and drafts
    the rest.
  - Slurm's files name no port, so that they give hosts and their gate groups only.
extends_documentation_fragment: [gpufabric.pyramid.step]
attributes:
  check_mode:
    support: full
    description: It reports what would change and writes nothing.
  diff_mode:
    support: full
    description: It shows the old and the new text of each file.
options:
  source:
    description: What is read.
    type: str
    choices: [netbox, spreadsheet, slurm, air]
    required: true
  path:
    description:
      - The file, of every source but V(netbox).
      - >-
        Of V(spreadsheet) a C(.csv), or a C(.xlsx), which needs the Python package openpyxl; of V(slurm) a C(topology.yaml) or C(topology.conf); of V(air)
        a topology as JSON.
    type: path
  url:
    description: The address of NetBox, which is read with the Python package pynetbox.
    type: str
  token:
    description: An API token of NetBox that may read.
    type: str
  filters:
    description: What selects the devices in NetBox, by the parameters of its API (C(site), C(tag), C(role), C(rack)).
    type: dict
    default: {}
  validate_certs:
    description: Whether the certificate of NetBox is verified.
    type: bool
    default: true
  columns:
    description:
      - >-
        By column of the wiring plan, what the spreadsheet calls it: C(a_node), C(a_port), C(b_node), C(b_port), C(medium), C(length_m), C(a_address),
        C(b_address), C(gbit_s).
      - Usual names, such as C(Source Device), are known.
    type: dict
    default: {}
  sheet:
    description: The sheet of a workbook, the first by default.
    type: str
    default: ""
  groups:
    description: >-
      By group (C(gpu_hosts), C(leaves), C(spines), C(super_spines)), the patterns of a node's role,
      or where the source has no roles of its name, instead of the usual ones
      such as C(*leaf*).
    type: dict
    default: {}
  into:
    description: The directory of the inventory that is written; a plan that is there is replaced.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Import the pod from NetBox
  gpufabric.pyramid.import_plan:
    source: netbox
    url: https://netbox.example.com
    token: "{{ lookup('ansible.builtin.env', 'NETBOX_TOKEN') }}"
    filters: {site: dc1, tag: pod1}
    into: inventories/mypod

- name: Import a cabling spreadsheet
  gpufabric.pyramid.import_plan:
    source: spreadsheet
    path: cabling.xlsx
    columns: {a_node: Server, a_port: HCA}
    into: inventories/mypod
"""

RETURN = r"""
nodes:
  description: How many nodes are in the inventory.
  returned: success
  type: int
cables:
  description: How many cables are in the plan.
  returned: success
  type: int
left_out:
  description: What was not taken, and why.
  returned: success
  type: list
  elements: str
files:
  description: The files of the inventory.
  returned: success
  type: list
  elements: str
"""
