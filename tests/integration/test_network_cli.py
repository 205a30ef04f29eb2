# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches over real ``network_cli`` sessions: arista.eos and cisco.nxos against a server that behaves as their prompt."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import typing as t
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect import limits, transports
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.types import CommandResult
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse
from ansible_collections.gpufabric.pyramid.tests.chaos import processes
from ansible_collections.gpufabric.pyramid.tests.labs.prompt.server import Switch
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import planned, rendering

from .conftest import SMALLEST, Climb, Pod, alike, more

ROOT = Path(__file__).resolve().parents[2]
NETWORK_OS = {"eos": "arista.eos.eos", "nxos": "cisco.nxos.nxos"}
WIDTH = {"eos": "terminal width 512", "nxos": "terminal width 511"}
RECORDINGS = ROOT / "tests" / "recordings"


# So long may a machine that is busy take between two tasks of a switch before its session ends by itself.
IDLE_SECONDS = 120
# Paramiko itself buffers this much of what was not read yet, so that the limit is met however slowly a session is read.
GROWTH_BYTES = 1024 * 1024


@pytest.fixture
def environment(tmp_path: Path) -> t.Iterator[dict[str, str]]:
    """Ansible with nothing of the user's own; its session processes end with the test."""
    own = {"HOME": str(tmp_path), "ANSIBLE_PERSISTENT_CONTROL_PATH_DIR": str(tmp_path / "pc"), "ANSIBLE_HOST_KEY_CHECKING": "False", "ANSIBLE_NOCOLOR": "1"}
    yield {**os.environ, **own, "ANSIBLE_PERSISTENT_CONNECT_TIMEOUT": str(IDLE_SECONDS), "ANSIBLE_PERSISTENT_COMMAND_TIMEOUT": "10"}
    for path in sockets(tmp_path):
        with contextlib.suppress(OSError):
            os.kill(transports.session_process(str(path)), signal.SIGKILL)


def sockets(directory: Path) -> list[Path]:
    """Where the session processes of a test listen."""
    return [path for path in (directory / "pc").glob("*") if path.is_socket()]


def connection(switch: Switch) -> dict[str, t.Any]:
    """The variables by which Ansible reaches it."""
    return {
        "ansible_connection": "ansible.netcommon.network_cli",
        "ansible_network_os": NETWORK_OS[switch.dialect.name],
        "ansible_host": "127.0.0.1",
        "ansible_port": switch.port,
        "ansible_user": switch.user,
        "ansible_password": switch.password,
    }


@dataclass
class Said:
    """What came of one command: its text, or why there is none."""

    failed: bool
    stdout: str
    words: str


LOCAL = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}


@pytest.fixture
def ask(tmp_path: Path, environment: dict[str, str]) -> t.Callable[..., list[Said]]:
    """Say commands to a switch in one session, by ``ansible.netcommon.cli_command``."""

    def say(switch: Switch, *commands: str, **variables: t.Any) -> list[Said]:
        inventory, kept = tmp_path / "hosts.yml", tmp_path / "said.json"
        inventory.write_text(yaml.safe_dump({"all": {"hosts": {"leaf01": {**connection(switch), **variables}}}}))
        names = [f"said_{number}" for number in range(len(commands))]
        tasks: list[dict[str, t.Any]] = [
            {"ansible.netcommon.cli_command": {"command": command}, "register": name, "ignore_errors": True, "ignore_unreachable": True}
            for name, command in zip(names, commands)
        ]
        content = "{{ [" + ", ".join(names) + "] | to_json }}"
        tasks.append({"ansible.builtin.copy": {"content": content, "dest": str(kept)}, "delegate_to": "localhost", "vars": {**LOCAL, "ansible_become": False}})
        tasks.append({"ansible.builtin.meta": "reset_connection"})
        (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "leaf01", "gather_facts": False, "tasks": tasks}]))
        program = str(Path(sys.executable).with_name("ansible-playbook"))
        done = subprocess.run(
            [program, "-i", str(inventory), str(tmp_path / "play.yml")], env=environment, text=True, capture_output=True, timeout=120, check=False
        )
        assert kept.exists(), done.stdout + done.stderr
        result = json.loads(kept.read_text())
        kept.unlink()
        return [Said(bool(one.get("failed") or one.get("unreachable")), one.get("stdout", ""), one.get("msg", "")) for one in result]

    return say


