# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judgement: what a missing, silent or broken reading comes to, by checks made for the purpose."""

from __future__ import annotations

import datetime
import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import checks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, Finding, NotApplicable, check
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import Place, at_device, at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate import layer as layer_module
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.gates import decide_gates
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.layer import verdicts_of_checks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.layer_input import Layer
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.shared_nodes import by_group
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.verdicts import Verdict
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.scope import groups_in_scope
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.state import State
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.evaluate_layer import verdicts_of_layer

from ..conftest import small_plan

TODAY = datetime.date(2026, 6, 15)


@pytest.fixture
def declare(monkeypatch):
    """Declares functions as the only checks of the layer links."""
    monkeypatch.setitem(checks.REGISTRY, "links", {})

    def one(judge: t.Callable[..., t.Any], **options: t.Any) -> None:
        judge.__module__ = "x.checks.links"
        judge.__doc__ = "It holds."
        check(cause="A cause.", fix="A fix.", **options)(judge)

    return one


def envelope(boot_id: str = "1", **readings: t.Any) -> dict[str, t.Any]:
    output = {name: rows if isinstance(rows, dict) else {"status": "ok", "words": "", "rows": rows, "evidence": None} for name, rows in readings.items()}
    return {"answered": True, "words": "", "boot_id": boot_id, "uptime_seconds": 1.0, "readings": output}


def judge(now: dict, before: dict | None = None, silent: dict | None = None, members: t.Sequence[str] = ("gpu01",), **values: t.Any):
    plan = small_plan(**values)
    layer = Layer("links", plan, members, members, now, before or {}, silent or {}, (), TODAY)
    return {(one.check, one.host or one.group): one for one in verdicts_of_checks(layer)}


def test_rows_without_a_finding_pass_and_a_finding_fails(declare) -> None:
    def port(interface_status):
        for row in interface_status:
            if row["state"] != "connected":
                yield Finding(at_port(row["port"]), "connected", row["state"])

    declare(port)
    assert judge({"gpu01": envelope(interface_status=[{"port": "a", "state": "connected"}])})["port", "gpu01"].verdict == "pass"
    bad = judge({"gpu01": envelope(interface_status=[{"port": "a", "state": "down"}])})["port", "gpu01"]
    assert (bad.verdict, str(bad.findings[0]), bad.cause) == ("fail", "a: expected connected, got down", "A cause.")


@pytest.mark.parametrize(
    ("output", "verdict", "words"),
    [
        ({"status": "unknown", "words": "ethtool: not found on PATH", "rows": [], "evidence": None}, "unknown", "ethtool: not found on PATH"),
        ({"status": "not_applicable", "words": "gpus is for nvidia", "rows": [], "evidence": None}, "skip", "gpus is for nvidia"),
        (None, "unknown", "interface_status was never read"),
    ],
)
def test_a_reading_that_is_not_there(declare, output, verdict, words) -> None:
    def port(interface_status):
        return []

    declare(port)
    found = judge({"gpu01": envelope(**{"ip_link": [], **({"interface_status": output} if output else {})})})["port", "gpu01"]
    assert (found.verdict, found.words) == (verdict, words)


def test_a_load_that_a_host_had_no_part_in_has_its_reason_in_each_check(declare) -> None:
    def rates(collective_rates):
        return []

    def ports(ip_link):
        return []

    declare(rates)
    declare(ports)
    why = {"status": "unknown", "words": "it was not loaded: GPU0 runs processes", "rows": [], "evidence": None}
    found = judge({"gpu01": envelope(load_jobs=why)})
    assert [found[name, "gpu01"].words for name in ("rates", "ports")] == [why["words"], "ip_link was never read"]
    assert judge({"gpu01": envelope(load_jobs=[])})["rates", "gpu01"].words == "collective_rates was never read"


@pytest.mark.parametrize(("required", "verdict"), [(False, "skip"), (True, "unknown"), ("pod_hugepages_1g", "skip")])
def test_a_platform_without_the_reading_skips_unless_it_is_required_and_another_kind_has_no_row(declare, required, verdict) -> None:
    def fec(pfc_watchdog):
        return []

    declare(fec, required=required)
    found = judge({"leaf01": envelope(interface_status=[]), "gpu01": envelope(interface_status=[])}, members=["leaf01", "gpu01"])
    assert (found["fec", "leaf01"].verdict, found["fec", "leaf01"].words) == (verdict, "platform eos has no reading pfc_watchdog")
    assert ("fec", "gpu01") not in found


def test_an_exception_is_unknown_with_the_checks_id(declare) -> None:
    def port(interface_status):
        raise KeyError("speed")

    declare(port)
    assert judge({"gpu01": envelope(interface_status=[])})["port", "gpu01"].words == "check port broke: KeyError: 'speed'"


