# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Load a kernel module now and at every boot."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_module
short_description: Load a kernel module now and at every boot
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Loads a kernel module where it is not loaded, and lists it in C(/etc/modules-load.d) where no file lists it.
  - A module that is loaded and did not register, as C(nvidia_peermem) that came before C(ib_core), is taken out and loaded again.
  - It looks afterwards whether the module is there, because the exit status of C(modprobe) proves nothing.
extends_documentation_fragment: [gpufabric.pyramid.repair]
options:
  name:
    description: The module, with dashes or underscores.
    type: str
    required: true
  registered:
    description:
      - A file or directory below O(root) that a module which works has made, with shell wildcards.
      - Where the directory that it would be in does not exist, the kernel makes none, and a module that stays loaded works.
    type: str
"""

EXAMPLES = r"""
- name: Let NICs reach GPU memory
  gpufabric.pyramid.kernel_module:
    name: nvidia_peermem
    registered: sys/kernel/mm/memory_peers/nv*
  become: true
"""

RETURN = r"""
changes:
  description: What was changed, or would be in check mode, a sentence each.
  returned: always
  type: list
  elements: str
  sample: ["nvidia_peermem = loaded (was not loaded)"]
"""

import glob
import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpufabric.pyramid.plugins.module_utils import repairing

LISTS = ("etc/modules-load.d/*.conf", "run/modules-load.d/*.conf", "usr/lib/modules-load.d/*.conf", "etc/modules")


def spelled(name):
    """The kernel's own spelling."""
    return name.strip().replace("-", "_")


def loaded(root, name):
    """Whether the kernel has the module.

    Raises Broken where /proc does not report.
    """
    text = repairing.text_of(root, "proc/modules")
    if text is None:
        raise repairing.Broken("/proc/modules is not there")
    return name in {line.split()[0] for line in text.splitlines() if line.strip()}


def listed(root, name):
    """Whether the boot loads the module."""
    for pattern in LISTS:
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            lines = (repairing.text_of(path) or "").splitlines()
            if name in {spelled(line) for line in lines if not line.lstrip().startswith(("#", ";"))}:
                return True
    return False


def registered(root, pattern):
    """Whether what a working module makes is there, or no kernel module makes it here."""
    return pattern is None or not os.path.isdir(os.path.join(root, os.path.dirname(pattern))) or bool(glob.glob(os.path.join(root, pattern)))


def repair(record):
    """Load, look, list."""
    given = record.module.params
    name = spelled(given["name"])
    was = "not loaded" if not loaded(record.root, name) else "loaded" if registered(record.root, given["registered"]) else "loaded, not registered"
    if was != "loaded" and not record.check:
        modprobe = repairing.tool("modprobe")
        if was != "not loaded":
            repairing.ran([modprobe, "-r", name], 60, f"{name} cannot be taken out")
            record.did(f"{name} taken out")
        repairing.ran([modprobe, name], 60, f"{name} cannot be loaded")
        if not loaded(record.root, name):
            raise repairing.Broken(f"modprobe {name} succeeded, and the kernel does not have the module")
        if not registered(record.root, given["registered"]):
            raise repairing.Broken("{} is loaded, and /{} is not there: it did not register".format(name, given["registered"]))
    # What a failed attempt did not change is not recorded.
    record.wants(name, was, "loaded")
    if not listed(record.root, name):
        record.file(f"etc/modules-load.d/gpufabric-{name}.conf", f"# Written by gpufabric.pyramid.\n{name}\n")


def main():
    """Repair."""
    spec = {"name": {"type": "str", "required": True}, "registered": {"type": "str"}, "root": repairing.ROOT}
    repairing.repaired(AnsibleModule(argument_spec=spec, supports_check_mode=True), repair)


if __name__ == "__main__":
    main()
