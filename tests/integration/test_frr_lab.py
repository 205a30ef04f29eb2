# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2 judged on real FRR routers: a whole fabric passes, and each fault is found with the right words and nothing beside it.

LAB_SHAPE=4x4x2 makes the fabric smaller; two spines, three leaves and two hosts are the least.
"""

from __future__ import annotations

import concurrent.futures
import os
import re
import subprocess
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse
from ansible_collections.gpufabric.pyramid.tests.labs.frr import life
from ansible_collections.gpufabric.pyramid.tests.labs.frr.configs import neighbor
from ansible_collections.gpufabric.pyramid.tests.labs.frr.faults import FAULTS, injected
from ansible_collections.gpufabric.pyramid.tests.labs.frr.lab import Lab
from ansible_collections.gpufabric.pyramid.tests.labs.frr.shape import Shape
from ansible_collections.gpufabric.pyramid.tests.labs.judged import Judged, Verdicts, climbed
from ansible_collections.gpufabric.pyramid.tests.labs.standing import poll
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out

from .conftest import alike, more

pytestmark = pytest.mark.xdist_group("frr_lab")

NOT_UP = "(Idle|Connect|Active)"


def stand(name: str, shape: str) -> t.Iterator[Lab]:
    """A whole fabric, which ends with this process whatever becomes of it."""
    words = life.lacking()
    if words is not None:
        leave_out(words)
    lab = life.up(name, Shape.parse(shape), owner=os.getpid())
    try:
        lab.wait()
        yield lab
    finally:
        life.down(name)


# Not of the session: each idle zebra wakes up some hundred times a second, which a dozen of them take half a processor for.
@pytest.fixture(scope="module")
def fabric() -> t.Iterator[Lab]:
    """A fabric of IPv4 with numbered sessions."""
    yield from stand(f"t{os.getpid()}", os.environ.get("LAB_SHAPE", str(Shape())))


@pytest.fixture(scope="module")
def of_ipv6() -> t.Iterator[Lab]:
    """A fabric of IPv6 alone whose sessions are those of ports, without addresses."""
    yield from stand(f"s{os.getpid()}", "2x3x2-ipv6")


def judge(lab: Lab, runs: Path) -> Judged:
    """Judge layer 2 of the lab over ssh."""
    return climbed(lab.inventory, runs, pod_only="routing")


@dataclass
class Expected:
    """What a fault comes to: exactly these verdicts, and among their findings these; the last word of a finding is a pattern.

    perhaps: verdicts of hosts that may or may not have been told to meet what is broken.
    """

    verdicts: Verdicts
    findings: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    unknown: dict[tuple[str, str], str] = field(default_factory=dict)
    perhaps: Verdicts = field(default_factory=set)


def leaves(lab: Lab, check: str) -> Verdicts:
    """A failed check of every leaf."""
    return {(check, leaf, "fail") for leaf in lab.plan.with_role("leaf")}


def rail(lab: Lab, host: str, number: int) -> str:
    """A rail's network, as its leaf announces it."""
    return lab.plan.network(lab.plan.rails(host)[number][1])


def session(lab: Lab, actual: str, leaf: str = "leaf01") -> tuple[str, str, str, str, str]:
    """A leaf's finding of its session with spine02."""
    name = neighbor(*lab.plan.between(leaf, "spine02"))
    return ("bgp_established", leaf, f"spine02 ({name})", "Established with AS 65000", actual)


def far_session(lab: Lab, actual: str) -> tuple[str, str, str, str, str]:
    """The finding of spine02 of its session with leaf01."""
    return ("bgp_established", "spine02", f"leaf01 ({neighbor(*lab.plan.between('spine02', 'leaf01'))})", "Established with AS 65101", actual)


def paths(lab: Lab, leaf: str, host: str, number: int, hops: int) -> tuple[str, str, str, str, str]:
    """A leaf's finding of too few next hops to a rail."""
    spines = lab.plan.shape.spines
    actual = f"{hops} next hop{'' if hops == 1 else 's'} in the forwarding table"
    return ("ecmp_paths", leaf, rail(lab, host, number), f"{spines} next hops to {host} mlx5_{number}", f"{re.escape(actual)}, none over swp.+")


