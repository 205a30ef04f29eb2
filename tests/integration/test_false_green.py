# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways to a green that proves nothing, each found by trying; none may end as a go."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS

from .conftest import RACKS, ROOT, alike

pytestmark = pytest.mark.exhaustive


def edited(path: Path, **values: object) -> None:
    """Change values of a group variables file."""
    raw = yaml.safe_load(path.read_text()) or {}
    path.write_text(yaml.safe_dump({**raw, **values}))


def test_a_healthy_pod_is_a_go_for_every_group(healthy) -> None:
    _pod, climb = healthy
    assert climb.rc == 0, climb.output
    assert climb.report["verdict"] == "go" and climb.report["up_to_layer"] == "routing" and climb.report["complete"]
    assert {climb.gate(layer, rack) for layer in ("preflight", "links", "routing") for rack in RACKS} == {"open"}
    assert climb.not_well() == {}
    for layer in climb.report["layers"][:3]:
        counted = sum(number for row in [*layer["groups"].values(), layer["shared"]] for number in row["counts"].values())
        assert counted == 6 + 8 + 2


def test_one_layers_tag_runs_every_layer(pod) -> None:
    climb = pod.climb("--tags", "links")
    assert climb.rc == 0 and climb.gate("preflight", "rack_01") == climb.gate("routing", "rack_02") == "open"


def test_check_mode_prints_every_layers_plan_and_judges_nothing(pod) -> None:
    climb = pod.climb("--check", pod_to_layer="training", simulated_faults="port_at_100g")
    assert climb.rc == 0 and climb.report["verdict"] == "not_judged" and climb.report["verdicts"] == [], climb.output
    assert {climb.gate(layer, rack) for layer in LAYERS for rack in RACKS} == {"not_run"}
    for words in (
        "congestion: incasts in 2 gate groups", "rounds of pairs over 6 hosts", "then all-reduce over 2, 4, 6 hosts (3, 2, 1 groups in parallel)",
        "training: 100 steps of training over 6 hosts",
    ):  # fmt: skip
        assert words in climb.output
    for layer in LAYERS[3:]:
        assert re.search(rf"{layer}: 6 hosts loaded for at most \d+", climb.output)
    assert "asking" not in climb.output and not (climb.run / "evidence").exists() and not (climb.run / "loads").exists()


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (["rack_1", "rack_02"], "gate group 'rack_1' is not a group of the inventory"),
        alike(["rack_01"], "GPU hosts in no gate group, not in exactly one: gpu04, gpu05, gpu06"),
        alike(["rack_01", "rack_02", "gpu_hosts"], "GPU hosts in the gate groups rack_01 and gpu_hosts, not in exactly one"),
        alike([], "argument 'pod_gate_groups' must name the inventory groups"),
        alike(["rack_01", "rack_02", "leaves"], "gate group 'leaves' has no GPU host"),
    ],
)
def test_gate_groups_that_do_not_hold_every_host_once(healthy, groups, words) -> None:
    climb = healthy[0].climb(pod_gate_groups=groups)
    assert climb.rc == 2 and climb.report is None and words in climb.output


def test_a_lost_host_that_is_also_a_switch(pod) -> None:
    hosts = yaml.safe_load((pod.inventory / "hosts.yml").read_text())
    hosts["all"]["children"]["spines"]["hosts"]["gpu03"] = {}
    (pod.inventory / "hosts.yml").write_text(yaml.safe_dump(hosts))
    climb = pod.climb(simulated_faults="gpu_lost@gpu03", pod_to_layer="preflight")
    assert climb.rc == 2 and climb.report is None, climb.output
    assert "not in gpu_hosts and spines: gpu03" in " ".join(climb.output.split())


def test_an_inventory_that_lacks_its_spines(pod) -> None:
    hosts = yaml.safe_load((pod.inventory / "hosts.yml").read_text())
    hosts["all"]["children"]["spines"]["hosts"] = {}
    (pod.inventory / "hosts.yml").write_text(yaml.safe_dump(hosts))
    climb = pod.climb()
    assert climb.rc == 2 and climb.report is None and "node spine01 is not in the inventory" in climb.output


