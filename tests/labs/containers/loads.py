# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine says of an engine of containers, and loads in it as a run starts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.module_utils import detached
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import containers
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.host_commands import program_source
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.containers import files_of, in_container, runtime_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import Job
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.parsing import parse

PYTHON = "/usr/bin/python3"
SOURCE = Path(detached.__file__).read_text(encoding="utf-8")
FUTURE = "from __future__ import annotations\n"
Row = dict[str, t.Any]


class OneEngine(t.Protocol):
    """A runtime of containers on this machine; image: one that it has; environment: with which it is started."""

    name: str
    image: str
    environment: dict[str, str]

    def containers(self) -> list[str]:
        """Every container that there is."""


def values(engine: OneEngine) -> Row:
    """The expectations of a host with this engine."""
    return {**DEFAULTS, "pod_container_runtime": engine.name, "pod_container_image": engine.image, "pod_collective_backend": "gloo"}


def row(environment: t.Mapping[str, str], runtime: str, image: str, python: str = PYTHON, backend: str = "gloo") -> Row:
    """What the program says of this host, as the reading has it."""
    command = [sys.executable, "-SE", containers.__file__, "--runtime", runtime, "--image", image, "--python", python, "--vendor", "nvidia"]
    command += ["--backend", backend, "--nccl-tests=/opt/nccl-tests"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True, env=environment)
    (only,) = parse("container_image", "linux", done.stdout)
    return only


def of(engine: OneEngine, **more: str) -> Row:
    """The row of a host with this engine."""
    return row(engine.environment, engine.name, **{"image": engine.image, **more})


class Load:
    """Loads on this machine, as a run starts them, with an engine of their own."""

    def __init__(self, engine: OneEngine, place: Path) -> None:
        self.engine, self.place, self.values = engine, place, values(engine)
        self.environment = {**engine.environment, "TMPDIR": str(place)}

    def say(self, do: str, **more: t.Any) -> Row:
        """The reply of the program that starts and ends loads."""
        program = SOURCE.replace(FUTURE, f"{FUTURE}REQUEST = {json.dumps({'do': do, 'load': 'one', **more})!r}\n", 1)
        command = [sys.executable, "-SE", "-"]
        done = subprocess.run(command, input=program, text=True, capture_output=True, timeout=90, check=True, env=self.environment)
        answer: Row = json.loads(done.stdout)["detached"]
        return answer

    def start(self, argv: list[str], until: float = 60.0, programs: t.Sequence[str] = ()) -> None:
        """Start a command in a container."""
        job = Job("a", in_container(self.values, argv), 0, until, {}, runtime=runtime_of(self.values))
        sources = {name: program_source(name) for name in programs}
        its = {"jobs": [job.asked()], "programs": sources, "files": files_of([job])}
        reply = self.say("start", owner="here", run_id="r1", start_in=0, lease=60, fresh=None, **its)
        assert reply["refused"] is None

    def running(self) -> list[str]:
        """The containers of a load that has started, awaited."""
        until = time.monotonic() + 60
        while not (found := self.engine.containers()):
            assert time.monotonic() < until, "no container started"
            time.sleep(0.1)
        return found

    @property
    def record(self) -> Row:
        """What its supervisor recorded of itself."""
        text = (self.place / f"gpufabric.pyramid-{os.getuid()}" / "loads" / "one" / "record.json").read_text(encoding="utf-8")
        record: Row = json.loads(text)
        return record
