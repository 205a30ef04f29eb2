# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rank of a site's own training the others waited for, by the log of PyTorch's watchdog."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.training.own_log import own_training_ends
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.training.own_steps import own_steps_steady
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.deciding_lines import speaking_rank
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse

HEAD = "[rank{0}]:[E1126 02:10:00.123456789 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID {1} Rank 0] "
AT = "Exception (either an error or timeout) detected by watchdog at work: {2}, last enqueued NCCL work: {3}, last completed NCCL work: 63."
TOLD = "Received a dump signal due to a collective timeout from rank 0 and we will try our best to dump the debug info. Last enqueued NCCL work: {2}."
CAUGHT = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum={2}, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600010 milliseconds."
ALL = "0(default_pg)"
# PyTorch 2.11 on two GPUs; rank 1 did not call the second all-reduce.
RECORDED = Path(__file__).parents[2] / "recordings/linux/collective_timeouts/absent_rank.txt"
JOB = {"kind": "training", "status": "fail", "words": "exited with status 1"}
Lines = list[str]


def waits(rank: int, group: str = ALL, work: int = 64, enqueued: int = 70) -> Lines:
    return [(HEAD + CAUGHT).format(rank, group, work), (HEAD + AT).format(rank, group, work, enqueued)]


def told(rank: int, enqueued: int, group: str = ALL) -> Lines:
    return [(HEAD + TOLD).format(rank, group, enqueued)]


def judged(logs: dict[str, Lines], gpus: int = 2) -> dict[tuple[str, str], tuple[str | None, bool]]:
    """Severity and whether it is later, by host and place."""
    rows: dict[str, list[dict[str, t.Any]]] = {host: parse("collective_timeouts", "linux", "\n".join(["step 1", *lines])) for host, lines in logs.items()}
    jobs = {host: [dict(JOB)] for host in rows}
    found = {host: list(own_training_ends(jobs[host], rows[host], host, gpus, rows, jobs)) for host in rows}
    return {(one.host or host, str(one.where)): (one.severity, one.later) for host, ones in found.items() for one in ones}


def test_the_rank_that_had_not_enqueued_the_collective_is_named_with_its_host_and_gpu() -> None:
    found = judged({"gpu01": [*waits(0), *waits(1, enqueued=68)], "gpu02": [*waits(2), *told(3, 63)], "gpu03": [*waits(4), *waits(5)]})
    failed = {key for key, (severity, _later) in found.items() if severity != "unknown"}
    # How the training of that host ended follows from it, and hosts that only waited have no finding of their own.
    assert failed == {("gpu02", "rank 3 (GPU 1)")} and {host for host, _place in found} == {"gpu02"}


def test_the_absent_rank_of_a_recorded_hang_is_named() -> None:
    lines = RECORDED.read_text(encoding="utf-8").splitlines()
    found = judged({host: [line for line in lines if line.startswith(f"[rank{rank}]")] for rank, host in enumerate(("gpu01", "gpu02"))}, gpus=1)
    assert found == {("gpu02", "rank 1 (GPU 0)"): (None, False)}


def test_ranks_that_had_enqueued_it_are_not_named_however_far_the_others_were() -> None:
    found = judged({"gpu01": [*waits(0, enqueued=90), *waits(1)], "gpu02": [*waits(2), *told(3, 64)]})
    assert ("gpu02", "rank 3 (GPU 1)") not in found and {("gpu01", "rank 0"), ("gpu02", "rank 2")} <= found.keys()


def test_a_rank_that_waited_in_another_group_is_not_the_one_to_blame() -> None:
    logs = {"gpu01": [*waits(0), *waits(1)], "gpu02": [*told(2, 63), *waits(2, "7(pipeline)", 12, 12), *told(3, 63), *told(3, 11, "7(pipeline)")]}
    found = judged(logs)
    assert ("gpu02", "rank 3 (GPU 1)") in found and not any("rank 2" in place for _host, place in found)


