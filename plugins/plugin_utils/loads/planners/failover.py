# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The load of layer 2, on request: probes that cross the uplinks of a leaf while the operator shuts one of them and brings it up again."""

from __future__ import annotations

from ...text.counting import counted
from ...text.sorting import lasting
from ..schedule import Job, Schedule, StepInput, Values

# Beside that of path_probes, whose responder may still be up.
PORT = 4794
FAILOVER, SENDER, RESPONDER = "failover", "sender", "responder"
INTERVAL_MS = 20
# Responders are up before the first probe, and until the last one has had its answer.
FIRST_SECONDS, AROUND_SECONDS = 3.0, 10.0
READING = "failover_probes"


def plan_failover(situation: StepInput) -> Schedule | None:
    """One step; None where it was not asked for."""
    values = situation.values
    if situation.step or not values["pod_failover"] or values["pod_fabric"] != "roce":
        return None
    link = situation.plan.failover_link()
    pairs = situation.plan.failover_pairs(situation.hosts) if link else []
    if not pairs:
        return Schedule(words=["no uplink is shut: the plan has no leaf with two spines and rails that reach rails of other leaves"])
    seconds = values["pod_failover_seconds"]
    uplink = f"{link['leaf']} {link['port']} (to {link['spine']} {link['spine_port']})"
    words = [
        f"{counted(len(pairs), 'probe')} over the uplinks of {link['leaf']} for {lasting(seconds)}",
        f"OPERATOR: when the probes have run for half a minute, shut {uplink}, leave it down for a minute or longer, then bring it up again at least a minute "
        "before they end; nothing is written to switches here",
    ]
    table = Schedule(words=words, programs=["path_probe", "path_watch"], sampled=True)
    until = FIRST_SECONDS + seconds + AROUND_SECONDS
    for source, target in pairs:
        argv = ["python3", "-SE", "{path_watch}", "--source", str(source["address"]), "--target", str(target["address"])]
        argv += [
            "--netdev",
            str(source["netdev"]),
            "--port",
            str(PORT),
            "--flows",
            str(values["pod_path_probe_flows"]),
            "--interval",
            str(INTERVAL_MS),
            "--seconds",
            str(seconds),
        ]
        columns = _columns(SENDER) | {"device": source["device"], "peer": target["host"], "peer_device": target["device"]}
        job = Job(f"{FAILOVER} {source['device']}", [*argv, "--at", f"{FIRST_SECONDS:g}"], FIRST_SECONDS, until, columns, reading=READING)
        table.jobs.setdefault(source["host"], []).append(job)
    for host in dict.fromkeys(target["host"] for _source, target in pairs):
        argv = ["python3", "-SE", "{path_probe}", "serve", "--port", str(PORT), "--deadline", f"{until - 2:.0f}"]
        table.jobs.setdefault(host, []).append(Job(f"{FAILOVER} {RESPONDER}", argv, 0.0, until, _columns(RESPONDER)))
    return table


def _columns(role: str) -> Values:
    return {"kind": FAILOVER, "step": 0, "role": role}
