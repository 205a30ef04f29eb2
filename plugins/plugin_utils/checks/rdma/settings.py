# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""With what the rails were tested: the settings that were asked for, and the RoCE priority."""

from __future__ import annotations

import typing as t

from ...loads.pair_tests import TESTED, pair_tests
from ...pod.types import Rail
from ...readings.rows import Peers, Rows
from .. import PAIR, Finding, check
from .._not_measured import not_measured
from .._under_load import CLASS_FIX, OTHER_CLASS, in_class
from ..place import Place


@check(
    cause="The test did not run with the pod's settings: another MTU or GID index, or a perftest that ignores an option.",
    fix="Compare the NIC's MTU and GID table with the pod's; run the test by hand with the arguments in the evidence.",
    required=True,
    hosts=PAIR,
)
def measured_as_asked(write_bw: Rows, load_jobs: Rows) -> t.Iterator[Finding]:
    """perftest reports the device and settings that the test was started with."""
    asked = {row["item"]: row for row in load_jobs if row["role"] == "client" and row["kind"] in TESTED}
    judged = [(row, asked[row["item"]]) for row in write_bw if row["item"] in asked]
    if not judged:
        raise not_measured("no test of this host as sender gave a rate")
    for row, job in judged:
        for column in ("device", "mtu", "gid_index", "qps", "bytes"):
            if job[column] is not None and row[column] != job[column]:
                reported = "not reported" if row[column] is None else row[column]
                yield Finding(Place(f"{job['item']} {column}"), str(job[column]), str(reported), "unknown", judged=row[column] is not None)


@check(cause=OTHER_CLASS, fix=CLASS_FIX, fabric="roce", required=True, hosts=PAIR, meanings=("rx_priority_bytes",))
def right_class(
    nic_counters_idle: Rows, nic_counters: Rows, load_jobs: Rows, load_jobs_of_peers: Peers, write_bw_of_peers: Peers, pod_node: str, pod_rails: list[Rail],
    pod_roce_priority: int, pod_write_bw_seconds: int,
) -> t.Iterator[Finding]:  # fmt: skip
    """Traffic received under load is counted in the RoCE priority."""
    expected: dict[str, float] = {}
    for one in pair_tests(pod_node, load_jobs_of_peers, write_bw_of_peers, TESTED):
        if one.receiver.host == pod_node and one.gbit_s is not None:
            expected[one.receiver.device] = expected.get(one.receiver.device, 0.0) + one.gbit_s * 1e9 / 8 * pod_write_bw_seconds
    if not expected:
        raise not_measured("no test of this host as receiver gave a rate")
    yield from in_class(pod_rails, expected, nic_counters_idle, nic_counters, pod_roce_priority)
