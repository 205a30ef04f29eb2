# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host remembers of its own checks, for the history of its pod: a line of JSON where something changed, and one an hour in any case.

The file is no larger than MOST_BYTES; then it becomes the older one of two. ``history/of_node_check.py`` reads it.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from ..collect.types import Envelope
from ..evaluate.series import BOOTED, BOOTED_UNIT, series_numbers
from ..pod.judged_ports import judged_ports
from ..pod.names import port_name
from .node_plan import NodePlan
from .outcome import Outcome
from .state_directory import write_whole

NAME, OLDER = "journal.jsonl", "journal.1.jsonl"
MOST_BYTES = 1024 * 1024
EVERY_SECONDS = 3600.0


def note(directory: Path, mine: NodePlan, outcome: Outcome, now: Envelope, at: float) -> None:
    """Add a check to the journal, where it differs from the last one or that is an hour old; at: seconds since the epoch."""
    found = [
        {"layer": one["layer"], "check": one["check"], "verdict": one["verdict"], "words": one["words"], "findings": one["findings"]}
        for one in outcome.document["verdicts"] if one["verdict"] not in ("pass", "skip")
    ]  # fmt: skip
    path = directory / NAME
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    last = _last(lines)
    kept = ("pod", "node", "plan_digest", "version", "status")
    line = {**{name: outcome.document[name] for name in kept}, "time": int(at), "layers": _layers(outcome), "found": found, "numbers": _numbers(mine, now)}
    if last is not None and 0 <= at - last["time"] < EVERY_SECONDS and all(last.get(name) == line[name] for name in ("plan_digest", "status", "found")):
        return
    text = json.dumps(line, sort_keys=True)
    # One that is full or damaged begins anew, so that what is told from now on is read.
    if lines and (last is None or sum(len(one) + 1 for one in lines) + len(text) > MOST_BYTES):
        path.replace(directory / OLDER)
        lines = []
    write_whole(path, "\n".join([*lines, text]) + "\n")


def _last(lines: list[str]) -> dict[str, t.Any] | None:
    try:
        last = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return last if isinstance(last, dict) and isinstance(last.get("time"), int) else None


def _layers(outcome: Outcome) -> dict[str, str]:
    """The worst verdict of each layer of which a check was judged."""
    order = ("pass", "warn", "unknown", "fail")
    worst: dict[str, str] = {}
    for one in outcome.document["verdicts"]:
        if one["verdict"] in order:
            worst[one["layer"]] = max(worst.get(one["layer"], "pass"), one["verdict"], key=order.index)
    return worst


def _numbers(mine: NodePlan, now: Envelope) -> list[list[t.Any]]:
    """When the host booted, its light by lane and its series: metric, port or other place, lane, value, unit, and the limits."""
    found: list[list[t.Any]] = []
    if now["asked_at"] is not None and now["uptime_seconds"] is not None:
        found.append([BOOTED, "", None, round(now["asked_at"] - now["uptime_seconds"]), BOOTED_UNIT, None, None])
    readings = {name: kept["rows"] for name, kept in now["readings"].items() if kept["status"] == "ok"}
    judged = judged_ports(mine.plan, mine.node)
    for row in readings.get("transceivers", ()):
        if row["rx_power_dbm"] is not None:
            limits = [row["rx_low_alarm_dbm"], row["rx_high_alarm_dbm"]] if port_name(row["port"]) in judged else [None, None]
            found.append(["light_received", row["port"], row["lane"], row["rx_power_dbm"], "dBm", *limits])
    for one in series_numbers(readings, mine.plan.nodes[mine.node], judged):
        found.append([one.series.name, one.where, None, one.value, one.series.unit, None, one.high])
    return found
