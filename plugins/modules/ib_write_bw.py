# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ib_write_bw
short_description: Measure the bandwidth of rails, all rails of a host in parallel
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Runs perftest's C(ib_write_bw) on several RDMA devices of a host at once, as servers or as clients.
  - Servers are started detached from the connection and end by themselves at the deadline; a client awaits its server.
  - Every process is started on the CPUs of its NIC's own NUMA node, is recorded with its id, and is ended by that id.
  - A result is one only with exit status 0, a row and more than 0; anything else fails the task in perftest's own words.
  - Layer 4 of the pyramid plans, starts and judges such tests for a whole pod; this module is for a test by hand.
attributes:
  check_mode:
    support: full
    description: It returns the commands and runs nothing.
  diff_mode:
    support: none
    description: It changes no configuration.
options:
  state:
    description:
      - V(server) starts the servers and returns; V(client) runs the clients and returns what they measured; V(collected) ends the servers and
        returns what they printed.
    type: str
    required: true
    choices: [server, client, collected]
  tests:
    description: One test a device; needed by servers and clients.
    type: list
    elements: dict
    suboptions:
      device:
        description: The RDMA device.
        type: str
        required: true
      port:
        description: The TCP port by which client and server meet; 18515 and up by default, in the order of the tests.
        type: int
      peer:
        description: The server's address, of a client.
        type: str
      gpu:
        description: The index of the GPU nearest the NIC, where O(memory) is that of a GPU.
        type: int
      gid_index:
        description: The GID index; perftest chooses where there is none.
        type: int
  traffic_class:
    description:
      - The traffic class of the pod's RoCE priority, 106 for DSCP 26; needed by servers and clients.
      - There is no default, since class 0 judges a priority that carries no RDMA.
    type: int
  bytes:
    description: The message size.
    type: int
    default: 1048576
  seconds:
    description: How long each test sends.
    type: int
    default: 5
  queue_pairs:
    description: Queue pairs of each test.
    type: int
    default: 4
  mtu:
    description: The RDMA MTU in bytes.
    type: int
    default: 4096
  ack_timeout:
    description: How long a queue pair waits for an acknowledgement, as the exponent that C(-u) takes (4.096 us times 2 to that power).
    type: int
    default: 14
  memory:
    description: Where the buffers are.
    type: str
    choices: [host, cuda, rocm]
    default: host
  dmabuf:
    description: Register CUDA memory by DMA-BUF instead of a peer memory module.
    type: bool
    default: false
  bidirectional:
    description: Send in both directions at once; rates are then of both together.
    type: bool
    default: false
  deadline:
    description: When a server without a client, or a client that does not end, is ended, in seconds.
    type: int
    default: 120
"""

EXAMPLES = r"""
- name: Serve on two rails of one host
  gpufabric.pyramid.ib_write_bw:
    state: server
    traffic_class: 106
    tests: [{device: mlx5_0, gid_index: 3}, {device: mlx5_3, gid_index: 3}]
  delegate_to: gpu01

- name: Send to them from another one
  gpufabric.pyramid.ib_write_bw:
    state: client
    traffic_class: 106
    tests: [{device: mlx5_0, gid_index: 3, peer: 10.51.0.1}, {device: mlx5_3, gid_index: 3, peer: 10.52.0.1}]
  delegate_to: gpu02
  register: measured

- name: End what still serves
  gpufabric.pyramid.ib_write_bw:
    state: collected
  delegate_to: gpu01
"""

RETURN = r"""
rows:
  description: What was measured, a row a test, as the reading C(write_bw) has it.
  returned: client
  type: list
  elements: dict
  sample: [{item: mlx5_0 to 10.51.0.1 port 18515, device: mlx5_0, bytes: 1048576, gbit_s: 378.2}]
tests:
  description: How every test ended, with perftest's own words where it gave no rate.
  returned: client
  type: list
  elements: dict
servers:
  description: How every server ended and what it printed.
  returned: collected
  type: list
  elements: dict
ended:
  description: Why the servers have ended.
  returned: collected
  type: str
commands:
  description: The commands that were started, or would be in check mode.
  returned: server, or in check mode
  type: list
  elements: list
"""
