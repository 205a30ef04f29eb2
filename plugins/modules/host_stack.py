# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read what configures a host's netdevs, how it boots, and which processes use its GPUs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_stack
short_description: Read what configures a host's netdevs, how it boots, and which processes use its GPUs
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Reads from the files of a host what configures each netdev and what gives the kernel its command line, so that a fix can be given in its commands.
  - Asks C(nvidia-smi), or the kernel for AMD's GPUs, which processes use a GPU.
extends_documentation_fragment: [gpufabric.pyramid.step, gpufabric.pyramid.reads]
options:
  netdevs:
    description: The netdevs to read.
    type: list
    elements: str
    default: []
  gpu_vendor:
    description: Whose GPUs the host has.
    type: str
    choices: [nvidia, amd]
    default: nvidia
  root:
    description: Where the host's files are.
    type: path
    default: /
"""

EXAMPLES = r"""
- name: Read what configures the rails
  gpufabric.pyramid.host_stack:
    netdevs: [enp24s0np0]
  register: stack
"""

RETURN = r"""
managers:
  description: Each netdev's C(kind) (netplan, networkd, networkmanager, ifcfg, ifupdown, or none) and the C(file) that configures it.
  returned: success
  type: dict
  sample: {enp24s0np0: {kind: netplan, file: /etc/netplan/50-rails.yaml}}
distribution:
  description: The words of C(/etc/os-release) for the distribution and those it is like.
  returned: success
  type: list
  elements: str
  sample: [ubuntu, debian]
boot_loader:
  description: How the kernel gets its command line; none where that is not known.
  returned: success
  type: str
  sample: update_grub
gpu_users:
  description: The processes that use a GPU; none where that is not known.
  returned: success
  type: list
  elements: str
  sample: ["4711 python3"]
unreported:
  description: Why the processes that use the GPUs are not known.
  returned: success
  type: str
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpufabric.pyramid.plugins.module_utils import network_stack, repairing

ASK = ["--query-compute-apps=pid,process_name", "--format=csv,noheader"]


def gpu_users(root, vendor):
    """The processes that use a GPU.

    Raises Broken where neither tool nor kernel reports.
    """
    if vendor == "nvidia":
        printed = repairing.ran([repairing.tool("nvidia-smi"), *ASK], 30, "nvidia-smi does not report the processes that use the GPUs")
        return [" ".join(line.replace(",", " ").split()) for line in printed.splitlines() if line.strip()]
    place = os.path.join(root, "sys/class/kfd/kfd/proc")
    if not os.path.isdir(place):
        raise repairing.Broken("/sys/class/kfd/kfd/proc is not there: the amdgpu driver is not loaded")
    return sorted(os.listdir(place))


def main():
    """Tell."""
    spec = {
        "netdevs": {"type": "list", "elements": "str", "default": []},
        "gpu_vendor": {"type": "str", "choices": ["nvidia", "amd"], "default": "nvidia"},
        "root": repairing.ROOT,
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    root, managers = module.params["root"], {}
    for netdev in module.params["netdevs"]:
        kind, file = network_stack.manager(root, netdev)
        managers[netdev] = {"kind": kind, "file": file}
    try:
        users, unreported = gpu_users(root, module.params["gpu_vendor"]), ""
    except repairing.Broken as broken:
        users, unreported = None, str(broken)
    facts = {"managers": managers, "distribution": network_stack.distribution(root), "boot_loader": network_stack.boot_loader(root)}
    module.exit_json(changed=False, gpu_users=users, unreported=unreported, **facts)


if __name__ == "__main__":
    main()
