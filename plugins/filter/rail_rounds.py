# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who tests against whom, in which round."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.pairing import rail_rounds as paired_rounds

DOCUMENTATION = r"""
name: rail_rounds
short_description: Who tests against whom, in which round
version_added: 0.2.0
author: The gpufabric.pyramid authors (@gpufabric)
description:
  - Pairs hosts in rounds in which no NIC is used twice, all rails of a pair at once.
  - It is the plan of layer 4, for tests of your own.
options:
  _input:
    description:
      - The rails of all hosts, each with C(host), C(index) (its number on the host) and C(leaf); whatever else they have is kept.
    type: list
    elements: dict
    required: true
  pairing:
    description: V(exhaustive) lets every two hosts meet once; V(sampled) takes about log2 N + 2 of those rounds.
    type: str
    default: sampled
    choices: [sampled, exhaustive]
  topology:
    description: As O(gpufabric.pyramid.pod#role:expectations:pod_topology); V(rail_only) has no rounds across rails.
    type: str
    default: rail_optimised
  cross_rail:
    description: Let each rail meet another rail of the other host, so that the traffic crosses spines.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show the rounds of four hosts with one rail each
  ansible.builtin.debug:
    msg: "{{ rails | gpufabric.pyramid.rail_rounds(pairing='exhaustive') }}"
  vars:
    rails:
      - {host: gpu01, index: 0, leaf: leaf01}
      - {host: gpu02, index: 0, leaf: leaf01}
      - {host: gpu03, index: 0, leaf: leaf01}
      - {host: gpu04, index: 0, leaf: leaf01}
"""

RETURN = r"""
_value:
  description: The rounds, each a list of pairs, each a list of two rails, sender first.
  type: list
  elements: list
"""


def rail_rounds(rails: t.Any, pairing: str = "sampled", topology: str = "rail_optimised", cross_rail: bool = False) -> list[list[list[dict[str, t.Any]]]]:
    """The rounds as lists, which a playbook can loop over.

    Raises AnsibleFilterError for rails that are none, and for an unknown pairing.
    """
    try:
        found = paired_rounds([dict(rail) for rail in rails], pairing, topology, cross_rail)
    except (KeyError, TypeError, ValueError) as error:
        raise AnsibleFilterError(f"rail_rounds: {f'a rail lacks {error}' if isinstance(error, KeyError) else error}") from error
    return [[list(pair) for pair in one] for one in found]


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """By name."""
        return {"rail_rounds": rail_rounds}
