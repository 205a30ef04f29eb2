# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A seed by its number: with processes or without, within a time, and with nothing left."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import tempfile
import time
import typing as t
from pathlib import Path

from . import climbing, in_process
from .outcomes import Outcome

# One seed in so many runs playbooks, which takes 20 to 200 s; any other takes 1 to 5 s.
PROCESS_EVERY = 40
SECONDS = 180
# A bench keeps what its pod prints, of every fault that it had.
SEEDS_OF_A_BENCH = 200


def needs_processes(number: int) -> bool:
    """Whether a seed runs playbooks."""
    return number % PROCESS_EVERY == PROCESS_EVERY - 1


def run_number(number: int) -> Outcome:
    """What comes of a seed; what it raises is wrong, too."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="chaos-") as directory:
        if needs_processes(number):
            made = climbing.seed(number // PROCESS_EVERY)
            outcome = _noted(f"seed {number} by processes", made.drawn(), lambda: climbing.withstand(made, Path(directory)))
        else:
            outcome = _noted(f"seed {number}", ["failed"], lambda: _limited(number, Path(directory)))
    outcome.seconds = time.monotonic() - began
    return outcome


def _noted(words: str, drawn: list[str], run: t.Callable[[], Outcome]) -> Outcome:
    try:
        return run()
    except TimeoutError as error:
        return Outcome(words, drawn, wrong=[f"HUNG: {error}"])
    except Exception as error:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else ""
        return Outcome(words, drawn, wrong=[f"NO DEFINED RESULT: {type(error).__name__}: {error} ({where})"])


def _limited(number: int, into: Path) -> Outcome:
    """A seed that needs no processes, within a time; it leaves no process and no file of its own."""
    bench = _bench(number // SEEDS_OF_A_BENCH)
    (into / "tmp").mkdir()
    # A lab that other tests of this process share may be running.
    running = _children()
    with _alarm(), _temporary(into / "tmp"):
        outcome = in_process.run_seed(number, bench, into)
    left = [f"FILE LEFT: {path}" for path in (into / "tmp").iterdir()]
    left += [f"PROCESS LEFT: {pid}" for pid in sorted(_children() - running)]
    outcome.wrong += left
    return outcome


def _children() -> set[str]:
    """The ids of the processes that this one has started and that have not ended."""
    return {pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text(encoding="ascii").split()}


@functools.lru_cache(maxsize=1)
def _bench(_number: int) -> in_process.Bench:
    return in_process.Bench(Path(_directory().name) / str(_number))


@functools.cache
def _directory() -> tempfile.TemporaryDirectory[str]:
    """Where the benches of this process are, which goes with it."""
    return tempfile.TemporaryDirectory(prefix=f"chaos-{os.getpid()}-")


@contextlib.contextmanager
def _alarm() -> t.Iterator[None]:
    def ring(_number: int, _frame: t.Any) -> t.NoReturn:
        raise TimeoutError(f"in {SECONDS} s it did not end")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _temporary(place: Path) -> t.Iterator[None]:
    """Let temporary files be made there."""
    before, tempfile.tempdir = tempfile.tempdir, str(place)
    try:
        yield
    finally:
        tempfile.tempdir = before