@pytest.mark.parametrize("logs", [{"gpu01": [*waits(0), *waits(1), *waits(2), *told(3, 63)], "gpu02": []}])
def test_a_log_of_several_hosts_accuses_none_of_them(logs: dict[str, Lines]) -> None:
    found = judged(logs)
    assert found["gpu01", "rank 3"] == ("unknown", False) and not any(host == "gpu02" and place != "the training" for host, place in found)


def silent(logs: dict[str, Lines], gpus: int = 2) -> dict[tuple[str, str], tuple[str | None, str]]:
    """Severity and words by host and place."""
    rows: dict[str, list[dict[str, t.Any]]] = {host: parse("collective_timeouts", "linux", "\n".join(["step 1", *lines])) for host, lines in logs.items()}
    jobs = {host: [{**JOB, "hosts": list(logs)}] for host in rows}
    found = [(host, one) for host in rows for one in own_training_ends(jobs[host], rows[host], host, gpus, rows, jobs)]
    told = {(one.host or host, str(one.where)): (one.severity, one.actual) for host, one in found}
    # Every host of the run says the same of a rank, so that it is one finding.
    of_ranks = [(one.host, str(one.where), one.actual, one.expected) for _host, one in found if one.host]
    assert len(set(of_ranks)) == len({one[:2] for one in of_ranks})
    return told


SINCE = "its watchdog logged nothing, while other ranks waited in this collective since 11-26 01:59:59; then its training ended: exited with status 1"


def test_a_rank_that_logs_nothing_is_named_and_no_host_is_accused() -> None:
    found = silent({"gpu01": [*waits(0), *waits(1)], "gpu02": [*waits(5), *waits(4)], "gpu03": waits(2)})
    assert found == {("gpu03", "rank 3 (GPU 1)"): ("unknown", SINCE)}


def test_the_ranks_of_the_one_host_without_a_log_are_told_by_the_numbers_that_are_left() -> None:
    found = silent({"gpu01": [*waits(4), *waits(5)], "gpu02": [], "gpu03": [*waits(0), *waits(1)]})
    assert {key for key in found if key[0] == "gpu02"} == {("gpu02", "rank 2 (GPU 0)"), ("gpu02", "rank 3 (GPU 1)")}


@pytest.mark.parametrize(
    "logs",
    [
        {"gpu01": waits(0), "gpu02": [], "gpu03": []},
        {"gpu01": [*waits(0, "5(tensor)"), *waits(1, "5(tensor)")], "gpu02": [*waits(2, "6(tensor)")]},
        {"gpu01": [*waits(0), *waits(1)], "gpu02": [*waits(2), *waits(3)]},
    ],
)
def test_where_logs_are_not_of_each_rank_or_of_a_part_of_them_none_is_named_as_silent(logs: dict[str, Lines]) -> None:
    assert not any("logged nothing" in words for _severity, words in silent(logs).values())


def test_a_silent_rank_of_a_log_of_several_hosts_is_of_no_host() -> None:
    found = silent({"gpu01": [*waits(0), *waits(1), *waits(2)], "gpu02": []})
    assert found["gpu01", "rank 3"][0] == "unknown" and not any(host == "gpu02" and "rank" in place for host, place in found)


BARRIER = "RuntimeError: [Rank 0]: Ranks 2, 3 failed to pass monitoredBarrier in 2000000 ms"
REACHED = "RuntimeError: Rank {} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs."


def test_the_ranks_that_a_monitored_barrier_waited_for_are_named_on_their_host() -> None:
    found = silent({"gpu01": [REACHED.format(4), REACHED.format(5)], "gpu02": ["Terminated"], "gpu03": [REACHED.format(1), BARRIER]})
    assert {key: severity for key, (severity, _words) in found.items()} == dict.fromkeys([("gpu02", "rank 2 (GPU 0)"), ("gpu02", "rank 3 (GPU 1)")], "unknown")
    assert all("monitoredBarrier" in words for _severity, words in found.values())


