# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rendering: every answer as files, once for each pod."""

from __future__ import annotations

import typing as t
from pathlib import Path

from . import answers, changes, healthy, wiring
from .planned import plan_of

TOOLS = Path(__file__).parent / "tools"


def render(directory: Path, faults: t.Sequence[str], seed: int, into: Path) -> None:
    """Write the answers of the pod of an inventory with some faults and variants in force.

    into: gets ``NODE/bin`` with the node's tools and ``NODE/TOOL/ARGUMENT/…/=out`` with each answer; ``unreachable`` names nodes.
    """
    plan = plan_of(directory)
    pod = healthy.pod(wiring.load(directory), seed)
    changes.apply(pod, faults)
    for name, node in pod.nodes.items():
        place = into / name
        printed = answers.of_node(pod, plan, name)
        missing = {tool.name for tool in node.tools if tool.how == "missing"}
        scripts = answers.scripts(node) if name in pod.hosts else {}
        _bin(place / "bin", ({argv[0] for argv in printed} | set(scripts)) - missing)
        for tool, text in scripts.items():
            (place / tool).mkdir(exist_ok=True)
            (place / tool / "=any").write_text(text, encoding="utf-8")
        for argv, answer in printed.items():
            _write(place, argv, answer)
    (into / "unreachable").write_text("".join(f"{name} {node.unreachable}\n" for name, node in pod.nodes.items() if node.unreachable), encoding="utf-8")


def _bin(place: Path, names: t.Iterable[str]) -> None:
    place.mkdir(parents=True)
    for name in {*names, "path_probe"} - {"python3"}:
        (place / name).symlink_to(TOOLS / "answer")
    (place / "python3").symlink_to(TOOLS / "python3")


def _write(place: Path, argv: tuple[str, ...], answer: answers.Printed) -> None:
    # `python3 {path_probe} probe …` reaches the tools as `path_probe probe …`.
    words = ("path_probe", *argv[2:]) if argv[0] == "python3" else argv
    target = Path("/".join([str(place), *words]))
    target.mkdir(parents=True, exist_ok=True)
    files = {"=out": answer.stdout, "=later": answer.later, "=err": answer.stderr or None, "=rc": f"{answer.rc}\n" if answer.rc else None}
    for name, text in {**files, "=how": answer.how or None, "=below": "" if answer.asked_below else None}.items():
        if text is not None:
            (target / name).write_text(text, encoding="utf-8")
