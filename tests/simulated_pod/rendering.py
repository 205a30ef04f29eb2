# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rendering: every answer as files, once for each pod."""

from __future__ import annotations

import json
import shutil
import typing as t
from pathlib import Path

from ...plugins.plugin_utils.loads.incasts import incasts_among
from ...plugins.plugin_utils.pod.plan import Plan
from . import answers, stack
from .model import Pod
from .render import perftest

TOOLS = Path(__file__).parent / "tools"
# Programs of the collection that hosts run, and the tool that each of them starts.
STARTED_BY = {"nicctl_qos": "nicctl", "niccli_qos": "niccli", "fabric_tables": "ibdiagnet", "service_limits": "systemctl"}


def render(plan: Plan, pod: Pod, into: Path) -> None:
    """Write the answers of a pod.

    into: gets ``NODE/bin`` with the node's tools and ``NODE/TOOL/ARGUMENT/…/=out`` with each answer; ``unreachable`` names nodes.
    """
    for name in pod.nodes:
        render_node(plan, pod, name, into)
    (into / "=rates").mkdir()
    for host in pod.hosts.values():
        for rail in host.rails:
            (into / "=rates" / f"{host.name}.{rail.device}").write_text(f"{perftest.mbit(rail.receives_gbit_s)}\n", encoding="utf-8")
    (into / "=hosts").mkdir()
    for host in pod.hosts.values():
        for address in (host.name, *(rail.address for rail in host.rails if rail.address)):
            (into / "=hosts" / address).write_text(f"{host.name}\n", encoding="utf-8")
    (into / "=shares").mkdir()
    rates = answers.moved(pod, plan).rates
    for pair in incasts_among(plan, plan.rails(pod.loadable())).pairs:
        sender, receiver = (f"{pair[end]['host']}.{pair[end]['device']}" for end in ("sender", "receiver"))
        rate = rates.get((pair["round"], pair["sender"]["host"], pair["sender"]["device"]), 0.0)
        (into / "=shares" / f"{sender}>{receiver}").write_text(f"{perftest.mbit(rate)}\n", encoding="utf-8")
    (into / "unreachable").write_text("".join(f"{name} {node.unreachable}\n" for name, node in pod.nodes.items() if node.unreachable), encoding="utf-8")


# As in tools/answer, which splits longer words too.
LONGEST_NAME = 200


def render_node(plan: Plan, pod: Pod, name: str, into: Path) -> None:
    """Write one node's answers, over those that it had."""
    place, node = into / name, pod.nodes[name]
    (place / "tmp").mkdir(parents=True, exist_ok=True)
    printed = answers.of_node(pod, plan, name)
    (place / "=boots_after").write_text("" if node.boots_after is None else str(node.boots_after), encoding="ascii")
    missing = {tool.name for tool in node.tools if tool.how == "missing"}
    scripts = answers.scripts(node) if name in pod.hosts else {}
    _bin(place / "bin", ({name for argv in printed for name in _programs(argv)} | set(scripts)) - missing)
    for tool, text in scripts.items():
        (place / tool).mkdir(exist_ok=True)
        (place / tool / "=any").write_text(text, encoding="utf-8")
    for argv, answer in printed.items():
        _write(place, argv, answer)
    if name in pod.hosts:
        (place / "=stack").write_text(json.dumps(stack.state(pod.hosts[name])), encoding="utf-8")


def _programs(argv: tuple[str, ...]) -> tuple[str, ...]:
    """What must be there for a command: of a program of the collection that runs another one, both."""
    own = argv[1].strip("{}") if argv[0] == "python3" else ""
    return (argv[0], own, STARTED_BY[own]) if own in STARTED_BY else argv[:1]


def _bin(place: Path, names: t.Iterable[str]) -> None:
    place.mkdir(parents=True, exist_ok=True)
    # Copies: an edit of the tools reaches no pod that is rendered. The links are relative, since a pod is renamed when it is whole.
    tools = place.parents[1] / "=tools"
    if not tools.is_dir():
        shutil.copytree(TOOLS, tools)
        for name in ("change.py", "stack.py"):
            shutil.copy(TOOLS.parent / name, tools)
        (tools / "collections").write_text(str(TOOLS.parents[5]), encoding="utf-8")
    if not (place.parent / "=change").is_symlink():
        (place.parent / "=change").symlink_to("../=tools/change.py")
        (place.parent / "=stack.py").symlink_to("../=tools/stack.py")
    for name, program in [*((name, "answer") for name in {*names, "path_probe"} - {"python3"}), ("python3", "python3")]:
        if not (place / name).is_symlink():
            (place / name).symlink_to(f"../../=tools/{program}")


def _write(place: Path, argv: tuple[str, ...], answer: answers.Printed) -> None:
    # `python3 {path_probe} probe …` reaches the tools as `path_probe probe …`.
    words = (argv[1].strip("{}"), *argv[2:]) if argv[0] == "python3" else argv
    # A directory's name has 255 characters at most; a longer word is several.
    parts = [word[start : start + LONGEST_NAME] for word in words for start in range(0, len(word) or 1, LONGEST_NAME)]
    target = Path("/".join([str(place), *parts]))
    target.mkdir(parents=True, exist_ok=True)
    files = {
        "=out": answer.stdout,
        "=later": answer.later,
        "=err": answer.stderr or None,
        "=rc": f"{answer.rc}\n" if answer.rc else None,
        "=incast": answer.incast,
        "=loaded": answer.loaded,
        "=collectives": answer.collectives,
        "=training": answer.training,
    }
    for name, text in {**files, "=how": answer.how or None, "=below": "" if answer.asked_below else None}.items():
        if text is not None:
            (target / name).write_text(text, encoding="utf-8")
        else:
            (target / name).unlink(missing_ok=True)