def test_expectations_that_are_not_of_their_type(healthy) -> None:
    climb = healthy[0].climb(pod_link_gbit_s="fast", pod_fabrik="roce")
    assert climb.rc == 2
    assert "argument 'pod_link_gbit_s' must be a number, not 'fast'" in climb.output
    assert "'pod_fabrik' is not an expectation (near it: pod_fabric" in climb.output


@pytest.mark.parametrize(
    ("given", "words"),
    [
        alike({"pod_ping_peers": 0, "pod_ping_peers_max": 2}, "argument 'pod_ping_peers' must be from 1 to 100000, not 0"),
        ({"pod_link_gbit_s": "nan", "pod_mtu": -1}, "argument 'pod_link_gbit_s' must be more than 0 and at most 3200, not nan"),
        alike({"pod_soak_seconds": 0, "pod_link_gbit_s": -400}, "argument 'pod_soak_seconds' must be from 1 to 86400, not 0"),
        alike({"pod_read_timeout_seconds": -1}, "argument 'pod_read_timeout_seconds' must be from 1 to 7200, not -1"),
    ],
)
def test_a_number_that_would_empty_a_proof_or_blame_hardware(healthy, given, words) -> None:
    climb = healthy[0].climb(pod_to_layer="routing", **given)
    assert climb.rc == 2 and climb.run is None and words in " ".join(climb.output.split())


@pytest.mark.parametrize("minutes", [0, alike(100000000)])
def test_a_merge_of_slices_of_any_age(healthy, minutes) -> None:
    pod, first = healthy
    climb = pod.playbook(playbook="playbooks/merge.yml", merge_runs=[str(first.run)], merge_max_age_minutes=minutes)
    assert climb.rc == 2 and f"argument 'max_age_minutes' must be from 1 to 10080, not {minutes}" in " ".join(climb.output.split())


def test_a_discovery_without_a_time_limit(healthy, tmp_path) -> None:
    climb = healthy[0].playbook(playbook="playbooks/discover.yml", pod_read_timeout_seconds=0, discover_into=str(tmp_path / "draft"))
    assert climb.rc != 0 and "argument 'pod_read_timeout_seconds' must be from 1 to 7200, not 0" in " ".join(climb.output.split())


def test_a_string_that_is_a_number_is_one(pod) -> None:
    climb = pod.climb("-e", "pod_link_gbit_s=400", "-e", "pod_to_layer=links")
    assert climb.rc == 0 and climb.report["up_to_layer"] == "links"


def test_one_rack_alone_never_says_go_for_the_pod(healthy) -> None:
    climb = healthy[0].climb("--limit", "rack_01:leaves:spines")
    assert climb.rc == 0 and climb.report["verdict"] == "no_fault_seen" and climb.gate("preflight", "rack_02") == "out_of_scope"


def test_a_limit_without_the_switches_is_closed_and_says_what_to_add(healthy) -> None:
    climb = healthy[0].climb("--limit", "rack_01")
    assert climb.rc == 2 and climb.gate("preflight", "rack_01") == "closed" and "rack_01:leaves:spines" in climb.output


def test_a_group_that_is_partly_inside_is_closed(healthy) -> None:
    climb = healthy[0].climb("--limit", "gpu01:leaves:spines")
    assert climb.rc == 2 and climb.gate("preflight", "rack_01") == "closed" and "add rack_01 to --limit" in " ".join(climb.output.split())


def test_a_layer_playbook_alone(healthy) -> None:
    climb = healthy[0].playbook(playbook="playbooks/layer_1_links.yml")
    assert climb.rc == 2 and "No run is open" in climb.output


def test_every_node_unreachable(pod) -> None:
    edited(pod.inventory / "group_vars" / "all" / "size.yml", ansible_connection="ssh", ansible_host="127.0.0.1", ansible_port=1)
    climb = pod.climb("-e", "ansible_ssh_common_args='-o ConnectTimeout=2'")
    assert climb.rc == 2 and climb.report["verdict"] == "no_go"
    assert {climb.gate("preflight", rack) for rack in RACKS} == {"closed"}
    assert climb.not_well() == {"answered": "unknown"} and "unreachable" in climb.output


