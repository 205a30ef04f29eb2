# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Schedules of layers 3 and 4, and what their jobs come to as readings."""

from __future__ import annotations

import copy
import typing as t
from itertools import combinations, pairwise

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.pair_tests import pair_tests
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.perftest_errors import KNOWN, PARTNER, UNNAMED, UNSUPPORTED_OPTION
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.planners import PLANNERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.results import job_results
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import JOBS_READING, Job, Rows, Schedule, StepInput, load_schedule
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import plan_of

WRITE_BW = """ ---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Number of qps   : 4\t\tTransport type : IB
 Connection type : RC\t\tUsing SRQ      : OFF
 Mtu             : 4096[B]
 Link type       : Ethernet
 GID index       : 3
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 1048576    1000             0.00               {rate}              0.045085
---------------------------------------------------------------------------------------
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> t.Any:
    place = tmp_path_factory.mktemp("pod")
    layout.write(place, racks=2, hosts_per_rack=4, spines=4, expectations={"pod_name": "small", "pod_idle_seconds": 1})
    return plan_of(place)


def situation(plan: t.Any, step: int = 0, done: dict[str, dict[str, Rows]] | None = None) -> StepInput:
    return StepInput(plan, [name for name, node in plan.nodes.items() if node.role == "host"], step, {}, done or {})


def at_once(schedule: Schedule) -> dict[float, list[tuple[str, Job]]]:
    """The jobs of each slot, by the time at which it ends."""
    slots: dict[float, list[tuple[str, Job]]] = {}
    for host, jobs in schedule.jobs.items():
        for job in jobs:
            slots.setdefault(job.until, []).append((host, job))
    return slots


@pytest.mark.parametrize("layer", ["congestion", "rdma"])
def test_a_schedule_is_of_whole_pairs_and_ends(plan, layer):
    schedule = PLANNERS[layer](situation(plan))
    assert schedule is not None and 0 < schedule.seconds < 600 and schedule.words
    for slot in at_once(schedule).values():
        servers = {(host, job.argv[job.argv.index("-p") + 1]) for host, job in slot if job.columns["role"] == "server"}
        clients = [(job.columns["peer"], job.argv[job.argv.index("-p") + 1]) for _host, job in slot if job.columns["role"] == "client"]
        assert len(clients) == len(servers) and set(clients) == servers, "every client meets a server of its own"
        assert all(job.argv[-1].startswith("10.") for _host, job in slot if job.columns["role"] == "client")
    assert load_schedule(schedule.dump()) == schedule


def test_slots_of_layer_4_never_share_a_nic(plan):
    schedule = PLANNERS["rdma"](situation(plan))
    assert schedule is not None
    for slot in at_once(schedule).values():
        nics = [(host, job.columns["device"]) for host, job in slot]
        assert len(nics) == len(set(nics))
    slots = sorted(at_once(schedule).items())
    for (earlier, _jobs), (_until, later) in pairwise(slots):
        assert min(job.at for _host, job in later) >= earlier


@pytest.mark.parametrize("layer", ["congestion", "rdma"])
def test_every_test_is_in_the_pods_traffic_class(plan, layer):
    schedule = PLANNERS[layer](situation(plan))
    assert schedule is not None
    assert {word for jobs in schedule.jobs.values() for job in jobs for word in job.argv if word.startswith("--tclass")} == {"--tclass=106"}


def test_counters_are_sampled_under_an_incast_only(plan):
    assert [PLANNERS[layer](situation(plan)).sampled for layer in ("congestion", "rdma")] == [True, False]


def results(plan: t.Any, slow: t.Callable[[str, Job], bool]) -> dict[str, dict[str, Rows]]:
    """What the first step gives where some tests are slow."""
    schedule = PLANNERS["rdma"](situation(plan))
    assert schedule is not None
    done: dict[str, dict[str, Rows]] = {"load_jobs": {}, "write_bw": {}}
    for host, jobs in schedule.jobs.items():
        done["load_jobs"][host] = [{**job.columns, "item": job.id, "status": "ok", "words": None, "error": None} for job in jobs]
        clients = [job for job in jobs if job.reading == "write_bw"]
        done["write_bw"][host] = [{"item": job.id, "gbit_s": 100.0 if slow(host, job) else 380.0} for job in clients]
    return done


def test_nothing_is_tested_again_where_all_pass(plan):
    assert PLANNERS["rdma"](situation(plan, 1, results(plan, lambda _host, _job: False))) is None


def test_what_failed_is_tested_again_alone_and_with_partners_that_passed(plan):
    done = results(plan, lambda host, job: "gpu03" in (host, job.columns["peer"]) and job.columns["device"] == "mlx5_0" == job.columns["peer_device"])
    schedule = PLANNERS["rdma"](situation(plan, 1, done))
    assert schedule is not None
    jobs = [(host, job) for slot in at_once(schedule).values() for host, job in slot]
    assert {job.columns["kind"] for _host, job in jobs} == {"retest"}
    for slot in at_once(schedule).values():
        hosts = [host for host, _job in slot]
        assert len(hosts) == len(set(hosts)), "what is tested alone is alone on its host"
    met = {frozenset((host, job.columns["peer"])) for host, job in jobs}
    assert any("gpu03" in pair for pair in met) and any("gpu03" not in pair for pair in met)
    assert PLANNERS["rdma"](situation(plan, 3, done)) is None


def test_rails_without_a_gpu_are_not_tested_from_one(plan):
    bare = copy.deepcopy(plan)
    for node in bare.nodes.values():
        for rail in node.values["pod_rails"]:
            rail["gpu"] = None if rail["device"] == "mlx5_0" else rail["gpu"]
    schedule = PLANNERS["rdma"](situation(bare))
    assert schedule is not None
    of_gpus = [job for jobs in schedule.jobs.values() for job in jobs if job.columns["memory"] == "cuda"]
    assert of_gpus and not [job.id for job in of_gpus if "mlx5_0" in (job.columns["device"], job.columns["peer_device"])]


@pytest.mark.parametrize(
    ("words", "error", "again"),
    [
        ("the host refuses the memory", None, True),
        ("this build refuses an option (Unsupported memory type)", UNSUPPORTED_OPTION, False),
        ("this build refuses an option's value (Gid index should be less than 4)", None, True),
    ],
)
def test_gpu_memory_that_peer_memory_does_not_reach_is_tested_by_dma_buf(plan, words: str, error: str | None, again: bool):
    done = results(plan, lambda _host, _job: False)
    for host, rows in done[JOBS_READING].items():
        lost = {row["item"] for row in rows if row["memory"] == "cuda" and row["role"] == "client"}
        rows[:] = [{**row, "status": "unknown", "words": words, "error": error} if row["item"] in lost else row for row in rows]
        done["write_bw"][host] = [row for row in done["write_bw"][host] if row["item"] not in lost]
    schedule = PLANNERS["rdma"](situation(plan, 1, done))
    assert (schedule is not None) == again
    if schedule is not None:
        jobs = [job for slot in at_once(schedule).values() for _host, job in slot]
        assert {(job.columns["kind"], job.columns["memory"]) for job in jobs} == {("write_bw", "cuda")} and len(jobs) == 64
        assert all("--use_cuda_dmabuf" in job.argv for job in jobs) and schedule.words == [f"{len(jobs) // 2} tests from GPU memory again, by DMA-BUF"]


def test_a_pod_in_which_everything_fails_is_not_retested_for_ever(plan):
    schedule = PLANNERS["rdma"](situation(plan, 1, results(plan, lambda _host, _job: True)))
    assert schedule is not None and len(at_once(schedule)) <= 12


def test_a_host_without_the_tool_is_not_tested_again(plan):
    done = results(plan, lambda _host, _job: False)
    for row in done[JOBS_READING]["gpu03"]:
        # Latency is another program, which it has.
        row["status"] = "unknown" if row["kind"] == "write_bw" else "ok"
    done["write_bw"]["gpu03"] = []
    for host, rows in done[JOBS_READING].items():
        lost = {row["item"] for row in rows if row["peer"] == "gpu03" and row["role"] == "client"}
        rows[:] = [{**row, "status": "unknown"} if row["item"] in lost else row for row in rows]
        done["write_bw"][host] = [row for row in done["write_bw"][host] if row["item"] not in lost]
    schedule = PLANNERS["rdma"](situation(plan, 1, done))
    assert schedule is not None, "its partner has no test from GPU memory with another host yet"
    assert "gpu03" not in schedule.jobs
    assert {job.columns["memory"] for jobs in schedule.jobs.values() for job in jobs} == {"cuda"}
    assert PLANNERS["rdma"](situation(plan, 2, done)) is None


JOB = Job(
    "round 1: mlx5_0 to gpu02 mlx5_0", ["ib_write_bw", "-d", "mlx5_0", "10.51.0.2"], 1.0, 10.0, reading="write_bw",
    columns={"kind": "write_bw", "step": 0, "role": "client", "device": "mlx5_0", "peer": "gpu02", "peer_device": "mlx5_0"},
)  # fmt: skip


def output(**answer: t.Any) -> dict[str, t.Any]:
    whole = {"argv": JOB.argv, "status": "ran", "rc": 0, "stdout": WRITE_BW.format(rate="380.12"), "stderr": "", "seconds": 6.2, "cut": False}
    return {"ended": "done", "answers": {JOB.id: {**whole, **answer}}}


def test_a_job_becomes_a_row_of_its_reading_and_one_of_the_loads():
    replies = job_results([JOB], output())
    assert [(row["item"], row["gbit_s"]) for row in replies["write_bw"].rows] == [(JOB.id, 380.12)]
    (row,) = replies["load_jobs"].rows
    assert (row["item"], row["status"], row["words"], row["peer"], row["seconds"]) == (JOB.id, "ok", None, "gpu02", 6.2)


def test_a_pinned_job_speaks_as_the_tool_that_it_pins():
    pinned = ["taskset", "-c", "0-3", *JOB.argv]
    (row,) = job_results([JOB], output(argv=pinned, rc=9, stdout="", stderr="boom"))["load_jobs"].rows
    assert row["words"] == "ib_write_bw: boom"


@pytest.mark.parametrize(
    ("stderr", "words", "kind"),
    [
        ("qux: frob ring 7: Operation not supported\nCould not prepare\n", "ib_write_bw: qux: frob ring 7: Operation not supported", UNNAMED),
        ("first\nthen: Bad address\nlast\n", "ib_write_bw: then: Bad address", UNNAMED),
        ("first\nlast\n", "ib_write_bw: first", UNNAMED),
        ("Couldn't connect to 10.0.0.1:18515\n", "could not be reached", PARTNER),
        (" Couldn't allocate MR\n", "refuses the memory", KNOWN),
    ],
)
def test_what_kind_of_error_ended_a_test_is_a_field(stderr: str, words: str, kind: str) -> None:
    (row,) = job_results([JOB], output(rc=1, stdout="", stderr=stderr))["load_jobs"].rows
    assert words in row["words"] and (row["status"], row["error"]) == ("unknown", kind)


def test_a_test_that_was_killed_names_its_tool_once() -> None:
    (row,) = job_results([JOB], output(rc=-9, stdout="", stderr=""))["load_jobs"].rows
    assert (row["status"], row["words"], row["error"]) == ("unknown", "ib_write_bw was ended by signal 9", UNNAMED)


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        ({"rc": 1, "stdout": "", "stderr": "Couldn't connect to 10.51.0.2:18515"}, "unknown", "the partner's side of the test could not be reached"),
        ({"rc": 1, "stdout": "", "stderr": "IB device mlx5_0 not found"}, "fail", "the host lacks the device"),
        ({"stdout": WRITE_BW.format(rate="0.000000")}, "unknown", "ib_write_bw: "),
        ({"stdout": ""}, "unknown", "ib_write_bw: "),
        ({"status": "timeout", "rc": None}, "unknown", "ib_write_bw did not end in time"),
        ({"status": "missing", "rc": None, "stderr": "ib_write_bw: not found on PATH"}, "unknown", "ib_write_bw: not found on PATH"),
        ({"status": "never", "rc": None, "stderr": "not watched for 60 s"}, "unknown", "ib_write_bw was not run: not watched for 60 s"),
        ({"status": "stopped", "rc": -15, "stderr": "ended on request"}, "unknown", "ib_write_bw was ended: ended on request"),
        ({"rc": 137}, "unknown", "ib_write_bw exited with status 137"),
    ],
)  # fmt: skip
def test_a_job_without_a_rate_says_why(answer, status, words):
    replies = job_results([JOB], output(**answer))
    (row,) = replies["load_jobs"].rows
    assert row["status"] == status and words in row["words"] and replies["write_bw"].rows == []


def test_a_load_that_was_never_collected_is_reported_for_every_job():
    (row,) = job_results([JOB], {"ended": "its supervisor has died", "answers": {}})["load_jobs"].rows
    assert (row["status"], row["words"]) == ("unknown", "ib_write_bw was not run: its supervisor has died")


def test_every_two_hosts_meet_where_the_pairing_is_exhaustive(plan):
    values = {**next(iter(plan.nodes.values())).values, "pod_pairing": "exhaustive"}
    nodes = {name: type(node)(**{**vars(node), "values": {**node.values, "pod_pairing": values["pod_pairing"]}}) for name, node in plan.nodes.items()}
    schedule = PLANNERS["rdma"](situation(type(plan)(nodes, plan.groups, plan.cables)))
    assert schedule is not None
    met = {frozenset((host, job.columns["peer"])) for host, jobs in schedule.jobs.items() for job in jobs}
    assert met == {frozenset(pair) for pair in combinations([name for name, node in plan.nodes.items() if node.role == "host"], 2)}


def test_what_is_tested_both_ways_must_carry_twice_as_much(plan):
    both = copy.deepcopy(plan)
    for node in both.nodes.values():
        node.values["pod_write_bw_bidirectional"] = True
    slow = results(plan, lambda _host, _job: False)
    assert PLANNERS["rdma"](situation(plan, 1, slow)) is None, "380 Gb/s of 400 one way"
    assert PLANNERS["rdma"](situation(both, 1, slow)) is not None, "380 Gb/s of 800 both ways"
    announced = [PLANNERS["rdma"](situation(one)).words[1] for one in (plan, both)]
    assert "at least 350 Gb/s a rail" in announced[0] and "at least 700 Gb/s a rail" in announced[1]


def test_both_ends_of_a_planned_test_find_it_again_among_the_jobs_of_the_other(plan):
    done = results(plan, lambda _host, _job: False)
    tests = {host: pair_tests(host, done["load_jobs"], done["write_bw"]) for host in done["load_jobs"]}
    for host, its in tests.items():
        assert {host in (one.sender.host, one.receiver.host) for one in its} == {True}
        assert {(one.status, one.gbit_s) for one in its} == {("ok", 380.0)}
        assert {one.sender.host == host for one in its} == {True, False}
    ids = [job.id for jobs in PLANNERS["rdma"](situation(plan)).jobs.values() for job in jobs]
    assert "round 1: mlx5_0 to gpu02 mlx5_0" in ids and "round 1: mlx5_0 from gpu01 mlx5_0" in ids


WATCHDOG = (
    "[rank0]:[E1126 02:10:00.123456789 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=64, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n"
)


@pytest.mark.parametrize(("status", "rc"), [("ran", 1), ("ran", 134), ("ran", -9), ("timeout", None), ("stopped", None)])
def test_the_log_of_a_sites_own_training_is_read_however_it_ended(status: str, rc: int | None) -> None:
    job = Job("training", ["/opt/train/run.sh"], 0.0, 60.0, {"kind": "training", "step": 0, "role": "rank"}, also=("collective_timeouts", "training_log"))
    step = "iteration 1 elapsed time per iteration (ms): 73.49 | loss: 9.05216"
    printed = {"argv": job.argv, "rc": rc, "stdout": f"{step}\n", "stderr": WATCHDOG, "seconds": 9.0, "cut": False, "status": status}
    read = job_results([job], {"answers": {job.id: printed}, "ended": "all"})
    (row,) = read["collective_timeouts"].rows
    assert (row["event"], row["rank"], row["sequence"]) == ("timeout", 0, 64)
    assert [one["iteration"] for one in read["training_log"].rows] == [1]
    assert read[JOBS_READING].rows[0]["status"] == "unknown"


def test_a_training_that_was_not_found_has_no_log() -> None:
    job = Job("training", ["/opt/train/run.sh"], 0.0, 60.0, {"kind": "training", "step": 0, "role": "rank"}, also=("collective_timeouts",))
    missing = {"argv": job.argv, "rc": None, "stdout": "", "stderr": "/opt/train/run.sh: not found on PATH", "seconds": 0.0, "cut": False}
    read = job_results([job], {"answers": {job.id: {**missing, "status": "missing"}}, "ended": "all"})
    assert read["collective_timeouts"].status == "unknown" and read[JOBS_READING].rows[0]["status"] == "unknown"


@pytest.mark.parametrize(
    ("text", "status", "words", "host"),
    [
        ("gpu06: KeyError: 'qux'\npdsh@gpu01: gpu06: ssh exited with exit code 1\n", "unknown", "ranks failed: gpu06: KeyError: 'qux'", "gpu06"),
        ("gpu06: KeyError: 'qux', which is passed over\n", "ok", None, None),
    ],
)
def test_a_command_of_a_site_that_ends_with_0_has_failed_where_its_launcher_says_so(text, status, words, host):
    job = Job("own", ["/opt/run.sh"], 0, 60, {"kind": "training", "hosts": ["gpu01", "gpu06"]}, also=("collective_timeouts",))
    answer = {"status": "ran", "argv": list(job.argv), "rc": 0, "stdout": "step 1\n", "stderr": text, "seconds": 1.0, "cut": False}
    (row,) = job_results([job], {"answers": {"own": answer}})[JOBS_READING].rows
    assert (row["status"], row["words_of"]) == (status, host) and (words or "") in (row["words"] or "")


@pytest.mark.parametrize("part", [".", "a.", "1:", "1-"])
def test_an_error_in_a_line_of_a_million_characters_is_found(part: str) -> None:
    """Patterns that take the square of a line's length would take hours."""
    job = Job("own", ["/opt/run.sh"], 0, 60, {"kind": "training", "hosts": ["gpu01", "gpu06"]}, also=("collective_timeouts",))
    text = f"1{part * 1_000_000} [rank3]: RuntimeError: no kernel image is available for execution on the device\n"
    answer = {"status": "ran", "argv": list(job.argv), "rc": 1, "stdout": "step 1\n", "stderr": text, "seconds": 1.0, "cut": False}
    (row,) = job_results([job], {"answers": {"own": answer}})[JOBS_READING].rows
    assert row["words"].endswith("no kernel image is available for execution on the device")
