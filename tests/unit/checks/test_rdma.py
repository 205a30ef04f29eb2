# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 4 by plain calls: whose fault a slow test is, and what was measured."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.rdma import bandwidth, latency, settings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.perftest_errors import UNSUPPORTED_OPTION, explain_error

RAILS = [{"device": "mlx5_0", "netdev": "ens0", "gpu": 0, "leaf": "leaf01"}, {"device": "mlx5_3", "netdev": "ens3", "gpu": 1, "leaf": "leaf02"}]
RATES = {host: {"mlx5_0": 400.0, "mlx5_3": 400.0} for host in "abcdefgh"}
LIMITS = {
    "pod_link_gbit_s": 400.0,
    "pod_rail_gbit_s": RATES,
    "pod_write_bw_bidirectional": False,
    "pod_write_bw_min_percent": 87.5,
    "pod_write_bw_warn_percent": 92.5,
    "pod_roce_priority": 3,
}


class Pod:
    """The rows of load_jobs and write_bw of some hosts, test by test."""

    def __init__(self) -> None:
        self.jobs: dict[str, list[dict[str, t.Any]]] = {}
        self.rates: dict[str, list[dict[str, t.Any]]] = {}
        self.slots = 0

    def test(
        self, sender: str, receiver: str, gbit_s: float | str, device: str = "mlx5_0", kind: str = "write_bw", memory: str = "host", error: str | None = None
    ) -> None:  # fmt: skip
        """One test; words instead of a rate are why there is none, and error is their kind."""
        self.slots += 1
        result = isinstance(gbit_s, float)
        asked = {"mtu": 4096, "gid_index": 3, "qps": 4, "bytes": 1048576}
        common = {"kind": kind, "step": 0, "memory": memory, "device": device, "peer_device": device, "path": "leaf", "round": self.slots, **asked}
        item = f"client {self.slots}"
        ended = {"status": "ok", "words": None, "error": None} if result else {"status": "unknown", "words": gbit_s, "error": error}
        client = {**common, "item": item, "role": "client", "peer": receiver, **ended}
        server = {**common, "item": f"server {self.slots}", "role": "server", "peer": sender, "status": "ok", "words": None, "error": None}
        self.jobs.setdefault(sender, []).append(client)
        self.jobs.setdefault(receiver, []).append(server)
        if result:
            self.rates.setdefault(sender, []).append({"item": item, "device": device, "gbit_s": gbit_s, **asked})

    def judge(self, host: str, rails: list[dict[str, t.Any]] | None = None, **other: t.Any) -> list[str]:
        """What write_bw_per_rail finds on a host."""
        found = bandwidth.write_bw_per_rail(self.jobs[host], self.jobs, self.rates, host, rails or RAILS[:1], **{**LIMITS, **other})
        return [f"{one.severity or 'fail'} {one}" for one in found]


@pytest.fixture
def pod() -> Pod:
    return Pod()


def test_a_rail_that_carries_its_rate_has_no_finding(pod):
    pod.test("a", "b", 380.0)
    pod.test("b", "a", 379.0)
    assert pod.judge("a") == pod.judge("b") == []


def test_a_slow_host_is_named_and_its_partners_are_not(pod):
    pod.test("a", "b", 180.0)
    pod.test("a", "c", 181.0)
    pod.test("c", "b", 380.0)
    assert pod.judge("a") == ["fail mlx5_0: expected 350 Gb/s or more, got 180 Gb/s with b mlx5_0: this rail, for b mlx5_0 reaches 380 Gb/s with c mlx5_0"]
    assert pod.judge("b") == []


def test_a_slow_receiver_is_named_and_its_senders_are_not(pod):
    pod.test("a", "b", 180.0)
    pod.test("a", "c", 380.0)
    pod.test("c", "b", 178.0)
    assert pod.judge("a") == []
    assert pod.judge("c") == [], "b fails with more hosts than c does"
    pod.test("c", "d", 377.0)
    assert pod.judge("c") == []
    assert pod.judge("b") == ["fail mlx5_0: expected 350 Gb/s or more, got 178 Gb/s with c mlx5_0: this rail, for c mlx5_0 reaches 377 Gb/s with d mlx5_0"]


