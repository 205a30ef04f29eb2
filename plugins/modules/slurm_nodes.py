# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Look at nodes of Slurm, drain them with a reason, or readmit them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_nodes
short_description: Look at nodes of Slurm, drain them with a reason, or readmit them
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Tells each node's state, its drain reason and the jobs on it, by C(scontrol) and C(squeue) of the machine that it runs on.
  - With V(drained) it drains them with a reason, and gives those that it drained itself a new reason; the reason of another owner stays,
    also of a node that is down; that a node did not answer, or booted, is Slurm's own reason and has no owner.
  - With V(readmitted) it resumes the nodes whose reason is its own or matches O(lift); any other stays drained.
  - It reads the nodes again afterwards, and fails where one has not the requested state.
attributes:
  check_mode:
    support: full
    description: It reports what it would do, and drains and resumes nothing.
  diff_mode:
    support: full
    description: It shows each node's state and reason, before and after.
options:
  nodes:
    description: The nodes, by their names in Slurm.
    type: list
    elements: str
    required: true
  state:
    description: What the nodes have to be; V(looked_at) changes nothing.
    type: str
    choices: [looked_at, drained, readmitted]
    default: looked_at
  reason:
    description: Why nodes are drained; it is written with C(gpufabric.pyramid) before it, by which they are known again.
    type: str
    default: remediation
  lift:
    description: Regular expressions of other reasons of which nodes may be readmitted.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Drain a node
  gpufabric.pyramid.slurm_nodes:
    nodes: [node047]
    state: drained
    reason: reimaged, being repaired
  delegate_to: login01
"""

RETURN = r"""
nodes:
  description: Each node's C(state) as Slurm reports it, C(out) (whether it takes no jobs), C(reason), C(ours) (whether we drained it) and C(jobs).
  returned: always
  type: dict
  sample: {node047: {state: IDLE+DRAIN, out: true, reason: "gpufabric.pyramid: remediation", ours: true, jobs: []}}
left:
  description: Nodes that were not readmitted, with the reason that another owner gave them.
  returned: when O(state=readmitted)
  type: dict
  sample: {node047: bad fan}
"""

import re

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpufabric.pyramid.plugins.module_utils import repairing

OURS = "gpufabric.pyramid: "
STATE = re.compile(r"^\s*State=(\S+)", re.MULTILINE)
# The time and the user that scontrol appends are its own.
REASON = re.compile(r"^\s*Reason=(.*?)(?: \[[^\[\]]*\])?\s*$", re.MULTILINE)
OUT = {"DRAIN", "DRAINED", "DRAINING", "DOWN", "FAIL", "FAILING", "INVAL", "NOT_RESPONDING", "POWERED_DOWN"}
# What Slurm itself says of a node that was away, as one that is reimaged is; no one has decided anything by it.
AWAY = ("Not responding", "Node unexpectedly rebooted")
SECONDS = 20


def looked_at(nodes):
    """What Slurm says of each node.

    Raises Broken where it does not answer, or does not know one.
    """
    scontrol, squeue = repairing.tool("scontrol"), repairing.tool("squeue")
    state_of = {}
    for node in nodes:
        text = repairing.ran([scontrol, "show", "node", node], SECONDS, f"Slurm does not report {node}")
        state, reason = STATE.search(text), REASON.search(text)
        if state is None:
            raise repairing.Broken(f"scontrol show node {node} reports no state")
        # A state is words with +, and each word may end in a mark such as * for not responding.
        words = {word.rstrip("*~#!%$@^-") for word in state[1].upper().split("+")}
        silent = "*" in state[1]
        why = reason[1] if reason else ""
        asked = [squeue, "--noheader", "--format=%i %u %j", "--states=running,suspended,completing,configuring", "--nodelist", node]
        jobs = repairing.ran(asked, SECONDS, f"Slurm does not report the jobs on {node}")
        lines = [line.strip() for line in jobs.splitlines() if line.strip()]
        state_of[node] = {"state": state[1], "out": bool(words & OUT) or silent, "reason": why, "ours": why.startswith(OURS), "jobs": lines}
    return state_of


def drain(module, was):
    """Drain the nodes that are not, and say anew why we drained them."""
    for node, state_of in was.items():
        drained = "DRAIN" in state_of["state"].upper()
        theirs = state_of["out"] and not state_of["ours"] and state_of["reason"] not in ("", *AWAY)
        reason = state_of["reason"] if theirs else OURS + module.params["reason"]
        if drained and (not state_of["ours"] or state_of["reason"] == reason):
            continue
        if not module.check_mode:
            repairing.ran([repairing.tool("scontrol"), "update", f"nodename={node}", "state=drain", f"reason={reason}"], SECONDS, f"{node} cannot be drained")
        yield node, {**state_of, "out": True, "reason": reason, "ours": not theirs, "state": state_of["state"] if drained else state_of["state"] + "+DRAIN"}


def readmit(module, was, left):
    """Resume the nodes whose reason is ours or may be lifted; ``left`` gets the others."""
    for node, state_of in was.items():
        if not state_of["out"]:
            continue
        if not state_of["ours"] and not any(re.search(pattern, state_of["reason"]) for pattern in module.params["lift"]):
            left[node] = state_of["reason"]
            continue
        if not module.check_mode:
            repairing.ran([repairing.tool("scontrol"), "update", f"nodename={node}", "state=resume"], SECONDS, f"{node} cannot be resumed")
        yield node, {**state_of, "out": False, "reason": "", "ours": False, "state": state_of["state"].replace("+DRAIN", "")}


def wrong(state, now, changed):
    """Why a changed node is not what it was asked to be, or nothing."""
    for node in changed:
        drained = "DRAIN" in now[node]["state"].upper()
        if drained != (state == "drained"):
            yield f"{node} is {now[node]['state']} after it was {'drained' if state == 'drained' else 'resumed'}"


def act(module):
    """Look, change, look again.

    Returns what the module returns.
    """
    was = looked_at(module.params["nodes"])
    state, left = module.params["state"], {}
    will = dict(drain(module, was) if state == "drained" else readmit(module, was, left) if state == "readmitted" else ())
    now = was if not will else {**was, **will} if module.check_mode else looked_at(module.params["nodes"])
    broken = [] if module.check_mode else list(wrong(state, now, will))
    if broken:
        raise repairing.Broken("; ".join(broken))
    words = {
        when: "".join(f"{node}: {state_of[node]['state']} {state_of[node]['reason']}\n" for node in will)
        for when, state_of in (("before", was), ("after", now))
    }
    return dict(changed=bool(will), nodes=now, diff=words, **({"left": left} if state == "readmitted" else {}))


def main():
    """Look, drain or readmit."""
    module = AnsibleModule(
        argument_spec={
            "nodes": {"type": "list", "elements": "str", "required": True},
            "state": {"type": "str", "choices": ["looked_at", "drained", "readmitted"], "default": "looked_at"},
            "reason": {"type": "str", "default": "remediation"},
            "lift": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(**act(module))
    except repairing.Broken as broken:
        module.fail_json(msg=str(broken))


if __name__ == "__main__":
    main()
