# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mutation tests: ``python -m tests.mutation [FILE ...]`` mutates the modules of targets.yml, or those of them that are named.

``FILE:FUNCTION`` mutates one function, ``FILE:FIRST-LAST`` some lines and ``FILE:FIRST-`` those from one on;
``--beside=N`` runs so many mutants at a time, as many as there are CPUs without it.
Exits with 1 where a mutant survives that survivors.yml does not list with its reason.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import io
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, Phase, settings

from .runner import WHOLE, Outcome, Part, Runner

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
# The same examples in each fork, and no search for the smallest one that fails.
settings.register_profile(
    "mutation", settings(derandomize=True, database=None, deadline=None, max_examples=40, suppress_health_check=list(HealthCheck)),
    phases=[Phase.explicit, Phase.generate],
)  # fmt: skip


def accepted(outcome: Outcome) -> set[tuple[str, str]]:
    """The survivors of a module that are listed with a reason: the function, and what its line becomes."""
    listed = yaml.safe_load((HERE / "survivors.yml").read_text(encoding="utf-8")) or {}
    return {(one["function"], line) for one in listed.get(outcome.module, ()) for line in one["becomes"]}


def mutate(path: Path, part: Part, tests: list[str], beside: int) -> int:
    """Run the mutants of a module, print what survived, and return how many of these are not listed."""
    begun = time.monotonic()
    runner = Runner(path, ROOT, part, lambda words: print(words, file=sys.__stdout__, flush=True), beside)
    # Each mutant's tests write directories of their own: kept, those of a thousand mutants fill a disk.
    with contextlib.redirect_stdout(io.StringIO()) as output, tempfile.TemporaryDirectory() as place:
        options = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=mutation"]
        kept = [f"--basetemp={place}/tests", "-o", "tmp_path_retention_policy=none"]
        status = pytest.main([*options, *kept, *tests], plugins=[runner, runner.shared])
    if status != pytest.ExitCode.OK:
        raise SystemExit(f"{output.getvalue()}\n{path}: pytest ended with {status!r}")
    outcome = runner.outcome
    survived = {(name, mutant.becomes) for name, mutant in outcome.survivors}
    new, gone = survived - accepted(outcome), accepted(outcome) - survived if part == WHOLE else set()
    print(
        f"{outcome.module}: {outcome.killed} killed, {outcome.timed_out} timed out, {len(outcome.survivors)} survived, {len(new)} of them not listed,"
        f" in {time.monotonic() - begun:.0f} s",
        *(f"    no test calls {name}" for name in sorted(outcome.untested)),
        *(f"    listed, and does not survive: {name}: {line}" for name, line in sorted(gone)),
        sep="\n", flush=True,
    )  # fmt: skip
    return len(new)


def _status(file: str, part: Part, tests: list[str], beside: int) -> int:
    """The exit status of one module's process; whatever stops it is printed."""
    try:
        return int(mutate(ROOT / file, part, [str(ROOT / one) for one in tests], beside) > 0)
    except BaseException:
        traceback.print_exc()
        return 2
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def main(words: list[str]) -> int:
    """Mutate the modules named, each in a process of its own; the exit status says whether an unlisted mutant survived."""
    parser = argparse.ArgumentParser(description="Mutate modules and run their tests.")
    parser.add_argument("names", nargs="*", metavar="FILE")
    parser.add_argument("--beside", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args(words)
    names = arguments.names
    targets: dict[str, list[str]] = yaml.safe_load((HERE / "targets.yml").read_text(encoding="utf-8"))
    asked = [(file, Part.named(name.partition(":")[2])) for file in targets for name in names or ["*"] if fnmatch.fnmatch(file, f"*{name.partition(':')[0]}")]
    if not asked:
        raise SystemExit(f"none of {', '.join(names)} is in {HERE / 'targets.yml'}")
    bad = 0
    for file, part in asked:
        pid = os.fork()
        if pid == 0:
            # Handlers of libraries that run at exit may wait for threads that a fork does not have.
            os._exit(_status(file, part, targets[file], arguments.beside))
        bad += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
