# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that no plan describes yet, as discovery and the doctor ask it: its kind, platform and expectations by its own variables."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..pod.expectations import DEFAULTS
from ..pod.names import parse_place, unknown_expectation
from ..readings import KINDS
from ..run.planned_pod import ROLES, platform_of
from ..text.ranges import ranges

SYSTEM = "ansible_network_os"
# Two hosts see a whole InfiniBand fabric as well as one, and one of them may be down.
READERS = 2
# The controller, of which Ansible itself makes a host.
CONTROLLER = "localhost"


def unknown_expectations(nodes: t.Iterable[str], task_vars: t.Mapping[str, t.Any]) -> list[str]:
    """The message for each variable of some nodes that begins with ``pod_`` and is no expectation; no run is opened that would refuse it."""
    names = {str(name) for node in nodes for name in task_vars["hostvars"][node] if str(name).startswith("pod_")}
    return [unknown_expectation(name, DEFAULTS) for name in sorted(names - set(DEFAULTS))]


def outside_roles(groups: t.Mapping[str, t.Sequence[str]]) -> list[str]:
    """In words, which nodes of an inventory are in no group of nodes that are read; groups: its nodes by group."""
    asked = {node for group in ROLES for node in groups.get(group, ())} | {CONTROLLER}
    others = [node for node in groups.get("all", ()) if node not in asked]
    return [f"not asked: {ranges(others)}, in none of the groups {', '.join(ROLES)}"] if others else []


@dataclass
class UnplannedNode:
    """A node and the hosts of its inventory; values: its expectations; items: by kind, what its commands are repeated for."""

    name: str
    kind: str
    platform: str
    values: dict[str, t.Any]
    hosts: list[str]
    items: dict[str, t.Any] = field(default_factory=lambda: {"rail": [], "port": []})

    @classmethod
    def of(cls, variables: t.Mapping[str, t.Any], template: t.Callable[[t.Any], t.Any], **given: t.Any) -> UnplannedNode:
        """The node of a task.

        variables: those of the task; template: what resolves a variable; given: expectations that stand whatever the variables are.
        """
        name, hosts = str(variables["inventory_hostname"]), [str(one) for one in variables["groups"].get("gpu_hosts", ())]
        own = {key: template(variables[key]) for key in (*DEFAULTS, SYSTEM) if key in variables}
        system = str(own.pop(SYSTEM, None) or "")
        values = {**DEFAULTS, **own, **given}
        kind = "host" if name in hosts else "switch"
        return cls(name, kind, platform_of("host" if kind == "host" else "leaf", values, system), values, hosts)

    def wrong_platform(self) -> str | None:
        """The message where no readings are known of a platform of this name."""
        known = [platform for platform, kind in KINDS.items() if kind == self.kind]
        if self.platform in known:
            return None
        return f"ansible_network_os or pod_platform must name the platform of this {self.kind}, not {self.platform!r}: one of {', '.join(known)}"

    def asked(self) -> dict[str, t.Any]:
        """As a query takes it."""
        return {"platform": self.platform, "kind": self.kind, "values": self.values, "items": self.items}

    def fabric_devices(self) -> list[str] | None:
        """The adapters through which this host reads an InfiniBand fabric for all, an empty name for whichever are active; None where others read it."""
        if readers := [parse_place(one) for one in self.values["pod_fabric_reader"]]:
            return [device or "" for host, device in readers if host == self.name] or None
        return [""] if self.name in self.hosts[:READERS] else None
