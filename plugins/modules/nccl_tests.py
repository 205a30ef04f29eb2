# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_tests
short_description: Measure a collective by nccl-tests or rccl-tests
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Runs one program of nccl-tests or rccl-tests with validation, over the GPUs of a host, or over those of several hosts that C(srun) or C(mpirun)
    starts from it.
  - It has the variables of NCCL and RCCL that it is given, and none that the host's login sets.
  - It is started detached from the connection, is recorded with its id, and is ended with all that it started at the deadline.
  - A table is one only with exit status 0, its sums and no unknown line; anything else fails the task in the program's own words.
  - Layer 5 of the pyramid plans, starts and judges such runs for a whole pod; this module is for a run by hand.
attributes:
  check_mode:
    support: full
    description: It returns the command and runs nothing.
  diff_mode:
    support: none
    description: It changes no configuration.
options:
  directory:
    description: Where the programs are on the host, such as C(/opt/nccl-tests/build).
    type: path
    required: true
  collective:
    description: Which of them is run; V(all_to_all) is the program C(alltoall_perf).
    type: str
    choices: [all_reduce, all_gather, reduce_scatter, broadcast, all_to_all]
    default: all_reduce
  first_bytes:
    description: The smallest size.
    type: int
    default: 1048576
  last_bytes:
    description: The largest size.
    type: int
    default: 4294967296
  factor:
    description: By what each size is larger than the one before.
    type: int
    default: 4
  iterations:
    description: How often each size is timed.
    type: int
    default: 20
  gpus:
    description: GPUs of each host.
    type: int
    default: 8
  launcher:
    description:
      - What starts a process a GPU on every one of O(hosts); nccl-tests has to be built with MPI for it.
      - With V(none) one process drives the GPUs of this host.
    type: str
    choices: [none, srun, mpirun]
    default: none
  hosts:
    description: The hosts that take part, as the launcher knows them, this one first.
    type: list
    elements: str
    default: []
  arguments:
    description: Further arguments of the launcher, such as C(--mca btl_tcp_if_include bond0).
    type: list
    elements: str
    default: []
  environment:
    description: Variables that every process gets.
    type: dict
    default: {}
  deadline:
    description: When it is ended, in seconds.
    type: int
    default: 300
requirements:
  - The Python packages textfsm and jmespath on the controller.
"""

EXAMPLES = r"""
- name: Measure a host alone
  gpufabric.pyramid.nccl_tests:
    directory: /opt/nccl-tests/build
    environment: {NCCL_DEBUG: WARN}
  register: alone

- name: Measure two hosts over their fabric
  gpufabric.pyramid.nccl_tests:
    directory: /opt/nccl-tests/build
    launcher: mpirun
    hosts: [gpu01, gpu02]
  delegate_to: gpu01
  register: pair

- name: Want 350 GB/s of the largest size
  ansible.builtin.assert:
    that: (pair.rows | last).busbw_gbyte_s >= 350
"""

RETURN = r"""
rows:
  description: The table, a row a size, as the reading C(nccl_tests) has it.
  returned: when it ran
  type: list
  elements: dict
  sample: [{collective: all_reduce, size_bytes: 4294967296, dtype: float, busbw_gbyte_s: 366.1, wrong: 0, in_place_wrong: 0, ranks: [0, 1]}]
command:
  description: The command that was run, or would be in check mode.
  returned: always
  type: list
  elements: str
"""