@pytest.mark.parametrize(("why", "verdict"), [(NotApplicable("no spine"), "skip"), (CannotTell("no address"), "unknown")])
def test_a_check_may_say_that_it_does_not_apply_or_cannot_tell(declare, why, verdict) -> None:
    def port(interface_status):
        raise why

    declare(port)
    found = judge({"gpu01": envelope(interface_status=[])})["port", "gpu01"]
    assert (found.verdict, found.words, found.judged, found.cause, found.fix) == (verdict, str(why), False, "A cause.", "A fix.")


def test_a_check_that_cannot_tell_may_say_why(declare) -> None:
    def port(interface_status):
        raise UNDECIDED

    declare(port)
    found = judge({"gpu01": envelope(interface_status=[])})["port", "gpu01"]
    assert (found.verdict, found.findings, found.judged, found.cause, found.fix) == ("unknown", (), True, UNDECIDED.cause, UNDECIDED.fix)


def test_a_reboot_between_the_readings_resets_every_counter(declare) -> None:
    def grown(interface_errors, interface_errors_before):
        return []

    declare(grown)
    now, before = {"gpu01": envelope("2", interface_errors=[])}, {"gpu01": envelope("1", interface_errors=[])}
    assert "counters were reset" in judge(now, before)["grown", "gpu01"].words
    assert judge(now, {"gpu01": envelope("2", interface_errors=[])})["grown", "gpu01"].verdict == "pass"
    quick = judge(now, {}, pod_depth="quick")["grown", "gpu01"]
    assert (quick.verdict, quick.words, quick.left_out) == ("skip", "no soak at depth quick", True)


def test_two_readings_without_a_boot_are_not_of_one_boot(declare) -> None:
    def grown(interface_errors, interface_errors_before):
        return []

    declare(grown)
    rows = [{"port": "Ethernet1"}]
    untold = {**envelope(interface_errors=rows), "boot_id": None, "uptime_seconds": None}
    found = judge({"gpu01": {**untold, "asked_at": 2.0}}, {"gpu01": {**untold, "asked_at": 1.0}})["grown", "gpu01"]
    assert (found.verdict, found.words) == ("unknown", "whether the node has booted between two readings is not known")
    counted = [{"gpu01": {**untold, "asked_at": 10.0 * one, "uptime_seconds": 500 + 10.0 * one}} for one in range(2)]
    assert judge(counted[1], counted[0])["grown", "gpu01"].verdict == "pass"


def test_a_silent_node_is_one_unknown(declare) -> None:
    def port(interface_status):
        return []

    declare(port)
    found = judge({}, silent={"gpu01": "unreachable: timed out"})
    assert list(found) == [("answered", "gpu01")] and found["answered", "gpu01"].words == "unreachable: timed out"
    assert judge({})["answered", "gpu01"].words == "never read"


@pytest.mark.parametrize(("layer", "node", "verdict"), [("preflight", "gpu01", "unknown"), ("links", "leaf01", "unknown"), ("preflight", "leaf01", "skip")])
@pytest.mark.parametrize("readings", [{}, {"gpus": {"status": "not_applicable", "words": "gpus is for nvidia", "rows": [], "evidence": None}}])
def test_a_node_from_which_nothing_was_read_is_unknown_where_its_kind_is_read(layer, node, verdict, readings) -> None:
    plan = small_plan()
    judged = Layer(layer, plan, [node], [], {node: envelope(**readings)}, {}, {}, (), TODAY)
    answered = next(one for one in verdicts_of_checks(judged) if one.check == "answered")
    assert (answered.verdict, answered.words.startswith("nothing is read from")) == (verdict, True)
    gates = decide_gates(plan, [answered], ["rack_01"], [], {}) if verdict == "unknown" else {}
    assert all(gate.state == "closed" for gate in gates.values())


def test_a_group_check_sees_its_hosts_and_names_those_that_did_not_tell(declare) -> None:
    def even(ip_link, pod_link_gbit_s):
        yield from (Finding(Place("MTU"), "9000", "1500", host=host) for host, rows in ip_link.items() if rows)

    declare(even, scope="group")
    lost = {"status": "unknown", "words": "ip: not found on PATH", "rows": [], "evidence": None}
    found = judge({"gpu01": envelope(ip_link=[{}]), "gpu02": envelope(ip_link=lost), "gpu03": envelope(ip_link=[])}, members=["gpu01", "gpu02", "gpu03"])
    assert {(finding.host, finding.severity) for finding in found["even", "rack_01"].findings} == {("gpu01", "fail"), ("gpu02", "unknown")}
    assert found["even", "rack_02"].verdict == "pass"


