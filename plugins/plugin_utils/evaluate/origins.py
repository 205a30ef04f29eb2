# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where began what several nodes see: of findings on the way of damaged frames, or at both ends of a session or fibre, the one at the culprit."""

from __future__ import annotations

import typing as t

from ..pod.names import port_name
from .explaining_checks import FOLLOWS, FOLLOWS_ON_HOST, JUDGE_THE_RUN, LOSING_LINKS, OF_MARKS
from .verdicts import FindingRecord, VerdictRecord, place_of

# Of checks that see the effect of what another check finds: that check; the others see the same as at the place where it began.
SEEN_BY = {
    "errors_clean": "crc_clean", "optic_rx_power": "optic_health", "ecmp_paths": "prefixes_announced", "collectives_correct": "slow_node",
    "nic_bit_error_rate": "hosts_receive_cleanly", "symbol_error_rate": "hosts_receive_cleanly",
    "link_flaps": "hosts_keep_links", "nic_link_flaps": "hosts_keep_links",
}  # fmt: skip
# What other checks find at its beginning, where these alone explain it: notifications that the sender's leaf drops are no fault of its NIC, nor is what
# a switch drops or damages one of the hosts that send it again, what a leaf does not mark one of the receivers on it, a link that several hosts lost to it,
# nor pauses that come from a receiver, a NIC that does not slow down or a switch that does not mark.
BEGINS_AT = {
    check: FOLLOWS[check]
    for check in (
        "rails_present",
        *LOSING_LINKS,
        "dcqcn_backs_off",
        "no_drops",
        "ecn_marks_under_load",
        "pfc_brief",
        "pauses_stay_local",
        "losses_under_load",
        "across_fills_uplinks",
        "fair_share",
    )
}
BEGINS_AT |= {check: FOLLOWS_ON_HOST[check] for check in (*OF_MARKS, "spine_marks")}
# Pauses, and rates beside a sender that does not slow down, are of nodes that have no part in what they come from.
SPREADING = frozenset(("pauses_stay_local", "pfc_brief", "fair_share"))
# A rate beside a sender that does not slow down begins only at a node that its finding names: the fastest sender, or the receiver.
AT_NAMED = frozenset(("fair_share",))
# Check, host and port; without a port a finding anywhere on the host.
Origin = tuple[str, str, str]


def name_origins(records: t.Iterable[VerdictRecord]) -> None:
    """Set ``origin`` of each finding that says where it began: the finding there that says so of no other place, if there is one."""
    at: dict[Origin, t.Mapping[str, t.Any]] = {}
    told: list[tuple[str, FindingRecord]] = []
    for record in records:
        if not record["findings"] and record["host"] and record["verdict"] == "unknown":
            # What was not read of a node is an origin as well: it is one finding of the whole node.
            at.setdefault((record["check"], record["host"], ""), {})
        for finding in record["findings"]:
            for place in origins_of(record["check"], finding):
                at.setdefault(place, finding)
            told.append((SEEN_BY.get(record["check"], record["check"]), finding))
    for check, finding in told:
        if (origin := _origin(check, finding, at)) is not None:
            finding["origin"] = origin


def name_end_of_run(records: t.Sequence[VerdictRecord]) -> None:
    """Set ``origin`` of each verdict without findings that could not be given since a rank of a host had ended the run: what another check says of that rank.

    Where a finding of the same layer explains that one it is this finding (``explained_by``).
    """
    for check, judging in JUDGE_THE_RUN.items():
        found = [(record["layer"], one) for record in records if record["check"] == check for one in record["findings"]]
        own = [(layer, one) for layer, one in found if not one.get("later") and not one.get("began_at")]
        # Of what no table calls a failure it is that of the one host at which all others began.
        only = own if len(own) < len(found) and len({one["host"] for _layer, one in own}) == 1 else []
        for layer, first in ([(layer, one) for layer, one in own if one["severity"] == "fail"] or only)[:1]:
            why = next((one for one in first.get("explained_by") or () if one["layer"] == layer), None)
            origin = (why["check"], why["host"] or "", "") if why else (check, first["host"] or "", "")
            for record in records:
                if record["layer"] == layer and record["check"] in judging and record["verdict"] == "unknown" and not record["findings"]:
                    record["origin"] = origin


