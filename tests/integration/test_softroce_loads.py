# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 4 with the real ib_write_bw on rails of an exact rate: whole, slow, cut, lossy, and with an end that dies under way."""

from __future__ import annotations

import json
import time
import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.rdma.bandwidth import slow_rail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.programs import program_with_request
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.types import ReadingResult
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.pairing import rail_rounds
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.perftest import RETRY_NO_SERVER, PerftestOptions, perftest_argv, perftest_options
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.planners._pairs import Slots, rails
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.results import job_results
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import JOBS_READING, Job, StepInput
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.planned_pod import Inventory, planned_pod
from ansible_collections.gpufabric.pyramid.tests.labs.softroce import inventory
from ansible_collections.gpufabric.pyramid.tests.labs.softroce.inventory import RAIL_MBIT_S
from ansible_collections.gpufabric.pyramid.tests.labs.softroce.lab import Lab
from ansible_collections.gpufabric.pyramid.tests.labs.softroce.shape import HOSTS, RAILS, address, device
from ansible_collections.gpufabric.pyramid.tests.labs.standing import poll

pytestmark = pytest.mark.alone

WRITE_BW = PerftestOptions("ib_write_bw", 4096, 10, 1, 4096, 1, 106, 20, tx_depth=8)
UNTIL_SECONDS = 75.0
FIRST_PORT = 20000


@pytest.fixture
def shaped(machines: Lab) -> t.Iterator[Lab]:
    """Both machines with every rail at its exact rate; nothing runs on them, before as after."""
    poll(120, lambda: str(running(machines) or "") or None, "nothing of an interrupted test runs")
    for rail in range(RAILS):
        machines.shape(rail, RAIL_MBIT_S)
    try:
        yield machines
    finally:
        machines.heal()
    assert running(machines) == {}


def running(machines: Lab) -> dict[str, str]:
    """The perftest processes of each machine that has any."""
    return {host: left for host in HOSTS if (left := machines.run(host, "pgrep", "-a", "^ib_write_", check=False).stdout)}


def test_a_rail_at_a_fifth_is_the_only_one_named(shaped: Lab) -> None:
    """All rails at once, as a round of layer 4 loads them, judged by its own check."""
    shaped.shape(3, RAIL_MBIT_S / 5, "gpu01")
    # A rail is judged by its best round: where this machine was busy for a moment and more rails look slow, or one did not
    # begin in time, a second round decides.
    found, rates = slow_in_rounds(shaped, 1)
    if found != [("gpu01", "mlx5_3")] or {name for name, _rate in rates} != {device(rail) for rail in range(RAILS)}:
        found, rates = slow_in_rounds(shaped, 2)
    assert {name for name, _rate in rates} == {device(rail) for rail in range(RAILS)} and all(0 < rate < RAIL_MBIT_S * 1.2 for _name, rate in rates), rates
    assert found == [("gpu01", "mlx5_3")], rates


def slow_in_rounds(machines: Lab, rounds: int) -> tuple[list[tuple[str | None, str | None]], list[tuple[str, float]]]:
    """The host and rail of each finding of some rounds, and what each rail of gpu01 sent in Mbit/s."""
    situation = StepInput(planned(), list(HOSTS), 0, {}, {})
    slots = Slots(situation)
    pairs = rail_rounds(rails(situation), topology="rail_only")[0]
    for number in range(rounds):
        slots.add(f"round {number + 1}", number, pairs, "write_bw", perftest_options(situation.values, seconds=12))
    jobs = slots.schedule([]).jobs
    answers = carried_out(machines, jobs, lambda: None, max(job.until for own in jobs.values() for job in own))
    rows = {host: one[JOBS_READING].rows for host, one in answers.items()}
    findings = slow_rail(rows, {host: one["write_bw"].rows for host, one in answers.items() if "write_bw" in one}, 40, situation.plan.rail_gbit_s())
    return [(one.host, str(one.where)) for one in findings], sorted((row["device"], row["gbit_s"] * 1000) for row in answers["gpu01"]["write_bw"].rows)


