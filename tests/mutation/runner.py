# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs mutants of one module in forks of one pytest process.

cosmic-ray's own runner edits the file in place and starts pytest for each mutant. Here no file is edited, and a mutant takes as long as
the tests that call the mutated function: each test's calls are recorded once, then each mutant's code is put into a fork's functions.
A mutant outside functions (a constant, a default) is imported afresh in its fork, and all tests of the module run.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import os
import re
import signal
import sys
import tempfile
import threading
import time
import types
import typing as t
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from .operators import Mutant, mutants

COLLECTION = "ansible_collections.gpufabric.pyramid"
# Of a fork, besides so many times what its tests took before: an endless loop is a mutant that was found.
TIMEOUT_SECONDS, TIMEOUT_FACTOR = 20.0, 5.0
# Between two looks at the forks, at first.
PAUSE_SECONDS = 0.002
# The exit status of a fork whose mutant is in no function: what its tests say is of the module as it is.
UNCHANGED = 3
Code = types.CodeType
Key = t.TypeVar("Key")
# A key, what to do with a directory of its own, and how many seconds it may take.
Work = tuple[Key, Callable[[Path], None], float]


@dataclass
class Outcome:
    """What a module's mutants came to; a survivor is a mutant that no test found, with the function it is in."""

    module: str
    killed: int = 0
    timed_out: int = 0
    survivors: list[tuple[str, Mutant]] = field(default_factory=list)
    untested: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Part:
    """What of a module is mutated: the functions whose names have these words, in these lines."""

    functions: str = ""
    first: int = 1
    last: int | None = None

    @classmethod
    def named(cls, words: str) -> Part:
        """By ``FUNCTION``, ``FIRST-LAST`` or ``FIRST-``; everything by no words."""
        lines = re.fullmatch(r"(\d+)-(\d*)", words)
        return cls("", int(lines[1]), int(lines[2]) if lines[2] else None) if lines else cls(words)

    def has(self, function: str, line: int) -> bool:
        """Whether a mutant of a function at a line is of it."""
        return self.functions in function and self.first <= line and (self.last is None or line <= self.last)


WHOLE = Part()


class SharedFixtures:
    """A pytest plugin that gives forks what fixtures of whole modules made before: a pod's run that took half a minute is made once.

    Only of fixtures that called nothing of the mutated module, and that nothing follows.
    """

    def __init__(self) -> None:
        self.values: dict[tuple[str, str, object], object] = {}
        self.given = False

    def keep(self, fixturedef: pytest.FixtureDef[t.Any], request: pytest.FixtureRequest, value: object) -> None:
        """What a fixture made that may be given to forks."""
        if fixturedef.scope != "function" and not inspect.isgeneratorfunction(fixturedef.func):
            self.values[self._key(fixturedef, request)] = value

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[t.Any], request: pytest.FixtureRequest) -> object:
        """The value that was kept; None leaves it to pytest."""
        value = self.values.get(self._key(fixturedef, request)) if self.given else None
        if value is not None:
            fixturedef.cached_result = (value, fixturedef.cache_key(request), None)  # type: ignore[arg-type]
        return value

    def _key(self, fixturedef: pytest.FixtureDef[t.Any], request: pytest.FixtureRequest) -> tuple[str, str, object]:
        return fixturedef.baseid, fixturedef.argname, getattr(request, "param_index", 0)


class Forks:
    """Runs works in forks, at most so many at a time; their output is dropped, and what they started ends with them."""

    def __init__(self, most: int) -> None:
        self.most = most

    def run(self, works: Iterable[Work[Key]]) -> Iterator[tuple[Key, int | None]]:
        """Each work's key with the exit status of its fork, as they end; None where it took too long."""
        waiting, running = iter(works), list[_Fork[Key]]()
        pause = PAUSE_SECONDS
        while True:
            while len(running) < self.most and (work := next(waiting, None)) is not None:
                running.append(_Fork(*work))
            if not running:
                return
            ended = [one for one in running if one.has_ended()]
            running = [one for one in running if one not in ended]
            for one in ended:
                yield one.key, one.status
            pause = PAUSE_SECONDS if ended else min(pause * 1.5, 0.1)
            if not ended:
                time.sleep(pause)


class _Fork(t.Generic[Key]):
    """One work in a fork, with a directory that ends with it."""

    def __init__(self, key: Key, work: Callable[[Path], None], seconds: float) -> None:
        self.key, self.until, self.status = key, time.monotonic() + seconds, t.cast("int | None", None)
        self.place = tempfile.TemporaryDirectory()
        self.pid = os.fork()
        if self.pid == 0:
            _run(functools.partial(work, Path(self.place.name)))

    def has_ended(self) -> bool:
        """Whether it has, or has taken too long and is ended now."""
        ended, status = os.waitpid(self.pid, os.WNOHANG)
        if ended:
            self.status = os.waitstatus_to_exitcode(status)
        elif time.monotonic() < self.until:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        if not ended:
            os.waitpid(self.pid, 0)
        self.place.cleanup()
        return True


