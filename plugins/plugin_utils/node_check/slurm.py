# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Slurm is told of a node check: a comment on the node, or, where the site chose so, a drain of a broken host.

A host that is not known to be broken is never drained, and no more hosts are drained at once than the pod's plan allows. What another
owner wrote stays.
"""

from __future__ import annotations

import contextlib
import os
import random
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
# Slurm has one reservation of a name: the host that makes this one decides alone, and Slurm takes it back itself where that host ends before.
LOCK, LOCK_MINUTES = "gpufabric-node-check", 2
# For how long it is tried to make it, with a pause between; and within which time of making it a host is drained, well before Slurm takes it back.
LOCK_WAIT_SECONDS, LOCK_PAUSE_SECONDS, LOCK_HOLD_SECONDS = 10.0, (0.1, 0.6), 30.0
WORDS_OF_STATE = re.compile(r"^\s*State=(\S+)", re.MULTILINE)
WORDS_OF_COMMENT = re.compile(r"^\s*Comment=(.*)$", re.MULTILINE)
# A prolog that fails keeps the job off the node, and has Slurm drain it: so with a status of its own, which no Python that could not start ends with.
PROLOG, KEEP_AWAY = "prolog_slurmd", 3
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
        told = Told("it takes no jobs already", KEEP_AWAY) if out else _drain(name, drain_max, outcome, run)
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
    """Drain a node, unless as many as may be are drained; of several that break at once, one after the other decides."""
    until, refused = time.monotonic() + LOCK_WAIT_SECONDS, ""
    while time.monotonic() < until:
        if told := _at_limit(name, drain_max, run):
            return told
        began = time.monotonic()
        try:
            # On the broken node, which is the only one that it can keep jobs from.
            run(
                "scontrol", "create", "reservation", f"reservationname={LOCK}", f"nodes={name}", "users=root", "starttime=now", f"duration={LOCK_MINUTES}",
                "flags=overlap,ignore_jobs",
            )  # fmt: skip
        except NoAnswer as reason:
            refused = str(reason)
            time.sleep(random.uniform(*LOCK_PAUSE_SECONDS))
            continue
        return _drain_alone(name, drain_max, outcome, began, run)
    return Told(f"not drained, because Slurm does not let this host decide alone: {refused}", WELL)


def _drain_alone(name: str, drain_max: int, outcome: Outcome, began: float, run: t.Callable[..., str]) -> Told:
    """Drain a node while no other one decides; began: when that was asked for. Where Slurm does not answer, the others wait until it takes the lock back."""
    told = _at_limit(name, drain_max, run)
    if told is None:
        if time.monotonic() - began > LOCK_HOLD_SECONDS:
            return Told("not drained, because Slurm took too long", WELL)
        run("scontrol", "update", f"nodename={name}", "state=drain", f"reason={OURS_HERE}{outcome.line}")
        told = Told("drained", KEEP_AWAY)
    if time.monotonic() - began <= LOCK_HOLD_SECONDS:
        with contextlib.suppress(NoAnswer):
            run("scontrol", "delete", f"reservationname={LOCK}")
    return told


def _at_limit(name: str, drain_max: int, run: t.Callable[..., str]) -> Told | None:
    """Why a node is not drained, where as many others as may be are by their own checks."""
    lines = run("sinfo", "--noheader", "--all", "--Node", "--states=drain,draining,drained", "--format=%N|%E").splitlines()
    # A node of several partitions has a line in each.
    others = {node.strip() for node, why in (line.split("|", 1) for line in lines if "|" in line) if why.strip().startswith(OURS_HERE)} - {name}
    return Told(f"not drained, because {len(others)} of at most {drain_max} hosts are", WELL) if len(others) >= drain_max else None