def test_a_rank_in_an_earlier_collective_than_most_is_named_where_no_group_is_logged() -> None:
    old = "[E ProcessGroupNCCL.cpp:458] [Rank {0}] " + CAUGHT
    logs = {"gpu01": [old.format(0, "", 96), old.format(1, "", 96)], "gpu02": [old.format(2, "", 96), old.format(3, "", 64)]}
    assert silent(logs) == {
        ("gpu02", "rank 3 (GPU 1)"): ("unknown", "it waited in collective 64; then its training ended: exited with status 1"),
    }
    even = {"gpu01": [old.format(0, "", 96), old.format(1, "", 64)]}
    assert not any("it waited in" in words for _severity, words in silent(even).values())


STOOD_STILL = (
    "[rank{0}]:[E1126 02:08:00.1 ProcessGroupNCCL.cpp:1743] [PG ID 0 PG GUID 0(default_pg) Rank {0}] ProcessGroupNCCL's watchdog got stuck for 480 s. Else"
)
OF_OLD = "[E ProcessGroupNCCL.cpp:458] [Rank {0}] " + CAUGHT


def test_a_rank_whose_own_watchdog_stood_still_while_others_waited_is_the_one_that_hangs() -> None:
    wait = {rank: OF_OLD.format(rank, "", 96) for rank in range(4)}
    found = silent({"gpu01": [wait[0], wait[1]], "gpu02": [wait[2], STOOD_STILL.format(3)]})
    stuck = "ProcessGroupNCCL's watchdog got stuck for 480 s; then its training ended: exited with status 1"
    assert found == {("gpu02", "rank 3 (GPU 1)"): (None, stuck)}
    # Where most stood still it says nothing of one of them.
    many = silent({"gpu01": [wait[0], STOOD_STILL.format(1)], "gpu02": [STOOD_STILL.format(2), STOOD_STILL.format(3)]})
    assert not any(place.startswith("rank") for _host, place in many)
    assert many["gpu02", "the watchdogs of the ranks"] == ("unknown", "those of 3 ranks stood still at once")


# PyTorch 2.11 and NCCL 2.28 on two GPUs, which gathered tensors of different sizes: that of rank 0 ended.
SIZES = (
    "[rank{0}]:[E1128 19:47:31.9 ProcessGroupNCCL.cpp:2303] [PG ID 0 PG GUID 0(default_pg) Rank {0}]  failure detected by watchdog at work sequence id: {1} "
    "PG status: last enqueued work: {1}, last completed work: {2}"
)


def test_a_rank_in_which_a_collective_did_not_end_that_had_ended_in_the_others_is_named() -> None:
    found = silent({"gpu01": [SIZES.format(0, 2, 1), SIZES.format(1, 1, -1)]})
    words = "it hung in collective 1, which it had enqueued; then its training ended: exited with status 1"
    assert found == {("gpu01", "rank 1 (GPU 1)"): ("unknown", words)}
    # Where all had come as far it is none of them, and where most had not completed it one that had is not to blame.
    for completed in ((1, 1, 1), (2, 1, 1)):
        lines = [SIZES.format(rank, 2, done) for rank, done in enumerate(completed)]
        assert not any("it hung in" in words for _severity, words in silent({"gpu01": lines[:2], "gpu02": lines[2:]}).values())
    # A rank that logs nothing comes first: what did not end in another one followed from that.
    lines = [f"{(HEAD + CAUGHT).format(rank, ALL, 2)}\n{SIZES.format(rank, 2, done)}" for rank, done in enumerate((1, 0, 1))]
    (place,) = silent({"gpu01": lines[:2], "gpu02": lines[2:]})
    assert place == ("gpu02", "rank 3 (GPU 1)")


def test_hosts_that_lost_a_connection_to_one_that_could_not_begin_have_no_finding_of_their_own() -> None:
    words = {"gpu01": "DistStoreError: Timed out after 601 seconds waiting for clients. 7/8 clients joined.", "gpu02": "can't open file '/x': [Errno 2] No"}
    jobs = {host: [{**JOB, "status": "unknown", "words": one}] for host, one in {**words, "gpu03": "failed to recv, got 0 bytes"}.items()}
    found = {host: [(one.host or host, one.actual) for one in own_training_ends(jobs[host], [], host, 2, {}, jobs)] for host in jobs}
    assert found == {host: [("gpu02", words["gpu02"])] for host in jobs}