def one_session_lost(lab: Lab, near: str, far: str) -> Expected:
    """What every fault of the one session of leaf01 and spine02 comes to: it has a path less, and so has everyone's way to it."""
    fewer = lab.plan.shape.spines - 1
    verdicts = {("bgp_established", "leaf01", "fail"), ("bgp_established", "spine02", "fail")} | leaves(lab, "ecmp_paths")
    found = [session(lab, near), far_session(lab, far), paths(lab, "leaf01", "gpu01", 1, fewer), paths(lab, "leaf02", "gpu01", 0, fewer)]
    return Expected(verdicts, found)


def spine_daemon_dead(lab: Lab) -> Expected:
    verdicts = leaves(lab, "bgp_established") | leaves(lab, "ecmp_paths")
    silent = {(check, "spine02"): "vtysh exited with status 1: Exiting: failed to connect to any daemons." for check in ("bgp_established", "path_mtu")}
    verdicts |= {(check, "spine02", "unknown") for check in ("bgp_established", "bgp_settled", "ecmp_paths", "kernel_forwards", "path_mtu")}
    return Expected(verdicts, [session(lab, f"{NOT_UP} with AS 65000", leaf) for leaf in lab.plan.with_role("leaf")], silent)


def spine_links_down(lab: Lab) -> Expected:
    verdicts = leaves(lab, "bgp_established") | leaves(lab, "ecmp_paths") | {("bgp_established", "spine02", "fail")}
    found = [session(lab, f"{NOT_UP} with AS 65000", leaf) for leaf in lab.plan.with_role("leaf")]
    return Expected(verdicts, [*found, far_session(lab, f"{NOT_UP} with AS 65101"), paths(lab, "leaf01", "gpu02", 2, lab.plan.shape.spines - 1)])


def maximum_paths_1(lab: Lab) -> Expected:
    found = [paths(lab, "leaf01", host, number, 1) for host in lab.plan.with_role("host") for number in range(1, lab.plan.shape.leaves)]
    return Expected({("ecmp_paths", "leaf01", "fail")}, found)


def neighbor_shut_down(lab: Lab) -> Expected:
    return one_session_lost(lab, r"Idle \(Admin\) with AS 65000", f"{NOT_UP} with AS 65101")


def tcp_179_blocked(lab: Lab) -> Expected:
    return one_session_lost(lab, f"{NOT_UP} with AS 65000", f"{NOT_UP} with AS 65101")


def stuck_active(lab: Lab) -> Expected:
    return one_session_lost(lab, "Active with AS 65000", "Active with AS 65101")


def wrong_as(lab: Lab) -> Expected:
    return one_session_lost(lab, f"({NOT_UP}|OpenSent) with AS 65999", f"({NOT_UP}|OpenSent|OpenConfirm) with AS 65101")


def uplink_mtu(lab: Lab) -> Expected:
    own, far = lab.plan.between("leaf01", "spine02")
    found = [
        ("path_mtu", "leaf01", own.name, f"the MTU of spine02 {far.name}, 1500", "9216"),
        ("path_mtu", "spine02", far.name, f"the MTU of leaf01 {own.name}, 9216", "1500"),
    ]
    verdicts = {("path_mtu", "leaf01", "fail"), ("path_mtu", "spine02", "fail")}
    return Expected(verdicts | {("path_carries_full_size", host, "fail") for host in lab.plan.with_role("host")}, found)


def loss_20_percent(lab: Lab) -> Expected:
    address = lab.plan.rails("gpu02")[0][0].address
    found = ("rails_reachable", "gpu01", f"mlx5_0 to gpu02 mlx5_0 ({address})", "no loss", r"20 % loss, 16 of 20")
    return Expected({("rails_reachable", "gpu01", "fail")}, [found])


