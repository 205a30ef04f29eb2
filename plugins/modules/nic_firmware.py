# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Set firmware settings of NVIDIA NICs, and reset the NICs where that is allowed."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nic_firmware
short_description: Set firmware settings of NVIDIA NICs
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Sets what differs, and nothing else, with C(mlxconfig) or C(mstconfig); a setting is taken up at the next reset of the NIC.
  - With O(reset) it resets the NICs whose settings wait for it, with C(mlxfwreset) or C(mstfwreset); a NIC that is reset loses its
    links for some seconds and its running settings, so drain the host before. A card of which another port is up, that is not among
    O(devices), is not reset, since storage or the way to the host may be on it.
  - It reads every NIC again afterwards, and fails where a setting is not what was set.
extends_documentation_fragment: [gpufabric.pyramid.repair]
options:
  devices:
    description: The NICs' PCI addresses, or their RDMA devices.
    type: list
    elements: str
    required: true
  settings:
    description: Settings by the names of C(mlxconfig), with the word or the number that each has to have.
    type: dict
    default: {}
  priority:
    description:
      - The priority that DCQCN has to serve. Its bit is added to C(ROCE_CC_PRIO_MASK_P1), and to C(_P2) where the NIC has two ports;
        other bits are left as they are.
    type: int
  reset:
    description: Whether NICs may be reset where their settings wait for it.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Have DCQCN serve priority 3 from the next reset on
  gpufabric.pyramid.nic_firmware:
    devices: ["0000:18:00.0", "0000:40:00.0"]
    priority: 3
  become: true
"""

RETURN = r"""
changes:
  description: What was changed, or would be in check mode, a sentence each.
  returned: always
  type: list
  elements: str
  sample: ["0000:18:00.0 ROCE_CC_PRIO_MASK_P1 (next boot) = 8 (was 0)"]
pending:
  description: The settings that wait for a reset, by device; in check mode those that would.
  returned: success
  type: dict
  sample: {"0000:18:00.0": [ROCE_CC_PRIO_MASK_P1]}
reset:
  description: The devices that were reset, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: ["0000:18:00.0"]
