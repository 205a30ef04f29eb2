# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two weeks and a day of a small pod, with real sshd nodes and a real Slurm: the light of one host fades, and each way of seeing it sees it in its turn.

Its own checks note the light; the history names the day on which it will be too little, and ranks the host first; the patrol of the night takes it and
finds what it costs under load; on that day the check before a job drains it. Days pass by the clock of the programs (``tests/labs/clock``).
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import typing as t
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.store import History
from ansible_collections.gpufabric.pyramid.tests.labs import sshd
from ansible_collections.gpufabric.pyramid.tests.labs.slurm import cluster
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out
from ansible_collections.gpufabric.pyramid.tests.ports import claimed
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import made
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.render import perftest
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.rendering import render, render_node
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
CLOCK = ROOT / "tests" / "labs" / "clock"
HOSTS = [f"gpu{number:02}" for number in range(1, 7)]
# The hosts whose cables are optical by the wiring plan; the light of one of them fades on one port.
FADES, LASTS = "gpu05", "gpu06"
RAIL, PORT = 2, "enp79s0np0"
FIRST_DAY, FORECAST_DAY = -14, -3
# The alarm of the module, what is lost each day, how far below the alarm it is today, and the days on which bit errors come with it for some minutes.
ALARM_DBM, DAY_DB, BELOW_DB, ERROR_DAYS = -8.4, 0.3, 0.1, (-9, -5)
# How a trend prints it.
ALARM = f", {ALARM_DBM:g}, "
# What the rail receives in the last night, of 400 Gb/s.
LAST_NIGHT_GBIT_S = 310.0
pytestmark = [pytest.mark.exhaustive, pytest.mark.long, pytest.mark.xdist_group("day")]


class Lab:
    """The pod on any day."""

    def __init__(self, place: Path) -> None:
        self.place, self.answers, self.home = place, place / "answers", place / "hosts"
        expectations = {
            "pod_name": "small", "pod_scheduler": "slurm", "pod_history": str(place / "history.db"), "pod_runs_dir": str(place / "runs"),
            "pod_to_layer": "rdma", "pod_patrol_hosts": 4, "pod_soak_seconds": 1, "pod_idle_seconds": 1, "pod_load_setup_seconds": 4,
            "simulated_state": str(self.answers),
        }  # fmt: skip
        self.inventory = layout.write(place / "inventory", racks=1, hosts_per_rack=6, spines=2, expectations=expectations)
        # The loads of simulated hosts meet by what their own connection keeps of a run; all else goes by ssh.
        self.by_ssh = Path(shutil.copytree(self.inventory, place / "by_ssh"))
        self.plan, self.pod = made(self.inventory, [], 1)
        self.noise = random.Random(1)

    def variables(self, host: str) -> dict[str, t.Any]:
        """Where a host has its check."""
        home = self.home / host
        home.mkdir(parents=True)
        paths = {"program": home / "gpufabric-node-check", "directory": home / "etc", "state_directory": home / "state"}
        return {**{f"node_check_{name}": str(path) for name, path in paths.items()}, "node_check_timer": False, "node_check_slurm": "drain"}

    def playbook(self, name: str, day: float, *arguments: str, rc: int = 0, **variables: t.Any) -> str:
        """Run a playbook on some day; what it printed."""
        command = [str(Path(sys.executable).with_name("ansible-playbook")), f"playbooks/{name}.yml"]
        command += ["-i", str(self.inventory if name in ("validate", "patrol") else self.by_ssh)]
        extra = ["-e", json.dumps(variables)] if variables else []
        environment = {**os.environ, **on(day), "ANSIBLE_NOCOLOR": "1"}
        began = time.monotonic()
        done = subprocess.run([*command, *extra, *arguments], cwd=ROOT, env=environment, text=True, capture_output=True, timeout=300, check=False)
        print(f"day {day:+.0f}: {name}.yml ended with {done.returncode} after {time.monotonic() - began:.0f} s")
        assert done.returncode == rc, done.stdout + done.stderr
        return done.stdout

    def check(self, host: str, day: float) -> tuple[int, str]:
        """A host's own check on some day, as its timer starts it."""
        home = self.home / host
        command = [sys.executable, str(home / "gpufabric-node-check"), "--plan", str(home / "etc/plan.json"), "--state", str(home / "state")]
        environment = {**os.environ, **on(day), **self.tools(host)}
        done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=60, check=False)
        return done.returncode, done.stdout.strip()

    def tools(self, host: str) -> dict[str, str]:
        """The variables with which a program is on a host."""
        names = {"SIMULATED_POD": str(self.answers), "SIMULATED_NODE": host, "SIMULATED_RUN": "check", "SIMULATED_PYTHON": sys.executable}
        return {**names, "PATH": f"{self.answers}/{host}/bin:{os.environ['PATH']}:/usr/bin:/bin"}

    def shine(self, day: int) -> None:
        """Let both optical hosts receive the light of a day: one receives less each day, the other one does not."""
        for host in (FADES, LASTS):
            middle = ALARM_DBM - BELOW_DB - DAY_DB * day if host == FADES else 0.2
            self.pod.hosts[host].rails[RAIL].rx_power_dbm = [round(middle + self.noise.uniform(-0.05, 0.05), 2) for _lane in range(4)]
            self.answer(host)

    def answer(self, host: str) -> None:
        """Have the tools of a host say what is so now."""
        shutil.rmtree(self.answers / host)
        render_node(self.plan, self.pod, host, self.answers)


