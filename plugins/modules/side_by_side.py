# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run many commands side by side on a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: side_by_side
short_description: Run many commands in parallel on a host
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Runs commands with a timeout each, in one round trip, and returns the output of each; a command that fails does not fail the task.
  - M(gpufabric.pyramid.read) uses it where a connection cannot pipe a program to the host.
extends_documentation_fragment: [gpufabric.pyramid.step]
attributes:
  check_mode:
    support: full
    description: It runs the commands in check mode too, so give it commands that only read.
  diff_mode:
    support: none
    description: It changes nothing by itself.
options:
  request:
    description:
      - C(commands), each with C(id), C(alternatives) (C(argv), the exit statuses C(rc) that make it an answer, and in C(needs) a program that it
        starts itself), C(timeout) in seconds and C(exclusive); C(programs) by name; C(devices) whose PCI address is needed.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Ask two tools at once
  gpufabric.pyramid.side_by_side:
    request:
      commands:
        - {id: ports, alternatives: [{argv: [ibstat], rc: [0]}], timeout: 20, exclusive: null}
        - {id: links, alternatives: [{argv: [rdma, -j, link], rc: [0]}], timeout: 20, exclusive: null}
  register: answer
"""

RETURN = r"""
answer:
  description: The boot id and uptime of the host, and C(answers) by id with status, argument list, exit status, standard output and error.
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpufabric.pyramid.plugins.module_utils import side_by_side


def main() -> None:
    """Run the request."""
    module = AnsibleModule(argument_spec={"request": {"type": "dict", "required": True}}, supports_check_mode=True)
    module.exit_json(changed=False, answer=side_by_side.answer(module.params["request"]))


if __name__ == "__main__":
    main()
