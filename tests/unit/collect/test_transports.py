# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a node's answers come back, by plain calls; the connections are plain objects that answer."""

from __future__ import annotations

import json
import subprocess
import sys
import types
import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.limits import MOST_BYTES
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for, query_commands
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.responses import reading_result
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.transports import _switch_error, query_node

STATUS = "Port       Name   Status       Vlan     Duplex Speed  Type         Flags Encapsulation\n"
STATUS += "Et1/1             connected    10       full   400G   400GBASE-DR4\n"
SWITCH = {"kind": "switch", "platform": "eos", "values": {"pod_switch_transport": "auto"}, "items": {"rail": []}}
HOST = {"kind": "host", "platform": "linux", "values": {}, "items": {"rail": []}}


LSMOD = "Module Size Used by\nmlx5_core 1880064 0\n"


def of_switch(answer, names=("interface_status",), **values):
    """What comes of a switch whose exec channel gives these answers: (rc, stdout, stderr) of a command, or an exception."""
    asked = []

    def exec_command(command, in_data=None, sudoable=True):
        asked.append(command)
        response = answer(command)
        if isinstance(response, Exception):
            raise response
        return response

    action = types.SimpleNamespace(_connection=types.SimpleNamespace(transport="ssh", connected=True, exec_command=exec_command))
    asks, _apart = queries_for(names, {**SWITCH, "values": {**SWITCH["values"], **values}})
    result = query_node(action, SWITCH, asks, {})
    return result, {one.reading.name: reading_result(one, SWITCH["platform"], result.answers[one.reading.name]) for one in asks}, asked


def of_host(stdout, stderr="", rc=0):
    """What comes of a host whose Python prints this, and the program that it got."""
    sent = []

    def run(command, in_data):
        sent.append((command, in_data))
        return {"stdout": stdout, "stderr": stderr, "rc": rc}

    connection, plain = types.SimpleNamespace(has_pipelining=True, transport="ssh"), types.SimpleNamespace(template=lambda value: value)
    action = types.SimpleNamespace(_connection=connection, _low_level_execute_command=run, _templar=plain)
    asks, _apart = queries_for(["lsmod"], HOST)
    return query_node(action, HOST, asks, {"ansible_python_interpreter": "/usr/bin/python3"}), sent


def test_a_host_is_asked_for_the_services_that_start_its_jobs():
    asks, _apart = queries_for(["service_units"], {**HOST, "values": {"pod_job_services": ["pbs.service", "nvidia-fabricmanager.service"]}})
    (command,) = query_commands(asks)
    argv = command["alternatives"][0]["argv"]
    assert argv[argv.index("--") + 1 :] == ["nvidia-fabricmanager.service", "pbs.service"]


def test_a_switch_answers_over_exec():
    result, replies, asked = of_switch(lambda _command: (0, STATUS.encode(), b""))
    assert result.answered and asked == ["show interfaces status"]
    assert [row["port"] for row in replies["interface_status"].rows] == ["Et1/1"]
    assert result.commands[0]["reading"] == "interface_status" and "stdout" not in result.commands[0]


def test_a_switch_is_asked_with_the_expectations_that_a_command_names():
    arp = b"Address         Age (sec)  Hardware Addr   Interface\n10.51.0.1        0:02:11  b83f.d200.0001  Vlan10, Ethernet1/1\n"
    result, replies, asked = of_switch(lambda _command: (0, arp, b""), ("arp_table",), pod_rail_vrf="RAILS")
    assert asked == ["show ip arp vrf RAILS"] and result.commands[0]["argv"] == asked
    assert [row["address"] for row in replies["arp_table"].rows] == ["10.51.0.1"]
    assert of_switch(lambda _command: (0, arp, b""), ("arp_table",))[2] == ["show ip arp"]


