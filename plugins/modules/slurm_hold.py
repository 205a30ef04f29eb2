# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold idle nodes of Slurm by a job that gives way to every other one."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_hold
short_description: Hold idle nodes of Slurm by a job that gives way to every other one
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Holds nodes by a job named C(gpufabric-patrol) of the lowest priority, on whole nodes, whose script only waits. It drains nothing and makes no reservation.
  - The job ends by itself 20 to 25 seconds after it was last renewed, so that nodes are given back also where whoever held them was killed.
  - Reports the pending jobs that ask for nodes, which are those that wait for resources or for their priority in a partition of the nodes, and on one of them
    where a job names its nodes.
extends_documentation_fragment: [gpufabric.pyramid.step]
attributes:
  check_mode:
    support: full
    description: It reports what it would do, and starts and ends no job.
  diff_mode:
    support: none
    description: It changes no node.
options:
  nodes:
    description: The nodes, by their names in Slurm.
    type: list
    elements: str
    required: true
  state:
    description:
      - V(looked_at) changes nothing. V(held) starts the job and waits until it has the nodes; where it does not get them at once, it is ended.
      - V(renewed) lets O(job) hold them for longer. V(released) ends O(job), and waits until Slurm has its nodes back.
    type: str
    choices: [looked_at, held, renewed, released]
    default: looked_at
  job:
    description: The job that holds the nodes.
    type: str
    default: ""
  minutes:
    description: For how long the job may hold nodes at most.
    type: int
    default: 60
  partition:
    description: The job's partition; empty is Slurm's default.
    type: str
    default: ""
  qos:
    description: The job's quality of service, such as one that may be preempted; empty is the user's default.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Hold two nodes
  gpufabric.pyramid.slurm_hold:
    nodes: [node047, node048]
    state: held
  delegate_to: login01
"""

RETURN = r"""
idle:
  description: For how many seconds each of the nodes that no one uses has been idle; Slurm reports neither a job, a drain nor a reservation of them.
  returned: when O(state=looked_at)
  type: dict
  sample: {node047: 5400}
waiting:
  description: The pending jobs that ask for the nodes.
  returned: always
  type: list
  elements: str
  sample: ["4711"]
held:
  description: Whether the job has the nodes, and is not about to lose them to another one.
  returned: when O(state) is V(held) or V(renewed)
  type: bool
job:
  description: The job that holds the nodes; empty where none does.
  returned: when O(state) is V(held) or V(renewed)
  type: str
"""

import re
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpufabric.pyramid.plugins.module_utils import holding, repairing

NAME = "gpufabric-patrol"
SECONDS = 20
# How long a job may take to get nodes that are idle, and Slurm to take them back.
START_SECONDS = 10
END_SECONDS = 15
WAITS = ("Resources", "Priority")
# A renewal changes the comment; five looks without a change end the job.
SCRIPT = """seen= left=5
while [ "$left" -gt 0 ]; do
  sleep 4
  now=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Comment=//p')
  if [ -n "$now" ] && [ "$now" != "$seen" ]; then seen=$now left=5; else left=$((left - 1)); fi
