# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One rank of a job: its place, its way to report to its agent, and the watch over how long it waits for the others.

``ranks.py`` starts it. Its calls of torch are few, and torch is loaded only when it runs.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import socket
import sys
import threading
import time
import traceback

try:
    import flight_recorder
    import nccl_ras
except ImportError:
    from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import flight_recorder, nccl_ras

# The exit status of a rank that waited too long.
HUNG = 75
# What no key holds.
NOTHING = "-"
BEAT_SECONDS = 1.0
# How many ranks of a host ask NCCL's RAS, so that one of them does where another is missing, and how long they wait for it.
ASKING_RAS, RAS_SECONDS = 2, 3.0
RECORDER_SECONDS = 2.0
LOOK_SECONDS = 0.1


def address(options):
    """Where the ranks meet: host and port."""
    host, _colon, port = options.master.rpartition(":")
    return host.strip("[]"), int(port)


def _accepts(host, port):
    try:
        socket.create_connection((host, port), 5.0).close()
    except OSError:
        return False
    return True


class Rank:
    """One rank: its place, its way to report, and the watch over how long it waits."""

    def __init__(self, options):
        self.options = options
        self.rank, self.world, self.local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
        self.local_world = int(os.environ["LOCAL_WORLD_SIZE"])
        self.events = os.fdopen(int(os.environ["RANKS_EVENTS"]), "w", encoding="utf-8")
        self.writing, self.place, self.since, self.store, self.asking = threading.Lock(), (0, "rendezvous"), time.monotonic(), None, None

    def report(self, kind, **values):
        """Send the agent one row of a kind."""
        with self.writing:
            self.events.write(json.dumps(dict(values, kind=kind)) + "\n")
            self.events.flush()

    def run(self, work):
        """Meet the others, work, and leave."""
        threading.Thread(target=self._follow_the_agent, daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()
        try:
            self._meet()
            work(self)
            self.leave()
            self.store.add(self._key("done"), 1)
            self.report("about", last=None)
        except Exception as failed:
            # Whatever ends a rank is reported as it was raised; the agent makes the outcome of it.
            self.report("about", error=f"{type(failed).__name__}: {str(failed)[:1500]}", error_at=round(time.time(), 3), last=self.place[1])
            traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            # An interpreter that ends while a thread of its own is in torch aborts (signal 6), which would look like a crash.
            os._exit(1)
        # A communicator's destructor may wait for ranks that are gone.
        os._exit(0)

    def enter(self, words):
        """Say to everybody that this rank arrives at a place, and be watched until ``leave``."""
        self.place, self.since = (self.place[0] + 1, words), time.monotonic()
        self.asking.set(self._key(f"at/{self.rank}"), str(self.place[0]))

    def leave(self):
        """Be watched no longer."""
        self.since = None

    def _key(self, name):
        return f"{self.options.job}/{name}"

    def _connected(self):
        from torch.distributed import TCPStore

        host, port = address(self.options)
        until = time.monotonic() + self.options.start_timeout
        while not _accepts(host, port):
            # The store starts at the same time; its own client waits longer with each refusal.
            if time.monotonic() > until:
                raise RuntimeError(f"no response from {host} port {port}")
            time.sleep(LOOK_SECONDS)
        return TCPStore(host, port, None, False, datetime.timedelta(seconds=self.options.timeout), wait_for_workers=False)

    def _meet(self):
        import torch.distributed as dist

        self.store = self._connected()
        self.asking = self._connected()
        if self.store.add(self._key(f"taken/{self.rank}"), 1) > 1:
            raise RuntimeError(f"rank {self.rank} is taken twice: two hosts have the index {self.options.host_index}, or an earlier job is at the port")
        stored = self.store.compare_set(self._key("world"), "", str(self.world)).decode()
        if int(stored) != self.world:
            raise RuntimeError(f"this host has {self.world} ranks in its job, another one has {stored}")
        self.enter("rendezvous")
        self.store.wait([self._key(f"at/{rank}") for rank in range(self.world)], datetime.timedelta(seconds=self.options.deadline))
        timeout = datetime.timedelta(seconds=self.options.deadline)
        dist.init_process_group(
            self.options.backend, store=dist.PrefixStore(self._key("group"), self.store), rank=self.rank, world_size=self.world, timeout=timeout
        )
        self.leave()

    def _follow_the_agent(self):
        """A rank whose agent is gone ends too."""
        sys.stdin.read()
        os._exit(HUNG)

    def _watch(self):
        beat, told = 0, self.options.backend != "nccl"
        while True:
            time.sleep(BEAT_SECONDS)
            since, beat = self.since, beat + 1
            if self.asking is not None:
                with contextlib.suppress(Exception):
                    self.asking.set(self._key(f"beat/{self.rank}"), str(beat))
                    told = told or self._told_of_a_hang()
            limit = self.options.timeout if self.place[0] > 1 else self.options.start_timeout
            if since is not None and time.monotonic() - since > limit:
                self._give_up(since)

    def _told_of_a_hang(self):
        """Whether another rank gave up; then what the flight recorder of this one says is reported, since nobody else knows it of one that never arrives."""
        if self._key_or_nothing("hang") is None:
            return False
        self.report("about", **flight_recorder.positions(RECORDER_SECONDS))
        return True

    def _give_up(self, since):
        """Tell where this rank waits and who has not arrived there, and end: the others cannot come any more."""
        number, words = self.place
        event = {"place": words, "number": number, "waited_seconds": round(time.monotonic() - since, 3), "absent": None, "silent": None}
        of_nccl = self.options.backend == "nccl"
        self.report("about", last=words, **(flight_recorder.positions(RECORDER_SECONDS) if of_nccl else {}))
        try:
            if self.asking is None:
                raise RuntimeError(f"{self.options.master} could not be reached")
            for name in (f"gave_up/{self.rank}", "hang"):
                self.asking.set(self._key(name), "1")
            before, arrived = self._asked("beat"), self._asked("at")
            until = time.monotonic() + 3 * BEAT_SECONDS
            if of_nccl and self.local < ASKING_RAS:
                event.update(nccl_ras.odd_ranks(nccl_ras.ask(RAS_SECONDS), os.getpid(), self.world))
            time.sleep(max(0.0, until - time.monotonic()))
            now, others = self._asked("beat"), self._asked("gave_up")
            event["absent"] = [rank for rank in range(self.world) if arrived.get(rank, -1) < number]
            event["silent"] = [rank for rank in range(self.world) if rank not in others and now.get(rank) == before.get(rank)]
        except Exception as lost:
            event["words"] = f"the store does not answer: {str(lost)[:300]}"
        self.report("hangs", **event)
        os._exit(HUNG)

    def _asked(self, what):
        """The numbers of one kind that the store has, by rank."""
        stored = {rank: self._key_or_nothing(f"{what}/{rank}") for rank in range(self.world)}
        return {rank: int(value) for rank, value in stored.items() if value is not None}

    def _key_or_nothing(self, name):
        """A key's value, or None: a comparison that cannot hold answers at once, where ``get`` would wait, and every torch has it."""
        stored = self.asking.compare_set(self._key(name), NOTHING, NOTHING).decode()
        return None if stored == NOTHING else stored