@pytest.mark.parametrize(
    ("platform", "response", "uptime"),
    [
        ("eos", '{"version": "4.31.2F", "uptime": 93784.25, "bootupTimestamp": 1749900000.5}', 93784.25),
        ("eos", '{"version": "4.31.2F"}', None),
        ("eos", "% Invalid input\n", None),
        ("eos", "Software image version: 4.20.5F\n\nUptime:                 1 weeks, 1 days, 2 hours and 3 minutes\nTotal memory: 1 kB\n", 698580.0),
        ("nxos", "Software\n  NXOS: version 10.3(4a)\nKernel uptime is 1 day(s), 2 hour(s), 3 minute(s), 4 second(s)\n\nLast reset\n", 93784.0),
        ("nxos", "Kernel uptime is 6 day(s), 0 ho", None),
        ("frr", "93784.25 12.00\n", 93784.25),
    ],
)
def test_a_switch_without_python_tells_its_last_boot_by_its_uptime(platform, response, uptime):
    asked = []

    def exec_command(command, in_data=None, sudoable=True):
        asked.append(command)
        return 0, response.encode(), b""

    action = types.SimpleNamespace(_connection=types.SimpleNamespace(transport="ssh", connected=True, exec_command=exec_command))
    switch = {**SWITCH, "platform": platform, "values": {"pod_switch_transport": "exec"}}
    result = query_node(action, switch, [], {}, boot=True)
    assert (result.answered, result.boot_id, result.uptime_seconds, result.asked_at is not None, result.answers) == (True, None, uptime, True, {})
    commands = {"eos": ["show version | json", "show version"], "nxos": ["show version", "show version | json"], "frr": ["cat /proc/uptime"]}[platform]
    # The other form is asked for where the first one has no uptime.
    first_form = {"eos": '"uptime"', "nxos": "second(s)", "frr": "."}[platform]
    assert asked == (commands[:1] if first_form in response else commands)


def test_a_refused_command_is_unknown_with_the_switchs_words():
    _result, replies, _asked = of_switch(lambda _command: (1, b"% Invalid input\n", b""))
    assert replies["interface_status"].status == "unknown" and "% Invalid input" in replies["interface_status"].words


def test_an_alternative_is_asked_where_the_first_gave_no_rows():
    transceiver = (0, b"", b"")
    _result, replies, asked = of_switch(lambda _command: transceiver, ["transceivers"])
    assert asked == ["show interfaces transceiver detail", "show interfaces transceiver", "show interfaces transceiver detail | json"]
    assert replies["transceivers"].status == "unknown"


def test_an_exception_of_the_connection_is_raised_where_the_answer_is_awaited():
    with pytest.raises(OSError, match="No route to host"):
        of_switch(lambda _command: OSError("No route to host"))


def test_a_response_of_more_than_is_kept_is_unknown_and_the_next_command_is_asked():
    """It ended by itself, so that nothing is in the way of the next one."""
    long = STATUS + "x" * MOST_BYTES
    result, replies, asked = of_switch(
        lambda command: (0, (long if command == "show interfaces status" else "").encode(), b""), ("interface_status", "transceivers")
    )
    assert replies["interface_status"].status == "unknown" and "printed more than the 8 MiB that are kept" in replies["interface_status"].words
    assert len(result.answers["interface_status"][0].stdout) == MOST_BYTES and "show interfaces transceiver" in asked


# In a process of its own, whose memory is nobody else's: a client prints without end, and is read as Ansible's ssh connection reads.
ENDLESS = """
import json, resource, subprocess, sys, time, types
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.responses import reading_result
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.transports import query_node
def exec_command(command, in_data=None, sudoable=True):
    client, gathered = subprocess.Popen(["sh", "-c", "yes 'Et1/1 connected 10 full 400G'"], stdout=subprocess.PIPE), bytearray()
    while chunk := client.stdout.read1(1 << 16):
        gathered += chunk
    return client.wait(), bytes(gathered), b""
action = types.SimpleNamespace(_connection=types.SimpleNamespace(transport="ssh", connected=True, exec_command=exec_command))
switch = {"kind": "switch", "platform": "eos", "values": {"pod_switch_transport": "auto"}, "items": {"rail": []}}
asks, _apart = queries_for(["interface_status"], switch)
before, since = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
told = query_node(action, switch, asks, {})
reply = reading_result(asks[0], "eos", told.answers["interface_status"])
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
print(json.dumps([reply.status, reply.words, grown, time.monotonic() - since]))
"""


