# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host has of a job of ranks besides its agent: the store, and the wait for an agent that a launcher starts.

A launcher such as srun or mpirun starts the agents of all hosts from one of them. What each agent has to say must not go through
the launcher, which may die before and which mixes what several say: the agent writes its document beside its program, and its own
host passes it on, or says that nothing was started here.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

# After the last rank of the first host, the others may still be asking who was missing.
STORE_GRACE_SECONDS = 8.0
END_GRACE_SECONDS = 3.0
LOOK_SECONDS = 0.1


def kill(process):
    """End a process that was started here, and its session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_GRACE_SECONDS)
            return


class Store:
    """The process that holds the store; it ends by itself where this one dies."""

    def __init__(self, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)

    def end(self):
        """Let it go, once the others are done with it."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(STORE_GRACE_SECONDS + END_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            kill(self.process)


def born(pid):
    """When a process started, in ticks since boot; None where there is none, or only its corpse."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def write(path, text):
    """A file that is whole as soon as it is there."""
    fresh = f"{path}.{os.getpid()}"
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(fresh, path)


def announce(document):
    """Say beside the document that its agent runs, so that its host can end it by its id."""
    write(f"{document}.agent", json.dumps({"pid": os.getpid(), "born": born(os.getpid())}))


class Host:
    """Waits for the agent that a launcher starts on this host, and passes its document on."""

    def __init__(self, options, store_argv):
        self.options, self.end_signal = options, None
        self.store = Store(store_argv) if options.host_index == 0 else None

    def run(self):
        """Print the document; returns 0 where its job is complete, 1 where it is not and 2 where there is none."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._end_early)
        why = self._wait()
        self._end_agent()
        text = self._document()
        sys.stdout.write(text or "")
        sys.stdout.flush()
        if text is None:
            sys.stderr.write(f"{why}\n")
        # Whoever ends this one waits for little more than it takes to say what there is.
        if self.store is not None:
            kill(self.store.process) if self.end_signal else self.store.end()
        return 2 if text is None else 0 if json.loads(text)["outcome"] == "complete" else 1

    def _end_early(self, number, _frame):
        self.end_signal = number

    def _wait(self):
        """Wait for the document; why there may be none."""
        began = time.monotonic()
        while self._document() is None and self.end_signal is None:
            waited, agent = time.monotonic() - began, self._agent()
            if agent is None and waited > self.options.start_timeout:
                return f"the launcher started nothing on this host within {self.options.start_timeout:.0f} s"
            if agent is not None and born(agent["pid"]) != agent["born"]:
                return "what the launcher started on this host died without a word"
            if waited > self.options.deadline:
                return "what the launcher started on this host did not end in time"
            time.sleep(LOOK_SECONDS)
        return f"ended by signal {self.end_signal}"

    def _agent(self):
        return self._read(".agent")

    def _read(self, end):
        try:
            with open(self.options.document + end, encoding="utf-8") as file:
                return json.load(file)
        except OSError:
            return None

    def _document(self):
        try:
            with open(self.options.document, encoding="utf-8") as file:
                return file.read()
        except OSError:
            return None

    def _end_agent(self):
        """End the agent where it still runs; it ends its ranks and reports what it has. One that has reported it is about to end by itself."""
        agent = self._agent()
        for number in (*([] if self._document() is None else [0]), signal.SIGTERM, signal.SIGKILL):
            if agent is None or born(agent["pid"]) != agent["born"]:
                return
            with contextlib.suppress(OSError):
                os.kill(agent["pid"], number)
            until = time.monotonic() + END_GRACE_SECONDS
            while born(agent["pid"]) == agent["born"] and time.monotonic() < until:
                time.sleep(LOOK_SECONDS)