def test_a_path_is_named_at_both_ends_where_each_is_well_with_others(pod):
    pod.test("a", "b", 180.0)
    pod.test("a", "c", 380.0, kind="retest")
    pod.test("d", "b", 379.0, kind="retest")
    pod.test("a", "b", 181.0, kind="retest")
    (words,) = pod.judge("a")
    assert words.startswith("fail mlx5_0 to b mlx5_0: expected 350 Gb/s or more, got 180 Gb/s: the path, for ")
    assert words.endswith("mlx5_0 reaches 380 Gb/s with c mlx5_0, and b mlx5_0 379 Gb/s with d mlx5_0")
    assert "the path" in pod.judge("b")[0]


def test_a_host_whose_rail_is_well_alone_is_distinguished_from_a_slow_rail(pod):
    pod.test("a", "b", 180.0)
    pod.test("c", "b", 380.0)
    pod.test("a", "b", 381.0, kind="retest")
    assert pod.judge("a")[0].endswith(
        "got 180 Gb/s with b mlx5_0: the host, only under concurrent load, for 381 Gb/s when tested alone, without the other rails"
    )


def test_a_host_that_saturates_is_named_and_neither_its_partners_nor_the_paths_are(pod):
    """Every test beside its other rails is slow, with whoever it is; only some are tested again alone."""
    for other in ("b", "c"):
        pod.test("a", other, 250.0)
    pod.test("d", "b", 380.0)
    pod.test("d", "c", 380.0)
    pod.test("a", "d", 377.0, kind="retest")
    assert pod.judge("a") == [
        "fail mlx5_0: expected 350 Gb/s or more, got 250 Gb/s with b mlx5_0: the host, only under concurrent load, "
        "for 377 Gb/s when tested alone, without the other rails"
    ]
    assert pod.judge("b") == pod.judge("c") == []


def test_a_path_that_is_slow_beside_others_is_no_hosts_fault(pod):
    pod.test("a", "b", 180.0)
    pod.test("a", "c", 380.0)
    pod.test("c", "b", 380.0)
    pod.test("a", "b", 379.0, kind="retest")
    assert "the path" in pod.judge("a")[0] and "the path" in pod.judge("b")[0]


def test_two_hosts_that_fail_together_are_both_named(pod):
    pod.test("a", "b", 100.0)
    assert "neither end was tested with anyone else" in pod.judge("a")[0] and "neither end" in pod.judge("b")[0]


def test_what_could_not_be_measured_is_unknown_in_the_tools_words(pod):
    pod.test("a", "b", "the partner's side of the test could not be reached (Couldn't connect to b:18515)")
    assert pod.judge("a")[0].startswith("unknown mlx5_0: expected 350 Gb/s or more, got the partner's side of the test could not be reached")


def test_a_rail_that_nobody_tested_is_unknown(pod):
    pod.test("a", "b", 380.0)
    assert pod.judge("a", RAILS) == ["unknown mlx5_3: expected a test with another host, got no other host under test has this rail"]


def test_a_partner_that_tells_nothing_does_not_pass_for_a_rate(pod):
    pod.test("a", "b", 380.0)
    del pod.jobs["a"], pod.rates["a"]
    assert pod.judge("b")[0].startswith("unknown mlx5_0: expected 350 Gb/s or more, got a did not report its side")


def test_a_rail_between_the_two_limits_warns(pod):
    pod.test("a", "b", 360.0)
    assert pod.judge("a") == ["warn mlx5_0: expected 370 Gb/s or more, got 360 Gb/s, median of 1 tests"]


def test_both_directions_carry_twice_as_much(pod):
    pod.test("a", "b", 380.0)
    assert "expected 700 Gb/s" in pod.judge("a", pod_write_bw_bidirectional=True)[0]


def test_the_slowest_rail_of_a_group_is_named_alone(pod):
    for number in range(7):
        pod.test("a", "b", 5.0, device=f"mlx5_{number}")
    pod.test("a", "b", 1.0, device="mlx5_7")
    (found,) = bandwidth.slow_rail(pod.jobs, pod.rates, 90, {})
    assert (found.host, str(found.where), found.expected, found.actual) == (
        "a",
        "mlx5_7",
        "4.5 Gb/s or more, the median of the group's rails is 5",
        "1 Gb/s at best",
    )


