# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program: read this host, judge it by its plan, and say so."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import time
import typing as t
from pathlib import Path

from ...module_utils.side_by_side import answer
from ..collect.host_commands import command_results, host_request
from ..pod.rail_ports import named_devices
from .journal import note
from .judging import envelope, own_readings, own_verdicts
from .node_plan import NodePlan, Refused, load_node_plan
from .outcome import Outcome, metrics, not_judged, outcome_of
from .slurm import COMMENT, DRAIN, KEEP_AWAY, NoAnswer, tell_slurm
from .state_directory import Busy, alone, earlier, keep, write_whole

PLAN, STATE = Path("/etc/gpufabric-node-check/plan.json"), Path("/var/lib/gpufabric-node-check")
MACHINE_ID = Path("/etc/machine-id")
# A tool that takes longer is ended, and what it was asked for is not known.
TOOL_SECONDS = 4
# How long another check of the host is awaited, such as the timer's by a prolog.
LOCK_SECONDS = 6.0


def check(mine: NodePlan, state: Path, tool_seconds: int) -> tuple[Outcome, float]:
    """The outcome of one check of this host, and when it was read (seconds since the epoch); keeps the reading in ``state``."""
    began = time.monotonic()
    asked = own_readings(mine)
    request = host_request(asked.queries, named_devices(mine.values["pod_rails"]))
    for command in request["commands"]:
        command["timeout"] = min(command["timeout"], tool_seconds)
    # Written without types, for the Python of any node.
    document, at = answer(request), time.time()  # type: ignore[no-untyped-call]
    now = envelope(mine, asked, command_results(asked.queries, document), document["boot_id"], document["uptime_seconds"], at)
    before = earlier(state, mine, now)
    verdicts = own_verdicts(mine, now, before, datetime.date.fromisoformat(time.strftime("%Y-%m-%d", time.gmtime(at))))
    keep(state, mine, now)
    checked = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
    outcome = outcome_of(mine, verdicts, checked, time.monotonic() - began)
    note(state, mine, outcome, now, at)
    return outcome, at


def arguments(given: t.Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="gpufabric-node-check", description=__doc__)
    parser.add_argument("--plan", type=Path, default=PLAN, help="the plan of this host (%(default)s)")
    parser.add_argument("--state", type=Path, default=STATE, help="where the last reading is kept (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print a document instead of one line")
    parser.add_argument("--textfile", type=Path, help="also write metrics for node_exporter's textfile collector into this file")
    parser.add_argument("--tool-seconds", type=int, default=TOOL_SECONDS, help="how long a tool may take (%(default)s)")
    parser.add_argument("--comment", action="store_true", help="end with status 0 whatever is found")
    parser.add_argument(
        "--slurm", choices=[COMMENT, DRAIN],
        help="as Slurm's prolog, epilog or HealthCheckProgram: comment on the node, or drain it where it is broken; ends with status 0, or, as the prolog of"
        f" a node that is broken and drained, with {KEEP_AWAY}",
    )  # fmt: skip
    return parser.parse_args(given)


def main(given: t.Sequence[str] | None = None) -> int:
    """Check this host; the exit status is 0 where it is well, 1 where it is broken and 2 where that is not known."""
    options = arguments(given)
    mine, outcome = _outcome(options)
    status = 0 if options.comment or options.slurm else outcome.status
    if options.slurm and mine is not None:
        status = _tell_slurm(mine, outcome, options.slurm)
    print(json.dumps(outcome.document, sort_keys=True) if options.json else outcome.line)
    return status


def _outcome(options: argparse.Namespace) -> tuple[NodePlan | None, Outcome]:
    """The host's plan and outcome; no plan where there is nothing to say of the host, which is not a fault of it."""
    mine = None
    try:
        machine_id = MACHINE_ID.read_text(encoding="ascii").strip() if MACHINE_ID.exists() else ""
        mine = load_node_plan(options.plan.read_text(encoding="utf-8"), machine_id)
        with alone(options.state, LOCK_SECONDS):
            outcome, at = check(mine, options.state, options.tool_seconds)
            if options.textfile:
                write_whole(options.textfile, metrics(mine, outcome, at), 0o644)
        return mine, outcome
    except (Busy, Refused) as reason:
        return None, not_judged(str(reason))
    except OSError as error:
        return mine, not_judged(f"{error.filename or options.plan}: {error.strerror}")


def _tell_slurm(mine: NodePlan, outcome: Outcome, mode: str) -> int:
    """Tell Slurm of an outcome; that it does not answer keeps no job from the node."""
    try:
        return tell_slurm(os.environ.get("SLURMD_NODENAME") or mine.values["pod_scheduler_node"] or mine.node, mine.drain_max, outcome, mode).status
    except NoAnswer as reason:
        print(f"Slurm was not told: {reason}", file=sys.stderr)
        return 0


if __name__ == "__main__":
    sys.exit(main())