def name_beginning(check: str, finding: FindingRecord, explaining: t.Sequence[tuple[str, FindingRecord]]) -> None:
    """Set ``origin`` of a finding that only other checks' (check, finding) explain wholly, where it is declared to begin at these.

    One with a cause of its own begins only at one that names its host, unless this cause is only why it cannot be judged by itself.
    """
    by_itself = finding.get("cause") and not (finding["severity"] == "unknown" and finding.get("judged"))
    own = [(one, its) for one, its in explaining if not by_itself or finding["host"] in place_of(its).peers]
    own = [(one, its) for one, its in own if check not in AT_NAMED or its["host"] in place_of(finding).peers]
    if check in SPREADING and len({(one, _said(its)) for one, its in own}) > 1:
        # Of which of several it comes is not known, unless all of them began at one place, or are the same on several hosts.
        return
    if own and all(one in BEGINS_AT.get(check, ()) for one, _its in explaining):
        first, its = own[0]
        finding["origin"] = (first, its["host"] or "", port_name(place_of(its).port or ""))


def _said(finding: FindingRecord) -> tuple[str, str | None, Origin | None]:
    """What a finding says beside its place, by which it is one entry with those of other hosts, and where it began itself."""
    return finding["actual"], finding.get("cause"), finding.get("origin")


def name_shared_origins(behind: t.Sequence[tuple[FindingRecord, t.Sequence[tuple[str, FindingRecord]]]]) -> None:
    """Set ``origin`` of findings that others (check, finding) explain wholly and that began where all of those began; so of what follows from them."""
    _follow_up([pair for pair in behind if pair[0].get("origin")])
    waiting = [pair for pair in behind if not pair[0].get("origin")]
    while waiting:
        named = [(finding, origin) for finding, explaining in waiting if (origin := _shared_origin(explaining))]
        for finding, origin in named:
            finding["origin"] = origin
        waiting = [pair for pair in waiting if not pair[0].get("origin")] if named else []
    _follow_up([pair for pair in behind if pair[0].get("origin")])


def _follow_up(begun: t.Sequence[tuple[FindingRecord, t.Sequence[tuple[str, FindingRecord]]]]) -> None:
    """Where all that others were said to begin at began elsewhere itself, let these begin there, too."""
    at: dict[Origin, FindingRecord] = {}
    for check, its in (pair for _finding, explaining in begun for pair in explaining):
        for place in origins_of(check, its):
            at[place] = at[place] if place in at and not at[place].get("origin") else its
    for finding, _explaining in begun:
        seen: set[Origin] = set()
        one: t.Mapping[str, t.Any] | None = at.get(finding["origin"])
        while one is not None and (before := one.get("origin")) and before not in seen:
            seen.add(finding["origin"])
            finding["origin"] = before
            one = at.get(before)


def _shared_origin(explaining: t.Sequence[tuple[str, FindingRecord]]) -> Origin | None:
    """Where all of some findings (check, finding) began; None where one began at its own place alone.

    One at that place is among them as much as those that began there.
    """
    origins = {origin for _check, its in explaining if (origin := its.get("origin"))}
    origin = origins.pop() if len(origins) == 1 else None
    return origin if origin and all(its.get("origin") or origin in origins_of(check, its) for check, its in explaining) else None


def origins_of(check: str, finding: FindingRecord) -> list[Origin]:
    """The names by which a finding is found as the origin of others."""
    host, port = finding["host"] or "", place_of(finding).port
    own = [(check, host, port_name(port))] if port else []
    return own if finding.get("began_at") else [*own, (check, host, "")]


def _origin(check: str, finding: FindingRecord, at: t.Mapping[Origin, t.Mapping[str, t.Any]]) -> Origin | None:
    """The place at the beginning of the way; None where no finding is there, or the way leads round."""
    seen: set[Origin] = set()
    one: t.Mapping[str, t.Any] | None = finding
    place: Origin | None = None
    while one is not None and (before := one.get("began_at")):
        place = (check, before[0], port_name(before[1]))
        if place in seen:
            return None
        seen.add(place)
        one = at.get(place)
    return place if one is not None else None