def test_the_rate_of_a_repeated_round_counts_for_the_slowest_rail_of_a_group(pod):
    for number in range(7):
        pod.test("a", "b", 380.0, device=f"mlx5_{number}")
    pod.test("a", "b", 30.0, device="mlx5_7")
    assert len(list(bandwidth.slow_rail(pod.jobs, pod.rates, 90, {}))) == 1
    pod.test("a", "b", 379.0, device="mlx5_7", kind="repeat")
    assert list(bandwidth.slow_rail(pod.jobs, pod.rates, 90, {})) == []


def test_a_rail_that_sent_to_a_slow_receiver_alone_is_not_the_slow_one(pod):
    for number in range(7):
        pod.test("a", "b", 380.0, device=f"mlx5_{number}")
    pod.test("a", "b", 310.0, device="mlx5_7")
    pod.test("a", "c", 379.0, device="mlx5_7", kind="retest")
    beside = "310 Gb/s at best beside the host's other rails, 379 when tested alone"
    assert [one.actual.partition(";")[0] for one in bandwidth.slow_rail(pod.jobs, pod.rates, 90, {})] == [beside]
    pod.test("c", "b", 311.0, device="mlx5_7", kind="retest")
    assert list(bandwidth.slow_rail(pod.jobs, pod.rates, 90, {})) == []
    # One that receives its rate from another host is well, and the sender is not.
    pod.test("c", "b", 378.0, device="mlx5_7", kind="retest")
    assert [one.actual.partition(";")[0] for one in bandwidth.slow_rail(pod.jobs, pod.rates, 90, {})] == [beside]


def test_a_group_that_sent_nothing_has_no_median(pod):
    pod.test("a", "b", "it was not run")
    with pytest.raises(CannotTell, match="no rail of the group sent data"):
        list(bandwidth.slow_rail(pod.jobs, pod.rates, 90, {}))


@pytest.mark.parametrize(("column", "result"), [("mtu", 1024), ("gid_index", 1), ("qps", 1), ("bytes", 65536), ("device", "mlx5_9"), ("mtu", None)])
def test_another_measurement_than_was_asked_is_unknown(pod, column, result):
    pod.test("a", "b", 380.0)
    assert list(settings.measured_as_asked(pod.rates["a"], pod.jobs["a"])) == []
    pod.rates["a"][0][column] = result
    (found,) = settings.measured_as_asked(pod.rates["a"], pod.jobs["a"])
    assert (found.severity, str(found.where), found.actual) == ("unknown", f"client 1 {column}", "not reported" if result is None else str(result))


def counters(**values: int) -> list[dict[str, t.Any]]:
    return [{"netdev": "ens0", "name": name, "value": value} for name, value in values.items()]


def right_class(pod: Pod, idle: list, now: list) -> list[str]:
    return [str(one) for one in settings.right_class(idle, now, pod.jobs["b"], pod.jobs, pod.rates, "b", RAILS[:1], 3, 5)]


def test_bytes_that_came_in_another_priority_name_it(pod):
    pod.test("a", "b", 400.0)
    sent = 250 * 10**9
    assert right_class(pod, counters(rx_prio3_bytes=7), counters(rx_prio3_bytes=7 + sent)) == []
    assert right_class(pod, counters(rx_prio3_bytes=7), counters(rx_prio3_bytes=7)) == ["ens0 priority 3: expected about 250 GB received, got 0 GB"]
    now = counters(rx_prio3_bytes=7, rx_prio0_bytes=sent)
    assert right_class(pod, counters(rx_prio3_bytes=7, rx_prio0_bytes=0), now) == [
        "ens0 priority 3: expected about 250 GB received, got 0 GB; priority 0 received 250 GB"
    ]
    assert right_class(pod, counters(), counters(rx_prio3_bytes=7)) == ["ens0 priority 3: expected receive byte counter, got not reported"]


def test_a_host_that_received_nothing_cannot_prove_the_class(pod):
    pod.test("b", "a", 400.0)
    with pytest.raises(CannotTell, match="no test of this host as receiver"):
        right_class(pod, counters(rx_prio3_bytes=1), counters(rx_prio3_bytes=1))


def gpu(pod: Pod, mode: str = "auto", host: str = "a") -> list[str]:
    return [str(one) for one in bandwidth.gpu_write_bw(pod.jobs[host], pod.jobs, pod.rates, host, RAILS[:1], mode, 90, 3, 400.0)]