def test_members_are_held_against_helpers_of_which_nothing_is_reported(declare) -> None:
    def usual(ibstat):
        most = max(row["rate_gbit_s"] for rows in ibstat.values() for row in rows)
        for host, rows in ibstat.items():
            for row in rows:
                if row["rate_gbit_s"] < most:
                    yield Finding(at_device(row["device"]), str(most), str(row["rate_gbit_s"]), host=host)

    declare(usual, scope="group")

    def judged(member: float, helper: t.Any) -> t.Any:
        now = {"gpu01": envelope(ibstat=[{"device": "mlx5_0", "rate_gbit_s": member}]), "gpu02": envelope(ibstat=helper)}
        layer = Layer("links", small_plan(), ["gpu01"], ["gpu01"], now, {}, {}, (), TODAY, helpers=["gpu02"])
        return next(one for one in verdicts_of_checks(layer) if one.check == "usual")

    slow = judged(200.0, [{"device": "mlx5_0", "rate_gbit_s": 400.0}])
    assert (slow.verdict, [one.host for one in slow.findings]) == ("fail", ["gpu01"])
    assert judged(400.0, [{"device": "mlx5_0", "rate_gbit_s": 200.0}]).verdict == "pass"
    assert judged(400.0, {"status": "unknown", "words": "ibstat: not found", "rows": [], "evidence": None}).verdict == "pass"


def test_members_that_expect_different_things_cannot_be_compared(declare) -> None:
    def even(ip_link, pod_link_gbit_s):
        return []

    declare(even, scope="group")
    plan = small_plan()
    plan.nodes["gpu02"].values["pod_link_gbit_s"] = 200.0
    now = {host: envelope(ip_link=[]) for host in ("gpu01", "gpu02")}
    found = {one.check: one for one in verdicts_of_checks(Layer("links", plan, list(now), list(now), now, {}, {}, (), TODAY))}
    assert (found["even"].verdict, found["even"].words) == ("unknown", "members of rack_01 have different pod_link_gbit_s")


def test_what_peers_reported_and_an_optional_reading(declare) -> None:
    def ends(interface_mtu, interface_mtu_of_peers, lldp_neighbors=None):
        assert lldp_neighbors is None
        yield Finding(Place("peers"), "all", ",".join(sorted(interface_mtu_of_peers)))

    declare(ends)
    found = judge({"gpu01": envelope(interface_mtu=[{}]), "leaf01": envelope(interface_mtu=[{}])}, members=["gpu01", "leaf01"])
    assert {one.findings[0].actual for key, one in found.items() if key[0] == "ends"} == {"gpu01,leaf01"}


@pytest.mark.parametrize("scope", ["node", "group"])
@pytest.mark.parametrize(("unparsed", "taken_as", "verdict"), [(True, "unknown", "unknown"), (True, "warn", "warn"), (False, "unknown", "pass")])
def test_an_optional_response_that_nobody_understands_is_no_pass(declare, unparsed, taken_as, verdict, scope) -> None:
    def port(interface_status, sysctl=None):
        yield from ()

    declare(port, scope=scope, kind="host", unparsed=taken_as)
    broken = {"status": "unknown", "words": "sysctl: a line that no rule knows", "rows": [], "evidence": None, "unparsed": unparsed}
    verdicts = judge({"gpu01": envelope(interface_status=[{"port": "a", "state": "connected"}], sysctl=broken)})
    found = verdicts["port", "gpu01" if scope == "node" else "rack_01"]
    assert found.verdict == verdict
    assert [str(one) for one in found.findings] == ["sysctl: expected a response of a known form, got sysctl: a line that no rule knows"] * unparsed
    assert [one.host for one in found.findings] == [None if scope == "node" else "gpu01"] * unparsed


def test_a_response_that_was_understood_in_the_end_is_no_finding(declare) -> None:
    def port(interface_status, sysctl=None):
        yield from ()

    declare(port, kind="host")
    understood = {"status": "ok", "words": "", "rows": [], "evidence": None, "unparsed": True}
    assert judge({"gpu01": envelope(interface_status=[{"port": "a"}], sysctl=understood)})["port", "gpu01"].verdict == "pass"


def test_of_a_member_that_was_not_read_nothing_else_is_reported(declare) -> None:
    def port(interface_status, sysctl=None):
        yield from ()

    declare(port, scope="group", kind="host")
    broken = {"status": "unknown", "words": "not understood", "rows": [], "evidence": None, "unparsed": True}
    now = {"gpu01": envelope(interface_status=broken, sysctl=broken), "gpu02": envelope(interface_status=[{"port": "a"}])}
    found = judge(now, members=("gpu01", "gpu02"))["port", "rack_01"]
    assert [(one.host, one.expected) for one in found.findings] == [("gpu01", "a reading")]


@pytest.mark.parametrize("scope", ["node", "group"])
def test_what_the_driver_of_a_group_cannot_report_is_not_judged(declare, scope) -> None:
    def port(interface_status):
        yield Finding(Place("a"), "up", "down")

    declare(port, scope=scope, kind="host", meanings=("firmware_settings",))
    for driver, verdict, unavailable in (("bnxt_en", "skip", True), ("mlx5_core", "fail", False)):
        rows = [{"netdev": f"ens{number}", "driver": driver, "version": "6.8.0"} for number in range(2)]
        now = {host: envelope(interface_status=[{"port": "a"}], nic_driver=rows) for host in ("gpu01", "gpu02")}
        found = judge(now, members=("gpu01", "gpu02"))["port", "gpu01" if scope == "node" else "rack_01"]
        assert (found.verdict, found.unavailable) == (verdict, unavailable), driver