def planned() -> Plan:
    """The lab's pod."""
    pod = inventory.pod()
    variables = {host: {**pod, "pod_load_setup_seconds": 30, "pod_rails": inventory.rails(host)} for host in HOSTS}
    plan, _waivers = planned_pod(Inventory({"gpu_hosts": list(HOSTS), "rack_01": list(HOSTS)}, variables), inventory.cabling_csv())
    return plan


@pytest.mark.exhaustive
def test_what_goes_wrong_under_way_is_reported_for_what_it_is(shaped: Lab) -> None:
    """One test a rail, all at once, each with a fault of its own but the first."""
    shaped.lose(4, 2, RAIL_MBIT_S)
    shaped.cut(2)
    before, first = {host: shaped.counters(host, 4) for host in HOSTS}, sent(shaped)
    listener = f"import socket, time; s = socket.create_server(('0.0.0.0', {FIRST_PORT + 1})); time.sleep(600)"
    jobs = {
        "gpu01": [client(rail) for rail in (0, 2, 4, 5, 6, 7)] + [client(1, of="mlx5_9"), client(3, to="172.16.3.77")],
        "gpu02": [server(rail) for rail in (0, 2, 4, 5, 6, 7)] + [server(1)],
    }

    def disturb() -> None:
        poll(90, lambda: ", ".join(f"rail {rail}" for rail in (5, 6, 7) if sent(shaped)[rail] < first[rail] + 20) or None, "every disturbed rail is under load")
        shaped.cut(7)
        shaped.run("gpu02", "pkill", "-KILL", "-f", "^ib_write_bw -d mlx5_5 ")
        shaped.run("gpu01", "pkill", "-KILL", "-f", "^ib_write_bw -d mlx5_6 ")

    taken = shaped.run("gpu02", "sh", "-c", 'setsid python3 -c "$0" </dev/null >/dev/null 2>&1 & echo $!', listener).stdout.strip()
    try:
        poll(60, lambda: None if listening(shaped) == 1 else "nobody listens", "the port of rail 1 is taken")
        output = carried_out(shaped, jobs, disturb)
    finally:
        shaped.run("gpu02", "kill", taken)
    result = {host: {row["item"]: (row["status"], row["words"]) for row in one[JOBS_READING].rows} for host, one in output.items()}
    late, early = "ib_write_bw did not end in time", "the partner's side of the test ended early (ethernet_read_keys: Couldn't read remote address)"
    assert result["gpu01"] == {
        "rail 0": ("ok", None),
        "rail 1": ("fail", "the host lacks the device (IB device mlx5_9 not found)"),
        "rail 2": ("fail", "the port is down (Port number 1 state is Down)"),
        "rail 3": ("unknown", "the partner's side of the test could not be reached (Couldn't connect to 172.16.3.77:20003)"),
        "rail 4": ("ok", None),
        "rail 5": ("unknown", early),
        "rail 6": ("unknown", "ib_write_bw was ended by signal 9"),
        "rail 7": ("unknown", late),
    }
    assert result["gpu02"] == {
        "rail 0": ("ok", None),
        "rail 1": ("unknown", "the port of the test is in use (Couldn't listen to port 20001)"),
        "rail 2": ("fail", "the port is down (Port number 1 state is Down)"),
        "rail 4": ("ok", None),
        "rail 5": ("unknown", "ib_write_bw was ended by signal 9"),
        "rail 6": ("unknown", early),
        "rail 7": ("unknown", late),
    }
    # A client whose partner died prints a row all the same; it is no rate.
    rates = {row["item"]: row["gbit_s"] * 1000 for row in output["gpu01"]["write_bw"].rows}
    assert set(rates) == {"rail 0", "rail 4"} and 0 < rates["rail 4"] < RAIL_MBIT_S
    grown = {host: {name: value - before[host][name] for name, value in shaped.counters(host, 4).items()} for host in HOSTS}
    # Behind a lost request the next one is out of order, and without its acknowledgement a request comes twice.
    assert grown["gpu01"]["completer_retry_err"] > 0 and grown["gpu02"]["out_of_seq_request"] + grown["gpu02"]["duplicate_request"] > 0, grown