def test_the_steps_of_a_training_that_did_not_end_are_not_asked_for() -> None:
    step = {"iteration": 1, "step_ms": 1.0}
    with pytest.raises(NotApplicable, match="own_training_ends"):
        list(own_steps_steady({"a": [step]}, 0, 5.0, 5.0, {"a": [dict(JOB)]}))
    with pytest.raises(NotApplicable, match="not started"):
        list(own_steps_steady({"a": []}, 0, 5.0, 5.0, {"a": []}))
    with pytest.raises(CannotTell, match="after 0 of warm-up"):
        list(own_steps_steady({"a": [step]}, 0, 5.0, 5.0, {"a": [{**JOB, "status": "ok"}]}))
    with pytest.raises(CannotTell, match="no line of the logs is a step"):
        list(own_steps_steady({"a": []}, 0, 5.0, 5.0, {"a": [{**JOB, "status": "ok"}]}))


def test_an_error_of_a_host_that_only_waited_is_not_lost() -> None:
    rows = {host: parse("collective_timeouts", "linux", "\n".join(lines)) for host, lines in {"a": waits(0), "b": told(1, 63)}.items()}
    jobs = {"a": [{**JOB, "words": "CUDA error: uncorrectable ECC error encountered"}], "b": [dict(JOB)]}
    found = list(own_training_ends(jobs["a"], rows["a"], "a", 1, rows, jobs))
    assert [(one.host, str(one.where)) for one in found] == [("b", "rank 1 (GPU 0)"), (None, "the training")]
    assert "GPU or its NVLink failed" in (found[1].cause or "")


def test_the_rank_that_logs_nothing_is_named_where_all_others_waited_in_one_collective_of_no_group() -> None:
    bare = "[rank{0}]:[E1126 02:10:00.123456789 ProcessGroupNCCL.cpp:632] [Rank {0}] " + CAUGHT

    def lines(*ranks: int, work: int = 64) -> Lines:
        return [bare.format(rank, "", work) for rank in ranks]

    assert set(silent({"gpu01": lines(1), "gpu02": lines(2, 3), "gpu03": lines(4, 5)})) == {("gpu01", "rank 0 (GPU 0)")}
    # Of ranks in several collectives, or of few, it is not known who should have come.
    for logs in ({"gpu01": lines(1), "gpu02": lines(2, 3, work=65), "gpu03": lines(4, 5)}, {"gpu01": lines(1), "gpu02": lines(2), "gpu03": []}):
        assert not any("logged nothing" in words for _severity, words in silent(logs).values())


LOST = "torch.distributed.DistBackendError: NCCL error, ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."


def test_hosts_whose_training_ended_for_the_sake_of_another_say_what_ended_it_there() -> None:
    own = "AssertionError: Rank 1: found NaN in local grad norm in backwards pass. Device: 1, node: b"

    def found(of_a: str, of_b: str) -> list[tuple[str, str | None, str | None, str]]:
        jobs = {"a": [{**JOB, "status": "unknown", "words": of_a}], "b": [{**JOB, "status": "unknown", "words": of_b}]}
        return [(host, one.host, one.severity, one.actual) for host in jobs for one in own_training_ends(jobs[host], [], host, 1, {}, jobs)]

    assert found(LOST, own) == [("a", "b", "fail", own), ("b", None, "fail", own)]
    # Without an error of its own on any host each says how it ended, and so does one with another error.
    assert found(LOST, LOST) == [("a", None, "unknown", LOST), ("b", None, "unknown", LOST)]
    assert found("Terminated", own) == [("a", None, "unknown", "Terminated"), ("b", None, "fail", own)]


