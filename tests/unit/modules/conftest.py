# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules run in this process, on a host of a simulated pod that keeps its state."""

from __future__ import annotations

import json
import sys
import typing as t
from pathlib import Path
from types import ModuleType

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout, rendering, state
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Host

HOST = "gpu03"


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """One rack of four hosts."""
    return inprocess.Pods(layout.write(tmp_path_factory.mktemp("source"), racks=1, hosts_per_rack=4, spines=2, expectations={"pod_name": "kept"}))


class Machine:
    """One host of a kept pod: its modules, its state, and what the preflight says of it."""

    def __init__(self, pod: Path, source: inprocess.Pods, faults: t.Sequence[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.pod, self.source, self.plan, self.capsys = pod, source, source.plan, capsys
        one = source.pod(faults)
        rendering.render_node(self.plan, one, HOST, pod)
        state.keep(self.plan, one, [one.hosts[HOST]], pod)
        self.root = self.pod / HOST / "=root"
        for name, value in {"SIMULATED_POD": self.pod, "SIMULATED_NODE": HOST, "SIMULATED_RUN": "1", "SIMULATED_PYTHON": sys.executable}.items():
            monkeypatch.setenv(name, str(value))
        monkeypatch.setenv("PATH", str(self.pod / HOST / "bin"))

    def run(self, module: ModuleType, check: bool = False, **arguments: t.Any) -> dict[str, t.Any]:
        """What a module returns."""
        with patch_module_args({"root": str(self.root), "_ansible_check_mode": check, "_ansible_diff": True, **arguments}), pytest.raises(SystemExit):
            module.main()
        state.absorb(self.pod, HOST)
        return t.cast(dict[str, t.Any], json.loads(self.capsys.readouterr().out))

    @property
    def host(self) -> Host:
        """The host as it is now."""
        with state.host_of(self.pod, HOST) as host:
            return host

    def files(self) -> dict[str, str]:
        """Everything on its file system."""
        return {str(path.relative_to(self.root)): path.read_text() for path in sorted(self.root.rglob("*")) if path.is_file() and not path.is_symlink()}

    def verdicts(self) -> dict[str, str]:
        """The preflight's verdicts of the host that are neither pass nor skip."""
        pod = self.source.pod()
        pod.hosts[HOST] = self.host
        judged = inprocess.judge(self.plan, pod, "preflight", [HOST])
        assert len(judged) > 20
        return {one.check: one.verdict for one in judged if one.host == HOST and one.verdict not in ("pass", "skip")}

    @property
    def rails(self) -> list[dict[str, t.Any]]:
        """The host's rails by the plan."""
        return t.cast(list[dict[str, t.Any]], self.plan.nodes[HOST].values["pod_rails"])


@pytest.fixture
def machine(tmp_path: Path, source: inprocess.Pods, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> t.Callable[..., Machine]:
    """Makes the host with some faults in force."""
    return lambda *faults: Machine(tmp_path, source, faults, monkeypatch, capsys)
