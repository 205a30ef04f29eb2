# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 6, training: how the site's own training ended, by what it printed and its launcher said."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...loads.error_classes import says_only_a_result
from ...loads.host_names import NO_ADDRESSES, Addressed, HostNames
from ...loads.launcher_errors import explained as explained_refusal
from ...loads.launcher_errors import refused_by_launcher, reported_of
from ...loads.named_parts import named_nic
from ...loads.rank_errors import NEVER_ARRIVED, explained, follows, is_of_a_connection, is_own, known_error
from ...loads.unknown_errors import OF_TRAINING, alike, cut, explain_unknown, is_error, names_system_error
from ...readings.rows import Peers, Rows
from .. import Finding, check
from .._not_measured import not_measured
from ..place import Place, at_device, at_rank
from ._lost_peers import LostPeer, lost_peer
from ._own_causes import NOT_AT_ITS_END, NOT_HEARD, STOPPED_FIRST, STUCK, STUCK_TOGETHER, UNFINISHED, UNLIKE_OTHERS
from ._printed_ranks import PrintedRanks, printed_ranks
from ._silent_logs import stopped_first
from ._watchdog import Named, named_ranks, stuck_together
from .steps import OWN_COMMAND, timed_out


class End(t.NamedTuple):
    """How a training ended on a host that did not end well: in words, as a status, and of which rank the words are, None where that is not known."""

    words: str
    status: str
    rank: int | None


OF_NO_KNOWN_HOST = "this log has lines of ranks of several hosts, and none that says on which host this rank is"


@check(
    cause="The site's own command failed or hung on this host: a rank died or stalled, the network lost a path, or the command is wrong.",
    fix="Read its evidence of this layer (training_log), then the missing rank's host: Xid, NIC errors, link flaps at that time.",
    required=True,
    needs="load",
    kind="host",
    when=(OWN_COMMAND, True),
)
def own_training_ends(
    load_jobs: Rows, collective_timeouts: Rows, pod_node: str, pod_gpus_per_host: int, collective_timeouts_of_peers: Peers | None = None,
    load_jobs_of_peers: Peers | None = None, pod_host_addresses: t.Mapping[str, Addressed] = NO_ADDRESSES,
) -> t.Iterator[Finding]:  # fmt: skip
    """The site's own training completes on the host, and none of its collectives hangs."""
    jobs = [row for row in load_jobs if row["kind"] == "training"]
    if not jobs:
        raise not_measured("not started")
    logs = collective_timeouts_of_peers or {pod_node: collective_timeouts}
    named = named_ranks(logs, jobs[0].get("hosts") or list(logs), pod_gpus_per_host)
    ended = [_end(row) for row in jobs if row["status"] != "ok"]
    names = HostNames(load_jobs_of_peers or {pod_node: load_jobs}, pod_host_addresses)
    ranks = printed_ranks(load_jobs_of_peers or {pod_node: load_jobs}, pod_gpus_per_host, pod_host_addresses)
    if any(one.host is not None for one in named):
        # Whoever waited for a rank of another host says the same of it, so that no host which only waited has a finding of its own.
        of_peers = load_jobs_of_peers or {pod_node: load_jobs}
        if ended or collective_timeouts:
            yield from (_named(one, pod_gpus_per_host, _then(of_peers.get(one.host, []))) for one in named if one.host is not None)
        if ranks.elsewhere.get(pod_node, pod_node) not in {one.host for one in named}:
            yield from (replace(_ended(end), host=ranks.elsewhere.get(pod_node)) for end in ended if is_own(end.words))
        return
    first = {} if named else _ended_first(load_jobs_of_peers or {}, pod_gpus_per_host, ranks, names)
    shared = _shared(load_jobs_of_peers or {})
    only_prints = pod_node in _reported(load_jobs_of_peers or {}) or pod_node in ranks.elsewhere
    of_others = only_prints or all(is_of_a_connection(end.words) or alike(end.words) == shared for end in ended)
    if first and pod_node not in first and ended and of_others:
        # What ended the training on another host ended it here.
        yield from (replace(found, host=host) for host, found in first.items())
        return
    silent = {} if named or first else _stopped_first(load_jobs_of_peers or {}, pod_gpus_per_host)
    if silent and ended:
        # Whoever logged on waited for these.
        yield from (replace(found, host=host) for host, found in silent.items())
        return
    if collective_timeouts:
        yield from (_named(one, pod_gpus_per_host) for one in named)
    ill = (row for row in jobs if row["status"] != "ok")
    own = (_with_last(replace(_end_of(pod_node, _end(row), pod_gpus_per_host, ranks), later=bool(named)), row) for row in ill)
    yield from [first[pod_node]] if pod_node in first else own
    together = stuck_together(logs)
    if not named and together:
        words = f"those of {len(together)} ranks stood still at once"
        yield Finding(Place("the watchdogs of the ranks"), "to go on", words, "unknown", cause=STUCK_TOGETHER[0], fix=STUCK_TOGETHER[1], judged=True)
    elif not named:
        # That a call failed is said by an end whose error is known.
        said = any(is_error(end.words) and not says_only_a_result(end.words) for end in ended)
        yield from timed_out(row for row in collective_timeouts if not (said and row["event"] == "failed"))


