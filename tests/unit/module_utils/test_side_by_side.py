# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reader that runs on a node, as the program that is piped to its Python."""

from __future__ import annotations

import functools
import json
import os
import resource
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.processes import states_of_group

SOURCE = (Path(__file__).parents[3] / "plugins" / "module_utils" / "side_by_side.py").read_text()
FUTURE = "from __future__ import annotations\n"


def program(*commands: dict[str, t.Any], **more: t.Any) -> str:
    """The program with its request, as the action pipes it."""
    return SOURCE.replace(FUTURE, f"{FUTURE}REQUEST = {json.dumps({'commands': commands, **more})!r}\n", 1)


def command(name: str, *alternatives: list[str], rc: t.Sequence[int] = (0,), timeout: float = 20, exclusive: str | None = None) -> dict[str, t.Any]:
    return {"id": name, "alternatives": [{"argv": argv, "rc": list(rc)} for argv in alternatives], "timeout": timeout, "exclusive": exclusive}


def answers(*commands: dict[str, t.Any], **more: t.Any) -> dict[str, dict[str, t.Any]]:
    """What a node's Python answers."""
    done = subprocess.run([sys.executable, "-SE", "-"], input=program(*commands, **more), text=True, capture_output=True, timeout=60, check=True)
    output = json.loads(done.stdout)
    assert output["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip() and output["uptime_seconds"] > 0
    return output["answers"]


def test_text_errors_and_status_are_kept_apart() -> None:
    output = answers(command("a", ["sh", "-c", "echo out; echo err >&2; exit 3"]))["a"]
    assert (output["status"], output["rc"], output["stdout"], output["stderr"], output["chosen"]) == ("ran", 3, "out\n", "err\n", 0)


def test_a_missing_tool_says_so_and_an_alternative_takes_its_place() -> None:
    output = answers(
        command("a", ["no-such-tool"]),
        command("b", ["no-such-tool"], ["echo", "b"]),
        command("c", ["false"], ["echo", "c"]),
        command("d", ["false"], ["no-such-tool"]),
    )
    assert (output["a"]["status"], output["a"]["stderr"]) == ("missing", "no-such-tool: not found on PATH")
    assert (output["b"]["chosen"], output["b"]["stdout"]) == (1, "b\n") and (output["c"]["chosen"], output["c"]["stdout"]) == (1, "c\n")
    assert (output["d"]["status"], output["d"]["rc"], output["d"]["chosen"]) == ("ran", 1, 0)


def test_a_program_that_starts_another_one_is_not_tried_without_it() -> None:
    asked = command("a", ["echo", "a"], ["echo", "b"])
    asked["alternatives"][0]["needs"] = "no-such-tool"
    assert answers(asked)["a"]["stdout"] == "b\n"
    asked["alternatives"].pop()
    output = answers(asked)["a"]
    assert (output["status"], output["stderr"]) == ("missing", "no-such-tool: not found on PATH")
    asked["alternatives"][0]["needs"] = "sh"
    assert answers(asked)["a"]["stdout"] == "a\n"


def test_a_tool_that_is_there_and_does_not_start_is_not_missing(tmp_path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("not a program")
    tool.chmod(0o755)
    output = answers(command("a", [str(tool)]))["a"]
    assert output["status"] == "failed" and "could not be run: [Errno 8] Exec format error" in output["stderr"]


def test_a_node_that_runs_out_of_files_says_so_of_each_tool() -> None:
    """It is left more and more of them until it answers everything; on the way each answer is what the tool said, or why there is none."""
    commands, seen = [command(str(number), ["sh", "-c", f"echo {number}"]) for number in range(6)], set()
    for most in range(5, 200):
        limited = functools.partial(resource.setrlimit, resource.RLIMIT_NOFILE, (most, most))
        done = subprocess.run(
            [sys.executable, "-SE", "-"], input=program(*commands), text=True, capture_output=True, timeout=60, check=False, preexec_fn=limited
        )
        output = json.loads(done.stdout)["answers"] if done.returncode == 0 else {}
        assert not output or set(output) == {one["id"] for one in commands}, done.stderr
        wrong = {name: one for name, one in output.items() if (one["status"], one["stdout"]) not in (("ran", f"{name}\n"), ("failed", ""))}
        assert wrong == {}
        seen |= {one["stderr"] for one in output.values() if one["status"] == "failed"}
        if output and {one["status"] for one in output.values()} == {"ran"}:
            break
    assert seen and all(words.startswith("sh could not be run: [Errno 24] Too many open files") for words in seen)


# A limit of processes counts threads too, and root is held to none; so the node's Python refuses them itself.
NO_MORE_THREADS = """
import threading
left, start = iter(range({left})), threading.Thread.start
def refused(thread):
    if next(left, None) is None:
        raise RuntimeError("can't start new thread")
    start(thread)
threading.Thread.start = refused
"""


@pytest.mark.parametrize("left", [0, 1, 3, 6, 8])
def test_a_node_that_runs_out_of_threads_ends_what_it_cannot_read(left: int, tmp_path) -> None:
    record = tmp_path / "pids"
    commands = [command(str(number), ["sh", "-c", f"echo $$ >> {record}; echo {number}; exec sleep 0.1"]) for number in range(3)]
    text = program(*commands).replace(FUTURE, FUTURE + NO_MORE_THREADS.format(left=left), 1)
    done = subprocess.run([sys.executable, "-SE", "-"], input=text, text=True, capture_output=True, timeout=60, check=True)
    output = json.loads(done.stdout)["answers"]
    assert set(output) == {"0", "1", "2"} and ("failed" in {one["status"] for one in output.values()}) == (left < 8)
    assert all(one["stdout"] == f"{name}\n" if one["status"] == "ran" else "can't start new thread" in one["stderr"] for name, one in output.items())
    assert [pid for pid in record.read_text().split() if Path(f"/proc/{pid}").exists()] == [] if record.exists() else True


@pytest.mark.parametrize("script", ["sleep 60", "trap '' TERM; sleep 60 & wait; sleep 60"])
def test_a_tool_that_does_not_end_is_ended_with_all_it_started(script, tmp_path) -> None:
    record = tmp_path / "pids"
    began = time.monotonic()
    output = answers(command("a", ["sh", "-c", f"echo $$ > {record}; echo half; {script}"], timeout=4), command("b", ["echo", "b"]))
    assert (output["a"]["status"], output["a"]["stdout"], output["b"]["stdout"]) == ("timeout", "half\n", "b\n")
    assert time.monotonic() - began < 50
    assert set(states_of_group(int(record.read_text()))) <= {"Z"}


def test_commands_run_side_by_side_but_not_those_of_one_device(tmp_path) -> None:
    lock = tmp_path / "lock"
    # mkdir fails where another holds the device.
    script = f"mkdir {lock} && sleep 0.2 && rmdir {lock}"
    alone = answers(*(command(str(number), ["sh", "-c", f"{script}; exit $?", str(number)], exclusive="0000:18:00.0") for number in range(4)))
    assert [one["rc"] for one in alone.values()] == [0, 0, 0, 0]
    # Without a device none of them ends before all have begun.
    others = " && ".join(f"test -e {tmp_path}/{number}" for number in range(4))
    script = f"touch {tmp_path}/$0; until {others}; do sleep 0.05; done"
    together = answers(*(command(str(number), ["sh", "-c", script, str(number)]) for number in range(4)))
    assert [(one["status"], one["rc"]) for one in together.values()] == [("ran", 0)] * 4


def test_equal_commands_are_run_once(tmp_path) -> None:
    count = tmp_path / "count"
    output = answers(*(command(str(number), ["sh", "-c", f"echo x >> {count}; cat {count}"]) for number in range(5)))
    assert count.read_text() == "x\n" and {one["stdout"] for one in output.values()} == {"x\n"}


def test_programs_and_devices_are_filled_in() -> None:
    output = answers(
        command("p", ["python3", "{hello}", "you"]),
        command("q", ["echo", "-d", "{pci:mlx5_99}"]),
        programs={"hello": "import sys; print('hello', sys.argv[1])"},
        devices=["mlx5_99"],
    )
    assert output["p"]["stdout"] == "hello you\n"
    assert (output["q"]["status"], output["q"]["stderr"]) == ("missing", "mlx5_99 has no PCI device in /sys/class/infiniband or /sys/class/net")


def test_more_text_than_is_kept_is_reported_as_cut() -> None:
    output = answers(command("a", ["head", "-c", "20000000", "/dev/zero"]))["a"]
    assert output["cut"] and len(output["stdout"]) < 10_000_000


def test_a_tool_that_leaves_a_daemon_behind_does_not_hold_the_answer() -> None:
    began = time.monotonic()
    output = answers(command("a", ["sh", "-c", "setsid sleep 60 & echo started"]))["a"]
    assert (output["stdout"], output["rc"]) == ("started\n", 0) and time.monotonic() - began < 50


# A machine so busy that the tool works before its starter knows of it.
BUSY = """
import subprocess, time
_popen = subprocess.Popen
def slow(*args, **options):
    process = _popen(*args, **options)
    time.sleep(1)
    return process
subprocess.Popen = slow
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize(("tools", "before"), [(1, ""), (1, BUSY), (2, BUSY)], ids=["known", "just started", "just started by a thread"])
def test_an_ended_reader_ends_its_tools(number: signal.Signals, tools: int, before: str, tmp_path: Path) -> None:
    records = [tmp_path / f"pid{one}" for one in range(tools)]
    asked = [command(str(one), ["sh", "-c", f"echo $$ > {one}.new; mv {one}.new {one}; exec sleep 60"], timeout=60) for one in records]
    reader = subprocess.Popen([sys.executable, "-SE", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    reader.stdin.write(program(*asked).replace("AT_ONCE = ", f"{before}\nAT_ONCE = ", 1))
    reader.stdin.close()
    deadline = time.monotonic() + 60
    while not any(one.exists() for one in records):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    reader.send_signal(number)
    assert reader.wait(60) == 128 + number
    for tool in [Path(f"/proc/{one.read_text().strip()}/stat") for one in records if one.exists()]:
        while tool.exists() and tool.read_text().rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_the_path_gains_what_lies_beside_it(tmp_path) -> None:
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-SE", "-"],
        input=program(command("a", ["sh", "-c", "echo $PATH $LC_ALL"])),
        text=True,
        capture_output=True,
        check=True,
        env=environment,
    )
    assert json.loads(done.stdout)["answers"]["a"]["stdout"] == "/usr/bin:/bin:/usr/sbin:/sbin C\n"
