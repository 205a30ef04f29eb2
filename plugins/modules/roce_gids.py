# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Have rails take their RoCE v2 GIDs from their configured addresses."""

from __future__ import annotations

DOCUMENTATION = r"""
module: roce_gids
short_description: Have rails take their RoCE v2 GIDs from their configured addresses
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Where the GID table of a rail lacks the RoCE v2 GID of its address, it has the host's own network configuration give the netdev its
    addresses again, with C(networkctl reconfigure), C(nmcli device connect) or C(ifup); other netdevs are not touched.
  - It writes no address; a rail whose address is not configured, or whose GID is at another index because of a further address, is not repaired.
extends_documentation_fragment: [gpufabric.pyramid.repair]
options:
  rails:
    description: The rails, each with C(device), C(netdev) and C(address); one without an address is left alone.
    type: list
    elements: dict
    required: true
  timeout:
    description: How long a GID may take to come back, in seconds.
    type: int
    default: 15
"""

EXAMPLES = r"""
- name: Bring back the GIDs of the rails
  gpufabric.pyramid.roce_gids:
    rails: "{{ pod_rails }}"
  become: true
"""

RETURN = r"""
changes:
  description: What was changed, or would be in check mode, a sentence each.
  returned: always
  type: list
  elements: str
  sample: ["mlx5_4 GID of 10.53.0.3 = RoCE v2 (was absent)"]
"""

import os
import socket
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpufabric.pyramid.plugins.module_utils import network_stack, repairing

PORT = "sys/class/infiniband/%s/ports/1"


def gid_of(address):
    """An address as sysfs writes its GID: of IPv6 it is the address itself, of IPv4 one that is mapped."""
    if ":" in address:
        packed = socket.inet_pton(socket.AF_INET6, address)
    else:
        packed = bytes(10) + b"\xff\xff" + socket.inet_pton(socket.AF_INET, address)
    return ":".join(packed[at : at + 2].hex() for at in range(0, 16, 2))


def has_gid(root, device, gid):
    """Whether a device's table has the GID as RoCE v2.

    Raises Broken where there is no such table.
    """
    gids = os.path.join(root, PORT % device, "gids")
    if not os.path.isdir(gids):
        raise repairing.Broken(f"/{PORT % device}/gids is not there: no RDMA device {device}")
    for index in os.listdir(gids):
        if (repairing.text_of(gids, index) or "").strip() == gid:
            # The kernel refuses to read the type of an empty entry, so only that of a match is.
            kind = repairing.text_of(root, PORT % device, "gid_attrs/types", index) or ""
            if kind.strip() == "RoCE v2":
                return True
    return False


def repair(record):
    """Each rail that lacks its GID."""
    for rail in record.module.params["rails"]:
        address = str(rail.get("address") or "").split("/", 1)[0]
        if not address:
            continue
        device, netdev, gid = rail["device"], rail["netdev"], gid_of(address)
        if has_gid(record.root, device, gid):
            continue
        command = network_stack.renewing(record.root, netdev)
        record.wants(f"{device} GID of {address}", "absent", "RoCE v2")
        if record.check:
            continue
        repairing.ran(command, 60, f"{netdev} does not get its addresses again")
        until = time.monotonic() + record.module.params["timeout"]
        while not has_gid(record.root, device, gid):
            if time.monotonic() > until:
                raise repairing.Broken(f"{device} has no RoCE v2 GID of {address} after {' '.join(command)}; is the address configured?")
            time.sleep(0.2)


def main():
    """Repair."""
    rails = {"type": "list", "elements": "dict", "required": True}
    spec = {"rails": rails, "timeout": {"type": "int", "default": 15}, "root": repairing.ROOT}
    repairing.repaired(AnsibleModule(argument_spec=spec, supports_check_mode=True), repair)


if __name__ == "__main__":
    main()
