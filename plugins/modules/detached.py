# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads on one host, where the connection cannot pipe the program."""

from __future__ import annotations

DOCUMENTATION = r"""
module: detached
short_description: Start, monitor and collect processes that outlive the connection
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Starts processes by a schedule under a supervisor that ends each at its deadline, and all of them where the controller stops renewing them.
  - M(gpufabric.pyramid.load) uses it where a connection cannot pipe a program to the host.
extends_documentation_fragment: [gpufabric.pyramid.step]
attributes:
  check_mode:
    support: none
    description: It starts processes, so it does not run in check mode.
  diff_mode:
    support: none
    description: It changes no configuration.
options:
  request:
    description:
      - C(do) (C(start), C(watch), C(collect), C(end) or C(clear)) and C(load), the load's name; with C(start) also C(owner), C(run_id), C(start_in), C(lease)
        and C(jobs), each with C(id), C(argv), C(at), C(until), C(again) and C(near); with C(collect) also C(wait).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Start a server that ends after ten seconds
  gpufabric.pyramid.detached:
    request:
      do: start
      load: by-hand
      owner: me
      run_id: by-hand
      start_in: 0
      lease: 60
      jobs: [{id: server, argv: [ib_write_bw, -d, mlx5_0], at: 0, until: 10, again: [], near: mlx5_0}]

- name: Collect what it printed
  gpufabric.pyramid.detached:
    request: {do: collect, load: by-hand, wait: 20}
  register: answer
"""

RETURN = r"""
answer:
  description: Whether it was refused, how far it is, or what every process printed.
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpufabric.pyramid.plugins.module_utils import detached


def main() -> None:
    """Run the request."""
    module = AnsibleModule(argument_spec={"request": {"type": "dict", "required": True}}, supports_check_mode=False)
    module.exit_json(changed=False, answer=detached.answer(module.params["request"]))


if __name__ == "__main__":
    main()