def test_gpu_memory_is_held_against_host_memory(pod):
    pod.test("a", "b", 380.0)
    pod.test("a", "b", 190.0, memory="cuda")
    wanted = "mlx5_0, cuda memory: expected 90 % of the 380 Gb/s from host memory, got 190 Gb/s with "
    assert gpu(pod) == [f"{wanted}b mlx5_0: this rail, for neither end was tested with anyone else"]
    pod.test("a", "c", 380.0)
    pod.test("a", "c", 378.0, memory="cuda", kind="retest")
    assert gpu(pod) == [] and gpu(pod, host="b") == [f"{wanted}a mlx5_0: this rail, for a mlx5_0 reaches 378 Gb/s with c mlx5_0"]


@pytest.mark.parametrize(
    ("grown", "severity", "words"), [(0, "warn", "no error counter grew"), (7, "fail", "packet_seq_err +7"), (None, "unknown", "not reported")]
)
def test_a_slow_test_of_gpu_memory_that_passes_again_is_judged_by_the_error_counters(pod, grown: int | None, severity: str, words: str) -> None:
    pod.test("a", "b", 380.0)
    pod.test("a", "b", 190.0, memory="cuda")
    for _again in range(2):
        pod.test("a", "b", 379.0, memory="cuda", kind="repeat")
    was, now = ([{"device": "mlx5_0", "name": "packet_seq_err", "value": 3 + more}] if grown is not None else None for more in (0, grown or 0))
    found = bandwidth.gpu_write_bw(pod.jobs["a"], pod.jobs, pod.rates, "a", RAILS[:1], "auto", 90, 3, 400.0, None, None, was, now)
    assert [(one.severity, words in one.actual) for one in found] == [(severity, True)]


@pytest.mark.parametrize(
    ("rate", "words"),
    [(350.0, None), (330.0, "not reported; 330 Gb/s from GPU memory, 380 Gb/s from host memory in other tests of the two")],
)
def test_gpu_memory_whose_test_from_host_memory_failed_is_held_against_the_best_one_of_its_ends(pod, rate: float, words: str | None) -> None:
    pod.test("a", "c", 380.0)
    pod.test("b", "c", "no rate")
    pod.test("a", "b", rate, memory="cuda")
    expected = [f"mlx5_0, cuda memory: expected a rate from host memory to compare with, got {words}"] if words else []
    assert gpu(pod) == gpu(pod, host="b") == expected


def test_gpu_memory_without_any_rate_from_host_memory_is_unknown(pod) -> None:
    pod.test("a", "b", "no rate")
    pod.test("a", "b", 380.0, memory="cuda")
    expected = ["mlx5_0, cuda memory: expected a rate from host memory to compare with, got not reported"]
    assert gpu(pod) == gpu(pod, host="b") == expected


def test_gpu_memory_by_dma_buf_will_do_where_peer_memory_does_not(pod):
    pod.test("a", "b", 380.0)
    pod.test("a", "b", "the host refuses the memory", memory="cuda")
    assert "got the host refuses the memory with b mlx5_0: this rail" in gpu(pod)[0]
    pod.test("a", "b", 375.0, memory="cuda")
    assert gpu(pod) == []


def test_a_test_that_ends_with_an_error_is_lost_packets_and_not_a_slow_rail(pod):
    pod.test("a", "b", "a completion with an error: transport retries exceeded")
    pod.jobs["a"][-1]["status"] = "fail"
    pod.test("b", "c", 380.0)
    pod.test("a", "c", "a completion with an error: transport retries exceeded", kind="retest")
    pod.jobs["a"][-1]["status"] = "fail"
    (finding,) = bandwidth.write_bw_per_rail(pod.jobs["a"], pod.jobs, pod.rates, "a", RAILS[:1], **LIMITS)
    assert (str(finding.where), finding.severity) == ("mlx5_0", None) and str(finding.cause).startswith("The test ended with this error and measured no rate")


def test_a_test_that_the_peer_refused_leads_to_the_peers_memory_and_mtu(pod):
    words = "a completion with an error: remote operation error (Failed status 11: wr_id 0 syndrom 0x0)"
    pod.test("a", "b", words)
    pod.jobs["a"][-1]["status"] = "fail"
    pod.test("b", "c", 380.0)
    pod.test("a", "c", words, kind="retest")
    pod.jobs["a"][-1]["status"] = "fail"
    (finding,) = bandwidth.write_bw_per_rail(pod.jobs["a"], pod.jobs, pod.rates, "a", RAILS[:1], **LIMITS)
    assert "MTU" in str(finding.cause) and "both ends" in str(finding.fix)