@pytest.mark.parametrize("planned", ["guest", "none"])
def test_what_belongs_to_the_hypervisor_is_not_judged_in_a_host_that_reports_to_be_a_guest(declare, planned) -> None:
    def port(interface_status):
        yield Finding(Place("a"), "up", "down")

    declare(port, kind="host", not_in_guest="ports are the hypervisor's")
    unread = {"status": "unknown", "words": "systemd-detect-virt: not found", "rows": []}
    for reported, verdict in (([{"hypervisor": "kvm"}], "skip"), ([{"hypervisor": "none"}], "fail"), ([], "fail"), (unread, "fail")):
        found = judge({"gpu01": envelope(interface_status=[{"port": "a"}], virtualization=reported)}, pod_virtualization=planned)["port", "gpu01"]
        assert (found.verdict, found.unavailable) == (verdict, verdict == "skip"), reported
        assert verdict == "fail" or found.words == "not available in a guest: ports are the hypervisor's"


def test_members_with_rails_of_the_same_kind_are_compared_wherever_these_end(declare) -> None:
    def even(ip_link, pod_rails):
        return [Finding(at_device(rail["device"]), "a name", rail["device"]) for rail in pod_rails if rail["device"] == "odd"]

    declare(even, scope="group")
    plan = small_plan()
    now = {host: envelope(ip_link=[]) for host in ("gpu01", "gpu02")}
    layer = Layer("links", plan, list(now), list(now), now, {}, {}, (), TODAY)
    plan.nodes["gpu02"].values["pod_rails"][0].update(leaf="gpu01", address="10.9.9.9/24", pci="0000:01:00.0")
    assert next(one.verdict for one in verdicts_of_checks(layer) if one.check == "even") == "pass"
    plan.nodes["gpu02"].values["pod_rails"][0]["device"] = "mlx5_9"
    assert next(one.words for one in verdicts_of_checks(layer) if one.check == "even") == "members of rack_01 have different pod_rails"


def test_a_node_outside_the_limit_is_not_reported_as_down(tmp_path) -> None:
    plan = small_plan()
    groups, silent = groups_in_scope(plan, {"gpu01", "gpu02", "leaf01", "leaf02", "spine01"}, None)
    state = State(
        pod="pod", run_id="1", depth="standard", mode="full", opened="2026-06-15T12:00:00Z", digest="", version="",
        layers=["preflight"], scope=groups, silent=silent, members={"preflight": ["gpu01", "spine01", "spine02"]},
    )  # fmt: skip
    book = RunStore(tmp_path)
    book.keep_plan(plan, state)
    _layer, verdicts = verdicts_of_layer(book, plan, state, "preflight", lambda _node: None)
    output = {one.host: one for one in verdicts if one.check == "answered"}
    assert output["spine02"].verdict == "unknown" and "--limit" in output["spine02"].words
    assert "--limit" in output["spine02"].cause and "--limit" in output["spine02"].fix and "Log in" not in output["spine02"].fix
    assert "Log in by hand" in output["spine01"].fix


def test_a_verdict_states_the_threshold_in_force() -> None:
    statements = {
        limit: judge({"gpu01": envelope(link_quality=[])}, pod_symbol_ber_max=limit)["symbol_error_rate", "gpu01"].statement for limit in (1e-15, 2e-14)
    }
    assert "at most 1e-15," in statements[1e-15] and "at most 2e-14," in statements[2e-14]


SKIPPED = {"status": "not_applicable", "words": "gpus is for nvidia", "rows": [], "evidence": None}
LOST = {"status": "unknown", "words": "ip: not found on PATH", "rows": [], "evidence": None}
PAIR = ["gpu01", "gpu02"]
HOSTS = [*PAIR, "gpu03", "gpu04"]


def test_a_group_is_skipped_where_every_host_is_and_not_for_one_of_them(declare) -> None:
    def even(ip_link):
        yield from (Finding(Place("MTU"), "9000", "1500", host=host) for host in ip_link)

    declare(even, scope="group")
    one = judge({"gpu01": envelope(ip_link=SKIPPED, ibstat=[]), "gpu02": envelope(ip_link=[{}])}, members=PAIR)["even", "rack_01"]
    assert (one.verdict, [finding.host for finding in one.findings]) == ("fail", ["gpu02"])
    both = judge({host: envelope(ip_link=SKIPPED, ibstat=[]) for host in PAIR}, members=PAIR)["even", "rack_01"]
    assert (both.verdict, both.words, both.findings) == ("skip", "gpus is for nvidia", ())
    mixed = judge({"gpu01": envelope(ip_link=SKIPPED, ibstat=[]), "gpu02": envelope(ip_link=LOST)}, members=PAIR)["even", "rack_01"]
    assert (mixed.verdict, [(finding.host, finding.severity) for finding in mixed.findings]) == ("unknown", [("gpu02", "unknown")])


