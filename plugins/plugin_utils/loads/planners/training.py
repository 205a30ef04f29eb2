# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The load of layer 6: the dataset is read by all hosts that take part, then one training runs over them."""

from __future__ import annotations

from ...text.counting import counted
from ..launchers import PROGRAM_MODULES, STARTED_ON_EACH_HOST
from ..schedule import Job, Schedule, StepInput, Values
from ._ranks import Run, add
from .collectives import variables

READINGS = ("training_ranks", "training_steps", "training_hangs", "training_agreement", "tensor_activity", "gpu_clocks")
PROGRAM = "dataset_read"
PROGRAMS = ["training_step", *PROGRAM_MODULES["training_step"]]
# A training that has to last this long loads its libraries before and says what it has after.
AROUND_SECONDS = 300.0
NAME, READ = "training", "dataset"
# Beyond the time of reading: the files are found, opened and summed up.
AROUND_READING_SECONDS = 40.0


def plan_training(situation: StepInput) -> Schedule | None:
    """One step."""
    if situation.step or not situation.hosts:
        return None
    values = situation.values
    live = values["pod_depth"] == "go_live"
    long = values["pod_go_live_training_seconds"] + AROUND_SECONDS if live else float(values["pod_training_run_seconds"])
    what = f"{values['pod_go_live_training_seconds'] / 3600:g} hours" if live else counted(values["pod_training_steps"], "step")
    over = counted(len(situation.hosts), "host")
    table = Schedule(words=[f"{what} of training over {over}, {values['pod_training_strategy']}"], programs=PROGRAMS)
    first = _dataset(table, situation)
    if values["pod_training_command"]:
        for host in situation.hosts:
            table.jobs.setdefault(host, []).append(_site(situation, host, first, long))
        if values["pod_launcher"] not in STARTED_ON_EACH_HOST:
            table.words.append(f"pod_training_command is started by every host itself: pod_launcher {values['pod_launcher']} starts the collection's own ranks")
    else:
        add(table, situation, _built_in(situation, first, long))
    return table


def _dataset(table: Schedule, situation: StepInput) -> float:
    """Put the reading of the dataset into a schedule, by all hosts at once as their training would; returns when it has ended."""
    ends = 0.0
    for host in situation.hosts:
        values = situation.plan.nodes[host].values
        if path := values["pod_dataset_path"]:
            seconds = values["pod_dataset_seconds"]
            ends = max(ends, seconds + AROUND_READING_SECONDS)
            argv = ["python3", "-SE", f"{{{PROGRAM}}}", "--path", path, "--seconds", str(seconds)]
            table.jobs[host] = [Job(READ, argv, 0.0, ends, {"kind": READ, "step": 0, "role": "reader"}, reading="dataset_reads")]
    if ends:
        table.programs = [*table.programs, PROGRAM]
        table.words.append(f"the dataset is read for {situation.values['pod_dataset_seconds']} s before")
    return ends


def _built_in(situation: StepInput, first: float, long: float) -> Run:
    def own(values: Values) -> tuple[Values, dict[str, str]]:
        live = values["pod_depth"] == "go_live"
        options: Values = {
            "backend": values["pod_collective_backend"],
            "job": NAME,
            "timeout": values["pod_collective_timeout_seconds"],
            "deadline": long * 0.97,
            "strategy": values["pod_training_strategy"],
            "size": values["pod_training_size"],
            "warmup": values["pod_training_warmup_steps"],
            "steps": None if live else values["pod_training_steps"],
            "seconds": values["pod_go_live_training_seconds"] if live else None,
        }
        return options, variables(values)

    port = situation.values["pod_collective_port"] + 1024
    return Run(
        "training_step", NAME, situation.hosts, port, first, first + long, own, {"kind": NAME, "step": 0}, lambda _values: READINGS, 1 if first else None
    )


def _site(situation: StepInput, host: str, first: float, long: float) -> Job:
    """A site's own command prints its log; who waited for whom is reported by its watchdog."""
    argv = [str(word) for word in situation.plan.nodes[host].values["pod_training_command"]]
    columns = {"kind": NAME, "round": len(situation.hosts), "hosts": situation.hosts, "step": 0, "role": "rank"}
    # How it ended is its exit status: one rank of all prints the steps, and a hang is reported by a command that fails.
    return Job(NAME, argv, first, first + long, columns, also=("collective_timeouts", "training_log", "straggler_reports"), turn=1 if first else None)
