# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""remediate.yml on a pod that keeps its state, with a real Slurm: look, drain, repair, prove, readmit, and every way to stop before that."""

from __future__ import annotations

import datetime
import json
import re
import threading
import time
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args
from ansible_collections.gpufabric.pyramid.plugins.modules import slurm_nodes
from ansible_collections.gpufabric.pyramid.tests.labs.kubernetes import api
from ansible_collections.gpufabric.pyramid.tests.labs.slurm import cluster
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import files

from .conftest import Climb, Pod

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("remediate")]

NAMES = {"gpu01": "node-045", "gpu02": "node-046", "gpu03": "node-047", "gpu04": "node-048", **{f"gpu0{one}": f"node-05{one}" for one in range(5, 9)}}
NODE = NAMES["gpu03"]
# Loads as short as a healthy pod passes.
SHORT = {"pod_idle_seconds": 1, "pod_incast_seconds": 1, "pod_write_bw_seconds": 1, "pod_load_setup_seconds": 3, "pod_load_tick_seconds": 5}


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[cluster.Cluster]:
    """A cluster with a node for each GPU host."""
    with cluster.up(tmp_path_factory.mktemp("slurm"), list(NAMES.values())) as one:
        yield one


@pytest.fixture
def idle(slurm: cluster.Cluster) -> t.Iterator[cluster.Cluster]:
    """The cluster with every node idle, before and after."""
    yield slurm
    for job in slurm.say("squeue", "--noheader", "--format=%i").split():
        slurm.say("scancel", job)
    for node, state in slurm.state().items():
        if state != "idle":
            slurm.say("scontrol", "update", f"nodename={node}", "state=resume")
    slurm.until(lambda: set(slurm.state().values()) == {"idle"}, "the idle cluster")


class Hosts(Pod):
    """A small pod that keeps its state, with the scheduler's names of its hosts."""

    def __init__(self, directory: Path, scheduler: str, faults: str, **expectations: t.Any) -> None:
        state = {"simulated_state": str(directory / "state"), "simulated_faults": faults}
        super().__init__(directory, **{"pod_scheduler": scheduler, "pod_remediate_to_layer": "routing", **SHORT, **state, **expectations})
        for host, name in NAMES.items():
            (self.inventory / "host_vars").mkdir(exist_ok=True)
            (self.inventory / "host_vars" / f"{host}.yml").write_text(yaml.safe_dump({"pod_scheduler_node": name}))
        self.root = directory / "state" / "gpu03" / "=root"

    def remediate(self, *arguments: str, host: str = "gpu03", **variables: t.Any) -> Climb:
        """Run remediate.yml on a host that is proved alone."""
        return self.playbook("--limit", host, *arguments, playbook="playbooks/remediate.yml", **variables)

    def with_partners(self, *arguments: str, host: str = "gpu03", **variables: t.Any) -> Climb:
        """Run remediate.yml on a host that is proved under load too."""
        whole = {"remediate_hosts": host, "pod_remediate_to_layer": "congestion"}
        return self.playbook(*arguments, playbook="playbooks/remediate.yml", **{**whole, **variables})


def drained(slurm: cluster.Cluster) -> list[str]:
    """The nodes that take no jobs."""
    return [node for node, state in slurm.state().items() if state.startswith("drain")]


@pytest.fixture
def hosts(tmp_path: Path, slurm: cluster.Cluster, monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., Hosts]:
    """Makes a pod whose clients reach the cluster."""
    monkeypatch.setenv("SLURM_CONF", slurm.environment["SLURM_CONF"])
    return lambda faults="", **expectations: Hosts(tmp_path, "slurm", faults, **expectations)


def changed(climb: Climb) -> int:
    """How many tasks changed something, by the recap."""
    found = re.findall(r"^gpu\d+ .*changed=(\d+)", climb.output, re.MULTILINE)
    assert found or "nothing changed, failed or was unreachable" in climb.output, climb.output
    return sum(map(int, found))