UNDECIDED = CannotTell("no rail sent data", "The load did not start.", "Start it.")


@pytest.mark.parametrize("policy", ["strict", "quarantine"])
@pytest.mark.parametrize(
    ("why", "cause"), [(UNDECIDED, UNDECIDED.cause), (CannotTell("no rail sent data"), None), (KeyError("rate"), None)], ids=["cause", "words", "crash"]
)
def test_a_group_that_could_not_be_judged_stays_closed_beside_a_host_that_was_not_read(declare, why, cause, policy) -> None:
    def even(ip_link):
        raise why

    declare(even, scope="group")
    now = {"gpu01": envelope(ip_link=[{}]), "gpu02": envelope(ip_link=LOST, ibstat=[])}
    plan = small_plan(pod_gate_policy=policy, pod_quarantine_max=1)
    found = verdicts_of_checks(Layer("links", plan, PAIR, PAIR, now, {}, {}, (), TODAY))
    of_group = next(one for one in found if one.check == "even")
    words = of_group.words
    assert [(one.host, str(one.where), one.actual, one.severity, one.cause, one.judged) for one in of_group.findings] == [
        (None, "rack_01", words, "unknown", cause, cause is not None), ("gpu02", "gpu02", "ip: not found on PATH", "unknown", None, False),
    ]  # fmt: skip
    assert of_group.findings[0].fix == (UNDECIDED.fix if cause else None) and of_group.findings[0].expected == "It holds"
    assert ("no rail sent data" in words) == isinstance(why, CannotTell)
    gate = decide_gates(plan, found, ["rack_01"], None, {})["rack_01"]
    assert gate.state == "closed" and any("rack_01" in reason for reason in gate.reasons)


def test_what_was_found_before_a_check_could_not_tell_is_kept(declare) -> None:
    def port(interface_status):
        yield Finding(at_port("Ethernet1"), "up", "down")
        raise UNDECIDED

    declare(port)
    found = judge({"gpu01": envelope(interface_status=[])})["port", "gpu01"]
    assert (found.verdict, [(str(one.where), one.severity, one.fix) for one in found.findings]) == (
        "fail", [("gpu01", "unknown", "Start it."), ("Ethernet1", "fail", None)]
    )  # fmt: skip


@pytest.mark.parametrize(("why", "verdict"), [(NotApplicable("no spine"), "unknown"), (CannotTell("no address"), "unknown")])
def test_what_could_not_be_read_is_named_where_the_check_gives_no_verdict_on_the_others(declare, why, verdict) -> None:
    def even(ip_link):
        raise why

    declare(even, scope="group")
    found = judge({"gpu01": envelope(ip_link=[{}]), "gpu02": envelope(ip_link=LOST)}, members=PAIR)["even", "rack_01"]
    assert (found.verdict, found.words) == (verdict, str(why))
    own = [(None, "no address", "unknown")] if isinstance(why, CannotTell) else []
    assert [(finding.host, finding.actual, finding.severity) for finding in found.findings] == [*own, ("gpu02", "ip: not found on PATH", "unknown")]


def layer_of(now: dict, members: t.Sequence[str], **more: t.Any) -> Layer:
    return Layer(
        **{
            "name": "links",
            "plan": small_plan(),
            "members": members,
            "partners": members,
            "now": now,
            "before": {},
            "silent": {},
            "waivers": (),
            "today": TODAY,
            **more,
        }
    )


def verdicts_of(layer: Layer, check_id: str) -> dict[str, Verdict]:
    return {one.host or one.group or "": one for one in verdicts_of_checks(layer) if one.check == check_id}


def test_one_check_and_those_of_another_fabric_are_left_out(declare) -> None:
    def first(ip_link):
        return []

    def second(ip_link):
        return []

    def other(ip_link):
        return []

    declare(first)
    declare(second)
    declare(other, fabric="infiniband")
    now = {"gpu01": envelope(ip_link=[])}
    assert {one.check for one in verdicts_of_checks(layer_of(now, ["gpu01"]))} == {"answered", "first", "second"}
    assert {one.check for one in verdicts_of_checks(layer_of(now, ["gpu01"], only="second"))} == {"answered", "second"}


def test_a_node_that_gave_no_answer_is_unknown_in_the_words_of_its_envelope(declare) -> None:
    def port(ip_link):
        return []

    declare(port)
    spoke = envelope(ip_link=[])
    for envelopes, silent, words in (
        ({"gpu01": {**spoke, "answered": False, "words": "no Python"}}, {}, "no Python"),
        ({"gpu01": {**spoke, "answered": False, "words": ""}}, {}, "never read"),
        ({"gpu01": spoke}, {"gpu01": "unreachable since"}, "unreachable since"),
    ):
        (found,) = verdicts_of_checks(layer_of(envelopes, ["gpu01"], silent=silent))
        assert (found.check, found.verdict, found.words, found.findings[0].actual) == ("answered", "unknown", words, words)