def recorded(platform: str, reading: str, case: str) -> str:
    """A recording's text."""
    return (RECORDINGS / platform / reading / f"{case}.txt").read_text()


@pytest.fixture(params=["eos", more("nxos")])
def switch(request: pytest.FixtureRequest) -> t.Iterator[Switch]:
    """A switch of either kind, which answers one long table."""
    long = "".join(f"line {number:03} of a table, as wide as {'x' * 100}\n" for number in range(200))
    with Switch(request.param, {"show long": long, "show prompts": "leaf01#show version\nleaf02# is the peer\nleaf03>\nend\n"}) as one:
        yield one


@pytest.mark.exhaustive
def test_one_session(switch: Switch, ask: t.Callable[..., list[Said]]) -> None:
    """Pages, wrapped echo, prompts in the text, a refusal: what comes back is the answer, the whole of it and nothing else."""
    long_command = "show " + " ".join(f"interface-of-a-long-name-{number}" for number in range(8))
    switch.answers[long_command] = "one line\n"
    long, prompts, one_line, refused, after = ask(switch, "show long", "show prompts", long_command, "show nothing of it", "show prompts")
    assert long.stdout.splitlines() == switch.answers["show long"].splitlines(), long.words
    # What names the switch's own prompt is left out by network_cli itself, and nothing else; no row of a table does.
    assert prompts.stdout.splitlines() == ["leaf02# is the peer", "leaf03>", "end"]
    assert one_line.stdout == "one line"
    assert refused.failed and "% Invalid" in refused.words
    assert after.stdout == prompts.stdout
    assert switch.asked == ["terminal length 0", WIDTH[switch.dialect.name], "show long", "show prompts", long_command, "show nothing of it", "show prompts"]


@pytest.mark.exhaustive
def test_a_login_that_is_refused_fails(switch: Switch, ask: t.Callable[..., list[Said]]) -> None:
    switch.refuses = True
    [printed] = ask(switch, "show long")
    assert printed.failed and not switch.asked and switch.logins >= 1
    assert "uthentication" in printed.words or "ccess denied" in printed.words, printed.words


@pytest.mark.exhaustive
@pytest.mark.parametrize(("dialect", "how"), [("eos", "hangs"), alike("nxos", "drops")])
def test_a_command_that_never_ends_fails(ask: t.Callable[..., list[Said]], dialect: str, how: str) -> None:
    with Switch(dialect, {"show long": "line\n" * 200}) as switch:
        getattr(switch, how).add("show long")
        [printed] = ask(switch, "show long", ansible_command_timeout=2)
        assert printed.failed and printed.stdout == ""


@pytest.mark.exhaustive
def test_an_unprivileged_login_is_raised_by_enable(ask: t.Callable[..., list[Said]]) -> None:
    with Switch("eos", {"show long": "one line\n"}) as switch:
        switch.privileged, switch.enable_password = False, "battery staple"
        [printed] = ask(switch, "show long")
        assert printed.failed and "privileged mode required" in printed.words
        become = {"ansible_become": True, "ansible_become_method": "ansible.netcommon.enable", "ansible_become_password": "battery staple"}
        assert [printed.stdout for printed in ask(switch, "show long", **become)] == ["one line"]


class OneSwitch:
    """A small pod whose leaf01 is reached by network_cli; all other nodes are simulated."""

    def __init__(self, directory: Path, answers: t.Mapping[str, str] | None = None, dialect: str = "eos") -> None:
        self.pod = Pod(directory, **SMALLEST)
        rendering.render(*planned.made(self.pod.inventory, [], 1), directory / "answers")
        self.switch = Switch(dialect, healthy_answers(directory / "answers" / "leaf01") if answers is None else answers)

    def climb(self, **variables: t.Any) -> Climb:
        """Run validate.yml."""
        place = self.pod.inventory / "host_vars" / "leaf01.yml"
        place.parent.mkdir(exist_ok=True)
        place.write_text(yaml.safe_dump(connection(self.switch)))
        return self.pod.climb(**variables)