def host_link_down(lab: Lab) -> Expected:
    others = set(lab.plan.with_role("leaf")) - {"leaf01"}
    of_hosts = {(check, host, "fail") for check in ("rails_reachable", "path_carries_full_size") for host in lab.plan.with_role("host")}
    own = {one for one in of_hosts if one[1] == "gpu01"}
    address = lab.plan.rails("gpu02")[0][0].address
    lost = ("rails_reachable", "gpu01", f"mlx5_0 to gpu02 mlx5_0 ({address})", "no loss", r"100 % loss, 0 of 20")
    own_address = lab.plan.rails("gpu01")[0][0].address
    wanted = "an address in a prefix that its leaf announces"
    gone = [("ecmp_paths", leaf, f"gpu01 mlx5_0 ({own_address})", wanted, "no route; other rails of leaf01 are reached by .*") for leaf in others]
    return Expected(own | {("ecmp_paths", leaf, "fail") for leaf in others}, [lost, *gone], perhaps=of_hosts - own)


def rail_by_another(lab: Lab) -> Expected:
    address = lab.plan.rails("gpu02")[0][0].address
    lost = ("rails_reachable", "gpu01", f"mlx5_0 to gpu02 mlx5_0 ({address})", "no loss", r"100 % loss, 0 of 20")
    return Expected({(check, "gpu01", "fail") for check in ("rails_reachable", "path_carries_full_size")}, [lost])


def kernel_keeps_fewer(lab: Lab) -> Expected:
    spines = lab.plan.shape.spines
    expected = f"{spines} next hops, as the daemon shows"
    return Expected({("kernel_forwards", "leaf01", "fail")}, [("kernel_forwards", "leaf01", rail(lab, "gpu02", 1), expected, f"{spines - 1} in the kernel")])


CASES: dict[str, t.Callable[[Lab], Expected]] = {
    case.__name__: case
    for case in (
        spine_daemon_dead,
        spine_links_down,
        maximum_paths_1,
        neighbor_shut_down,
        tcp_179_blocked,
        stuck_active,
        wrong_as,
        uplink_mtu,
        loss_20_percent,
        host_link_down,
        rail_by_another,
        kernel_keeps_fewer,
    )
}
# Those of which another one ends with the same checks: more of them, and other ways to lose the one session.
MORE, ALIKE = (
    ("spine_links_down", "maximum_paths_1", "host_link_down", "neighbor_shut_down", "rail_by_another", "kernel_keeps_fewer"),
    ("tcp_179_blocked", "stuck_active", "wrong_as"),
)
OFTEN = [name for name in CASES if name not in MORE + ALIKE]


def test_every_fault_of_the_lab_is_judged() -> None:
    assert set(CASES) == set(FAULTS)


def test_a_whole_fabric_has_no_fault(fabric: Lab, tmp_path: Path) -> None:
    has_no_fault(fabric, tmp_path)


def test_a_whole_fabric_of_ipv6_with_unnumbered_sessions_has_no_fault(of_ipv6: Lab, tmp_path: Path) -> None:
    has_no_fault(of_ipv6, tmp_path)


def has_no_fault(fabric: Lab, tmp_path: Path) -> None:
    judged = judge(fabric, tmp_path)
    assert (judged.rc, judged.report["verdict"]) == (0, "no_fault_seen"), judged.output
    assert judged.not_well() == set()
    passed = {(one["check"], one["host"]) for one in judged.report["verdicts"] if one["verdict"] == "pass"}
    for check, role in (("bgp_established", "leaf"), ("bgp_established", "spine"), ("ecmp_paths", "leaf"), ("rails_reachable", "host"), ("path_mtu", "leaf")):
        assert {(check, node) for node in fabric.plan.with_role(role)} <= passed
    assert {("path_carries_full_size", host) for host in fabric.plan.with_role("host")} <= passed


@pytest.mark.parametrize("name", [*OFTEN, *map(more, MORE), *map(alike, ALIKE)])
def test_a_fault_is_found_for_what_it_is(fabric: Lab, tmp_path: Path, name: str) -> None:
    is_found(fabric, tmp_path, name)


