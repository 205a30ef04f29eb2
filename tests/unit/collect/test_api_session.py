# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches over their API: real requests to a server that speaks it; what it says was recorded from switches."""

from __future__ import annotations

import json
import shutil
import subprocess
import types
import typing as t
from pathlib import Path

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect import api_session
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.responses import reading_result
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.transports import NodeResponse, query_node
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.types import ReadingResult
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse
from ansible_collections.gpufabric.pyramid.tests.labs.api.server import NO_PRIVILEGE, ApiSwitch

RECORDINGS = Path(__file__).resolve().parents[2] / "recordings"
STATUS = {"eos": "show interfaces status", "nxos": "show interface status"}


def recorded(platform: str, name: str) -> str:
    return (RECORDINGS / platform / f"{name}.txt").read_text(encoding="utf-8")


def healthy(platform: str) -> dict[str, str]:
    """What a switch prints for its ports and neighbours."""
    if platform == "nxos":
        return {
            "show interface status": recorded("nxos", "interface_status/pod_leaf"),
            "show ip bgp summary vrf all": recorded("nxos", "bgp_summary/three_vrfs"),
        }
    return {
        "show interfaces status": recorded("eos", "interface_status/pod_leaf"),
        "show lldp neighbors | json": recorded("eos", "lldp_neighbors/json"),
        "show version | json": recorded("eos", "uptime/json"),
    }


said: list[str] = []


def ask(switch: ApiSwitch, *names: str, boot: bool = False, enable: str | None = None, **options: t.Any) -> tuple[NodeResponse, dict[str, ReadingResult]]:
    """What comes of some readings, asked with the options of a connection."""
    given = {"host": "127.0.0.1", "port": switch.port, "remote_user": switch.user, "password": switch.password, "use_ssl": False, **options}
    become = None if enable is None else types.SimpleNamespace(get_option=lambda _name: enable)
    connection = types.SimpleNamespace(transport="ansible.netcommon.httpapi", get_option=given.get, become=become)
    node = {"kind": "switch", "platform": switch.dialect, "values": {"pod_switch_transport": "auto", "pod_fabric": "roce"}, "items": {"rail": []}}
    asks, _apart = queries_for(names, node)
    display = types.SimpleNamespace(vvv=lambda words, host: said.append(f"<{host}> {words}"))
    response = query_node(types.SimpleNamespace(_connection=connection, _display=display), node, asks, {}, boot=boot)
    return response, {one.reading.name: reading_result(one, switch.dialect, response.answers[one.reading.name]) for one in asks if response.answered}


def test_readings_travel_together_and_the_boot_alone() -> None:
    with ApiSwitch("eos", healthy("eos")) as switch:
        response, replies = ask(switch, "interface_status", "lldp_neighbors", boot=True)
    assert replies["interface_status"].rows == parse("interface_status", "eos", recorded("eos", "interface_status/pod_leaf"))
    assert replies["lldp_neighbors"].status == "ok" and replies["lldp_neighbors"].rows
    assert response.uptime_seconds == json.loads(recorded("eos", "uptime/json"))["uptime"] and response.asked_at is not None
    assert switch.requests[0] == ["show version"] and len(switch.requests) <= 4
    assert {one["reading"] for one in response.commands} == {"interface_status", "lldp_neighbors", "uptime"}


@pytest.mark.parametrize("platform", ["eos", "nxos"])
def test_a_refused_command_is_unknown_in_the_switchs_words_and_the_others_are_read(platform: str) -> None:
    with ApiSwitch(platform, healthy(platform)) as switch:
        _response, replies = ask(switch, "mac_table", "interface_status", "arp_table")
    assert replies["interface_status"].rows == parse("interface_status", platform, recorded(platform, "interface_status/pod_leaf"))
    for name in ("mac_table", "arp_table"):
        assert replies[name].status == "unknown" and "Invalid" in replies[name].words, replies[name]


@pytest.mark.parametrize("platform", ["eos", "nxos"])
def test_a_command_that_does_not_end_is_named(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_session, "TOGETHER_SECONDS", 0.3)
    session = api_session.ApiSession
    monkeypatch.setattr(session, "send", _quick(session.send))
    with ApiSwitch(platform, healthy(platform)) as switch:
        switch.hangs.add(STATUS[platform])
        _response, replies = ask(switch, "interface_status", "arp_table")
    assert replies["interface_status"].status == "unknown" and STATUS[platform] in replies["interface_status"].words
    assert "not asked, because" in replies["arp_table"].words


def _quick(send: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
    return lambda self, command, _seconds: send(self, command, 1)


def test_a_response_that_does_not_end_is_left_and_the_next_command_is_asked() -> None:
    with ApiSwitch("eos", healthy("eos")) as switch:
        switch.endless |= {"show interfaces status"}
        _response, replies = ask(switch, "interface_status", "lldp_neighbors")
    assert "MiB that are kept" in replies["interface_status"].words
    assert replies["lldp_neighbors"].status == "ok"


def test_a_refused_login_is_a_node_that_cannot_be_reached() -> None:
    with ApiSwitch("eos", healthy("eos")) as switch:
        with pytest.raises(AnsibleConnectionFailure, match="refuses the login with HTTP status 401") as refused:
            ask(switch, "interface_status", password="guess-me")
        assert switch.logins == 1 and "guess-me" not in str(refused.value)


def test_the_privileged_mode_is_entered_in_each_request() -> None:
    with ApiSwitch("eos", healthy("eos")) as switch:
        switch.enable_password = "battery staple"
        _response, replies = ask(switch, "interface_status", enable="battery staple")
        assert replies["interface_status"].status == "ok"
        _response, replies = ask(switch, "interface_status", enable="wrong")
        assert replies["interface_status"].status == "unknown" and NO_PRIVILEGE in replies["interface_status"].words
    assert "<127.0.0.1> POST /command-api text: show interfaces status" in said and not any("battery staple" in words for words in said)


def test_another_platform_has_no_api() -> None:
    with ApiSwitch("eos", {}) as switch:
        switch.dialect = "sonic"
        response, _replies = ask(switch, "interface_status")
    assert not response.answered and "sonic" in response.words


def test_a_page_that_is_no_api_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    with ApiSwitch("eos", healthy("eos")) as switch:
        monkeypatch.setattr(switch, "respond", lambda _path, _asked: ["a page"])
        _response, replies = ask(switch, "interface_status")
        assert replies["interface_status"].status == "unknown" and "gave no response of the API" in replies["interface_status"].words


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_a_certificate_is_verified_unless_the_inventory_says_otherwise(tmp_path: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", f"{tmp_path}/both", "-out", f"{tmp_path}/certificate"], check=True, capture_output=True)
    both = tmp_path / "both"
    both.write_text(both.read_text() + (tmp_path / "certificate").read_text())
    with ApiSwitch("eos", healthy("eos"), both) as switch:
        for options in ({"validate_certs": False}, {"validate_certs": True, "ca_path": str(tmp_path / "certificate")}):
            _response, replies = ask(switch, "interface_status", use_ssl=True, **options)
            assert replies["interface_status"].status == "ok", options
        with pytest.raises(AnsibleConnectionFailure, match=r"(?i)certificate"):
            ask(switch, "interface_status", use_ssl=True, validate_certs=True)
