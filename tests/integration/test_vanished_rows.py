# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A healthy pod of which one row, or a whole reading, is not told: some check of the layer must miss it."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from dataclasses import replace

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.layer import verdicts_of_checks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.layer_input import Layer
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout

Row = dict[str, t.Any]
NODES = ("gpu01", "leaf01", "spine01")
# A node's rows of this many rails, ports or GPUs are taken away one by one.
EACH = 2
# What a healthy pod need not say, each with the reason.
SPARE: dict[str, tuple[str, t.Callable[[str, Row], bool]]] = {
    "unplanned": (
        "it is of an adapter, a port or a card that is no rail and no cable",
        lambda _name, row: (
            row.get("netdev") in ("lo", "eno1")
            or row.get("port") in ("lo", "eno1", "Et47/1", "Ethernet47/1", "Ma1", "Ethernet504")
            or row.get("pci") in ("0000:05:00.0", "0000:15:01.0")
            or row.get("ca_type") == "MT4125"
            or row.get("interface") == "docker0"
        ),
    ),
    "another priority": (
        "only the RoCE priority is judged",
        lambda _name, row: any(str(row.get(key, "3")).removeprefix("UC") not in ("3", "None") for key in ("priority", "priority_group", "queue")),
    ),
    "another DSCP": ("only that of RoCE is judged", lambda name, row: name == "dscp_classes" and 26 not in row["dscp"]),
    "another index": ("only the GID of pod_gid_index is used", lambda name, row: name == "gids" and row["index"] != 3),
    "no domain": ("a card that is in no IOMMU group is not translated", lambda name, _row: name == "iommu_devices"),
    "nothing asked": ("no huge pages are asked for", lambda name, _row: name == "hugepages"),
    "copper": ("it sends no light", lambda name, row: name == "transceivers" and row["rx_power_dbm"] is None),
    "a lane": ("another lane of the port is told", lambda name, row: name == "transceivers" and row["lane"] is not None),
    "one of several": ("a bridge, a module or a symbol of which others are there", lambda name, _row: name in ("acs_control", "lsmod", "kernel_symbols")),
    "no job's": ("only services that start jobs are judged", lambda name, row: name == "service_units" and "slurmd" not in row["unit"]),
    "no event": ("the log of a healthy host tells nothing of a link that went down", lambda name, _row: name == "kernel_log"),
    "not expected": ("nothing is asked of this setting", lambda name, row: name == "mlxconfig" and not row["name"].startswith("ROCE_CC")),
    "words of the module": (
        "only its error rates are judged, by the first name that it has",
        lambda name, row: name == "link_quality" and row["name"] != "Raw Physical BER",
    ),
    "another counter": (
        "no check needs it, or another one says the same, as frames and their duration",
        lambda name, row: name in ("nic_counters", "rdma_counters") and row["name"] != "packet_seq_err",
    ),
    "no target": ("no incast ends or crosses here", lambda name, _row: name in ("ecn_counters", "interface_bytes")),
    "a test": ("load_jobs tells of each whether it has a result", lambda name, _row: name == "write_bw"),
    "where told": ("not every driver tells it", lambda name, row: name == "dcqcn" and row["setting"] == "cnp_dscp"),
    "not learned": ("an entry is learned when it is needed", lambda name, _row: name in ("arp_table", "neighbor_table")),
    "a route": ("ecmp_paths asks for the prefixes that it was given", lambda name, _row: name == "ecmp_routes"),
}
# Readings that may tell nothing at all.
SILENT: dict[tuple[str, str], str] = {
    ("hugepages", "gpu01"): "no huge pages are asked for",
    ("kernel_log", "gpu01"): "a log without an event is what a healthy host may have",
    ("transceivers", "gpu01"): "copper sends no light",
    ("write_bw", "gpu01"): "load_jobs tells of each test whether it has a result",
    ("arp_table", "spine01"): "a spine has the addresses of leaves, and of no host",
    ("ecn_counters", "spine01"): "no incast ends at a spine",
    ("interface_bytes", "spine01"): "a spine spreads over no uplinks",
}


class Told(t.NamedTuple):
    """A layer of a healthy pod, and what all of its checks come to."""

    layer: Layer
    verdicts: dict[tuple[str, str | None, str | None], str]

    def asked(self) -> Iterator[tuple[str, str, str, list[Row]]]:
        """Phase, node, name and rows of every reading that a check cannot do without."""
        needed = {(phase, name) for check in self.layer.checks() for phase, name, parameter in check.asked if parameter not in check.optional}
        for phase, name in sorted(needed):
            for node in NODES:
                output = self.layer.in_phase(phase).get(node, {"readings": {}})["readings"].get(name)
                if output is not None and output["status"] == "ok" and output["rows"]:
                    yield phase, node, name, output["rows"]

    def is_missed(self, phase: str, node: str, name: str, rows: list[Row]) -> bool:
        """Whether some verdict is worse when a node says these rows instead of its own."""
        envelopes = dict(self.layer.in_phase(phase))
        readings = envelopes[node]["readings"]
        envelopes[node] = {**envelopes[node], "readings": {**readings, name: {**readings[name], "rows": rows}}}
        return any(one != self.verdicts.get(key, "pass") and one != "pass" for key, one in verdicts(replace(self.layer, **{phase: envelopes})).items())


def verdicts(layer: Layer) -> dict[tuple[str, str | None, str | None], str]:
    return {(one.check, one.host, one.group): one.verdict for one in verdicts_of_checks(layer)}


@pytest.fixture(scope="module", params=inprocess.LAYERS)
def healthy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    directory = layout.write(tmp_path_factory.mktemp("small"), racks=1, hosts_per_rack=4, spines=2, expectations={"pod_name": "small"})
    layer = inprocess.outcome(*inprocess.pod_of(directory), request.param)
    results = verdicts(layer)
    assert set(results.values()) == {"pass", "skip"}
    return Told(layer, results)


def first_ones(rows: list[Row]) -> list[int]:
    """The rows of the first of each kind of thing that a reading tells of, and those of nothing in particular."""
    keys = ("device", "netdev", "port", "gpu", "item", "target", "neighbor")
    seen: dict[str, list[t.Any]] = {key: [] for key in keys}
    chosen = []
    for number, row in enumerate(rows):
        key = next((key for key in keys if row.get(key) is not None), None)
        if key is not None and row[key] not in seen[key]:
            seen[key].append(row[key])
        if key is None or row[key] in seen[key][:EACH]:
            chosen.append(number)
    return chosen


def test_a_reading_that_tells_nothing_is_missed(healthy: Told) -> None:
    asked = list(healthy.asked())
    assert asked
    unnoticed = {(name, node) for phase, node, name, _rows in asked if not healthy.is_missed(phase, node, name, [])}
    assert unnoticed - SILENT.keys() == set()


def test_a_row_that_is_not_reported_is_missed(healthy: Told) -> None:
    tried, unnoticed = 0, []
    for phase, node, name, rows in healthy.asked():
        for number in first_ones(rows):
            if not any(is_spare(name, rows[number]) for _why, is_spare in SPARE.values()):
                tried += 1
                if not healthy.is_missed(phase, node, name, rows[:number] + rows[number + 1 :]):
                    unnoticed.append((phase, node, name, rows[number]))
    assert tried and unnoticed == []