def passed(climb: Climb) -> set[str]:
    """The checks of a run that passed."""
    assert climb.report is not None, climb.output
    return {one["check"] for one in climb.report["verdicts"] if one["verdict"] == "pass"}


def test_node_047_comes_back_from_a_reimage(hosts, idle: cluster.Cluster) -> None:
    """ROCE_CC_PRIO_MASK lost and DCQCN off after a reimage: found, healed in announced steps, proved, readmitted."""
    pod: Hosts = hosts("prio_mask_lost,dcqcn_off")
    found = pod.climb("-e", "pod_to_layer=preflight")
    assert found.rc == 2 and found.gate("preflight", "rack_01") == "closed" and found.gate("preflight", "rack_02") == "open"
    assert found.not_well() == {"nic_settings": "fail", "dcqcn_running": "fail"}

    before = files.stamps(pod.root)
    shown = pod.with_partners("--check", "--diff", "--limit", "gpu03", pod_allow_nic_reset=True)
    assert shown.rc == 0 and "nothing would be touched: gpu03 cannot be proved up to layer congestion" in shown.output, shown.output
    assert "enp79s0np0  DCQCN on priority 3  on      off      off       off" in shown.output
    assert re.search(r"^\+.*ROCE_CC_PRIO_MASK_P1 \(next boot\) = 8$", shown.output, re.MULTILINE)
    assert files.stamps(pod.root) == before and idle.state()[NODE] == "idle"

    refused = pod.remediate()
    assert refused.rc == 2 and "firmware settings wait for a reset of 0000:4f:00.0" in refused.output
    assert idle.state()[NODE] == "drained"
    assert idle.reason(NODE).startswith("gpufabric.pyramid: not repaired: firmware settings wait for a reset of 0000:4f:00.0")
    assert "a reset is pending" not in refused.output and "firmware" in refused.output

    healed = pod.with_partners(pod_allow_nic_reset=True)
    assert healed.rc == 0 and changed(healed) > 0, healed.output
    assert "gpu03: proved" in healed.output
    assert idle.state()[NODE] == "idle" and healed.report["verdict"] == "no_fault_seen"
    assert passed(healed) >= {"dcqcn_backs_off", "ecn_marks_under_load", "right_class", "no_drops"}

    again = pod.remediate(pod_allow_nic_reset=True)
    assert again.rc == 0 and changed(again) == 0, again.output
    assert idle.state()[NODE] == "idle"
    assert pod.climb("-e", "pod_to_layer=preflight").report["verdict"] == "go"


@pytest.mark.long
def test_a_silent_dcqcn_shows_in_the_incast_and_nowhere_below(hosts, idle: cluster.Cluster) -> None:
    """The NIC's settings are as wanted, and it does not back off: nothing is repaired, and the node does not come back."""
    pod: Hosts = hosts("dcqcn_deaf,gpus_at_work@gpu01")
    idle.say("sbatch", "--wrap=sleep 600", f"--nodelist={NAMES['gpu01']}", "--output=/dev/null", "--job-name=training")
    idle.until(lambda: "training" in idle.say("squeue", "--noheader", "--states=running", "--format=%j"), "the job")
    shown = pod.with_partners()
    assert shown.rc == 2 and shown.report is not None, shown.output
    assert {layer: shown.gate(layer, "rack_01") for layer in ("routing", "congestion")} == {"routing": "open", "congestion": "closed"}
    assert shown.not_well()["dcqcn_backs_off"] == "fail" and shown.run is not None
    assert {path.stem for path in (shown.run / "readings" / "congestion" / "load-0").glob("*.json")} == {"gpu02", "gpu03", "gpu04"}
    words = "mlx5_4 as sender: expected notifications handled, got none"
    assert idle.state()[NODE] == "drained" and words in idle.reason(NODE) and drained(idle) == [NODE]