def test_what_a_launcher_reports_of_another_host_is_no_finding_of_the_host_that_prints_it() -> None:
    printed = "run.sh exited with status 255: launch failed on b: Couldn't forward RPC launch(5d) to child c: Resource temporarily unavailable"

    def found(ends: dict[str, str]) -> dict[str, list[tuple[str | None, str | None]]]:
        jobs = {host: [{**JOB, "status": "unknown", "words": words}] for host, words in ends.items()}
        return {host: [(one.host or host, one.severity) for one in own_training_ends(jobs[host], [], host, 1, {}, jobs)] for host in jobs}

    limit = "run.sh did not end in time"
    assert found({"a": printed, "b": limit, "c": limit, "d": limit}) == {host: [("c", "unknown")] for host in "abcd"}
    # What the host itself ended with says more, and a launcher's line of its own host is a finding there.
    own = "CUDA error: an illegal memory access was encountered"
    assert found({"a": printed, "b": limit, "c": own, "d": limit})["a"] == [("c", "fail")]
    assert found({"c": printed, "b": limit, "d": limit})["c"] == [("c", "unknown")]


def test_an_error_of_a_rank_that_the_launcher_of_another_host_prints_is_of_the_host_of_the_rank() -> None:
    own, limit = "run.sh exited with status 1: [rank5]: RuntimeError: CUDA error: an illegal memory access was encountered", "run.sh did not end in time"

    def found(said: dict[str, list[str]], words: str = own) -> dict[str, list[tuple[str | None, str | None, str]]]:
        ends = {"a": words, "b": limit, "c": limit}
        jobs = {
            host: [{**JOB, "status": "unknown", "words": ends[host], "words_rank": speaking_rank(ends[host]), "speakers": said.get(host, [])}] for host in ends
        }
        return {host: [(one.host or host, one.severity, str(one.where)) for one in own_training_ends(jobs[host], [], host, 2, {}, jobs)] for host in jobs}

    on_c = {host: [("c", "fail", "rank 5 (GPU 1)")] for host in "abc"}
    assert found({"a": ["0", "5=c"]}) == on_c and found({"a": ["0", "5"], "c": ["4"]}) == on_c
    # An error that is no fault of a host by itself is of that rank's host, too.
    assert found({"a": ["0", "5=c"]}, "run.sh exited with status 1: [rank5]: KeyError: 'qux'")["b"] == [("c", "unknown", "rank 5 (GPU 1)")]
    # Where no line says on which host it is, nobody is accused of a failure.
    assert found({"a": ["0", "5"]})["a"] == [("a", "unknown", "rank 5 (GPU 1)")]
    # A host that prints its own ranks alone has whatever numbers its launcher gave it.
    assert found({"a": ["4", "5"]})["a"] == [("a", "fail", "rank 5 (GPU 1)")]


def test_the_rank_that_horovod_names_is_of_the_host_that_its_number_leads_to() -> None:
    listed = ["Stalled ranks:", "3: [horovod_allreduce.0, horovod_allreduce.1]"]
    assert {(key, severity) for key, (severity, _words) in silent({"gpu01": listed, "gpu02": []}).items()} == {(("gpu02", "rank 3 (GPU 1)"), "unknown")}
    # Where most ranks are listed none of them is the one to look at.
    many = [f"{rank}: [horovod_allreduce.0]" for rank in (1, 2, 3)]
    assert not any(place.startswith("rank") and host == "gpu02" for host, place in silent({"gpu01": many, "gpu02": []}))


def test_a_rank_that_others_waited_for_is_named_where_their_communicators_were_aborted() -> None:
    reason = "[Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLGATHER, Timeout(ms)=10) ran for 11 milliseconds."
    lines = {rank: f"RuntimeError: NCCL communicator was aborted on rank {rank}.  Original reason for failure was: {reason.format(rank)}" for rank in (1, 2, 3)}
    found = silent({"gpu01": [lines[1]], "gpu02": [lines[2], lines[3]]})
    assert {(key, severity) for key, (severity, _words) in found.items()} == {(("gpu01", "rank 0 (GPU 0)"), "unknown")}


