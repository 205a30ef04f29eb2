# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of congestion by plain calls: three hosts of one rail, two of them sending to the third, and a leaf with two uplinks."""

from __future__ import annotations

import fnmatch
import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.congestion import (
    learned,
    load,
    marks,
    notifications,
    pauses,
    settings,
    switches,
    unmarked,
    uplinks,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue

HOSTS = ("gpu01", "gpu02", "gpu03")
RECEIVER, SENDERS = "gpu03", ("gpu01", "gpu02")
RAILS = [{"device": "mlx5_0", "netdev": "ens0"}]
SECONDS = 30
NIC = {"rx_bytes_phy": 10**12, "tx_bytes_phy": 10**12, "rx_prio0_bytes": 10**9, "rx_prio3_bytes": 10**12, "rx_prio3_pause": 7, "tx_prio3_pause": 0}
NIC |= {"rx_prio3_pause_duration": 10**6, "rx_prio3_discards": 4, "rx_discards_phy": 0}
RDMA = {"np_ecn_marked_roce_packets": 10, "np_cnp_sent": 10, "rp_cnp_handled": 10, "rp_cnp_ignored": 0, "packet_seq_err": 3, "local_ack_timeout_err": 1}
RDMA |= {"out_of_sequence": 0}


def summary(findings: t.Iterable[t.Any]) -> list[tuple[t.Any, ...]]:
    return [(one.host, str(one), one.severity) for one in findings]


def rows(counters: dict[str, int], key: str, name: str, **grown: int | None) -> list[dict[str, t.Any]]:
    """Counters as rows, some of them grown; None: the driver does not have it."""
    values = {one: value + (grown.get(one) or 0) for one, value in counters.items() if grown.get(one, 0) is not None}
    return [{key: name, "name": one, "value": value} for one, value in values.items()]


def nic(**grown: int | None) -> list[dict[str, t.Any]]:
    return rows(NIC, "netdev", "ens0", **grown)


def rdma(**grown: int | None) -> list[dict[str, t.Any]]:
    return rows(RDMA, "device", "mlx5_0", **grown)


def incast(role: str, **values: t.Any) -> dict[str, t.Any]:
    peer = {"sender": RECEIVER, "receiver": "gpu01"}[role]
    return {"round": 1, "role": role, "device": "mlx5_0", "peer": peer, "peer_device": "mlx5_0", "seconds": SECONDS, **values}


def job(host: str, role: str = "client", peer: str = RECEIVER, status: str = "ok", words: str | None = None) -> dict[str, t.Any]:
    item = f"1 {host if role == 'client' else peer}"
    ends = {"role": role, "item": item, "device": "mlx5_0", "peer": peer, "peer_device": "mlx5_0"}
    return {"kind": "incast", **ends, "round": 1, "status": status, "words": words, "error": None}


JOBS = {**{host: [job(host)] for host in SENDERS}, RECEIVER: [job(RECEIVER, "server", host) for host in SENDERS]}


def rates(*gbit_s: float) -> dict[str, list[dict[str, t.Any]]]:
    return {host: [{"item": f"1 {host}", "gbit_s": rate}] for host, rate in zip(SENDERS, gbit_s)} | {RECEIVER: []}


FAIR = rates(195.0, 190.0)
BYTES = int(385 * 1e9 / 8 * SECONDS)


def idle(**grown: int | None) -> list[t.Any]:
    mine = {name: grown[name] for name in grown if name in NIC}
    its = {name: grown[name] for name in grown if name in RDMA}
    return list(load.idle_quiet(nic(), nic(**mine), rdma(), rdma(**its), RAILS, 3, 5, 0.5))


def test_an_idle_pod_is_quiet_in_every_counter() -> None:
    assert idle() == [] and idle(rx_bytes_phy=10**8) == []
    assert summary(idle(rx_prio3_pause=2)) == [(None, "ens0 pauses received: expected none while the pod is idle, got 2", None)]
    for name in ("tx_prio3_pause", "rx_prio3_discards", "rx_discards_phy", "np_ecn_marked_roce_packets", "np_cnp_sent", "packet_seq_err"):
        assert [one.severity for one in idle(**{name: 1})] == [None], name
    with pytest.raises(CannotTell, match=r"not idle: ens0 carries 160\.00 Gb/s"):
        idle(tx_bytes_phy=10**11, rx_prio3_pause=2)


def test_idle_is_not_reported_without_counters_or_after_a_reset() -> None:
    lacking = [one for one in nic() if not one["name"].startswith("rx_prio3_pause")]
    found = list(load.idle_quiet(lacking, lacking, rdma(), rdma(), RAILS, 3, 5, 0.5))
    assert summary(found) == [(None, "ens0 pauses received: expected event counter, got not reported", "unknown")]
    assert {one.severity for one in load.idle_quiet([], [], [], [], RAILS, 3, 5, 0.5)} == {"unknown"}
    dumb = [one for one in nic() if not one["name"].endswith("bytes_phy")]
    assert summary(load.idle_quiet(dumb, dumb, rdma(), rdma(), RAILS, 3, 5, 0.5)) == [(None, "ens0 bytes: expected byte counter, got not reported", "unknown")]
    with pytest.raises(CannotTell, match="counters were reset: ens0 rx_prio3_pause went back from 9 to 7"):
        list(load.idle_quiet(nic(rx_prio3_pause=2), nic(), rdma(), rdma(), RAILS, 3, 5, 0.5))


def test_every_planned_test_has_run() -> None:
    planned = [incast("sender")]
    assert list(load.incasts_ran(JOBS["gpu01"], JOBS, planned, "", "gpu01")) == []
    assert summary(load.incasts_ran([], {}, planned, "", "gpu01")) == [
        (None, "mlx5_0 as sender: expected a test with gpu03 mlx5_0, got not started", "unknown")
    ]
    for status, severity in (("fail", None), ("unknown", "unknown")):
        found = list(load.incasts_ran([job("gpu01", status=status, words="Couldn't connect")], {}, planned, "", "gpu01"))
        assert summary(found) == [(None, "mlx5_0 with gpu03 mlx5_0: expected a completed test, got Couldn't connect", severity)]
    with pytest.raises(CannotTell, match="no congestion was made: rack_01 has 2 hosts"):
        list(load.incasts_ran([], {}, [], "rack_01 has 2 hosts", "gpu01"))
    with pytest.raises(CannotTell, match="no incast is planned here"):
        list(load.incasts_ran([], {}, [], "", "gpu01"))


def in_class(**grown: int) -> list[t.Any]:
    return list(load.right_class(nic(), nic(**grown), JOBS, FAIR, [incast("receiver")], "", RECEIVER, RAILS, 3))


def test_the_load_is_proved_by_the_bytes_of_its_priority() -> None:
    assert in_class(rx_prio3_bytes=BYTES) == []
    words = "ens0 priority 3: expected about 1.44e+03 GB received, got 0 GB; priority 0 received 1.44e+03 GB"
    assert summary(in_class(rx_prio0_bytes=BYTES)) == [(None, words, None)]
    assert summary(in_class()) == [(None, "ens0 priority 3: expected about 1.44e+03 GB received, got 0 GB", "unknown")]
    bare = [one for one in nic() if one["name"] != "rx_prio3_bytes"]
    found = list(load.right_class(bare, bare, JOBS, FAIR, [incast("receiver")], "", RECEIVER, RAILS, 3))
    assert summary(found) == [(None, "ens0 priority 3: expected receive byte counter, got not reported", "unknown")]
    with pytest.raises(CannotTell, match="rates of the senders"):
        list(load.right_class(nic(), nic(), JOBS, {}, [incast("receiver")], "", RECEIVER, RAILS, 3))


def grouped(make: t.Callable[..., t.Any], **of_host: dict[str, int | None]) -> dict[str, t.Any]:
    return {host: make(**of_host.get(host, {})) for host in HOSTS}


MARKED = {RECEIVER: {"np_ecn_marked_roce_packets": 500, "np_cnp_sent": 40}, "gpu01": {"rp_cnp_handled": 20}, "gpu02": {"rp_cnp_handled": 20}}


def marked(now: dict[str, dict[str, int | None]], rate: t.Any = None, jobs: t.Any = None, **paused: dict[str, int | None]) -> list[t.Any]:
    return list(
        marks.ecn_marks_under_load(
            JOBS if jobs is None else jobs,
            FAIR if rate is None else rate,
            grouped(rdma),
            grouped(rdma, **now),
            grouped(nic),
            grouped(nic, **paused),
            RAILS,
            400,
            3,
        )
    )


def test_marks_and_why_there_are_none() -> None:
    assert marked(MARKED) == []
    early = "mlx5_0 as receiver: expected ECN-marked packets, got none, and its senders were paused 90 times: pauses come before marks"
    assert summary(marked({}, gpu01={"rx_prio3_pause": 90})) == [(RECEIVER, early, None)]
    off = "mlx5_0 as receiver: expected ECN-marked packets, got none at 385 of 400 Gb/s, and no pause: marking is not enabled"
    assert summary(marked({})) == [(RECEIVER, off, None)]
    calm = "mlx5_0 as receiver: expected ECN-marked packets, got none, at 60 of 400 Gb/s: no congestion was made"
    assert summary(marked({}, rates(40.0, 20.0))) == [(RECEIVER, calm, "unknown")]
    # From 80 percent of the link on, a port is congested.
    assert [[one.severity for one in marked({}, rates(total - 20.0, 20.0))] for total in (319.0, 320.0)] == [["unknown"], [None]]
    assert [one.severity for one in marked({}, {})] == ["unknown"]
    assert [one.severity for one in marked({RECEIVER: {"np_ecn_marked_roce_packets": None}})] == ["unknown"]
    with pytest.raises(CannotTell, match="no test of an incast completed"):
        marked(MARKED, jobs={host: [job(host, status="fail")] for host in SENDERS})


def test_pauses_of_rounds_with_another_receiver_are_no_pauses_before_marks() -> None:
    """Both senders are paused while they fill another receiver, which marks; this one they never congest."""
    other = {**job("gpu01", peer="gpu02"), "item": "2 gpu01", "round": 2}
    jobs = {**JOBS, "gpu01": [*JOBS["gpu01"], other]}
    both = {**rates(40.0, 20.0), "gpu01": [*rates(40.0, 20.0)["gpu01"], {"item": "2 gpu01", "gbit_s": 390.0}]}
    of_other = {"gpu02": {"np_ecn_marked_roce_packets": 500}}
    (found,) = marked(of_other, both, jobs, gpu01={"rx_prio3_pause": 90})
    calm = "got none, at 60 of 400 Gb/s: no congestion was made; gpu01 was paused 90 times, in rounds with other receivers too"
    assert (found.host, found.severity, found.judged) == (RECEIVER, "unknown", True) and calm in str(found)
    (found,) = marked(of_other, both, jobs, gpu01={"rx_prio3_pause": 90}, gpu02={"rx_prio3_pause": 7})
    assert found.severity is None and "its senders were paused 7 times: pauses come before marks" in str(found), "gpu02 sends to this receiver alone"
    full = {**both, **{host: [{"item": f"1 {host}", "gbit_s": 190.0}] for host in SENDERS}}
    (found,) = marked(of_other, {**full, "gpu01": [*full["gpu01"], both["gpu01"][1]]}, jobs, gpu01={"rx_prio3_pause": 90})
    assert found.severity is None and "none at 380 of 400 Gb/s; gpu01 was paused 90 times, in rounds with other receivers too" in str(found)


def backs_off(now: dict[str, dict[str, int | None]]) -> list[t.Any]:
    return list(marks.dcqcn_backs_off(JOBS, grouped(rdma), grouped(rdma, **now)))


def test_notifications_and_who_does_not_heed_them() -> None:
    assert backs_off(MARKED) == []
    deaf = "mlx5_0 as sender: expected notifications handled, got none, though its receivers sent them"
    assert summary(backs_off({**MARKED, "gpu02": {}})) == [("gpu02", deaf, None)]
    mute = "mlx5_0 as receiver: expected notifications sent for marks, got none for 510 marked packets"
    assert summary(backs_off({**MARKED, RECEIVER: {"np_ecn_marked_roce_packets": 500}}))[0][0] == RECEIVER
    assert mute.replace("510", "500") in summary(backs_off({**MARKED, RECEIVER: {"np_ecn_marked_roce_packets": 500}}))[0][1]
    ignored = backs_off({**MARKED, "gpu01": {"rp_cnp_handled": 3, "rp_cnp_ignored": 2}})
    assert summary(ignored) == [("gpu01", "mlx5_0 as sender: expected no notification ignored, got 2", "warn")]
    assert [one.severity for one in backs_off({**MARKED, "gpu01": {"rp_cnp_handled": None}})] == ["unknown"]
    with pytest.raises(CannotTell, match="no sender had to reduce its rate"):
        backs_off({})


def test_the_slowest_sender_gets_half_of_the_fastest() -> None:
    assert list(marks.fair_share(JOBS, FAIR, 50)) == []
    words = "mlx5_0 to gpu03 mlx5_0 in round 1: expected 150 Gb/s or more, got 80 Gb/s, and gpu01 mlx5_0 300"
    assert summary(marks.fair_share(JOBS, rates(300.0, 80.0), 50)) == [("gpu02", words, None)]
    with pytest.raises(CannotTell, match="rates of the senders: not reported"):
        list(marks.fair_share(JOBS, {}, 50))


@pytest.mark.parametrize(
    ("rate", "fair"), [((296.0, 74.0), True), ((185.0, 185.0), True), ((340.0, 30.0), False), ((60.0, 310.0), False)], ids=["flows", "senders", "few", "many"]
)
def test_a_sender_with_fewer_queue_pairs_may_get_less(rate: tuple[float, float], fair: bool) -> None:
    pairs = dict(zip(SENDERS, (4, 1)))
    jobs = {**JOBS, **{host: [{**job(host), "qps": pairs[host]}] for host in SENDERS}}
    found = list(marks.fair_share(jobs, rates(*rate), 50))
    assert [one.host for one in found] == ([] if fair else ["gpu01" if rate[0] < rate[1] else "gpu02"])
    assert fair or "queue pair" in found[0].actual


def test_senders_that_back_off_too_far_leave_the_link_empty() -> None:
    assert list(marks.incast_fills_link(JOBS, FAIR, [], 400, 80)) == []
    words = "mlx5_0 in round 1: expected 320 Gb/s or more of 2 senders together, got 281"
    assert summary(marks.incast_fills_link(JOBS, rates(141.0, 140.0), [], 400, 80)) == [(RECEIVER, words, None)]
    with pytest.raises(CannotTell, match="rates of the senders: not reported"):
        list(marks.incast_fills_link(JOBS, {}, [], 400, 80))


def brief(during: list[dict[str, t.Any]] | None = None, planned: list[dict[str, t.Any]] | None = None, **grown: int | None) -> list[t.Any]:
    planned = [incast("sender")] if planned is None else planned
    now = nic(**grown)
    was = [one for one in nic() if one["name"] in {row["name"] for row in now}]
    return list(pauses.pfc_brief(was, now, planned, "", RAILS, 3, 1, 5, during))


def test_pauses_are_brief() -> None:
    assert brief() == [] and brief(rx_prio3_pause=5, rx_prio3_pause_duration=200_000) == []
    found = summary(brief(rx_prio3_pause=50, rx_prio3_pause_duration=600_000))
    assert found == [(None, "ens0: expected paused for less than 1 % of the time, got 2 % of 30 s", "warn")]
    samples = [{"netdev": "ens0", "name": "rx_prio3_pause_duration", "value": value, "seconds": at} for value, at in ((0, 0.0), (0, 10.0), (9_000_000, 20.0))]
    found = summary(brief(samples, rx_prio3_pause=50, rx_prio3_pause_duration=9_000_000))
    assert found == [(None, "ens0: expected paused for less than 5 % of the time, got 30 % of 30 s, 90 % at worst between two samples", None)]


def test_a_rail_outside_of_the_load_is_not_paused_and_what_is_not_reported_is_unknown() -> None:
    elsewhere = [incast("sender", device="mlx5_1")]
    assert brief(planned=elsewhere) == []
    words = "ens0: expected no pause on a rail outside of the load, got 3 pauses, 0.001 s"
    assert summary(brief(planned=elsewhere, rx_prio3_pause=3, rx_prio3_pause_duration=1000)) == [(None, words, None)]
    assert [one.severity for one in brief(rx_prio3_pause=3, rx_prio3_pause_duration=None)] == ["unknown"]
    assert brief(rx_prio3_pause=0, rx_prio3_pause_duration=None) == []
    assert [one.severity for one in brief(rx_prio3_pause=None, rx_prio3_pause_duration=None)] == ["unknown"]


def test_a_receiver_that_pauses_the_fabric_is_slow() -> None:
    def slow(**grown: int | None) -> list[t.Any]:
        now = nic(**grown)
        was = [one for one in nic() if one["name"] in {row["name"] for row in now}]
        return list(pauses.slow_receiver(was, now, [incast("receiver")], "", RAILS, 3, 400, 1, 5))

    assert slow() == []
    assert slow(tx_prio3_pause=3) == [], "three frames stop nothing"
    words = "at most 28 % of 30 s (100000 frames): the host is slower than its link"
    (found,) = slow(tx_prio3_pause=100_000)
    assert str(found) == f"ens0: expected pauses sent for less than 5 % of the time, got {words}"
    assert (found.severity, found.judged) == ("unknown", True) and "not for how long" in found.cause, "frames may stand for next to no time"
    assert [one.severity for one in slow(tx_prio3_pause=400_000)] == [None], "enough frames to stop the port all of the time"
    assert [one.severity for one in slow(tx_prio3_pause=10_000)] == ["warn"]
    timed = {"netdev": "ens0", "name": "tx_prio3_pause_duration"}
    for microseconds, severities in ((10_000, []), (600_000, ["warn"]), (9_000_000, [None])):
        was, now = ([*nic(tx_prio3_pause=grown), {**timed, "value": value}] for grown, value in ((0, 7), (100_000, 7 + microseconds)))
        found = list(pauses.slow_receiver(was, now, [incast("receiver")], "", RAILS, 3, 400, 1, 5))
        assert [one.severity for one in found] == severities, "the time that the driver counts is better than the most that frames may stand for"
    assert [one.severity for one in slow(tx_prio3_pause=None)] == ["unknown"]


def lost(per_tb: float = 0, **grown: int | None) -> list[t.Any]:
    mine, its = ({name: grown[name] for name in grown if name in table} for table in (NIC, RDMA))
    return list(pauses.no_drops(nic(), nic(**mine), rdma(), rdma(**its), [incast("sender")], "", RAILS, 3, per_tb, False))


def test_no_packet_is_lost() -> None:
    assert lost() == []
    assert summary(lost(rx_prio3_discards=2, rx_discards_phy=1)) == [(None, "ens0: expected no packet discarded, got 3", None)]
    assert summary(lost(packet_seq_err=2, out_of_sequence=2)) == [(None, "mlx5_0 packet_seq_err: expected no growth, got 2", None)]
    # What is sent again has no cause of its own, with pauses or without, so that the switch which drops it is its place; the NIC's discards are its own.
    for per_tb in (0, 1):
        assert [one.cause for one in lost(per_tb, packet_seq_err=10**9)] == [None]
        assert ["receive buffer was full" in str(one.cause) for one in lost(per_tb, rx_prio3_discards=10**9)] == [True]
    assert [one.severity for one in lost(out_of_sequence=5)] == ["warn"]
    assert [one.severity for one in lost(local_ack_timeout_err=None)] == ["unknown"]
    assert [one.severity for one in pauses.no_drops([], [], rdma(), rdma(), [incast("sender")], "", RAILS, 3, 0, False)] == ["unknown"]


CABLES = [
    {"port": "Ethernet1/1", "peer": "gpu01", "peer_port": "ens0", "peer_role": "host"},
    {"port": "Ethernet3/1", "peer": "gpu03", "peer_port": "ens0", "peer_role": "host"},
    {"port": "Ethernet33/1", "peer": "spine01", "peer_port": "Ethernet0", "peer_role": "spine"},
    {"port": "Ethernet34/1", "peer": "spine02", "peer_port": "Ethernet0", "peer_role": "spine"},
]
PORTS = [cable["port"] for cable in CABLES]


def lossless(ports: list[str], on: tuple[int, ...] = (3,), **odd: tuple[int, ...]) -> list[dict[str, t.Any]]:
    return [{"port": port, "priority": number, "pfc": number in odd.get(port.partition("/")[0], on)} for port in ports for number in range(8)]


PEERS = {"gpu01": lossless(["ens0"]), "gpu03": lossless(["ens0"]), "spine01": lossless(["Ethernet0"]), "spine02": lossless(["Ethernet0"])}


def agrees(mine: list[dict[str, t.Any]], peers: t.Any = None, ecn: t.Any = None, others: t.Sequence[int] = ()) -> list[t.Any]:
    return list(settings.qos_agrees(mine, PEERS if peers is None else peers, CABLES, 3, list(others), True, ecn))


def test_both_ends_of_a_cable_have_the_same_lossless_priority() -> None:
    # A switch may write Et1/1 here and Ethernet1/1 there.
    assert agrees(lossless([port.replace("Ethernet", "Et") for port in PORTS])) == []
    found = agrees(lossless(PORTS, Ethernet33=()))
    assert summary(found) == [(None, "Ethernet33/1 PFC: expected on priority 3 only, got on none, and on 3 at spine01 Ethernet0", None)]
    assert [one.where.port for one in found] == ["Ethernet33/1"]
    assert "got on 3, 4" in str(agrees(lossless(PORTS, Ethernet1=(3, 4)))[0])
    found = agrees(lossless(PORTS), {**PEERS, "gpu01": lossless(["ens0"], ())})
    assert summary(found) == [(None, "Ethernet1/1 PFC: expected on priority 3 only at gpu01 ens0 too, got on none there", None)]
    # A switch at the other end has a finding of its own.
    assert agrees(lossless(PORTS), {**PEERS, "spine01": lossless(["Ethernet0"], (4,))}) == []
    assert [one.severity for one in agrees(lossless(PORTS), {key: value for key, value in PEERS.items() if key != "spine02"})] == ["unknown"]
    assert [one.severity for one in agrees(lossless(PORTS[1:]))] == ["unknown"]


def test_a_host_below_a_closed_gate_is_not_asked_for_and_a_switch_always_is() -> None:
    def found(*not_asked: str) -> list[str]:
        return [str(one.where) for one in settings.qos_agrees(lossless(PORTS), {}, CABLES, 3, [], True, None, None, not_asked)]

    assert len(found()) == len(CABLES)
    hosts = [f"{cable['port']} PFC" for cable in CABLES if cable["peer"] == "gpu01"]
    assert hosts and found("gpu01") == [place for place in found() if place not in hosts]
    assert found("spine01", "spine02") == found()


def test_the_end_of_a_virtual_function_is_not_asked_for_and_that_of_the_switch_is_judged() -> None:
    of_nics = {"gpu01": [{"netdev": "ens0", "vendor": "0x15b3", "device": "0x101e"}], "gpu03": [{"netdev": "ens0", "vendor": "0x15b3", "device": "0x1021"}]}
    peers = {node: rows for node, rows in PEERS.items() if node.startswith("spine")}

    def found(mine: list[dict[str, t.Any]]) -> list[tuple[str, str | None]]:
        return [(str(one.where), one.severity) for one in settings.qos_agrees(mine, peers, CABLES, 3, [], True, None, of_nics)]

    assert found(lossless(PORTS)) == [("Ethernet3/1 PFC", "unknown")]
    assert found(lossless(PORTS, Ethernet1=())) == [("Ethernet1/1 PFC", None), ("Ethernet3/1 PFC", "unknown")]


def test_a_switch_may_be_lossless_on_more_priorities_than_its_hosts() -> None:
    assert agrees(lossless(PORTS, (3, 4)), others=[4]) == []
    found = agrees(lossless(PORTS, (3, 4), Ethernet3=(4,)), {**PEERS, "gpu01": lossless(["ens0"], (4,))}, others=[4])
    assert [str(one) for one in found] == [
        "Ethernet1/1 PFC: expected on priority 3, and at most on 4 besides at gpu01 ens0 too, got on 4 there",
        "Ethernet3/1 PFC: expected on priority 3, and at most on 4 besides, got on 4, and on 3 at gpu03 ens0",
    ]


def test_a_switch_that_has_thresholds_and_does_not_mark_is_found() -> None:
    def profile(marking: bool, port: str | None = None, classes: tuple[int, ...] = (), queue: int | None = None) -> dict[str, t.Any]:
        return {"profile": "P" if port is None else None, "port": port, "queue": queue, "marking": marking, "traffic_classes": list(classes)}

    assert agrees(lossless(PORTS), ecn=[profile(True), profile(False)]) == []
    # A port without thresholds of its own has those of the profile.
    assert agrees(lossless(PORTS), ecn=[profile(True, queue=3), profile(False, queue=4), profile(True, PORTS[0], queue=3)]) == []
    assert "marking is not enabled" in str(agrees(lossless(PORTS), ecn=[profile(False, queue=3), profile(True, queue=4)])[0])
    for nothing in ([], [profile(True, queue=4)]):
        assert summary(agrees(lossless(PORTS), ecn=nothing)) == [(None, "ECN: expected marking in queue 3, got no thresholds are configured for it", "warn")]
    assert "marking is not enabled" in str(agrees(lossless(PORTS), ecn=[profile(False)])[0])
    assert agrees(lossless(PORTS), ecn=[profile(True, port, (0, 3)) for port in PORTS]) == []
    marks = [profile(True, port, (3,)) for port in PORTS]
    assert summary(agrees(lossless(PORTS), ecn=[profile(True, PORTS[0], (0,)), *marks[1:]])) == [
        (None, "Ethernet1/1 ECN: expected marking on traffic class 3, got on traffic class 0", None)
    ]
    assert "not enabled" in str(agrees(lossless(PORTS), ecn=[profile(False, PORTS[0], (3,)), *marks[1:]])[0])
    assert summary(agrees(lossless(PORTS), ecn=marks[1:])) == [(None, "Ethernet1/1 ECN: expected marking on traffic class 3, got not reported", "unknown")]


def mapped(port: str | None, given: int, dscp: tuple[int, ...] = (26,), name: str | None = None) -> dict[str, t.Any]:
    return {"port": port, "map": name, "traffic_class": given, "dscp": list(dscp)}


@pytest.mark.parametrize(
    ("rows", "sentences"),
    [
        ([mapped(port, 3) for port in PORTS] + [mapped(PORTS[0], 6, (48,))], []),
        ([mapped(None, 3, name="AZURE"), mapped(None, 0, (0, 1), "AZURE")], []),
        ([mapped(None, 1, name="AZURE")], [(None, "maps: expected traffic class 3 for DSCP 26, got traffic class 1 in AZURE", None)]),
        ([mapped(None, 0, (48,), name="AZURE")], [(None, "maps: expected traffic class 3 for DSCP 26, got none in AZURE", None)]),
        ([], [(None, "maps: expected traffic class 3 for DSCP 26, got no map of any DSCP is configured", None)]),
        (
            [mapped(None, 3, name="AZURE"), mapped(None, 2, name="UPLINK")],
            [(None, "maps: expected traffic class 3 for DSCP 26, got traffic class 2 in UPLINK, and which ports use that map is not reported", "unknown")],
        ),
        (
            [mapped("Et1/1", 0), mapped(PORTS[1], 6, (48,)), mapped(PORTS[2], 3)],
            [
                (None, "Ethernet1/1: expected traffic class 3 for DSCP 26, got traffic class 0", None),
                (None, "Ethernet3/1: expected traffic class 3 for DSCP 26, got none", None),
                (None, "Ethernet34/1: expected traffic class 3 for DSCP 26, got not reported", "unknown"),
            ],
        ),
    ],
)  # fmt: skip
def test_a_switch_gives_the_dscp_of_roce_its_class(rows: t.Any, sentences: t.Any) -> None:
    assert summary(list(settings.dscp_agrees(rows, CABLES, 3, 26))) == sentences


def apart(rows: list[dict[str, t.Any]], cnp: int = 48) -> list[tuple[t.Any, ...]]:
    return summary(notifications.cnp_apart(rows, CABLES, 3, 26, cnp))


def test_notifications_have_a_class_of_their_own() -> None:
    expected = "expected a traffic class of its own for DSCP 48, got"
    assert apart([mapped(None, 3, name="AZURE"), mapped(None, 6, (48,), "AZURE")]) == []
    assert apart([mapped(port, 6, (48,)) for port in PORTS]) == []
    (found,) = notifications.cnp_apart([mapped(None, 3, (26, 48), "AZURE")], CABLES, 3, 26, 48)
    assert summary([found]) == [(None, f"map AZURE: {expected} traffic class 3, that of RoCE", None)]
    assert "queued behind" in (found.cause or "")
    # A map that may be that of no port.
    assert apart([mapped(None, 3, (48,), "A"), mapped(None, 6, (48,), "B")]) == [(None, f"map A: {expected} traffic class 3, that of RoCE", "warn")]
    assert apart([mapped(None, 1, (0, 48), "A")]) == [(None, f"map A: {expected} traffic class 1, that of best effort", "warn")]
    assert apart([mapped(None, 0, (48,), "A")]) == [(None, f"map A: {expected} traffic class 0, that of best effort", "warn")]
    assert apart([mapped(None, 3, (26,), "A")]) == [(None, f"map A: {expected} none: best effort", "warn")]
    assert apart([mapped("Et1/1", 3, (48,)), *(mapped(port, 6, (48,)) for port in PORTS[2:])]) == [
        (None, f"Ethernet1/1: {expected} traffic class 3, that of RoCE", None),
        (None, f"Ethernet3/1: {expected} not reported", "unknown"),
    ]
    for rows, dscp in (([], 48), ([mapped(None, 3)], 26)):
        with pytest.raises(CannotTell):
            apart(rows, dscp)


def frames(by: int | None = 3, **grown: tuple[int, int]) -> list[dict[str, t.Any]]:
    more = {port: grown.get(port.partition("/")[0], (0, 0)) for port in PORTS}
    return [{"port": port, "priority": by, "rx_frames": 5 + rx, "tx_frames": 5 + tx} for port, (rx, tx) in more.items()]


def drops(queue: t.Any = "UC3", column: str = "queue", **grown: int) -> list[dict[str, t.Any]]:
    return [{"port": port, column: queue, "dropped_packets": 9 + grown.get(port.partition("/")[0], 0)} for port in PORTS]


def faces(**roles: str) -> list[dict[str, t.Any]]:
    usual = {"Ethernet1": "sender", "Ethernet3": "receiver", "Ethernet33": "uplink", "Ethernet34": "uplink"} | roles
    return [{"round": 1, "port": port, "role": usual[port.partition("/")[0]], "peer": "", "flows": 600, "seconds": SECONDS} for port in PORTS]


def dropped(queue: t.Any = "UC3", paused: tuple[int, int] | None = (0, 0), way: str = "out", **grown: int) -> list[t.Any]:
    quiet = (drops(queue), drops(3, "priority_group"))
    now = (drops(queue, **grown), quiet[1]) if way == "out" else (quiet[0], drops(queue, "priority_group", **grown))
    was = quiet if way == "out" else (quiet[0], drops(queue, "priority_group"))
    pauses_told = (frames(), frames(Ethernet1=paused)) if paused is not None else (None, None)
    return list(switches.switch_drops(was[0], now[0], was[1], now[1], faces(), "", CABLES, 3, 0, *pauses_told))


def test_drops_are_reported_with_what_the_pauses_say() -> None:
    assert dropped() == []
    found = dropped(Ethernet3=8)
    words = "8 packets of UC3, and the switch never sent a pause: its drop threshold is below its pause threshold, or the priority is another"
    assert summary(found) == [(None, f"Ethernet3/1: expected no packet dropped on the way out, got {words}", None)] and found[0].where.port == "Ethernet3/1"
    assert "although the switch sent 60 pauses (0 here): too little headroom" in str(dropped(paused=(0, 60), Ethernet3=8)[0])
    assert "pauses are not reported" in str(dropped(paused=None, Ethernet3=8)[0])
    assert {one.severity for one in dropped("UC0", Ethernet3=8)} == {"unknown"}, "what another queue drops tells nothing"
    assert len(dropped("ALL3", Ethernet3=8)) == 1
    both = [*drops("UC0", Ethernet3=8), *drops()]
    quiet = drops(3, "priority_group")
    assert list(switches.switch_drops([*drops("UC0"), *drops()], both, quiet, quiet, faces(), "", CABLES, 3, 0)) == [], "another queue may drop"
    assert [one.severity for one in dropped(None, Ethernet3=8)] == [None]
    assert [one.severity for one in dropped(3, way="in", Ethernet1=8)] == [None]
    assert [one.severity for one in dropped(None, way="in", Ethernet1=8)] == ["warn"]
    assert {one.severity for one in dropped(4, way="in", Ethernet1=8)} == {"unknown"}


def test_what_the_load_loses_in_another_priority_group_is_a_drop_of_the_load() -> None:
    def found(count: int) -> list[t.Any]:
        quiet, mine = drops("UC3"), drops(3, "priority_group")
        was, now = [*mine, *drops(7, "priority_group")], [*mine, *drops(7, "priority_group", Ethernet1=count)]
        return list(switches.switch_drops(quiet, quiet, was, now, faces(), "", CABLES, 3, 0, frames(), frames()))

    (one,) = found(10_000)
    assert str(one) == "Ethernet1/1: expected no packet dropped on the way in, got 10000 packets of priority group 7"
    assert "priority group" in one.cause and "TC_TO_PRIORITY_GROUP_MAP" in one.fix
    assert found(9_999) == [], "of fewer other_classes_kept warns"
    missing = list(switches.switch_drops(drops()[1:], drops()[1:], drops(3, "priority_group"), drops(3, "priority_group"), faces(), "", CABLES, 3, 0))
    assert summary(missing) == [(None, "Ethernet1/1 drops on the way out: expected drop counter, got not reported", "unknown")]


def local(role: str = "leaf", turn: dict[str, str] | None = None, by: int | None = 3, spine: tuple[int, int] = (0, 0), **grown: tuple[int, int]) -> list[t.Any]:
    of_spine = [{"spine01": [{"port": "Ethernet0", "priority": by, "rx_frames": None, "tx_frames": sent}]} for sent in spine]
    return list(switches.pauses_stay_local(frames(by), frames(by, **grown), *of_spine, faces(**(turn or {})), "", CABLES, role, 3, 400, 1, 5))


def test_pauses_stay_at_the_target_leaf() -> None:
    assert local() == []
    assert local(Ethernet1=(0, 9), Ethernet33=(0, 4)) == [], "the leaf pauses its senders and its own uplinks"
    assert local(Ethernet33=(6, 0)) == [] and local("spine", Ethernet1=(0, 2)) == [], "a few frames stop nothing"
    found = local(Ethernet33=(60_000, 0))
    words = "60000: pauses spread over the spine (up to 16.8 % of 30 s)"
    assert summary(found) == [(None, f"Ethernet33/1: expected no pause from spine01, got {words}", "unknown")]
    assert found[0].judged and "not for how long" in found[0].cause
    assert [one.severity for one in local(Ethernet33=(400_000, 0))] == [None], "enough frames to stop the port all of the time"
    assert found[0].where.port == "Ethernet33/1" and [one.severity for one in local(Ethernet33=(6000, 0))] == ["warn"]
    words = "Ethernet1/1: expected no pause on a port outside of the load, got 0 pauses received, 20000 sent (up to 5.59 % of 30 s)"
    assert summary(local(turn={"Ethernet1": "idle"}, Ethernet1=(0, 20_000))) == [(None, words, "unknown")]
    assert "pauses spread over this spine" in str(local("spine", Ethernet1=(0, 20_000))[0])
    assert local("spine", Ethernet1=(20_000, 0)) == [], "a leaf may pause its spine"
    assert [one.severity for one in local(by=None, Ethernet34=(20_000, 0))] == ["unknown"], "all priorities together are judged as well"
    assert [one.severity for one in switches.pauses_stay_local([], [], {}, {}, faces(), "", CABLES, "leaf", 3, 400, 1, 5)] == ["unknown"] * 4


def test_pauses_that_a_spine_reports_to_have_sent_are_no_finding_of_the_leaf() -> None:
    assert local(Ethernet33=(60_000, 0), spine=(7, 60_007)) == []
    assert [one.where.port for one in local(Ethernet33=(60_000, 0), Ethernet34=(60_000, 0), spine=(7, 60_007))] == ["Ethernet34/1"], "spine02 reports nothing"
    assert len(local(Ethernet33=(60_000, 0), spine=(7, 60_006))) == 1, "the spine reports fewer"
    assert len(local(Ethernet33=(60_000, 0), spine=(60_000, 10))) == 1, "the spine's counters were reset"


def test_a_spine_that_passes_pauses_on_names_the_leaf_that_pauses_it() -> None:
    (found,) = local("spine", Ethernet1=(0, 400_000), Ethernet3=(90_000, 0), Ethernet33=(4, 0))
    assert found.where.port == "Ethernet1/1" and "gpu03 pauses this spine" in found.cause and "gpu03's ports" in found.fix
    (found,) = local("super_spine", Ethernet1=(0, 400_000), Ethernet33=(90_000, 0))
    assert "spine01 pauses this super-spine" in found.cause and found.fix.startswith("Look at pauses_stay_local of spine01 first")
    (found,) = local("spine", Ethernet1=(0, 400_000))
    assert (found.cause, found.fix) == (None, None), "nothing pauses the spine"


def quiet(*rows: t.Any) -> list[t.Any]:
    return list(switches.switch_quiet(*rows, CABLES, 3, 400, 2, 1, 5))


def test_switches_are_quiet_while_idle() -> None:
    assert quiet(frames(), frames(), drops(), drops()) == []
    assert quiet(frames(), frames(Ethernet3=(3, 0)), drops(), drops()) == [], "three frames stop nothing"
    found = quiet(frames(), frames(Ethernet3=(4_000_000, 0)), drops(), drops(Ethernet1=2))
    assert summary(found) == [
        (None, "Ethernet1/1 drops: expected none while the pod is idle, got 2", None),
        (None, "Ethernet3/1 pauses: expected none while the pod is idle, got 4000000 received, 0 sent (up to 100 % of 2 s)", None),
    ]
    for received, severity in ((500, "warn"), (2000, "unknown"), (30_000, None)):
        assert [one.severity for one in quiet(frames(), frames(Ethernet3=(received, 0)), drops(), drops())] == [severity]
    assert "gpu03 ens0 pauses this port" in found[1].cause and "PFC watchdog" in found[1].fix
    lacking = quiet(frames(), frames()[1:], drops(), drops("UC0"))
    words = [f"{port} drops: expected drop counter, got not reported" for port in PORTS]
    words.insert(0, f"{PORTS[0]} pauses: expected pause counter, got not reported")
    assert summary(lacking) == [(None, one, "unknown") for one in words]


def test_pauses_that_are_reported_in_one_direction_only_tell_nothing() -> None:
    one_way = [{**row, "rx_frames": None} for row in frames()]
    assert [one.severity for one in quiet(one_way, one_way, drops(), drops())] == ["unknown"] * 4
    assert [one.severity for one in switches.pauses_stay_local(frames(), one_way, {}, {}, faces(), "", CABLES, "leaf", 3, 400, 1, 5)] == ["unknown"] * 4


def counted(marked_packets: int | None, queue: str = "UC3") -> list[dict[str, t.Any]]:
    return [{"port": port, "queue": queue, "marked_packets": marked_packets} for port in PORTS]


def test_a_switch_with_an_incast_marks() -> None:
    def marks_of(was: int | None, now: int | None, result: t.Any = FAIR, paused: int = 0, **roles: str) -> list[t.Any]:
        ends = [{**row, "peer": RECEIVER, "device": "mlx5_0"} for row in faces(**roles)]
        return list(switches.switch_marks(counted(was), counted(now), ends, "", JOBS, result, 400, 3, 5, frames(), frames(Ethernet1=(0, paused))))

    assert marks_of(5, 9) == [] and marks_of(5, 9, {}) == []
    ends = [{**row, "peer": RECEIVER, "device": "mlx5_0"} for row in faces()]
    others = list(switches.switch_marks(counted(5, "UC0"), counted(9, "UC0"), ends, "", JOBS, FAIR, 400, 3, 5))
    assert len(others) == 1, "marks of another class prove nothing"
    none = [(None, "ECN: expected ECN-marked packets of the RoCE priority, got none on any port", None)]
    assert summary(marks_of(5, 5)) == none and summary(marks_of(5, 5, {}, paused=3)) == none, "a switch that pauses is congested"
    with pytest.raises(CannotTell, match="no congestion was made: no sender to this switch's receivers reported a rate"):
        marks_of(5, 5, {})
    with pytest.raises(CannotTell, match="no congestion was made: its receivers received 60 of 400 Gb/s at most"):
        marks_of(5, 5, rates(30.0, 30.0))
    with pytest.raises(NotApplicable, match="does not count marks"):
        marks_of(None, None)
    with pytest.raises(NotApplicable, match="no incast ends"):
        marks_of(5, 5, Ethernet3="sender")


def test_a_switch_that_counts_no_marks_is_judged_by_its_receivers() -> None:
    ends = [{**row, "peer": RECEIVER, "device": "mlx5_0"} for row in faces()]
    elsewhere = {"gpu04": {"np_ecn_marked_roce_packets": 9}}
    sends = {"gpu01": [*JOBS["gpu01"], {**job("gpu01", peer="gpu04"), "item": "elsewhere"}]}
    profile = {"profile": "P", "port": None, "queue": 3, "traffic_classes": []}

    def judged(now: t.Any = None, result: t.Any = FAIR, paused: int = 3, **more: t.Any) -> list[t.Any]:
        nics = {host: rdma(**(elsewhere if now is None else now).get(host, {})) for host in (*HOSTS, "gpu04")}
        given = {"ecn_counters_idle": counted(None), "ecn_counters": counted(None), "pod_incasts": ends, **more}
        rated = {**result, "gpu01": [*result["gpu01"], {"item": "elsewhere", "gbit_s": 100.0}]}
        return list(
            unmarked.receivers_are_marked(
                dict.fromkeys(nics, rdma()), nics, pod_incast_refused="", load_jobs_of_peers={**JOBS, **sends}, write_bw_of_peers=rated, pod_cables=CABLES,
                pod_link_gbit_s=400, pod_roce_priority=3, pfc_counters_idle=frames(), pfc_counters=frames(Ethernet1=(0, paused)), **given,
            )
        )  # fmt: skip

    def why(*given: t.Any, **more: t.Any) -> str:
        with pytest.raises(NotApplicable) as skipped:
            judged(*given, **more)
        return str(skipped.value)

    none = [(None, "ECN: expected ECN-marked packets at its receivers, got none at gpu03 mlx5_0, and it sent 3 pauses", None)]
    assert summary(judged()) == none and judged()[0].cause is None
    # What the settings say decides where nobody counts a mark, and is the cause where it is no failure by itself.
    bare, drops_all = judged({}, ecn_settings=[]), judged({}, ecn_settings=[{**profile, "marking": False}])
    assert summary(bare) == summary(drops_all) == none and "no ECN thresholds" in bare[0].cause and drops_all[0].cause is None
    assert why({}) == why({}, ecn_settings=[{**profile, "marking": True}]) == unmarked.UNKNOWN_WHOSE
    assert "counts its marks itself" in why(ecn_counters=counted(4))
    assert "ecn_marks_under_load" in why(MARKED) and "ecn_marks_under_load" in why({RECEIVER: {"np_ecn_marked_roce_packets": None}})
    # Where it takes part across gate groups, spines mark for it as well.
    assert why(pod_incasts=[*ends, *({**row, "across": True} for row in ends)]) == unmarked.NO_RECEIVER
    with pytest.raises(CannotTell, match="no congestion was made: its receivers received 60 of 400 Gb/s at most"):
        judged(paused=0, result=rates(30.0, 30.0))


def test_a_switch_that_pauses_more_than_it_marks_is_where_pauses_begin() -> None:
    ends = [{**row, "peer": RECEIVER, "device": "mlx5_0"} for row in faces()]

    def begun(marked: int, sent: int, received: int = 0) -> list[str | None]:
        pauses = frames(Ethernet1=(received, sent))
        found = list(switches.switch_marks(counted(0), counted(marked), ends, "", JOBS, FAIR, 400, 3, 5, frames(), pauses))
        assert all("the pauses begin here" in (one.cause or "") for one in found)
        return [one.severity for one in found]

    assert begun(100, 9_000_000) == [None]
    assert begun(100, 90_000) == ["warn"]
    assert begun(100, 101) == [], "pauses that stop nothing"
    assert begun(9_000_000, 9_000_000) == [], "senders that do not slow down are marked before they are paused"
    assert begun(100, 9_000_000, received=9_000_000) == [], "the switch passes on what another one began"
    for column in ("rx_frames", "tx_frames"):
        silent = [{**row, column: None} for row in frames(Ethernet1=(0, 9_000_000))]
        for was, now in ((frames(), silent), (silent, frames(Ethernet1=(0, 9_000_000)))):
            with pytest.raises(CannotTell, match="which came first is not known"):
                list(switches.switch_marks(counted(0), counted(100), ends, "", JOBS, FAIR, 400, 3, 5, was, now))


def test_wred_drops_of_the_roce_queue_are_no_want_of_headroom() -> None:
    def wred(queue: str = "UC3", dropped: int | None = 4) -> list[dict[str, t.Any]]:
        return [{"port": port, "queue": queue, "marked_packets": 0, "wred_dropped_packets": dropped} for port in PORTS]

    def found(now: list[dict[str, t.Any]], was: list[dict[str, t.Any]]) -> list[t.Any]:
        quiet = (drops(), drops(), drops(3, "priority_group"), drops(3, "priority_group"))
        return list(switches.switch_drops(*quiet, faces(), "", CABLES, 3, 0, None, None, was, now))

    assert found(wred(), wred()) == [] and found(wred(dropped=None), wred(dropped=None)) == [] and found(wred("UC0", 9), wred("UC0")) == []
    one = found([{**wred()[0], "wred_dropped_packets": 9}, *wred()[1:]], wred())
    assert summary(one) == [(None, "Ethernet1/1: expected no packet dropped by WRED, got 5 packets of UC3", None)]
    assert "instead of marking" in one[0].cause and "ecn_all" in one[0].fix


def carried(queue: str | None = None, **gigabytes: int) -> list[dict[str, t.Any]]:
    return [{"port": port, "queue": queue, "tx_bytes": 10**9 * gigabytes.get(port.partition("/")[0], 0)} for port in PORTS]


def balanced(flows: int = 600, **gigabytes: int) -> list[t.Any]:
    rows_of = [{**one, "flows": flows if one["role"] == "uplink" else 0} for one in faces()]
    return list(uplinks.ecmp_balanced(carried(), carried(**gigabytes), rows_of, "", "leaf", 1.2, CABLES, "leaf01"))


def test_uplinks_carry_equal_parts() -> None:
    assert balanced(Ethernet33=100, Ethernet34=110) == []
    found = balanced(Ethernet33=100, Ethernet34=1)
    assert summary(found) == [(None, "Ethernet34/1: expected about 50.5 GB sent, got 1 GB: the uplink is not used", None)]
    assert "Ethernet34/1 to spine02" in found[0].cause and "log of leaf01" in found[0].fix
    assert balanced(Ethernet33=118, Ethernet34=100) == []
    found = balanced(Ethernet33=170, Ethernet34=100)
    assert summary(found) == [(None, "Ethernet33/1: expected at most 1.20 times the mean, got 1.26 times the mean of 2 uplinks", "warn")]
    with pytest.raises(CannotTell, match="uplinks sent nothing"):
        balanced()


def test_few_flows_do_not_tell_the_balance() -> None:
    found = balanced(40, Ethernet33=170, Ethernet34=100)
    assert summary(found) == [(None, "uplinks: expected 128 flows or more to measure the balance, got too few flows: 40", "unknown")]
    assert [one.severity for one in balanced(40, Ethernet33=170)] == [None, "unknown"], "an unused uplink is seen before its balance"
    assert [one.severity for one in balanced(4, Ethernet33=170)] == ["unknown"]
    with pytest.raises(NotApplicable, match="no planned traffic"):
        balanced(0)
    with pytest.raises(NotApplicable, match="only a leaf"):
        list(uplinks.ecmp_balanced(carried(), carried(), faces(), "", "super_spine", 1.2, CABLES, "leaf01"))
    with pytest.raises(CannotTell, match="bytes sent by Ethernet33/1: not reported"):
        list(uplinks.ecmp_balanced([], [], faces(), "", "leaf", 1.2, CABLES, "leaf01"))


def test_queues_of_a_port_are_summed_and_fair_hashing_has_its_limit() -> None:
    was, now = (
        [*carried("UC0", Ethernet33=part, Ethernet34=part), *carried("UC3", Ethernet33=part * 9, Ethernet34=part * 9)] for part in (0, 10)
    )  # fmt: skip
    assert list(uplinks.ecmp_balanced(was, now, faces(), "", "leaf", 1.2, CABLES, "leaf01")) == []
    assert uplinks.fair_ratio(4, 512) == pytest.approx(1.215, abs=0.001) and uplinks.fair_ratio(16, 4096) == pytest.approx(1.195, abs=0.001)


def test_the_counters_of_another_driver_are_read_by_its_own_names() -> None:
    """bnxt_re and bnxt_en, whose NICs count what they were notified of and not what they made of it."""
    names = {"np_ecn_marked_roce_packets": "rx_ecn_marked_pkts", "np_cnp_sent": "tx_cnp_pkts", "rp_cnp_handled": "rx_cnp_pkts"}
    names |= {"packet_seq_err": "seq_err_naks_rcvd", "local_ack_timeout_err": "to_retransmits"}
    result = [{**row, "name": names.get(row["name"], row["name"])} for row in rdma()]
    assert all(any(fnmatch.fnmatchcase(name, kept) for kept in catalogue()["rdma_counters"].keep) for name in names.values())
    assert list(load.idle_quiet(nic(), nic(), result, result, RAILS, 3, 5, 0.5)) == []
    assert list(pauses.no_drops(nic(), nic(), result, result, [incast("sender")], "", RAILS, 3, 0, False)) == []
    more = [{**row, "value": row["value"] + (row["name"] == "seq_err_naks_rcvd")} for row in result]
    assert [one.actual for one in pauses.no_drops(nic(), nic(), result, more, [incast("sender")], "", RAILS, 3, 0, False)] == ["1"]


IRDMA = {
    "np_ecn_marked_roce_packets": "RxECNMrkd", "np_cnp_sent": "cnpSent", "rp_cnp_handled": "cnpHandled", "packet_seq_err": "RetransSegs",
    "local_ack_timeout_err": "",
}  # fmt: skip
IONIC = {
    "np_ecn_marked_roce_packets": "rx_rdma_ecn_pkts", "np_cnp_sent": "tx_rdma_cnp_pkts", "rp_cnp_handled": "rx_rdma_cnp_pkts",
    "packet_seq_err": "req_rx_pkt_seq_err", "local_ack_timeout_err": "",
}  # fmt: skip


def of_driver(names: dict[str, str]) -> list[dict[str, t.Any]]:
    """The rows of another driver; an empty name is a counter that it lacks."""
    assert all(any(fnmatch.fnmatchcase(name, kept) for kept in catalogue()["rdma_counters"].keep) for name in names.values() if name)
    return [{**row, "name": names.get(row["name"], row["name"])} for row in rdma() if names.get(row["name"], row["name"])]


def test_what_irdma_sends_again_is_counted_once() -> None:
    result = of_driver(IRDMA)
    assert list(load.idle_quiet(nic(), nic(), result, result, RAILS, 3, 5, 0.5)) == []
    assert list(pauses.no_drops(nic(), nic(), result, result, [incast("sender")], "", RAILS, 3, 0, False)) == []
    more = [{**row, "value": row["value"] + (row["name"] == "RetransSegs")} for row in result]
    lost = summary(pauses.no_drops(nic(), nic(), result, more, [incast("sender")], "", RAILS, 3, 0, False))
    assert [words for _host, words, _severity in lost] == [f"{RAILS[0]['device']} RetransSegs: expected no growth, got 1"]


def test_what_a_driver_does_not_count_stays_unknown() -> None:
    result = of_driver(IONIC)
    unknown = [(str(one.where).split()[1], one.severity) for one in pauses.no_drops(nic(), nic(), result, result, [incast("sender")], "", RAILS, 3, 0, False)]
    assert unknown == [("local_ack_timeout_err", "unknown")]
    other = [{**row, "name": f"other_{row['name']}"} for row in rdma()]
    severities = {one.severity for one in load.idle_quiet(nic(), nic(), other, other, RAILS, 3, 5, 0.5)}
    assert severities == {"unknown"}


def test_pauses_counted_as_time_are_seen_while_idle() -> None:
    def timed(paused: int) -> list[dict[str, t.Any]]:
        rows = [row for row in nic() if "pause" not in row["name"]]
        return [*rows, *({**rows[0], "name": f"{way}_pripause_3_1us_count", "value": paused} for way in ("rx", "tx"))]

    assert list(load.idle_quiet(timed(0), timed(0), rdma(), rdma(), RAILS, 3, 5, 0.5)) == []
    words = [str(one.where).split(" ", 1)[1] for one in load.idle_quiet(timed(0), timed(7), rdma(), rdma(), RAILS, 3, 5, 0.5)]
    assert words == ["pauses received", "pauses sent"]


def test_infiniband_waits_and_does_not_discard() -> None:
    def counters(**grown: int) -> list[dict[str, t.Any]]:
        return [{"device": "mlx5_0", "name": name, "value": 50 + grown.get(name, 0)} for name in ("port_xmit_wait", "port_xmit_discards")]

    def found(now: list[dict[str, t.Any]]) -> list[tuple[t.Any, ...]]:
        return summary(pauses.xmit_discards(counters(), now, [incast("sender")], "", RAILS))

    assert found(counters(port_xmit_wait=9000)) == []
    words = "mlx5_0: expected no packet discarded, got 3, and port_xmit_wait grew by 9000"
    assert found(counters(port_xmit_wait=9000, port_xmit_discards=3)) == [(None, words, None)]
    assert found([]) == [(None, "mlx5_0 port_xmit_discards: expected counter, got not reported", "unknown")]


def test_a_nic_that_its_leaf_has_in_no_mac_table_is_flooded_to() -> None:
    macs = {f"gpu0{number}": f"b83f.d204.000{number}" for number in range(1, 5)}
    rails = [{"host": host, "device": "mlx5_0", "netdev": "ens0", "leaf": "leaf05", "address": f"10.0.0.{host[-1]}", "index": 0} for host in macs]
    arp = [{"address": f"10.0.0.{host[-1]}", "mac": mac, "interface": "Vlan10"} for host, mac in macs.items()]
    load = [{"port": f"Et{host[-1]}", "peer": host, "device": "mlx5_0", "role": "idle" if host == "gpu04" else "sender"} for host in macs]

    def found(*unknown: str) -> list[str]:
        table = [{"mac": mac, "port": f"Et{host[-1]}", "vlan": "10"} for host, mac in macs.items() if host not in unknown]
        return [str(one) for one in learned.hosts_learned(load, "", rails, "leaf05", arp, table)]

    assert found() == found("gpu04") == []
    assert found("gpu02") == ["Et2: expected an entry of gpu02 mlx5_0 in the MAC table, got none of b83fd2040002"]
    # A leaf that routes its ports learns none, and where most are missing it is not one NIC.
    for unknown in (macs, ["gpu01", "gpu02"]):
        with pytest.raises(NotApplicable):
            found(*unknown)


def test_what_a_sender_sends_again_is_of_its_receivers_leaf() -> None:
    sent = [{**incast("sender"), "peer_leaves": ["leaf05"]}, {**incast("receiver"), "peer_leaves": ["leaf07"]}]
    (found,) = pauses.no_drops(nic(), nic(), rdma(), rdma(packet_seq_err=1), sent, "", RAILS, 3, 0, False)
    assert found.where.peers == ("leaf05",)
