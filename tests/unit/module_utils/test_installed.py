# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that looks for programs, run by the Python of this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import installed


def run(path: Path, python: str) -> dict[str, dict[str, t.Any]]:
    """What the program prints with one directory on PATH: by kind, what was found by name."""
    command = [sys.executable, "-SE", installed.__file__, python]
    done = subprocess.run(command, env={"PATH": str(path)}, capture_output=True, text=True, timeout=60, check=True)
    found: dict[str, dict[str, t.Any]] = {}
    for row in json.loads(done.stdout)["rows"]:
        found.setdefault(row["kind"], {})[row["name"]] = row["found"]
    return found


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!{sys.executable}\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_programs_on_path_are_found_and_nothing_is_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    program(tmp_path / "ibstat", f"open({str(started)!r}, 'w')")
    (tmp_path / "ethtool").write_text("not executable", encoding="utf-8")
    found = run(tmp_path, str(tmp_path / "no_python"))
    assert set(found["program"]) == set(installed.PROGRAMS)
    assert {name: path for name, path in found["program"].items() if path} == {"ibstat": str(tmp_path / "ibstat")} and not started.exists()
    assert found["torch"] == {str(tmp_path / "no_python"): None} and found["user"] == {"uid": str(os.geteuid())}


def test_torch_is_looked_for_in_the_python_that_is_named_and_not_imported(tmp_path: Path) -> None:
    package = tmp_path / "modules" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    having = program(
        tmp_path / "having", f"import os, sys; os.execve({sys.executable!r}, ['python', *sys.argv[1:]], {{'PYTHONPATH': {str(package.parent)!r}}})"
    )
    assert run(tmp_path, str(having))["torch"] == {str(having): str(package / "__init__.py")}


def test_the_driver_of_each_device_is_the_kernels(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "drivers" / "mlx5_core").mkdir(parents=True)
    (tmp_path / "class" / "mlx5_0" / "device").mkdir(parents=True)
    (tmp_path / "class" / "mlx5_0" / "device" / "driver").symlink_to(tmp_path / "drivers" / "mlx5_core")
    (tmp_path / "class" / "rxe0").mkdir()
    monkeypatch.setattr(installed, "DEVICES", str(tmp_path / "class"))
    assert installed.drivers() == [("mlx5_0", "mlx5_core")]
    for name, number in (("vendor", "0x15b3"), ("device", "0x101e")):
        (tmp_path / "class" / "mlx5_0" / "device" / name).write_text(f"{number}\n", encoding="ascii")
    assert installed.functions() == [("mlx5_0", "0x15b3 0x101e")]
    monkeypatch.setattr(installed, "DEVICES", str(tmp_path / "none"))
    assert installed.drivers() == [] == installed.functions()
