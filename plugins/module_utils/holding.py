# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every module does by which a patrol holds nodes of a scheduler: its arguments, and the order of its steps."""

from __future__ import annotations

SPEC = {
    "nodes": {"type": "list", "elements": "str", "required": True},
    "state": {"type": "str", "choices": ["looked_at", "held", "renewed", "released"], "default": "looked_at"},
    "job": {"type": "str", "default": ""},
    "minutes": {"type": "int", "default": 60},
}
REQUIRED_IF = [("state", "renewed", ("job",)), ("state", "released", ("job",))]


class Scheduler:
    """A scheduler of which some nodes are looked at and held; every method raises ``repairing.Broken`` where it does not answer.

    nodes: what it says of each, by name, once ``read`` was called.
    """

    def __init__(self):
        self.nodes = {}

    def read(self, names):
        """Take what the scheduler says of these nodes; it knows all of them."""
        raise NotImplementedError

    def idle(self):
        """The seconds since which nodes are idle, of those that nobody uses."""
        raise NotImplementedError

    def waiting(self):
        """The names of what waits for some of the nodes."""
        raise NotImplementedError

    def is_there(self, job):
        """Whether anything of a hold is left."""
        raise NotImplementedError

    def holds(self, job):
        """Whether a hold has its nodes, and nothing else asks for them."""
        raise NotImplementedError

    def hold(self, params):
        """Hold the nodes; the job, or nothing where it does not get them."""
        raise NotImplementedError

    def renew(self, job):
        """Let a job hold its nodes for longer."""
        raise NotImplementedError

    def release(self, job):
        """End a job, and wait until the scheduler has its nodes back."""
        raise NotImplementedError


def act(scheduler, params, check_mode):
    """Do what is asked of a scheduler.

    Returns what the module returns.
    """
    state, job = params["state"], params["job"]
    if state == "released":
        there = scheduler.is_there(job)
        if there and not check_mode:
            scheduler.release(job)
        return {"changed": there, "waiting": []}
    scheduler.read(params["nodes"])
    if state == "looked_at":
        found = {"idle": scheduler.idle()}
    elif state == "held":
        job = "" if check_mode else scheduler.hold(params)
        found = {"held": bool(job), "job": job}
    else:
        held = scheduler.holds(job)
        if held and not check_mode:
            scheduler.renew(job)
        found = {"held": held, "job": job if held else ""}
    return {"changed": state == "held", **found, "waiting": scheduler.waiting()}