# What is done with addresses, names of neighbors and routes; the others do the same on either fabric.
@pytest.mark.parametrize(
    "name",
    [
        "neighbor_shut_down",
        more("kernel_keeps_fewer"),
        *map(alike, ("maximum_paths_1", "wrong_as", "spine_links_down", "host_link_down")),
    ],
)
def test_a_fault_of_ipv6_is_found_for_what_it_is(of_ipv6: Lab, tmp_path: Path, name: str) -> None:
    is_found(of_ipv6, tmp_path, name)


def is_found(fabric: Lab, tmp_path: Path, name: str) -> None:
    expected = CASES[name](fabric)
    with injected(fabric, name):
        judged = judge(fabric, tmp_path)
    assert (judged.rc, judged.report["verdict"]) == (2, "no_go"), judged.output
    routing = next(layer for layer in judged.report["layers"] if layer["layer"] == "routing")
    assert "closed" in {group["gate"] for group in routing["groups"].values()}
    assert judged.not_well() - expected.perhaps == expected.verdicts
    for check, host, where, wanted, actual in expected.findings:
        found = judged.findings(check, host)
        assert where in found, (check, host, found)
        assert found[where][0] == wanted and re.fullmatch(actual, found[where][1]), (check, host, where, found[where])
    for (check, host), words in expected.unknown.items():
        assert judged.words(check, host) == words
    if name == "uplink_mtu":
        some_flows_lost(judged)
    if name == "host_link_down":
        only_its_rail_is_lost(judged, fabric.plan.rails("gpu01")[0][0].address)


def some_flows_lost(judged: Judged) -> None:
    """One uplink of several takes some of the flows, never all: that is what one ping with its one path cannot see."""
    lost = [finding for one in judged.report["verdicts"] if one["check"] == "path_carries_full_size" for finding in one["findings"]]
    flows = [(int(finding["expected"].split()[0]), int(finding["actual"])) for finding in lost]
    assert flows and all(0 < answered < sent for sent, answered in flows), flows


def only_its_rail_is_lost(judged: Judged, address: str) -> None:
    """Every host's finding is of the rail whose link is down, from it or to it."""
    for one in judged.report["verdicts"]:
        if one["check"] in ("rails_reachable", "path_carries_full_size"):
            its_own = one["host"] == "gpu01"
            assert all(finding["where"].startswith("mlx5_0 to ") if its_own else f"({address})" in finding["where"] for finding in one["findings"]), one


@pytest.mark.parametrize("name", ["bgp_summary", "ecmp_routes"])
def test_text_and_json_of_a_live_router_tell_the_same(fabric: Lab, name: str) -> None:
    commands = {"bgp_summary": "show ip bgp summary", "ecmp_routes": "show ip route"}
    read = {form: over_ssh(fabric, "leaf01", f"vtysh -c '{commands[name]}{form}'") for form in ("", " json")}
    columns = {"bgp_summary": ("neighbor", "asn", "state", "prefixes_received"), "ecmp_routes": ("prefix", "protocol", "next_hop", "interface", "installed")}
    rows = {form: sorted(str([row[column] for column in columns[name]]) for row in parse(name, "frr", text)) for form, text in read.items()}
    assert rows[""] == rows[" json"]


def over_ssh(lab: Lab, node: str, command: str) -> str:
    """What a node's shell prints."""
    ssh = ["ssh", "-F", str(lab.directory / "ssh_config"), lab.plan.nodes[node].management, command]
    return subprocess.run(ssh, capture_output=True, text=True, check=True, timeout=30, stdin=subprocess.DEVNULL).stdout


@dataclass
class Shutting:
    """What the test does to the link once the run has read it: whether it brings it up again, and whether other flows are lost while it is down."""

    back: bool = True
    stuck: bool = False


