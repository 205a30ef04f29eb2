# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod's telemetry in a real Prometheus, and the dashboards that the collection ships, query by query."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.telemetry.coverage import VARIABLE
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout, planned
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from tests import made_run
from tests.labs import monitoring
from tests.ports import claimed

from .conftest import ROOT, SMALLEST, Climb, Pod

pytestmark = pytest.mark.xdist_group("telemetry")

HOSTS = ["gpu01", "gpu02"]
SIGNALS = {
    "pfc_pauses_of_hosts": {"metric": "node_ethtool_received_prio3_pause", "label": "instance"},
    "ecn_marks_of_hosts": {"metric": "rdma_ecn_marked_packets", "label": "instance"},
    "nic_errors": {"metric": "node_infiniband_port_errors_received_total", "label": "instance"},
    "pfc_pauses_of_switches": {"metric": "switch_pfc_frames_total", "label": "instance"},
    "ecn_marks_of_switches": {"metric": "switch_ecn_marked_packets_total", "label": "instance"},
    "uplink_bytes": {"metric": "switch_uplink_bytes_total", "label": "instance"},
    "all_reduce_time": {"metric": "training_all_reduce_seconds", "label": ""},
}
WORKLOAD = "training_all_reduce_seconds 0.2\n"
DASHBOARDS = {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "dashboards").glob("*.json"))}


def of_host(rails: int = 8) -> str:
    """What the site's own exporter says of a host."""
    names = [f'{metric}{{device="ens{rail}"}} 5' for metric in ("node_ethtool_received_prio3_pause", "rdma_ecn_marked_packets") for rail in range(rails)]
    return "\n".join(names) + "\n"


def of_switch(ports: int, uplinks: int) -> str:
    """What it says of a switch."""
    names = [f'{metric}{{port="{port}"}} 5' for metric in ("switch_pfc_frames_total", "switch_ecn_marked_packets_total") for port in range(ports)]
    return "\n".join([*names, *(f'switch_uplink_bytes_total{{port="{port}"}} 5' for port in range(uplinks))]) + "\n"


class Watched:
    """A pod of two hosts whose monitoring runs."""

    def __init__(self, pod: Pod, prometheus: monitoring.Prometheus, pages: monitoring.Pages, plan: t.Any) -> None:
        self.pod, self.prometheus, self.pages, self.plan = pod, prometheus, pages, plan

    def check(self, **variables: t.Any) -> Climb:
        """Run telemetry.yml."""
        given = {"pod_prometheus_url": f"http://{self.prometheus.address}", "pod_telemetry_signals": SIGNALS, **variables}
        return self.pod.playbook(playbook="playbooks/telemetry.yml", **given)

    def say(self, path: str, text: str | None, arrived: str) -> None:
        """Let an exporter say something else, and wait until Prometheus has it."""
        self.pages.texts.pop(path) if text is None else self.pages.texts.update({path: text})
        monitoring.awaited(lambda: bool(self.prometheus.query(arrived)), arrived)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Watched]:
    """The pod, watched as it must be."""
    if not (shutil.which("prometheus") and shutil.which("prometheus-node-exporter")):
        leave_out("the packages prometheus and prometheus-node-exporter are not installed")
    directory = tmp_path_factory.mktemp("watched")
    pod = Pod(directory / "pod", **SMALLEST)
    layout.write(pod.inventory, racks=2, hosts_per_rack=1, spines=2, expectations={"pod_name": "small"})
    plan = planned.plan_of(pod.inventory)
    pages = monitoring.Pages()
    for name, node in plan.nodes.items():
        pages.texts[f"/{name}"] = of_host() if node.kind == "host" else of_switch(len(plan.at[name]), plan.planned(name)["pod_uplinks"])
    pages.texts["/workload"] = WORKLOAD
    devices = [rail["device"] for rail in plan.nodes["gpu01"].values["pod_rails"]]
    textfiles, exporter = directory / "textfiles", f"127.0.0.1:{claimed()}"
    textfiles.mkdir()
    bad = made_run.verdict(plan, "links", "port_speed", "gpu01", Finding(at_port("ens0"), "400", "100"))
    shutil.copy(made_run.make(directory / "run", plan, [bad]).run / "report.prom", textfiles / "made.prom")
    node_exporter = [
        "prometheus-node-exporter", "--collector.disable-defaults", "--collector.infiniband", "--collector.textfile",
        f"--collector.textfile.directory={textfiles}", f"--path.sysfs={monitoring.sysfs(directory / 'sys', devices)}", f"--web.listen-address={exporter}",
    ]  # fmt: skip
    targets = [(name, pages.address, f"/{name}") for name in (*plan.nodes, "workload")] + [(f"{name}:9100", exporter, "/metrics") for name in HOSTS]
    prometheus = monitoring.Prometheus(directory, targets)
    with (
        monitoring.started(node_exporter, f"http://{exporter}/metrics", directory / "node_exporter.log"),
        monitoring.started(prometheus.command(), f"http://{prometheus.address}/-/ready", directory / "prometheus.log"),
    ):
        monitoring.awaited(lambda: len(prometheus.query("up == 1")) == len(targets), "every target to be scraped")
        yield Watched(pod, prometheus, pages, plan)
    pages.close()


def test_a_pod_that_is_watched_passes(watched: Watched) -> None:
    result = watched.check()
    assert result.rc == 0, result.output
    assert "PASS    nic_errors on gpu01, gpu02" in result.output and "PASS    uplink_bytes on leaf01-leaf08" in result.output
    assert not re.search("FAIL |UNKNOWN ", result.output)


