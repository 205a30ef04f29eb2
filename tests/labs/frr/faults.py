# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the lab: each can be injected, proved to be in force by the kernel's or the daemon's own word, and healed.

What is proved here is asked within the node, past sshd, Ansible and the collection: a fault that did not take would
otherwise pass as a healthy fabric that was judged right.
"""

from __future__ import annotations

import contextlib
import typing as t

from ..standing import poll
from .lab import Lab

FAULTS: dict[str, Fault] = {}


class Fault:
    """One fault; ``name`` is its word on the command line and in the tests."""

    name: str
    seconds: float = 15

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            FAULTS[cls.name] = cls()

    def words(self, lab: Lab) -> str:
        """What is wrong, and where."""
        raise NotImplementedError

    def inject(self, lab: Lab) -> None:
        """Put it into the lab."""
        raise NotImplementedError

    def heal(self, lab: Lab) -> None:
        """Take it back; the lab then needs ``wait``."""
        raise NotImplementedError

    def missing(self, lab: Lab) -> str | None:
        """What shows that it is not in force; None where it is."""
        raise NotImplementedError

    def in_force(self, lab: Lab) -> None:
        """Wait until it is in force.

        Raises LabError at the deadline.
        """
        poll(self.seconds, lambda: self.missing(lab), f"{self.name}: {self.words(lab)}")


@contextlib.contextmanager
def injected(lab: Lab, name: str) -> t.Iterator[Fault]:
    """A fault in force for as long as the context lasts; the lab is whole again after it."""
    fault = FAULTS[name]
    fault.inject(lab)
    try:
        fault.in_force(lab)
        yield fault
    finally:
        fault.heal(lab)
        lab.wait()


# A module of faults declares them by its import.
from . import faults_bgp, faults_paths  # noqa: E402

MODULES = (faults_bgp, faults_paths)