def _reported(jobs: Peers) -> dict[str, str]:
    """By the hosts whose training ended with what a launcher reports of another host of it: that other one; jobs: the rows of load_jobs by host."""
    found = {host: reported_of(end.words, list(jobs)) for host, end in _ended_ill(jobs).items()}
    return {host: other for host, other in found.items() if other not in (None, host)}


def _by_launcher(words: str) -> Finding:
    cause, fix = explained_refusal(words)
    return Finding(Place("the training"), "a normal exit", words, "unknown", cause=cause, fix=fix, judged=True)


def _end_of(host: str, end: End, gpus: int, ranks: PrintedRanks) -> Finding:
    """As ``_of_speaker``, of what a host printed last: the error of a rank of which its log does not show the host is a failure of nobody."""
    found = _of_speaker(end, gpus)
    return replace(found, severity="unknown", actual=f"{found.actual}; {OF_NO_KNOWN_HOST}") if host in ranks.nowhere else found


def _ended_first(jobs: Peers, gpus: int, ranks: PrintedRanks, names: HostNames) -> dict[str, Finding]:
    """How the training ended on the hosts where it ended with an error of their own, else on those of which a launcher on another host reports it.

    jobs: the rows of load_jobs by host; gpus: of a host; ranks: where those are that these hosts printed lines of; names:
    those of the hosts.
    """
    ill, reported = _ended_ill(jobs), _reported(jobs)
    ended = {host: _end_of(host, end, gpus, ranks) for host, end in ill.items()}
    own = {ranks.elsewhere.get(host, host): ended[host] for host, end in ill.items() if host not in reported and is_own(end.words)}
    if not own and reported:
        return {other: _by_launcher(ill[host].words) for host, other in reported.items()}
    if not own and (printed := {home: ended[host] for host, home in ranks.elsewhere.items() if not follows(ill[host].words)}):
        return printed
    shared = _shared(jobs)
    most = [host for host, end in ill.items() if alike(end.words) == shared and not follows(end.words) and not is_of_a_connection(end.words)]
    if not own and most and all(follows(end.words) for host, end in ill.items() if host not in most):
        # The few whose connections were lost ended for the sake of the many.
        return {host: ended[host] for host in most}
    lost = lost_peer({host: end.words for host, end in ill.items()}, names) if not own else None
    of_lost = ill[lost.host].words if lost and lost.host in ill else ""
    if lost and (not is_error(of_lost) or follows(of_lost) or names.peers(of_lost)):
        return {lost.host: _lost(lost, of_lost)}
    apart = [host for host, end in ill.items() if not follows(end.words) and alike(end.words) != shared]
    if own or shared is None or len(apart) != 1:
        return own
    (host,), (words, _status, rank) = apart, ill[apart[0]]
    # What no table knows is a failure of nobody; that no other host ended so shows where it began. Where it ended with no error the others may say why.
    of_others = next((end.words for end in ill.values() if alike(end.words) == shared), "")
    alone = OF_TRAINING.alone.format(host=host)
    # An error of the system in the line says more than what is known of its other words.
    cause, fix = _why(words) if refused_by_launcher(words) or (known_error(words) and not names_system_error(words)) else explain_unknown(words, alone)
    if not is_error(words) and not known_error(words) and known_error(of_others):
        of_cause, fix = explained(of_others)
        cause = f"{alone}It printed no error. Of what the other hosts ended with: {of_cause}"
    return {host: Finding(_speaker(rank, words, gpus), "a normal exit", words, "unknown", cause=cause, fix=fix, judged=True)}


def _lost(lost: LostPeer, words: str) -> Finding:
    """The host to which most others lost their connections; words: what it ended with itself."""
    cause, fix = explained(lost.words)
    where = at_device(lost.device, "in the training") if lost.device else Place("the training")
    own = f"{words}; {lost.by[0]}" if words else lost.by[0]
    return Finding(where, "connections that last", f"{own}: {lost.words}", "unknown", cause=f"{lost.said}{cause}", fix=fix, judged=True)