"""

import glob
import os
import re
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpufabric.pyramid.plugins.module_utils import repairing

MASKS = ("ROCE_CC_PRIO_MASK_P1", "ROCE_CC_PRIO_MASK_P2")
ROW = re.compile(r"^\s*\*?\s+([A-Z][A-Z0-9_]+(?:\[[\d.]+\])?)\s+(\S+)\s+(\S+)\s+(\S+)\s*$")
NUMBER = re.compile(r"^.*\((\w+)\)$")
QUERY_SECONDS = 60
SET_SECONDS = 60
RESET_SECONDS = 300
BACK_SECONDS = 60


def address(root, device):
    """The PCI address of an RDMA device; what is none, or is not known to sysfs, is itself."""
    path = os.path.join(root, "sys/class/infiniband", device, "device")
    return os.path.basename(os.path.realpath(path)) if os.path.exists(path) else device


def queried(tool, device):
    """Every setting of a NIC: its name to its current and its next-boot value.

    Raises Broken where the tool fails, or prints no such table.
    """
    text = repairing.ran([tool, "-d", device, "-e", "query"], QUERY_SECONDS, f"{device} cannot be read")
    rows = [match.groups() for match in map(ROW.match, text.splitlines()) if match]
    if not rows or not re.search(r"Default\s+Current\s+Next Boot", text):
        raise repairing.Broken(f"{device}: {os.path.basename(tool)} -e query prints no table of current and next-boot settings")
    return {name: (current, later) for name, _default, current, later in rows}


def number(value):
    """The number of a value, ``True(1)``, ``255`` or ``0x8``; None where it is a word alone."""
    text = NUMBER.sub(r"\1", value)
    try:
        return int(text, 0)
    except ValueError:
        return None


def same(value, wanted):
    """Whether a value, such as ``True(1)``, is what is wanted, by its word or by its number."""
    word, wanted = value.partition("(")[0], str(wanted)
    return wanted.lower() in (value.lower(), word.lower()) or (number(value) is not None and number(value) == number(wanted))


def lacking(has, given, device):
    """Settings to set, by name.

    Raises Broken for a setting that the NIC does not have.
    """
    wanted = dict(given["settings"])
    for mask in MASKS if given["priority"] is not None else ():
        if mask not in has and mask.endswith("P2"):
            # Single-port cards have no second port's mask.
            continue
        later = number(has[mask][1]) if mask in has else None
        if later is None:
            raise repairing.Broken(f"{device}: the firmware reports no {mask}")
        wanted.setdefault(mask, later | 1 << given["priority"])
    unknown = [name for name in wanted if name not in has]
    if unknown:
        raise repairing.Broken(f"{device}: the firmware has no setting {', '.join(unknown)}")
    return {name: value for name, value in wanted.items() if not same(has[name][1], value)}


def changed(record, mlxconfig, device):
    """Set what differs; returns what then waits for a reset."""
    given = record.module.params
    has = queried(mlxconfig, device)
    todo = lacking(has, given, device)
    for name, value in todo.items():
        record.wants(f"{device} {name} (next boot)", has[name][1], value)
    if todo and not record.check:
        pairs = [f"{name}={value}" for name, value in todo.items()]
        repairing.ran([mlxconfig, "-d", device, "-y", "set", *pairs], SET_SECONDS, f"{device} cannot be set")
        has = queried(mlxconfig, device)
        wrong = [f"{name} is {has[name][1]}" for name, value in todo.items() if not same(has[name][1], value)]
        if wrong:
            raise repairing.Broken(f"{device}: {', '.join(wrong)} after {' '.join(pairs)} was set")
    return [name for name, (current, later) in has.items() if current != later] + [name for name in todo if record.check and has[name][0] == has[name][1]]


def back(record, device):
    """Wait for the netdev of a NIC that was reset, where sysfs knows the NIC."""
    place = os.path.join(record.root, "sys/bus/pci/devices", device)
    until = time.monotonic() + BACK_SECONDS
    while os.path.isdir(place) and not os.path.isdir(os.path.join(place, "net")):
        if time.monotonic() > until:
            raise repairing.Broken(f"{device}: no netdev {BACK_SECONDS} s after the reset")
        time.sleep(0.5)


def beside(record, device, devices):
    """The netdevs of the same card that are up and of none of the devices; those of virtual functions are their port's."""
    for function in sorted(glob.glob(os.path.join(record.root, "sys/bus/pci/devices", device.rpartition(".")[0] + ".*"))):
        if os.path.basename(function) in devices or os.path.lexists(os.path.join(function, "physfn")):
            continue
        for place in sorted(glob.glob(os.path.join(function, "net/*"))):
            if (repairing.text_of(place, "operstate") or "").strip() != "down":
                yield os.path.basename(place)


def reset(record, mlxconfig, device, devices):
    """Reset one NIC, and look whether it has taken up its settings.

    Raises Broken where it has not, or where another user's port would go down with it.
    """
    others = list(beside(record, device, devices))
    if others:
        raise repairing.Broken(f"{device} is not reset: {', '.join(others)} of the same card is up and no rail; reset it by hand, or reboot")
    record.did(f"{device} was reset" if not record.check else f"{device} would be reset")
    if record.check:
        return
    repairing.ran([repairing.tool("mlxfwreset", "mstfwreset"), "-d", device, "-y", "reset"], RESET_SECONDS, f"{device} cannot be reset")
    back(record, device)
    left = [name for name, (current, later) in queried(mlxconfig, device).items() if current != later]
    if left:
        raise repairing.Broken(f"{device}: {', '.join(left)} still waits for a reset after mlxfwreset; a reboot, or a power cycle, is needed")


def repair(record):
    """Set every NIC, then reset those that wait for it."""
    given = record.module.params
    mlxconfig = repairing.tool("mlxconfig", "mstconfig")
    pending = {}
    devices = [address(record.root, one) for one in given["devices"]]
    for device in devices:
        waiting = changed(record, mlxconfig, device)
        if waiting:
            pending[device] = waiting
    if not given["reset"]:
        return {"pending": pending, "reset": []}
    for device in pending:
        reset(record, mlxconfig, device, devices)
    return {"pending": {}, "reset": list(pending)}


def main():
    """Repair."""
    spec = {
        "devices": {"type": "list", "elements": "str", "required": True},
        "settings": {"type": "dict", "default": {}},
        "priority": {"type": "int"},
        "reset": {"type": "bool", "default": False},
        "root": repairing.ROOT,
    }
    repairing.repaired(AnsibleModule(argument_spec=spec, supports_check_mode=True), repair)


if __name__ == "__main__":
    main()
