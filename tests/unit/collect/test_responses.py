# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From commands to readings: what each way of not answering comes to, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import item_labels, queries_for, query_commands
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.responses import failure_reason, from_evidence, kept_failures, kept_rows, reading_result
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.types import CommandResult, Query, ReadingResult
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import reading

RAILS = [
    {"device": "mlx5_0", "netdev": "ens1", "gpu": 0, "leaf": "leaf01"},
    {"device": "mlx5_3", "netdev": "ens2", "gpu": 1, "leaf": "leaf02", "pci": "0000:40:00.0"},
]
PAUSE = "Pause parameters for {}:\nAutonegotiate:\toff\nRX:\t\toff\nTX:\t\toff\n"


def node(**values: str) -> dict:
    return {"platform": "linux", "values": {"pod_gpu_vendor": "nvidia", **values}, "items": {"rail": RAILS, "ping": [], "path_probe": []}}


def ask(name: str) -> Query:
    return queries_for([name], node())[0][0]


def reply(name: str, *answers: CommandResult) -> ReadingResult:
    return reading_result(ask(name), "linux", answers)


def answer(name: str, **output) -> CommandResult:
    source = ask(name).sources[0]
    return CommandResult(**{"status": "ran", "source": source, "argv": source.command.split(), **output})


def test_rail_commands_are_repeated_and_keep_what_only_the_node_knows() -> None:
    commands = query_commands([ask("mlxconfig")])
    assert [command["alternatives"][0]["argv"][2] for command in commands] == ["{pci:mlx5_0}", "0000:40:00.0"]
    assert [command["exclusive"] for command in commands] == ["{pci:mlx5_0}", "0000:40:00.0"]
    assert item_labels(ask("pause_settings")) == ["ens1", "ens2"] and item_labels(ask("mlxconfig")) == ["mlx5_0", "mlx5_3"]


def test_a_source_for_other_gpus_does_not_apply() -> None:
    asks, apart = queries_for(["nvlinks"], node(pod_gpu_vendor="amd"))
    assert asks == [] and (apart["nvlinks"].status, apart["nvlinks"].words) == ("not_applicable", "nvlinks is for pod_gpu_vendor nvidia")


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ({"status": "missing", "stderr": "ibstat: not found on PATH"}, "ibstat: not found on PATH"),
        ({"status": "failed", "stderr": "ibstat could not be run: [Errno 11] x"}, "ibstat could not be run: [Errno 11] x"),
        ({"status": "denied", "stderr": "[Errno 13] Permission denied"}, "no permission to run ibstat: [Errno 13] Permission denied"),
        ({"status": "timeout", "rc": None}, "ibstat did not end in time"),
        ({"status": "hung", "rc": None}, "ibstat hangs in the kernel and was left behind"),
        ({"rc": 255, "stderr": "ibpanic: no device"}, "ibstat exited with status 255: ibpanic: no device"),
        ({"rc": -11}, "ibstat was ended by signal 11"),
        ({"rc": 1, "stderr": "are you root?"}, "no permission: ibstat: are you root?"),
        ({"rc": 0, "cut": True, "stdout": "x"}, "ibstat printed more than the 8 MiB that are kept"),
        ({"rc": 0, "stdout": ""}, "ibstat: printed nothing"),
        ({"rc": 0, "stdout": "hello\n"}, "ibstat: no row was found in the text"),
    ],
)
def test_each_way_of_not_answering_has_its_words(output, words) -> None:
    found = reply("ibstat", answer("ibstat", **output))
    assert found.status == "unknown" and found.words.startswith(words) and found.rows == []


def test_a_tool_that_fails_without_a_word_shows_what_it_was_to_read() -> None:
    source = reading("nos_version").platforms["cumulus"][0]
    silent = CommandResult("ran", source, source.command.split(), rc=2)
    assert failure_reason(silent) == "grep exited with status 2: /etc/os-release"
    assert failure_reason(replace(silent, stderr="grep: out of memory")) == "grep exited with status 2: grep: out of memory"


@pytest.mark.parametrize(("status", "found"), [("missing", "not_applicable"), ("failed", "unknown")])
def test_a_tool_that_need_not_be_there_is_lacking_only_where_it_is_not_there(status, found) -> None:
    """A node without a process to spare has the tool, and what it would have said is not known."""
    output = [answer("link_quality", status=status, rc=None, stderr=f"mlxlink {status}") for _rail in RAILS]
    assert reply("link_quality", *output).status == found