def on(day: float) -> dict[str, str]:
    """The clock of a day, for programs in Python."""
    return {"PYTHONPATH": str(CLOCK), "DAYS_AHEAD": str(day)} if day else {}


def comment(slurm: cluster.Cluster, node: str) -> str:
    """What Slurm has as a node's comment."""
    found = re.search(r"^ *Comment=(.*)$", slurm.say("scontrol", "show", "node", node), re.MULTILINE)
    return found[1] if found else ""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[tuple[Lab, cluster.Cluster]]:
    """The pod on its first day, validated under load and with its own checks, and its Slurm of today."""
    for program in ("chromium", "ssh-keygen"):
        if shutil.which(program) is None:
            leave_out(f"{program} is not installed")
    if not Path(sshd.SSHD).exists() or not Path("/etc/machine-id").exists():
        leave_out("sshd and /etc/machine-id are needed")
    lab = Lab(tmp_path_factory.mktemp("day"))
    render(lab.plan, lab.pod, lab.answers)
    lab.shine(FIRST_DAY)
    lab.playbook("validate", FIRST_DAY, pod_only="rdma")
    prolog, slurm_place = lab.place / "prolog", lab.place / "slurm"
    names = ["export SLURM_CONF", *(f'export {name}="{value}"' for name, value in lab.tools("$SLURMD_NODENAME").items())]
    prolog.write_text("\n".join(["#!/bin/bash", *names, f"exec {lab.home}/$SLURMD_NODENAME/gpufabric-node-check-slurm", ""]), encoding="utf-8")
    prolog.chmod(0o755)
    slurm_place.mkdir()
    passed = ("PYTHONPATH", "DAYS_AHEAD")
    with sshd.nodes(lab.place, lab.by_ssh, {host: claimed() for host in HOSTS}, variables=lab.variables, pass_on=passed):
        assert "6 hosts of 6 passed their own check" in lab.playbook("node_check", FIRST_DAY)
        with cluster.up(slurm_place, HOSTS, settings=[f"Prolog={prolog}", "PrologFlags=Alloc"]) as slurm:
            os.environ["SLURM_CONF"] = slurm.environment["SLURM_CONF"]
            yield lab, slurm
            del os.environ["SLURM_CONF"]


def test_a_host_that_decays_is_foreseen_then_ranked_then_found_under_load_and_drained_before_a_job(lab: tuple[Lab, cluster.Cluster]) -> None:
    pod, slurm = lab
    days_until(pod, FORECAST_DAY)
    foreseen(pod)
    days_until(pod, 0, FORECAST_DAY + 1)
    validated_at_night(pod, slurm)
    drained_in_the_morning(pod, slurm)
    shown(pod)


def days_until(pod: Lab, last: int, first: int = FIRST_DAY + 1) -> None:
    """The own checks of some days, the last one excluded unless it is the day of the forecast."""
    rail = pod.pod.hosts[FADES].rails[RAIL]
    for day in range(first, last + (last == FORECAST_DAY)):
        pod.shine(day)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            found = dict(zip((FADES, LASTS), pool.map(pod.check, (FADES, LASTS), (day, day))))
        assert found[LASTS][0] == found[FADES][0] == 0, (day, found)
        if day in ERROR_DAYS:
            rail.counters["rx_symbol_err_phy"] += 4711
            pod.answer(FADES)
            # Five minutes later.
            status, line = pod.check(FADES, day + 5 / 24 / 60)
            assert status == 1 and PORT in line, line