def test_a_host_is_evaluated_where_nothing_is_read_now_and_a_switch_is_not(declare) -> None:
    def port(interface_errors_before):
        return []

    declare(port)
    now = {name: envelope() for name in ("gpu01", "leaf01")}
    found = {(one.check, one.host): one.verdict for one in verdicts_of_checks(layer_of(now, list(now)))}
    assert found == {("answered", "gpu01"): "skip", ("answered", "leaf01"): "skip", ("port", "gpu01"): "unknown"}


def test_what_peers_report_is_what_they_read(declare) -> None:
    def ends(ip_link, ip_link_of_peers):
        yield Finding(Place("peers"), "all", ",".join(sorted(ip_link_of_peers)))

    declare(ends)
    now = {"gpu01": envelope(ip_link=[]), "gpu02": envelope(ip_link=LOST), "gpu03": envelope(ibstat=[])}
    found = verdicts_of(layer_of(now, ["gpu01", "gpu02", "gpu03"]), "ends")
    assert found["gpu01"].findings[0].actual == "gpu01"
    assert {name: one.verdict for name, one in found.items()} == {"gpu01": "fail", "gpu02": "unknown", "gpu03": "unknown"}


def test_a_check_that_takes_more_hosts_than_take_part_is_skipped(declare) -> None:
    def two_of_a_group(ip_link):
        return []

    def three(ip_link):
        return []

    def two_together(ip_link):
        return []

    declare(two_of_a_group, hosts=(2, "group"))
    declare(three, hosts=(3, "pod"))
    declare(two_together, hosts=(2, "group"), scope="group")

    def found(members: list[str], **more: t.Any) -> dict[str, tuple[str, bool, str]]:
        now = {name: envelope(ip_link=[], interface_status=[]) for name in members}
        return {one.check: (one.verdict, one.too_few, one.words) for one in verdicts_of_checks(layer_of(now, members, **more)) if one.check != "answered"}

    of_group = ("skip", True, "it takes 2 hosts of a gate group, and 1 took part")
    assert found(["gpu01", "gpu03"]) == {
        "two_of_a_group": of_group, "two_together": of_group, "three": ("skip", True, "it takes 3 hosts, and 2 took part"),
    }  # fmt: skip
    well = ("pass", False, "")
    assert found(["gpu01", "gpu02"]) == {"two_of_a_group": well, "two_together": well, "three": ("skip", True, "it takes 3 hosts, and 2 took part")}
    assert found(["gpu01", "leaf01", "leaf02"])["three"] == ("skip", True, "it takes 3 hosts, and 1 took part"), "a switch is no host"
    assert found(["gpu01"], helpers=["gpu02"])["two_of_a_group"] == found(["gpu01"], partners=["gpu02"])["two_of_a_group"] == well
    assert found(["gpu01", "gpu02"], helpers=["gpu03"])["three"] == found(["gpu01", "gpu02"], partners=["gpu03"])["three"] == well


def test_a_run_without_loads_leaves_out_what_needs_them(declare) -> None:
    def plain(ip_link):
        return []

    def loaded(write_bw):
        return []

    def idle(nic_counters_idle):
        return []

    def sampled(nic_counters_during):
        return []

    def together(write_bw):
        return []

    for one in (plain, loaded, idle, sampled):
        declare(one)
    declare(together, scope="group")
    now = {"gpu01": envelope(ip_link=[], write_bw=[], nic_counters=[])}
    full = layer_of(now, ["gpu01"], idle=now, during=now)
    assert {one.check: one.verdict for one in verdicts_of_checks(full)} == dict.fromkeys(("answered", "plain", "loaded", "idle", "sampled", "together"), "pass")
    found = {one.check: one for one in verdicts_of_checks(layer_of(now, ["gpu01"], idle=now, during=now, unloaded="no load at depth quick"))}
    assert {name: one.verdict for name, one in found.items() if not one.left_out} == {"answered": "pass", "plain": "pass"}
    left = [one for one in found.values() if one.left_out]
    assert {one.check for one in left} == {"loaded", "idle", "sampled", "together"}
    assert {(one.verdict, one.words) for one in left} == {("skip", "no load at depth quick")}


def test_what_was_not_read_is_not_what_a_run_left_out(declare) -> None:
    def port(ip_link):
        return []

    declare(port)
    for output, verdict in ((LOST, "unknown"), (SKIPPED, "skip")):
        found = judge({"gpu01": envelope(ip_link=output, ibstat=[])})["port", "gpu01"]
        assert (found.verdict, found.left_out, found.too_few) == (verdict, False, False)
    peers = judge({host: envelope(ip_link=SKIPPED, ibstat=[]) for host in PAIR}, members=PAIR)["port", "gpu02"]
    assert (peers.verdict, peers.left_out) == ("skip", False)


def test_a_check_without_a_soak_is_evaluated_at_depth_quick(declare) -> None:
    def port(ip_link):
        return []

    declare(port)
    assert judge({"gpu01": envelope(ip_link=[])}, pod_depth="quick")["port", "gpu01"].verdict == "pass"