def test_a_switch_that_is_silent_is_named(watched: Watched) -> None:
    text = watched.pages.texts["/leaf03"]
    watched.say("/leaf03", None, 'up{instance="leaf03"} == 0')
    result = watched.check()
    watched.say("/leaf03", text, 'up{instance="leaf03"} == 1')
    assert result.rc == 2 and "FAIL    pfc_pauses_of_switches on leaf03: expected switch_pfc_frames_total" in result.output and "no series" in result.output
    assert "FAIL    pfc_pauses_of_switches on leaf03:" in result.output and "PASS    nic_errors on gpu01, gpu02" in result.output


@pytest.mark.exhaustive
def test_a_rail_that_is_not_watched_is_missed(watched: Watched) -> None:
    watched.say("/gpu02", of_host(rails=7), 'count(rdma_ecn_marked_packets{instance="gpu02"}) == 7')
    result = watched.check()
    watched.say("/gpu02", of_host(), 'count(rdma_ecn_marked_packets{instance="gpu02"}) == 8')
    assert result.rc == 2 and "FAIL    ecn_marks_of_hosts on gpu02" in result.output and "8 series, got 7 series" in " ".join(result.output.split())


@pytest.mark.exhaustive
def test_a_sample_that_is_old_is_not_fresh(watched: Watched) -> None:
    old = int(1000 * float(watched.prometheus.query("time()")[1])) - 60_000
    watched.say("/workload", f"{WORKLOAD}stuck_seconds 0.2 {old}\n", "stuck_seconds")
    stuck = {**SIGNALS, "all_reduce_time": {"metric": "stuck_seconds", "label": ""}}
    result = watched.check(pod_telemetry_fresh_seconds=30, pod_telemetry_signals=stuck)
    assert result.rc == 2 and re.search(r"FAIL +all_reduce_time on the workload: .* 1 series, the oldest \d+ s old", result.output), result.output


@pytest.mark.exhaustive
def test_a_signal_without_a_metric_is_unknown(watched: Watched) -> None:
    result = watched.check(pod_telemetry_signals={**SIGNALS, "ecn_marks_of_hosts": {"metric": "", "label": "instance"}})
    assert result.rc == 2 and "UNKNOWN ecn_marks_of_hosts on gpu01, gpu02" in result.output and "names no metric" in result.output


def test_no_prometheus_is_no_pass(watched: Watched) -> None:
    result = watched.check(pod_prometheus_url=f"http://127.0.0.1:{claimed()}")
    assert result.rc == 2 and "did not respond" in result.output and "PASS" not in result.output


def test_grafana_must_plot_every_signal(watched: Watched) -> None:
    shipped = json.loads(json.dumps(DASHBOARDS["signals"]))
    for variable in shipped["templating"]["list"]:
        if variable["name"] in SIGNALS:
            variable["current"]["value"] = SIGNALS[variable["name"]]["metric"]
    watched.pages.texts["/api/search?type=dash-db&limit=5000"] = json.dumps([{"uid": "a/b"}])
    watched.pages.texts["/api/dashboards/uid/a%2Fb"] = json.dumps({"dashboard": shipped})
    result = watched.check(pod_grafana_url=f"http://{watched.pages.address}/", telemetry_grafana_token="secret-token")
    assert result.rc == 0 and "PASS    nic_errors on dashboards" in result.output and "secret-token" not in result.output, result.output
    shipped["panels"] = [panel for panel in shipped["panels"] if panel["title"] != "ECMP balance"]
    watched.pages.texts["/api/dashboards/uid/a%2Fb"] = json.dumps({"dashboard": shipped})
    result = watched.check(pod_grafana_url=f"http://{watched.pages.address}")
    assert result.rc == 2 and "FAIL    uplink_bytes on dashboards" in result.output


@pytest.mark.parametrize("name", DASHBOARDS)
def test_every_query_of_a_dashboard_finds_something(name: str, watched: Watched) -> None:
    values = {"host": ".*", "pod": ".*", "__rate_interval": "10s", "host_label": "instance", "switch_label": "instance"}
    values |= {signal: response["metric"] for signal, response in SIGNALS.items()}
    queries = [(panel["title"], target["expr"]) for panel in DASHBOARDS[name]["panels"] for target in panel["targets"]]
    assert queries
    for title, expression in queries:
        query = VARIABLE.sub(lambda found: values[found[1] or found[2]], expression)
        monitoring.awaited(lambda query=query: bool(watched.prometheus.query(query)), f"{title}: {query}")


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_is_all_known_to_grafanas_schema(name: str) -> None:
    register_default_plugins()

    def again(dashboard: t.Any) -> t.Any:
        return json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))

    assert contained(DASHBOARDS[name], again(DASHBOARDS[name])) == []
    wrong = {**DASHBOARDS[name], "panelz": 1}
    assert contained(wrong, again(wrong)) == ["/panelz"]


def contained(one: t.Any, other: t.Any, path: str = "") -> list[str]:
    """The places of a document that another has not, or has otherwise."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [place for key, value in one.items() for place in (contained(value, other[key], f"{path}/{key}") if key in other else [f"{path}/{key}"])]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [place for number, value in enumerate(one) for place in contained(value, other[number], f"{path}/{number}")]
    return [] if one == other else [path]


def test_the_metrics_of_a_run_are_well_formed(watched: Watched, tmp_path: Path) -> None:
    text = (made_run.make(tmp_path / "run", watched.plan, []).run / "report.prom").read_bytes()
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=60, check=False)
    assert (checked.returncode, checked.stderr) == (0, b"")
