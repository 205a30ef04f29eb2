# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node check, checks, readings and text import without Ansible on Python 3.9, as hosts have it: nothing of ansible, no newer syntax, no newer library."""

from __future__ import annotations

import ast
import builtins
import functools
import json
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
OLDEST = (3, 9)
PACKAGES = ("checks", "readings", "text", "node_check")
TIMEOUT_SECONDS = 120
# The interpreters that may be a Python 3.9; PyPy's is the one in Debian 12.
INTERPRETERS = ("python3.9", "pypy3.9", "pypy3")
# Imports every module of the packages with the top of the collection at ROOT and without ansible; prints the files that were loaded.
IMPORT = """
import importlib, importlib.abc, json, sys, types
from pathlib import Path

root, collection = Path(sys.argv[1]), "ansible_collections.gpufabric.pyramid"


class NoAnsible(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "ansible":
            raise ImportError("no module of Ansible may be imported: " + name)


sys.meta_path.insert(0, NoAnsible())
# PyYAML and the other packages of the controller that need no compiled part.
sys.path.append(sys.argv[2])
for name, places in (("ansible_collections", []), ("ansible_collections.gpufabric", []), (collection, [str(root)])):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = places
for package in sys.argv[3:]:
    for path in sorted((root / "plugins/plugin_utils" / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        importlib.import_module(".".join([collection, *(parts[:-1] if parts[-1] == "__init__" else parts)]))
print(json.dumps(sorted(one.__file__ for name, one in sys.modules.items() if name.startswith(collection + ".") and getattr(one, "__file__", None))))
"""


def version_of(interpreter: str) -> tuple[int, ...]:
    """The release of a Python, major and minor; empty where it does not run: a manager's stand-in without a version behind it."""
    command = [interpreter, "-c", "import sys; print(*sys.version_info[:2])"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    return tuple(int(word) for word in done.stdout.split()) if done.returncode == 0 else ()


def oldest_python() -> str:
    """A Python 3.9 where there is one, else this one."""
    found = [path for path in map(shutil.which, INTERPRETERS) if path and version_of(path) == OLDEST]
    return found[0] if found else sys.executable


def imported(root: Path, packages: t.Sequence[str] = PACKAGES) -> list[Path]:
    """The collection's files that an import of some packages loads, in a process that has no Ansible; fails with what does not import."""
    command = [oldest_python(), "-I", "-c", IMPORT, str(root), str(Path(yaml.__file__).parents[1]), *packages]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    assert done.returncode == 0, f"{command[0]} {'.'.join(map(str, version_of(command[0])))}: {done.stderr[-2000:]}"
    return [Path(name) for name in json.loads(done.stdout)]


@functools.cache
def loaded() -> tuple[Path, ...]:
    """What the packages load of this checkout."""
    return tuple(imported(ROOT))


def evaluated_unions(text: str) -> list[int]:
    """The lines on which `X | Y` of types is evaluated, that is outside of annotations."""
    tree = ast.parse(text)
    noted = {id(inner) for node in ast.walk(tree) for note in _annotations(node) for inner in ast.walk(note)}
    return sorted({node.lineno for node in ast.walk(tree) if id(node) not in noted and isinstance(node, ast.BinOp) and _of_types(node)})


def _annotations(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.AnnAssign, ast.arg)):
        return [node.annotation] if node.annotation else []
    return [node.returns] if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns else []


def _of_types(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.BitOr) and any(_is_type(side) for side in (node.left, node.right))


def _is_type(side: ast.expr) -> bool:
    name = side.value if isinstance(side, ast.Subscript) else side
    if isinstance(name, ast.Name):
        return isinstance(getattr(builtins, name.id, None), type)
    return isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name) and name.value.id in ("t", "typing")


def newer(paths: t.Iterable[Path]) -> str:
    """What files use that Python 3.9 lacks, in vermin's words."""
    command = [str(Path(sys.executable).with_name("vermin")), f"--target={OLDEST[0]}.{OLDEST[1]}-", "--violations", "--no-tips", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout if done.returncode else ""


def test_checks_and_readings_import_without_ansible() -> None:
    assert len(loaded()) > 40


def test_checks_and_readings_use_nothing_newer_than_python_3_9() -> None:
    assert not newer(loaded())
    lines = {str(path.relative_to(ROOT)): evaluated_unions(path.read_text(encoding="utf-8")) for path in loaded()}
    assert not {name: found for name, found in lines.items() if found}, "`X | Y` of types is evaluated on these lines"


@pytest.mark.parametrize(
    "text",
    [
        "import datetime\nnow = datetime.datetime.now(datetime.UTC)\n",
        "import itertools\npairs = list(itertools.pairwise([1, 2]))\n",
        "def f(a):\n    match a:\n        case 1:\n            return 2\n",
        "from dataclasses import dataclass\n@dataclass(slots=True)\nclass A:\n    a: int\n",
    ],
)
def test_newer_syntax_and_libraries_are_found(text: str, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(text, encoding="utf-8")
    assert "3.1" in newer([tmp_path / "one.py"])


def test_unions_that_are_evaluated_are_found() -> None:
    assert evaluated_unions("A = int | str\nb = isinstance(1, list[int] | None)\nimport typing as t\nC = t.Any | None\n") == [1, 2, 4]
    assert evaluated_unions("from __future__ import annotations\na: int | None = 1\ndef f(a: int | str) -> str | None: return {1} | {2}\n") == []


def test_an_import_of_ansible_is_found(tmp_path: Path) -> None:
    place = tmp_path / "plugins/plugin_utils/checks"
    place.mkdir(parents=True)
    (place / "one.py").write_text("from ansible.errors import AnsibleError\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="no module of Ansible may be imported: ansible"):
        imported(tmp_path, ["checks"])
