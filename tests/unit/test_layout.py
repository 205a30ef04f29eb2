# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packages of plugin_utils and the one direction in which they import each other."""

from __future__ import annotations

import ast
import typing as t
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "plugins" / "plugin_utils"
# From the top down: a package imports from those below it only. CONTRIBUTING.md says what each of them holds.
ORDER = (
    ("workflow",),
    ("reports",),
    ("remediation", "discovery", "prerequisites", "telemetry", "node_check", "history"),
    ("run",),
    ("evaluate",),
    ("checks",),
    ("loads",),
    ("collect",),
    ("pod",),
    ("readings",),
    ("text",),
)
LEVEL = {package: level for level, packages in enumerate(ORDER) for package in packages}


class Import(t.NamedTuple):
    """One name that a module imports from another package of plugin_utils."""

    module: str
    package: str
    name: str


def module_of(path: Path) -> tuple[str, ...]:
    """The dotted name of a file, below plugin_utils."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imports_of(path: Path) -> list[Import]:
    """What a file imports from other packages of plugin_utils."""
    module = module_of(path)
    package = module if path.name == "__init__.py" else module[:-1]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        # What is above plugin_utils, such as module_utils, is no package of it.
        if isinstance(node, ast.ImportFrom) and 0 < node.level <= len(package) + 1:
            source = (*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else ()))
            found += [Import(".".join(module), *((*source, alias.name)[0], ".".join((*source, alias.name)))) for alias in node.names]
    return [one for one in found if one.package != module[0]]


FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def test_every_module_is_in_a_package() -> None:
    assert {module_of(path)[0] for path in FILES} == set(LEVEL)
    assert not [path.name for path in ROOT.glob("*.py") if path.name != "__init__.py"]


def test_packages_import_downwards_only() -> None:
    upwards = [one for path in FILES for one in imports_of(path) if LEVEL[one.package] <= LEVEL[one.module.partition(".")[0]]]
    assert upwards == []


def test_what_is_private_to_a_package_stays_there() -> None:
    private = [one for path in FILES for one in imports_of(path) if any(part.startswith("_") for part in one.name.split("."))]
    assert private == []


def test_the_rules_see_an_import_that_runs_up() -> None:
    """The rules above pass where nothing is imported; this is what they see in one file."""
    found = imports_of(ROOT / "evaluate" / "layer_input.py")
    assert Import("evaluate.layer_input", "pod", "pod.plan.Plan") in found
    assert LEVEL["pod"] > LEVEL["evaluate"] > LEVEL["run"]


@pytest.mark.parametrize("package", LEVEL)
def test_a_package_says_what_it_holds(package: str) -> None:
    docstring = ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text(encoding="utf-8")))
    assert docstring and len(docstring.split("\n\n")[0].splitlines()) <= 3
