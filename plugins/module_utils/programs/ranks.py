# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ranks of one job on one host: started, watched, ended, and reported in one JSON document.

The programs ``torch_collectives`` and ``training_step`` stand on it. Each host runs one agent, which starts a process for each
of its ranks and needs nothing but the standard library; what the ranks report comes to it over pipes, so that no rank has to
survive for the others to be heard. Ranks meet at a store, which is a process of its own on the first host. A rank that waits
too long asks the store who has arrived, reports it, and ends.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

try:
    import flight_recorder
    import launched
    import one_rank
    import settings_in_force
except ImportError:
    from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import flight_recorder, launched, one_rank, settings_in_force

END_GRACE_SECONDS = 3.0
OTHERS_GRACE_SECONDS = 8.0
LOOK_SECONDS = 0.1
MOST_TEXT = 4000
FACTS = ("NCCL WARN", " version", r"_\w+ set ", "NET/", "Using network", "virtual device", " via ", " Bytes -> Algo", "NVLS multicast", "nRanks")
FACT = re.compile("|".join((*FACTS, "Connected NVLS", "Connected [Cc]oll", "[Ss]harp", "SHArP")))
# How launchers state a process's place; the agent is started once on each host. ``torchrun`` and Kubernetes say RANK.
# An mpirun within a job of Slurm has both: the process is mpirun's.
PLACES = (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"), ("RANK", "WORLD_SIZE"))


def parser(description):
    """The options that every program of ranks has."""
    result = argparse.ArgumentParser(description=description)
    index, hosts = _place()
    result.add_argument("--host-index", type=int, default=int(index), help="which host this is, from 0")
    result.add_argument("--hosts", type=int, default=int(hosts), help="how many hosts take part")
    result.add_argument("--ranks-per-host", type=int, required=True)
    result.add_argument("--master", default=f"{os.environ.get('MASTER_ADDR', '127.0.0.1')}:{os.environ.get('MASTER_PORT', '29400')}", help="address:port")
    result.add_argument("--job", default="job", help="ranks of another job at the same port are refused")
    result.add_argument("--backend", choices=("nccl", "gloo"), default="nccl", help="nccl is RCCL on AMD")
    result.add_argument("--timeout", type=float, default=60.0, help="seconds that a rank waits for the others at any one place")
    result.add_argument("--start-timeout", type=float, default=120.0, help="seconds that a rank may take to load its libraries and meet the others")
    result.add_argument("--deadline", type=float, default=600.0, help="seconds after which everything is ended")
    result.add_argument("--variable", action="append", default=[], help="NAME=VALUE for the ranks; no other NCCL or RCCL variable reaches them")
    result.add_argument("--log", default="", help="prefix of the files that NCCL logs to, whose facts are reported")
    result.add_argument("--document", default="", help="where an agent that a launcher starts writes what it would print")
    result.add_argument("--role", choices=("agent", "host", "store", "rank"), default="agent", help="host waits for the agent that a launcher starts here")
    return result


def _place():
    """Which process this is, and of how many, as its launcher says."""
    # Some container runtimes set what they are to pass on and do not have to nothing.
    return next(((os.environ[a], os.environ[b]) for a, b in PLACES if os.environ.get(a) and os.environ.get(b)), ("0", "1"))


def run(path, options, work):
    """Be the agent, or what the agent started; returns the exit status.

    path: the program's own file; work: what a rank does, given its Rank.
    """
    if options.role == "store":
        return _serve(options)
    if options.role == "host":
        return launched.Host(options, _argv(path, "store")).run()
    if options.role == "rank":
        return one_rank.Rank(options).run(work)
    if options.document and _place()[1] != str(options.hosts):
        sys.stderr.write(f"the launcher started {_place()[1]} agents where {options.hosts} were requested\n")
        return 2
    return Agent(path, options).run()


def _argv(path, role):
    return [sys.executable, path, *sys.argv[1:], "--role", role]


class Agent:
    """Starts this host's ranks and collects what they report."""

    def __init__(self, path, options):
        self.path, self.options, self.ranks, self.store, self.reported, self.lock = path, options, [], None, {}, threading.Lock()
        self.outcome, self.began, self.printed = None, time.monotonic(), False

    def run(self):
        """Run the ranks to their end or the deadline, and print the document."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._end_early)
        if self.options.document:
            launched.announce(self.options.document)
        elif self.options.host_index == 0:
            self.store = launched.Store(_argv(self.path, "store"))
        for local in range(self.options.ranks_per_host):
            self.ranks.append(_Process(self, local))
        self._wait()
        self._finish()
        # A launcher ends the others as soon as one ends badly, before they could report who is missing.
        return 0 if self.outcome == "complete" or self.options.document else 1

    def _wait(self):
        until = self.began + self.options.deadline
        while True:
            # Each is asked, so that each one's end is seen when it comes.
            ended = [rank.has_ended() for rank in self.ranks]
            if all(ended):
                return
            now = time.monotonic()
            if now >= until:
                self.outcome = self.outcome or "deadline"
                return
            if self.outcome is None and any(rank.process.poll() for rank in self.ranks):
                # One is lost. The others find it out by themselves within their own timeout; what does not is ended.
                self.outcome, until = "failed", min(until, now + self.options.timeout + OTHERS_GRACE_SECONDS)
            time.sleep(LOOK_SECONDS)

    def _end_early(self, number, _frame):
        self.outcome = self.outcome or f"ended by signal {number}"
        self._finish()
        sys.stdout.flush()
        os._exit(128 + number)

    def _finish(self):
        if self.printed:
            return
        self.printed = True
        for rank in self.ranks:
            rank.end()
        ranks = [rank.row() for rank in self.ranks]
        with self.lock:
            reported = {kind: list(rows) for kind, rows in self.reported.items()}
        self.outcome = self.outcome or ("complete" if all(rank["outcome"] == "done" for rank in ranks) else "failed")
        options = self.options
        document = {
            "program": os.path.splitext(os.path.basename(self.path))[0],
            "host": socket.gethostname(),
            "host_index": options.host_index,
            "hosts": options.hosts,
            "ranks_per_host": options.ranks_per_host,
            "world_size": options.hosts * options.ranks_per_host,
            "backend": options.backend,
            "outcome": self.outcome,
            "seconds": round(time.monotonic() - self.began, 3),
            "ranks": ranks,
            **reported,
        }
        # A line of the log is a line of the text, so that what reads logs can read it here.
        lines = [*(settings_in_force.settings(_environment(options)) if options.backend == "nccl" else ()), *_log(options.log)]
        log = ",\n".join(json.dumps(line) for line in lines)
        text = json.dumps(document)[:-1] + f', "log": [\n{log}\n]}}\n'
        if options.document:
            launched.write(options.document, text)
        else:
            sys.stdout.write(text)
            sys.stdout.flush()
        if self.store is not None:
            self.store.end()

    def hear(self, local, event):
        """Keep what a rank reports; the agent adds whose it is."""
        with self.lock:
            self.reported.setdefault(event.pop("kind"), []).append(dict(event, rank=self.options.host_index * self.options.ranks_per_host + local))


def _log(prefix):
    """The lines with facts of every file that NCCL wrote; the others would make the document a hundred times as long."""
    place, start = os.path.split(prefix)
    for name in sorted(os.listdir(place)) if start and os.path.isdir(place) else ():
        if name.startswith(start):
            with open(os.path.join(place, name), encoding="utf-8", errors="replace") as lines:
                yield from (line.rstrip() for line in lines if FACT.search(line))


def _environment(options):
    """This one's environment with the variables that were given, and with no other that changes what a collective does."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "RCCL_", *flight_recorder.PREFIXES))}
    if options.backend == "nccl":
        clean.update(flight_recorder.BUFFER)
    return dict(clean, **dict(one.split("=", 1) for one in options.variable))


class _Process:
    """One rank as its agent sees it: a process, a pipe of events, and the end of what it printed."""

    def __init__(self, agent, local):
        self.agent, self.local, self.about, self.text, self.stopped = agent, local, {}, b"", False
        self.ended_at = None
        reading, writing = os.pipe()
        options = agent.options
        place = {"RANK": options.host_index * options.ranks_per_host + local, "LOCAL_RANK": local, "LOCAL_WORLD_SIZE": options.ranks_per_host}
        place.update(WORLD_SIZE=options.hosts * options.ranks_per_host, RANKS_EVENTS=writing)
        self.process = subprocess.Popen(
            _argv(agent.path, "rank"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=dict(_environment(options), **{name: str(value) for name, value in place.items()}), pass_fds=[writing], start_new_session=True,
        )  # fmt: skip
        os.close(writing)
        self.threads = [threading.Thread(target=self._events, args=(reading,), daemon=True), threading.Thread(target=self._text, daemon=True)]
        for thread in self.threads:
            thread.start()

    def _events(self, reading):
        with os.fdopen(reading, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                with contextlib.suppress(ValueError):
                    event = json.loads(line)
                    if event["kind"] == "about":
                        self.about.update(event)
                    else:
                        self.agent.hear(self.local, event)

    def _text(self):
        while True:
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                return
            self.text = (self.text + piece)[-MOST_TEXT:]

    def has_ended(self):
        """Whether it has; when, by this host's clock, is kept when it is first seen."""
        if self.process.poll() is None:
            return False
        self.ended_at = self.ended_at or round(time.time(), 3)
        return True

    def end(self):
        """End it by its id where it still runs, and hear it out."""
        if not self.has_ended():
            self.stopped = True
            launched.kill(self.process)
        for thread in self.threads:
            thread.join(END_GRACE_SECONDS)

    def row(self):
        """What its document says of it."""
        code = self.process.poll()
        row = {key: value for key, value in self.about.items() if key != "kind"}
        row.update(rank=self.agent.options.host_index * self.agent.options.ranks_per_host + self.local, local_rank=self.local, pid=self.process.pid)
        row["outcome"] = "ended" if self.stopped else "done" if code == 0 else "hung" if code == one_rank.HUNG else "killed" if code < 0 else "error"
        if row["outcome"] == "killed" and row.get("error"):
            # It had reported why it ends before a signal ended it.
            row["outcome"] = "error"
        row["signal"] = -code if code is not None and code < 0 and not self.stopped else None
        row["ended_at"] = self.ended_at
        if row["outcome"] != "done":
            row["text"] = self.text.decode("utf-8", "replace")
        return row


def _serve(options):
    """Hold the store until the agent lets go, and then until every rank has reported that it is done, or a grace."""
    from torch.distributed import TCPStore

    host, port = one_rank.address(options)
    store = TCPStore(host, port, None, True, datetime.timedelta(seconds=options.deadline), wait_for_workers=False)
    sys.stdin.read()
    until = time.monotonic() + launched.STORE_GRACE_SECONDS
    while time.monotonic() < until and store.add(f"{options.job}/done", 0) < options.hosts * options.ranks_per_host:
        time.sleep(0.1)
    return 0
