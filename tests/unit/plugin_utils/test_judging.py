# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judgement: what a missing, silent or broken reading comes to, by checks made for the purpose."""

from __future__ import annotations

import datetime
import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import checks, judging
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, Finding, NotApplicable, check

from .conftest import small_plan

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
    said = {name: rows if isinstance(rows, dict) else {"status": "ok", "words": "", "rows": rows, "evidence": None} for name, rows in readings.items()}
    return {"answered": True, "words": "", "boot_id": boot_id, "uptime_seconds": 1.0, "readings": said}


def judge(now: dict, before: dict | None = None, silent: dict | None = None, members: t.Sequence[str] = ("gpu01",), **values: t.Any):
    plan = small_plan(**values)
    layer = judging.Layer("links", plan, members, members, now, before or {}, silent or {}, (), TODAY)
    return {(one.check, one.host or one.group): one for one in judging.judge(layer)}


def test_rows_without_a_finding_pass_and_a_finding_fails(declare) -> None:
    def port(interface_status):
        for row in interface_status:
            if row["state"] != "connected":
                yield Finding(row["port"], "connected", row["state"])

    declare(port)
    assert judge({"gpu01": envelope(interface_status=[{"port": "a", "state": "connected"}])})["port", "gpu01"].verdict == "pass"
    bad = judge({"gpu01": envelope(interface_status=[{"port": "a", "state": "down"}])})["port", "gpu01"]
    assert (bad.verdict, str(bad.findings[0]), bad.cause) == ("fail", "a: expected connected, got down", "A cause.")


@pytest.mark.parametrize(
    ("said", "verdict", "words"),
    [
        ({"status": "unknown", "words": "ethtool: not found on PATH", "rows": [], "evidence": None}, "unknown", "ethtool: not found on PATH"),
        ({"status": "not_applicable", "words": "gpus is for nvidia", "rows": [], "evidence": None}, "skip", "gpus is for nvidia"),
        (None, "unknown", "interface_status was never read"),
    ],
)
def test_a_reading_that_is_not_there(declare, said, verdict, words) -> None:
    def port(interface_status):
        return []

    declare(port)
    found = judge({"gpu01": envelope(**({"interface_status": said} if said else {"ip_link": []}))})["port", "gpu01"]
    assert (found.verdict, found.words) == (verdict, words)


@pytest.mark.parametrize(("required", "verdict"), [(False, "skip"), (True, "unknown"), ("pod_hugepages_1g", "skip")])
def test_a_platform_without_the_reading_skips_unless_it_is_required_and_another_kind_has_no_row(declare, required, verdict) -> None:
    def fec(fec_counters):
        return []

    declare(fec, required=required)
    found = judge({"leaf01": envelope(interface_status=[]), "gpu01": envelope(interface_status=[])}, members=["leaf01", "gpu01"])
    assert (found["fec", "leaf01"].verdict, found["fec", "leaf01"].words) == (verdict, "platform eos has no reading fec_counters")
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
    assert (found.verdict, found.words) == (verdict, str(why))


def test_a_reboot_between_the_readings_resets_every_counter(declare) -> None:
    def grown(interface_errors, interface_errors_before):
        return []

    declare(grown)
    now, before = {"gpu01": envelope("2", interface_errors=[])}, {"gpu01": envelope("1", interface_errors=[])}
    assert "counters were reset" in judge(now, before)["grown", "gpu01"].words
    assert judge(now, {"gpu01": envelope("2", interface_errors=[])})["grown", "gpu01"].verdict == "pass"
    quick = judge(now, {}, pod_depth="quick")["grown", "gpu01"]
    assert (quick.verdict, quick.words, quick.left_out) == ("skip", "no soak at depth quick", True)


def test_a_silent_node_is_one_unknown(declare) -> None:
    def port(interface_status):
        return []

    declare(port)
    found = judge({}, silent={"gpu01": "unreachable: timed out"})
    assert list(found) == [("answered", "gpu01")] and found["answered", "gpu01"].words == "unreachable: timed out"
    assert judge({})["answered", "gpu01"].words == "never read"


def test_a_group_check_sees_its_hosts_and_names_those_that_did_not_tell(declare) -> None:
    def even(ip_link, pod_link_gbit_s):
        yield from (Finding("MTU", "9000", "1500", host=host) for host, rows in ip_link.items() if rows)

    declare(even, scope="group")
    lost = {"status": "unknown", "words": "ip: not found on PATH", "rows": [], "evidence": None}
    found = judge({"gpu01": envelope(ip_link=[{}]), "gpu02": envelope(ip_link=lost), "gpu03": envelope(ip_link=[])}, members=["gpu01", "gpu02", "gpu03"])
    assert {(finding.host, finding.severity) for finding in found["even", "rack_01"].findings} == {("gpu01", "fail"), ("gpu02", "unknown")}
    assert found["even", "rack_02"].verdict == "pass"


def test_members_are_held_against_helpers_of_which_nothing_is_said(declare) -> None:
    def usual(ibstat):
        most = max(row["rate_gbit_s"] for rows in ibstat.values() for row in rows)
        for host, rows in ibstat.items():
            for row in rows:
                if row["rate_gbit_s"] < most:
                    yield Finding(row["device"], str(most), str(row["rate_gbit_s"]), host=host)

    declare(usual, scope="group")

    def judged(member: float, helper: t.Any) -> t.Any:
        now = {"gpu01": envelope(ibstat=[{"device": "mlx5_0", "rate_gbit_s": member}]), "gpu02": envelope(ibstat=helper)}
        layer = judging.Layer("links", small_plan(), ["gpu01"], ["gpu01"], now, {}, {}, (), TODAY, helpers=["gpu02"])
        return next(one for one in judging.judge(layer) if one.check == "usual")

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
    found = {one.check: one for one in judging.judge(judging.Layer("links", plan, list(now), list(now), now, {}, {}, (), TODAY))}
    assert (found["even"].verdict, found["even"].words) == ("unknown", "members of rack_01 have different pod_link_gbit_s")


def test_what_peers_said_and_an_optional_reading(declare) -> None:
    def ends(interface_mtu, interface_mtu_of_peers, lldp_neighbors=None):
        assert lldp_neighbors is None
        yield Finding("peers", "all", ",".join(sorted(interface_mtu_of_peers)))

    declare(ends)
    found = judge({"gpu01": envelope(interface_mtu=[{}]), "leaf01": envelope(interface_mtu=[{}])}, members=["gpu01", "leaf01"])
    assert {one.findings[0].actual for key, one in found.items() if key[0] == "ends"} == {"gpu01,leaf01"}


def test_members_with_rails_of_the_same_kind_are_compared_wherever_these_end(declare) -> None:
    def even(ip_link, pod_rails):
        return [Finding(rail["device"], "a name", rail["device"]) for rail in pod_rails if rail["device"] == "odd"]

    declare(even, scope="group")
    plan = small_plan()
    now = {host: envelope(ip_link=[]) for host in ("gpu01", "gpu02")}
    layer = judging.Layer("links", plan, list(now), list(now), now, {}, {}, (), TODAY)
    plan.nodes["gpu02"].values["pod_rails"][0].update(leaf="gpu01", address="10.9.9.9/24", pci="0000:01:00.0")
    assert next(one.verdict for one in judging.judge(layer) if one.check == "even") == "pass"
    plan.nodes["gpu02"].values["pod_rails"][0]["device"] = "mlx5_9"
    assert next(one.words for one in judging.judge(layer) if one.check == "even") == "members of rack_01 have different pod_rails"