def test_a_node_without_partners_is_left_as_it_is(hosts, idle: cluster.Cluster) -> None:
    pod: Hosts = hosts("dcqcn_off")
    alone = pod.with_partners("--limit", "gpu03")
    assert alone.rc == 2 and "nothing was touched" in alone.output and "gpu01: outside --limit" in alone.output and alone.run is None
    assert "-e remediate_hosts=gpu03 in place of --limit" in alone.output
    unloaded = pod.with_partners(pod_depth="quick")
    assert unloaded.rc == 2 and "no load at depth quick" in unloaded.output and set(idle.state().values()) == {"idle"}


def test_a_node_with_a_running_job_is_left_alone(hosts, idle: cluster.Cluster) -> None:
    pod: Hosts = hosts("dcqcn_off")
    idle.say("sbatch", "--wrap=sleep 600", f"--nodelist={NODE}", "--output=/dev/null", "--job-name=training")
    idle.until(lambda: "training" in idle.say("squeue", "--noheader", "--states=running", "--format=%j"), "the job")
    refused = pod.remediate()
    assert refused.rc == 2 and re.search(r"gpu03 is left alone: jobs \d+ root training", refused.output), refused.output
    assert idle.state()[NODE] in ("mixed", "allocated") and refused.run is None


def meanwhile(pod: Hosts, act: t.Callable[[], t.Any]) -> threading.Thread:
    """Does something once the run that looks is under way, which the host was found idle before."""

    def waiting() -> None:
        until = time.monotonic() + 120
        while pod.latest() is None and time.monotonic() < until:
            time.sleep(0.05)
        act()

    thread = threading.Thread(target=waiting)
    thread.start()
    return thread


@pytest.mark.long
def test_a_job_that_starts_while_the_host_is_looked_at_goes_on_undisturbed(hosts, idle: cluster.Cluster) -> None:
    pod: Hosts = hosts("dcqcn_off")
    late = meanwhile(pod, lambda: idle.say("sbatch", "--wrap=sleep 600", f"--nodelist={NODE}", "--output=/dev/null", "--job-name=training"))
    refused = pod.remediate()
    late.join()
    assert refused.rc == 2 and re.search(r"gpu03 is not repaired: gpu03 is left alone: jobs \d+ root training", refused.output), refused.output
    assert not list((pod.root / "etc").rglob("gpufabric*")) and "training" in idle.say("squeue", "--noheader", "--states=running", "--format=%j")
    assert idle.state()[NODE] == "draining" and "left alone: jobs" in idle.reason(NODE)


@pytest.mark.long
def test_what_no_remedy_heals_is_reported_and_the_node_stays_drained(hosts, idle: cluster.Cluster) -> None:
    pod: Hosts = hosts("mtu_1500,acs_redirects")
    left = pod.remediate()
    assert left.rc == 2
    assert "/etc/systemd/network/50-rails.network.d/mtu.conf" in left.output and "networkctl reconfigure" in left.output
    assert re.search(r"setpci -s \S+ ECAP_ACS\+0x6.w=0000", left.output)
    assert idle.reason(NODE).startswith("gpufabric.pyramid: not proved: ") and "expected MTU 9000, got 1500" in idle.reason(NODE)
    assert idle.state()[NODE] == "drained" and not list((pod.root / "etc").rglob("gpufabric*"))


@pytest.mark.long
def test_a_fault_at_the_leaf_s_end_of_a_link_keeps_the_node_drained(hosts, idle: cluster.Cluster) -> None:
    """An uplink of the same leaf is dark, which is nobody's of these nodes."""
    pod: Hosts = hosts("port_at_100g,optic_dark")
    held = pod.with_partners(pod_remediate_to_layer="routing")
    words = "port_speed: leaf03 Ethernet3/1: expected connected at 400 Gb/s, got connected at 100 Gb/s"
    assert held.rc == 2 and words in held.output and "Ethernet33/1" not in held.output, held.output
    assert idle.state()[NODE] == "drained" and words in idle.reason(NODE)
    other = pod.with_partners(host="gpu05", pod_remediate_to_layer="routing")
    assert other.rc == 0 and "gpu05: proved" in other.output, other.output