def sent(machines: Lab) -> list[int]:
    """How many packets each rail of the clients' machine has sent."""
    counters = [f"/sys/class/infiniband/{device(rail)}/ports/1/hw_counters/sent_pkts" for rail in range(RAILS)]
    return [int(line) for line in machines.run("gpu01", "cat", *counters).stdout.split()]


def job(name: str, command: list[str], at: float = 0.0, again: tuple[str, ...] = (), reading: str | None = None) -> Job:
    return Job(name, command, at, UNTIL_SECONDS, {"step": 0, "kind": "write_bw", "role": "client" if reading else "server"}, again, None, reading)


def asked(rail: int) -> PerftestOptions:
    """What a rail's test is; what is disturbed lasts long enough to be caught, what loses packets long enough to repeat them."""
    return replace(WRITE_BW, seconds={4: 30, 5: 40, 6: 40, 7: 40}.get(rail, WRITE_BW.seconds))


def server(rail: int, at: float = 0.0) -> Job:
    return job(f"rail {rail}", perftest_argv(asked(rail), device(rail), FIRST_PORT + rail), at)


def client(rail: int, of: str | None = None, to: str | None = None) -> Job:
    return job(
        f"rail {rail}", perftest_argv(asked(rail), of or device(rail), FIRST_PORT + rail, None, to or address("gpu02", rail)), 2.0, RETRY_NO_SERVER, "write_bw"
    )


def carried_out(
    machines: Lab, jobs: dict[str, list[Job]], disturb: t.Callable[[], None], seconds: float = UNTIL_SECONDS
) -> dict[str, dict[str, ReadingResult]]:
    """What a load on both machines gave, which is disturbed under way."""
    begins = time.time() + 8
    for host, own in jobs.items():
        output = say(machines, host, do="start", owner="test", run_id="test", start_in=begins - time.time(), lease=600, jobs=[one.asked() for one in own])
        assert output == {"refused": None, "ended_leftovers": []}
    disturb()
    return {host: job_results(own, say(machines, host, do="collect", wait=begins + seconds + 20 - time.time())) for host, own in jobs.items()}


def say(machines: Lab, host: str, load: str = "test", **request: t.Any) -> dict[str, t.Any]:
    """What the program of loads answers on a machine."""
    program = program_with_request("detached", {"load": load, **request}).decode()
    return json.loads(machines.run(host, "python3", "-SE", "-", stdin=program, timeout=200).stdout)["detached"]


@pytest.mark.exhaustive
def test_a_load_that_nobody_watches_ends_and_one_that_was_left_is_ended_by_the_next(machines: Lab) -> None:
    servers = [server(rail).asked() for rail in range(2)]
    start = {"do": "start", "run_id": "test", "start_in": 0, "jobs": servers}
    assert say(machines, "gpu02", "first", owner="dead", lease=None, **start)["refused"] is None
    poll(30, lambda: None if listening(machines) == 2 else "they do not listen", "both servers wait")
    refused = say(machines, "gpu02", "second", owner="other", lease=None, **start)["refused"]
    assert refused == "a load of run test from dead is under way here; it ends by itself"
    output = say(machines, "gpu02", "second", owner="dead", lease=5, **start)
    assert output == {"refused": None, "ended_leftovers": ["first of run test"]}
    poll(60, lambda: None if listening(machines) == 2 else "they do not listen", "both servers wait again")
    poll(60, lambda: machines.run("gpu02", "pgrep", "-a", "^ib_write_", check=False).stdout or None, "the load that nobody watches has ended")
    assert say(machines, "gpu02", "second", do="collect", wait=10)["ended"] == "not watched for 5 s"
    assert running(machines) == {}


def listening(machines: Lab) -> int:
    """How many of the ports of tests are listened at."""
    result = machines.run("gpu02", "ss", "-ltnH").stdout
    return sum(f":{FIRST_PORT + rail} " in result for rail in range(RAILS))
