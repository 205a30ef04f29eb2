# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse a host pattern with a name that is no GPU host."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_hosts
short_description: Refuse a host pattern with a name that is no GPU host
version_added: 0.3.0
author: The gpufabric.pyramid authors (@gpufabric)
description:
  - Returns the pattern, restricted to the group C(gpu_hosts).
  - It fails where a part of the pattern matches no host of C(gpu_hosts), and where a part of C(--limit) matches no node at all.
    Ansible itself ignores such parts as long as any other part matches.
options:
  _terms:
    description: A host pattern, or a list of hosts; an empty one is V(gpu_hosts).
    type: list
    elements: raw
    required: true
"""

EXAMPLES = r"""
- name: Repair hosts
  hosts: "{{ lookup('gpufabric.pyramid.gpu_hosts', remediate_hosts | default('gpu_hosts')) }}"
"""

RETURN = r"""
_raw:
  description: The pattern, restricted to C(gpu_hosts).
  type: list
  elements: str
"""

import fnmatch
import re
import typing as t

from ansible import context
from ansible.errors import AnsibleError
from ansible.inventory.manager import split_host_pattern
from ansible.plugins.lookup import LookupBase

Groups = t.Mapping[str, t.Sequence[str]]
SUBSCRIPT = re.compile(r"^(.+)\[-?\d+(?:[:-]-?\d*)?\]$")


def unmatched(pattern: str | t.Sequence[str], groups: Groups, within: t.Container[str]) -> list[str]:
    """The parts of a host pattern that match no host of ``within``; exclusions (``!name``) are parts too.

    groups: of the inventory, each with its hosts.
    """
    return [part for part in split_host_pattern(pattern) if not any(host in within for host in _hosts(part.lstrip("&!"), groups))]


def _hosts(part: str, groups: Groups) -> set[str]:
    """The hosts that one part of a host pattern matches, without regard to a subscript."""
    names = {host: {host} for hosts in groups.values() for host in hosts} | {group: set(hosts) for group, hosts in groups.items()}
    if part.startswith("~"):
        matches = re.compile(part[1:]).match
    elif part in names:
        return names[part]
    else:
        subscript = SUBSCRIPT.match(part)
        matches = re.compile(fnmatch.translate(subscript[1] if subscript else part)).match
    return {host for name, hosts in names.items() if matches(name) for host in hosts}


class LookupModule(LookupBase):
    """Evaluated by Ansible itself, before any task of the play."""

    def run(self, terms: list[t.Any], variables: dict[str, t.Any] | None = None, **kwargs: t.Any) -> list[t.Any]:
        """The restricted pattern; raises AnsibleError with every name that matches nothing."""
        pattern = split_host_pattern([str(one) for one in terms[0]] if isinstance(terms[0], list) else str(terms[0])) or ["gpu_hosts"]
        groups = {str(name): [str(host) for host in hosts] for name, hosts in (variables or {}).get("groups", {}).items()}
        gpu_hosts = set(groups.get("gpu_hosts", ()))
        wrong = unmatched(pattern, groups, gpu_hosts) if pattern != ["gpu_hosts"] else []
        if wrong:
            raise AnsibleError(f"nothing was touched: no GPU host (group gpu_hosts) is called {', '.join(wrong)}; correct remediate_hosts")
        # A part that begins with @ is a file of names, which Ansible reads itself.
        limit = [part for part in split_host_pattern(context.CLIARGS.get("subset") or "") if not part.startswith("@")]
        wrong = unmatched(limit, groups, {host for hosts in groups.values() for host in hosts})
        if wrong:
            raise AnsibleError(f"nothing was touched: no node of the inventory is called {', '.join(wrong)}; correct --limit")
        named = [part for part in limit if not part.startswith("!")]
        if named and len(unmatched(named, groups, gpu_hosts)) == len(named):
            raise AnsibleError(f"nothing was touched: no GPU host (group gpu_hosts) is in --limit {','.join(named)}; correct --limit")
        return [",".join([*pattern, "&gpu_hosts"])]