def test_a_response_without_end_ends_at_the_limit_of_memory() -> None:
    done = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True, timeout=120, check=True)
    status, words, grown_mib, seconds = json.loads(done.stdout)
    assert status == "unknown" and "printed more than the 8 MiB that are kept" in words
    assert grown_mib < 300 and seconds < 25


def test_a_refusal_in_a_terminal_is_reported_in_the_switchs_own_line():
    assert _switch_error(repr(b"show it\r\n% Invalid input detected\r\nleaf01#")) == "% Invalid input detected"
    assert _switch_error("socket is closed") == "socket is closed"


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
    result, sent = of_host("motd\n" + json.dumps({"boot_id": "b", "uptime_seconds": 5.0, "answers": {"lsmod 0": answer}}))
    assert result.answered and result.boot_id == "b" and result.answers["lsmod"][0].stdout == LSMOD
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
    result, _sent = of_host(stdout, stderr, rc)
    assert (result.answered, result.words) == (False, words)


def test_nobody_is_asked_nothing():
    assert query_node(None, HOST, [], {}).answered


# In a process of its own: whoever gives up ends all that it has started.
GIVES_UP = """
import subprocess
from ansible._internal._errors._task_timeout import TaskTimeoutError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.end_clients import end_clients_on_exit
client = subprocess.Popen(["sh", "-c", "sleep 600 & echo; wait"], stdout=subprocess.PIPE)
client.stdout.readline()
try:
    with end_clients_on_exit(), TaskTimeoutError.alarm_timeout(1):
        client.wait()
except TaskTimeoutError:
    print(client.wait(20), client.stdout.read())
"""


def test_a_task_that_is_given_up_leaves_no_client_and_nothing_that_it_started() -> None:
    """The sleeper holds the pipe open as long as it lives."""
    done = subprocess.run([sys.executable, "-c", GIVES_UP], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "-9 b''\n"


# Of every action that contacts a node by itself, with a client that never ends in the place of the connection.
ACTION_GIVES_UP = """
import signal, subprocess, sys, types
from ansible._internal._errors._task_timeout import TaskTimeoutError
from ansible.plugins.action import ActionBase
from ansible_collections.gpufabric.pyramid.plugins.action import {action}
clients = []
def hang(*_args, **_more):
    clients.append(subprocess.Popen(["sleep", "600"]))
    # The time of the task is over now, however long the action took to come here.
    signal.alarm(1)
    clients[0].wait()
ActionBase.run = lambda self, tmp=None, task_vars=None: {{}}
action = object.__new__({action}.ActionModule)
action._task = types.SimpleNamespace(args={args}, check_mode=False, async_val=0)
action._templar = types.SimpleNamespace(template=lambda value: value)
action._connection = types.SimpleNamespace(transport="ssh", connected=True, has_pipelining=True, exec_command=hang)
action._low_level_execute_command = action._execute_module = hang
try:
    with TaskTimeoutError.alarm_timeout(50):
        action.run(None, {{"ansible_python_interpreter": "/usr/bin/python3", "pod_platform": "eos", "inventory_hostname": "leaf01"}})
except TaskTimeoutError:
    try:
        print(clients[0].wait(20))
    except subprocess.TimeoutExpired:
        clients[0].kill()
        print("the client still runs")
"""


@pytest.mark.parametrize(
    ("action", "args"),
    [
        ("ibstat", {}),
        ("lsmod", {}),
        ("mlxconfig", {"devices": ["mlx5_0"]}),
        ("switch_show", {"readings": ["interface_status"]}),
        ("slurm_nodes", {"action": "drain"}),
    ],
)
def test_the_timeout_of_a_task_ends_the_client_of_its_action(action: str, args: dict[str, t.Any]) -> None:
    program = ACTION_GIVES_UP.format(action=action, args=args)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "-9\n", done.stderr
