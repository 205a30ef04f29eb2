# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host is asked at once: the request for ``side_by_side.answer``, and what its document answers to each reading's commands."""

from __future__ import annotations

import functools
import typing as t
from pathlib import Path

from .queries import query_commands
from .types import CommandResult, Query

Values = dict[str, t.Any]
UTILS = Path(__file__).resolve().parents[2] / "module_utils"
# Programs that a module imports too, for connections that cannot pipe; the others are in a package of their own.
OF_MODULES = ("detached", "side_by_side")
# Programs that commands of readings name as ``{name}``.
OF_READINGS = ("path_probe", "nicctl_qos", "niccli_qos", "installed", "containers", "fabric_tables", "service_limits")


@functools.cache
def program_source(name: str) -> str:
    """The source text of a program that goes to nodes."""
    return (UTILS / ("" if name in OF_MODULES else "programs") / f"{name}.py").read_text(encoding="utf-8")


def host_request(asks: t.Sequence[Query], devices: t.Sequence[str]) -> Values:
    """The request for the commands of some readings; devices: the RDMA devices and netdevs whose PCI address they may refer to."""
    commands = query_commands(asks)
    words = {word for command in commands for one in command["alternatives"] for word in one["argv"]}
    return {"commands": commands, "programs": {name: program_source(name) for name in OF_READINGS if f"{{{name}}}" in words}, "devices": list(devices)}


def command_results(asks: t.Sequence[Query], document: Values) -> dict[str, list[CommandResult]]:
    """What each reading's commands gave, in the order of its items.

    document: what ``side_by_side.answer`` returned. Raises KeyError where a command has no answer in it.
    """
    results: dict[str, list[CommandResult]] = {}
    for one in asks:
        results[one.reading.name] = []
        for number in range(len(one.items)):
            raw = dict(document["answers"][f"{one.reading.name} {number}"])
            results[one.reading.name].append(CommandResult(source=one.sources[raw.pop("chosen")], **raw))
    return results
