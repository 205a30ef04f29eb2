# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switch DCQCN on, now and whenever the NIC appears."""

from __future__ import annotations

DOCUMENTATION = r"""
module: dcqcn
short_description: Switch DCQCN on, now and whenever the NIC appears
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Switches the reaction point (C(roce_rp)) and the notification point (C(roce_np)) of some NICs on for one priority, by the
    C(ecn) directory that the OFED and DOCA drivers give each netdev.
  - A systemd unit does it again whenever the netdev appears, at boot and after a reset of the NIC. Where nothing has to change now,
    the next boot is left as it is too, since the host then has a way of its own. Other priorities are left as they are.
extends_documentation_fragment: [gpufabric.pyramid.repair, gpufabric.pyramid.repair.rails]
"""

EXAMPLES = r"""
- name: Let the rails slow down before the leaf has to pause them
  gpufabric.pyramid.dcqcn:
    netdevs: [enp24s0np0, enp64s0np0]
    priority: 3
  become: true
"""

RETURN = r"""
changes:
  description: What was changed, or would be in check mode, a sentence each.
  returned: always
  type: list
  elements: str
  sample: ["enp24s0np0 roce_rp priority 3 = 1 (was 0)"]
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpufabric.pyramid.plugins.module_utils import repairing

SWITCH = "sys/class/net/%s/ecn/%s/enable/%s"
ROLES = ("roce_np", "roce_rp")
NAME = "gpufabric-dcqcn"


def differing(record, netdevs, priority):
    """The switches that are off, as files below the root.

    Raises Broken where the driver has no such switch.
    """
    places = []
    for netdev in netdevs:
        for role in ROLES:
            place = SWITCH % (netdev, role, priority)
            was = repairing.text_of(record.root, place)
            if was is None:
                raise repairing.Broken(f"/{place} is not there: this driver has no switch for DCQCN (OFED and DOCA have), or there is no such netdev")
            if record.wants(f"{netdev} {role} priority {priority}", was.strip(), "1"):
                places.append(place)
    return places


def switched(root, place):
    """Switch one side of one NIC on.

    Raises Broken where the driver does not take the value.
    """
    with open(os.path.join(root, place), "w", encoding="ascii") as file:
        file.write("1")
    now = (repairing.text_of(root, place) or "").strip()
    if now != "1":
        raise repairing.Broken(f"/{place} is {now or 'empty'} after 1 was written")


def repair(record):
    """The next boot first, so that an interrupted repair is seen again; then every switch."""
    netdevs, priority = record.module.params["netdevs"], record.module.params["priority"]
    if not 0 <= priority <= 7:
        raise repairing.Broken(f"argument 'priority' must be from 0 to 7, not {priority}")
    places = differing(record, netdevs, priority)
    if places:
        commands = [f"/bin/sh -c 'echo 1 >/{SWITCH % ('%I', role, priority)}'" for role in ROLES]
        record.at_boot(NAME, repairing.unit(f"DCQCN on priority {priority}", commands), netdevs)
    for place in places if not record.check else ():
        switched(record.root, place)


def main():
    """Repair."""
    spec = {"netdevs": {"type": "list", "elements": "str", "required": True}, "priority": {"type": "int", "required": True}, "root": repairing.ROOT}
    repairing.repaired(AnsibleModule(argument_spec=spec, supports_check_mode=True), repair)


if __name__ == "__main__":
    main()