def test_the_one_host_that_ended_with_another_error_than_all_others_is_named() -> None:
    barrier, odd = "JaxRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: 7", "RuntimeError: failed finding central directory"

    def found(ends: dict[str, str]) -> dict[str, list[tuple[str | None, str | None]]]:
        jobs = {host: [{**JOB, "status": "unknown", "words": words}] for host, words in ends.items()}
        return {host: [(one.host or host, one.severity) for one in own_training_ends(jobs[host], [], host, 1, {}, jobs)] for host in jobs}

    assert found({"a": barrier, "b": odd, "c": barrier, "d": barrier}) == {host: [("b", "unknown")] for host in "abcd"}
    # An error of the host's own is a failure of it.
    assert found({"a": barrier, "b": "CUDA error: an illegal memory access was encountered", "c": barrier, "d": barrier})["a"] == [("b", "fail")]
    # Of two, and of two hosts that end apart, none is the first.
    assert found({"a": barrier, "b": odd})["a"] == [("a", "unknown")]
    assert found({"a": barrier, "b": odd, "c": "RuntimeError: qux", "d": barrier, "e": barrier})["a"] == [("a", "unknown")]


def test_the_few_whose_connections_were_lost_ended_for_the_sake_of_the_many_that_ended_alike() -> None:
    missing = "FileNotFoundError: [Errno 2] No such file or directory: '/cache/GPTDataset-train-document_index.npy'"

    def found(ends: dict[str, str]) -> dict[str, set[tuple[str | None, str | None]]]:
        jobs = {host: [{**JOB, "status": "unknown", "words": words}] for host, words in ends.items()}
        return {host: {(one.host or host, one.severity) for one in own_training_ends(jobs[host], [], host, 1, {}, jobs)} for host in jobs}

    many = {(host, "unknown") for host in "bcd"}
    assert found({"a": LOST, "b": missing, "c": missing, "d": missing})["a"] == many
    # Where the many lost connections, too, they say no more than the one.
    refused = "ConnectionRefusedError: [Errno 111] Connection refused"
    assert found({"a": LOST, "b": refused, "c": refused, "d": refused})["a"] == {("a", "unknown")}


def test_an_error_that_no_table_knows_has_a_cause_and_is_no_failure_of_the_host() -> None:
    def found(words: str, last: str | None = None) -> list[tuple[str, str | None, bool]]:
        jobs = {"a": [{**JOB, "status": "unknown", "words": words, "words_rank": speaking_rank(words), "last_line": last}]}
        return [
            (str(one.where), one.severity, (words.partition(": ")[2] or "py-spy") in (one.fix or ""))
            for one in own_training_ends(jobs["a"], [], "a", 2, {}, jobs)
        ]

    assert found("torchrun exited with status 1: [rank1]: KeyError: 'model.layers.3.weight'") == [("rank 1 (GPU 1)", "unknown", True)]
    assert found("torchrun exited with status 1: RuntimeError: frobnication refused") == [("the training", "unknown", True)]
    assert found("torchrun exited with status 1: [rank1]: RuntimeError: Broken pipe") == [("the training", "unknown", False)]
    assert found("torchrun did not end in time", "12:31:08 step 7") == [("the training", "unknown", True)]


def test_what_was_logged_last_explains_a_training_that_did_not_end_where_it_is_known() -> None:
    limit = "torchrun did not end in time"

    def found(last: str | None) -> list[tuple[str, bool]]:
        jobs = {"a": [{**JOB, "status": "unknown", "words": limit, "last_line": last}]}
        return [(one.actual, "/etc/hosts" in (one.fix or "")) for one in own_training_ends(jobs["a"], [], "a", 1, {}, jobs)]

    name = "[W1128 12:54:27.6 socket.cpp:764] [c10d] The IPv6 network addresses of (nosuchhost, 29701) cannot be retrieved (gai error: -3)."
    assert found(name) == [(f"{limit}; it logged last: {name}", True)]
    assert found("step 7 of 100") == [(f"{limit}; it logged last: step 7 of 100", False)] and found(None) == [(limit, False)]


def test_an_own_error_that_one_host_prints_for_another_is_of_that_other_beside_a_rank_that_others_waited_for() -> None:
    logs = {"gpu01": [*waits(0), *waits(1)], "gpu02": [*waits(2), *told(3, 63)], "gpu03": [*waits(4), *waits(5)]}
    rows = {host: parse("collective_timeouts", "linux", "\n".join(["step 1", *lines])) for host, lines in logs.items()}
    jobs = {host: [dict(JOB)] for host in rows}
    jobs["gpu01"] = [{**JOB, "words": "gpu03: RuntimeError: CUDA error: uncorrectable ECC error encountered", "words_of": "gpu03"}]
    found = list(own_training_ends(jobs["gpu01"], rows["gpu01"], "gpu01", 2, rows, jobs))
    assert {(one.host, one.severity) for one in found} == {("gpu02", None), ("gpu03", "fail")}


