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

import yaml
from ansible.playbook.block import Block
from ansible.playbook.handler import Handler
from ansible.playbook.play import Play
from ansible_collections.gpufabric.pyramid.tests.cases import check_each

ROOT = Path(__file__).parents[2]
COLLECTION = "ansible_collections.gpufabric.pyramid."
HEADER = [
    "# Copyright (c) 2026, the gpufabric.pyramid authors",
    "# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)",
    # REUSE-IgnoreStart
    "# SPDX-License-Identifier: GPL-3.0-or-later",
    # REUSE-IgnoreEnd
]
MAX_LINES = 300
# The programs of ranks need torch, which every host that trains has, and lie beside each other on a host.
OF_RANKS = (
    "flight_recorder", "gpu_copies", "launched", "nccl_ras", "one_rank", "ranks", "settings_in_force", "small_gpt", "tensor_cores", "torch",
    "torch_collectives", "training_step",
)  # fmt: skip
# What the machine that asks the scheduler has, which is no host of the pod.
OF_SCHEDULER_HOST = {"kubernetes_hold": ("kubernetes", "urllib3.")}
# Longer than the house allows, each with what it may have. What a layer checks of one subject stands together.
# A program that is piped to a host is one file.
LONGER: dict[str, int] = {"plugins/module_utils/detached.py": 614}
IMPURE = {"ansible", "datetime", "io", "os", "pathlib", "random", "socket", "subprocess", "time", "urllib"}
KEYWORDS = set(Handler.fattributes) | set(Block.fattributes) | set(Play.fattributes)
# Bases and parts of actions, which are no actions themselves.
BASES = {f"plugins/plugin_utils/workflow/{name}.py" for name in ("action_base", "console", "countdown", "node_executor", "nodes_action", "reading_action")}
RAW = ("shell", "raw", "set_fact")


@functools.cache
def files(suffix: str = "", under: str = ".") -> tuple[Path, ...]:
    """The repository's files, tracked or about to be."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", under]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return tuple(sorted(ROOT / name for name in listed if name.endswith(suffix) and (ROOT / name).is_file()))


def named(path: Path) -> str:
    """A case's name: its path in the repository."""
    return str(path.relative_to(ROOT))


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


def test_every_python_file_says_whose_it_is() -> None:
    def check(path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines()
        if lines and lines[0].startswith("#!"):
            del lines[0]
        assert lines[:3] == HEADER

    check_each(files(".py"), check, named)


def test_a_plugin_is_small() -> None:
    def check(path: Path) -> None:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGER.get(str(path.relative_to(ROOT)), MAX_LINES)

    check_each(files(".py", "plugins"), check, named)


def test_the_product_knows_nothing_of_its_tests() -> None:
    def check(path: Path) -> None:
        assert b"simulated" not in path.read_bytes().lower()

    check_each((path for under in ("plugins", "roles", "playbooks") for path in files("", under)), check, named)


def test_a_check_only_judges() -> None:
    def check(path: Path) -> None:
        found = imports(path)
        assert not {name for name in found if name.split(".", maxsplit=1)[0] in IMPURE}
        assert not {name for name in found if ".module_utils" in name}

    check_each(files(".py", "plugins/plugin_utils/checks"), check, named)


def test_what_runs_on_a_host_needs_only_the_standard_library() -> None:
    def check(path: Path) -> None:
        own = ("ansible.module_utils.", COLLECTION + "plugins.module_utils.")
        own += OF_RANKS if path.stem in OF_RANKS else OF_SCHEDULER_HOST.get(path.stem, ())
        assert not {name for name in imports(path) if name.split(".", maxsplit=1)[0] not in sys.stdlib_module_names and not name.startswith(own)}

    check_each((*files(".py", "plugins/modules"), *files(".py", "plugins/module_utils")), check, named)


def test_what_runs_on_the_controller_imports_nothing_of_a_play() -> None:
    def check(path: Path) -> None:
        allowed = ("ansible.module_utils.", "ansible.errors.")
        assert not {name for name in imports(path) if name.startswith("ansible.") and not name.startswith(allowed)}

    check_each((path for path in files(".py", "plugins/plugin_utils") if str(path.relative_to(ROOT)) not in BASES), check, named)


def test_tasks_are_called_by_their_full_names() -> None:
    def check(path: Path) -> None:
        for run in runs(path):
            assert all(name.count(".") >= 2 for name in run["modules"]), run["task"]
            assert len(run["modules"]) <= 1, run["task"]

    check_each(PLAYS, check, named)


def test_tasks_use_no_shell_and_set_no_facts() -> None:
    def check(path: Path) -> None:
        for run in runs(path):
            assert not {name for name in run["modules"] if name.rpartition(".")[2] in RAW}, run["task"]
            assert not {"action", "local_action"} & set(run["task"]), run["task"]

    check_each(PLAYS, check, named)


def test_only_what_the_gate_hears_of_may_fail_unheeded() -> None:
    """What a node did not tell, and a load that was not started or collected, is unknown at the gate."""

    def check(path: Path) -> None:
        for run in runs(path):
            if "ignore_errors" in run["task"]:
                assert set(run["modules"]) <= {"gpufabric.pyramid.read_nodes", "gpufabric.pyramid.load_nodes"}, run["task"]

    check_each(PLAYS, check, named)


def test_the_rules_find_what_they_look_for(tmp_path: Path) -> None:
    """The rules above pass on no file at all; this is what they see in one."""
    play = tmp_path / "play.yml"
    play.write_text("- hosts: all\n  tasks:\n    - block:\n        - shell: date\n          ignore_errors: true\n        - ansible.builtin.set_fact: {a: b}\n")
    assert [name for run in runs(play) for name in run["modules"]] == ["ansible.builtin.set_fact", "shell"]
    assert len(files(".py", "plugins")) > 10
    reached = imports(ROOT / "plugins/plugin_utils/checks/__init__.py")
    assert {"inspect", COLLECTION + "plugins.plugin_utils.pod.expectations.SPECIFIED"} <= reached


def documentation() -> dict[str, dict[str, t.Any]]:
    """The documentation of each module as its file has it, with the names of its fragments."""
    found = {}
    for path in files(".py", "plugins/modules"):
        texts = [
            ast.literal_eval(node.value)
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DOCUMENTATION"
        ]
        found[path.stem] = yaml.safe_load(texts[0])
    return found


def test_action_groups_hold_every_module_of_their_kind() -> None:
    groups = yaml.safe_load((ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))["action_groups"]
    modules = {name: [*one.get("extends_documentation_fragment", ())] for name, one in documentation().items()}
    with_run_dir = {name for name, one in documentation().items() if "run_dir" in one.get("options", {})}
    of = {
        group: sorted(name for name, used in modules.items() if f"gpufabric.pyramid.{fragment}" in used)
        for group, fragment in (("run", "run"), ("readings", "reads.rows"), ("repairs", "repair"))
    }
    assert groups == {**of, "run": sorted({*of["run"], *with_run_dir})} and all(groups.values())


def test_a_module_is_a_step_of_the_playbooks_or_public() -> None:
    groups = yaml.safe_load((ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))["action_groups"]
    steps = {name for name, one in documentation().items() if "gpufabric.pyramid.step" in one.get("extends_documentation_fragment", ())}
    public = {*groups["readings"], *groups["repairs"], "compare", "ib_write_bw", "merge", "nccl_tests", "plan_slices", "slurm_nodes", "telemetry"}
    assert set(groups["run"]) <= steps and steps == set(documentation()) - public
