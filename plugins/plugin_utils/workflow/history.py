# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run adds to the history of its pod."""

from __future__ import annotations

from pathlib import Path

from ..history.entries import RUN
from ..history.of_run import entry_of_run
from ..history.store import History
from ..pod.plan import Plan
from ..run.documents import Report
from ..run.errors import RunError
from ..run.state import State
from ..run.store import RunStore
from .console import show


def keep_history(store: RunStore, plan: Plan, state: State, report: Report, source: str = RUN) -> None:
    """Add a finished run to the history that ``pod_history`` names; one of kept evidence or in check mode judged nothing that is so now.

    A history that cannot be written does not cost the run its verdict, and is said aloud.
    """
    path = history_file(next(iter(plan.nodes.values())).values["pod_history"])
    if path is None or state.replay or state.check_mode:
        return
    try:
        with History(path) as history:
            history.add(entry_of_run(report, plan, state, store, source))
    except RunError as error:
        show(f"WARNING: this run is not in the pod's history: {error}\n")


def history_file(named: str) -> Path | None:
    """The file that ``pod_history`` names; None where there is none."""
    return Path(named).expanduser().absolute() if named else None