def test_the_ranks_that_the_first_releases_of_horovod_call_missing_are_named() -> None:
    line = "worker.1  | Stalled ops:Loss/all_reduce/HorovodAllreduce_mul_1_0 [missing ranks: 3, 4]"
    found = silent({"gpu01": [line], "gpu02": [], "gpu03": []})
    assert {("gpu02", "rank 3 (GPU 1)"), ("gpu03", "rank 4 (GPU 0)")} <= found.keys()
    assert not any(host == "gpu01" and "rank" in place for host, place in found)


def lost(host: str, address: str) -> str:
    return f"run.sh exited with status 1: {host}:982:1255 [2] NCCL WARN NET/IB : Got completion from peer {address}<55921> with status=12 vendor err 129 (Send)"


ADDRESSES = {f"10.53.0.{number}": (f"gpu0{number}", "mlx5_4") for number in range(1, 6)}


@pytest.mark.parametrize(
    ("ends", "found"),
    [
        # Most lost their connections to the same host, which lost its own to one of them.
        ({"gpu01": 3, "gpu02": 3, "gpu03": 1, "gpu04": 3}, {host: {("gpu03", "mlx5_4 in the training")} for host in ("gpu01", "gpu02", "gpu03", "gpu04")}),
        # Two that name each other, and a ring in which each names its neighbor, accuse nobody else.
        ({"gpu01": 2, "gpu02": 1}, {"gpu01": {("gpu01", "the training")}, "gpu02": {("gpu02", "the training")}}),
        ({"gpu01": 2, "gpu02": 3, "gpu03": 1}, {host: {(host, "the training")} for host in ("gpu01", "gpu02", "gpu03")}),
    ],
)
def test_the_host_to_which_most_others_lost_their_connections_is_named_by_its_address(ends: dict[str, int], found: dict[str, set[tuple[str, str]]]) -> None:
    jobs = {host: [{**JOB, "status": "unknown", "words": lost(host, f"10.53.0.{number}")}] for host, number in ends.items()}
    judged_by = {host: own_training_ends(jobs[host], [], host, 2, {}, jobs, pod_host_addresses=ADDRESSES) for host in jobs}
    named = {host: {(one.host or host, str(one.where)) for one in its} for host, its in judged_by.items()}
    assert named == found


def test_an_error_behind_an_address_is_of_the_host_that_has_it() -> None:
    words = "run.sh exited with status 1: 10.53.0.2: ValueError: the batch of this worker is empty"
    jobs = {"gpu01": [{**JOB, "words": words, "words_of": "10.53.0.2"}], "gpu02": [{**JOB, "words": "run.sh did not end in time"}]}
    found = {one.host or host for host in jobs for one in own_training_ends(jobs[host], [], host, 2, {}, jobs, pod_host_addresses=ADDRESSES)}
    assert found == {"gpu02"}
    (unknown,) = own_training_ends(jobs["gpu01"], [], "gpu01", 2, {}, jobs)
    assert unknown.host is None and "of no known host" not in unknown.actual and "none that says on which host" in unknown.actual


def test_a_line_that_is_known_without_a_word_of_an_error_is_what_a_host_ended_with() -> None:
    words = dict.fromkeys(("gpu01", "gpu02", "gpu04"), "socketProgress: Connection closed by remote peer 10.0.0.3<4>")
    words["gpu03"] = "[rank18]:[F1 ProcessGroupNCCL.cpp:1557] Terminating the process, due to ProcessGroupNCCL watchdog hang."
    jobs = {host: [{**JOB, "status": "unknown", "words": one}] for host, one in words.items()}
    (found,) = own_training_ends(jobs["gpu03"], [], "gpu03", 8, {}, jobs)
    assert "printed no error" not in (found.cause or "") and "py-spy" in (found.fix or "")