def test_one_rail_that_does_not_answer_leaves_the_table_unread() -> None:
    found = reply("pause_settings", answer("pause_settings", stdout=PAUSE.format("ens1")), answer("pause_settings", status="timeout", rc=None))
    assert (found.status, found.words) == ("unknown", "ens2: ethtool did not end in time")
    assert found.text.startswith("==> ens1 <==\n") and "==> ens2 <==" in found.text


def test_evidence_gives_the_same_rows_again() -> None:
    found = reply("pause_settings", *(answer("pause_settings", stdout=PAUSE.format(rail["netdev"])) for rail in RAILS))
    again = from_evidence(ask("pause_settings"), "linux", found.text)
    assert found.status == again.status == "ok" and found.rows == again.rows and [row["netdev"] for row in again.rows] == ["ens1", "ens2"]
    half = from_evidence(ask("pause_settings"), "linux", found.text.partition("==> ens2 <==")[0])
    assert (half.status, half.words) == ("unknown", "ens2: no text is kept of it")


def test_an_empty_mesh_is_an_answer_and_rails_that_nobody_plans_are_none() -> None:
    empty = {**node(), "items": {"rail": [], "ping": [], "path_probe": []}}
    asks, _apart = queries_for(["pings", "pause_settings"], empty)
    assert [reading_result(one, "linux", []).status for one in asks] == ["ok", "unknown"]


def test_a_run_keeps_what_it_is_reported_to_keep() -> None:
    what = reading("ibstat")
    assert kept_rows(what, [{"device": "mlx5_0"}]) == [{"device": "mlx5_0"}]


def kept_command(name: str, **output) -> dict:
    """A command as a run keeps it beside its text."""
    blank = {"reading": name, "argv": ask(name).sources[0].command.split(), "status": "ran", "rc": 0, "stderr": "", "seconds": 0.1, "cut": False}
    return {**blank, **output}


def test_a_kept_text_is_judged_with_the_status_that_its_tool_ended_with() -> None:
    """A tool that dies may have printed its whole table before."""
    text = "".join(f"==> {netdev} <==\n{PAUSE.format(netdev)}" for netdev in ("ens1", "ens2"))
    one, well = ask("pause_settings"), kept_command("pause_settings")
    assert from_evidence(one, "linux", text, *kept_failures(one, [well, well])).status == "ok"
    died = from_evidence(one, "linux", text, *kept_failures(one, [well, {**well, "rc": -11}]))
    assert (died.status, died.words) == ("unknown", "ens2: ethtool was ended by signal 11")
    # What was captured by hand has no commands beside it.
    assert from_evidence(one, "linux", text, *kept_failures(one, [])).status == "ok"


def test_of_the_alternatives_that_a_switch_was_asked_one_is_enough() -> None:
    (one,), _apart = queries_for(["interface_status"], {"platform": "eos", "values": {}, "items": {"port": []}})
    refused = kept_command("lsmod", argv=["show interfaces status"], rc=1, stderr="% Invalid input")
    assert kept_failures(one, [refused, {**refused, "rc": 0}]) == ({}, "")
    assert kept_failures(one, [refused]) == ({"": "show interfaces status exited with status 1: % Invalid input"}, "% Invalid input")


@pytest.mark.parametrize(("text", "unparsed"), [("GARBAGE of another release\n", True), ("", False)])
def test_a_text_of_an_unknown_form_is_distinguished_from_no_text(text: str, unparsed: bool) -> None:
    assert reply("ibstat", answer("ibstat", stdout=text)).unparsed == unparsed


def test_a_command_that_a_switch_refuses_is_not_of_an_unknown_form() -> None:
    one = queries_for(["ecn_settings"], {"platform": "sonic", "values": {}, "items": {"rail": [], "port": []}})[0][0]
    for text, unparsed in (("Usage: show [OPTIONS]\n", False), ("Profile: X\nwhatever\n", True)):
        result = CommandResult(status="ran", source=one.sources[0], argv=["show", "ecn"], stdout=text)
        assert reading_result(one, "sonic", [result]).unparsed == unparsed
