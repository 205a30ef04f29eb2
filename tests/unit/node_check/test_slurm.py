# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients of Slurm that are missing, fail or hang; what they do is seen on a real Slurm in tests/integration/test_node_check.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check import slurm

FAILS = "echo 'slurm_load_node error: Unable to contact slurm controller' >&2; exit 1"


def client(place: Path, script: str) -> None:
    """A scontrol of one's own."""
    (place / "scontrol").write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    (place / "scontrol").chmod(0o755)


def test_a_client_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client(tmp_path, FAILS)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(slurm.NoAnswer, match="Unable to contact slurm controller"):
        slurm.slurm("scontrol", "show", "node", "gpu03")


def test_a_client_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client(tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 300")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(slurm, "SECONDS", 5)
    with pytest.raises(slurm.NoAnswer, match="scontrol did not end within 5 s"):
        slurm.slurm("scontrol", "show", "node", "gpu03")
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text(encoding='ascii').strip()}").exists()


def test_a_client_that_is_missing_is_named() -> None:
    with pytest.raises(slurm.NoAnswer, match="no_client_of_this_name is not installed"):
        slurm.slurm("no_client_of_this_name")


def test_a_node_without_a_state_is_no_answer() -> None:
    done = slurm.Outcome(slurm.BROKEN, "FAIL gpu03: mtu", {"verdicts": []})
    with pytest.raises(slurm.NoAnswer, match="scontrol show node gpu03 reports no state"):
        slurm.tell_slurm("gpu03", 1, done, slurm.COMMENT, lambda *_argv: "NodeName=gpu03\n")