done"""


def field(line, name):
    """A field of a line of scontrol; what follows in free words, such as a comment, comes after all that is asked for."""
    found = re.search(rf"(?:^|\s){name}=(\S*)", line)
    return found[1] if found else ""


def of_nodes(nodes):
    """What ``scontrol`` says of each node, as one line.

    Raises Broken where it does not know one.
    """
    text = repairing.ran([repairing.tool("scontrol"), "show", "node", "--oneliner"], SECONDS, "Slurm does not report its nodes")
    lines = {field(line, "NodeName"): line for line in text.splitlines()}
    unknown = sorted(set(nodes) - set(lines))
    if unknown:
        raise repairing.Broken(f"Slurm has no node {', '.join(unknown[:5])}")
    return {node: lines[node] for node in nodes}


def idle(lines, now):
    """For how many seconds nodes have been idle, of those that nobody uses: any mark beside the state is a reason to leave a node alone."""
    found = {}
    for node, line in lines.items():
        if field(line, "State") == "IDLE":
            try:
                since = time.mktime(time.strptime(field(line, "LastBusyTime"), "%Y-%m-%dT%H:%M:%S"))
            except ValueError:
                # It never was busy, or is of a release that does not say.
                since = now
            found[node] = max(0, int(now - since))
    return found


def waiting(lines):
    """The pending jobs that ask for some of the nodes."""
    partitions = {name for line in lines.values() for name in field(line, "Partitions").split(",")}
    asked = [repairing.tool("squeue"), "--noheader", "--states=PENDING", "--format=%i|%r|%P|%n|%j"]
    found = []
    for line in repairing.ran(asked, SECONDS, "Slurm does not report its jobs").splitlines():
        job, reason, wanted, named, name = (*line.split("|", 4), "", "", "", "")[:5]
        if reason not in WAITS or name.strip() == NAME or not partitions & set(wanted.split(",")):
            continue
        if named and not set(lines) & set(hosts_of(named)):
            continue
        found.append(job)
    return found


def hosts_of(named):
    """The nodes of a list as Slurm shortens it."""
    return repairing.ran([repairing.tool("scontrol"), "show", "hostnames", named], SECONDS, "Slurm does not expand a list of nodes").split()


def of_job(job):
    """The state of the job, and whether another one takes its nodes; nothing where it has ended."""
    asked = [repairing.tool("squeue"), "--noheader", f"--name={NAME}", "--format=%i|%T"]
    states = dict(line.split("|") for line in repairing.ran(asked, SECONDS, "Slurm does not report its jobs").splitlines())
    if job not in states:
        return "", False
    text = repairing.ran([repairing.tool("scontrol"), "show", "job", job, "--oneliner"], SECONDS, f"Slurm does not report job {job}")
    return states[job], field(text, "PreemptTime") not in ("", "None")


def hosts_of_job(job):
    """The nodes of a job."""
    return hosts_of(field(repairing.ran([repairing.tool("scontrol"), "show", "job", job, "--oneliner"], SECONDS), "NodeList"))


class Slurm(holding.Scheduler):
    """Nodes of Slurm, held by a job."""

    def read(self, names):
        self.nodes = of_nodes(names)

    def idle(self):
        return idle(self.nodes, time.time())

    def waiting(self):
        return waiting(self.nodes)

    def is_there(self, job):
        return bool(of_job(job)[0])

    def holds(self, job):
        return of_job(job) == ("RUNNING", False)

    def hold(self, params):
        nodes = params["nodes"]
        argv = [repairing.tool("sbatch"), "--parsable", f"--job-name={NAME}", "--exclusive", f"--nodelist={','.join(nodes)}", f"--nodes={len(nodes)}"]
        argv += ["--nice=1000000", f"--time={params['minutes']}", "--no-requeue", "--output=/dev/null", "--chdir=/"]
        argv += [f"--{name}={params[name]}" for name in ("partition", "qos") if params[name]]
        job = repairing.ran([*argv, f"--wrap={SCRIPT}"], SECONDS, "the nodes cannot be held").strip().partition(";")[0]
        until = time.monotonic() + START_SECONDS
        while of_job(job)[0] in ("PENDING", "CONFIGURING") and time.monotonic() < until:
            time.sleep(0.5)
        if self.holds(job):
            self.renew(job)
            return job
        self.release(job)
        return ""

    def renew(self, job):
        argv = [repairing.tool("scontrol"), "update", f"jobid={job}", f"comment={time.time():.0f}"]
        repairing.ran(argv, SECONDS, f"job {job} cannot be renewed")

    def release(self, job):
        if not self.is_there(job):
            return
        repairing.ran([repairing.tool("scancel"), job], SECONDS, f"job {job} cannot be ended")
        until = time.monotonic() + END_SECONDS
        while self.is_there(job):
            if time.monotonic() > until:
                raise repairing.Broken(f"job {job} still holds {', '.join(hosts_of_job(job))} {END_SECONDS} s after it was ended")
            time.sleep(0.2)


def main():
    """Look, hold, renew or release."""
    module = AnsibleModule(
        argument_spec={
            **holding.SPEC,
            "partition": {"type": "str", "default": ""},
            "qos": {"type": "str", "default": ""},
        },
        required_if=holding.REQUIRED_IF,
        supports_check_mode=True,
    )
    try:
        module.exit_json(**holding.act(Slurm(), module.params, module.check_mode))
    except repairing.Broken as broken:
        module.fail_json(msg=str(broken))


if __name__ == "__main__":
    main()