def failed_over(lab: Lab, runs: Path, shutting: Shutting | None) -> Judged:
    """Judge layer 2 with probes while an uplink of leaf01 is shut by hand, as the run asks for it."""
    asked: dict[str, t.Any] = {"pod_failover": True, "pod_failover_seconds": 60, "pod_load_tick_seconds": 4, "pod_load_lead_seconds": 5}
    # veth counts no bytes by the names of NICs, so that whether a host is idle is not known.
    asked |= {"pod_load_busy_hosts": True, "pod_idle_seconds": 1, "pod_reconvergence_max_ms": 5000}
    port = lab.plan.between("leaf01", "spine01")[0].name
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        run = beside.submit(climbed, lab.inventory, runs, pod_only="routing", **asked)
        try:
            if shutting is not None:
                shut(lab, runs, port, shutting)
            return run.result()
        finally:
            lab.run("leaf01", "ip", "link", "set", "dev", port, "up")
            lab.run("leaf01", "nft", "delete", "table", "inet", "stuck", check=False)
            lab.wait()


def read_under_load(runs: Path, times: int) -> None:
    """Wait until the run has read the leaf so many times while its probes run."""
    poll(180, lambda: None if len(list(runs.glob("*/2*/readings/routing/during-*/leaf01.json"))) >= times else "not yet", f"{times} readings under load")


def shut(lab: Lab, runs: Path, port: str, shutting: Shutting) -> None:
    """Take the link down, and up again."""
    read_under_load(runs, 2)
    lab.run("leaf01", "ip", "link", "set", "dev", port, "down")
    if shutting.stuck:
        # As a next hop that an ASIC keeps: what is sent by another uplink is lost as well.
        other = lab.plan.between("leaf01", "spine02")[0].name
        rules = f'table inet stuck {{\n chain out {{\n  type filter hook forward priority 0\n  oifname "{other}" udp dport 4794 counter drop\n }}\n}}\n'
        lab.run("leaf01", "nft", "-f", "-", stdin=rules)
    if shutting.back:
        read_under_load(runs, 6)
        lab.run("leaf01", "nft", "delete", "table", "inet", "stuck", check=False)
        lab.run("leaf01", "ip", "link", "set", "dev", port, "up")


def of_failover(judged: Judged) -> dict[str, str]:
    """The verdicts of both checks on the leaf whose uplink is shut."""
    return {check: judged.verdicts()[check, "leaf01"]["verdict"] for check in ("reconvergence_time", "restored_after_failure")}


@pytest.mark.exhaustive
def test_a_shut_uplink_is_routed_around_and_comes_back(fabric: Lab, tmp_path: Path) -> None:
    judged = failed_over(fabric, tmp_path, Shutting())
    assert judged.not_well() == set(), judged.output
    assert of_failover(judged) == {"reconvergence_time": "pass", "restored_after_failure": "pass"}
    own, far = fabric.plan.between("leaf01", "spine01")
    assert f"shut leaf01 {own.name} (to spine01 {far.name})" in judged.output


@pytest.mark.exhaustive
@pytest.mark.long
def test_an_uplink_that_nobody_shuts_is_no_pass(fabric: Lab, tmp_path: Path) -> None:
    judged = failed_over(fabric, tmp_path, None)
    assert of_failover(judged) == {"reconvergence_time": "unknown", "restored_after_failure": "unknown"}
    assert judged.report["verdict"] == "no_go" and "was not shut: it was up in each of" in judged.words("reconvergence_time", "leaf01")


@pytest.mark.exhaustive
@pytest.mark.long
def test_flows_that_are_not_routed_around_the_link_are_found(fabric: Lab, tmp_path: Path) -> None:
    judged = failed_over(fabric, tmp_path, Shutting(stuck=True))
    assert of_failover(judged)["reconvergence_time"] == "fail", judged.output
    assert any("lost until it was up again" in got for _expected, got in judged.findings("reconvergence_time", "leaf01").values())


@pytest.mark.exhaustive
@pytest.mark.long
def test_an_uplink_that_stays_down_is_not_restored(fabric: Lab, tmp_path: Path) -> None:
    judged = failed_over(fabric, tmp_path, Shutting(back=False))
    assert of_failover(judged) == {"reconvergence_time": "pass", "restored_after_failure": "fail"}, judged.output