def _with_last(found: Finding, job: dict[str, t.Any], before: str = "") -> Finding:
    """A finding of a training that did not end with what the host had logged last, which explains it where it is known; job: its row of load_jobs."""
    line = job.get("last_line")
    if not line:
        return found
    cause, fix = (found.cause, found.fix) if found.cause is not None else explained(line) if known_error(line) else NOT_AT_ITS_END
    return replace(found, actual=f"{found.actual}; it logged last{before}: {line}", cause=cause, fix=fix)


def _stopped_first(jobs: Peers, gpus: int) -> dict[str, Finding]:
    """The hosts whose logs stopped while those of most others went on, in a training that did not end; jobs: the rows of load_jobs by host."""
    of_host = {host: row for host, rows in jobs.items() for row in rows if row["kind"] == "training" and row["status"] != "ok"}
    found = {}
    for host, seconds in stopped_first(of_host).items():
        row, (cause, fix) = of_host[host], STOPPED_FIRST
        if known_error(row["last_line"]):
            cause, fix = (" ".join(pair) for pair in zip(explained(row["last_line"]), STOPPED_FIRST))
        where = _speaker(row.get("last_rank"), str(row["last_line"]), gpus)
        ended = Finding(where, "to log on as the other hosts", str(row["words"]), "unknown", cause=cause, fix=fix, judged=True)
        found[host] = _with_last(ended, row, f", {seconds:.0f} s before the others")
    return found


def _speaker(rank: int | None, words: str, gpus: int) -> Place:
    """The rank whose line an error is, with its GPU: torchrun numbers the ranks of a host in order."""
    return _of_rank(rank, gpus, named_nic(words)) if rank is not None else _nic_or_training(words)


def _nic_or_training(words: str) -> Place:
    nic = named_nic(words)
    return at_device(nic, "in the training") if nic else Place("the training")


def _of_rank(rank: int, gpus: int, nic: str | None = None) -> Place:
    return at_rank(rank, f"(GPU {rank % gpus}{f', {nic}' if nic else ''})", gpu=rank % gpus, device=nic)


def _ended_ill(jobs: Peers) -> dict[str, End]:
    """How the training ended on the hosts where it did not end well."""
    return {host: _end(row) for host, rows in jobs.items() for row in rows if row["kind"] == "training" and row["status"] != "ok"}


def _end(row: t.Mapping[str, t.Any]) -> End:
    return End(str(row["words"]), row["status"], row.get("words_rank"))


def _shared(jobs: Peers) -> str | None:
    """What more than half of several hosts ended with alike, of which each says only that another one did not go on; None where they ended otherwise."""
    ends = [alike(end.words) for end in _ended_ill(jobs).values()]
    most = max(ends, key=ends.count, default=None)
    return most if most is not None and 2 * ends.count(most) > len(ends) and 1 < ends.count(most) < len(ends) else None


def _ended(end: End) -> Finding:
    """How the training of the host ended, with the cause of its error where it has one; an error of the host itself is a failure of it."""
    cause, fix = _why(end.words)
    own = is_own(end.words)
    return Finding(_nic_or_training(end.words), "a normal exit", end.words, "fail" if own else end.status, cause=cause, fix=fix, judged=own)


def _why(words: str) -> tuple[str | None, str | None]:
    """Cause and fix of what a training ended with: a rank's error that is known, else its launcher's or scheduler's, else one that is not known."""
    if refused_by_launcher(words) and not known_error(words):
        return explained_refusal(words)
    return explained(words) if known_error(words) or is_error(words) else (None, None)


def _of_speaker(end: End, gpus: int) -> Finding:
    """As ``_ended``, at the rank that prints the error; one that follows from another rank's is none of the rank that prints it."""
    found = _ended(end)
    return found if follows(end.words) else replace(found, where=_speaker(end.rank, end.words, gpus))


def _then(jobs: Rows) -> str:
    """How the training ended on the host of a rank that did not come, which follows from that."""
    return "".join(f"; then its training ended: {cut(str(row['words']))}" for row in jobs if row["kind"] == "training" and row["status"] != "ok")


def _named(one: Named, gpus: int, then: str = "") -> Finding:
    """A rank that others waited for, with its GPU where its host is known: torchrun numbers the ranks of a host in order."""
    where = _of_rank(one.rank, gpus) if one.host else at_rank(one.rank)
    cause, fix = NOT_HEARD if one.silent else STUCK if one.stuck else UNFINISHED if one.unfinished else NEVER_ARRIVED if one.certain else UNLIKE_OTHERS
    severity = None if one.certain else "unknown"
    return Finding(where, one.expected, f"{one.words}{then}", severity, host=one.host, cause=cause, fix=fix, judged=True)
