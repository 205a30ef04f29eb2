# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host may be loaded."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks._under_load import hosts_idle, ib_hosts_idle
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.idle_test import busy_reason

IDLE = {"pod_idle_agents": [], "pod_load_busy_hosts": False, "pod_gpus_per_host": 8, "pod_idle_seconds": 5, "pod_idle_gbit_s": 0.5}


def carried(count: int) -> list[dict[str, object]]:
    return [{"netdev": "ens0", "name": "rx_bytes_phy", "value": count}]


def idle(before: int, now: int, processes: int | None = 0, **other: object) -> list[str]:
    gpus = None if processes is None else [{"gpu": 0, "processes": processes}]
    return [str(one) for one in hosts_idle(carried(before), carried(now), **{**IDLE, **other}, gpus_idle=gpus)]


def test_a_busy_host_is_named_with_what_it_does():
    assert idle(0, 1000) == [] == idle(0, 10**12, pod_load_busy_hosts=True)
    assert idle(0, 1000, 2) == ["the host: expected no job and no traffic, got GPU0 runs processes"]
    assert idle(0, 10**9) == ["the host: expected no job and no traffic, got ens0 carries 1.60 Gb/s (rx_bytes_phy), and an idle NIC at most 0.5"]
    with pytest.raises(CannotTell, match="GPU processes: not reported"):
        idle(0, 0, None)
    assert idle(0, 0, None, pod_gpus_per_host=0) == []


def test_what_runs_on_a_host_that_is_loaded_all_the_same_is_named():
    gpus = [{"gpu": 3, "processes": 2, "process_names": ["/usr/bin/python3 train.py", "vllm"]}, {"gpu": 4, "processes": 0, "process_names": []}]
    (one,) = hosts_idle(carried(0), carried(0), **{**IDLE, "pod_load_busy_hosts": True}, gpus_idle=gpus)
    assert (one.severity, one.actual) == ("warn", "GPU3 runs processes (python3, vllm)") and "pod_load_busy_hosts" in (one.cause or "")
    agents = {**IDLE, "pod_load_busy_hosts": True, "pod_idle_agents": ["python3", "vllm"]}
    assert not list(hosts_idle(carried(0), carried(0), **agents, gpus_idle=gpus))


def test_a_port_of_infiniband_is_busy_by_its_own_counters():
    def carried(words: int) -> list[dict[str, object]]:
        return [{"device": "mlx5_0", "name": "port_rcv_data", "value": words}]

    def idle(now: int, processes: int = 0, **other: object) -> list[str | None]:
        return [one.actual for one in ib_hosts_idle(carried(0), carried(now), **{**IDLE, **other}, gpus_idle=[{"gpu": 0, "processes": processes}])]

    assert idle(1000) == [] == idle(10**12, pod_load_busy_hosts=True) and idle(0, 2) == ["GPU0 runs processes"]
    assert idle(10**9) == ["mlx5_0 carries 6.40 Gb/s (port_rcv_data), and an idle NIC at most 0.5"]
    with pytest.raises(CannotTell, match="GPU processes: not reported"):
        list(ib_hosts_idle(carried(0), carried(0), **IDLE))


def test_processes_that_are_not_reported_are_not_none():
    result = hosts_idle(carried(0), carried(0), **IDLE, gpus_idle=[{"gpu": 0, "processes": 0}, {"gpu": 1, "processes": None}])
    assert [one.actual for one in result] == ["GPU1 does not report processes"]


def test_traffic_that_is_not_reported_is_not_none():
    def summary(before: list[dict[str, object]], now: list[dict[str, object]]) -> list[str]:
        return [one.actual for one in hosts_idle(before, now, **IDLE, gpus_idle=[{"gpu": 0, "processes": 0}])]

    other = [{"netdev": "ens1", "name": "rx_prio3_pause", "value": 0}]
    assert summary([], carried(0)) == summary(carried(0), []) == ["no byte counter was read twice on ens0"]
    assert summary([*carried(0), *other], [*carried(0), *other]) == ["no byte counter was read twice on ens1"]
    assert summary([], []) == ["no byte counter was read twice on its NICs"]
    assert summary(carried(9), carried(7)) == ["ens0 rx_bytes_phy went back between two readings, so that its traffic is not known"]


def test_a_virtual_function_is_busy_by_what_its_virtual_port_carries():
    def counted(value: int) -> list[dict[str, object]]:
        return [{"netdev": "ens0", "name": name, "value": moved} for name, moved in (("rx_bytes_phy", 0), ("rx_vport_rdma_unicast_bytes", value))]

    busy = busy_reason([{"gpu": 0, "processes": 0}], counted(0), counted(10**9), 5, 0.5)
    assert busy == "ens0 carries 1.60 Gb/s (rx_vport_rdma_unicast_bytes), and an idle NIC at most 0.5"


def test_agents_of_monitoring_are_no_work():
    def summary(processes: int, *names: str) -> str | None:
        gpu = {"gpu": 0, "processes": processes, "process_names": list(names)}
        return busy_reason([gpu], carried(0), carried(0), 5, 0.5, ["nv-hostengine", "dcgm-*"])

    assert summary(2, "/usr/bin/nv-hostengine -n", "dcgm-exporter") is None
    assert summary(2, "/usr/bin/nv-hostengine", "python3") == "GPU0 runs processes (python3)"
    assert summary(2, "nv-hostengine") == "GPU0 runs processes"


@pytest.mark.parametrize(
    ("percent", "mib", "expected"),
    [
        (97, 1123, "GPU0 runs processes (not listed here: utilisation 97 %, 1123 MiB in use)"),
        (100, 0, None),  # as an idle GPU without persistence mode reports
        (0, 70000, None),
        (20, 256, "GPU0 runs processes (not listed here: utilisation 20 %, 256 MiB in use)"),
        (19, 256, None),
        (20, 255, None),
        (None, 1123, None),
        (97, None, None),
    ],
)
def test_a_gpu_is_at_work_by_its_utilisation_where_its_processes_are_not_listed(percent: int | None, mib: int | None, expected: str | None):
    gpu = {"gpu": 0, "processes": 0, "process_names": [], "utilization_percent": percent, "memory_used_mib": mib}
    assert busy_reason([gpu], carried(0), carried(0), 5, 0.5) == expected
    # An agent that is listed hides nothing.
    agent = {**gpu, "processes": 1, "process_names": ["nv-hostengine"]}
    assert busy_reason([agent], carried(0), carried(0), 5, 0.5, ["nv-hostengine"]) == expected


def test_an_infiniband_port_is_idle_by_its_own_counters_in_words_of_four_bytes():
    def summary(was: int, now: int) -> str | None:
        before, after = ([{"device": "mlx5_0", "name": "port_xmit_data", "value": value}] for value in (was, now))
        return busy_reason([{"gpu": 0, "processes": 0}], before, after, 5, 0.5, fabric="infiniband")

    assert summary(7, 7 + 70_000_000) is None
    assert summary(7, 7 + 100_000_000) == "mlx5_0 carries 0.64 Gb/s (port_xmit_data), and an idle NIC at most 0.5"
    assert summary(0xFFFFFFFF, 0xFFFFFFFF) == "no byte counter was read twice on mlx5_0", "it has stopped at its end"
