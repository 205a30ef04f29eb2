# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Slurm is told of a node check: a comment on the node, or, where the site chose so, a drain of a broken host.

A host that is not known to be broken is never drained, and no more hosts are drained at once than the pod's plan allows. What another
owner wrote stays.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
import typing as t

from ..text.control_characters import printable
from .outcome import BROKEN, WELL, Outcome

# By which the collection knows its own drains and comments; remediation readmits what it knows.
OURS = "gpufabric.pyramid: "
OURS_HERE = f"{OURS}node check: "
COMMENT, DRAIN = "comment", "drain"
SECONDS = 5
# sinfo tells whole seconds: after this pause no other drain can still be of the same one.
PAUSE_SECONDS = 1.1
WORDS_OF_STATE = re.compile(r"^\s*State=(\S+)", re.MULTILINE)
WORDS_OF_COMMENT = re.compile(r"^\s*Comment=(.*)$", re.MULTILINE)
# A prolog that fails keeps the job off the node.
PROLOG = "prolog_slurmd"
# States in which a node takes no jobs already, whoever decided so.
OUT = {"DRAIN", "DRAINED", "DRAINING", "DOWN", "FAIL", "FAILING", "INVAL", "POWERED_DOWN"}


class NoAnswer(Exception):
    """A client of Slurm is missing, failed or did not end; its text is the whole message."""


class Told(t.NamedTuple):
    """What Slurm was told, in words, and the exit status for the program that it started."""

    words: str
    status: int


def slurm(*argv: str) -> str:
    """What a client of Slurm prints.

    Raises NoAnswer.
    """
    program = shutil.which(argv[0]) or shutil.which(argv[0], path="/usr/bin:/usr/local/bin:/opt/slurm/bin")
    if program is None:
        raise NoAnswer(f"{argv[0]} is not installed")
    try:
        done = subprocess.run([program, *argv[1:]], stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"{argv[0]} did not end within {SECONDS} s") from None
    except OSError as error:
        raise NoAnswer(f"{argv[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise NoAnswer(printable(done.stderr.decode("utf-8", "replace").strip()) or f"{argv[0]} ended with {done.returncode}")
    return done.stdout.decode("utf-8", "replace")


def tell_slurm(name: str, drain_max: int, outcome: Outcome, mode: str, run: t.Callable[..., str] = slurm) -> Told:
    """Comment on a node, or drain it.

    name: the node's in Slurm; drain_max: how many nodes may be drained by their own checks at once; mode: COMMENT or DRAIN.
    Raises NoAnswer.
    """
    shown = run("scontrol", "show", "node", name)
    state, comment = WORDS_OF_STATE.search(shown), WORDS_OF_COMMENT.search(shown)
    if state is None:
        raise NoAnswer(f"scontrol show node {name} reports no state")
    out = bool({word.rstrip("*~#!%$@^-") for word in state[1].upper().split("+")} & OUT)
    told = Told("", WELL)
    if mode == DRAIN and outcome.status == BROKEN:
        told = Told("it takes no jobs already", BROKEN) if out else _drain(name, drain_max, outcome, run)
    _comment(name, comment[1].strip() if comment else "", _comment_words(outcome, told), run)
    # A node that stays in use gets its jobs, and only a prolog's exit status keeps one away.
    return told if os.environ.get("SLURM_SCRIPT_CONTEXT") == PROLOG else Told(told.words, WELL)


def _comment_words(outcome: Outcome, told: Told) -> str:
    """The comment; none where every check passed."""
    if outcome.status == WELL and all(one["verdict"] in ("pass", "skip") for one in outcome.document["verdicts"]):
        return ""
    return OURS_HERE + outcome.line + (f" ({told.words})" if told.words else "")


def _comment(name: str, was: str, text: str, run: t.Callable[..., str]) -> None:
    """Write a comment that differs from the one that is there, unless that is another owner's."""
    if was != text and (not was or was.startswith(OURS)):
        run("scontrol", "update", f"nodename={name}", f"comment={text}")


def _drain(name: str, drain_max: int, outcome: Outcome, run: t.Callable[..., str]) -> Told:
    """Drain a node, unless as many as may be are drained; where several began at once, those that came first stay drained."""
    others = [node for node, _when in _drained(run) if node != name]
    if len(others) >= drain_max:
        return Told(f"not drained, because {len(others)} of at most {drain_max} hosts are", WELL)
    run("scontrol", "update", f"nodename={name}", "state=drain", f"reason={OURS_HERE}{outcome.line}")
    time.sleep(PAUSE_SECONDS)
    order = [node for node, _when in sorted(_drained(run), key=lambda one: (one[1], one[0]))]
    if name in order[drain_max:]:
        run("scontrol", "update", f"nodename={name}", "state=undrain")
        return Told(f"not drained, because {drain_max} of at most {drain_max} hosts are", WELL)
    return Told("drained", BROKEN)


def _drained(run: t.Callable[..., str]) -> list[tuple[str, str]]:
    """The nodes that their own checks drained, each with when, as Slurm writes it."""
    lines = run("sinfo", "--noheader", "--Node", "--states=drain,draining,drained", "--format=%N|%H|%E").splitlines()
    # A node of several partitions has a line in each.
    found = {name.strip(): (when.strip(), why.strip()) for name, when, why in (line.split("|", 2) for line in lines if line.count("|") >= 2)}
    return [(name, when) for name, (when, why) in found.items() if why.startswith(OURS_HERE)]