def test_a_platform_without_an_optional_reading_is_evaluated_by_the_others(declare) -> None:
    def port(interface_status, pfc_watchdog=None):
        return [Finding(Place("FEC"), "none", str(pfc_watchdog))]

    declare(port)
    assert judge({"leaf01": envelope(interface_status=[])}, members=["leaf01"])["port", "leaf01"].findings[0].actual == "None"


def test_results_of_a_load_are_of_no_boot(declare) -> None:
    """A load's rows are kept with the envelope of the time at which they were collected."""

    def grown(write_bw, nic_counters_idle):
        return []

    declare(grown)
    now, idle = {"gpu01": envelope("2", write_bw=[])}, {"gpu01": envelope("1", nic_counters=[])}
    assert verdicts_of(layer_of(now, ["gpu01"], idle=idle), "grown")["gpu01"].verdict == "pass"


def test_a_reading_that_is_missing_on_purpose_is_of_no_boot(declare) -> None:
    def grown(ip_link, interface_errors_before=None):
        return []

    declare(grown)
    before = {"gpu01": envelope("1", interface_errors=LOST)}
    assert verdicts_of(layer_of({"gpu01": envelope("2", ip_link=[])}, ["gpu01"], before=before), "grown")["gpu01"].verdict == "pass"


def test_one_response_without_a_boot_is_evaluated(declare) -> None:
    def port(ip_link, ibstat):
        return []

    declare(port)
    untold = {**envelope(ip_link=[], ibstat=[]), "boot_id": None, "uptime_seconds": None}
    assert judge({"gpu01": untold})["port", "gpu01"].verdict == "pass"


def test_a_finding_of_a_group_without_a_host_stays_beside_helpers(declare) -> None:
    def usual(ibstat):
        return [Finding(Place("rack"), "a", "b"), *(Finding(Place("MTU"), "a", "b", host=host) for host in ibstat)]

    declare(usual, scope="group")
    now = {name: envelope(ibstat=[]) for name in ("gpu01", "gpu02", "gpu04")}
    found = verdicts_of(layer_of(now, ["gpu01"], helpers=["gpu02"]), "usual")
    assert [one.host for one in found["rack_01"].findings] == [None, "gpu01"] and list(found) == ["rack_01"]
    alone = verdicts_of(layer_of(now, ["gpu01", "gpu04"], helpers=["gpu01"]), "usual")["rack_01"]
    assert [one.host for one in alone.findings] == [None, "gpu01"], "a member is evaluated, also one that helps"


def test_a_host_that_neither_is_a_member_nor_helps_is_not_compared(declare) -> None:
    def usual(ibstat):
        return [Finding(Place("MTU"), "a", ",".join(sorted(ibstat)))]

    declare(usual, scope="group")
    now = {name: envelope(ibstat=[]) for name in PAIR}
    assert verdicts_of(layer_of(now, ["gpu01"]), "usual")["rack_01"].findings[0].actual == "gpu01"


def test_a_groups_reason_for_a_skip_is_that_of_its_first_host(declare) -> None:
    def even(ip_link):
        return []

    declare(even, scope="group")
    now = {host: envelope(ibstat=[], ip_link={**SKIPPED, "words": host}) for host in PAIR}
    assert (verdicts_of(layer_of(now, PAIR), "even")["rack_01"].words) == "gpu01"


def test_evidence_is_of_the_node_and_its_readings_only(declare) -> None:
    def port(ip_link, ibstat):
        return []

    def even(ip_link):
        return []

    declare(port)
    declare(even, scope="group")
    rows = {"status": "ok", "words": "", "rows": []}
    now = {"gpu01": envelope(ip_link={**rows, "evidence": "a.txt"}, ibstat={**rows, "evidence": None}, gpus={**rows, "evidence": "c.txt"})}
    found = {one.check: one.evidence for one in verdicts_of_checks(layer_of(now, ["gpu01"]))}
    assert found == {"answered": (), "port": ("a.txt",), "even": ()}


def shared(*findings: Finding, group: str | None = None) -> dict[str, str]:
    return by_group(small_plan(), "leaf01", Verdict("links", "port", group, "leaf01", "fail", ("rack_01", "rack_02"), findings=findings))


def test_the_findings_of_a_shared_switch_are_those_of_the_groups_behind_their_ports() -> None:
    assert shared() == {} and shared(Finding(at_port("Ethernet1"), "a", "b"), group="rack_01") == {}
    assert shared(Finding(at_port("Ethernet1"), "a", "b")) == {"rack_01": "fail", "rack_02": "pass"}
    assert shared(Finding(at_port("Ethernet1"), "a", "b", "warn"), Finding(at_port("Ethernet3"), "a", "b", "unknown")) == {
        "rack_01": "warn",
        "rack_02": "unknown",
    }
    assert shared(Finding(Place("a word", port="Ethernet3"), "a", "b")) == {"rack_01": "pass", "rack_02": "fail"}
    assert shared(Finding(Place("a word"), "a", "b", "warn")) == {"rack_01": "warn", "rack_02": "warn"}