def test_a_receiver_without_perftest_is_named_and_not_a_firewall(pod):
    pod.test("a", "b", "the partner's side of the test could not be reached")
    pod.jobs["b"][-1].update(status="unknown", words="ib_write_bw: not found on PATH", error="not_installed")
    pod.test("a", "c", 380.0)
    (finding,) = pod.judge("b")
    assert finding.startswith("unknown mlx5_0: expected 350 Gb/s or more, got b: ib_write_bw: not found on PATH with a mlx5_0: this rail")


def test_a_perftest_without_gpu_memory_is_a_skip_unless_it_is_asked_for(pod):
    pod.test("a", "b", 380.0)
    pod.test("a", "b", "this build refuses an option (Unsupported memory type)", memory="cuda", error=UNSUPPORTED_OPTION)
    with pytest.raises(NotApplicable, match="built without GPU memory"):
        gpu(pod)
    assert "refuses an option" in gpu(pod, "always")[0]


@pytest.mark.parametrize("line", ["Gid index should be less than 4", "Port number 1 state is Down: this build refuses an option"])
def test_what_a_perftest_prints_does_not_make_it_one_without_gpu_memory(pod, line: str):
    """Neither words like those of another error nor text of the device decide: only the kind of the error does."""
    output = explain_error(line)
    assert output is not None and output.kind is None
    pod.test("a", "b", 380.0)
    pod.test("a", "b", str(output), memory="cuda", error=output.kind)
    (finding,) = gpu(pod)
    assert finding.startswith("mlx5_0, cuda memory: expected 90 % of the 380 Gb/s from host memory, got ")


def test_latency_allows_for_the_switches_on_the_way(pod):
    pod.test("a", "b", "no rate", kind="write_lat")
    row = {"item": pod.jobs["a"][0]["item"], "typical_us": 3.0, "average_us": 3.1}
    assert [str(one) for one in latency.write_latency(pod.jobs["a"], "a", 2.5, 0.6, [row])] == ["mlx5_0 to b: expected at most 2.5 us, got 3 us"]
    pod.jobs["a"][0]["path"] = "spine"
    assert list(latency.write_latency(pod.jobs["a"], "a", 2.5, 0.6, [row])) == []
    with pytest.raises(CannotTell, match="no latency test of this host gave a number"):
        list(latency.write_latency(pod.jobs["a"], "a", 2.5, 0.6, None))
    with pytest.raises(NotApplicable, match="its partner measured it"):
        list(latency.write_latency(pod.jobs["b"], "b", 2.5, 0.6, None))


def latency_of(pod, host: str, *measured: int) -> list[tuple[str | None, str, str]]:
    """Host, place and cause of what write_latency finds on a host of whose tests these, by number, gave 2 us."""
    rows = [{"item": pod.jobs[host][number]["item"], "typical_us": 2.0, "average_us": 2.0} for number in measured]
    found = list(latency.write_latency(pod.jobs[host], host, 2.5, 0.6, rows, pod.jobs))
    assert {one.severity for one in found} == {"unknown"}
    return [(one.host, str(one), str(one.cause)) for one in found]


NOT_REACHED = "the partner's side of the test could not be reached"


@pytest.mark.parametrize(
    ("error", "words", "cause"),
    [
        ("known", "the host refuses the memory or the queue pairs (Couldn't create QP)", "The host refuses memory or queue pairs for RDMA"),
        ("unnamed", "Requested inline: Cannot allocate memory", "The host gave the call in the line no memory (ENOMEM)"),
        ("unnamed", "boom", "The program ended with the line that is printed"),
        ("not_installed", "ib_write_lat: not found on PATH", "perftest did not come to a rate"),
    ],
)
def test_a_partner_whose_program_ended_is_named_in_a_latency_test(pod, error: str, words: str, cause: str) -> None:
    pod.test("a", "b", NOT_REACHED, kind="write_lat", error="partner")
    pod.jobs["b"][-1].update(status="unknown", words=words, error=error)
    ((host, text, why),) = latency_of(pod, "a")
    assert (host, text) == ("b", f"mlx5_0: expected a latency, got b: {words}") and why.startswith(cause)
    # A rail that was measured is no proof of the other one.
    pod.test("a", "c", 2.0, kind="write_lat")
    assert latency_of(pod, "a", 1) == [(host, text, why)]