def test_no_python_on_any_node(pod) -> None:
    climb = pod.climb("-e", "ansible_python_interpreter=/nonexistent/python3")
    assert climb.rc == 2 and climb.not_well() == {"answered": "unknown"} and {climb.gate("preflight", rack) for rack in RACKS} == {"closed"}


def test_a_fact_cache_that_remembers_open_gates(pod, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("ANSIBLE_CACHE_PLUGIN", "jsonfile")
    monkeypatch.setenv("ANSIBLE_CACHE_PLUGIN_CONNECTION", str(tmp_path / "facts"))
    assert pod.climb().rc == 0
    climb = pod.playbook(playbook="playbooks/layer_2_routing.yml")
    assert climb.rc == 2 and "No run is open" in climb.output


def test_resuming_above_layers_that_nobody_proved(pod) -> None:
    climb = pod.climb(pod_from_layer="routing")
    assert climb.rc == 2 and climb.report is None and "from the latest run, and there is none" in climb.output


@pytest.mark.long
def test_a_chain_of_resumes_keeps_the_first_proofs_time(pod) -> None:
    first = pod.climb(pod_to_layer="links")
    second = pod.climb(pod_from_layer="routing")
    assert first.rc == second.rc == 0 and second.report["up_to_layer"] == "routing"
    times = [next(one for one in climb.report["layers"] if one["layer"] == "links")["groups"]["rack_01"]["time"] for climb in (first, second)]
    assert times[0] == times[1]
    too_old = pod.climb(pod_from_layer="routing", pod_gate_max_age_minutes=0)
    assert too_old.rc == 2 and "minutes ago, and 0 are allowed" in too_old.output
    other = pod.climb(pod_from_layer="routing", pod_link_gbit_s=200)
    assert other.rc == 2 and other.report is None and "was 400 and is 200" in " ".join(other.output.split()).replace("400.0", "400").replace("200.0", "200")
    above = pod.climb(pod_from_layer="routing", pod_to_layer="routing", pod_ping_rtt_max_ms=20, pod_mfu_min_percent=1)
    assert above.rc == 0 and above.gate("routing", "rack_01") == "open", above.output


def test_a_reboot_between_two_layers_or_two_runs(pod) -> None:
    assert pod.climb(pod_to_layer="links").rc == 0
    # gpu02 has booted before its first response in this run; rack_02 and the switches are as they were.
    resumed = pod.climb("-e", "simulated_faults=host_boots_between_runs@gpu02", pod_from_layer="routing")
    assert resumed.rc == 2 and resumed.not_well() == {"same_boot": "unknown"}, resumed.output
    assert {layer: resumed.gate(layer, "rack_01") for layer in ("preflight", "links", "routing")} == dict.fromkeys(("preflight", "links", "routing"), "closed")
    assert {resumed.gate(layer, "rack_02") for layer in ("preflight", "links", "routing")} == {"open"}
    assert "gpu02 booted since preflight" in " ".join(resumed.output.split())
    again = pod.climb("--limit", "rack_01:leaves:spines", pod_from_layer="routing")
    assert again.rc == 2 and again.report is None and "gpu02 booted since preflight" in " ".join(again.output.split())
    # leaf02 boots after its links were read, and so does a spine that is read through its Python.
    between = pod.climb("-e", "simulated_faults=leaf_boots@leaf02,spine_boots@spine01")
    assert between.rc == 2 and between.not_well() == {"same_boot": "unknown"}, between.output
    assert {one["host"] for one in between.report["verdicts"] if one["verdict"] == "unknown"} == {"leaf02", "spine01"}
    assert {between.gate(layer, "rack_01") for layer in ("links", "routing")} == {"closed"} and between.gate("preflight", "rack_01") == "open"


def test_resuming_on_a_run_that_judged_one_thing(pod) -> None:
    assert pod.climb(pod_only="gpu02", pod_to_layer="preflight").rc == 0
    climb = pod.climb(pod_from_layer="links")
    assert climb.rc == 2 and "evaluated only gpu02" in climb.output


@pytest.mark.long
def test_a_second_run_while_one_is_under_way_and_a_killed_one(pod) -> None:
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/validate.yml", "-i", str(pod.inventory), "-e", "pod_soak_seconds=60"]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while pod.latest() is None or not (pod.latest() / "verdicts" / "preflight.json").exists():
            assert running.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        killed = pod.latest()
        refused = pod.climb()
        assert refused.rc == 2 and refused.run is None and re.search(rf"process {running.pid} on", refused.output)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    report = json.loads((killed / "report.json").read_text())
    assert report["verdict"] == "no_go" and not report["complete"]
    after = pod.climb(pod_to_layer="preflight")
    assert after.rc == 0 and after.run != killed


def test_waivers(pod) -> None:
    waiver = {"check": "port_speed", "host": "leaf03", "where": "Ethernet2/1", "reason": "spare is ordered", "until": "2020-01-01"}
    lacking = pod.climb(pod_waivers=[{"check": "port_speed", "host": "leaf03"}])
    assert lacking.rc == 2 and "waiver 1 lacks where, reason, until" in lacking.output
    unknown = pod.climb(pod_waivers=[{**waiver, "check": "port_spead"}])
    assert unknown.rc == 2 and "which does not exist" in unknown.output


def test_depth_quick_never_says_go(healthy) -> None:
    climb = healthy[0].climb(pod_depth="quick")
    assert climb.rc == 0 and climb.report["verdict"] == "no_fault_seen"
    skipped = [one for one in climb.report["verdicts"] if one["check"] == "crc_clean"]
    assert skipped and all((one["verdict"], one["words"]) == ("skip", "no soak at depth quick") for one in skipped)


def test_mode_passive_never_says_go(healthy) -> None:
    climb = healthy[0].climb(pod_mode="passive")
    assert climb.rc == 0 and climb.report["verdict"] == "no_fault_seen" and climb.not_well() == {}


@pytest.mark.parametrize("only", ["leaf03:Ethernet2/1", *map(alike, ("gpu02", "mlx5_3", "port_speed", "routing"))])
def test_judging_one_thing_never_says_go(healthy, only) -> None:
    climb = healthy[0].climb(pod_only=only)
    assert climb.rc == 0 and climb.report["verdict"] == "no_fault_seen" and f"only {only} was evaluated" in climb.report["reasons"]


def test_judging_what_does_not_exist(healthy) -> None:
    climb = healthy[0].climb(pod_only="leaf03:Ethernet99")
    assert climb.rc == 2 and "leaf03 has no cable on port 'Ethernet99'" in climb.output


def test_a_replay_contacts_nobody_and_judges_alike(healthy) -> None:
    pod, first = healthy
    climb = pod.climb("-e", "ansible_connection=ssh", "-e", "ansible_host=127.0.0.1", "-e", "ansible_port=1", pod_replay_from=str(first.run))
    assert climb.rc == 0, climb.output
    alike = [[(one["check"], one["host"], one["group"], one["verdict"]) for one in done.report["verdicts"]] for done in (first, climb)]
    assert alike[0] == alike[1] and climb.report["replayed_from"] == str(first.run)


def test_a_replay_without_one_text_is_unknown(healthy, tmp_path) -> None:
    import shutil

    pod, first = healthy
    kept = tmp_path / "kept"
    shutil.copytree(first.run, kept)
    (kept / "evidence" / "links" / "leaf03" / "interface_status.txt").unlink()
    climb = pod.climb(pod_replay_from=str(kept))
    assert climb.rc == 2 and climb.not_well()["port_speed"] == "unknown" and climb.gate("links", "rack_01") == "closed"
    # A page links the documentation from where it is itself, not from where the evidence was kept.
    linked = set(re.findall(r'href="([^"#]*checks\.md)#', (climb.run / "report.html").read_text(encoding="utf-8")))
    assert linked and all((climb.run / one).resolve() == ROOT / "docs" / "checks.md" for one in linked)