class Answers(dict[str, str]):
    """What a switch prints, by command; its uptime is counted."""

    def __getitem__(self, command: str) -> str:
        text = super().__getitem__(command)
        if command != "show version | json":
            return text
        printed = json.loads(text)
        return json.dumps({**printed, "uptime": time.time() - printed["bootupTimestamp"]}) + "\n"


def healthy_answers(place: Path) -> dict[str, str]:
    """What the healthy leaf of the simulated pod prints, by command."""
    return Answers({" ".join(path.parent.relative_to(place).parts): path.read_text() for path in place.rglob("=out")})


def of_leaf01(climb: Climb) -> dict[str, tuple[str, str]]:
    """Verdict and words of each of the leaf's checks."""
    assert climb.report is not None, climb.output
    return {one["check"]: (one["verdict"], one["words"]) for one in climb.report["verdicts"] if one["host"] == "leaf01"}


@pytest.fixture
def private(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    """The climb's Ansible has nothing of the user's own either."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("private")
def test_a_pod_with_a_real_session_is_a_go(tmp_path: Path) -> None:
    one = OneSwitch(tmp_path)
    with one.switch:
        climb = one.climb()
    assert (climb.rc, climb.report and climb.report["verdict"]) == (0, "go"), climb.output
    assert {"port_speed", "bgp_established", "ecmp_paths", "path_mtu"} <= {check for check, (verdict, _words) in of_leaf01(climb).items() if verdict == "pass"}
    assert {"show interfaces status", "show ip bgp summary vrf all"} <= set(one.switch.asked)


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.usefixtures("private")
def test_one_refused_command_is_unknown_in_the_switchs_words(tmp_path: Path) -> None:
    one = OneSwitch(tmp_path)
    del one.switch.answers["show ip bgp summary vrf all"]
    with one.switch:
        climb = one.climb(pod_only="routing")
    assert climb.rc == 2
    verdict, words = of_leaf01(climb)["bgp_established"]
    assert verdict == "unknown" and "% Invalid input" in words
    assert of_leaf01(climb)["path_mtu"][0] == "pass"


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.usefixtures("private")
def test_a_refused_login_closes_every_gate_behind_the_switch(tmp_path: Path) -> None:
    one = OneSwitch(tmp_path)
    one.switch.refuses = True
    with one.switch:
        climb = one.climb(pod_only="routing")
    assert climb.rc == 2 and {climb.gate("routing", rack) for rack in ("rack_01", "rack_02")} == {"closed"}
    verdict, words = of_leaf01(climb)["answered"]
    assert verdict == "unknown" and ("uthentication" in words or "ccess denied" in words), words


@pytest.mark.exhaustive
@pytest.mark.usefixtures("private")
def test_a_hanging_command_is_unknown_and_the_rest_is_not_asked(tmp_path: Path) -> None:
    one = OneSwitch(tmp_path)
    one.switch.hangs.add("show interfaces")
    with one.switch:
        climb = one.climb(pod_only="routing")
    assert climb.rc == 2
    unknown = {check: words for check, (verdict, words) in of_leaf01(climb).items() if verdict == "unknown"}
    assert unknown and any("did not end" in words for words in unknown.values()), unknown


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def two_tasks(switch: Switch, place: Path, environment: dict[str, str]) -> t.Iterator[t.Callable[[int], str]]:
    """A play whose two tasks ask a switch for ``show long``: what is given returns what a task got, and the next one waits until it is asked for."""
    here = {"delegate_to": "localhost", "vars": {**LOCAL, "ansible_become": False}}
    tasks: list[dict[str, t.Any]] = []
    for number in (1, 2):
        tasks.append({"ansible.builtin.wait_for": {"path": str(place / f"begin_{number}"), "sleep": 1, "timeout": 200}, **here})
        tasks.append({"ansible.netcommon.cli_command": {"command": "show long"}, "register": "said"})
        tasks.append({"ansible.builtin.copy": {"content": "{{ said.stdout }}", "dest": str(place / f"said_{number}")}, **here})
    tasks.append({"ansible.builtin.wait_for": {"path": str(place / "begin_3"), "sleep": 1, "timeout": 200}, **here})
    (place / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": {"leaf01": connection(switch)}}}))
    (place / "play.yml").write_text(yaml.safe_dump([{"hosts": "leaf01", "gather_facts": False, "tasks": tasks}]))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(place / "hosts.yml"), str(place / "play.yml")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as running:

        def printed(number: int) -> str:
            (place / f"begin_{number}").touch()
            path = place / f"said_{number}"
            processes.await_that(lambda: path.exists() or running.poll() is not None, f"task {number} ends", 120)
            return path.read_text()

        try:
            yield printed
        finally:
            for number in (1, 2, 3):
                (place / f"begin_{number}").touch()
            running.wait(120)


def read_of(path: Path, seconds: int) -> dict[str, list[CommandResult]]:
    """What the transport makes of two readings in a session that is open; seconds: of each command."""
    node = {"platform": "eos", "kind": "switch", "values": {"pod_fabric": "roce", "pod_switch_transport": "network_cli"}, "items": {}}
    asks, _apart = queries_for(["interface_mtu", "interface_status"], node)
    asks = [replace(one, sources=[replace(source, timeout_seconds=seconds) for source in one.sources]) for one in asks]
    action = SimpleNamespace(_connection=SimpleNamespace(socket_path=str(path)))
    return transports.read_by_session(action, node, asks, {}).answers


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("growth", "seconds", "status"),
    [pytest.param(GROWTH_BYTES, 100, "ran", id="memory"), pytest.param(1 << 40, 2, "timeout", id="time", marks=pytest.mark.long)],
)
def test_a_bound_ends_the_process_of_the_session_and_the_next_task_has_a_new_one(
    growth: int, seconds: int, status: str, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(limits, "MOST_GROWTH_BYTES", growth)
    answers = {"show long": "one line\n", "show interfaces": "a line of an endless response\n" * 4096, "show interfaces status": "not asked\n"}
    with Switch("eos", answers) as switch, two_tasks(switch, tmp_path, environment) as task:
        switch.endless.add("show interfaces")
        assert task(1) == "one line"
        [path] = sockets(tmp_path)
        first = transports.session_process(str(path))
        assert alive(first) and switch.logins == 1
        printed = read_of(path, seconds)
        [endless], [after] = printed["interface_mtu"], printed["interface_status"]
        assert (endless.status, endless.rc, endless.cut) == (status, None, status == "ran")
        assert after.status == "missing" and "not asked, because 'show interfaces' did not end" in after.stderr
        processes.await_that(lambda: not alive(first), "the process of the session ends", 60)
        assert not sockets(tmp_path) and "show interfaces status" not in switch.asked
        assert task(2) == "one line"
        [path] = sockets(tmp_path)
        assert transports.session_process(str(path)) != first and switch.logins == 2


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.usefixtures("private")
def test_an_endless_response_ends_the_nodes_own_process(tmp_path: Path) -> None:
    """The same in a run: network_cli reads until the prompt, in a process that keeps all of it, and the verdict names the bound that ended it."""
    one = OneSwitch(tmp_path)
    one.switch.endless.add("show interfaces")
    one.switch.answers["show interfaces"] = "a line of an endless response\n" * 4096
    with one.switch:
        climb = one.climb(pod_only="leaf01")
        assert climb.rc == 2, climb.output
        unknown = {check: words for check, (verdict, words) in of_leaf01(climb).items() if verdict == "unknown"}
        assert any("show interfaces" in words for words in unknown.values()), unknown
        assert any("MiB that are kept" in words or "did not end" in words for words in unknown.values()), unknown


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.usefixtures("private")
def test_an_nxos_leaf_is_read(tmp_path: Path) -> None:
    """Its table is another pod's: what was read is compared with the recording, and a refused command with the switch's words."""
    table = recorded("nxos", "interface_status", "pod_leaf")
    one = OneSwitch(tmp_path, {"show interface status": table}, "nxos")
    with one.switch:
        climb = one.climb(pod_only="leaf01")
    assert climb.rc == 2 and climb.run is not None, climb.output
    kept = json.loads((climb.run / "readings" / "links" / "now" / "leaf01.json").read_text())["readings"]["interface_status"]
    assert kept["rows"] == parse("interface_status", "nxos", table)
    verdicts = of_leaf01(climb)
    assert verdicts["answered"][0] == "pass" and verdicts["port_speed"][0] == "fail"
    verdict, words = verdicts["crc_clean"]
    assert verdict == "unknown" and "% Invalid command at '^' marker." in words