def _run(work: Callable[[], None]) -> t.NoReturn:
    os.setsid()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    try:
        work()
    except BaseException:
        os._exit(2)
    os._exit(0)


class Runner:
    """A pytest plugin that, instead of one run of the tests, records their calls and then runs them for each mutant."""

    def __init__(self, path: Path, root: Path, part: Part = WHOLE, watch: Callable[[str], None] = print, beside: int = 1) -> None:
        self.path, self.source, self.part, self.watch = path, path.read_text(encoding="utf-8"), part, watch
        self.module = f"{COLLECTION}.{'.'.join(path.relative_to(root).with_suffix('').parts)}"
        self.outcome = Outcome(str(path.relative_to(root)))
        self.calls: dict[pytest.Item, set[str]] = {}
        self.of_fixture: dict[str, set[str]] = {}
        self.seconds: dict[pytest.Item, float] = {}
        self.recording: set[str] = set()
        self.failed = False
        self.forked = False
        self.forks = Forks(beside)
        self.shared = SharedFixtures()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Record the tests' calls, then run every mutant."""
        if session.testsfailed or not session.items:
            raise pytest.UsageError(f"no tests of {self.path} were collected, or not all of them")
        file = sys.modules[self.module].__file__ or ""
        # What is frozen is not among the objects that are looked through for a mutant's functions.
        gc.unfreeze()
        self._record(session, file)
        if self.failed:
            raise pytest.UsageError(f"tests of {self.path} fail without any mutation")
        for (mutant, function), status in self.forks.run(self._works(session, file)):
            self._ended(mutant, function, status)
        self.outcome.survivors.sort(key=lambda one: one[1].line)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[t.Any], request: pytest.FixtureRequest) -> t.Generator[None, object, object]:
        """Calls of a fixture that several tests share are those of each of them."""
        outer, self.recording = self.recording, set()
        try:
            value = yield
            if not self.recording and not self.forked:
                self.shared.keep(fixturedef, request, value)
            return value
        finally:
            self.of_fixture.setdefault(fixturedef.argname, set()).update(self.recording)
            self.recording = outer | self.recording

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A fork ends with its first failed test."""
        if report.failed and self.forked:
            os._exit(1)
        self.failed |= report.failed

    def _record(self, session: pytest.Session, file: str) -> None:
        """Note which functions each test calls, also in its threads and in processes that it forks, which append theirs to a file."""
        parent = os.getpid()
        with tempfile.TemporaryFile("a+", encoding="utf-8") as of_forks:

            def called(frame: types.FrameType, _event: str, _argument: object) -> None:
                name = frame.f_code.co_qualname
                if frame.f_code.co_filename == file and name not in self.recording:
                    self.recording.add(name)
                    if os.getpid() != parent:
                        os.write(of_forks.fileno(), f"{name}\n".encode())

            for item, following in zip(session.items, [*session.items[1:], None]):
                # What an earlier test had computed is called by this one too.
                _clear_caches(self.module)
                self.recording = set()
                of_forks.truncate(0)
                begun = time.monotonic()
                threading.settrace(called)
                sys.settrace(called)
                try:
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                finally:
                    sys.settrace(None)
                    threading.settrace(None)  # type: ignore[arg-type]
                self.seconds[item] = time.monotonic() - begun
                of_forks.seek(0)
                self.calls[item] = self.recording.union(of_forks.read().split())

    def _works(self, session: pytest.Session, file: str) -> Iterator[Work[tuple[Mutant, str]]]:
        """What each mutant's fork does, by the mutant and the function that it is in."""
        original = _codes(compile(self.source, file, "exec"))
        spans = list(_spans(self.source))
        for mutant in sorted(mutants(self.source), key=lambda one: one.line):
            function = next((name for name, first, last in spans if first <= mutant.line <= last), "<module>")
            if not self.part.has(function, mutant.line):
                continue
            changed = _codes(compile(mutant.source, file, "exec"))
            differing = {name for name, code in changed.items() if original.get(name) != code}
            if not differing or not all(_is_function(changed[name]) for name in differing):
                afresh = functools.partial(_run_afresh, self.module, file, mutant.source, session.config.args)
                yield (mutant, function), afresh, self._limit(session.items) + 60
            else:
                items = [item for item in session.items if any(_calls(self._of(item), name) for name in differing)]
                if not items:
                    self.outcome.untested.add(function)
                    self._ended(mutant, function, 0)
                    continue
                yield (mutant, function), functools.partial(self._run_patched, items, changed, file), self._limit(items)

    def _ended(self, mutant: Mutant, function: str, status: int | None) -> None:
        if status == 0:
            self.outcome.survivors.append((function, mutant))
            self.watch(f"survived: {self.outcome.module}:{mutant.line} {function}\n    - {mutant.was}\n    + {mutant.becomes}")
        elif status is None:
            self.outcome.timed_out += 1
        elif status == UNCHANGED:
            raise RuntimeError(f"no function {function} of {self.outcome.module} was found to change")
        else:
            self.outcome.killed += 1

    def _of(self, item: pytest.Item) -> set[str]:
        """The functions that a test calls, with those of its fixtures."""
        return self.calls[item].union(*(self.of_fixture.get(name, ()) for name in getattr(item, "fixturenames", ())))

    def _limit(self, items: Iterable[pytest.Item]) -> float:
        return TIMEOUT_SECONDS + TIMEOUT_FACTOR * sum(self.seconds[item] for item in items)

    def _run_patched(self, items: list[pytest.Item], changed: dict[str, Code], file: str, place: Path) -> None:
        self.forked = self.shared.given = True
        # Forks beside each other must not number their directories in the same place.
        items[0].config._tmp_path_factory._basetemp = place  # type: ignore[attr-defined]
        functions = [
            one for one in gc.get_objects() if isinstance(one, types.FunctionType) and one.__code__.co_filename == file and one.__qualname__ in changed
        ]
        if not functions:
            os._exit(UNCHANGED)
        for found in functions:
            found.__code__ = changed[found.__qualname__]
        # What was computed before is the original's.
        _clear_caches(COLLECTION)
        # Short ones first: most mutants are found by any test.
        items = sorted(items, key=lambda item: self.seconds[item])
        for item, following in zip(items, [*items[1:], None]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _clear_caches(prefix: str) -> None:
    """Forget the results of functools.cache of the modules whose names begin so."""
    for found in gc.get_objects():
        if isinstance(found, functools._lru_cache_wrapper) and str(found.__module__).startswith(prefix):
            found.cache_clear()


def _calls(called: set[str], function: str) -> bool:
    """Whether a function, or the one that it is written in, is among those called."""
    outer = function.split(".<locals>")[0]
    return any(one.split(".<locals>")[0] == outer for one in called)


def _codes(module: Code) -> dict[str, Code]:
    """A module's code objects by qualified name, itself as ``<module>``; what runs at import is without the functions that it makes."""
    found = {"<module>": _bare(module)}

    def walk(code: Code) -> None:
        for one in code.co_consts:
            if isinstance(one, Code):
                found[one.co_qualname] = one if _is_function(one) else _bare(one)
                walk(one)

    walk(module)
    return found


def _is_function(code: Code) -> bool:
    """Whether code is a function's, and not a module's or the body of a class, which run at import."""
    return bool(code.co_flags & inspect.CO_OPTIMIZED)


def _bare(code: Code) -> Code:
    return code.replace(co_consts=tuple(None if isinstance(one, Code) else one for one in code.co_consts), co_linetable=b"", co_firstlineno=1)


def _spans(source: str) -> Iterator[tuple[str, int, int]]:
    """The functions and methods of a module: name, first and last line."""
    for node in ast.parse(source).body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        for one in inside:
            if isinstance(one, ast.FunctionDef):
                yield f"{node.name}.{one.name}" if isinstance(node, ast.ClassDef) else one.name, one.lineno, one.end_lineno or one.lineno


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module with other source."""

    def __init__(self, module: str, file: str, source: str) -> None:
        self.module, self.file, self.source = module, file, source

    def find_spec(self, fullname: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.module:
            return None
        loader = importlib.machinery.SourceFileLoader(fullname, self.file)
        loader.get_code = lambda _name: compile(self.source, self.file, "exec")  # type: ignore[method-assign,assignment]
        return importlib.util.spec_from_file_location(fullname, self.file, loader=loader)


def _run_afresh(module: str, file: str, source: str, tests: list[str], place: Path) -> None:
    for name in [one for one in sys.modules if one.startswith((COLLECTION, "tests."))]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder(module, file, source))  # type: ignore[arg-type]
    if pytest.main(["-x", "-q", "-p", "no:cacheprovider", f"--basetemp={place}", *tests]) != pytest.ExitCode.OK:
        os._exit(1)
