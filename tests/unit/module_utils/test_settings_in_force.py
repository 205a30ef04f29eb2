# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings that ranks had without being given them, in the words in which a log of NCCL has them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import settings_in_force
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings_in_force, "USERS_FILE", str(tmp_path / "user.conf"))
    monkeypatch.setattr(settings_in_force, "SYSTEMS_FILE", str(tmp_path / "nccl.conf"))
    return tmp_path


def test_the_users_file_comes_before_that_of_the_system_and_the_environment_before_both(files: Path) -> None:
    (files / "user.conf").write_text("NCCL_IB_HCA=mlx5_0\n# NCCL_ALGO=Ring\n", encoding="utf-8")
    (files / "nccl.conf").write_text("NCCL_IB_HCA=mlx5_9\nNCCL_DEBUG=INFO\nNCCL_NET=Socket\n", encoding="utf-8")
    said = settings_in_force.settings({"NCCL_DEBUG": "WARN", "FI_PROVIDER": "tcp", "PATH": "/bin"})
    user, system = files / "user.conf", files / "nccl.conf"
    assert said == ["FI_PROVIDER set by environment to tcp", f"NCCL_IB_HCA set by {user} to mlx5_0", f"NCCL_NET set by {system} to Socket"]
    rows = parse("nccl_log", "linux", "\n".join(said))
    assert [(row["event"], row["name"], row["value"]) for row in rows] == [
        ("variable", "FI_PROVIDER", "tcp"), ("variable", "NCCL_IB_HCA", "mlx5_0"), ("variable", "NCCL_NET", "Socket"),
    ]  # fmt: skip


def test_the_document_of_a_run_that_ended_before_nccl_began_has_them(files: Path) -> None:
    (files / ".nccl.conf").write_text("NCCL_IB_HCA=mlx5_0\n", encoding="utf-8")
    program = Path(settings_in_force.__file__).parent / "torch_collectives.py"
    limits = ["--timeout", "3", "--start-timeout", "3", "--deadline", "15"]
    # Nothing listens there, and without GPUs no rank gets as far as NCCL.
    argv = [sys.executable, str(program), "--backend", "nccl", "--ranks-per-host", "1", "--host-index", "1", "--hosts", "2", "--master", "127.0.0.1:9", *limits]
    ended = subprocess.run(argv, env={**os.environ, "HOME": str(files), "FI_PROVIDER": "tcp"}, capture_output=True, text=True, timeout=60, check=False)
    found = {(row["name"], row["value"]) for row in parse("nccl_log", "linux", ended.stdout) if row["event"] == "variable"}
    assert ended.returncode == 1 and found >= {("FI_PROVIDER", "tcp"), ("NCCL_IB_HCA", "mlx5_0")}


def test_another_file_that_the_environment_names_stands_for_the_users(files: Path) -> None:
    (files / "user.conf").write_text("NCCL_ALGO=Ring\n", encoding="utf-8")
    (files / "site.conf").write_text("NCCL_PROTO=LL\n", encoding="utf-8")
    assert settings_in_force.settings({"NCCL_CONF_FILE": str(files / "site.conf")}) == [f"NCCL_PROTO set by {files / 'site.conf'} to LL"]


def test_they_are_bounded_whatever_a_file_or_variable_holds(files: Path) -> None:
    assert settings_in_force.settings({}) == []
    (files / "nccl.conf").write_bytes(b"\xff\xfe\n" + b"".join(b"NCCL_X%d=1\n" % number for number in range(9000)) + b"NCCL_LONG=" + b"x" * 9000)
    said = settings_in_force.settings({"UCX_TLS": 'rc,"\n' + "y" * 9000})
    assert len(said) == settings_in_force.MOST and max(map(len, said)) < 400 and not any("\n" in one or '"' in one for one in said)
