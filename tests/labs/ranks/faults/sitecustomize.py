# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes one rank of a job ill: Python imports this by itself where the folder is on PYTHONPATH.

RANK_FAULT is JSON: ``rank``; ``kind`` (late, absent, dead, stopped, flip, other, nan, drift, or single, which is in float32); ``call`` that it happens at (of
torch.distributed, cross_entropy, autocast, AdamW, or Rank, which is before a rank enters a call);
``after`` so many of these calls; ``seconds`` that a late rank sleeps before each. What it did is written to the file RANK_FAULT_MARK.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import json
import os
import pathlib
import signal
import sys
import time
import typing as t

FAULT = json.loads(os.environ.get("RANK_FAULT", "null"))
FOREVER = 3600
# Where a call is that is none of torch.distributed.
MODULES = {"cross_entropy": "torch.nn.functional", "autocast": "torch", "AdamW": "torch.optim.adamw", "Rank": "one_rank"}


def mark(words: str) -> None:
    """Prove that the fault was in force."""
    path = os.environ.get("RANK_FAULT_MARK")
    if path:
        with pathlib.Path(path).open("a", encoding="utf-8") as file:
            file.write(f"rank {os.environ['RANK']} {words}\n")


class Ill:
    """A call that behaves until its time has come."""

    def __init__(self, healthy: t.Callable, module: t.Any) -> None:
        self.healthy, self.module, self.calls = healthy, module, 0

    def __call__(self, *args: t.Any, **options: t.Any) -> t.Any:
        self.calls += 1
        if self.calls <= FAULT.get("after", 0):
            return self.healthy(*args, **options)
        mark(f"{FAULT['kind']} at call {self.calls} of {FAULT['call']}")
        if FAULT["kind"] in ("late", "absent"):
            time.sleep(FAULT["seconds"] if FAULT["kind"] == "late" else FOREVER)
        elif FAULT["kind"] == "dead":
            os.kill(os.getpid(), signal.SIGKILL)
        elif FAULT["kind"] == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif FAULT["kind"] == "other":
            return self.module.broadcast(args[0], 0)
        elif FAULT["kind"] == "single":
            options["enabled"] = False
        result = self.healthy(*args, **options)
        if FAULT["kind"] == "nan":
            return result * float("nan")
        if FAULT["kind"] == "flip" and args[0].numel():
            args[0].view(-1)[0] += 1
        if FAULT["kind"] == "drift":
            args[0].param_groups[0]["params"][0].data.view(-1)[0] += 1.0
        return result


def _bound(ill: Ill) -> t.Callable:
    """As a method, which a plain object is not."""

    def method(self: t.Any, *args: t.Any, **options: t.Any) -> t.Any:
        return ill(self, *args, **options)

    return method


class Patched(importlib.abc.Loader):
    """Loads a module as its own loader does, then makes one call of it ill."""

    def __init__(self, loader: t.Any) -> None:
        self.loader = loader

    def create_module(self, spec: t.Any) -> t.Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: t.Any) -> None:
        self.loader.exec_module(module)
        of_class = {"AdamW": "step", "Rank": "enter"}.get(FAULT["call"])
        owner, name = (getattr(module, FAULT["call"]), of_class) if of_class else (module, FAULT["call"])
        ill = Ill(getattr(owner, name), module)
        setattr(owner, name, _bound(ill) if of_class else ill)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the module that the fault is of."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, name: str, path: t.Any = None, target: t.Any = None) -> t.Any:
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        spec.loader = Patched(spec.loader)
        return spec


if FAULT is not None and os.environ.get("RANK") == str(FAULT["rank"]) and "RANKS_EVENTS" in os.environ:
    sys.meta_path.insert(0, Finder(MODULES.get(FAULT["call"], "torch.distributed")))
