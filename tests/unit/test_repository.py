# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""House rules that no linter knows."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible.playbook.block import Block
from ansible.playbook.handler import Handler
from ansible.playbook.play import Play

ROOT = Path(__file__).parents[2]
COLLECTION = "ansible_collections.gpufabric.pyramid."
HEADER = [
    "# Copyright (c) 2026, the gpufabric.pyramid authors",
    "# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)",
    "# SPDX-License-Identifier: GPL-3.0-or-later",
]
MAX_LINES = 300
# The programs of ranks need torch, which every host that trains has, and lie beside each other on a host.
OF_RANKS = ("gpu_copies", "launched", "one_rank", "ranks", "small_gpt", "tensor_cores", "torch", "torch_collectives", "training_step")
# Longer than the house allows, each with what it may have. What a layer checks of one subject stands together.
# A program that is piped to a host is one file.
LONGER: dict[str, int] = {"plugins/module_utils/detached.py": 420}
IMPURE = {"ansible", "datetime", "io", "os", "pathlib", "random", "socket", "subprocess", "time", "urllib"}
KEYWORDS = set(Handler.fattributes) | set(Block.fattributes) | set(Play.fattributes)
# Bases of actions, which are no actions themselves.
BASES = {"plugins/plugin_utils/acting.py", "plugins/plugin_utils/tools.py"}
RAW = ("shell", "raw", "set_fact")


@functools.cache
def files(suffix: str = "", under: str = ".") -> tuple[Path, ...]:
    """The repository's files, tracked or about to be."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", under]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return tuple(sorted(ROOT / name for name in listed if name.endswith(suffix) and (ROOT / name).is_file()))


def named(paths: t.Iterable[Path]) -> t.Any:
    """Cases of a test, called by their path."""
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in paths]


def imports(path: Path) -> set[str]:
    """The absolute names of all modules that a file imports, also within functions."""
    found = set()
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = COLLECTION + ".".join(package[: len(package) - node.level + 1]) + "." if node.level else ""
            found |= {f"{base}{node.module or ''}.{alias.name}".replace("..", ".") for alias in node.names}
    return found


def tasks(path: Path) -> list[dict[str, t.Any]]:
    """Every play, block and task of a file of plays or tasks."""
    found, waiting = [], list(yaml.safe_load(path.read_text(encoding="utf-8")) or [])
    while waiting:
        one = waiting.pop()
        found.append(one)
        for inner in ("pre_tasks", "tasks", "post_tasks", "handlers", "block", "rescue", "always"):
            waiting += one.get(inner) or []
    return found


def runs(path: Path) -> list[dict[str, t.Any]]:
    """The modules that a file's tasks run: task by task its keys that are no keywords, with the task."""
    return [{"task": task, "modules": [key for key in task if key not in KEYWORDS and not key.startswith("with_")]} for task in tasks(path)]


PLAYS = [path for path in (*files(".yml", "roles"), *files(".yml", "playbooks")) if {"tasks", "handlers", "playbooks"} & set(path.relative_to(ROOT).parts[:-1])]


@pytest.mark.parametrize("path", named(files(".py")))
def test_every_python_file_says_whose_it_is(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    if lines and lines[0].startswith("#!"):
        del lines[0]
    assert lines[:3] == HEADER


@pytest.mark.parametrize("path", named(files(".py", "plugins")))
def test_a_plugin_is_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGER.get(str(path.relative_to(ROOT)), MAX_LINES)


@pytest.mark.parametrize("path", named(path for under in ("plugins", "roles", "playbooks") for path in files("", under)))
def test_the_product_knows_nothing_of_its_tests(path: Path) -> None:
    assert b"simulated" not in path.read_bytes().lower()


@pytest.mark.parametrize("path", named(files(".py", "plugins/plugin_utils/checks")))
def test_a_check_only_judges(path: Path) -> None:
    found = imports(path)
    assert not {name for name in found if name.split(".", maxsplit=1)[0] in IMPURE}
    assert not {name for name in found if ".module_utils" in name}


@pytest.mark.parametrize("path", named((*files(".py", "plugins/modules"), *files(".py", "plugins/module_utils"))))
def test_what_runs_on_a_host_needs_only_the_standard_library(path: Path) -> None:
    own = ("ansible.module_utils.", COLLECTION + "plugins.module_utils.")
    own += OF_RANKS if path.stem in OF_RANKS else ()
    assert not {name for name in imports(path) if name.split(".", maxsplit=1)[0] not in sys.stdlib_module_names and not name.startswith(own)}


@pytest.mark.parametrize("path", named(path for path in files(".py", "plugins/plugin_utils") if str(path.relative_to(ROOT)) not in BASES))
def test_what_runs_on_the_controller_imports_nothing_of_a_play(path: Path) -> None:
    allowed = ("ansible.module_utils.", "ansible.errors.")
    assert not {name for name in imports(path) if name.startswith("ansible.") and not name.startswith(allowed)}


@pytest.mark.parametrize("path", named(PLAYS))
def test_tasks_are_called_by_their_full_names(path: Path) -> None:
    for run in runs(path):
        assert all(name.count(".") >= 2 for name in run["modules"]), run["task"]
        assert len(run["modules"]) <= 1, run["task"]


@pytest.mark.parametrize("path", named(PLAYS))
def test_tasks_use_no_shell_and_set_no_facts(path: Path) -> None:
    for run in runs(path):
        assert not {name for name in run["modules"] if name.rpartition(".")[2] in RAW}, run["task"]
        assert not {"action", "local_action"} & set(run["task"]), run["task"]


@pytest.mark.parametrize("path", named(PLAYS))
def test_only_what_the_gate_hears_of_may_fail_unheeded(path: Path) -> None:
    """What a node did not tell, and a load that was not started or collected, is unknown at the gate."""
    for run in runs(path):
        if "ignore_errors" in run["task"]:
            assert set(run["modules"]) <= {"gpufabric.pyramid.read", "gpufabric.pyramid.load"}, run["task"]


def test_the_rules_find_what_they_look_for(tmp_path: Path) -> None:
    """The rules above pass on no file at all; this is what they see in one."""
    play = tmp_path / "play.yml"
    play.write_text("- hosts: all\n  tasks:\n    - block:\n        - shell: date\n          ignore_errors: true\n        - ansible.builtin.set_fact: {a: b}\n")
    assert [name for run in runs(play) for name in run["modules"]] == ["ansible.builtin.set_fact", "shell"]
    assert len(files(".py", "plugins")) > 10
    reached = imports(ROOT / "plugins/plugin_utils/checks/__init__.py")
    assert {"inspect", COLLECTION + "plugins.plugin_utils.expectations.SPECIFIED"} <= reached
