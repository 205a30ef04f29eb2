# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file that runs on a host: the collection's readings and checks with the packages that they need, as a zipapp.

Definitions are literals of Python in it, which need no YAML of the host; it unpacks itself once into its state directory, so that Python keeps bytecode.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import sys
import typing as t
import zipfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
COLLECTION = "ansible_collections/gpufabric/pyramid"
# Where it unpacks itself unless it is told another place.
STATE = "/var/lib/gpufabric-node-check"
START = "plugins/plugin_utils/node_check/program.py"
# Pure Python packages with permissive licences that readings are parsed with.
PACKAGES = ("jmespath", "netaddr", "textfsm")
DATA = ("plugins/plugin_utils/**/*.yml", "plugins/plugin_utils/**/*.textfsm", "roles/pod/defaults/main.yml", "roles/pod/meta/*.yml")
PROGRAMS = ("plugins/module_utils/side_by_side.py", "plugins/module_utils/programs/*.py")
# What PyYAML is asked for here; the data in the archive are literals of Python, which unlike JSON have keys that are no text.
YAML = '''"""Reads the literals into which this archive's definitions were turned."""

from ast import literal_eval as safe_load

SafeLoader, YAMLError = None, ValueError


def load(text, Loader):
    return safe_load(text)
'''
# Written for Python 3.9; unpacks what differs from what is there, under a name of its own.
MAIN = '''"""Unpacks this archive once and runs it."""

import hashlib
import os
import shutil
import sys
import tempfile
import traceback
import zipfile


def unpacked(archive, state):
    with open(archive, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:16]
    place = os.path.join(state, "lib-" + digest)
    if not os.path.isdir(place):
        os.makedirs(state, mode=0o700, exist_ok=True)
        fresh = tempfile.mkdtemp(dir=state, prefix=".lib-")
        try:
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(fresh)
            os.rename(fresh, place)
        except OSError:
            shutil.rmtree(fresh, ignore_errors=True)
            if not os.path.isdir(place):
                raise
        for name in os.listdir(state):
            if name.startswith("lib-") and os.path.join(state, name) != place:
                shutil.rmtree(os.path.join(state, name), ignore_errors=True)
    return place


def state_directory(arguments):
    for number, one in enumerate(arguments):
        if one == "--state" and number + 1 < len(arguments):
            return arguments[number + 1]
        if one.startswith("--state="):
            return one.partition("=")[2]
    return "STATE"


# Nothing that goes wrong here may pass for a broken host.
try:
    sys.path[0] = unpacked(os.path.abspath(sys.argv[0]), state_directory(sys.argv[1:]))
    from PROGRAM import main

    status = main()
except Exception as error:
    print("UNKNOWN: the node check itself failed: {}: {}".format(type(error).__name__, error))
    traceback.print_exc()
    status = 0 if {"--comment", "--slurm"} & {one.partition("=")[0] for one in sys.argv} else 2
sys.exit(status)
'''


def modules(start: str = START) -> list[str]:
    """The files that a module imports from this collection, directly or not, with its packages; names are relative to the collection."""
    found: dict[str, None] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in found or not (ROOT / name).is_file():
            continue
        found[name] = None
        parts = Path(name).parts
        waiting += ["/".join((*parts[:depth], "__init__.py")) for depth in range(1, len(parts))]
        package = parts[:-1]
        for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = (*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else ()))
                for one in ("/".join(base), *("/".join((*base, alias.name)) for alias in node.names)):
                    waiting += [f"{one}.py", f"{one}/__init__.py"]
    return sorted(found)


def archive(state: str) -> bytes:
    """The zipapp, the same bytes for the same sources; state: where it unpacks itself unless it is told another place."""
    files = {"__main__.py": MAIN.replace('"STATE"', repr(state)).replace("PROGRAM", f"{COLLECTION}/{START}"[: -len(".py")].replace("/", ".")), "yaml.py": YAML}
    for pattern in (*DATA, *PROGRAMS):
        for path in sorted(ROOT.glob(pattern)):
            files[f"{COLLECTION}/{path.relative_to(ROOT).as_posix()}"] = _data(path)
    for name in modules():
        files[f"{COLLECTION}/{name}"] = (ROOT / name).read_text(encoding="utf-8")
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.origin:
            raise FileNotFoundError(f"the package {package} is not installed")
        home = Path(spec.origin).parent
        files |= {f"{package}/{path.relative_to(home).as_posix()}": path.read_text(encoding="utf-8") for path in sorted(home.rglob("*.py"))}
    packed = io.BytesIO()
    packed.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as written:
        for name, text in sorted(files.items()):
            written.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _data(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".yml":
        return text
    value: t.Any = yaml.safe_load(text)
    written = repr(value)
    if ast.literal_eval(written) != value:
        raise ValueError(f"{path}: as a literal it is not what it is as YAML")
    return written


def main() -> None:
    """Write the archive into the file that is named."""
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(archive(STATE))
    path.chmod(0o755)


if __name__ == "__main__":
    main()