def test_a_latency_test_that_fails_on_one_rail_is_not_covered_by_another(pod):
    pod.test("a", "b", 2.0, kind="write_lat")
    pod.test("a", "b", "boom", kind="write_lat", device="mlx5_3", error="unnamed")
    ((host, text, cause),) = latency_of(pod, "a", 0)
    assert (host, text) == ("a", "mlx5_3: expected a latency, got boom") and cause.startswith("The program ended with the line")


def test_a_latency_test_that_reached_no_partner_and_a_partner_that_reports_nothing(pod):
    pod.test("a", "b", NOT_REACHED, kind="write_lat", error="partner")
    with pytest.raises(CannotTell, match="no latency test of this host gave a number"):
        list(latency.write_latency(pod.jobs["a"], "a", 2.5, 0.6, [], pod.jobs))


def of_counters(host: str, device: str, netdev: str, nic: dict[str, int], rdma: dict[str, int]) -> dict[str, dict[str, list[dict[str, t.Any]]]]:
    """The counters of one rail around a load, as those of all hosts: before it all are 7."""
    return {
        "nic_counters_idle_of_peers": {host: [{"netdev": netdev, "name": name, "value": 7} for name in nic]},
        "nic_counters_of_peers": {host: [{"netdev": netdev, "name": name, "value": 7 + value} for name, value in nic.items()]},
        "rdma_counters_idle_of_peers": {host: [{"device": device, "name": name, "value": 7} for name in rdma]},
        "rdma_counters_of_peers": {host: [{"device": device, "name": name, "value": 7 + value} for name, value in rdma.items()]},
    }


def test_what_both_ends_counted_stands_beside_a_slow_rate(pod):
    pod.test("a", "b", 180.0)
    pod.test("a", "c", 181.0)
    pod.test("c", "b", 380.0)
    # 50 GB take a second at 400 Gb/s: a second of pauses is half of the time.
    own = of_counters("a", "mlx5_0", "ens0", {"rx_prio3_pause_duration": 1_000_000, "tx_bytes_phy": 50_000_000_000}, {"packet_seq_err": 90, "np_cnp_sent": 5})
    partner = of_counters("b", "mlx5_0", "ens0", {"rx_prio3_pause_duration": 0, "tx_bytes_phy": 0}, {"rp_cnp_handled": 12, "np_ecn_marked_roce_packets": 4})
    (found,) = pod.judge("a", **{name: own[name] | partner[name] for name in own})
    assert found.endswith(
        "; counters of mlx5_0 and b mlx5_0 over all loads of this layer: retransmissions 90 and not reported, paused 50 % and 0 %, CNPs handled not "
        "reported and 12, "
        "ECN marks not reported and 4"
    )
    assert "counters of" not in pod.judge("a")[0], "no counter was read"


def test_counters_that_went_back_are_reported_as_reset(pod):
    pod.test("a", "b", 180.0)
    pod.test("a", "c", 181.0)
    pod.test("c", "b", 380.0)
    own = of_counters("a", "mlx5_0", "ens0", {}, {"packet_seq_err": -5})
    (found,) = pod.judge("a", **own)
    assert "counters of mlx5_0 and b mlx5_0 over all loads of this layer: retransmissions reset and not reported" in found


def test_the_slowest_rail_of_a_group_says_what_it_counted(pod):
    for number in range(7):
        pod.test("a", "b", 5.0, device=f"mlx5_{number}")
    pod.test("a", "b", 1.0, device="mlx5_7")
    counted = of_counters("a", "mlx5_7", "ens7", {}, {"packet_seq_err": 3, "local_ack_timeout_err": 2})
    (found,) = bandwidth.slow_rail(pod.jobs, pod.rates, 90, {}, counted["rdma_counters_idle_of_peers"], counted["rdma_counters_of_peers"])
    assert (
        found.actual == "1 Gb/s at best; counters of mlx5_7 over all loads of this layer: retransmissions 5, CNPs handled not reported, ECN marks not reported"
    )
