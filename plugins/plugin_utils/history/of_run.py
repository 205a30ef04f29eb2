# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run leaves to the history: verdicts of each node, findings, numbers and parts."""

from __future__ import annotations

import statistics
import typing as t
from datetime import datetime

from ..checks import LAYERS
from ..evaluate.baselines import software_versions
from ..evaluate.metrics import metrics, place_in_words
from ..evaluate.row_places import RowPlaces
from ..evaluate.series import BOOTED, BOOTED_UNIT, Row, readings_of_series, series_numbers
from ..evaluate.verdicts import VerdictRecord
from ..loads.pair_tests import HOST_MEMORY, TESTED
from ..loads.thresholds import minimum_gbit_s
from ..pod.judged_ports import judged_ports
from ..pod.names import port_name
from ..pod.plan import Plan
from ..run.documents import Report
from ..run.reader import RunReader
from ..run.state import State
from .entries import RUN, Entry, FindingRow, Number, Part, worst_by_node

# By place the least and the most that a number may be, and its port.
Limits = dict[str, tuple[float | None, float | None, str]]
NO_LIMITS = (None, None, "")
READINGS = readings_of_series() | {metric.reading for metric in metrics().values()} | {"software", "gpus", "transceivers", "interface_status"}


def entry_of_run(report: Report, plan: Plan, state: State, reader: RunReader, source: str = RUN) -> Entry:
    """A finished run as an entry; source: RUN or PATROL."""
    reported = RunReader(reader.source(state.replay), plan).reported(READINGS)
    records = report["verdicts"]
    ended = report["ended"] or report["opened"]
    return Entry(
        report["pod"], source, _name(state), "", int(datetime.fromisoformat(ended).timestamp()), report["version"], report["verdict"], report["digest"],
        worst_by_node(_judged(plan, records)), [row for record in records for row in _findings(record)],
        [*_metrics(plan, state, reader, reported), *_series(plan, reported), *_booted(state)], _parts(plan, reported),
    )  # fmt: skip


def _name(state: State) -> str:
    """The id of a run; of a part of the pod with the part, as slices in directories of their own may begin in one second."""
    part = [group for group, where in state.scope.items() if where != "out"]
    return state.run_id if len(part) == len(state.scope) else f"{state.run_id} of {', '.join(part)}"


def _judged(plan: Plan, records: t.Iterable[VerdictRecord]) -> t.Iterator[tuple[str, str, str]]:
    """Layer, node and verdict: of a check of one node its own; of one that compares nodes those that it has findings of."""
    for record in records:
        if record["host"]:
            yield record["layer"], record["host"], record["verdict"]
        for finding in record["findings"]:
            if not record["host"] and finding["host"] in plan.nodes:
                yield record["layer"], str(finding["host"]), finding["severity"]


def _findings(record: VerdictRecord) -> t.Iterator[FindingRow]:
    if record["verdict"] in ("pass", "skip"):
        return
    for one in record["findings"]:
        node = one["host"] or record["host"] or ""
        yield FindingRow(record["layer"], record["check"], node, one["where"] or "", one["severity"], one["expected"], one["actual"])
    if not record["findings"]:
        yield FindingRow(record["layer"], record["check"], record["host"] or "", "", record["verdict"], "", record["words"])


def _metrics(plan: Plan, state: State, reader: RunReader, reported: t.Mapping[str, t.Any]) -> t.Iterator[Number]:
    """The numbers that baselines compare too; the limits of light are the module's own."""
    limits = {"light_received": _light_limits(plan, reported), "write_bandwidth": _rate_limits(plan, reported)}
    for one in reader.numbers(plan, state)[0]:
        low, high, port = limits.get(one.metric, {}).get(one.place, NO_LIMITS)
        yield Number(one.metric, one.node, port, one.place, one.value, metrics()[one.metric].unit, low, high)


def _rate_limits(plan: Plan, reported: t.Mapping[str, t.Any]) -> Limits:
    """The least that a rail's write bandwidth may be, by the place that the metric gives it: as that, the median of what its tests must reach."""
    axes, least = RowPlaces(plan), dict[str, list[float]]()
    for node, readings in reported.get("rdma", {}).items():
        values = plan.nodes[node].values
        for row in readings.get("write_bw", ()):
            if row.get("job.kind") in TESTED and row["job.memory"] == HOST_MEMORY:
                ends = ((node, row["job.device"]), (row["job.peer"], row["job.peer_device"]))
                minimum = minimum_gbit_s(ends, plan.rail_gbit_s(), values["pod_write_bw_min_percent"], values["pod_write_bw_bidirectional"])
                least.setdefault(place_in_words(axes, metrics()["write_bandwidth"].of, node, row), []).append(minimum)
    return {place: (statistics.median(its), None, "") for place, its in least.items()}


def _light_limits(plan: Plan, reported: t.Mapping[str, t.Any]) -> Limits:
    """The alarm limits of each lane's module, where its port is judged, and the port, by the place that the metric ``light_received`` gives it."""
    found = {}
    for node, readings in reported.get("links", {}).items():
        judged = judged_ports(plan, node, readings.get("interface_status", ()))
        for row in readings.get("transceivers", ()):
            port = port_name(row["port"])
            place = " ".join(str(word) for word in (node, row["port"], row["lane"]) if word is not None)
            found[place] = (row["rx_low_alarm_dbm"], row["rx_high_alarm_dbm"], port) if port in judged else (None, None, port)
    return found


def _series(plan: Plan, reported: t.Mapping[str, t.Any]) -> t.Iterator[Number]:
    for node, readings in _last(reported).items():
        for one in series_numbers(readings, plan.nodes[node], judged_ports(plan, node, readings.get("interface_status", ()))):
            port = one.where if one.series.of_ports else ""
            yield Number(one.series.name, node, port, f"{node} {one.where}", one.value, one.series.unit, None, one.high)


def _last(reported: t.Mapping[str, t.Any]) -> dict[str, dict[str, t.Sequence[Row]]]:
    """The rows of each node's readings in the last layer that has them, by node."""
    found: dict[str, dict[str, t.Sequence[Row]]] = {}
    for layer in LAYERS:
        for node, readings in reported.get(layer, {}).items():
            found.setdefault(node, {}).update(readings)
    return found


def _booted(state: State) -> t.Iterator[Number]:
    """When each node booted, where it says so."""
    for node, boot in state.boots.items():
        if boot["asked_at"] is not None and boot["uptime_seconds"] is not None:
            yield Number(BOOTED, node, "", node, boot["asked_at"] - boot["uptime_seconds"], BOOTED_UNIT)


def _parts(plan: Plan, reported: t.Mapping[str, t.Any]) -> list[Part]:
    found = [Part(node, "software", item, version) for node, own in software_versions(reported.get("preflight", {})).items() for item, version in own.items()]
    for readings_of in reported.values():
        for node, readings in readings_of.items():
            found += [Part(node, "gpu", str(row["pci"]), row["uuid"]) for row in readings.get("gpus", ()) if row["uuid"]]
            optics = {port_name(row["port"]): row for row in readings.get("transceivers", ()) if row["part_number"] or row["serial"]}
            found += [Part(node, "optic", port, _module(row)) for port, row in optics.items()]
    for cable in plan.cables:
        found += [Part(near.node, "cable", near.port, f"{far.node}:{far.port}") for near, far in ((cable.a, cable.b), (cable.b, cable.a))]
    return list(dict.fromkeys(found))


def _module(row: t.Mapping[str, t.Any]) -> str:
    return " ".join(str(word) for word in (row["vendor"], row["part_number"], row["serial"]) if word)
