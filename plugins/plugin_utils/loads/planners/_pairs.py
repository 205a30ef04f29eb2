# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests between pairs of rails as slots of a schedule."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...pod.types import PodRail
from ..pairing import Pair
from ..perftest import RETRY_NO_SERVER, PerftestOptions, options_of_end, perftest_argv
from ..schedule import Job, Schedule, StepInput

# The server must listen before its client calls; a client that comes too early tries again.
CLIENT_AFTER_SECONDS = 1.0
# Each server of a host has a port of its own, and a port rests for some slots before it is used again.
PORTS_OF_A_SLOT, SLOTS_OF_PORTS = 128, 32


def rails(situation: StepInput) -> list[PodRail]:
    """The rails of the hosts that may be loaded, each with its GPU and with the address at which a client calls its server.

    An InfiniBand rail has no address of its own: there the host's is called.
    """
    of_host = {host: situation.plan.nodes[host].values for host in situation.hosts}
    return [
        {
            **rail,
            "gpu": of_host[rail["host"]]["pod_rails"][rail["index"]].get("gpu"),
            "address": str(rail["address"] or of_host[rail["host"]]["pod_bootstrap_address"] or rail["host"]),
        }
        for rail in situation.plan.rails(situation.hosts)
    ]


class Slots:
    """Tests one slot after the other, each with a time of its own.

    A slot begins at its time everywhere; an ``early`` one where a host is done with the slot before, and may meet what other pairs
    still do: its clients try until their servers are there.
    """

    def __init__(self, situation: StepInput) -> None:
        self.values, self.plan, self.step = situation.values, situation.plan, situation.step
        self.jobs: dict[str, list[Job]] = {host: [] for host in situation.hosts}
        self.at = 0.0
        self.count = 0

    def add(
        self, name: str, number: int, pairs: t.Sequence[Pair], reading: str, test: PerftestOptions, kind: str | None = None, queue_pairs: t.Sequence[int] = (),
        early: bool = False,
    ) -> None:  # fmt: skip
        """One slot: the server and the client of every pair; queue_pairs: of each pair, where they differ."""
        until = self.at + self.values["pod_load_setup_seconds"] + (test.seconds or 0)
        port = self.values["pod_perftest_port"] + self.count % SLOTS_OF_PORTS * PORTS_OF_A_SLOT
        served: dict[str, int] = {}
        for place, (sender, receiver) in enumerate(pairs):
            own = replace(test, qps=queue_pairs[place]) if queue_pairs else test
            number_of_port = served.setdefault(receiver["host"], 0)
            served[receiver["host"]] += 1
            columns = {
                "kind": kind or reading, "round": number, "step": self.step, "path": self.plan.highest_tier(sender, receiver), "memory": own.memory,
                "mtu": own.mtu, "qps": own.qps, "bytes": own.bytes, "bidirectional": own.bidirectional,
            }  # fmt: skip
            for role, mine, other in (("server", receiver, sender), ("client", sender, receiver)):
                client = role == "client"
                way = "to" if client else "from"
                at_end = options_of_end(own, self.plan.nodes[mine["host"]].values)
                self.jobs[mine["host"]].append(
                    Job(
                        id=f"{name}: {mine['device']} {way} {other['host']} {other['device']}",
                        argv=perftest_argv(at_end, mine["device"], port + number_of_port, mine["gpu"], other["address"] if client else None),
                        at=self.at + (CLIENT_AFTER_SECONDS if client else 0.0), until=until, again=RETRY_NO_SERVER if client else (), near=mine["device"],
                        reading=reading if client else None, turn=self.count if early else None,
                        columns={
                            **columns, "gid_index": at_end.gid_index, "role": role, "device": mine["device"], "peer": other["host"],
                            "peer_device": other["device"],
                        },
                    )
                )  # fmt: skip
        self.at = until
        self.count += 1

    def schedule(self, words: list[str]) -> Schedule:
        """All of it."""
        return Schedule({host: jobs for host, jobs in self.jobs.items() if jobs}, words)
