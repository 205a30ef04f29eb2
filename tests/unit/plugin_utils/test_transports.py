# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a node's answers come back, by plain calls; the connections are plain objects that answer."""

from __future__ import annotations

import json
import subprocess
import sys
import types

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import collecting, transports

STATUS = "Port       Name   Status       Vlan     Duplex Speed  Type         Flags Encapsulation\n"
STATUS += "Et1/1             connected    10       full   400G   400GBASE-DR4\n"
SWITCH = {"kind": "switch", "platform": "eos", "values": {"pod_switch_transport": "auto"}, "items": {"rail": []}}
HOST = {"kind": "host", "platform": "linux", "values": {}, "items": {"rail": []}}


LSMOD = "Module Size Used by\nmlx5_core 1880064 0\n"


def of_switch(answer, names=("interface_status",)):
    """What comes of a switch whose exec channel gives these answers: (rc, stdout, stderr) of a command, or an exception."""
    asked = []

    def exec_command(command, in_data=None, sudoable=True):
        asked.append(command)
        said = answer(command)
        if isinstance(said, Exception):
            raise said
        return said

    action = types.SimpleNamespace(_connection=types.SimpleNamespace(transport="ssh", exec_command=exec_command))
    asks, _apart = collecting.asks(names, SWITCH)
    told = transports.ask(action, SWITCH, asks, {})
    return told, {one.reading.name: collecting.reply(one, SWITCH["platform"], told.answers[one.reading.name]) for one in asks}, asked


def of_host(stdout, stderr="", rc=0):
    """What comes of a host whose Python prints this, and the program that it got."""
    sent = []

    def run(command, in_data):
        sent.append((command, in_data))
        return {"stdout": stdout, "stderr": stderr, "rc": rc}

    connection, plain = types.SimpleNamespace(has_pipelining=True, transport="ssh"), types.SimpleNamespace(template=lambda value: value)
    action = types.SimpleNamespace(_connection=connection, _low_level_execute_command=run, _templar=plain)
    asks, _apart = collecting.asks(["lsmod"], HOST)
    return transports.ask(action, HOST, asks, {"ansible_python_interpreter": "/usr/bin/python3"}), sent


def test_a_switch_answers_over_exec():
    told, replies, asked = of_switch(lambda _command: (0, STATUS.encode(), b""))
    assert told.answered and asked == ["show interfaces status"]
    assert [row["port"] for row in replies["interface_status"].rows] == ["Et1/1"]
    assert told.commands[0]["reading"] == "interface_status" and "stdout" not in told.commands[0]


def test_a_refused_command_is_unknown_with_the_switchs_words():
    _told, replies, _asked = of_switch(lambda _command: (1, b"% Invalid input\n", b""))
    assert replies["interface_status"].status == "unknown" and "% Invalid input" in replies["interface_status"].words


def test_an_alternative_is_asked_where_the_first_gave_no_rows():
    transceiver = (0, b"", b"")
    _told, replies, asked = of_switch(lambda _command: transceiver, ["transceivers"])
    assert asked == ["show interfaces transceiver detail", "show interfaces transceiver", "show interfaces transceiver detail | json"]
    assert replies["transceivers"].status == "unknown"


def test_an_exception_of_the_connection_is_raised_where_the_answer_is_awaited():
    with pytest.raises(OSError, match="No route to host"):
        of_switch(lambda _command: OSError("No route to host"))


def test_a_refusal_in_a_terminal_is_told_in_the_switchs_own_line():
    assert transports._own_words(repr(b"show it\r\n% Invalid input detected\r\nleaf01#")) == "% Invalid input detected"
    assert transports._own_words("socket is closed") == "socket is closed"


def test_a_host_answers_through_its_python():
    answer = {
        "status": "ran",
        "chosen": 0,
        "argv": ["lsmod"],
        "rc": 0,
        "stdout": "Module Size Used by\nmlx5_core 1880064 0\n",
        "stderr": "",
        "seconds": 0.1,
        "cut": False,
    }
    told, sent = of_host("motd\n" + json.dumps({"boot_id": "b", "uptime_seconds": 5.0, "answers": {"lsmod 0": answer}}))
    assert told.answered and told.boot_id == "b" and told.answers["lsmod"][0].stdout == LSMOD
    (command, program) = sent[0]
    assert command == "/usr/bin/python3 -SE -" and b"REQUEST = " in program and b"lsmod" in program


@pytest.mark.parametrize(
    ("stdout", "stderr", "rc", "words"),
    [
        ("", "sh: /usr/bin/python3: not found", 127, "/usr/bin/python3 on the node ended with status 127: sh: /usr/bin/python3: not found"),
        ("", "", 0, "/usr/bin/python3 on the node ended with status 0: no output"),
        ('{"boot_id": "b", "upti', "", 137, '/usr/bin/python3 on the node ended with status 137: {"boot_id": "b", "upti'),
        ("Last login: today", "", 0, "/usr/bin/python3 on the node ended with status 0: Last login: today"),
    ],
)
def test_a_host_that_says_something_else_has_not_answered(stdout, stderr, rc, words):
    told, _sent = of_host(stdout, stderr, rc)
    assert (told.answered, told.words) == (False, words)


def test_nobody_is_asked_nothing():
    assert transports.ask(None, HOST, [], {}).answered


# In a process of its own: whoever gives up ends all that it has started.
GIVES_UP = """
import subprocess
from ansible._internal._errors._task_timeout import TaskTimeoutError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import transports
client = subprocess.Popen(["sh", "-c", "sleep 600 & echo; wait"], stdout=subprocess.PIPE)
client.stdout.readline()
try:
    with transports.giving_up(), TaskTimeoutError.alarm_timeout(1):
        client.wait()
except TaskTimeoutError:
    print(client.wait(20), client.stdout.read())
"""


def test_a_task_that_is_given_up_leaves_no_client_and_nothing_that_it_started() -> None:
    """The sleeper holds the pipe open as long as it lives."""
    done = subprocess.run([sys.executable, "-c", GIVES_UP], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "-9 b''\n"