@pytest.mark.long
def test_a_node_that_somebody_else_drained_is_repaired_and_stays_drained(hosts, idle: cluster.Cluster) -> None:
    pod: Hosts = hosts("dcqcn_off")
    idle.say("scontrol", "update", f"nodename={NODE}", "state=drain", "reason=bad fan")
    healed = pod.remediate()
    assert healed.rc == 0 and "gpu03: proved" in healed.output and f"{NODE} stays drained: 'bad fan' is the reason of another owner" in healed.output
    assert idle.state()[NODE] == "drained" and idle.reason(NODE) == "bad fan"
    lifted = pod.remediate(pod_readmit_reasons=["^bad fan$"])
    assert lifted.rc == 0 and idle.state()[NODE] == "idle"


def test_a_node_that_somebody_set_down_keeps_its_reason_and_stays_out(idle: cluster.Cluster, monkeypatch, capsys) -> None:
    monkeypatch.setenv("SLURM_CONF", idle.environment["SLURM_CONF"])

    def result(state: str) -> dict[str, t.Any]:
        with patch_module_args({"nodes": [NODE], "state": state, "reason": "being repaired"}), pytest.raises(SystemExit):
            slurm_nodes.main()
        return json.loads(capsys.readouterr().out)

    idle.say("scontrol", "update", f"nodename={NODE}", "state=down", "reason=bad PSU")
    drained = result("drained")
    assert drained["changed"] and (drained["nodes"][NODE]["ours"], drained["nodes"][NODE]["reason"]) == (False, "bad PSU")
    assert result("readmitted")["left"] == {NODE: "bad PSU"} and idle.reason(NODE) == "bad PSU" and idle.state()[NODE] == "drained"
    # What Slurm itself says of a node that was reimaged holds nobody back.
    for reason in ("Not responding", "Node unexpectedly rebooted"):
        idle.say("scontrol", "update", f"nodename={NODE}", "state=resume")
        idle.say("scontrol", "update", f"nodename={NODE}", "state=down", f"reason={reason}")
        assert result("drained")["nodes"][NODE]["ours"] and result("readmitted")["left"] == {} and idle.state()[NODE] == "idle"


def test_no_more_hosts_than_may_be_out_at_once(hosts, idle: cluster.Cluster) -> None:
    pod: Hosts = hosts("dcqcn_off")
    two = pod.remediate(host="gpu03,gpu05")
    assert two.rc == 2 and "2 hosts are named (gpu03, gpu05), and pod_remediate_max allows 1" in two.output and two.run is None
    of_one_group = pod.remediate(host="gpu03,gpu04", pod_remediate_max=2)
    assert of_one_group.rc == 2 and "rack_01 may lose 1 of its 4 hosts" in of_one_group.output and of_one_group.run is None
    idle.say("scontrol", "update", f"nodename={NAMES['gpu01']}", "state=drain", "reason=bad fan")
    beside = pod.remediate()
    assert beside.rc == 2 and "rack_01 may lose 1 of its 4 hosts (pod_quarantine_max), and gpu01 is out already" in beside.output
    assert idle.state()[NODE] == "idle" and idle.state()[NAMES["gpu01"]] == "drained"


@pytest.mark.long
def test_two_hosts_of_two_groups_at_once(hosts, idle: cluster.Cluster) -> None:
    pod: Hosts = hosts("dcqcn_off")
    healed = pod.remediate(host="gpu03,gpu05", pod_remediate_max=2)
    assert healed.rc == 0 and "gpu03: proved" in healed.output and "gpu05: proved" in healed.output, healed.output
    assert set(idle.state().values()) == {"idle"}


