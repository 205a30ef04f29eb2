# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse a playbook of which Ansible was asked to run a part."""

from __future__ import annotations

DOCUMENTATION = r"""
name: whole_run
short_description: Refuse a playbook of which Ansible was asked to run a part
version_added: 0.3.0
author: The gpufabric.pyramid authors (@gpufabric)
description:
  - Returns its terms unchanged, and fails where an option of C(ansible-playbook) leaves out tasks that a verdict needs.
  - These are C(--start-at-task), C(--step), and C(--skip-tags) with V(always) or V(tagged).
  - In C(hosts) of a play it is evaluated before the play's tasks, so that no such option can leave it out.
options:
  _terms:
    description: The host pattern of the play.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Start the run
  hosts: "{{ lookup('gpufabric.pyramid.whole_run', 'gpu_hosts:leaves:spines') }}"
"""

RETURN = r"""
_raw:
  description: The terms.
  type: list
  elements: str
"""

import typing as t

from ansible import context
from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase


def left_out(options: t.Mapping[str, t.Any]) -> str | None:
    """The option of ansible-playbook by which tasks are left out, as it was given; None where there is none."""
    if options.get("start_at_task"):
        return f"--start-at-task {options['start_at_task']!r}"
    if options.get("step"):
        return "--step"
    skipped = set(options.get("skip_tags") or ())
    # With "all" Ansible leaves out every task but those tagged always, whatever else is named beside it.
    if "always" in skipped or ("tagged" in skipped and "all" not in skipped):
        return f"--skip-tags {','.join(sorted(skipped))}"
    return None


class LookupModule(LookupBase):
    """Evaluated by Ansible itself, before any task of the play."""

    def run(self, terms: list[t.Any], variables: dict[str, t.Any] | None = None, **kwargs: t.Any) -> list[t.Any]:
        """The terms; raises AnsibleError where tasks are left out."""
        option = left_out(context.CLIARGS)
        if option is not None:
            raise AnsibleError(f"nothing was started: {option} leaves out tasks without which there is no verdict; start the playbook without it")
        return terms
