# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Set the memlock limit of the services that start jobs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: memlock
short_description: Set the memlock limit of the services that start jobs
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Gives systemd services C(LimitMEMLOCK=infinity) by a drop-in where they have less, and restarts those that run with less.
  - The limit of the running process is looked at too, since a service that was not restarted keeps its old one.
  - A service that is not installed is left alone.
extends_documentation_fragment: [gpufabric.pyramid.repair]
options:
  services:
    description: The services that start jobs.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Let jobs register memory for RDMA
  gpufabric.pyramid.memlock:
    services: [slurmd.service, containerd.service]
  become: true
"""

RETURN = r"""
changes:
  description: What was changed, or would be in check mode, a sentence each.
  returned: always
  type: list
  elements: str
  sample: ["slurmd.service LimitMEMLOCK = infinity (was 8388608)", "slurmd.service was restarted"]
"""

import re

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpufabric.pyramid.plugins.module_utils import repairing

DROP_IN = "etc/systemd/system/%s.d/gpufabric-memlock.conf"
TEXT = "# Written by gpufabric.pyramid.\n[Service]\nLimitMEMLOCK=infinity\n"
# systemd writes no limit as a word, releases before 239 as the largest number.
UNLIMITED = ("infinity", "18446744073709551615")
SOFT = re.compile(r"^Max locked memory\s+(\S+)", re.MULTILINE)


def shown(systemctl, service):
    """What systemd says of a service: LoadState, LimitMEMLOCK, MainPID."""
    properties = repairing.ran([systemctl, "show", "-p", "LoadState,LimitMEMLOCK,MainPID", service], 30, f"{service} cannot be read")
    return dict(line.split("=", 1) for line in properties.splitlines() if "=" in line)


def running(record, properties):
    """The limit of a service's process, or None where it does not run."""
    pid = properties.get("MainPID", "0")
    found = SOFT.search(repairing.text_of(record.root, "proc", pid, "limits") or "") if pid != "0" else None
    return found[1] if found else None


def configure(record, systemctl, service):
    """Give one service the limit, and restart it where it runs with less.

    Raises Broken where it has less afterwards.
    """
    properties = shown(systemctl, service)
    if properties.get("LoadState") != "loaded":
        return
    limit = properties.get("LimitMEMLOCK", "not reported")
    if limit not in UNLIMITED:
        record.wants(f"{service} LimitMEMLOCK", limit, "infinity")
        record.file(DROP_IN % service, TEXT)
        if not record.check:
            repairing.ran([systemctl, "daemon-reload"], 60, "systemd did not take up the drop-in")
    restart = running(record, properties) not in (None, "unlimited")
    if restart:
        record.did(f"{service} was restarted" if not record.check else f"{service} would be restarted")
    if record.check:
        return
    if restart:
        repairing.ran([systemctl, "restart", service], 120, f"{service} cannot be restarted")
    now = shown(systemctl, service)
    if now.get("LimitMEMLOCK") not in UNLIMITED or running(record, now) not in (None, "unlimited"):
        raise repairing.Broken(
            f"{service} still has {now.get('LimitMEMLOCK')} ({running(record, now)}); another drop-in may set it, see systemctl cat {service}"
        )


def repair(record):
    """Every service."""
    systemctl = repairing.tool("systemctl")
    for service in record.module.params["services"]:
        configure(record, systemctl, service)


def main():
    """Repair."""
    spec = {"services": {"type": "list", "elements": "str", "required": True}, "root": repairing.ROOT}
    repairing.repaired(AnsibleModule(argument_spec=spec, supports_check_mode=True), repair)


if __name__ == "__main__":
    main()