def test_without_a_scheduler_the_gpus_say_who_is_working(tmp_path: Path) -> None:
    pod = Hosts(tmp_path, "none", "dcqcn_off,gpu_in_use")
    refused = pod.remediate()
    assert refused.rc == 2 and "gpu03 is left alone" in refused.output and "4711 python3" in refused.output
    assert pod.remediate(host="gpu04").rc == 0


def test_nobody_looked_at_is_no_success(tmp_path: Path) -> None:
    pod = Hosts(tmp_path, "none", "")
    nobody = pod.remediate("--skip-tags", "always")
    assert nobody.rc == 4 and "--skip-tags always leaves out tasks" in " ".join(nobody.output.split()), nobody.output
    switch = pod.remediate(host="leaf01")
    assert switch.rc == 4 and "no GPU host (group gpu_hosts) is in --limit leaf01" in " ".join(switch.output.split()), switch.output


@pytest.fixture
def kubernetes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[api.Api]:
    """A Kubernetes with a node for each GPU host."""
    server = api.Api(list(NAMES.values()))
    monkeypatch.setenv("K8S_AUTH_KUBECONFIG", str(server.configuration(tmp_path / "kubeconfig")))
    yield server
    server.end()


def test_kubernetes_drains_with_a_reason_and_takes_the_node_back(tmp_path: Path, kubernetes: api.Api) -> None:
    pod = Hosts(tmp_path / "pod", "kubernetes", "dcqcn_off,mtu_1500")
    kubernetes.run(api.pod("web", NODE), api.pod("exporter", NODE, owner="DaemonSet"), api.pod("training", NAMES["gpu04"], gpus=8))
    left = pod.remediate()
    assert left.rc == 2, left.output
    node = kubernetes.nodes[NODE]
    assert node["spec"]["unschedulable"] is True and "expected MTU 9000" in node["metadata"]["annotations"]["gpufabric.pyramid/reason"]
    assert set(kubernetes.pods) == {"exporter", "training"}

    until = str(datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=300))
    waived = [{"check": check, "host": "gpu03", "where": where, "reason": "tonight", "until": until}
              for check, where in (("mtu", "enp79s0np0"), ("mtu", "mlx5_4"), ("mtu_uniform", "enp79s0np0"))]  # fmt: skip
    healed = pod.remediate(pod_waivers=waived)
    assert healed.rc == 0, healed.output
    assert not kubernetes.nodes[NODE]["spec"].get("unschedulable") and kubernetes.nodes[NODE]["metadata"]["annotations"] == {}


@pytest.mark.long
def test_kubernetes_evicts_no_job_that_starts_while_the_host_is_looked_at(tmp_path: Path, kubernetes: api.Api) -> None:
    pod = Hosts(tmp_path / "pod", "kubernetes", "dcqcn_off")
    late = meanwhile(pod, lambda: kubernetes.run(api.pod("training", NODE, gpus=8)))
    refused = pod.remediate()
    late.join()
    assert refused.rc == 2 and "gpu03 takes no more pods, and is left to default/training" in refused.output, refused.output
    assert set(kubernetes.pods) == {"training"} and kubernetes.nodes[NODE]["spec"]["unschedulable"] is True
    assert not list((pod.root / "etc").rglob("gpufabric*"))


def test_kubernetes_refuses_a_node_whose_gpus_a_pod_has(tmp_path: Path, kubernetes: api.Api) -> None:
    pod = Hosts(tmp_path / "pod", "kubernetes", "dcqcn_off")
    kubernetes.run(api.pod("training", NODE, gpus=8))
    refused = pod.remediate()
    assert refused.rc == 2 and "gpu03 is left alone: jobs default/training" in refused.output
    assert {method for method, _path in kubernetes.requests} == {"GET"}
    assert pod.remediate("-e", json.dumps({"pod_scheduler_node": "no-such-node"})).rc == 2