def test_nodes_that_take_no_part_are_not_asked_and_silent_members_are(declare) -> None:
    given: list[list[str]] = []

    def port(interface_status, pod_not_asked):
        given.append(pod_not_asked)
        return []

    declare(port)
    judge({"gpu01": envelope(interface_status=[])}, silent={"gpu02": "no route"}, members=("gpu01", "gpu02"))
    assert given == [[name for name in small_plan().nodes if name not in ("gpu01", "gpu02")]] and given[0]


def test_switches_of_closed_groups_are_those_behind_which_nobody_takes_part_and_not_those_that_pod_only_leaves_out(declare) -> None:
    given: list[list[str]] = []

    def port(interface_status, pod_closed_switches):
        given.append(pod_closed_switches)
        return []

    declare(port)
    whole = small_plan()
    # Each leaf is of one rack.
    apart = {("gpu01", "leaf02"), ("gpu02", "leaf02"), ("gpu03", "leaf01"), ("gpu04", "leaf01")}
    plan = Plan(whole.nodes, whole.groups, [cable for cable in whole.cables if (cable.a.node, cable.b.node) not in apart])
    for partners in (["gpu01"], HOSTS):
        verdicts_of_checks(layer_of({"gpu01": envelope(interface_status=[])}, ["gpu01"], plan=plan, partners=partners))
    assert given == [["leaf02"], []]


def test_the_pings_of_a_node_are_those_of_its_mesh(declare) -> None:
    def pinged(ip_link, pod_pings, pod_path_probes):
        return [Finding(Place("mesh"), "some", str((pod_pings, pod_path_probes)))]

    declare(pinged)
    now = {name: envelope(ip_link=[]) for name in HOSTS}
    wanted = small_plan().meshes(HOSTS, HOSTS)
    found = verdicts_of(layer_of(now, HOSTS), "pinged")
    assert {name: one.findings[0].actual for name, one in found.items()} == {name: str((its["ping"], its["path_probe"])) for name, its in wanted.items()}


def test_incasts_are_those_of_the_hosts_that_the_loads_were_planned_for(declare, monkeypatch) -> None:
    def loaded(ip_link, pod_incasts, pod_incast_refused):
        return [Finding(Place("incast"), "a", pod_incast_refused)]

    declare(loaded, hosts=(1, "pod"))
    planned: list[list[str]] = []

    def plan_incasts(plan: t.Any, hosts: list[str]) -> dict[str, t.Any]:
        planned.append(hosts)
        return {name: {"pod_incasts": [], "pod_incast_refused": f"of {name}"} for name in plan.nodes}

    monkeypatch.setattr(layer_module, "incast_expectations", plan_incasts)

    def loading(members: list[str], **status: str) -> list[str]:
        now = {name: envelope(ip_link=[], **({"load_jobs": {**LOST, "status": status[name]}} if name in status else {})) for name in {*members, *status}}
        found = verdicts_of(layer_of(now, members), "loaded")
        assert {one.findings[0].actual for one in found.values()} == {f"of {name}" for name in found}
        return planned.pop()

    assert loading(["gpu01", "gpu02"]) == ["gpu01", "gpu02"], "no load has run"
    assert loading(["gpu01", "gpu02"], gpu01="ok", gpu02="unknown") == ["gpu01"], "gpu02 may not be loaded"
    assert loading(["gpu01", "gpu02"], gpu01="unknown", gpu02="unknown") == ["gpu01", "gpu02"]
    assert loading(["gpu01", "gpu02"], gpu01="ok") == ["gpu01", "gpu02"]
    assert loading(["gpu01"], gpu01="ok", gpu03="ok", gpu04="unknown") == ["gpu01", "gpu03"], "gpu03 helps"


def test_the_first_reading_that_a_platform_lacks_is_named(declare) -> None:
    def both(pfc_watchdog, kernel_routes, interface_status):
        return []

    declare(both)
    lacking = [name for name in ("pfc_watchdog", "kernel_routes") if "eos" not in catalogue()[name].platforms_that_report]
    found = judge({"leaf01": envelope(interface_status=[])}, members=["leaf01"])["both", "leaf01"]
    assert lacking and found.words == f"platform eos has no reading {lacking[0]}"


def test_the_order_of_keys_makes_no_expectation_another(declare) -> None:
    def even(ip_link, pod_rails):
        return []

    declare(even, scope="group")
    plan = small_plan()
    plan.nodes["gpu02"].values["pod_rails"] = [dict(reversed(rail.items())) for rail in plan.nodes["gpu02"].values["pod_rails"]]
    now = {host: envelope(ip_link=[]) for host in PAIR}
    assert verdicts_of(layer_of(now, PAIR, plan=plan), "even")["rack_01"].verdict == "pass"