def foreseen(pod: Lab) -> None:
    """The day on which the light will be too little, and the host to validate next, three days before."""
    # As a patrol asks: its own check says nothing of what only loads show.
    output = pod.playbook("history", FORECAST_DAY, history_count=1, history_proof=["rdma"])
    trends = [line.strip() for line in output.splitlines() if line.strip().startswith("light received, ") and ALARM in line]
    reached = [re.search(rf"{FADES} {PORT} ([1-4]), .*{ALARM}(\S+) \((\S+) to (\S+)\)$", line) for line in trends]
    assert len(reached) == 4 and all(reached), output
    true = (datetime.now(UTC) - timedelta(days=BELOW_DB / DAY_DB)).date()
    for one in reached:
        assert one is not None
        expected, early, late = (date.fromisoformat(one[number]) for number in (2, 3, 4))
        print(f"day {FORECAST_DAY}: lane {one[1]} reaches {ALARM_DBM} dBm on {expected} ({early} to {late}); by what it loses it does on {true}")
        assert abs((expected - true).days) <= 1 and (late - early).days <= 3, one[0]
    assert f"validate next: -e pod_only={FADES}\n" in output, output


def validated_at_night(pod: Lab, slurm: cluster.Cluster) -> None:
    """The patrol takes the host for its risk, three more of its rack, and finds the slow rail alone."""
    rail = pod.pod.hosts[FADES].rails[RAIL]
    (pod.answers / "=rates" / f"{FADES}.{rail.device}").write_text(f"{perftest.mbit(LAST_NIGHT_GBIT_S)}\n", encoding="utf-8")
    output = pod.playbook("patrol", 0, rc=2, pod_from_layer="rdma", pod_to_layer="rdma")
    held = re.search(r"^job \d+ of Slurm holds (.+)$", output, re.MULTILINE)
    assert held and FADES in held[1].split(", ") and len(held[1].split(", ")) == 4 and f"{held[1]}: no_go; " in output, output
    with History(pod.place / "history.db", create=False) as history:
        question = "SELECT finding.node, place, finding.verdict, actual FROM finding JOIN entry ON entry.id = entry WHERE source = 'patrol'"
        found = [row for row in history.rows(question) if row["verdict"] == "fail"]
    print(f"night: {found}")
    assert {row["node"] for row in found} == {FADES}
    assert set(slurm.state().values()) == {"idle"} and slurm.say("squeue", "--noheader") == "" and not slurm.reason(FADES).strip("\n")


def drained_in_the_morning(pod: Lab, slurm: cluster.Cluster) -> None:
    """The light is below the alarm: the host's own check keeps a job away, and lets one onto another host."""
    pod.shine(0)
    job = slurm.say("sbatch", "--parsable", f"--nodelist={FADES}", f"--output={pod.place}/job.out", "--chdir=/", "--wrap=echo ran").strip()
    began = time.monotonic()
    slurm.until(lambda: slurm.state()[FADES] == "drained", f"the drain of {FADES}")
    print(f"morning: drained after {time.monotonic() - began:.1f} s: {slurm.reason(FADES)}")
    assert re.match(rf"gpufabric\.pyramid: node check: FAIL {FADES}: optic_rx_power: {PORT} lane \d: .*alarm limits", slurm.reason(FADES))
    assert job in slurm.say("squeue", "--noheader", "--states=PENDING", "--format=%i") and not (pod.place / "job.out").exists()
    began = time.monotonic()
    assert slurm.say("srun", f"--nodelist={LASTS}", "--immediate=30", "echo", "ran").strip() == "ran" and comment(slurm, LASTS) == ""
    print(f"morning: a job on {LASTS} ran {time.monotonic() - began:.1f} s after it was submitted")


def shown(pod: Lab) -> None:
    """The page of that day, on a telephone and on a screen."""
    output = pod.playbook("history", 0, history_count=1)
    assert f"bad now: {FADES}\n" in output, output
    page_file = pod.place / "runs/small/history.html"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), chromium_sandbox=os.geteuid() != 0)
        for width in (400, 1280):
            page = browser.new_page(viewport={"width": width, "height": 900}, offline=True)
            page.goto(page_file.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert f"Bad when last judged: {FADES}." in page.locator("header").inner_text()
            assert re.match(rf"{FADES}\s+100\.0%", page.locator("#next tbody tr").first.inner_text())
            (offender,) = page.locator("#offenders tbody tr").all()
            # By bit errors twice, by the patrol, and by its light.
            assert re.match(rf"{FADES}\s+4\s", offender.inner_text())
            page.screenshot(path=pod.place / f"history-{width}.png", full_page=True)
        browser.close()
    print(f"screenshots: {pod.place}/history-*.png")
